//! The runs of a series as comma-separated values.

use crate::foreign;
use csv::{Terminator, WriterBuilder};
use model::headline::Headline;
use model::metric::{Metric, Scope};
use model::sweep::{Purpose, Setting, Sweep, VisitOutcome};
use model::units::mib;
use report::words::sweep::{names, purpose};
use std::io::{self, Write};

/// Columns after those of the varied settings.
pub(crate) const COLUMNS: [&str; 23] = [
    "point",
    "run",
    "purpose",
    "file",
    "total_depth",
    "threads",
    "iops",
    "mib_per_s",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p99_9_ns",
    "response_mean_ns",
    "response_p50_ns",
    "response_p99_ns",
    "response_p99_9_ns",
    "commit_mean_ns",
    "commit_p50_ns",
    "commit_p99_ns",
    "commit_p99_9_ns",
    "cpu_percent",
    "verdict",
    "error",
];

/// True for the first line of such a table; those of earlier versions lack commits.
pub(crate) fn is_heading(line: &str) -> bool {
    let of_earlier: Vec<&str> = COLUMNS.into_iter().filter(|name| !name.starts_with("commit_")).collect();
    [&COLUMNS[..], &of_earlier].iter().any(|columns| line.ends_with(&columns.join(",")))
}

/// All runs, one a line, in the order of execution. Empty cells are unknown.
pub fn csv(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    let names = names(sweep);
    let names = names.iter().map(|name| foreign::text_cell(name));
    writer.write_record(names.chain(COLUMNS.map(str::to_owned)))?;
    for visit in &sweep.visits {
        let settings = sweep.points.get(visit.point).map(|point| &point.settings[..]).unwrap_or_default();
        let is_capacity = visit.purpose == Purpose::Capacity;
        let value = |setting: &Setting| if is_capacity { String::new() } else { setting.value.clone() };
        let mut cells: Vec<String> = settings.iter().map(value).collect();
        cells.extend([(visit.point + 1).to_string(), (visit.run + 1).to_string(), purpose(visit.purpose).to_owned()]);
        match &visit.outcome {
            VisitOutcome::Measured { file, headline } => cells.extend(figures(file, headline)),
            VisitOutcome::Failed { reasons } => {
                cells.extend(std::iter::repeat_n(String::new(), 19));
                cells.push(foreign::text_cell(&reasons.join("; ")));
            }
        }
        writer.write_record(&cells)?;
    }
    writer.flush()
}

fn figures(file: &str, headline: &Headline) -> [String; 20] {
    let known = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let commit = |metric| headline.scoped_value((Scope::Commit, metric)).map(|ns| ns.to_string()).unwrap_or_default();
    [
        foreign::text_cell(file),
        headline.depth.map(|depth| depth.to_string()).unwrap_or_default(),
        headline.threads.to_string(),
        headline.iops.to_string(),
        mib(headline.bytes_per_s).to_string(),
        headline.mean_ns.map(|ns| ns.to_string()).unwrap_or_default(),
        known(headline.p50_ns),
        known(headline.p99_ns),
        known(headline.p999_ns),
        headline.response_mean_ns.map(|ns| ns.to_string()).unwrap_or_default(),
        known(headline.response_p50_ns),
        known(headline.response_p99_ns),
        known(headline.response_p999_ns),
        commit(Metric::Mean),
        commit(Metric::P50),
        commit(Metric::P99),
        commit(Metric::P999),
        headline.cpu_percent.to_string(),
        headline.severity.map_or("", |severity| severity.word()).to_owned(),
        String::new(),
    ]
}
