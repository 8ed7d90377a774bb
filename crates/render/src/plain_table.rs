//! Tables of blanks: columns without lines between them.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use model::printable::printable;
use std::io::{self, Write};

/// A table that grows row by row.
pub struct PlainTable(Table);

impl PlainTable {
    /// With these headings; the columns in `right` are flush right.
    pub fn new(header: impl IntoIterator<Item: Into<String>>, right: impl IntoIterator<Item = usize>) -> Self {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(header.into_iter().map(Into::into));
        for column in right {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self(table)
    }

    /// One more row.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().map(|cell| printable(&cell).into_owned()));
    }

    /// Its lines, without blanks at their ends.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.0.lines().map(|line| line.trim_end().to_owned())
    }

    /// Writes its lines.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.lines().try_for_each(|line| writeln!(out, "{line}"))
    }
}
