//! Results to look at: a page of HTML that needs nothing else, and single charts as SVG and PNG.
//!
//! [`charts`] makes charts of results as plain data, [`draw`] draws them, [`image`] puts them into a format.
//! [`run`], [`sweep`], [`repeat`], [`pairs`] and [`comparison`] say what stands on a page and in which order, as blocks;
//! the template gives each kind of block its form.

mod again;
mod answer;
mod axis;
mod block;
mod brief;
mod chart;
mod charts;
mod comparison;
mod draw;
mod engines;
mod environment;
mod fleet;
mod foreign_text;
mod history;
mod image;
mod interference;
mod kinds;
mod labels;
#[cfg(test)]
mod labels_of_random_charts;
mod pairs;
mod palette;
mod preset;
mod quantity;
mod recording;
mod repeat;
mod ruler;
mod run;
mod run_brief;
mod storage;
mod sweep;
mod warnings;
mod weak;

pub use comparison::Side;
pub use warnings::{Explain, Meaning};

use block::Page;
use chart::Chart;
use minijinja::Environment;
use minijinja::value::Serde;
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::Sweep;
use render::gate::History;
use render::load_line;
use std::io;
use thiserror::Error;

/// What a page is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One result.
    Run {
        /// The name of its file.
        name: &'a str,
        /// The result.
        result: &'a RunResult,
        /// What devices did meanwhile, if it was recorded.
        devices: Option<&'a Recording>,
    },
    /// What devices did.
    Recording {
        /// The name of its file.
        name: &'a str,
        /// The recording.
        recording: &'a Recording,
    },
    /// A sweep.
    Sweep {
        /// The name of its directory.
        name: &'a str,
        /// The sweep.
        sweep: &'a Sweep,
        /// The result of the point that is [worth a look](stats::sweep::recommended), if it can be had.
        chosen: Option<&'a RunResult>,
    },
    /// Runs of the same load.
    Repeat {
        /// The name of their directory.
        name: &'a str,
        /// The runs.
        sweep: &'a Sweep,
        /// The result of one of them, if it can be had.
        example: Option<&'a RunResult>,
    },
    /// Two loads in pairs of runs.
    Pairs {
        /// The name of their directory.
        name: &'a str,
        /// The runs.
        sweep: &'a Sweep,
        /// The result of one of them, if it can be had.
        example: Option<&'a RunResult>,
    },
    /// Streams alone and together.
    Interference {
        /// The name of their directory.
        name: &'a str,
        /// The runs.
        sweep: &'a Sweep,
        /// The result of one of them, if it can be had.
        example: Option<&'a RunResult>,
    },
    /// Results beside the first of them.
    Comparison {
        /// Two or more.
        sides: &'a [Side],
    },
}

/// Formats of a single chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartFormat {
    /// Vectors.
    Svg,
    /// Pixels.
    Png,
}

/// Why there is no chart.
#[derive(Debug, Error)]
pub enum NoChart {
    /// There is none of this name.
    #[error("unknown chart '{name}' (available: {})", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// There is none at all.
    #[error("nothing to draw: {0}")]
    Nothing(String),
    /// It cannot be drawn.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

/// A page as HTML; `explain` knows what the findings of its runs mean.
pub fn html(subject: &Subject<'_>, explain: Explain) -> io::Result<String> {
    let page = match *subject {
        Subject::Run { name, result, devices } => run::page(result, name, devices, explain),
        Subject::Recording { name, recording } => recording::page(recording, name),
        Subject::Sweep { name, sweep, chosen } => sweep::page(sweep, chosen, name, explain),
        Subject::Repeat { name, sweep, example } => repeat::page(sweep, example, name, explain),
        Subject::Pairs { name, sweep, example } => pairs::page(sweep, example, name, explain),
        Subject::Interference { name, sweep, example } => interference::page(sweep, example, name, explain),
        Subject::Comparison { sides } => comparison::page(sides, explain),
    }?;
    rendered(page)
}

/// The page of the histories of a gate; `name` is that of their directory.
///
/// # Errors
///
/// The template or a chart cannot be drawn.
pub fn history_html(histories: &[History<'_>], name: &str) -> io::Result<String> {
    rendered(history::page(histories, name)?)
}

fn rendered(mut page: Page) -> io::Result<String> {
    page.draw_hero()?;
    filled(page).map_err(|error| io::Error::other(format!("the HTML page cannot be created: {error:#}")))
}

/// The template with the page in it.
fn filled(page: Page) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    // Names that end with .html are escaped.
    environment.add_template("report.html", include_str!("report.html"))?;
    environment.add_template("block.html", include_str!("block.html"))?;
    environment.add_template("chart.html", include_str!("chart.html"))?;
    environment.add_template("words.html", include_str!("words.html"))?;
    environment.add_template("report.css", include_str!("report.css"))?;
    environment.add_template("report.js", include_str!("report.js"))?;
    environment.get_template("report.html")?.render(Serde(page))
}

/// What stands below the title of a chart in a file of its own: the load, and where and when it was measured.
fn about(subject: &Subject<'_>) -> Vec<String> {
    let (mut lines, place) = match *subject {
        Subject::Run { result, .. } => (vec![load_line::of_result(result)], Some(environment::subtitle(result))),
        Subject::Recording { recording, .. } => (Vec::new(), Some(recording::subtitle(recording))),
        Subject::Sweep { sweep, chosen: example, .. }
        | Subject::Repeat { sweep, example, .. }
        | Subject::Interference { sweep, example, .. }
        | Subject::Pairs { sweep, example, .. } => {
            (vec![load_line::of_runs(sweep, example)], example.map(environment::subtitle_of_runs))
        }
        Subject::Comparison { sides } => {
            let place = sides.iter().any(|side| !side.results.is_empty()).then(|| comparison::subtitle(sides));
            (comparison::load(sides), place)
        }
    };
    lines.extend(place);
    lines
}

/// One chart; without a name the first that there is.
pub fn chart(subject: &Subject<'_>, name: Option<&str>, format: ChartFormat) -> Result<Vec<u8>, NoChart> {
    let shown = match *subject {
        Subject::Run { result, .. } => {
            let spans = result.profile.time_spans.iter().map(Some).chain(std::iter::repeat(None));
            let measured = result.time_spans.iter().zip(spans);
            let mut shown = measured
                .enumerate()
                .filter_map(|(index, (span_result, span))| Some((index, span, span_result.measured.as_ref()?)));
            let of_first = |(index, span, measured)| {
                let hosts = result.fleet.as_ref().and_then(|fleet| fleet.time_spans.get(index)).map(fleet::shown);
                charts::of_time_span(span, measured).into_iter().chain(hosts.into_iter().flatten()).collect()
            };
            shown.next().map(of_first).unwrap_or_default()
        }
        Subject::Recording { recording, .. } => recording::shown(recording),
        Subject::Sweep { sweep, .. } => sweep::shown(sweep),
        Subject::Pairs { sweep, .. } => pairs::shown(sweep),
        Subject::Interference { sweep, .. } => interference::shown(sweep),
        Subject::Repeat { sweep, .. } => {
            let headlines: Vec<_> = sweep.measured().collect();
            stats::repeats::repeats(&headlines).map(|found| Ok(charts::runs(&headlines, &found))).into_iter().collect()
        }
        Subject::Comparison { sides: sides @ [first, second, ..] } => {
            let found = stats::compare::compare(&first.results, &second.results);
            charts::differences(&found).map(Ok).into_iter().chain(comparison::overlaid(sides)).collect()
        }
        Subject::Comparison { .. } => Vec::new(),
    };
    let reasons: Vec<String> =
        shown.iter().filter_map(|shown| shown.as_ref().err()).map(|no| no.reason.clone()).collect();
    let charts: Vec<Chart> = shown.into_iter().flatten().collect();
    let found = match name {
        Some(name) => charts.iter().find(|chart| chart.name == name),
        None => charts.first(),
    };
    match (found, name) {
        (Some(chart), _) => Ok(match format {
            ChartFormat::Svg => image::svg_alone(chart, &about(subject))?,
            ChartFormat::Png => image::png(chart, &about(subject))?,
        }),
        (None, Some(name)) if !charts.is_empty() => {
            Err(NoChart::Unknown { name: name.to_owned(), known: charts.iter().map(|chart| chart.name).collect() })
        }
        (None, _) => {
            Err(NoChart::Nothing(reasons.first().cloned().unwrap_or_else(|| "nothing was measured".to_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::device_interval::{DeviceInterval, DeviceRates, RequestRates, WatchBegin};
    use model::headline::Headline;
    use model::sweep::{Purpose, Visit, VisitOutcome};

    /// The rows of the brief of a page.
    fn brief(subject: &Subject<'_>) -> Vec<String> {
        let page = html(subject, |_| None).expect("it is made");
        let brief = page.split("<dl class=\"brief\"").nth(1).and_then(|rest| rest.split("</dl>").next());
        let rows = brief.expect("it is there").split("<dd>").skip(1);
        let plain = |row: &str| {
            ["<span class=\"whole\">", "</span>"].iter().fold(row.to_owned(), |row, tag| row.replace(tag, ""))
        };
        rows.map(|row| plain(row.split("</dd>").next().unwrap_or_default()).trim().replace("&#x2f;", "/")).collect()
    }

    fn recording(counts: &[u64]) -> Recording {
        let begin = WatchBegin {
            schema: String::new(),
            schema_version: 1,
            tool_version: String::new(),
            host: "vm".to_owned(),
            started_at_unix_ns: 0,
            interval_ns: 1_000_000_000,
            devices: Vec::new(),
            machine: None,
        };
        let interval = |(number, count): (u64, &u64)| {
            let read = RequestRates { count: *count, per_s: *count as f64, ..RequestRates::default() };
            let devices =
                [("sda".to_owned(), DeviceRates { read, busy_percent: 50.0, ..DeviceRates::default() })].into();
            let end_ns = number * 1_000_000_000;
            DeviceInterval { number, ended_at_unix_ns: 0, end_ns, interval_ns: 1_000_000_000, devices }
        };
        Recording { begin, intervals: (1..).zip(counts).map(interval).collect(), end: None }
    }

    fn runs(count: u32) -> Sweep {
        let visit = |run: u32| {
            let (notes, iops) = (vec!["short-run".to_owned()], f64::from(100 + run * 7 % 5));
            let headline = Headline { iops, notes, ..Headline::default() };
            let outcome = VisitOutcome::Measured { file: String::new(), headline };
            let purpose = Purpose::Measure;
            Visit { point: 0, run, purpose, outcome, limit: None, sustained_iops: None, streams: Vec::new() }
        };
        let words = ["--runs=3", "--", "-d5", "a.dat"].map(str::to_owned).to_vec();
        Sweep { words, visits: (0..count).map(visit).collect(), ..Sweep::default() }
    }

    #[test]
    fn every_page_of_several_runs_answers_the_four_questions() {
        let (name, example) = ("d", None);
        let side = |name: &str| {
            let mut result = RunResult { command_line: format!("diskspd {name}"), ..RunResult::default() };
            "vm".clone_into(&mut result.system.computer_name);
            Side { name: name.to_owned(), results: vec![result] }
        };
        let sides = [side("a"), side("b")];
        let (none, few, many) = (Sweep::default(), runs(3), runs(8));
        let (idle, busy) = (recording(&[0, 0]), recording(&[0, 5, 9]));
        let subjects = [&none, &few, &many].into_iter().flat_map(|sweep| {
            [
                Subject::Repeat { name, sweep, example },
                Subject::Pairs { name, sweep, example },
                Subject::Interference { name, sweep, example },
            ]
        });
        let recordings = [&idle, &busy].map(|recording| Subject::Recording { name, recording });
        for subject in subjects.chain(recordings).chain([Subject::Comparison { sides: &sides }]) {
            let rows = brief(&subject);
            assert!(rows.len() == 4 && rows.iter().all(|row| row.len() > 1), "{subject:?}: {rows:?}");
        }
    }

    #[test]
    fn a_brief_tells_what_is_missing_and_what_to_type() {
        let rows = brief(&Subject::Repeat { name: "d", sweep: &runs(3), example: None });
        assert!(
            rows[2].starts_with("Only in part: 3 runs (IOPS: standard deviation 2.0 % of the mean) are too few"),
            "{rows:?}"
        );
        assert!(rows[3].contains("diskspd repeat --runs=10 -- -d60 a.dat"), "{rows:?}");
        let rows = brief(&Subject::Repeat { name: "d", sweep: &runs(8), example: None });
        assert!(
            rows[2].starts_with("Yes: the interval covers the variation between 8 runs (IOPS: standard"),
            "{rows:?}"
        );
        let rows = brief(&Subject::Recording { name: "m", recording: &recording(&[0, 6, 12]) });
        let told = "6 requests/s on average, idle time included: requests were in flight for 50 % of the time";
        assert!(rows[0].contains(told) && rows[2].contains("3 s may not be typical"), "{rows:?}");
    }
}
