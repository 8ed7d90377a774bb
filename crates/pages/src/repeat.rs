//! The page of runs of the same load.

use super::answer::{Answer, Statement, sentence};
use super::block::{Block, Column, Page, Section, Table, Tone, charts};
use super::charts::runs;
use super::environment::{environment, subtitle_of_runs};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant};
use super::sweep::{command, verdicts};
use super::warnings::Explain;
use super::weak;
use model::headline::Headline;
use model::metric::{Metric, MetricUnit};
use model::result::RunResult;
use model::sweep::{Sweep, Visit};
use model::units::mib;
use render::figure_words::label;
use render::load_line;
use render::repeat::EVERY_RUN_WARNED;
use stats::repeats::{Repeats, Spread, repeats};
use std::io;

/// The page; `example` is the result of one of the runs.
pub(super) fn page(sweep: &Sweep, example: Option<&RunResult>, name: &str, explain: Explain) -> io::Result<Page> {
    let headlines: Vec<&Headline> = sweep.measured().collect();
    let mut first = Vec::new();
    let mut sections = Vec::new();
    let found = repeats(&headlines);
    let statement = statement(found.as_ref(), headlines.len(), !sweep.findings.is_empty());
    first.push(Block::Answers { answers: vec![Answer::resting_on(headlines.iter().copied(), statement)] });
    first.extend(verdicts(sweep, explain, |_, visit| format!("run {}", visit.run + 1)));
    sections.push(Section::new("", first));
    if let Some(found) = &found {
        let mut blocks = charts(&[Ok(runs(&headlines, found))])?;
        blocks.push(Block::Table(table(found)));
        blocks.push(Block::Table(each_run(sweep)));
        sections.push(Section::new("The runs", blocks));
    }
    sections.extend(example.map(environment));
    sections.push(command("repeat", sweep));
    let subtitle = example.map_or_else(|| text(sweep.program.as_bytes()), subtitle_of_runs);
    Ok(Page::new(name.to_owned(), load_line::of_runs(sweep, example), subtitle, sections).of_method("Repeated runs"))
}

fn statement(found: Option<&Repeats>, runs: usize, has_findings: bool) -> Statement {
    let Some(found) = found else {
        return Statement {
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
            format!(
                "The median of {runs} runs; neighbouring runs are too strongly correlated for a confidence interval."
            )
        }
        None => format!("The median of {runs} runs, too few for a confidence interval; 6 are needed."),
    }];
    sentences.push(format!(
        "The runs lie between {} and {}; their standard deviation is {:.1} % of the mean.",
        Quantity::Iops.value(iops.min),
        Quantity::Iops.value(iops.max),
        iops.deviation_percent
    ));
    if found.is_doubtful && iops.interval.is_some() {
        sentences.push(sentence(EVERY_RUN_WARNED));
    }
    let tone = if has_findings { Tone::Warn } else { Tone::Good };
    Statement { tone, about: String::new(), headline: Quantity::Iops.value(iops.median), sentences }
}

fn table(found: &Repeats) -> Table {
    let figures = [
        (Metric::Iops, Some(&found.iops)),
        (Metric::MibPerS, Some(&found.mib_per_s)),
        (Metric::Mean, found.mean_ns.as_ref()),
        (Metric::P99, found.p99_ns.as_ref()),
        (Metric::Cpu, Some(&found.cpu_percent)),
    ];
    let names = ["median", "95 % interval", "std dev", "mean", "smallest", "largest"].map(Column::number);
    Table {
        columns: [Column::text("")].into_iter().chain(names).collect(),
        rows: figures.into_iter().filter_map(|(figure, spread)| Some(row(figure, spread?))).collect(),
        label: "Figures of all runs",
        ..Table::default()
    }
}

/// A row for each run, also for those that failed.
fn each_run(sweep: &Sweep) -> Table {
    let mut is_any_weak = false;
    let mut row = |visit: &Visit| {
        let number = (visit.run + 1).to_string();
        let Some(figures) = visit.headline() else { return vec![number, "failed".to_owned()] };
        let p99 = weak::p99(figures);
        is_any_weak |= p99.is_weak;
        vec![
            number,
            figures.severity.map_or("", |severity| severity.word()).to_owned(),
            grouped(figures.iops),
            significant(mib(figures.bytes_per_s)),
            figures.mean_ns.map_or_else(|| "-".to_owned(), latency),
            p99.text,
        ]
    };
    let rows = sweep.visits.iter().filter(|visit| visit.is_of_point()).map(&mut row).collect();
    let columns = [Column::number("run"), Column::text("verdict")];
    Table {
        heading: "Each run".to_owned(),
        columns: columns.into_iter().chain(["IOPS", "MiB/s", "mean", "p99"].map(Column::number)).collect(),
        rows,
        note: weak::note(is_any_weak),
        ..Table::default()
    }
}

fn row(figure: Metric, spread: &Spread) -> Vec<String> {
    let shown = |value: f64| shown(figure, value);
    let interval =
        spread.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{} - {}", shown(low), shown(high)));
    vec![
        name(figure),
        shown(spread.median),
        interval,
        format!("{:.2} %", spread.deviation_percent),
        shown(spread.mean),
        shown(spread.min),
        shown(spread.max),
    ]
}

/// What tables call the CPU usage: it is that of all programs.
pub(super) const MACHINE_CPU: &str = "machine CPU";

/// Without the unit, which its values bring along.
pub(super) fn name(figure: Metric) -> String {
    if figure == Metric::Cpu {
        return MACHINE_CPU.to_owned();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;

    #[test]
    fn runs_that_all_have_warnings_say_what_their_interval_covers() {
        let told = |severity: Severity, count: usize| {
            let run = Headline { iops: 100.0, severity: Some(severity), ..Headline::default() };
            let found = repeats(&vec![&run; count]).expect("runs");
            statement(Some(&found), count, false).sentences
        };
        let warned = told(Severity::Warn, 8);
        assert!(warned[0].contains("with 95 % confidence it lies between "), "{warned:?}");
        assert!(warned[2].starts_with("Every run has a warning: the 95 % confidence intervals cover "), "{warned:?}");
        let sound = told(Severity::Note, 8);
        assert!(sound[0].contains("with 95 % confidence it lies between ") && sound.len() == 2, "{sound:?}");
        let few = told(Severity::Warn, 3);
        assert!(few[0].ends_with("too few for a confidence interval; 6 are needed.") && few.len() == 2, "{few:?}");
    }
}
