//! Writing to stdout and stderr: nothing that a terminal would obey, wherever a text is from. On stdout a closed
//! reader is not an error, anything else is.

use model::printable::{clipped, printable, printable_json, printable_lines};
use serde::Serialize;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use sys::terminal::columns;

/// Most characters of a line on stderr: two names of files may be in it, but no document.
const LINE_CHARACTERS_MAX: usize = 2 * 4096;

/// Writes a text to stdout. Documents have escapes of their own in place of unprintable characters, and stay as they
/// are.
///
/// # Errors
///
/// What the reader's side refuses, except that it is gone.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(&printable_lines(bytes)).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a value as an indented JSON document.
pub(crate) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&printable_json(&serde_json::to_vec_pretty(value)?))?;
    writeln!(out)
}

/// Writes a line to stderr, on a terminal in as many as its width asks for. Nobody can be told if that fails.
pub(crate) fn say(line: &str) {
    let stderr = io::stderr();
    let line = clipped(line, LINE_CHARACTERS_MAX);
    let line = printable(&line);
    let line = match columns(&stderr) {
        Some(columns) => wrapped(&line, columns).into(),
        None => line,
    };
    let _ = writeln!(stderr.lock(), "{line}");
}

/// A text with line breaks in place of blanks, so that lines are no longer than that; longer words stay whole.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if used > 0 && used + length > columns {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            used = 0;
        }
        wrapped.push_str(word);
        used += word.chars().count();
    }
    wrapped
}

/// Writes a text to stderr if its reader takes it at once, and says whether: a run must not wait for it.
pub(crate) fn say_at_once(text: &[u8]) -> bool {
    let stderr = io::stderr();
    let is_taken = sys::readiness::is_writable(&stderr);
    if is_taken {
        let _ = stderr.lock().write_all(text);
    }
    is_taken
}

#[cfg(feature = "screens")]
/// False if the user wants no colours (<https://no-color.org>).
pub(crate) fn wants_colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes sentences to stderr, each on a line of its own behind `prefix` and a colon.
pub(crate) fn say_each(prefix: &str, sentences: &[impl Display]) {
    for sentence in sentences {
        say(&format!("{prefix}: {sentence}"));
    }
}

/// True if this stream is a terminal on which a picture can move.
pub(crate) fn can_draw(stream: &impl IsTerminal) -> bool {
    let is_able = env::var_os("TERM").is_some_and(|kind| kind != "dumb" && !kind.is_empty());
    is_able && stream.is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrapped("ERROR: one two three", 10), "ERROR: one\ntwo three");
        assert_eq!(wrapped("to allow: --destroy=/a/long/name; x", 12), "to allow:\n--destroy=/a/long/name;\nx");
        assert_eq!(wrapped("  a  b", 80), "  a  b");
        assert_eq!(wrapped("", 5), "");
    }
}
