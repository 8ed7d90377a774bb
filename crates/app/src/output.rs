//! Writing to stdout: a closed reader is not an error, anything else is.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes data to stdout.
///
/// # Errors
///
/// What the reader's side refuses, except that it is gone.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to stderr. Nobody can be told if that fails.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes sentences to stderr, each on a line of its own behind `prefix` and a colon.
pub(crate) fn say_each(prefix: &str, sentences: &[impl Display]) {
    for sentence in sentences {
        say(&format!("{prefix}: {sentence}"));
    }
}
