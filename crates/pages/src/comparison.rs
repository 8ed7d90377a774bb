//! The page of results beside each other.

use super::block::{Answer, Block, Column, Page, Section, Table, Tone, charts};
use super::charts::differences;
use super::environment::{command, environment, subtitle};
use super::foreign_text::text;
use super::repeat::{name, shown};
use model::result::RunResult;
use render::compare::{cautions, unlike, word};
use render::load_line;
use stats::compare::{ComparisonVerdict, Difference, compare};
use std::io;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// The name of its file or directory.
    pub name: String,
    /// Its runs.
    pub results: Vec<RunResult>,
}

/// Each side beside the first.
pub(super) fn page(sides: &[Side]) -> io::Result<Page> {
    let Some((first, others)) = sides.split_first() else {
        return Ok(Page::new("Nothing to compare".to_owned(), String::new(), String::new(), Vec::new()));
    };
    let mut sections = Vec::new();
    for other in others {
        sections.extend(comparison(first, other, others.len() > 1)?);
    }
    for side in sides {
        let Some(result) = side.results.first() else { continue };
        for mut section in [environment(result), command(result)] {
            section.heading = format!("{}: {}", side.name, section.heading.to_lowercase());
            sections.push(section);
        }
    }
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let subtitle = first.results.first().map(subtitle).unwrap_or_default();
    Ok(Page::new(names.join(" / "), load(sides).join(" / "), subtitle, sections))
}

/// The load, or that of each side.
pub(super) fn load(sides: &[Side]) -> Vec<String> {
    load_line::of_sides(sides.iter().map(|side| (side.name.as_str(), side.results.first())))
}

fn comparison(first: &Side, second: &Side, several: bool) -> io::Result<Vec<Section>> {
    let found = compare(&first.results, &second.results);
    let heading = if several { format!("{} against {}", second.name, first.name) } else { String::new() };
    let blocks = vec![Block::Answers { answers: vec![answer(&found, first, second)] }];
    let differs = first.results.first().zip(second.results.first()).map(|(a, b)| unlike(a, b)).unwrap_or_default();
    let mut sections = vec![Section::new(&heading, blocks)];
    if let Some(chart) = differences(&found) {
        let mut blocks = charts(&[Ok(chart)])?;
        blocks.push(Block::Table(table(&found, first, second)));
        sections.push(Section::new("Differences", blocks));
    }
    if !differs.other.is_empty() {
        let sentences = differs.other.iter().map(|line| text(line.as_bytes())).collect();
        let heading = "Profile, machine and program (first result, second result)".to_owned();
        sections.push(Section::new("Other differences", vec![Block::Notes { heading, sentences }]));
    }
    Ok(sections)
}

/// The metrics that are better, worse or inconclusive.
fn answer(found: &[Difference], first: &Side, second: &Side) -> Answer {
    let of = |wanted: ComparisonVerdict| -> Vec<&Difference> {
        found.iter().filter(|difference| difference.verdict == wanted).collect()
    };
    let (better, worse) = (of(ComparisonVerdict::Better), of(ComparisonVerdict::Worse));
    let headline = match (better.is_empty(), worse.is_empty()) {
        _ if found.is_empty() => "No metrics in common".to_owned(),
        (false, true) => format!("{} is better", second.name),
        (true, false) => format!("{} is worse", second.name),
        (false, false) => format!("{} is better in some metrics, worse in others", second.name),
        (true, true) if of(ComparisonVerdict::CannotTell).is_empty() => "No difference".to_owned(),
        (true, true) => "No clear difference".to_owned(),
    };
    let tone = match (better.is_empty(), worse.is_empty()) {
        (false, true) => Tone::Good,
        (true, false) => Tone::Bad,
        (false, false) => Tone::Warn,
        (true, true) => Tone::Plain,
    };
    let changes = |of: &[&Difference]| {
        of.iter().map(|found| format!("{} {:+.1} %", name(found.figure), found.percent)).collect::<Vec<_>>().join(", ")
    };
    let names = |of: &[&Difference]| of.iter().map(|found| name(found.figure)).collect::<Vec<_>>().join(", ");
    let mut sentences = Vec::new();
    for (heading, of) in [("Better", &better), ("Worse", &worse)] {
        if !of.is_empty() {
            sentences.push(format!("{heading}: {}.", changes(of)));
        }
    }
    for (heading, verdict) in
        [("No difference above 5 %", ComparisonVerdict::NoDifference), ("Cannot tell", ComparisonVerdict::CannotTell)]
    {
        let of = of(verdict);
        if !of.is_empty() {
            sentences.push(format!("{heading}: {}.", names(&of)));
        }
    }
    sentences.extend(cautions(&first.results, &second.results).iter().map(|caution| text(caution.as_bytes())));
    if first.results.len() == 1 || second.results.len() == 1 {
        sentences.push(
            "A single run shows only the variation within that run; runs often differ more from each other.".to_owned(),
        );
    }
    Answer { tone, about: String::new(), headline, sentences }
}

fn table(found: &[Difference], first: &Side, second: &Side) -> Table {
    let row = |difference: &Difference| {
        let Difference { figure, first, second, percent, interval, verdict } = *difference;
        vec![
            name(figure),
            shown(figure, first),
            shown(figure, second),
            format!("{percent:+.1} %"),
            interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:+.1} % to {high:+.1} %")),
            word(verdict).to_owned(),
        ]
    };
    let runs = |side: &Side| match side.results.len() {
        1 => side.name.clone(),
        runs => format!("{} ({runs} runs)", side.name),
    };
    let columns = vec![
        Column::text(""),
        Column::number(&runs(first)),
        Column::number(&runs(second)),
        Column::number("change"),
        Column::number("95 % interval"),
        Column::text("verdict"),
    ];
    Table { columns, rows: found.iter().map(row).collect(), label: "Differences", ..Table::default() }
}
