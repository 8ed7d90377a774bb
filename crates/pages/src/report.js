// What a browser adds to a page, which is complete without it: one crosshair and one zoom over all charts of the same
// time, series on and off, tables in another order, and copies of commands and figures.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (parent, name, attributes = {}, text = "") => {
    const isShape = parent instanceof SVGElement;
    const element = isShape ? document.createElementNS(parent.namespaceURI, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const numbers = (text = "") => text.split(/[ ,]+/).filter((part) => part !== "").map(Number);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // What is told to those who do not see it.
  const said = make(document.querySelector("main"), "p", { class: "said", role: "status" });

  // Figures on axes, as the program writes them.
  const trimmed = (value, decimals) => String(Number(value.toFixed(decimals)));
  const decimalsOf = (step) => (step >= 1 ? 0 : Math.min(9, -Math.floor(Math.log10(step))));
  const latency = (ns) => {
    const [unit, divisor] = Object.entries({ ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }).findLast(([, d]) => d === 1 || ns >= 0.9995 * d);
    const value = ns / divisor;
    return `${trimmed(value, clamp(2 - Math.floor(Math.log10(value || 1)), 0, 9))} ${unit}`;
  };
  const thousands = (value) => {
    const [unit, divisor] = Object.entries({ k: 1e3, M: 1e6, G: 1e9 }).findLast(([, d]) => value >= d) ?? ["", 1];
    return trimmed(value / divisor, 2) + unit;
  };
  const tick = (unit, value, step) => {
    if (unit === "latency") return latency(value);
    if (unit === "time") return `${trimmed(value, decimalsOf(step))} s`;
    if (unit === "percent" || unit === "change") return `${trimmed(value, decimalsOf(step))} %`;
    return step >= 1000 ? thousands(value) : trimmed(value, decimalsOf(step));
  };
  const linearTicks = (from, to, wanted) => {
    const rough = (to - from) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((nice) => nice >= rough * 0.999);
    const count = Math.floor(to / step + 1e-9) - Math.ceil(from / step - 1e-9) + 1;
    return Array.from({ length: count }, (_, k) => ({ value: (Math.ceil(from / step - 1e-9) + k) * step, step }));
  };
  const ticks = ({ scale, unit }, [from, to], wanted) => {
    let found = [];
    if (scale === "linear") {
      found = linearTicks(from, to, wanted).map(({ value, step }) => ({ place: value, text: tick(unit, value, step) }));
    } else if (to - from < 1) {
      const values = linearTicks(10 ** from, 10 ** to, wanted);
      found = values.map(({ value, step }) => ({ place: Math.log10(value), text: tick(unit, value, step) }));
    } else {
      const digits = (to - from) * 3 <= wanted + 1 ? [1, 2, 5] : [1];
      for (let power = Math.floor(from); power <= to; power++) {
        found.push(...digits.map((digit) => digit * 10 ** power).map((v) => ({ place: Math.log10(v), text: tick(unit, v, v) })));
      }
    }
    return found.filter(({ place }) => place >= from && place <= to);
  };

  // Texts of charts stand apart, as the program places them: what does not fit is moved or left out. In units of a chart,
  // of which ten are a pixel.
  const lineHeight = 140;
  const gap = 60;
  const widthOf = (() => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `120px ${getComputedStyle(document.body).fontFamily}`;
    return (text) => context.measureText(text).width;
  })();
  const keptApart = (found, extentOf) => {
    const taken = [];
    return found.filter((one) => {
      const [from, to] = extentOf(one);
      const isFree = taken.every(([start, end]) => to <= start || from >= end);
      if (isFree) taken.push([from, to]);
      return isFree;
    });
  };
  const ticksApart = (axis, seen, wanted, extentOf) => {
    // Round values may be so far apart that only finer marks are two.
    const most = Math.max(2, Math.floor(wanted));
    const counts = [...Array.from({ length: most - 1 }, (_, k) => most - k), ...Array.from({ length: 6 }, (_, k) => most + 1 + k)];
    for (const count of counts) {
      const found = ticks(axis, seen, count);
      if (found.length >= 2 && keptApart(found, extentOf).length === found.length) return found;
    }
    return keptApart(ticks(axis, seen, Math.max(4, most)), extentOf);
  };
  const spread = (placed, top, bottom) => {
    placed.sort((a, b) => a.y - b.y);
    let floor = top;
    for (const one of placed) {
      one.y = Math.max(one.y, floor);
      floor = one.y + lineHeight;
    }
    let ceiling = bottom;
    for (const one of [...placed].reverse()) {
      one.y = Math.min(one.y, ceiling);
      ceiling = one.y - lineHeight;
    }
  };

  // A chart: its series, where they are drawn, and which part of both axes is in view. Places are values, or their
  // logarithms where the axis is logarithmic.
  const chartOf = (svg, index) => {
    const [left, top, right, bottom] = numbers(svg.dataset.plane);
    const axisOf = (ends, scale, unit) => ({ ends: numbers(ends), scale, unit });
    const x = axisOf(svg.dataset.x, svg.dataset.xScale, svg.dataset.xUnit);
    const y = axisOf(svg.dataset.y, svg.dataset.yScale, svg.dataset.yUnit);
    const view = { x: x.ends, y: y.ends };
    const across = (place) => left + ((place - view.x[0]) / (view.x[1] - view.x[0])) * (right - left);
    const up = (place) => bottom - ((place - view.y[0]) / (view.y[1] - view.y[0])) * (bottom - top);
    const xPlace = (at) => view.x[0] + ((at - left) / (right - left)) * (view.x[1] - view.x[0]);
    const yPlace = (at) => view.y[0] + ((bottom - at) / (bottom - top)) * (view.y[1] - view.y[0]);
    const placeOn = (axis, value) => (axis.scale === "log" || axis.scale === "powers" ? Math.log10(value) : value);

    const names = all("g.names text", svg);
    const hasRight = svg.dataset.right !== undefined;
    // What does not depend on the room is only in the first drawing of a chart.
    const told = all("g.series", svg.closest("figure")?.querySelector("svg") ?? svg);
    const series = all("g.series", svg).map((group, i) => {
      const { series: name, marks } = group.dataset;
      const { x: valuesX, y: valuesY, texts, began: starts } = told[i].dataset;
      const began = numbers(starts);
      const [xs, ys, drawn] = [numbers(valuesX), numbers(valuesY), numbers(group.dataset.places)];
      const isFlat = marks === "cells" || marks === "intervals";
      const points = xs.map((value, i) => ({
        x: placeOn(x, value),
        // The value of a cell is how many it holds, not where it is, and that on the right axis has another scale.
        y: isFlat || hasRight ? yPlace(drawn[2 * i + 1]) : placeOn(y, ys[i]),
        value: [value, ys[i]],
        text: texts.split("|")[i],
      }));
      const label = names[group.dataset.label];
      // Vertices and dots are as many as points, and more exact there than in the drawing.
      let next = { polyline: 0, circle: 0 };
      const shapes = all("polyline, polygon, rect, circle", group).map((shape) => {
        const number = (key) => Number(shape.getAttribute(key));
        const kind = shape.tagName;
        if (kind === "rect") {
          const [fromX, fromY] = [number("x"), number("y")];
          return { shape, kind, at: [fromX, fromY, fromX + number("width"), fromY + number("height")].map((v, i) => (i % 2 ? yPlace(v) : xPlace(v))) };
        }
        const raw = kind === "circle" ? [number("cx"), number("cy")] : numbers(shape.getAttribute("points"));
        const at = [];
        // Of a line, only points between gaps have dots.
        const near = (a, b) => Math.abs(a - b) <= 1;
        const alone = points.findIndex((_, i) => near(drawn[2 * i], raw[0]) && near(drawn[2 * i + 1], raw[1]));
        if (marks === "line" && kind === "circle" && alone >= 0) next.circle = alone;
        for (let i = 0; i < raw.length; i += 2) {
          const exact = kind === "polygon" || isFlat ? undefined : points[next[kind]];
          // The line of an event goes from its beginning to its end.
          const isBegin = marks === "events" && kind === "polyline" && i === 0;
          at.push((isBegin ? began[next[kind]] : exact?.x) ?? xPlace(raw[i]), exact?.y ?? yPlace(raw[i + 1]));
          if (!isBegin && exact) next[kind]++;
        }
        return { shape, kind, at };
      });
      return { group, name, marks, isFlat, points, label, shapes, isShown: true, labelAt: label && Number(label.getAttribute("y")) };
    });

    const layers = Object.fromEntries(["across", "up"].map((name) => {
      const layer = svg.querySelector(`g.${name}`);
      return [name, { layer, nodes: [...layer.childNodes] }];
    }));
    const isZoomable = svg.dataset.xUnit === "time";
    const clip = make(make(svg, "clipPath", { id: `clip${index}` }), "rect", { x: left, y: top - 40, width: right - left, height: bottom - top + 80 });
    const cross = make(svg, "line", { class: "cross", y1: top, y2: bottom, visibility: "hidden" });

    const isInView = ({ x }) => x >= view.x[0] && x <= view.x[1];
    const fitUp = (isWhole) => {
      const shown = series.filter((one) => one.isShown);
      if (y.scale === "named" || hasRight || (isWhole && shown.length === series.length)) return y.ends;
      const places = shown.flatMap((one) =>
        one.marks === "cells"
          ? one.shapes.filter(({ at }) => at[2] > view.x[0] && at[0] < view.x[1]).flatMap(({ at }) => [at[1], at[3]])
          : one.points.filter(isInView).map((point) => point.y));
      const [low, high] = [Math.min(...places), Math.max(...places)];
      if (!Number.isFinite(low) || !Number.isFinite(high)) return y.ends;
      if (y.scale === "linear") return y.ends[0] === 0 ? [0, high > 0 ? high * 1.06 : 1] : y.ends;
      const room = Math.max(0.06 * (high - low), 0.05);
      return [low - room, high + room];
    };
    const [width] = numbers(svg.getAttribute("viewBox")).slice(2);
    const redrawAxis = ({ layer, nodes }, axis, isWhole, seen, at) => {
      if (isWhole) return layer.replaceChildren(...nodes);
      const isUp = layer === layers.up.layer;
      const elements = nodes.filter((node) => node.nodeType === Node.ELEMENT_NODE);
      const text = elements.find((node) => node.tagName === "text");
      // Of the horizontal axis the first is the axis.
      const [first, second] = elements.filter((node) => node.tagName !== "text");
      if (!text) return;
      // Marks at the ends stand inside the chart.
      const placeOf = ({ place, text: words }) => (isUp ? at(place) : clamp(at(place), widthOf(words) / 2, width - widthOf(words) / 2));
      const extentOf = (one) => {
        const half = isUp ? lineHeight / 2 : (widthOf(one.text) + gap) / 2;
        return [placeOf(one) - half, placeOf(one) + half];
      };
      const wanted = isUp ? (bottom - top) / 450 : (right - left) / 800;
      const hasRoom = ({ text: words }) => !isUp || widthOf(words) <= Number(text.getAttribute("x"));
      const drawn = ticksApart(axis, seen, wanted, extentOf).flatMap((one) => {
        const words = text.cloneNode();
        words.setAttribute(isUp ? "y" : "x", placeOf(one));
        words.textContent = one.text;
        const mark = (isUp ? first : second)?.cloneNode();
        const place = at(one.place);
        mark?.setAttribute("points", isUp ? `${left},${place} ${right},${place}` : `${place},${bottom} ${place},${bottom + 40}`);
        return [mark, hasRoom(one) && words].filter(Boolean);
      });
      layer.replaceChildren(...(isUp ? [] : [first]), ...drawn);
    };
    const redraw = (seenX) => {
      view.x = seenX ?? x.ends;
      view.y = fitUp(!seenX);
      const [isWholeX, isWholeY] = [view.x === x.ends, view.y === y.ends];
      for (const { group, shapes, isShown } of series) {
        group.style.display = isShown ? "" : "none";
        if (!isWholeX) group.setAttribute("clip-path", `url(#${clip.parentNode.id})`);
        for (const { shape, kind, at } of shapes) {
          if (kind === "rect") {
            shape.setAttribute("x", across(at[0]));
            shape.setAttribute("width", across(at[2]) - across(at[0]));
            shape.setAttribute("y", up(at[1]));
            shape.setAttribute("height", Math.max(0, up(at[3]) - up(at[1])));
          } else if (kind === "circle") {
            shape.setAttribute("cx", across(at[0]));
            shape.setAttribute("cy", up(at[1]));
          } else {
            shape.setAttribute("points", at.map((place, i) => (i % 2 ? up(place) : across(place)).toFixed(1)).join(" "));
          }
        }
      }
      redrawAxis(layers.across, x, isWholeX, view.x, across);
      redrawAxis(layers.up, y, isWholeY, view.y, up);
      redrawNames();
    };
    // Names stand where their lines leave the view, and not over each other.
    const redrawNames = () => {
      const isWhole = view.x === x.ends && series.every(({ isShown }) => isShown);
      const named = series.filter(({ label }) => label);
      for (const { label, isShown, labelAt } of named) {
        label.style.display = isShown ? "" : "none";
        label.setAttribute("y", labelAt);
      }
      if (isWhole) return;
      const shown = named.filter(({ isShown }) => isShown);
      const column = [];
      for (const { label, marks, points, labelAt } of shown.filter(({ marks }) => marks !== "area")) {
        const end = Math.max(0, points.findLastIndex((point) => point.x <= view.x[1]));
        const [last, next] = [points[end], points[end + 1]];
        const share = next && view.x !== x.ends ? (view.x[1] - last.x) / (next.x - last.x) : 0;
        const isLine = marks === "line" && last;
        column.push({ label, y: isLine ? clamp(up(last.y + (share && share * (next.y - last.y))), top, bottom) : labelAt });
      }
      spread(column, top, bottom);
      for (const { label, y: at } of column) label.setAttribute("y", at);
      const taken = [];
      for (const { label, points } of shown.filter(({ marks }) => marks === "area")) {
        const peak = up(Math.max(...points.map((point) => point.y))) - 100;
        const size = widthOf(label.textContent);
        const start = Number(label.getAttribute("x")) - (label.getAttribute("text-anchor") === "end" ? size : 0);
        const isFree = (at) => at >= top - lineHeight && at <= bottom - lineHeight && taken.every((other) => Math.abs(at - other.at) >= lineHeight || start >= other.end || start + size <= other.start);
        const heights = Array.from({ length: Math.ceil((bottom - top) / lineHeight) }, (_, k) => [peak + k * lineHeight, peak - k * lineHeight]).flat();
        const at = heights.find(isFree);
        label.style.display = at === undefined ? "none" : "";
        if (at === undefined) continue;
        label.setAttribute("y", at);
        taken.push({ at, start: start - gap, end: start + size + gap });
      }
    };

    const plot = svg.parentElement;
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${svg.getAttribute("aria-label")}: arrow keys read values${isZoomable ? ", + and - zoom, 0 shows the whole time" : ""}`);
    const tip = make(plot, "div", { class: "tip" });
    tip.hidden = true;
    const nearest = (one, place, height) => {
      const distance = (point) => Math.abs(across(point.x) - across(place)) + (one.isFlat && height !== null ? Math.abs(up(point.y) - up(height)) : 0);
      const seen = one.points.filter(isInView);
      return seen.reduce((best, point) => (best === null || distance(point) < distance(best) ? point : best), null);
    };
    // What is known at a place of the horizontal axis; `height` is that of the pointer, null if it is elsewhere.
    const read = (place, height) => {
      const found = [];
      for (const one of series) {
        if (one.marks === "events") {
          // What ended at about this time, the longest first.
          const near = one.isShown ? one.points.filter((point) => isInView(point) && Math.abs(across(point.x) - across(place)) <= 60) : [];
          near.sort((a, b) => b.y - a.y);
          found.push(...near.slice(0, 6).map((point) => ({ one, point, far: 0 })));
          continue;
        }
        // Of a grid only what is pointed at is of interest.
        const point = one.isShown && (!one.isFlat || height !== null) ? nearest(one, place, height) : null;
        if (point) found.push({ one, point, far: Math.abs(across(point.x) - across(place)) });
      }
      const least = Math.min(...found.map(({ far }) => far));
      return found.filter(({ far }) => far <= least + 60);
    };
    const mark = (place, height) => {
      const found = read(place, height);
      // Without a crosshair of others, it stands at a value.
      const at = across(isZoomable || found.length === 0 ? place : found[0].point.x);
      const isSeen = at >= left - 1 && at <= right + 1;
      cross.setAttribute("x1", at);
      cross.setAttribute("x2", at);
      cross.setAttribute("visibility", isSeen ? "visible" : "hidden");
      tip.hidden = !isSeen || found.length === 0;
      tip.replaceChildren();
      let head = "";
      for (const { one, point } of found) {
        const [where, what] = one.isFlat ? ["", point.text] : point.text.split(/: (.*)/s);
        if (where !== head) make(tip, "div", { class: "where" }, (head = where));
        const line = make(tip, "div");
        if (one.name !== "") make(line, "b", {}, `${one.name} `);
        line.append(what);
      }
      if (tip.hidden) return;
      const scale = plot.clientWidth / svg.viewBox.baseVal.width;
      const x = at * scale;
      tip.style.top = `${top * scale}px`;
      tip.style.left = `${x + 10 + tip.offsetWidth < plot.clientWidth ? x + 10 : Math.max(0, x - 10 - tip.offsetWidth)}px`;
    };
    const unmark = () => {
      tip.hidden = true;
      cross.setAttribute("visibility", "hidden");
    };
    const placeOf = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
    };
    const isInside = (at) => at.x >= left && at.x <= right && at.y >= top && at.y <= bottom;
    return { svg, plot, figure: svg.closest("figure"), x, y, view, series, plane: { left, top, right, bottom }, isZoomable, redraw, read, mark, unmark, placeOf, isInside, xPlace, yPlace, tip };
  };
  const charts = all("figure svg").map(chartOf);

  // Charts of the same time have one crosshair and one zoom.
  const groups = new Map();
  for (const chart of charts) {
    const time = chart.isZoomable ? chart.svg.closest("section").dataset.time : undefined;
    const key = time ?? chart;
    if (!groups.has(key)) groups.set(key, { charts: [], at: null, seen: null, isTime: time !== undefined });
    groups.get(key).charts.push(chart);
    chart.together = groups.get(key);
  }
  const markAll = (together, place, from, height) => {
    together.at = place;
    for (const chart of together.charts) chart.mark(place, chart === from ? height : null);
  };
  const unmarkAll = (together) => {
    together.at = null;
    together.charts.forEach((chart) => chart.unmark());
  };
  const zoomAll = (together, seen) => {
    const [from, to] = wholeOf(together);
    if (seen) {
      const width = clamp(seen[1] - seen[0], (to - from) / 100, to - from);
      const start = clamp((seen[0] + seen[1] - width) / 2, from, to - width);
      seen = width >= (to - from) * 0.999 ? null : [start, start + width];
    }
    together.seen = seen;
    for (const chart of together.charts) {
      chart.redraw(seen);
      chart.unmark();
    }
    const digits = seen ? decimalsOf((seen[1] - seen[0]) / 100) : 0;
    const words = seen ? `${trimmed(seen[0], digits)} s to ${trimmed(seen[1], digits)} s` : "";
    together.bar.classList.toggle("zoomed", seen !== null);
    together.part.textContent = words;
    together.whole.disabled = seen === null;
    said.textContent = seen ? `All charts show ${words}.` : "All charts show the whole time.";
  };
  const wholeOf = (together) => [Math.min(...together.charts.map(({ x }) => x.ends[0])), Math.max(...together.charts.map(({ x }) => x.ends[1]))];
  for (const together of groups.values()) {
    if (!together.isTime) continue;
    const bar = document.createElement("div");
    bar.className = "zoom";
    together.charts[0].figure.parentElement.before(bar);
    together.bar = bar;
    together.part = make(bar, "b");
    together.whole = make(bar, "button", { type: "button" }, "Show the whole time");
    together.whole.disabled = true;
    together.whole.onclick = () => zoomAll(together, null);
    make(bar, "span", { class: "hint" }, "Drag across a chart to zoom all charts of this time. Keys in a chart: arrows, +, -, 0.");
  }

  for (const chart of charts) {
    const { svg, plot, plane, together } = chart;
    let drag = null;
    const move = (event) => {
      const at = chart.placeOf(event);
      if (drag) {
        const x = clamp(at.x, plane.left, plane.right);
        drag.box.setAttribute("x", Math.min(x, drag.from));
        drag.box.setAttribute("width", Math.abs(x - drag.from));
      }
      if (chart.isInside(at)) markAll(together, chart.xPlace(at.x), chart, chart.yPlace(at.y));
      else unmarkAll(together);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", (event) => {
      move(event);
      const at = chart.placeOf(event);
      if (!together.isTime || event.button !== 0 || !chart.isInside(at)) return;
      drag = { from: at.x, box: make(svg, "rect", { class: "drag", x: at.x, y: plane.top, width: 0, height: plane.bottom - plane.top }) };
      svg.setPointerCapture(event.pointerId);
    });
    const release = (event) => {
      if (!drag) return;
      const to = clamp(chart.placeOf(event).x, plane.left, plane.right);
      const ends = [Math.min(to, drag.from), Math.max(to, drag.from)];
      drag.box.remove();
      drag = null;
      // A click is no zoom.
      if (event.type === "pointerup" && ends[1] - ends[0] >= 80) zoomAll(together, ends.map(chart.xPlace));
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    svg.addEventListener("pointerleave", () => unmarkAll(together));
    if (together.isTime) svg.addEventListener("dblclick", () => zoomAll(together, null));
    plot.addEventListener("blur", () => unmarkAll(together));
    plot.addEventListener("keydown", (event) => {
      const { key } = event;
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const [from, to] = chart.view.x;
      const middle = together.at ?? (from + to) / 2;
      const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
      if (together.isTime && key in zooms) {
        zoomAll(together, [middle - ((to - from) / 2) * zooms[key], middle + ((to - from) / 2) * zooms[key]]);
        markAll(together, middle, chart, null);
      } else if (together.isTime && (key === "0" || key === "Escape")) {
        zoomAll(together, null);
      } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) {
        step(chart, key);
      } else {
        return;
      }
      event.preventDefault();
    });
  }
  // The crosshair goes to the next value of the series with most of them; of a grid, from cell to cell.
  const step = (chart, key) => {
    const { together } = chart;
    const shown = chart.series.filter((one) => one.isShown && one.points.length > 0);
    if (shown.length === 0) return;
    const longest = shown.reduce((a, b) => (b.points.length > a.points.length ? b : a));
    const points = longest.isFlat ? longest.points : [...longest.points].sort((a, b) => a.x - b.x);
    const last = points.length - 1;
    const known = chart.point === undefined ? -1 : points.indexOf(chart.point);
    const now = known >= 0 && (longest.isFlat || chart.point.x === together.at) ? known : points.findLastIndex(({ x }) => x <= (together.at ?? chart.view.x[0]));
    const index = { Home: 0, End: last, ArrowLeft: now - 1, ArrowRight: now + 1 }[key];
    chart.point = points[clamp(index, 0, last)];
    const { x, y } = chart.point;
    if (together.seen && (x < together.seen[0] || x > together.seen[1])) {
      const half = (together.seen[1] - together.seen[0]) / 2;
      zoomAll(together, [x - half, x + half]);
    }
    markAll(together, x, chart, y);
    said.textContent = chart.tip.innerText.replaceAll("\n", ", ");
  };

  const csv = (rows) => {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return rows.map((row) => row.map((text) => cell(String(text))).join(",") + "\n").join("");
  };
  const copy = async (button, text) => {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a clipboard of its own a page can only ask for what is selected.
      const area = make(document.body, "textarea");
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = said.textContent = "copied";
    setTimeout(() => (button.textContent = words), 1500);
  };
  const copyButton = (words, of) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = words;
    button.onclick = () => copy(button, of());
    return button;
  };

  // Below each chart: its series, on and off, and its values.
  const chartValues = ({ svg, series }) => {
    const { xLabel, yLabel, xUnit } = svg.dataset;
    if (series.some((one) => one.isFlat)) {
      return csv([["place", yLabel || "value"], ...series.flatMap((one) => one.points.map(({ text, value }) => [text, value[1]]))]);
    }
    const rows = new Map();
    series.forEach((one, column) => {
      for (const { value: [x, y] } of one.points) {
        if (!rows.has(x)) rows.set(x, Array(series.length).fill(""));
        rows.get(x)[column] = y;
      }
    });
    const sorted = [...rows].sort(([a], [b]) => a - b).map(([x, values]) => [x, ...values]);
    const units = { latency: "ns", mib: "MiB/s", iops: "IOPS", percent: "%" };
    const named = series.map(({ name, group }) => {
      const unit = units[group.dataset.unit];
      return unit && !name.includes(unit) ? `${name} (${unit})`.trim() : name || yLabel;
    });
    return csv([[xUnit === "time" ? "time (s)" : xLabel || xUnit, ...named], ...sorted]);
  };
  for (const figure of all("figure")) {
    const drawn = charts.filter((chart) => chart.figure === figure);
    const keys = make(figure, "div", { class: "keys" });
    const named = drawn[0].series.filter((one) => one.name !== "");
    for (const { name, group } of named.length > 1 ? named : []) {
      const button = make(keys, "button", { type: "button", "aria-pressed": "true" });
      make(button, "i").style.background = `var(--${group.dataset.role})`;
      button.append(name);
      button.onclick = () => {
        const isShown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(isShown));
        for (const chart of drawn) {
          for (const one of chart.series.filter((one) => one.name === name)) one.isShown = isShown;
          chart.redraw(chart.together.seen);
        }
      };
    }
    const button = copyButton("copy as CSV", () => chartValues(drawn[0]));
    button.setAttribute("aria-label", `copy as CSV: ${drawn[0].svg.getAttribute("aria-label")}`);
    keys.append(button);
  }

  // Tables: by any column, up, down, and as they were.
  const amount = (text) => {
    const found = /^[-+]?[\d,]*\.?\d+/.exec(text.trim());
    if (!found) return null;
    const units = { ns: 1e-9, µs: 1e-6, ms: 1e-3, K: 1024, KiB: 1024, M: 1024 ** 2, MiB: 1024 ** 2, G: 1024 ** 3, GiB: 1024 ** 3 };
    const unit = text.trim().slice(found[0].length).trim().split(/[ /*]/)[0];
    return Number(found[0].replaceAll(",", "")) * (units[unit] ?? 1);
  };
  const compared = (a, b) => {
    const [x, y] = [amount(a), amount(b)];
    if (x !== null && y !== null) return x - y;
    return (x === null) - (y === null) || a.localeCompare(b);
  };
  for (const box of all(".table")) {
    const table = box.querySelector("table");
    const [heads, body] = [all("thead tr > *", table), table.tBodies[0]];
    const rows = [...body.rows];
    const texts = (row) => [...row.cells].map((cell) => cell.innerText.trim());
    const button = copyButton("copy as CSV", () => csv([heads.map((head) => head.innerText.trim()), ...[...body.rows].map(texts)]));
    button.setAttribute("aria-label", `copy as CSV: ${table.getAttribute("aria-label")}`);
    box.after(button);
    if (rows.length < 4) continue;
    heads.forEach((head, column) => {
      if (head.textContent === "") return;
      const sort = document.createElement("button");
      sort.type = "button";
      sort.append(...head.childNodes);
      head.append(sort);
      sort.onclick = () => {
        const next = { ascending: "descending", descending: undefined }[head.getAttribute("aria-sort")];
        const order = head.hasAttribute("aria-sort") ? next : "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (order) head.setAttribute("aria-sort", order);
        const sign = order === "descending" ? -1 : 1;
        const sorted = [...rows].sort((a, b) => sign * compared(a.cells[column]?.innerText ?? "", b.cells[column]?.innerText ?? ""));
        body.append(...(order ? sorted : rows));
      };
    });
  }
  for (const command of all(".command")) command.after(copyButton("copy command", () => command.textContent));

  // What scrolls says so, is a landmark, and can be reached with keys; what does not scroll needs none of that.
  const reach = () => {
    for (const box of all(".table")) {
      const isWide = box.scrollWidth > box.clientWidth;
      const last = box.previousElementSibling;
      const cue = last?.className === "cue" ? last : null;
      if (!isWide) {
        box.removeAttribute("tabindex");
        box.setAttribute("role", "group");
        cue?.remove();
        continue;
      }
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      if (cue) continue;
      const words = document.createElement("p");
      words.className = "cue";
      words.textContent = "more columns: scroll sideways →";
      box.before(words);
    }
  };
  reach();
  addEventListener("resize", reach);
})();
