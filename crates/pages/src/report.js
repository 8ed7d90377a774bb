// What a browser adds to the charts: values under the pointer, series on and off, and a closer look at a time.
// Every chart is complete without it.
"use strict";
(() => {
  const svgNamespace = document.querySelector("svg")?.namespaceURI;
  if (!svgNamespace) return;
  const make = (name, attributes, parent) => {
    const element = document.createElementNS(svgNamespace, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  const numbers = (text) => text.split(/[ ,]+/).filter((part) => part !== "").map(Number);
  let clips = 0;

  for (const svg of document.querySelectorAll("figure svg")) {
    const figure = svg.closest("figure");
    const [left, top, right, bottom] = numbers(svg.dataset.plane);
    const [xFrom, xTo] = numbers(svg.dataset.x);
    let view = { from: left, to: right };
    const across = (x) => left + ((x - view.from) * (right - left)) / (view.to - view.from);
    const back = (x) => view.from + ((x - left) * (view.to - view.from)) / (right - left);
    const series = [...svg.querySelectorAll("g.series")].map((group) => {
      const places = numbers(group.dataset.places);
      const texts = group.dataset.texts.split("|");
      const points = texts[0] === "" ? [] : texts.map((text, i) => ({ x: places[2 * i], y: places[2 * i + 1], text }));
      return { group, name: group.dataset.series, role: group.dataset.role, points, shown: true };
    });

    // Series on and off.
    const keys = document.createElement("div");
    keys.className = "keys";
    const named = series.filter((one) => one.name !== "");
    if (named.length > 1) {
      for (const one of named) {
        const button = document.createElement("button");
        const dot = document.createElement("i");
        dot.style.background = `var(--${one.role})`;
        button.append(dot, one.name);
        button.setAttribute("aria-pressed", "true");
        button.onclick = () => {
          one.shown = !one.shown;
          one.group.style.display = one.shown ? "" : "none";
          button.setAttribute("aria-pressed", String(one.shown));
        };
        keys.append(button);
      }
    }
    if (named.length > 1 || "zoom" in svg.dataset) svg.after(keys);

    // Values under the pointer.
    const hover = document.createElement("div");
    hover.className = "hover";
    hover.hidden = true;
    figure.append(hover);
    const cross = make("line", { class: "cross", y1: top, y2: bottom, visibility: "hidden" }, svg);
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
    };
    const isCells = (one) => one.group.querySelector("rect") !== null;
    const show = (event) => {
      const at = place(event);
      if (at.x < left || at.x > right || at.y < top || at.y > bottom) return hide();
      const found = [];
      for (const one of series) {
        if (!one.shown) continue;
        let best = null;
        for (const point of one.points) {
          const x = across(point.x);
          if (x < left - 1 || x > right + 1) continue;
          const distance = Math.abs(x - at.x) + (isCells(one) ? Math.abs(point.y - at.y) : Math.abs(point.y - at.y) / 1e4);
          if (best === null || distance < best.distance) best = { point, distance, one };
        }
        if (best) found.push(best);
      }
      if (found.length === 0) return hide();
      const nearest = Math.min(...found.map((one) => one.distance));
      const near = found.filter((one) => one.distance <= nearest + 150);
      cross.setAttribute("x1", across(near[0].point.x));
      cross.setAttribute("x2", across(near[0].point.x));
      cross.setAttribute("visibility", "visible");
      hover.replaceChildren(...near.map(({ one, point }) => {
        const line = document.createElement("div");
        const name = document.createElement("b");
        name.textContent = one.name === "" ? "" : `${one.name} `;
        line.append(name, point.text);
        return line;
      }));
      hover.hidden = false;
      const frame = figure.getBoundingClientRect();
      const x = event.clientX - frame.left;
      hover.style.top = `${event.clientY - frame.top + 18}px`;
      hover.style.left = `${Math.max(4, Math.min(x + 14, frame.width - hover.offsetWidth - 8))}px`;
    };
    const hide = () => {
      hover.hidden = true;
      cross.setAttribute("visibility", "hidden");
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", hide);
    if (!("zoom" in svg.dataset)) continue;

    // A closer look: drag over a part of the time.
    const clip = `clip${clips++}`;
    make("rect", { x: left, y: top - 40, width: right - left, height: bottom - top + 80 }, make("clipPath", { id: clip }, svg));
    const shapes = series.flatMap((one) => {
      one.group.setAttribute("clip-path", `url(#${clip})`);
      return [...one.group.querySelectorAll("polyline, polygon, rect, circle")].map((shape) => ({
        shape,
        points: shape.hasAttribute("points") ? numbers(shape.getAttribute("points")) : null,
        x: Number(shape.getAttribute("x") ?? shape.getAttribute("cx")),
        width: Number(shape.getAttribute("width")),
      }));
    });
    const axis = svg.querySelector("g.across");
    const marks = [...axis.childNodes];
    const size = svg.querySelector("g.across text")?.getAttribute("font-size") ?? "120";
    const unzoom = document.createElement("button");
    unzoom.textContent = "whole time";
    const redraw = () => {
      for (const { shape, points, x, width } of shapes) {
        if (points) {
          shape.setAttribute("points", points.map((value, i) => (i % 2 === 0 ? across(value) : value)).join(" "));
        } else if (shape.tagName === "rect") {
          shape.setAttribute("x", across(x));
          shape.setAttribute("width", across(x + width) - across(x));
        } else {
          shape.setAttribute("cx", across(x));
        }
      }
      const isWhole = view.from === left && view.to === right;
      axis.replaceChildren(...(isWhole ? marks : []));
      if (isWhole) {
        unzoom.remove();
      } else {
        keys.append(unzoom);
        ticks();
      }
    };
    const ticks = () => {
      const value = (x) => xFrom + ((x - left) * (xTo - xFrom)) / (right - left);
      const [from, to] = [value(view.from), value(view.to)];
      const rough = (to - from) / 6;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((digit) => digit * power).find((nice) => nice >= rough);
      const decimals = Math.max(0, -Math.floor(Math.log10(step)));
      for (let k = Math.ceil(from / step); k * step <= to; k++) {
        const x = left + ((k * step - from) * (right - left)) / (to - from);
        const text = make("text", { x, y: bottom + 60, dy: "0.76em", "text-anchor": "middle", "font-size": size }, axis);
        text.style.fill = "var(--muted)";
        text.textContent = `${(k * step).toFixed(decimals)} s`;
      }
    };
    unzoom.onclick = () => {
      view = { from: left, to: right };
      redraw();
    };
    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
      const { x, y } = place(event);
      if (event.button !== 0 || event.pointerType === "touch" || x < left || x > right || y < top || y > bottom) return;
      drag = { from: x, box: make("rect", { class: "drag", x, y: top, width: 0, height: bottom - top }, svg) };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const x = Math.min(Math.max(place(event).x, left), right);
      drag.box.setAttribute("x", Math.min(x, drag.from));
      drag.box.setAttribute("width", Math.abs(x - drag.from));
    });
    const release = (event) => {
      if (!drag) return;
      const x = Math.min(Math.max(place(event).x, left), right);
      const [from, to] = [Math.min(x, drag.from), Math.max(x, drag.from)];
      drag.box.remove();
      drag = null;
      // A click, or a part too small to see anything in.
      if (event.type === "pointercancel" || to - from < 100 || back(to) - back(from) < (right - left) / 500) return;
      view = { from: back(from), to: back(to) };
      hide();
      redraw();
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    svg.addEventListener("dblclick", unzoom.onclick);
  }
})();
