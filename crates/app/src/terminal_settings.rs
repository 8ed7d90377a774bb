//! Environment variables about terminals.

use live::terminal::Stream;
use std::env;

/// True if this stream is a terminal on which a picture can move.
pub(crate) fn can_draw(stream: Stream) -> bool {
    let is_able = env::var_os("TERM").is_some_and(|kind| kind != "dumb" && !kind.is_empty());
    is_able && stream.is_terminal()
}

/// False if the user wants no colours (<https://no-color.org>).
pub(crate) fn has_colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
