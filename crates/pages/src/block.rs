//! What a page consists of, in the order in which it is read. The template knows one form for each kind of block.

use super::chart::Chart;
use super::charts::{Absent, Shown};
use super::image::{Room, svg_for_page};
use super::palette::{self, Swatch};
use model::finding::Severity;
use serde::Serialize;
use std::io;

/// A page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// The window title and the page heading.
    pub(super) title: String,
    /// The load on a line; empty on pages without one.
    pub(super) load: String,
    /// When and where it was measured, on a line.
    pub(super) subtitle: String,
    pub(super) sections: Vec<Section>,
    /// Who wrote it.
    pub(super) program: String,
    pub(super) swatches: Vec<Swatch>,
}

impl Page {
    pub(super) fn new(title: String, load: String, subtitle: String, sections: Vec<Section>) -> Self {
        use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
        let program = format!("{IMPLEMENTATION} {IMPLEMENTATION_VERSION}");
        Self { title, load, subtitle, sections, program, swatches: palette::swatches() }
    }
}

/// Blocks under one heading.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// May be empty.
    pub(super) heading: String,
    /// Charts over time of sections with the same number have one crosshair and one zoom.
    pub(super) time: usize,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    pub(super) fn new(heading: &str, blocks: Vec<Block>) -> Self {
        Self { heading: heading.to_owned(), time: 0, blocks }
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
    Tiles { tiles: Vec<Tile> },
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

/// An answer in words.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) tone: Tone,
    /// What it belongs to; may be empty.
    pub(super) about: String,
    pub(super) headline: String,
    pub(super) sentences: Vec<String>,
}

/// A verdict, or what is like one.
#[derive(Debug, Serialize)]
pub(super) struct Banner {
    pub(super) tone: Tone,
    pub(super) headline: String,
    pub(super) findings: Vec<Found>,
}

/// How a block is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
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
#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) tone: Tone,
    pub(super) word: String,
    /// May be empty.
    pub(super) name: String,
    pub(super) figure: String,
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
}

/// A chart, drawn.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    name: &'static str,
    title: String,
    caption: String,
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
            wide: svg_for_page(chart, Room::Wide)?,
            narrow: svg_for_page(chart, Room::Narrow)?,
        })
    }
}

/// A chart that is not there.
#[derive(Debug, Serialize)]
pub(super) struct Missing {
    title: &'static str,
    reason: String,
}

/// Those that are there, then those that are not.
pub(super) fn charts(shown: &[Shown]) -> io::Result<Vec<Block>> {
    let charts: Vec<Picture> = shown.iter().flatten().map(Picture::of).collect::<io::Result<_>>()?;
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
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
    /// The text below it; may be empty.
    pub(super) note: String,
}

/// The head of a column.
#[derive(Debug, Serialize)]
pub(super) struct Column {
    name: String,
    is_number: bool,
}

impl Column {
    pub(super) fn text(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: false }
    }

    pub(super) fn number(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: true }
    }
}

/// A name and a value.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}
