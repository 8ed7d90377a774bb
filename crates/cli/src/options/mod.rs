//! The one table of options. The parser, the usage text, `--help` and all other lists of options are generated from it;
//! to add an option, add its row.

mod access;
mod affinity;
mod cache;
mod content;
mod fleet;
mod live;
mod outputs;
mod own;
mod report;
mod row;
mod set;
mod sync;
mod target;
mod threads;
mod timing;

use std::sync::LazyLock;

pub use row::{Group, Kind, OptionRow, Pass, Repeat, Scope, SinceVersion, ValueForm};

/// Options of ours that set one field of a timespan.
static SETTING_ROWS: LazyLock<Vec<OptionRow>> = LazyLock::new(|| set::rows().collect());

/// All rows, in the order in which help shows the groups.
pub fn all() -> impl Iterator<Item = &'static OptionRow> {
    [
        target::ROWS,
        timing::ROWS,
        threads::ROWS,
        affinity::ROWS,
        access::ROWS,
        cache::ROWS,
        content::ROWS,
        report::ROWS,
        sync::ROWS,
        outputs::ROWS,
        live::ROWS,
        own::ROWS,
        SETTING_ROWS.as_slice(),
        own::LAST_ROWS,
        fleet::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// Our own options, whose names begin with two dashes.
pub fn long_named() -> impl Iterator<Item = &'static OptionRow> {
    all().filter(|row| row.is_long())
}

/// The row of an argument that begins with one dash, and the text after the option's name: of the rows that fit, the
/// one with the longest name, then the first.
pub fn find_short(argument: &str) -> Option<(&'static OptionRow, &str)> {
    all()
        .filter(|row| !row.is_long())
        .filter_map(|row| {
            let value = argument.strip_prefix(row.name)?.trim_start();
            row.lead.admits(value).then_some((row, value))
        })
        // max_by_key would return the last of equal ones.
        .reduce(|best, next| if next.0.name.len() > best.0.name.len() { next } else { best })
}

/// Our option with exactly this name, dashes included.
pub fn find_long(name: &str) -> Option<&'static OptionRow> {
    long_named().find(|row| row.name == name)
}

#[cfg(test)]
mod tests;
