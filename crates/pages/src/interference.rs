//! The page of streams alone and together: what they do to each other.

use super::answer::{Answer, Statement, sentence};
use super::block::{Block, Column, Page, Section, Table, Tone};
use super::environment::{environment, subtitle_of_runs};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency};
use super::sweep::{command, verdicts};
use super::warnings::Explain;
use model::interference::{Interference, StreamHeadline, StreamInRun, StreamInterference};
use model::profile::StreamName;
use model::result::RunResult;
use model::sweep::{Sweep, Visit};
use model::units::mib;
use render::load_line;

/// The page; `example` is the result of one of the runs.
pub(super) fn page(sweep: &Sweep, example: Option<&RunResult>, name: &str, explain: Explain) -> Page {
    let streams = sweep.interference.as_ref().map(|found| &found.streams[..]).unwrap_or_default();
    let rounds = sweep.interference.as_ref().map_or(0, |found| found.rounds);
    // Runs of other streams alone say nothing of a stream.
    let runs_of = |name: &StreamName| {
        let has_it = |visit: &&Visit| visit.streams.iter().any(|stream| stream.name == *name);
        sweep.visits.iter().filter(has_it).filter_map(Visit::headline).collect::<Vec<_>>()
    };
    let answer = |of: &StreamInterference| {
        Answer::resting_on_some(runs_of(&of.name), &format!("of {}", of.name), statement(sweep, of, rounds))
    };
    let mut answers: Vec<Answer> = streams.iter().map(answer).collect();
    if answers.is_empty() {
        let statement = Statement {
            tone: Tone::Warn,
            about: String::new(),
            headline: "No round is complete".to_owned(),
            sentences: vec!["An answer needs a run of each stream alone, and one of all together.".to_owned()],
        };
        answers.push(Answer::resting_on(sweep.visits.iter().filter_map(Visit::headline), statement));
    }
    let mut first = vec![Block::Answers { answers }];
    if let Some(found) = &sweep.interference {
        let capped = example.and_then(|example| render::interference::capped(&example.profile));
        let notes = std::iter::once(render::interference::rounds(rounds)).chain(render::interference::few(rounds));
        let shared = example.and_then(|example| render::interference::shared_targets(&example.profile));
        let notes = shared.into_iter().chain(notes).chain(capped);
        let note = notes.map(|words| sentence(&words)).collect::<Vec<_>>().join(" ");
        first.push(Block::Table(Table { note, ..of_streams(found) }));
    }
    first.extend(verdicts(sweep, explain, run_of_round));
    let mut sections = vec![Section::new("", first)];
    let runs = runs(sweep);
    if !runs.rows.is_empty() {
        sections.push(Section::new("The runs", vec![Block::Table(runs)]));
    }
    sections.extend(example.map(environment));
    sections.push(command("interference", sweep));
    let subtitle = example.map_or_else(|| text(sweep.program.as_bytes()), subtitle_of_runs);
    Page::new(name.to_owned(), load_line::of_runs(sweep, example), subtitle, sections).of_method("Interference")
}

/// A row for each stream.
fn of_streams(found: &Interference) -> Table {
    let row = |of: &StreamInterference| {
        let unknown = || "-".to_owned();
        let time = |ns: Option<f64>| ns.map_or_else(unknown, latency);
        let factor = |factor: Option<f64>| factor.map_or_else(unknown, |factor| format!("{factor:.2}"));
        vec![
            of.name.to_string(),
            grouped(of.alone.iops),
            grouped(of.together.iops),
            of.iops_share_percent.map_or_else(unknown, |share| format!("{share:.1} %")),
            time(of.alone.mean_ns),
            time(of.together.mean_ns),
            factor(stats::interference::mean_factor(&of.alone, &of.together)),
            time(of.alone.p99_ns),
            time(of.together.p99_ns),
            factor(of.p99_factor),
        ]
    };
    // Telephones show each figure below its name alone.
    let numbers = ["IOPS", "mean", "p99"].map(|figure| {
        let last = if figure == "IOPS" { "share" } else { "factor" };
        ["alone", "together", last].map(|word| format!("{figure} {word}"))
    });
    Table {
        label: "Streams",
        columns: std::iter::once(Column::text("stream"))
            .chain(numbers.iter().flatten().map(|name| Column::number(name)))
            .collect(),
        rows: found.streams.iter().map(row).collect(),
        ..Table::default()
    }
}

fn statement(sweep: &Sweep, of: &StreamInterference, rounds: u32) -> Statement {
    let StreamInterference { name, alone, together, .. } = of;
    let shown = |of: &StreamHeadline| {
        let mean = of.mean_ns.map(|ns| format!(" at a mean latency of {}", latency(ns))).unwrap_or_default();
        let p99 = of.p99_ns.map(|ns| format!(" and a 99th percentile of {}", latency(ns))).unwrap_or_default();
        format!("{}{mean}{p99}", Quantity::Iops.value(of.iops))
    };
    let spread = stats::interference::spread(sweep, name).as_ref().and_then(render::interference::spread);
    let one_round = if rounds == 1 { ", in one round" } else { "" };
    Statement {
        tone: if rounds == 1 { Tone::Warn } else { Tone::Plain },
        about: String::new(),
        headline: format!("{}{one_round}", render::interference::headline(of)),
        sentences: std::iter::once(format!("Alone {}, beside the others {}.", shown(alone), shown(together)))
            .chain(spread.map(|words| format!("In single rounds: {words}.")))
            .chain((rounds == 1).then(|| sentence(&render::interference::rounds(rounds))))
            .collect(),
    }
}

/// The number of a run's round, and what it was of: `round 2, oltp alone`, `round 2, oltp+backup`.
fn run_of_round(sweep: &Sweep, visit: &Visit) -> String {
    let alone = if visit.streams.len() == 1 { " alone" } else { "" };
    format!("round {}, {}{alone}", visit.run + 1, run(sweep, visit))
}

/// What a run was of: the name of a stream, or all of them.
fn run(sweep: &Sweep, visit: &Visit) -> String {
    let settings = sweep.points.get(visit.point).map(|point| &point.settings[..]).unwrap_or_default();
    text(settings.first().map_or("", |setting| setting.value.as_str()).as_bytes())
}

/// Each stream in each run.
fn runs(sweep: &Sweep) -> Table {
    let rows_of = |visit: &Visit| {
        let row = |StreamInRun { name: stream, figures }: &StreamInRun| {
            let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), latency);
            vec![
                (visit.run + 1).to_string(),
                run(sweep, visit),
                stream.to_string(),
                grouped(figures.iops),
                Quantity::MibPerS.value(mib(figures.bytes_per_s)).replace(" MiB/s", ""),
                shown(figures.mean_ns),
                shown(figures.p50_ns),
                shown(figures.p99_ns),
                shown(figures.p999_ns),
            ]
        };
        visit.streams.iter().map(row).collect::<Vec<_>>()
    };
    let columns = [Column::number("round"), Column::text("run"), Column::text("stream")];
    let numbers = ["IOPS", "MiB/s", "mean", "p50", "p99", "p99.9"].map(Column::number);
    Table {
        columns: columns.into_iter().chain(numbers).collect(),
        rows: sweep.visits.iter().flat_map(rows_of).collect(),
        label: "Runs",
        ..Table::default()
    }
}
