//! The report of a trace beside another one, or beside the result of a run.

use super::answer::Statement;
use super::block::{Answer, Block, Brief, Report, Section, Tone, Trust};
use super::brief::place;
use super::foreign_text::text;
use super::load_figures::{FAR, FigureRow, LoadFigures, rows_of_load, rows_of_sizes, rows_of_storage, table};
use super::quantity::grouped;
use super::trace::{devices, requests_in, trust};
use crate::words::time::utc;
use model::result::RunResult;
use model::shell::quoted;
use trace::figures::Figures;

/// Sizes of the table.
const SIZES_MAX: usize = 12;

/// Figures that the answer names.
const NAMED_MAX: usize = 4;

/// A load that is compared.
#[derive(Clone, Copy, Debug)]
pub enum ComparedLoad<'a> {
    /// Of a trace.
    Trace(&'a Figures),
    /// Of a run.
    Run(&'a RunResult),
}

impl ComparedLoad<'_> {
    fn figures(&self) -> Option<LoadFigures> {
        match self {
            Self::Trace(figures) => Some(LoadFigures::from(&figures.summary)),
            Self::Run(result) => LoadFigures::from_result(result),
        }
    }

    const fn noun(&self) -> &'static str {
        match self {
            Self::Trace(_) => "trace",
            Self::Run(_) => "run",
        }
    }

    fn measured(&self, name: &str) -> String {
        match self {
            Self::Trace(figures) => format!("{name}: {}.", requests_in(figures)),
            Self::Run(result) => {
                let ios = result.time_spans.first().and_then(stats::headline).map_or(0, |headline| headline.ios);
                format!("{name}: {} I/Os, from {}.", grouped(ios as f64), utc(result.started_at))
            }
        }
    }

    fn on(&self) -> String {
        match self {
            Self::Trace(figures) => devices(figures),
            Self::Run(result) => place(result),
        }
    }

    fn trust(&self) -> Trust {
        match self {
            Self::Trace(figures) => trust(figures),
            Self::Run(_) => Trust { tone: Tone::Good, words: "The verdict of the run is in its report.".to_owned() },
        }
    }
}

/// The report of two loads with the names of their files; `None` if one of them is a run without any measurement.
pub fn load_comparison(names: [&str; 2], loads: [ComparedLoad<'_>; 2]) -> Option<Report> {
    let [a, b] = [loads[0].figures()?, loads[1].figures()?];
    let [first, second] = loads;
    let columns = if first.noun() == second.noun() { ["first", "second"] } else { [first.noun(), second.noun()] };
    let rows = rows_of_load(&a, &b);
    let statement = statement(&rows, columns);
    let headlines = loads.iter().filter_map(|load| match load {
        ComparedLoad::Run(result) => result.time_spans.first().and_then(stats::headline),
        ComparedLoad::Trace(_) => None,
    });
    let headlines: Vec<_> = headlines.collect();
    let shown = |rows: Vec<_>, figure: &str, label, note: &str| {
        let blocks =
            if rows.is_empty() { Vec::new() } else { vec![Block::Table(table(rows, figure, columns, label, note))] };
        Section::new(label, blocks)
    };
    let unknown = "A result of a run has no touched range and no times: record the run with --trace to compare them.";
    let note = if headlines.is_empty() { "" } else { unknown };
    let sections = vec![
        Section::new("", vec![Block::Answers { answers: vec![Answer::resting_on(&headlines, statement)] }]),
        shown(rows, "figure", "The loads", note),
        shown(rows_of_sizes(&a, &b, SIZES_MAX), "size", "Requests by size", ""),
        shown(rows_of_storage(&a, &b), "latency", "The storage", ""),
    ];
    let [one, other] = names.map(text);
    let trusts = loads.map(|load| load.trust());
    let brief = Brief {
        measured: format!("{} {}", first.measured(&one), second.measured(&other)),
        on: format!("{} / {}", first.on(), second.on()),
        trust: Trust {
            tone: trusts[0].tone.max(trusts[1].tone),
            words: format!("{one}: {} {other}: {}", trusts[0].words, trusts[1].words),
        },
        next: "Make a job file of the closest load to the first, and change it where the loads differ.".to_owned(),
        command: format!("diskspd trace show {} --job job.toml", text(&quoted(names[0]))),
    };
    Some(Report::new(format!("{one} / {other}"), String::new(), String::new(), brief, sections).of_method("Comparison"))
}

/// The figures by which the loads differ.
fn statement(rows: &[FigureRow], [first, second]: [&str; 2]) -> Statement {
    let far: Vec<String> = rows
        .iter()
        .filter(|row| row.is_far)
        .filter_map(|row| Some(format!("{} {}", row.name, row.difference.as_ref()?)))
        .collect();
    let known = rows.iter().filter(|row| row.difference.is_some()).count();
    if far.is_empty() {
        let sentence = format!("All {known} figures that both have differ by at most {FAR:.0} % or points.");
        return Statement::new(Tone::Good, format!("The load of the {second} is like that of the {first}"), [sentence]);
    }
    let more = far.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let headline = format!("The load of the {second} differs from that of the {first}");
    let named = far[..far.len().min(NAMED_MAX)].join(", ");
    let sentence = format!("{} of {known} figures differ by more than {FAR:.0} % or points: {named}{more}.", far.len());
    Statement::new(Tone::Warn, headline, [sentence])
}
