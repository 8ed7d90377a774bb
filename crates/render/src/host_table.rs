//! The hosts of a fleet: a table of their own below those of `DiskSpd`.

use crate::foreign::remark;
use crate::prose::sentence;
use model::fleet::{Fleet, FleetTimeSpan};
use report::words::hosts::{COLUMNS, notes, rows, window_words};
use report::words::plain_table::PlainTable;
use std::io::{self, Write};

/// A row for each host, then the window; it begins with an empty line.
pub(crate) fn table(out: &mut dyn Write, fleet: &Fleet, time_span: &FleetTimeSpan) -> io::Result<()> {
    writeln!(out, "\nHosts")?;
    let mut table = PlainTable::new(COLUMNS, 1..COLUMNS.len() - 1).fitted([6, 5, 2]);
    for row in rows(fleet, time_span) {
        table.add(row);
    }
    table.write(out)?;
    time_span.window.as_ref().map_or(Ok(()), |window| sentence(out, &window_words(window)))
}

/// The notes of the hosts, after an empty line; nothing if there are none.
pub(crate) fn notes_block(out: &mut dyn Write, time_span: &FleetTimeSpan) -> io::Result<()> {
    let notes = notes(time_span);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| remark(out, "NOTE", note))
}
