//! A report as a page: drawn charts, links to the parts, and distinct names of tables.

use super::image::{Room, svg_for_page};
use super::palette::{self, Swatch};
use report::chart::Chart;
use report::{Block, Brief, Report, Section, Table};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;

/// A page, as the template takes it.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    title: String,
    method: String,
    load: String,
    subtitle: String,
    lead: Vec<PageBlock>,
    /// The chart below the figures, for the whole width.
    hero: Option<Hero>,
    before_use: Vec<Block>,
    is_answered: bool,
    brief: Brief,
    /// Links to the parts; empty on short pages.
    contents: Vec<Entry>,
    sections: Vec<PageSection>,
    /// The program and its version.
    program: String,
    swatches: Vec<Swatch>,
}

impl Page {
    pub(super) fn new(report: Report) -> io::Result<Self> {
        use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
        let is_answered = report.is_answered();
        let Report { title, method, load, subtitle, lead, before_use, brief, mut sections } = report;
        let hero = Hero::taken_from(&mut sections)?;
        let mut sections = sections.into_iter().map(PageSection::new).collect::<io::Result<Vec<_>>>()?;
        sections.retain(|section| !section.blocks.is_empty());
        let contents = contents(&mut sections);
        let mut lead = lead.into_iter().map(PageBlock::new).collect::<io::Result<Vec<_>>>()?;
        name_tables(&mut lead, &mut sections);
        Ok(Self {
            title,
            method,
            load,
            subtitle,
            lead,
            hero,
            before_use,
            is_answered,
            brief,
            contents,
            sections,
            program: format!("{IMPLEMENTATION} {IMPLEMENTATION_VERSION}"),
            swatches: palette::swatches(),
        })
    }
}

/// A section with the data that only pages have.
#[derive(Debug, Serialize)]
struct PageSection {
    heading: String,
    time: usize,
    is_part: bool,
    /// Target of links to it; empty without a heading.
    id: String,
    blocks: Vec<PageBlock>,
}

impl PageSection {
    fn new(Section { heading, time, is_part, blocks, .. }: Section) -> io::Result<Self> {
        let blocks = blocks.into_iter().map(PageBlock::new).collect::<io::Result<_>>()?;
        Ok(Self { heading, time, is_part, id: String::new(), blocks })
    }
}

/// A block with the data that only pages have.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum PageBlock {
    Charts { kind: &'static str, charts: Vec<Picture> },
    Table(NamedTable),
    Other(Block),
}

impl PageBlock {
    fn new(block: Block) -> io::Result<Self> {
        Ok(match block {
            Block::Charts { charts } => {
                Self::Charts { kind: "charts", charts: charts.iter().map(Picture::new).collect::<io::Result<_>>()? }
            }
            Block::Table(table) => {
                let is_stacked = is_of_named_rows_and_wide(&table);
                Self::Table(NamedTable { kind: "table", table, name: String::new(), is_stacked })
            }
            other => Self::Other(other),
        })
    }
}

/// A table with its name.
#[derive(Debug, Serialize)]
struct NamedTable {
    kind: &'static str,
    #[serde(flatten)]
    table: Table,
    /// Its name for screen readers; no other table of the page has this name.
    name: String,
    /// True if phones show its rows below each other.
    is_stacked: bool,
}

/// The chart below the figures.
#[derive(Debug, Serialize)]
struct Hero {
    chart: Picture,
    /// Index of the time axis of its section.
    time: usize,
}

impl Hero {
    /// The first chart, if all charts belong to one part of the page.
    fn taken_from(sections: &mut [Section]) -> io::Result<Option<Self>> {
        let has_charts =
            |section: &&mut Section| section.blocks.iter().any(|block| matches!(block, Block::Charts { .. }));
        let Some(section) = sections.iter_mut().find(has_charts).filter(|section| !section.is_part) else {
            return Ok(None);
        };
        let charts = section.blocks.iter_mut().find_map(|block| match block {
            Block::Charts { charts } => Some(charts),
            _ => None,
        });
        let Some(chart) = charts.map(|charts| charts.remove(0)) else { return Ok(None) };
        section.blocks.retain(|block| !matches!(block, Block::Charts { charts } if charts.is_empty()));
        let full = Some(svg_for_page(&chart, Room::Full)?);
        Ok(Some(Self { chart: Picture { full, ..Picture::new(&chart)? }, time: section.time }))
    }
}

/// Least number of headings of a page with a table of contents.
const HEADINGS_MIN: usize = 4;

/// A line of the contents.
#[derive(Debug, Serialize)]
struct Entry {
    id: String,
    heading: String,
    /// Subsections.
    parts: Vec<Entry>,
}

/// The table of contents; gives each heading an anchor.
fn contents(sections: &mut [PageSection]) -> Vec<Entry> {
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

/// Names tables, with the name of their part if several share a heading: a scrollable area is a landmark, and landmarks
/// must have distinct names.
fn name_tables(lead: &mut [PageBlock], sections: &mut [PageSection]) {
    let mut known = BTreeSet::new();
    let mut whole = String::new();
    let of_sections = sections
        .iter_mut()
        .map(|section| (Some(&section.heading).filter(|_| !section.is_part), &mut section.blocks[..]));
    for (heading, blocks) in [(None, lead)].into_iter().chain(of_sections) {
        if let Some(heading) = heading.filter(|heading| !heading.is_empty()) {
            whole.clone_from(heading);
        }
        for block in blocks {
            let PageBlock::Table(NamedTable { table, name: shown, .. }) = block else { continue };
            let name = if table.heading.is_empty() { table.label.to_owned() } else { table.heading.clone() };
            let in_whole = [name.clone(), format!("{name}, {whole}")].into_iter();
            let numbered = (2..).map(|number| format!("{name}, {whole}, {number}"));
            *shown = in_whole.chain(numbered).find(|name| known.insert(name.clone())).unwrap_or_default();
        }
    }
}

/// A drawn chart.
#[derive(Debug, Serialize)]
struct Picture {
    name: &'static str,
    title: String,
    caption: String,
    /// SVG for the whole width; `None` = it has half of it.
    full: Option<String>,
    /// SVG.
    wide: String,
    /// SVG.
    narrow: String,
}

impl Picture {
    fn new(chart: &Chart) -> io::Result<Self> {
        Ok(Self {
            name: chart.name,
            title: chart.title.clone(),
            caption: chart.caption.clone(),
            full: None,
            wide: svg_for_page(chart, Room::Wide)?,
            narrow: svg_for_page(chart, Room::Narrow)?,
        })
    }
}

/// Columns that phones have no room for.
const COLUMNS_STACKED: usize = 5;
/// Columns of words that phones have no room for: they are wider.
const WORDS_STACKED: usize = 3;

/// Total characters of columns of numbers, such as intervals, that phones have no room for.
const CHARACTERS_STACKED: usize = 40;

/// True if each row is read by itself, and known by its name. Rows known by a number are compared column by column.
fn is_of_named_rows_and_wide(table: &Table) -> bool {
    let words = table.columns.iter().filter(|column| !column.is_number).count();
    let numbers = table.columns.iter().enumerate().filter(|(_, column)| column.is_number);
    let width = |index: usize| table.rows.iter().filter_map(|row| Some(row.get(index)?.chars().count())).max();
    let characters: usize = numbers.filter_map(|(index, _)| width(index)).sum();
    table.columns.first().is_some_and(|first| !first.is_number)
        && (table.columns.len() >= COLUMNS_STACKED || words >= WORDS_STACKED || characters >= CHARACTERS_STACKED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Column;

    fn table(heading: &str, label: &'static str) -> Block {
        Block::Table(Table { heading: heading.to_owned(), label, ..Table::default() })
    }

    fn page(sections: Vec<Section>) -> Page {
        Page::new(Report { sections, ..Report::default() }).expect("nothing is drawn")
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
            PageBlock::Table(table) => Some(table.name.as_str()),
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
                PageBlock::Table(table) => table.is_stacked,
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
