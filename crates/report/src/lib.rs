//! Reports of results as data: answers, findings, tables, and charts that are not drawn yet.
//!
//! [`Subject::report`] makes a [`Report`]; `render` prints it as text, `pages` as HTML. [`run`], [`sweep`], [`repeat`],
//! [`pairs`] and the like decide the content and order for their kind of result; [`words`] has the sentences and tables
//! that reports have in common.

mod again;
mod answer;
pub mod axis;
mod block;
mod brief;
pub mod chart;
mod charts;
pub mod closing_line;
mod comparison;
mod corrupt_unit;
mod cycles;
mod engines;
mod environment;
mod figures;
mod fleet;
mod foreign_text;
mod history;
mod interference;
pub mod intervals;
mod kinds;
mod ledger;
mod load_comparison;
mod load_figures;
mod load_loop;
pub mod numbers;
mod pairs;
mod preset;
mod procedure;
pub mod quantity;
mod recording;
mod repeat;
mod replay;
pub mod role;
mod rpcs;
mod run;
mod run_brief;
pub mod runs_table;
mod scaling;
mod series;
mod storage;
mod sweep;
mod trace;
mod verified;
mod warnings;
mod weak;
pub mod words;

pub use self::trace::trace;
pub use block::{
    Answer, Banner, Block, Brief, Column, Fact, Missing, Report, Section, Table, Tile, Tone, Trust, VerdictLine,
};
pub use chart::{ChartResult, MissingChart};
pub use closing_line::closing_line;
pub use comparison::{Comparison, Side};
pub use corrupt_unit::CorruptUnitText;
pub use cycles::{cycle, cycles};
pub use fleet::sections as hosts;
pub use history::report as history;
pub use load_comparison::{ComparedLoad, load_comparison};
pub use load_loop::flushes;
pub use preset::preset;
pub use procedure::procedure;
pub use run::{
    beside_diskspd, expectation, kernel_messages, lowest_limit, no_intervals, requirements, slowest, verdict,
};
pub use run_brief::brief as brief_of_run;
pub use scaling::scaling;
pub use verified::{VerifiedTarget, verification};
pub use warnings::{Explain, Meaning};

pub use stats::gate::Change;
pub use stats::metric_buckets::MetricBuckets;
pub use stats::repeats::{Repeats, repeats};
pub use stats::{NAMED_PERCENTILES, PERCENTILE_RANKS_PPB, Part, fio_form};

use crate::runs_table::RunsTable;
use crate::words::load_line;
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::{SeriesKind, Sweep};

/// The subject of a report.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One result.
    Run {
        /// The name of its file.
        name: &'a str,
        /// The result.
        result: &'a RunResult,
        /// The devices meanwhile, if they were recorded.
        devices: Option<&'a Recording>,
    },
    /// A recording of devices.
    Recording {
        /// The name of its file.
        name: &'a str,
        /// The recording.
        recording: &'a Recording,
    },
    /// Runs of one load or of several.
    Series {
        /// The kind.
        kind: SeriesKind,
        /// The name of their directory.
        name: &'a str,
        /// The runs.
        sweep: &'a Sweep,
        /// The result of one of them, if available; for a sweep that of the [recommended](stats::sweep::recommended)
        /// point.
        example: Option<&'a RunResult>,
    },
    /// Results beside the first of them.
    Comparison(&'a Comparison),
    /// Runs of any loads, a row each.
    Runs {
        /// Their collective name.
        name: &'a str,
        /// The runs.
        table: &'a RunsTable,
    },
}

impl Subject<'_> {
    /// Its report; `explain` has the documentation of the findings of its runs.
    pub fn report(&self, explain: Explain) -> Report {
        match *self {
            Self::Run { name, result, devices } => run::report(result, name, devices, explain),
            Self::Recording { name, recording } => recording::report(recording, name),
            Self::Series { kind, name, sweep, example } => {
                let report = match kind {
                    SeriesKind::Sweep => sweep::report,
                    SeriesKind::Repeat => repeat::report,
                    SeriesKind::Ab => pairs::report,
                    SeriesKind::Interference => interference::report,
                };
                report(sweep, example, name, explain)
            }
            Self::Comparison(compared) => comparison::report(compared, explain),
            Self::Runs { name, table } => runs_table::report(table, name, explain),
        }
    }

    /// The lines below the title of a chart in a file of its own: load, machine and time.
    pub fn about(&self) -> Vec<String> {
        let (mut lines, place) = match *self {
            Subject::Run { result, .. } => (vec![load_line::of_result(result)], Some(environment::subtitle(result))),
            Subject::Recording { recording, .. } => (Vec::new(), Some(recording::subtitle(recording))),
            Subject::Series { sweep, example, .. } => {
                (vec![load_line::of_runs(sweep, example)], example.map(environment::subtitle_of_runs))
            }
            Subject::Comparison(Comparison { sides, .. }) => {
                let place = sides.iter().any(|side| !side.results.is_empty()).then(|| comparison::subtitle(sides));
                (comparison::load(sides), place)
            }
            Subject::Runs { .. } => (Vec::new(), None),
        };
        lines.extend(place);
        lines
    }

    /// Its charts, in the order of its report.
    pub fn charts(&self) -> Vec<ChartResult> {
        match *self {
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
            Subject::Series { kind: SeriesKind::Sweep, sweep, .. } => sweep::shown(sweep),
            Subject::Series { kind: SeriesKind::Ab, sweep, .. } => pairs::shown(sweep),
            Subject::Series { kind: SeriesKind::Interference, sweep, .. } => interference::shown(sweep),
            Subject::Series { kind: SeriesKind::Repeat, sweep, .. } => {
                let headlines: Vec<_> = sweep.measured().collect();
                stats::repeats::repeats(&headlines)
                    .map(|found| Ok(charts::runs(&headlines, &found)))
                    .into_iter()
                    .collect()
            }
            Subject::Comparison(Comparison { sides, found }) => {
                let found = found.first().and_then(|found| charts::differences(found));
                found.map(Ok).into_iter().chain(comparison::overlaid(sides)).collect()
            }
            Subject::Runs { table, .. } => runs_table::charts(table, table.curve().as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::device_interval::{DeviceInterval, DeviceRates, RequestRates, WatchBegin};
    use model::headline::Headline;
    use model::sweep::{Purpose, Visit, VisitOutcome};

    /// The rows of the brief of a report.
    fn brief(subject: &Subject<'_>) -> Vec<String> {
        let Brief { measured, on, trust, next, command } = subject.report(|_| None).brief;
        vec![measured, on, trust.words, format!("{next} {command}")]
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
            DeviceInterval {
                number,
                ended_at_unix_ns: 0,
                end_ns,
                interval_ns: 1_000_000_000,
                devices,
                system: [].into(),
            }
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
        let compared = Comparison::new(vec![side("a"), side("b")], &[]);
        let (none, few, many) = (Sweep::default(), runs(3), runs(8));
        let (idle, busy) = (recording(&[0, 0]), recording(&[0, 5, 9]));
        let subjects = [&none, &few, &many].into_iter().flat_map(|sweep| {
            [
                Subject::Series { kind: SeriesKind::Repeat, name, sweep, example },
                Subject::Series { kind: SeriesKind::Ab, name, sweep, example },
                Subject::Series { kind: SeriesKind::Interference, name, sweep, example },
            ]
        });
        let recordings = [&idle, &busy].map(|recording| Subject::Recording { name, recording });
        for subject in subjects.chain(recordings).chain([Subject::Comparison(&compared)]) {
            let rows = brief(&subject);
            assert!(rows.len() == 4 && rows.iter().all(|row| row.len() > 1), "{subject:?}: {rows:?}");
        }
    }

    #[test]
    fn a_brief_tells_what_is_missing_and_what_to_type() {
        let rows = brief(&Subject::Series { kind: SeriesKind::Repeat, name: "d", sweep: &runs(3), example: None });
        assert!(
            rows[2].starts_with("Only in part: 3 runs (IOPS: standard deviation 2.0 % of the mean) are too few"),
            "{rows:?}"
        );
        assert!(rows[3].contains("diskspd repeat --runs=10 -- -d60 a.dat"), "{rows:?}");
        let rows = brief(&Subject::Series { kind: SeriesKind::Repeat, name: "d", sweep: &runs(8), example: None });
        assert!(
            rows[2].starts_with("Yes: the interval covers the variation between 8 runs (IOPS: standard"),
            "{rows:?}"
        );
        let rows = brief(&Subject::Recording { name: "m", recording: &recording(&[0, 6, 12]) });
        let told = "6 requests/s on average, idle time included: requests were in flight for 50 % of the time";
        assert!(rows[0].contains(told) && rows[2].contains("3 s may not be typical"), "{rows:?}");
    }
}
