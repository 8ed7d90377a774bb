//! Writing to stdout and stderr: nothing that a terminal would obey, wherever a text is from. On stdout a closed
//! reader is not an error, anything else is.

use model::printable::{printable, printable_lines};
use std::fmt::Display;
use std::io::{self, Write};

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

/// Writes a line to stderr. Nobody can be told if that fails.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// Writes a text to stderr if its reader takes it at once, and says whether: a run must not wait for it.
pub(crate) fn say_at_once(text: &str) -> bool {
    let stderr = io::stderr();
    let is_taken = sys::readiness::is_writable(&stderr);
    if is_taken {
        let _ = stderr.lock().write_all(text.as_bytes());
    }
    is_taken
}

/// Writes sentences to stderr, each on a line of its own behind `prefix` and a colon.
pub(crate) fn say_each(prefix: &str, sentences: &[impl Display]) {
    for sentence in sentences {
        say(&format!("{prefix}: {sentence}"));
    }
}
