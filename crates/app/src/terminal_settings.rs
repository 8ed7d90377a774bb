//! Environment variables about terminals.

use std::env;
use std::io::IsTerminal;

/// True if this stream is a terminal on which a picture can move.
pub(crate) fn can_draw(stream: &impl IsTerminal) -> bool {
    let is_able = env::var_os("TERM").is_some_and(|kind| kind != "dumb" && !kind.is_empty());
    is_able && stream.is_terminal()
}
