//! Many runs as comma-separated values: one line per run.
//!
//! The columns are declared by [`report::runs_table::columns`] and documented in `docs/formats/csv.md`.

use crate::foreign;
use csv::{Terminator, Writer, WriterBuilder};
use report::runs_table::{Cell, RunsTable, columns};
use std::io::{self, Write};

/// The first line, without its line feed. No name needs quotes.
pub fn runs_header() -> String {
    columns().into_iter().map(|column| column.name).collect::<Vec<_>>().join(",")
}

/// Writes a header and a line for each run.
pub fn runs_csv(table: &RunsTable, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", runs_header())?;
    runs_csv_rows(table, out)
}

/// Writes a line for each run, without a header.
pub fn runs_csv_rows(table: &RunsTable, out: &mut dyn Write) -> io::Result<()> {
    let mut writer: Writer<&mut dyn Write> = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    for row in table.rows() {
        writer.write_record(row.cells.iter().map(|cell| match cell {
            Cell::Text(text) => foreign::text_cell(text),
            cell => cell.plain(),
        }))?;
    }
    writer.flush()
}
