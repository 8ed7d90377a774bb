//! What a job file says, and what is wrong with one.

use crate::xml::Position;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use model::profile::Profile;
use std::fmt;

/// What a job file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<R> {
    /// The load.
    pub profile: Profile,
    /// What every timespan must keep, as `--require` has it.
    pub requirements: Vec<R>,
}

/// One fault of a job file. Its text is `file:line:column: key: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFault {
    /// The file, as the user wrote it.
    pub file: String,
    /// Where in it; `None` if the file as a whole is at fault.
    pub position: Option<Position>,
    /// The key that it is about; empty if it is about none.
    pub key: String,
    /// What is wrong and what would be right, without a full stop.
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
