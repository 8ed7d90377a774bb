//! What a page consists of, in the order in which it is read. The template knows one form for each kind of block.

use super::answer::Answer;
use super::brief::Brief;
use super::chart::Chart;
use super::charts::{Absent, Shown};
use super::image::{Room, svg_for_page};
use super::palette::{self, Swatch};
use model::finding::Severity;
use render::plain_table::PlainTable;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;

/// A page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// The name of what is shown: a label, a file or a directory.
    pub(super) title: String,
    /// What was done with the load: `Sweep`, the title of a preset; empty of another run.
    pub(super) method: String,
    /// The load on a line, which is the page heading; empty on pages without one.
    pub(super) load: String,
    /// When and where it was measured, on a line.
    pub(super) subtitle: String,
    /// The beginning: answers, findings that make the figures worthless, and the figures.
    lead: Vec<Block>,
    /// The chart that shows it.
    hero: Option<Hero>,
    /// Findings to know before the figures are used.
    before_use: Vec<Block>,
    /// True if the lead has an answer, so that the brief need not begin with one.
    is_answered: bool,
    brief: Brief,
    /// Links to the parts; empty on short pages.
    contents: Vec<Entry>,
    pub(super) sections: Vec<Section>,
    /// Who wrote it.
    pub(super) program: String,
    pub(super) swatches: Vec<Swatch>,
}

impl Page {
    pub(super) fn new(title: String, load: String, subtitle: String, brief: Brief, mut sections: Vec<Section>) -> Self {
        use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
        let program = format!("{IMPLEMENTATION} {IMPLEMENTATION_VERSION}");
        let (first, before_use) = sections.first_mut().map(lead).unwrap_or_default();
        let hero = Hero::taken_from(&mut sections);
        let is_empty = |section: &Section| section.blocks.is_empty();
        sections.retain(|section| !is_empty(section));
        let contents = contents(&mut sections);
        name_tables(&mut sections);
        Self {
            title,
            method: String::new(),
            load,
            subtitle,
            is_answered: first.iter().any(|block| matches!(block, Block::Answers { .. })),
            lead: first,
            hero,
            before_use,
            brief,
            contents,
            sections,
            program,
            swatches: palette::swatches(),
        }
    }

    /// Draws the chart below the figures for the whole width.
    pub(super) fn draw_hero(&mut self) -> io::Result<()> {
        let Some(Hero { chart, .. }) = &mut self.hero else { return Ok(()) };
        chart.full = chart.data.as_ref().map(|data| svg_for_page(data, Room::Full)).transpose()?;
        Ok(())
    }

    /// The page with what was done with its load.
    pub(super) fn of_method(self, method: &str) -> Self {
        Self { method: method.to_owned(), ..self }
    }
}

/// Takes what a page begins with from its first section, and what is to be known before use.
fn lead(first: &mut Section) -> (Vec<Block>, Vec<Block>) {
    let has_answers = first.blocks.iter().any(|block| matches!(block, Block::Answers { .. }));
    if !has_answers && !first.heading.is_empty() {
        // One of several timespans.
        return (Vec::new(), Vec::new());
    }
    let is_first = |block: &mut Block| match block {
        Block::Answers { .. } | Block::Tiles { .. } => true,
        Block::Verdict(banner) => banner.tone == Tone::Bad,
        _ => false,
    };
    let lead = first.blocks.extract_if(.., is_first).collect();
    let before_use = first.blocks.extract_if(.., |block| matches!(block, Block::Verdict(_))).collect();
    (lead, before_use)
}

/// The chart below the figures.
#[derive(Debug, Serialize)]
struct Hero {
    chart: Picture,
    /// The time of its section.
    time: usize,
}

impl Hero {
    /// The first chart, if all charts belong to one part of the page.
    fn taken_from(sections: &mut [Section]) -> Option<Self> {
        let mut with_charts = sections
            .iter_mut()
            .filter(|section| section.blocks.iter().any(|block| matches!(block, Block::Charts { .. })));
        let section = with_charts.next()?;
        if section.is_part {
            return None;
        }
        let time = section.time;
        let charts = section.blocks.iter_mut().find_map(|block| match block {
            Block::Charts { charts } => Some(charts),
            _ => None,
        })?;
        let chart = charts.remove(0);
        section.blocks.retain(|block| !matches!(block, Block::Charts { charts } if charts.is_empty()));
        Some(Self { chart, time })
    }
}

/// Headings that a page has at least for a list of them.
const HEADINGS_MIN: usize = 4;

/// A line of the contents.
#[derive(Debug, Serialize)]
struct Entry {
    id: String,
    heading: String,
    /// Parts of this part.
    parts: Vec<Entry>,
}

/// The headings, each of which becomes a place to go to.
fn contents(sections: &mut [Section]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let headed = sections.iter_mut().filter(|section| !section.heading.is_empty());
    let mut count = 0;
    for section in headed {
        count += 1;
        section.id = format!("part-{count}");
        let entry = Entry { id: section.id.clone(), heading: section.heading.clone(), parts: Vec::new() };
        match entries.last_mut() {
            Some(whole) if section.is_part => whole.parts.push(entry),
            _ => entries.push(entry),
        }
    }
    if count < HEADINGS_MIN { Vec::new() } else { entries }
}

/// What scrolls is a landmark, and landmarks of one name could not be told apart: such tables are named after their
/// part of the page, too.
fn name_tables(sections: &mut [Section]) {
    let mut known = BTreeSet::new();
    let mut whole = String::new();
    for section in sections {
        if !section.heading.is_empty() && !section.is_part {
            whole.clone_from(&section.heading);
        }
        for block in &mut section.blocks {
            let Block::Table(table) = block else { continue };
            table.is_stacked = table.is_of_named_rows_and_wide();
            let name = if table.heading.is_empty() { table.label.to_owned() } else { table.heading.clone() };
            let in_whole = [name.clone(), format!("{name}, {whole}")].into_iter();
            let numbered = (2..).map(|number| format!("{name}, {whole}, {number}"));
            table.name = in_whole.chain(numbered).find(|name| known.insert(name.clone())).unwrap_or_default();
        }
    }
}

/// Blocks under one heading.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// May be empty.
    pub(super) heading: String,
    /// Charts over time of sections with the same number have one crosshair and one zoom.
    pub(super) time: usize,
    /// True if it belongs to the part before it.
    pub(super) is_part: bool,
    /// Where links to it lead; empty without a heading.
    id: String,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    pub(super) fn new(heading: &str, blocks: Vec<Block>) -> Self {
        Self { heading: heading.to_owned(), time: 0, is_part: false, id: String::new(), blocks }
    }

    /// The section with another time.
    pub(super) fn of_time(self, time: usize) -> Self {
        Self { time, ..self }
    }
}

/// One part of a page.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Block {
    /// The answers to what the measurement was made for.
    Answers { answers: Vec<Answer> },
    /// Whether the figures are what they claim to be.
    Verdict(Banner),
    /// The load of a timespan, if there are several.
    Load { line: String },
    /// The headline figures.
    Tiles {
        tiles: Vec<Tile>,
        /// A note on all of them; may be empty.
        note: String,
    },
    /// Charts beside each other.
    Charts { charts: Vec<Picture> },
    /// Charts that there is no data for.
    Absent { charts: Vec<Missing> },
    /// Rows and columns.
    Table(Table),
    /// Names and values.
    Facts { facts: Vec<Fact> },
    /// A command line.
    Command { words: String, hint: String },
    /// Sentences.
    Notes { heading: String, sentences: Vec<String> },
}

/// A verdict, or what is like one.
#[derive(Debug, Serialize)]
pub(super) struct Banner {
    pub(super) tone: Tone,
    pub(super) headline: String,
    pub(super) findings: Vec<Found>,
}

/// How a block is coloured, the mildest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
    #[default]
    Plain,
    Good,
    Warn,
    Bad,
}

impl Tone {
    pub(super) fn of(severity: Option<Severity>) -> Self {
        match severity {
            Some(Severity::Invalid | Severity::Fail) => Self::Bad,
            Some(Severity::Warn | Severity::Unknown) => Self::Warn,
            Some(Severity::Note | Severity::Pass) | None => Self::Good,
        }
    }
}

/// One line of a verdict.
#[derive(Debug, Default, Serialize)]
pub(super) struct Found {
    pub(super) tone: Tone,
    pub(super) word: String,
    /// May be empty.
    pub(super) name: String,
    pub(super) figure: String,
    /// The rest of the figure, which is folded; may be empty.
    pub(super) more: String,
    /// May be empty.
    pub(super) meaning: String,
    /// May be empty.
    pub(super) advice: String,
}

/// A headline figure.
#[derive(Debug, Serialize)]
pub(super) struct Tile {
    pub(super) label: String,
    pub(super) value: String,
    pub(super) unit: String,
    /// The text below it; may be empty.
    pub(super) beside: String,
    /// True of a percentile that too few I/Os lie beyond.
    pub(super) is_weak: bool,
}

/// A chart, drawn.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    name: &'static str,
    title: String,
    caption: String,
    /// The data of the first of several, which may get the whole width.
    #[serde(skip)]
    data: Option<Chart>,
    /// SVG for the whole width; `None` = it has half of it.
    full: Option<String>,
    /// SVG.
    wide: String,
    /// SVG.
    narrow: String,
}

impl Picture {
    pub(super) fn of(chart: &Chart) -> io::Result<Self> {
        Ok(Self {
            name: chart.name,
            title: chart.title.clone(),
            caption: chart.caption.clone(),
            data: None,
            full: None,
            wide: svg_for_page(chart, Room::Wide)?,
            narrow: svg_for_page(chart, Room::Narrow)?,
        })
    }
}

/// A chart that is not there.
#[derive(Debug, Serialize)]
pub(super) struct Missing {
    pub(super) title: &'static str,
    reason: String,
}

/// Those that are there, then those that are not.
pub(super) fn charts(shown: &[Shown]) -> io::Result<Vec<Block>> {
    let mut charts: Vec<Picture> = shown.iter().flatten().map(Picture::of).collect::<io::Result<_>>()?;
    if let Some((picture, chart)) = charts.first_mut().zip(shown.iter().flatten().next()) {
        picture.data = Some(chart.clone());
    }
    let missing = shown.iter().filter_map(|shown| shown.as_ref().err());
    let missing: Vec<Missing> =
        missing.map(|Absent { title, reason }| Missing { title, reason: reason.clone() }).collect();
    let mut blocks = Vec::new();
    if !charts.is_empty() {
        blocks.push(Block::Charts { charts });
    }
    if !missing.is_empty() {
        blocks.push(Block::Absent { charts: missing });
    }
    Ok(blocks)
}

/// Rows and columns.
#[derive(Debug, Default, Serialize)]
pub(super) struct Table {
    /// May be empty.
    pub(super) heading: String,
    /// What a screen reader calls it if it has no heading.
    pub(super) label: &'static str,
    /// What a screen reader calls it, once the page is whole; no other table of the page has this name.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
    /// The text below it; may be empty.
    pub(super) note: String,
    /// True if phones show its rows below each other; set once the page is whole.
    pub(super) is_stacked: bool,
}

/// Columns that telephones have no room for.
const COLUMNS_STACKED: usize = 5;
/// Columns of words, of which each takes more room.
const WORDS_STACKED: usize = 3;

impl Table {
    /// Each row is read by itself, and it is known by its name. Rows known by a number are compared column by column.
    fn is_of_named_rows_and_wide(&self) -> bool {
        let words = self.columns.iter().filter(|column| !column.is_number).count();
        self.columns.first().is_some_and(|first| !first.is_number)
            && (self.columns.len() >= COLUMNS_STACKED || words >= WORDS_STACKED)
    }

    /// A table of the text under these headings. What is judged in its last column comes before the figures, or small
    /// screens would not show it.
    pub(super) fn judged_first(table: &PlainTable, names: &[String]) -> Self {
        let mut order: Vec<usize> = (0..names.len()).collect();
        if names.len() > 2 && !table.is_flush_right(names.len() - 1) {
            order[1..].rotate_right(1);
        }
        let column = |index: &usize| match (table.is_flush_right(*index), index) {
            (true, _) => Column::number(&names[*index]),
            (false, 0) => Column::text(&names[*index]),
            (false, _) => Column::words(&names[*index]),
        };
        // Rows without figures are shorter.
        let filled =
            |row: &Vec<String>| order.iter().map(|index| row.get(*index).cloned().unwrap_or_default()).collect();
        let rows = table.rows().iter().map(filled).collect();
        Self { columns: order.iter().map(column).collect(), rows, ..Self::default() }
    }
}

impl Table {
    /// The index of the column of this name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Adds a column of words before another one.
    pub(super) fn insert(&mut self, index: usize, name: &str, cells: impl IntoIterator<Item = String>) {
        self.columns.insert(index, Column::text(name));
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.insert(index, cell);
        }
    }
}

/// The head of a column.
#[derive(Debug, Serialize)]
pub(super) struct Column {
    name: String,
    is_number: bool,
    /// True if its words take several lines where there is little room.
    is_wrapped: bool,
}

impl Column {
    pub(super) fn text(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: false, is_wrapped: false }
    }

    /// Of words that may be long.
    pub(super) fn words(name: &str) -> Self {
        Self { is_wrapped: true, ..Self::text(name) }
    }

    pub(super) fn number(name: &str) -> Self {
        Self { is_number: true, ..Self::text(name) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// A name and a value.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(heading: &str, label: &'static str) -> Block {
        Block::Table(Table { heading: heading.to_owned(), label, ..Table::default() })
    }

    fn page(sections: Vec<Section>) -> Page {
        Page::new(String::new(), String::new(), String::new(), Brief::default(), sections)
    }

    #[test]
    fn tables_of_one_name_are_told_apart() {
        let part = |heading: &str| Section { is_part: true, ..Section::new(heading, vec![table("Percentiles", "")]) };
        let page = page(vec![
            Section::new("first", vec![table("", "Figures")]),
            part("Tables"),
            Section::new("second", vec![table("", "Figures"), table("", "Figures")]),
            part("Tables"),
        ]);
        let names = page.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some(table.name.as_str()),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        assert_eq!(names, ["Figures", "Percentiles", "Figures, second", "Figures, second, 2", "Percentiles, second"]);
    }

    #[test]
    fn wide_tables_of_named_rows_are_stacked() {
        let words = |count: usize| (0..count).map(|_| Column::text("a"));
        let numbers = |count: usize| (0..count).map(|_| Column::number("1"));
        for (columns, expected) in [
            (words(1).chain(numbers(3)).collect(), false),
            (words(1).chain(numbers(4)).collect(), true),
            (words(3).collect(), true),
            (numbers(3).chain(words(3)).collect::<Vec<_>>(), false),
        ] {
            let page = page(vec![Section::new("", vec![Block::Table(Table { columns, ..Table::default() })])]);
            let found = page.sections.iter().flat_map(|section| &section.blocks).any(|block| match block {
                Block::Table(table) => table.is_stacked,
                _ => false,
            });
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn long_pages_have_contents() {
        let whole = |heading: &str| Section::new(heading, vec![table("", "")]);
        let part = |heading: &str| Section { is_part: true, ..whole(heading) };
        let sections = || vec![whole(""), whole("one"), part("Charts"), part("Tables")];
        assert!(page(sections()).contents.is_empty(), "three headings are seen at a glance");
        let page = page(sections().into_iter().chain([whole("two")]).collect());
        let listed: Vec<(&str, &str, usize)> =
            page.contents.iter().map(|entry| (entry.id.as_str(), entry.heading.as_str(), entry.parts.len())).collect();
        assert_eq!(listed, [("part-1", "one", 2), ("part-4", "two", 0)]);
        let ids: Vec<&str> = page.sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["", "part-1", "part-2", "part-3", "part-4"]);
    }
}
