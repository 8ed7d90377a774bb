//! Why something could not be read.

use super::BYTES_MAX;
use model::printable::clipped_error;
use thiserror::Error;

/// Why something could not be read as a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is larger than anything that is read.
    #[error("{bytes} bytes is too large for a result (at most {BYTES_MAX})")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It does not begin like one.
    #[error("not a DiskSpd result: there is no line '<Results>' or 'Command Line:'")]
    NotAResult,
    /// It is a text report of this program, which has only some of the figures, rounded.
    #[error(
        "a text report of diskspd for Linux, which has only some of the figures, rounded; use the JSON or XML result \
         of the run (--json, --xml)"
    )]
    OwnText,
    /// It begins like one and goes on like none.
    #[error("line {line}, column {column}: {}", clipped_error(reason))]
    Malformed {
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// What is wrong, and what would be right.
        reason: String,
    },
}
