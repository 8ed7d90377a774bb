//! Reasons why something could not be read.

use super::BYTES_MAX;
use model::printable::clipped_error;
use thiserror::Error;

/// The reason why something could not be read as a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It exceeds the size limit.
    #[error("{bytes} bytes is too large for a result (at most {BYTES_MAX})")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It does not begin like a result.
    #[error("not a DiskSpd result: there is no line '<Results>' or 'Command Line:'")]
    NotAResult,
    /// It is a text report of this program, which has only some of the figures, rounded.
    #[error(
        "a text report of diskspd for Linux, which has only some of the figures, rounded; use the JSON or XML result \
         of the run (--json, --xml)"
    )]
    OwnText,
    /// It begins like a result, but is malformed.
    #[error("line {line}, column {column}: {}", clipped_error(reason))]
    Malformed {
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// The error, and the expected content.
        reason: String,
    },
}
