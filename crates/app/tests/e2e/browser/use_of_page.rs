//! Interactions with a page: point, zoom, hide series, sort, copy.

use super::driver::{Browser, chromium};
use crate::pages::{fixed, page};
use testkit::{Workplace, skip, workplace};

/// The page of a usual run, opened; `None` without Chromium.
fn usual_page(width: u32, theme: &str) -> Option<(Workplace, Browser)> {
    let program = chromium()?;
    let place = workplace!();
    fixed::result(&place, "r.json", fixed::USUAL);
    page(&place, "r.json");
    let mut browser = Browser::start(&program, &place.path("profile"));
    browser.open(&place.path("page.html"), width, theme);
    Some((place, browser))
}

/// The visible drawing of a chart.
fn svg(chart: &str) -> String {
    format!("document.querySelector('figure[data-chart={chart}] .wide svg')")
}

/// A point in a chart, in fractions of its plot area from the left and from the top, in window coordinates.
fn place_in(browser: &mut Browser, chart: &str, across: f64, down: f64) -> (f64, f64) {
    let place = browser.value(&format!(
        "(() => {{ const svg = {}; svg.scrollIntoView({{block: 'center'}}); const [l, t, r, b] = \
         svg.dataset.plane.split(' ').map(Number); const box = svg.getBoundingClientRect(); const scale = box.width / \
         svg.viewBox.baseVal.width; return [box.x + (l + (r - l) * {across}) * scale, box.y + (t + (b - t) * {down}) * \
         scale]; }})()",
        svg(chart)
    ));
    (place[0].as_f64().expect("a number"), place[1].as_f64().expect("a number"))
}

/// Texts of an axis of a chart: `across` or `up`.
fn ticks(browser: &mut Browser, chart: &str, axis: &str) -> String {
    let texts =
        format!("[...{}.querySelectorAll('g.{axis} text')].map(t => t.textContent.trim()).join(' ')", svg(chart));
    browser.text(&texts)
}

#[test]
fn crosshair_and_zoom_are_those_of_all_charts_of_a_time() {
    let Some((_place, mut browser)) = usual_page(1280, "light") else {
        skip!("there is no Chromium");
    };
    let visible = "[...document.querySelectorAll('.wide .cross')].filter(c => c.getAttribute('visibility') === \
                   'visible').length";
    assert!(browser.number(visible) < 0.5);
    let middle = place_in(&mut browser, "iops", 0.5, 0.5);
    browser.mouse("mouseMoved", middle);
    let over_time = "document.querySelectorAll('.wide svg[data-x-unit=time]').length";
    let (seen, charts) = (browser.number(visible), browser.number(over_time));
    assert!(charts >= 5.0 && (seen - charts).abs() < 0.5, "{seen} of {charts}");
    let tip = browser.text("document.querySelector('figure[data-chart=throughput] .wide .tip').innerText");
    assert!(tip.contains(" s\n") && tip.contains("MiB/s") && tip.contains("reads"), "{tip}");

    let whole = (ticks(&mut browser, "iops", "across"), ticks(&mut browser, "throughput", "across"));
    let from = place_in(&mut browser, "iops", 0.25, 0.5);
    browser.mouse("mousePressed", from);
    let to = place_in(&mut browser, "iops", 0.5, 0.5);
    browser.mouse("mouseMoved", to);
    browser.mouse("mouseReleased", to);
    let zoomed = (ticks(&mut browser, "iops", "across"), ticks(&mut browser, "throughput", "across"));
    assert_ne!(whole, zoomed);
    // The wide chart has more of them.
    let (wide, half): (Vec<&str>, Vec<&str>) = (zoomed.0.split(' ').collect(), zoomed.1.split(' ').collect());
    assert!(half.iter().all(|tick| wide.contains(tick)), "all charts show the same time: {zoomed:?}");
    let part = browser.text("document.querySelector('.zoom b').textContent");
    assert!(part.starts_with("0.5") && part.contains(" s to 1"), "{part}");
    // The point between two samples where the line leaves the plot area.
    let label_follows = format!(
        "(() => {{ const svg = {}; const label = [...svg.querySelectorAll('g.names text')].find(t => \
         t.textContent.trim() === 'total'); const at = svg.querySelector('g.series[data-series=total] \
         polyline').getAttribute('points').trim().split(/[ ,]+/).map(Number); const right = \
         Number(svg.dataset.plane.split(' ')[2]); let i = 0; while (i + 2 < at.length && at[i + 2] <= right) i += 2; \
         const share = i + 2 < at.length ? (right - at[i]) / (at[i + 2] - at[i]) : 0; const y = at[i + 1] + share * \
         ((at[i + 3] ?? 0) - at[i + 1]); return Math.abs(y - Number(label.getAttribute('y'))); }})()",
        svg("iops")
    );
    let distance = browser.number(&label_follows);
    // Names are moved apart by a line each.
    assert!(distance < 300.0, "the name is {distance} units from the end of its line");
    browser.click(".zoom button");
    assert_eq!((ticks(&mut browser, "iops", "across"), ticks(&mut browser, "throughput", "across")), whole);
}

#[test]
fn keys_do_what_the_pointer_does() {
    let Some((_place, mut browser)) = usual_page(1280, "light") else {
        skip!("there is no Chromium");
    };
    browser.value(&format!("{}.parentElement.focus()", svg("iops")));
    let outline = browser.text("getComputedStyle(document.activeElement).outlineStyle");
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    let said = browser.text("document.querySelector('.said').textContent");
    assert!(said.contains("0.15 s") && said.contains("IOPS"), "{said}");
    let whole = ticks(&mut browser, "heat", "across");
    browser.key("+");
    assert_ne!(ticks(&mut browser, "heat", "across"), whole);
    browser.key("0");
    assert_eq!(ticks(&mut browser, "heat", "across"), whole);
    browser.key("Tab");
    let next =
        browser.text("document.activeElement.tagName + ' ' + getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!((next.as_str(), outline.as_str()), ("BUTTON solid", "solid"), "focus goes on, and is seen");
    // Every control is in the Tab order.
    let unreachable = "[...document.querySelectorAll('button')].filter(b => b.tabIndex < 0).length";
    assert!(browser.number(unreachable) < 0.5);
}

#[test]
fn series_tables_and_copies_follow_the_buttons() {
    let Some((_place, mut browser)) = usual_page(1280, "dark") else {
        skip!("there is no Chromium");
    };
    let total = format!("{}.querySelector('g.series[data-series=total]').style.display", svg("iops"));
    let before = ticks(&mut browser, "iops", "up");
    browser.click("figure[data-chart=iops] .keys button[aria-pressed]");
    assert_eq!(browser.text(&total), "none");
    assert_ne!(ticks(&mut browser, "iops", "up"), before, "the axis fits what is left");
    browser.click("figure[data-chart=iops] .keys button[aria-pressed]");
    assert_eq!((browser.text(&total).as_str(), ticks(&mut browser, "iops", "up")), ("", before));

    let slowest = "document.querySelector('table[aria-label$=\"slowest I/Os\"]')";
    let column = |browser: &mut Browser| {
        let cells = format!("[...{slowest}.tBodies[0].rows].map(r => r.cells[1].innerText.trim()).join(';')");
        browser.text(&cells)
    };
    let as_written = column(&mut browser);
    let head = "table[aria-label$=\"slowest I/Os\"] th:nth-child(2) button";
    browser.click(head);
    let ascending = column(&mut browser);
    assert_eq!(ascending.split(';').next_back(), as_written.split(';').next(), "the slowest is the last");
    assert_eq!(browser.text(&format!("{slowest}.querySelectorAll('th')[1].getAttribute('aria-sort')")), "ascending");
    browser.click(head);
    browser.click(head);
    assert_eq!(column(&mut browser), as_written);

    // Records text written to the clipboard, without one.
    browser.value("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }; 0");
    browser.click(".command + .copy");
    assert!(browser.text("copied").ends_with(fixed::LOAD));
    browser.click("figure[data-chart=iops] .copy");
    let csv = browser.text("copied");
    assert!(csv.starts_with("time (s),total (IOPS),reads (IOPS),writes (IOPS)\n0.05,"), "{csv}");
    assert_eq!(csv.lines().count(), 21, "{csv}");
    browser.click("[aria-label='Percentiles of latency'] + .copy");
    assert!(browser.text("copied").starts_with("percentile,reads,writes,total\nmin,"));
}

#[test]
fn a_wide_table_scrolls_with_a_cue_and_long_pages_have_contents() {
    let Some((_place, mut browser)) = usual_page(390, "light") else {
        skip!("there is no Chromium");
    };
    let slowest = "document.querySelector('.table[aria-label$=\"slowest I/Os\"]')";
    let cue = browser.text(&format!("{slowest}.previousElementSibling.innerText"));
    assert_eq!(cue, "more columns: scroll sideways \u{2192}");
    assert_eq!(browser.text(&format!("{slowest}.getAttribute('role') + {slowest}.tabIndex")), "region0");
    browser.value(&format!("{slowest}.focus(); 0"));
    assert_eq!(browser.text("document.activeElement.className"), "table");
    browser.redraw(1920, "light");
    browser.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    let cues = "[...document.querySelectorAll('.cue')].filter(e => e.checkVisibility()).length";
    assert!(browser.number(cues) < 0.5, "nothing scrolls in a wide window");

    let entries = "[...document.querySelectorAll('.contents a')].map(a => a.textContent).join(';')";
    let headings = "[...document.querySelectorAll('h2:not(.unseen)')].map(h => h.textContent).join(';')";
    let listed = browser.text(entries);
    assert!(listed.starts_with("Charts;Tables;"), "{listed}");
    assert_eq!(listed, browser.text(headings));
    browser.click(".contents li:nth-child(2) a");
    assert_eq!(browser.text("document.querySelector(location.hash).textContent"), "Tables");
    browser.ask("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    let height = browser.number("document.querySelector('.contents').getBoundingClientRect().height");
    assert!(height > 10.0, "on paper, too");
}
