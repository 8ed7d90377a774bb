//! `diskspd report --output` as pages and charts.

mod charts;
mod comparisons;
pub(crate) mod fixed;
pub(crate) mod recordings;
mod runs;
mod sweeps;

use testkit::Workplace;

/// The page made of these sources.
pub(crate) fn page(place: &Workplace, sources: &str) -> String {
    let run = place.diskspd("report").args(sources).args("-o page.html").run();
    run.expect_status(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let page = String::from_utf8(place.content("page.html")).expect("HTML is text");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>"), "it is whole");
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(!page.contains("://"), "nothing points elsewhere");
    assert!(!page.contains(" src=") && !page.contains("url(h"), "nothing is loaded");
    page
}

/// Names of the charts of a page, in their order.
pub(crate) fn charts(page: &str) -> Vec<&str> {
    page.split(" data-chart=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// A series of a chart from its attributes: x, y and the text of each point.
pub(crate) struct Series {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) texts: Vec<String>,
}

/// A series of a page's chart by their names, as it is drawn for wide windows.
pub(crate) fn series(page: &str, chart: &str, name: &str) -> Series {
    let chart = page.split(&format!(" data-chart=\"{chart}\"")).nth(1).expect("the chart is there");
    let chart = chart.split("</figure>").next().expect("it ends");
    let series = chart.split(&format!("data-series=\"{name}\"")).nth(1).expect("the series is there");
    let attribute = |name: &str| {
        let rest = series.split(&format!(" data-{name}=\"")).nth(1).expect("the attribute is there");
        rest.split('"').next().expect("it ends").to_owned()
    };
    let numbers = |name: &str| attribute(name).split(' ').map(|number| number.parse().expect("a number")).collect();
    Series { x: numbers("x"), y: numbers("y"), texts: attribute("texts").split('|').map(str::to_owned).collect() }
}

/// The load at the head of a page.
fn load(page: &str) -> String {
    let header = page.split("<header>").nth(1).and_then(|rest| rest.split("</header>").next()).expect("a header");
    let line = header.split("<span class=\"load\">").nth(1).and_then(|rest| rest.split("</span>").next());
    words(&format!("<body>{}", line.unwrap_or_default()))
}

/// The text of a page, without markup and without its table of contents.
fn words(page: &str) -> String {
    let mut words = String::new();
    let body = page.split("<body>").nth(1).unwrap_or_default().split("<script>").next().unwrap_or_default();
    let body = match (body.split_once("<nav"), body.split_once("</nav>")) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        _ => body.to_owned(),
    };
    for part in body.split('<') {
        words.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    escapes.into_iter().fold(words, |words, (escape, character)| words.replace(escape, character))
}
