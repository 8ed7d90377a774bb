//! Writing to stdout and stderr: no control sequences reach a terminal, whatever the source of a text. A closed reader
//! of stdout is not an error, anything else is.

use model::printable::{clipped, printable, printable_json, printable_lines, wrapped};
use serde::Serialize;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use sys::terminal::columns;

/// Longest line on stderr in characters: enough for two file names, but not for a document.
const LINE_CHARACTERS_MAX: usize = 2 * 4096;

/// Writes a text to stdout. Documents have their own escapes for unprintable characters and are left unchanged.
///
/// # Errors
///
/// Write errors other than a closed reader.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    match print_to_reader(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// As [`print()`], but a closed reader is an error: there is no point in printing more.
pub(crate) fn print_to_reader(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(&printable_lines(bytes)).and_then(|()| stdout.flush())
}

/// Writes a value as an indented JSON document.
pub(crate) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&printable_json(&serde_json::to_vec_pretty(value)?))?;
    writeln!(out)
}

/// Writes a line to stderr, wrapped to the width of a terminal. Failures cannot be reported and are ignored.
pub(crate) fn say(line: &str) {
    let stderr = io::stderr();
    let line = clipped(line, LINE_CHARACTERS_MAX);
    let line = printable(&line);
    let line = match columns(&stderr) {
        Some(columns) => wrapped(&line, columns).join("\n").into(),
        None => line,
    };
    let _ = writeln!(stderr.lock(), "{line}");
}

/// Writes a text to stderr if its reader accepts it at once; true if it did: a run must not wait for it.
pub(crate) fn say_at_once(text: &[u8]) -> bool {
    let stderr = io::stderr();
    let is_taken = sys::readiness::is_writable(&stderr);
    if is_taken {
        let _ = stderr.lock().write_all(text);
    }
    is_taken
}

#[cfg(feature = "screens")]
/// False if the user disabled colours (<https://no-color.org>).
pub(crate) fn wants_colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes sentences to stderr, each on a separate line after `prefix` and a colon.
pub(crate) fn say_each(prefix: &str, sentences: &[impl Display]) {
    for sentence in sentences {
        say(&format!("{prefix}: {sentence}"));
    }
}

/// True if this stream is a terminal that supports animation.
pub(crate) fn can_draw(stream: &impl IsTerminal) -> bool {
    let is_able = env::var_os("TERM").is_some_and(|kind| kind != "dumb" && !kind.is_empty());
    is_able && stream.is_terminal()
}
