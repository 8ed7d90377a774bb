//! The interface that sweeps and repeats use to run profiles.

use model::profile::Profile;
use model::result::RunResult;

/// Runs profiles, one after the other. The program's own runs them on this machine; in tests a formula does. `point` is
/// the index of the point of the profile: what its command line permits applies to its own runs only.
pub trait Runner {
    /// Creates or fills the targets of a profile, without measuring.
    fn prepare(&mut self, point: usize, profile: &Profile) -> Result<(), RunFailure>;
    /// Runs a profile.
    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure>;
}

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// The user ended it.
    Interrupted,
    /// It could not be run, or ended with errors: sentences.
    Failed(Vec<String>),
}
