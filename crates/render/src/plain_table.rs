//! Tables of blanks: columns without lines between them.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use model::printable::printable;
use std::io::{self, Write};

/// A table that grows row by row.
pub struct PlainTable {
    header: Vec<String>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl PlainTable {
    /// With these headings; the columns in `right` are flush right.
    pub fn new(header: impl IntoIterator<Item: Into<String>>, right: impl IntoIterator<Item = usize>) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Self { header, right: right.into_iter().collect(), rows: Vec::new() }
    }

    /// One more row.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// The headings of its columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Its cells, without the header.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// True if the column holds numbers.
    pub fn is_flush_right(&self, column: usize) -> bool {
        self.right.contains(&column)
    }

    /// Its lines, without blanks at their ends.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(&self.header);
        for column in &self.right {
            if let Some(column) = table.column_mut(*column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.add_rows(&self.rows);
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().into_iter()
    }

    /// Writes its lines.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.lines().try_for_each(|line| writeln!(out, "{line}"))
    }
}
