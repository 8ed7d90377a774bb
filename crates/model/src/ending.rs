//! How a part of a run ended.

use serde::{Deserialize, Serialize};

/// How a timespan ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It was not run, because an earlier one failed or the run was stopped or refused.
    #[default]
    NotRun,
    /// As planned.
    Completed,
    /// The user or an event ended it; there are results if the measurement had begun.
    Stopped,
    /// An error ended it.
    Failed,
}
