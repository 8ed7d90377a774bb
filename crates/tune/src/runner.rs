//! What sweeps and repeats are written against: something that runs profiles.

use model::profile::Profile;
use model::result::RunResult;

/// Runs profiles, one after the other. The program's own runs them on this machine; in tests a
/// formula stands behind it.
pub trait Runner {
    /// Makes the targets of a profile ready, without measuring.
    fn prepare(&mut self, profile: &Profile) -> Result<(), RunFailure>;
    /// Runs a profile.
    fn run(&mut self, profile: &Profile) -> Result<RunResult, RunFailure>;
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// The user ended it.
    Interrupted,
    /// It could not be run, or ended with errors: sentences.
    Failed(Vec<String>),
}
