//! Counts of what was read of a trace, and the parts that were not used.

use serde::Serialize;
use std::fmt;

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Offset in bytes.
    Byte(u64),
    /// Line, from 1.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// Part of a trace that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// The input, counted from 0: traces may consist of several files.
    pub input: usize,
    /// Its beginning.
    pub place: Place,
    /// Bytes that were not used; 0 if the input just ends there.
    pub bytes: u64,
    /// The damage.
    pub reason: String,
}

/// Losses that are kept one by one.
const LOSSES_MAX: usize = 16;

/// Counts of what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Requests given out.
    pub events: u64,
    /// Records that came earlier than one before them and were put in order.
    pub sorted: u64,
    /// Requests that were too late for that; they have the time of the request before them.
    pub late: u64,
    /// Completions of requests whose issue is not in the trace.
    pub completions_without_issue: u64,
    /// Requests whose completion is not in the trace.
    pub issues_without_completion: u64,
    /// Issues and completions that were lost while the trace was recorded, at most.
    pub missed_events: u64,
    /// Records of requests that transfer no data and do not flush, such as SCSI commands.
    pub not_block_io: u64,
    /// The first losses, each with its place.
    pub losses: Vec<Loss>,
    /// All losses.
    pub loss_count: u64,
    /// Bytes of all losses.
    pub lost_bytes: u64,
}

impl Account {
    /// Adds a loss.
    pub fn add_loss(&mut self, loss: Loss) {
        self.loss_count += 1;
        self.lost_bytes += loss.bytes;
        if self.losses.len() < LOSSES_MAX {
            self.losses.push(loss);
        }
    }
}
