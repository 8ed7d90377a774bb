//! Content and faults of a job file.

use crate::element::fault::Position;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use model::profile::Profile;
use std::fmt;

/// Content of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<R> {
    /// The load.
    pub profile: Profile,
    /// Requirements on every timespan, as in `--require`.
    pub requirements: Vec<R>,
}

/// One fault of a job file. Its text is `file:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFault {
    /// The file, as the user wrote it.
    pub file: String,
    /// Its position; `None` if the file as a whole is at fault.
    pub position: Option<Position>,
    /// The key at fault; empty if there is none.
    pub key: String,
    /// The fault and the valid form, without a full stop.
    pub message: String,
}

impl fmt::Display for JobFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(position) = self.position {
            write!(f, "{}:{}:", position.line, position.column)?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", clipped(&self.key, REPEATED_CHARACTERS_MAX))?;
        }
        write!(f, " {}", self.message)
    }
}
