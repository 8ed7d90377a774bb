//! The page of runs of the same load.

use super::block::{Answer, Block, Column, Page, Section, Table, Tone, charts};
use super::charts::runs;
use super::environment::{environment, subtitle};
use super::foreign_text::text;
use super::quantity::{Quantity, latency};
use super::sweep::{command, verdicts};
use model::headline::Headline;
use model::metric::{Metric, MetricUnit};
use model::result::RunResult;
use model::sweep::Sweep;
use render::figure_words::label;
use render::load_line;
use stats::repeats::{Repeats, Spread, repeats};
use std::io;

/// The page; `example` is the result of one of the runs.
pub(super) fn page(sweep: &Sweep, example: Option<&RunResult>, name: &str) -> io::Result<Page> {
    let headlines: Vec<&Headline> = sweep.measured().collect();
    let mut first = Vec::new();
    let mut sections = Vec::new();
    let found = repeats(&headlines);
    first.push(Block::Answers { answers: vec![answer(found.as_ref(), headlines.len(), !sweep.findings.is_empty())] });
    first.extend(verdicts(sweep));
    sections.push(Section::new("", first));
    if let Some(found) = &found {
        let mut blocks = charts(&[Ok(runs(&headlines, found))])?;
        blocks.push(Block::Table(table(found)));
        sections.push(Section::new("The runs", blocks));
    }
    sections.extend(example.map(environment));
    sections.push(command("repeat", sweep));
    let subtitle = example.map_or_else(|| text(sweep.program.as_bytes()), subtitle);
    Ok(Page::new(name.to_owned(), load_line::of_sweep(sweep), subtitle, sections))
}

fn answer(found: Option<&Repeats>, runs: usize, has_findings: bool) -> Answer {
    let Some(found) = found else {
        return Answer {
            tone: Tone::Bad,
            about: String::new(),
            headline: "No run has results".to_owned(),
            sentences: Vec::new(),
        };
    };
    let iops = &found.iops;
    let mut sentences = vec![match iops.interval {
        Some((low, high)) => format!(
            "The median of {runs} runs; with 95 % confidence it lies between {} and {}.",
            Quantity::Iops.value(low),
            Quantity::Iops.value(high)
        ),
        None if runs >= 6 => {
            format!("The median of {runs} runs; neighbouring runs are too much alike for a confidence interval.")
        }
        None => format!("The median of {runs} runs, too few for a confidence interval; 6 are needed."),
    }];
    sentences.push(format!(
        "The runs lie between {} and {}; their standard deviation is {:.1} % of the mean.",
        Quantity::Iops.value(iops.min),
        Quantity::Iops.value(iops.max),
        iops.deviation_percent
    ));
    let tone = if has_findings { Tone::Warn } else { Tone::Good };
    Answer { tone, about: String::new(), headline: Quantity::Iops.value(iops.median), sentences }
}

fn table(found: &Repeats) -> Table {
    let figures = [
        (Metric::Iops, Some(&found.iops)),
        (Metric::MibPerS, Some(&found.mib_per_s)),
        (Metric::Mean, found.mean_ns.as_ref()),
        (Metric::P99, found.p99_ns.as_ref()),
        (Metric::Cpu, Some(&found.cpu_percent)),
    ];
    let names = ["mean", "median", "95 % interval", "smallest", "largest", "std dev"].map(Column::number);
    Table {
        columns: [Column::text("")].into_iter().chain(names).collect(),
        rows: figures.into_iter().filter_map(|(figure, spread)| Some(row(figure, spread?))).collect(),
        label: "Figures of the runs",
        ..Table::default()
    }
}

fn row(figure: Metric, spread: &Spread) -> Vec<String> {
    let shown = |value: f64| shown(figure, value);
    let interval =
        spread.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{} - {}", shown(low), shown(high)));
    vec![
        name(figure),
        shown(spread.mean),
        shown(spread.median),
        interval,
        shown(spread.min),
        shown(spread.max),
        format!("{:.2} %", spread.deviation_percent),
    ]
}

/// Without the unit, which its values bring along.
pub(super) fn name(figure: Metric) -> String {
    let label = label(figure);
    label.strip_suffix(" ms").or(label.strip_suffix(" %")).unwrap_or(label).to_owned()
}

/// A value with its unit.
pub(super) fn shown(metric: Metric, value: f64) -> String {
    match metric.unit() {
        MetricUnit::IosPerSecond => Quantity::Iops.value(value),
        MetricUnit::MibPerSecond => Quantity::MibPerS.value(value),
        MetricUnit::Nanoseconds => latency(value),
        MetricUnit::Percent => Quantity::Percent.value(value),
    }
}
