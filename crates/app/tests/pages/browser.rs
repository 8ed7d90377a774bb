//! Pages in a browser.

use crate::page;
use testkit::{Finished, Workplace, skip, tool, workplace};

/// Runs Chromium without a window on page.html.
fn chromium(place: &Workplace, program: &str, words: &str) -> Finished {
    // Without a sandbox, which root cannot have, and without whatever it would ask the network on its own.
    let usual = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking \
                 --disable-component-update --no-first-run --enable-logging=stderr --virtual-time-budget=3000";
    let profile = format!("--user-data-dir={}", place.path("profile").display());
    let address = format!("file://{}", place.path("page.html").display());
    place.tool(program).args(usual).arg(profile).args(words).arg(address).run()
}

#[test]
fn a_page_works_in_a_browser_and_on_paper() {
    let Some(program) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|name| tool(name).ok())
    else {
        skip!("there is no Chromium");
    };
    let program = program.to_string_lossy().into_owned();
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K -r -w30 -t2 -L -D100 --json r.json a.dat").run().expect_status(0);
    page(&place, "r.json");
    let shown = chromium(&place, &program, "--dump-dom");
    shown.expect_status(0);
    // A request that left the page would be against its policy, and an error here, too.
    let complaints: Vec<&str> = shown.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    // What only the script adds shows that it ran to its end.
    assert!(shown.stdout.contains("aria-pressed=\"true\""), "series can be turned off");
    let charts = shown.stdout.matches("<figure").count();
    assert_eq!(
        shown.stdout.matches("class=\"cross\"").count(),
        charts * 2,
        "every chart tells its values, in both sizes"
    );
    let printed = chromium(&place, &program, "--print-to-pdf=page.pdf --no-pdf-header-footer");
    printed.expect_status(0);
    let paper = place.content("page.pdf");
    assert!(paper.starts_with(b"%PDF-") && paper.len() > 20_000, "{} bytes", paper.len());
}
