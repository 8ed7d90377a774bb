//! The page of results beside each other.

use super::block::{Answer, Block, Column, Fact, Page, Section, Table, Tone, charts};
use super::charts::{Shown, differences, overlays};
use super::environment::{command, facts, subtitle};
use super::foreign_text::text;
use super::repeat::{name, shown};
use model::result::RunResult;
use render::compare::{cautions, system_differences, word};
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
    let shown = overlaid(sides);
    if !shown.is_empty() {
        sections.push(Section::new("All on the same axes", charts(&shown)?));
    }
    sections.push(environments(sides));
    for side in sides {
        let Some(result) = side.results.first() else { continue };
        let mut section = command(result);
        section.heading = format!("{}: {}", side.name, section.heading.to_lowercase());
        sections.push(section);
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
    let mut sections = vec![Section::new(&heading, blocks)];
    if let Some(chart) = differences(&found) {
        let mut blocks = charts(&[Ok(chart)])?;
        blocks.push(Block::Table(table(&found, first, second)));
        sections.push(Section::new("Differences", blocks));
    }
    Ok(sections)
}

/// Rates over time and percentiles of the first run of each side.
pub(super) fn overlaid(sides: &[Side]) -> Vec<Shown> {
    let measured = |side: &'_ Side| -> Option<_> { side.results.first()?.time_spans.first()?.measured.clone() };
    let known: Vec<_> = sides.iter().filter_map(|side| Some((side.name.as_str(), measured(side)?))).collect();
    let known: Vec<_> = known.iter().map(|(name, measured)| (*name, measured)).collect();
    overlays(&known).into_iter().map(Ok).collect()
}

/// One table of machines, storage, programs and settings that do not change the load: first what differs.
fn environments(sides: &[Side]) -> Section {
    let of_sides: Vec<Vec<Fact>> =
        sides.iter().map(|side| side.results.first().map(facts).unwrap_or_default()).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, number) in of_sides.iter().flat_map(|facts| numbered(facts)).map(|(name, number, _)| (name, number)) {
        let value = |facts: &Vec<Fact>| {
            let found = numbered(facts).find(|known| (known.0, known.1) == (name, number));
            found.map_or_else(|| "-".to_owned(), |(.., value)| value.to_owned())
        };
        let label = if number == 0 { name.trim().to_owned() } else { format!("{} {}", name.trim(), number + 1) };
        if rows.iter().all(|row| row[0] != label) {
            rows.push(std::iter::once(label).chain(of_sides.iter().map(value)).collect());
        }
    }
    rows.extend(other_differences(sides));
    for row in &mut rows {
        let is_same = row[1..].windows(2).all(|pair| pair[0] == pair[1]);
        row.push(if is_same { "" } else { "differs" }.to_owned());
    }
    rows.sort_by_key(|row| row.last().is_some_and(String::is_empty));
    let names = sides.iter().map(|side| Column::text(&side.name));
    let columns = [Column::text("")].into_iter().chain(names).chain([Column::text("differs")]).collect();
    Section::new("Environment", vec![Block::Table(Table { label: "Environment", columns, rows, ..Table::default() })])
}

/// Each fact with how many of its name came before it.
fn numbered(facts: &[Fact]) -> impl Iterator<Item = (&'static str, usize, &str)> {
    facts.iter().enumerate().map(|(index, fact)| {
        (fact.name, facts[..index].iter().filter(|other| other.name == fact.name).count(), fact.value.as_str())
    })
}

/// What else is not as in the first side: settings that do not change the load, and details of machine and program.
fn other_differences(sides: &[Side]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let Some(first) = sides.first().and_then(|side| side.results.first()) else { return rows };
    for (number, side) in sides.iter().enumerate().skip(1) {
        let Some(other) = side.results.first() else { continue };
        let settings = settings::difference::differences(&first.profile, &other.profile);
        let settings = settings.iter().filter(|difference| !difference.is_load).filter_map(|difference| {
            let (a, b) = difference.text.split_once(" against ")?;
            Some(["setting".to_owned(), a.to_owned(), b.to_owned()])
        });
        for [name, a, b] in settings.chain(system_differences(first, other)) {
            let mut row = vec![String::new(); sides.len() + 1];
            (row[0], row[1], row[number + 1]) = (text(name.as_bytes()), text(a.as_bytes()), text(b.as_bytes()));
            rows.push(row);
        }
    }
    rows
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
