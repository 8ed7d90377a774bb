//! The parts of a report, in the order in which they are read.

use super::chart::{Chart, ChartResult, MissingChart};
use model::finding::Severity;
use serde::Serialize;

/// The whole report of a result.
#[derive(Debug, Default)]
pub struct Report {
    /// The label, file or directory of the result.
    pub title: String,
    /// The method by which the load was run: `Sweep`, the title of a preset; empty for any other run.
    pub method: String,
    /// The load in one line; may be empty.
    pub load: String,
    /// Machine and time, in one line.
    pub subtitle: String,
    /// The beginning: answers, findings that make the figures worthless, and the figures.
    pub lead: Vec<Block>,
    /// Findings to know before the figures are used.
    pub before_use: Vec<Block>,
    /// The four answers.
    pub brief: Brief,
    /// The rest.
    pub sections: Vec<Section>,
}

impl Report {
    /// Its answers.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        let of_blocks = self.lead.iter().filter_map(|block| match block {
            Block::Answers { answers } => Some(answers),
            _ => None,
        });
        of_blocks.flatten()
    }

    pub(crate) fn new(title: String, load: String, subtitle: String, brief: Brief, mut sections: Vec<Section>) -> Self {
        let (begin, before_use) = sections.first_mut().map(take_beginning).unwrap_or_default();
        sections.retain(|section| !section.blocks.is_empty());
        Self { title, method: String::new(), load, subtitle, lead: begin, before_use, brief, sections }
    }

    /// True if it begins with an answer, so that the brief need not.
    pub fn is_answered(&self) -> bool {
        self.lead.iter().any(|block| matches!(block, Block::Answers { .. }))
    }

    /// The report with the method of its load.
    pub(crate) fn of_method(self, method: &str) -> Self {
        Self { method: method.to_owned(), ..self }
    }
}

/// Moves the lead of a report, and the findings to know before use, out of its first section.
fn take_beginning(first: &mut Section) -> (Vec<Block>, Vec<Block>) {
    let has_answers = first.blocks.iter().any(|block| matches!(block, Block::Answers { .. }));
    if !has_answers && !first.heading.is_empty() {
        // The section of one of several timespans.
        return (Vec::new(), Vec::new());
    }
    let has_heading = !first.heading.is_empty();
    let is_first = |block: &mut Block| match block {
        Block::Answers { .. } | Block::Tiles { .. } => true,
        // The figures, which are not in tiles.
        Block::Table(_) => has_heading,
        Block::Verdict(banner) => banner.tone == Tone::Bad,
        _ => false,
    };
    let begin = first.blocks.extract_if(.., is_first).collect();
    let before_use = first.blocks.extract_if(.., |block| matches!(block, Block::Verdict(_))).collect();
    (begin, before_use)
}

/// The four answers. Sentences end with a full stop.
#[derive(Debug, Default, Serialize)]
pub struct Brief {
    /// Length, number of runs, I/O engines and results.
    pub measured: String,
    /// Target, underlying storage, and machine.
    pub on: String,
    /// Extent to which the figures can be used.
    pub trust: Trust,
    /// The next step: what to do with the answer, or for a better one.
    pub next: String,
    /// The command line for the next step; may be empty.
    pub command: String,
}

/// Extent to which figures can be used, with the reason for its limits.
#[derive(Debug, Default, Serialize)]
pub struct Trust {
    pub tone: Tone,
    pub words: String,
}

/// Blocks under one heading.
#[derive(Debug)]
pub struct Section {
    /// May be empty.
    pub heading: String,
    /// Index of the time axis: charts over time of sections with the same index share one crosshair and one zoom.
    pub time: usize,
    /// True for a subsection of the section before it.
    pub is_part: bool,
    /// True if text omits it unless all details are requested.
    pub is_detail: bool,
    /// Its parts.
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn new(heading: &str, blocks: Vec<Block>) -> Self {
        Self { heading: heading.to_owned(), time: 0, is_part: false, is_detail: false, blocks }
    }

    /// A section that text omits unless all details are requested.
    pub(crate) fn of_details(heading: &str, blocks: Vec<Block>) -> Self {
        Self { is_detail: true, ..Self::new(heading, blocks) }
    }

    /// The section with another time axis.
    pub(crate) fn of_time(self, time: usize) -> Self {
        Self { time, ..self }
    }
}

/// One part of a report.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// The answers to the question of the measurement.
    Answers { answers: Vec<Answer> },
    /// Findings on the figures.
    Verdict(Banner),
    /// The load of a timespan, if there are several.
    Load { line: String },
    /// The headline figures.
    Tiles {
        tiles: Vec<Tile>,
        /// A note on all of them; may be empty.
        note: String,
    },
    /// Charts side by side.
    #[serde(skip)]
    Charts { charts: Vec<Chart> },
    /// Charts without data.
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

impl Block {
    /// Sentences without a heading.
    pub(crate) fn notes(sentences: impl IntoIterator<Item = String>) -> Self {
        Self::Notes { heading: String::new(), sentences: sentences.into_iter().collect() }
    }
}

/// A statement whose colour is no better than the verdicts of its runs, and which gives the reason.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    pub(crate) tone: Tone,
    pub(crate) about: String,
    pub(crate) headline: String,
    pub(crate) sentences: Vec<String>,
}

impl Answer {
    /// The setting or the sides that it applies to; may be empty.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The answer in a sentence.
    pub fn headline(&self) -> &str {
        &self.headline
    }

    /// The basis of the answer, and how far it holds.
    pub fn sentences(&self) -> &[String] {
        &self.sentences
    }
}

/// A verdict, or a block of the same form.
#[derive(Debug, Serialize)]
pub struct Banner {
    pub tone: Tone,
    pub headline: String,
    pub findings: Vec<VerdictLine>,
}

/// Tone of a block, mildest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Warn,
    Bad,
}

impl Tone {
    pub fn from_severity(severity: Option<Severity>) -> Self {
        match severity {
            Some(Severity::Invalid | Severity::Fail) => Self::Bad,
            Some(Severity::Warn | Severity::Unknown) => Self::Warn,
            Some(Severity::Note | Severity::Pass) | None => Self::Good,
        }
    }
}

/// One line of a verdict.
#[derive(Debug, Default, Serialize)]
pub struct VerdictLine {
    pub tone: Tone,
    pub word: String,
    /// May be empty.
    pub name: String,
    pub figure: String,
    /// The rest of the figure, collapsed; may be empty.
    pub more: String,
    /// May be empty.
    pub meaning: String,
    /// May be empty.
    pub advice: String,
}

/// A headline figure.
#[derive(Debug, Serialize)]
pub struct Tile {
    pub label: String,
    pub value: String,
    pub unit: String,
    /// The text below it; may be empty.
    pub beside: String,
    /// True of a percentile that too few I/Os lie beyond.
    pub is_weak: bool,
}

/// A chart without data.
#[derive(Debug, Serialize)]
pub struct Missing {
    pub title: &'static str,
    /// Reason, as a sentence without its full stop.
    pub reason: String,
}

/// The charts with data, then those without.
pub(crate) fn charts(shown: Vec<ChartResult>) -> Vec<Block> {
    let (mut charts, mut missing) = (Vec::new(), Vec::new());
    for shown in shown {
        match shown {
            Ok(chart) => charts.push(chart),
            Err(MissingChart { title, reason }) => missing.push(Missing { title, reason }),
        }
    }
    let mut blocks = Vec::new();
    if !charts.is_empty() {
        blocks.push(Block::Charts { charts });
    }
    if !missing.is_empty() {
        blocks.push(Block::Absent { charts: missing });
    }
    blocks
}

/// Rows and columns.
#[derive(Debug, Default, Serialize)]
pub struct Table {
    /// May be empty.
    pub heading: String,
    /// Its name for screen readers if it has no heading.
    pub label: &'static str,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<String>>,
    /// The text below it; may be empty.
    pub note: String,
}

/// The cell of an unknown value.
pub(crate) fn dash() -> String {
    "-".to_owned()
}

impl Table {
    /// A table of these columns, without rows.
    pub fn with_columns(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }
}

/// The head of a column.
#[derive(Debug, Serialize)]
pub struct Column {
    /// May be empty.
    pub name: String,
    /// True if its cells are numbers.
    pub is_number: bool,
    /// True if its words take several lines where there is little room.
    pub is_wrapped: bool,
    /// Order of omission if there is no room: the column with the least number is left out first; `None` = never.
    pub spare: Option<usize>,
}

impl Column {
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: false, is_wrapped: false, spare: None }
    }

    /// Of words that may be long.
    pub fn words(name: &str) -> Self {
        Self { is_wrapped: true, ..Self::text(name) }
    }

    pub fn number(name: &str) -> Self {
        Self { is_number: true, ..Self::text(name) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A name and a value.
#[derive(Debug, Serialize)]
pub struct Fact {
    pub name: &'static str,
    pub value: String,
}

#[cfg(test)]
impl Report {
    /// All text of the block, each sentence, cell and finding on a line of its own.
    pub(crate) fn words(&self) -> String {
        let Brief { measured, on, trust, next, command } = &self.brief;
        let of_sections = self.sections.iter().flat_map(|section| &section.blocks);
        let blocks = self.lead.iter().chain(&self.before_use).chain(of_sections).flat_map(words);
        let brief = [measured, on, &trust.words, next, command].map(Clone::clone);
        blocks.chain(brief).map(|line| line + "\n").collect()
    }
}

#[cfg(test)]
fn words(block: &Block) -> Vec<String> {
    match block {
        Block::Answers { answers } => answers
            .iter()
            .flat_map(|answer| [answer.headline().to_owned()].into_iter().chain(answer.sentences().to_vec()))
            .collect(),
        Block::Verdict(banner) => {
            banner.findings.iter().map(|found| format!("{} {}: {}", found.word, found.name, found.figure)).collect()
        }
        Block::Table(table) => table.rows.iter().map(|row| row.join(" | ")).chain([table.note.clone()]).collect(),
        Block::Notes { sentences, .. } => sentences.clone(),
        _ => Vec::new(),
    }
}
