//! Many runs as one table: a row for each run, a column for each setting and figure.
//!
//! [`mod@columns`] declares the columns once. CSV and workbooks have all of them; [`report`](super::Subject::Runs)
//! chooses those that text and pages have room for.

mod charts;
mod columns;
mod curve;
mod facts;
mod groups;
mod pivot;
mod report;
#[cfg(test)]
mod tests;

pub use columns::{CellKind, RunColumn, columns};
pub use curve::{Curve, CurveFigure, CurveLine};
pub use groups::{Dimension, Group};
pub(crate) use report::{charts, quantity, report};

use facts::Facts;
use model::headline::Headline;
use model::printable::printable;
use model::result::RunResult;
use model::sweep::{DeviceCount, Purpose, Setting};

/// Longest text of a cell, in UTF-16 code units: that of a workbook.
const TEXT_UNITS_MAX: usize = 32_767;

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Unknown, not measured, or without meaning for the run.
    Empty,
    /// Printable text, never empty.
    Text(String),
    /// A finite number, in the unit of its column.
    Number(f64),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        let text = printable(text);
        let mut units = 0;
        let is_within = |(_, character): &(usize, char)| {
            units += character.len_utf16();
            units <= TEXT_UNITS_MAX
        };
        let end =
            text.char_indices().take_while(is_within).last().map_or(0, |(at, character)| at + character.len_utf8());
        if end == 0 { Self::Empty } else { Self::Text(text[..end].to_owned()) }
    }

    pub(crate) fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Empty, Self::Number)
    }

    pub(crate) fn count(count: Option<u64>) -> Self {
        Self::number(count.map(|count| count as f64))
    }

    /// The cell as in CSV, before quoting; numbers with enough digits to be exact.
    pub fn plain(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

/// Precision of the figures of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// As measured.
    #[default]
    Exact,
    /// JSON of fio: percentiles are the middle of a bin.
    Fio,
    /// XML: latencies to 1 µs, CPU usage to 0.01 %.
    Xml,
    /// A text report: rates to 0.01, latencies to 1 µs, CPU usage to 0.01 %.
    Text,
}

impl Rounding {
    /// The figures that are rounded, for the column `rounded`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Exact => "no",
            Self::Fio => "percentiles",
            Self::Xml => "latencies, CPU usage",
            Self::Text => "rates, latencies, CPU usage",
        }
    }

    /// Extent of the rounding, for a note.
    const fn extent(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::Fio => "percentiles are the middle of fio's bins, at most 0.8 % off",
            Self::Xml => "latencies to 1 µs, CPU usage to 0.01 %",
            Self::Text => "rates to 0.01, latencies to 1 µs, CPU usage to 0.01 %",
        }
    }
}

/// The place of a run in a series.
#[derive(Clone, Debug)]
pub struct InSeries {
    /// The directory as given.
    pub name: String,
    /// The purpose of the run.
    pub purpose: Purpose,
    /// Settings of its point.
    pub settings: Vec<Setting>,
}

/// The file that a run was read from.
#[derive(Clone, Debug, Default)]
pub struct RunSource {
    /// Path as given.
    pub name: String,
    /// The series that it is part of.
    pub series: Option<InSeries>,
    /// Precision of its figures.
    pub rounding: Rounding,
}

/// One run; of several timespans, one of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// One for each of [`columns()`].
    pub cells: Vec<Cell>,
    /// Its figures; `None` = nothing was measured.
    pub(crate) headline: Option<Headline>,
    pub(crate) rounding: Rounding,
    /// True for a run that prepared targets or searched for their capacity, which is no run of a point.
    pub(crate) is_preparation: bool,
    /// When it began, in nanoseconds since 1970-01-01 00:00:00 UTC.
    pub(crate) started_at_unix_ns: Option<i128>,
}

/// Many runs.
#[derive(Clone, Debug)]
pub struct RunsTable {
    columns: Vec<RunColumn>,
    rows: Vec<Row>,
    devices: Option<DeviceCount>,
    /// The beginning that the names of all files have in common.
    shared: Option<String>,
    /// True if a run has several timespans.
    has_time_spans: bool,
}

impl RunsTable {
    /// A table without rows; `devices` are the SSDs below the targets, for figures per SSD.
    pub fn new(devices: Option<DeviceCount>) -> Self {
        Self { columns: columns(), rows: Vec::new(), devices, shared: None, has_time_spans: false }
    }

    /// All columns.
    pub fn columns(&self) -> &[RunColumn] {
        &self.columns
    }

    /// All rows, in the order in which they were added.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The devices below the targets, if they were given.
    pub fn devices(&self) -> Option<DeviceCount> {
        self.devices
    }

    /// Adds a row for each timespan of a result; one for a result that has none.
    pub fn add(&mut self, source: &RunSource, result: &RunResult) {
        self.has_time_spans |= result.time_spans.len() > 1;
        for index in 0..result.time_spans.len().max(1) {
            self.add_facts(&Facts::of_result(source, result, index, self.devices));
        }
    }

    /// Adds a run of a series that failed.
    pub fn add_failed(&mut self, source: &RunSource, reasons: &[String]) {
        let result = RunResult { errors: reasons.to_vec(), ..without_load() };
        self.add_facts(&Facts::of_result(source, &result, 0, self.devices));
    }

    /// Adds a run of a series of which only the headline is left.
    pub fn add_headline(&mut self, source: &RunSource, headline: &Headline) {
        let result = without_load();
        let mut facts = Facts::of_result(source, &result, 0, self.devices);
        facts.headline = Some(headline.clone());
        self.add_facts(&facts);
    }

    fn add_facts(&mut self, facts: &Facts<'_>) {
        let cells = self.columns.iter().map(|column| column.cell(facts)).collect();
        let name = &facts.source.name;
        self.shared = Some(match &self.shared {
            Some(shared) => shared.chars().zip(name.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
            None => name.clone(),
        });
        let purpose = facts.source.series.as_ref().map(|series| series.purpose);
        self.rows.push(Row {
            cells,
            headline: facts.headline.clone(),
            rounding: facts.source.rounding,
            is_preparation: matches!(purpose, Some(Purpose::Precondition | Purpose::Capacity)),
            started_at_unix_ns: facts.started_at_unix_ns(),
        });
    }

    /// The index of a column that is declared.
    pub(crate) fn index(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.name == name).unwrap_or_default()
    }

    /// The cell of a row in the column of this name.
    pub fn cell<'a>(&self, row: &'a Row, name: &str) -> &'a Cell {
        row.cells.get(self.index(name)).unwrap_or(&Cell::Empty)
    }

    /// The name of the file of a row without the directories that all files share, and the number of its timespan.
    pub(crate) fn short_name(&self, row: &Row) -> String {
        let name = self.cell(row, "file").plain();
        let directories = self.shared.as_deref().and_then(|shared| Some(&shared[..=shared.rfind('/')?]));
        let short = directories.and_then(|directories| name.strip_prefix(directories)).unwrap_or(&name);
        match self.cell(row, "timespan").as_number().filter(|_| self.has_time_spans) {
            Some(number) => format!("{short} #{number}"),
            None => short.to_owned(),
        }
    }

    /// When the last of its runs began, in nanoseconds since 1970-01-01 00:00:00 UTC.
    pub fn last_started_at_unix_ns(&self) -> Option<i128> {
        self.rows.iter().filter_map(|row| row.started_at_unix_ns).max()
    }
}

/// A result with neither tool nor load known.
fn without_load() -> RunResult {
    let mut result = RunResult::default();
    result.tool.implementation = None;
    result.tool.version.clear();
    result
}
