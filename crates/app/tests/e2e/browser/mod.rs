//! Pages in a browser. Not below `pages`: the longest tests should begin first, and tests begin in the order of their
//! names.

mod driver;
mod kinds;
mod use_of_page;

use crate::pages::{fixed, page};
use driver::{Browser, OPTIONS, chromium};
use testkit::{skip, workplace};

#[test]
fn a_page_is_printed_over_the_width_of_the_paper() {
    let Some(program) = chromium() else {
        skip!("there is no Chromium");
    };
    let place = workplace!();
    fixed::result(&place, "r.json", fixed::USUAL);
    page(&place, "r.json");
    let printed = place
        .tool(&program)
        .args(&OPTIONS.join(" "))
        .arg(format!("--user-data-dir={}", place.path("profile").display()))
        .args("--print-to-pdf=page.pdf --no-pdf-header-footer")
        .arg(format!("file://{}", place.path("page.html").display()))
        .run();
    printed.expect_status(0);
    let paper = place.content("page.pdf");
    assert!(paper.starts_with(b"%PDF-") && paper.len() > 20_000, "{} bytes", paper.len());
    let mut browser = Browser::start(&program, &place.path("driven"));
    browser.open(&place.path("page.html"), 700, "light");
    browser.ask("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    let used = "[...document.querySelectorAll('.charts')].map(c => { const f = [...c.querySelectorAll('figure')].map(f => \
                f.getBoundingClientRect()); return (Math.max(...f.map(b => b.right)) - Math.min(...f.map(b => b.left))) \
                / document.body.clientWidth; })[0]";
    assert!(browser.number(used) > 0.98, "charts use the width");
    let controls = "[...document.querySelectorAll('button, .zoom')].filter(e => e.offsetParent !== null).length";
    assert!(browser.number(controls) < 0.5, "paper has no controls");
}
