//! The report of a gate's history: each metric over the runs, with its change points.

use super::axis::Axis;
use super::block::{Block, Report, Section, Tone, charts};
use super::chart::{Chart, Marker, Marks, Series};
use super::foreign_text::text;
use super::quantity::Quantity;
use super::role::Role;
use crate::block::{Brief, Trust};
use crate::words::gate::{History, history, shown_metrics};
use crate::words::time::utc;
use model::metric::{MetricName, MetricUnit};
use model::units::counted;

/// The report; `name` is that of the directory.
pub fn report(histories: &[History<'_>], name: &str) -> Report {
    let mut sections = Vec::new();
    for (number, one) in (1..).zip(histories) {
        let shown: Vec<_> = shown_metrics(&one.runs).iter().map(|name| Ok(chart(one, name))).collect();
        let mut blocks = charts(shown);
        blocks.push(Block::Table(history(one)));
        let parts = one.runs.iter().rev().take(1).flat_map(|run| &run.fingerprint);
        let sentences = parts.map(|(name, value)| text(&format!("{name}: {value}")));
        blocks.push(Block::notes(sentences));
        sections.push(Section::new(&format!("History {number}"), blocks));
    }
    let runs: usize = histories.iter().map(|one| one.runs.len()).sum();
    let changes: usize = histories.iter().map(|one| one.levels.len()).sum();
    let dates = histories.iter().flat_map(|one| &one.runs).map(|run| run.at_unix_ns.0);
    let newest = dates.max().map_or_else(String::new, |at| utc(model::units::UnixTime(at)));
    let brief = Brief {
        measured: format!(
            "{} in {}, with {}.",
            counted(runs, "run"),
            match histories.len() {
                1 => "one history".to_owned(),
                count => format!("{count} histories"),
            },
            counted(changes, "change point")
        ),
        on: "The machines and storage below.".to_owned(),
        trust: Trust {
            tone: Tone::Plain,
            words: "Runs of one history have load, kinds of machine and storage, and versions in common.".to_owned(),
        },
        next: "Find out what changed at the change points.".to_owned(),
        command: String::new(),
    };
    let title = format!("Gate history: {}", text(name));
    Report::new(title, String::new(), format!("latest run: {newest}"), brief, sections)
}

fn chart(one: &History<'_>, name: &MetricName) -> Chart {
    let quantity = match name.metric.unit() {
        MetricUnit::IosPerSecond => Quantity::Iops,
        MetricUnit::MibPerSecond => Quantity::MibPerS,
        MetricUnit::Nanoseconds => Quantity::LatencyNs,
        MetricUnit::Percent => Quantity::Percent,
    };
    let numbered = (1u32..).zip(&one.runs).filter_map(|(number, run)| Some((f64::from(number), run.value(name)?)));
    let points: Vec<(f64, f64)> = numbered.collect();
    let marker = |place: &usize| {
        let x = *place as f64 + 0.5;
        Marker { x, bounds: (x, x), role: Role::Bad, label: "change".to_owned() }
    };
    let count = one.runs.len();
    // As many numbers as there is room for.
    let step = count.div_ceil(20).max(1);
    let marks = (1..=count).step_by(step).map(|number| (number as f64, number.to_string())).collect();
    Chart {
        name: "history",
        title: format!("{} of each run", name.shown()),
        caption: "Vertical lines are change points of IOPS or the 99th percentile.".to_owned(),
        x: Axis::named("run", Quantity::Count, (0.5, count as f64 + 0.5), marks),
        y: Axis::from_zero("", quantity, points.iter().map(|(_, value)| *value)),
        series: vec![Series { name: "runs".to_owned(), role: Role::Read, marks: Marks::Dots(points) }],
        right: None,
        markers: one.levels.iter().map(marker).collect(),
    }
}
