//! Requirements on pages of every kind: accessible, nothing too wide, nothing overlapping.

use super::driver::{Browser, chromium};
use crate::pages::fixed;
use crate::pages::recordings::record;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use testkit::{Program, Workplace, skip, workplace};

/// Widths of a telephone, a tablet, a laptop and a large screen, in pixels.
const WIDTHS: [u32; 4] = [390, 768, 1280, 1920];

/// Texts of a part of the page that overlap each other, or extend beyond their chart.
const OVERLAPS_IN: &str = r#"((part) => {
  const found = [];
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const boxes = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === "" || element.closest(".said, .unseen, script, style, title")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0) boxes.push({ box, text: node.data.trim(), svg: element.closest("svg") });
    }
  }
  for (const { box, text, svg } of boxes) {
    const frame = svg?.getBoundingClientRect();
    if (frame && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)) {
      found.push(`cut off: ${text}`);
    }
  }
  boxes.sort((a, b) => a.box.top - b.box.top);
  boxes.forEach((one, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].box.top < one.box.bottom; j++) {
      const [a, b] = [one.box, boxes[j].box];
      const [across, up] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      if (across > 2 && up > 4) found.push(`${one.text} / ${boxes[j].text}`);
    }
  });
  return found;
})"#;

/// Charts that do not follow the one before them from left to right and from top to bottom.
const OUT_OF_ORDER: &str = r#"(() => {
  const found = [];
  for (const charts of document.querySelectorAll(".charts")) {
    const boxes = [...charts.querySelectorAll(":scope > figure")].map(f => [f.dataset.chart, f.getBoundingClientRect()]);
    boxes.slice(1).forEach(([name, box], i) => {
      const before = boxes[i][1];
      const follows = box.top > before.top + 1 || (Math.abs(box.top - before.top) <= 1 && box.left > before.left);
      if (!follows) found.push(name);
    });
  }
  return found;
})()"#;

/// Charts with texts of another size than those beside them, or too small or too large to read; charts of a row whose
/// plots are not level; and, on a large screen, rows with empty space.
const UNEVEN_CHARTS: &str = r#"(() => {
  const found = [];
  for (const charts of document.querySelectorAll(".charts")) {
    const seen = [...charts.querySelectorAll(":scope > figure")].map((figure) => {
      const plot = [...figure.querySelectorAll(".plot")].find((plot) => plot.checkVisibility());
      const svg = plot.querySelector("svg");
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
      return { name: figure.dataset.chart, box: figure.getBoundingClientRect(), plot: plot.getBoundingClientRect(), sizes };
    });
    const sizes = seen.flatMap(({ sizes }) => sizes);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    if (least < 9.5 || most > 14.5 || most > 1.15 * least) found.push(`texts of ${least} to ${most} pixels`);
    seen.slice(1).forEach(({ name, box, plot }, i) => {
      const before = seen[i];
      if (Math.abs(box.top - before.box.top) > 1) return;
      if (Math.abs(plot.top - before.plot.top) > 1) found.push(`${name} is not level with ${before.name}`);
    });
    if (innerWidth < 1900) continue;
    const right = charts.getBoundingClientRect().right;
    const ends = seen.filter(({ box }, i) => seen.length > 1 && (i + 1 === seen.length || seen[i + 1].box.top > box.top + 1));
    for (const { name, box } of ends) if (box.right < right - 1) found.push(`${name}: room beside it is empty`);
  }
  return found;
})()"#;

/// Tables wider than their container that neither state it nor can be reached with keys, and others that falsely state
/// it.
const WIDE_TABLES_WITHOUT_CUE: &str = r#"[...document.querySelectorAll(".table")].filter(box => {
  const cue = box.previousElementSibling?.matches(".cue") && box.previousElementSibling.checkVisibility();
  const reached = box.tabIndex === 0 && box.getAttribute("role") === "region" && box.getAttribute("aria-label");
  return box.scrollWidth > box.clientWidth ? !cue || !reached : cue || box.hasAttribute("tabindex");
}).map(box => box.outerHTML.slice(0, 200))"#;

/// Tables that a telephone cannot show without scrolling, though each of their rows has a name and can be read
/// separately; and values in such rows without the name of their column.
const UNREADABLE_ROWS: &str = r#"[
  ...[...document.querySelectorAll(".table")].filter(box =>
    box.scrollWidth > box.clientWidth && !box.querySelector("tbody td").matches(".number")),
  ...[...document.querySelectorAll(".stacked td.number")].filter(cell =>
    cell.checkVisibility() && getComputedStyle(cell, "::before").content === "none"),
].map(element => element.outerHTML.slice(0, 200))"#;

/// Removes lines and dots from charts. No rule of axe-core is about them, but each visits all elements of a page, and
/// these are up to half of them. Its rule of contrast does not judge elements that they cover.
const REMOVE_SHAPES: &str = "document.querySelectorAll('svg :is(polyline, circle):not([role], [tabindex], :has(*))')\
                             .forEach(shape => shape.remove())";

/// Removes parts from each whole if equal elements occurred before: the same element, with the same classes and states,
/// in the same kinds of elements. Long pages have hundreds of each, for which a rule of axe-core reports the same. A
/// single character is a separate kind: the rule of contrast ignores it.
const REMOVE_REPETITIONS: &str = r#"((wholes, parts) => {
  const named = /^(id|href|for|title|points|transform|viewBox|width|height|[dr]|[cdr]?[xy][12]?|aria-(label|labelledby|describedby)|data-.*)$/;
  const value = ({ name, value }) => (name === "style" && !/color|background/.test(value) ? value.replace(/\d+/g, "0") : value);
  const kinds = new Map();
  const kind = (element) => {
    if (!kinds.has(element)) {
      const own = [...element.attributes].filter((a) => !named.test(a.name)).map((a) => `${a.name}=${value(a)}`);
      const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("").trim();
      const parent = element.parentElement ? kind(element.parentElement) : "";
      kinds.set(element, `${parent}>${element.localName} ${own.join(" ")} ${Math.min(text.length, 2)}`);
    }
    return kinds.get(element);
  };
  for (const whole of document.querySelectorAll(wholes)) {
    const seen = new Set();
    const visit = (element) => {
      const all = () => [element, ...element.querySelectorAll("*")];
      if (element.matches(parts) && all().every((one) => seen.has(kind(one)))) {
        element.remove();
        return;
      }
      seen.add(kind(element));
      [...element.children].forEach(visit);
    };
    visit(whole);
  }
})"#;

/// A page of each kind, with the words that name it.
fn pages(place: &Workplace) -> Vec<(&'static str, PathBuf)> {
    let run = |words: &str| {
        place.diskspd(words).run().expect_status(0);
    };
    fixed::result(place, "a.json", fixed::USUAL);
    fixed::result(place, "b.json", 5);
    run("-c1M -d1 -W0 -b4K --json plain.json a.dat");
    run("sweep --vary o=1..4 --dir depths -- -c1M -d1 -W0 -b4K -r -L a.dat");
    run("sweep --vary b=4K,64K --vary o=1,2,4 --dir two -- -c1M -d1 -W0 -r -L a.dat");
    run("sweep --vary b=4K,8K --vary w=0,50 --dir grid -- -c1M -d1 -W0 -r -L a.dat");
    run("repeat --runs 3 --dir repeated -- -c1M -d1 -W0 -b4K -r -L a.dat");
    record(place, 1_800_000_000_000_000_000, &[100, 200, 300, 400]);
    let imported = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/data/01-basic_mix.xml");
    let kinds = [
        ("run", "a.json"),
        ("plain", "plain.json"),
        ("comparison", "a.json b.json"),
        ("depths", "depths"),
        ("two", "two"),
        ("grid", "grid"),
        ("repeat", "repeated"),
        ("recording", "m.jsonl"),
        ("imported", imported),
    ];
    kinds.into_iter().map(|(kind, sources)| page_of(place, kind, sources)).collect()
}

/// The page of some sources.
fn page_of(place: &Workplace, kind: &'static str, sources: &str) -> (&'static str, PathBuf) {
    let name = format!("{kind}.html");
    place.diskspd("report").args(sources).arg("-o").arg(&name).run().expect_status(0);
    (kind, place.path(&name))
}

/// The source of axe-core, from npm; kept between runs.
fn axe() -> Option<&'static str> {
    static SOURCE: OnceLock<Option<String>> = OnceLock::new();
    SOURCE.get_or_init(fetched_axe).as_deref()
}

fn fetched_axe() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe-core");
    let file = folder.join("package/axe.min.js");
    if !file.exists() {
        std::fs::create_dir_all(&folder).ok()?;
        let script = "npm pack axe-core@4 --silent --fetch-retries=0 && tar -xzf axe-core-4*.tgz package/axe.min.js";
        let fetched = Command::new("sh").args(["-c", script]).current_dir(&folder).output().ok()?;
        fetched.status.success().then_some(())?;
    }
    std::fs::read_to_string(file).ok()
}

/// Holds the Tab key down until all reachable elements were focused; returns the interactive elements not reached.
fn not_reached_by_keys(browser: &mut Browser) -> Value {
    let usable = "[...document.querySelectorAll('a[href], button, summary, input, select, [tabindex]')].filter(e => \
                  !e.disabled && e.checkVisibility({visibilityProperty: true}) && e.tabIndex >= 0)";
    let count = browser.number(&format!("{usable}.length"));
    browser.value(
        "document.activeElement.blur(); window.reached = new Set(); document.addEventListener('focusin', \
         event => reached.add(event.target)); 0",
    );
    for _ in 0..=count as usize {
        browser.key_event("keyDown", "Tab");
    }
    browser.key_event("keyUp", "Tab");
    browser.value(&format!("{usable}.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 200))"))
}

/// Checks every page; accessibility only with axe-core. The themes differ only in their colours.
fn check(browser: &mut Browser, pages: Vec<(&'static str, PathBuf)>, axe: Option<&str>) {
    for ((kind, file), loaded_at) in pages.into_iter().zip(WIDTHS.into_iter().cycle()) {
        browser.open(&file, loaded_at, "light");
        check_width(browser, kind, loaded_at);
        for width in WIDTHS.into_iter().filter(|width| *width != loaded_at) {
            browser.redraw(width, "light");
            check_width(browser, kind, width);
        }
        let lost = browser.value(
            "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href')).filter(place => \
             !document.querySelector('h2' + place)?.textContent)",
        );
        assert_eq!(lost, Value::Array(Vec::new()), "{kind}: links that lead nowhere");
        let empty = browser.value(
            "[...document.querySelectorAll('table, figure, figcaption, h1, h2, h3, th')].filter(e => \
             e.checkVisibility() && e.textContent.trim() === '').map(e => e.outerHTML.slice(0, 200))",
        );
        assert_eq!(empty, Value::Array(Vec::new()), "{kind}: empty");
        assert_eq!(browser.complaints, Vec::<String>::new(), "{kind}");
        assert!(browser.number("document.getAnimations().length") < 0.5, "{kind}: nothing moves");
        browser.open(&file, 1280, "light");
        if let Some(axe) = axe {
            browser.value(&format!("{axe}; {REMOVE_SHAPES}; {REMOVE_REPETITIONS}('table, svg', 'tr, text'); 0"));
            let violations = violations(browser, "rules: {'color-contrast': {enabled: false}}");
            assert_eq!(violations, Value::Array(Vec::new()), "{kind}");
        }
        // Elements with equal colours, reachable by keys if the first is.
        let parts = "section, figure, table, tr, li, p, g, text";
        browser.value(&format!("{REMOVE_REPETITIONS}('body', '{parts}'); 0"));
        for theme in ["light", "dark"].into_iter().filter(|_| axe.is_some()) {
            browser.redraw(1280, theme);
            let violations = violations(browser, "runOnly: ['color-contrast']");
            assert_eq!(violations, Value::Array(Vec::new()), "{kind}, {theme}");
        }
        assert_eq!(not_reached_by_keys(browser), Value::Array(Vec::new()), "{kind}");
        assert_eq!(browser.complaints, Vec::<String>::new(), "{kind}");
    }
}

/// Violations that axe-core reports for some of its rules.
fn violations(browser: &mut Browser, rules: &str) -> Value {
    browser.value(&format!(
        "axe.run({{{rules}, resultTypes: ['violations']}}).then(({{violations}}) => violations.map(v => \
         `${{v.id}}: ${{v.nodes.map(n => n.html + n.failureSummary).slice(0, 3).join(' ')}}`))",
    ))
}

/// Elements missing from the first screen of a telephone or a laptop, by the width of the window: the answer and its
/// values or, if there is room, the chart that shows them.
fn below_the_first_screen(browser: &mut Browser, width: u32) -> Value {
    let bottom = "(part => part.getBoundingClientRect().bottom + scrollY)";
    match width {
        // Of several answers the first.
        390 => browser.value(&format!(
            "(found => found.length ? found.map({bottom}).filter(y => y > 844) : ['neither answer nor figures'])\
             ([...document.querySelectorAll('.lead .tiles, .lead .answer:first-child')])"
        )),
        1280 => {
            browser.value(&format!("[...document.querySelectorAll('main:not(:has(.answer + .answer)) .hero figure')].map({bottom}).filter(y => y > 840)"))
        }
        _ => Value::Array(Vec::new()),
    }
}

/// Checks that depend on the width of the window.
fn check_width(browser: &mut Browser, kind: &str, width: u32) {
    let wide = browser.number("document.documentElement.scrollWidth");
    assert!(wide <= f64::from(width), "{kind}: {wide} pixels of {width}");
    let overlaps = overlaps(browser);
    assert_eq!(overlaps, Value::Array(Vec::new()), "{kind} at {width}");
    let moved = browser.value(OUT_OF_ORDER);
    assert_eq!(moved, Value::Array(Vec::new()), "{kind} at {width}: charts in another order");
    let uneven = browser.value(UNEVEN_CHARTS);
    assert_eq!(uneven, Value::Array(Vec::new()), "{kind} at {width}");
    let silent = browser.value(WIDE_TABLES_WITHOUT_CUE);
    assert_eq!(silent, Value::Array(Vec::new()), "{kind} at {width}: columns lost without a cue");
    let below = below_the_first_screen(browser, width);
    assert_eq!(below, Value::Array(Vec::new()), "{kind} at {width}: not in the first screen");
    if width == WIDTHS[0] {
        let unreadable = browser.value(UNREADABLE_ROWS);
        assert_eq!(unreadable, Value::Array(Vec::new()), "{kind} at {width}");
    }
}

/// Pages of the preset whose loads run several times.
fn pages_of_repeats(place: &Workplace) -> Vec<(&'static str, PathBuf)> {
    let desktop = place.diskspd("preset show desktop --toml").run().stdout.replace("repeats = 5", "repeats = 2");
    place.file("desktop.toml", desktop.as_bytes());
    pages_of_presets(place, &[("./desktop.toml", "desktop")])
}

/// Pages of presets that judge their loads.
fn pages_of_judges(place: &Workplace) -> Vec<(&'static str, PathBuf)> {
    pages_of_presets(place, &[("sql-log", "sql-log"), ("sql", "sql"), ("oltp", "oltp"), ("rocksdb", "rocksdb")])
}

/// Pages of presets.
fn pages_of_presets(place: &Workplace, presets: &[(&str, &'static str)]) -> Vec<(&'static str, PathBuf)> {
    // Each takes some seconds for each of its loads. Their results are irrelevant.
    std::thread::scope(|scope| {
        for (preset, kind) in presets {
            let words = format!("-c8M -d1 -W0 --json {kind}.json {kind}.dat");
            scope.spawn(move || place.diskspd("preset run").arg(preset).args(&words).run());
        }
    });
    presets.iter().map(|(_, kind)| page_of(place, kind, &format!("{kind}.json"))).collect()
}

/// Pages of a search for a rate, of pairs, and of streams together and alone.
fn pages_of_methods(place: &Workplace) -> Vec<(&'static str, PathBuf)> {
    fixed::search(place);
    place.diskspd("ab --vary o=1,2 --pairs 3 --dir pairs -- -c1M -d1 -W0 -b4K -r -L a.dat").run();
    let streams = ["oltp-of-a-database: -b4K -r -w30 -t2", "backup: -b64K -o4"];
    let streams =
        |program: Program| streams.iter().fold(program, |program, stream| program.arg("--stream").arg(stream));
    streams(place.diskspd("-c1M -d1 -W0 -L --verify --json streams.json")).arg("s.dat").run().expect_status(0);
    let together = streams(place.diskspd("interference --dir together -- -c1M -d1 -W0")).arg("a.dat").run();
    together.expect_status(0);
    let kinds = [("limit", "limit"), ("pairs", "pairs"), ("streams", "streams.json"), ("interference", "together")];
    kinds.into_iter().map(|(kind, source)| page_of(place, kind, source)).collect()
}

/// Overlapping texts of the whole page.
fn overlaps(browser: &mut Browser) -> Value {
    browser.value(&format!("{OVERLAPS_IN}(document.body)"))
}

/// Texts that overlap when each series is turned off, and in smaller and smaller parts of the time.
fn overlaps_in_use(browser: &mut Browser) -> Value {
    browser.value(&format!(
        r#"(() => {{
          const found = [];
          const look = (what, part) => found.push(...{OVERLAPS_IN}(part).map((texts) => `${{what}}: ${{texts}}`));
          const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
          for (const key of shown(".keys button[aria-pressed]")) {{
            const figure = key.closest("figure");
            key.click();
            look(`${{figure.dataset.chart}} without ${{key.innerText}}`, figure);
            key.click();
          }}
          const plot = shown(".plot").find((plot) => plot.querySelector("svg[data-x-unit=time]"));
          for (const key of ["ArrowRight", "+", "+", "ArrowRight", "+", "+", "+"]) {{
            plot.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
            // Without the figures beside the crosshair, which lie over the chart.
            plot.dispatchEvent(new FocusEvent("blur"));
            look(`after ${{key}}`, plot.closest(".charts"));
          }}
          return found;
        }})()"#
    ))
}

/// Overlaps of texts in charts used to depend on the results. More results: `PAGES_SEEDS=1000..2000`.
#[test]
fn texts_do_not_overlap_whatever_was_measured() {
    let Some(program) = chromium() else {
        skip!("there is no Chromium");
    };
    let place = workplace!();
    let mut browser = Browser::start(&program, &place.path("profile"));
    let seeds = std::env::var("PAGES_SEEDS").unwrap_or_else(|_| "1..4".to_owned());
    let (first, end) = seeds.split_once("..").expect("two numbers");
    for seed in first.parse().expect("a number")..end.parse::<u64>().expect("a number") {
        fixed::result(&place, "r.json", seed);
        let (_, file) = page_of(&place, "random", "r.json");
        for width in WIDTHS {
            browser.open(&file, width, "light");
            assert_eq!(overlaps(&mut browser), Value::Array(Vec::new()), "seed {seed} at {width}");
            if width == WIDTHS[0] || width == WIDTHS[2] {
                assert_eq!(overlaps_in_use(&mut browser), Value::Array(Vec::new()), "seed {seed} at {width}");
            }
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn pages_fit_all_widths_and_are_accessible() {
    check_all(pages);
}

#[test]
fn pages_of_repeated_presets_fit_all_widths_and_are_accessible() {
    check_all(pages_of_repeats);
}

#[test]
fn pages_of_judging_presets_fit_all_widths_and_are_accessible() {
    check_all(pages_of_judges);
}

#[test]
fn pages_of_methods_fit_all_widths_and_are_accessible() {
    check_all(pages_of_methods);
}

/// Checks the pages made in a workplace.
fn check_all(made: fn(&Workplace) -> Vec<(&'static str, PathBuf)>) {
    let Some(program) = chromium() else {
        skip!("there is no Chromium");
    };
    let place = workplace!();
    let mut browser = Browser::start(&program, &place.path("profile"));
    let axe = axe();
    check(&mut browser, made(&place), axe);
    if axe.is_none() {
        skip!("axe-core cannot be had from npm: accessibility was not checked");
    }
}
