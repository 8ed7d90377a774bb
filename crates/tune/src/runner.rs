//! What sweeps and repeats are written against: something that runs profiles.

use model::profile::Profile;
use model::result::RunResult;

/// Runs profiles, one after the other. The program's own runs them on this machine; in tests a
/// formula stands behind it. `point` is the index of the point that a profile was made for: what its command line
/// permits applies to its own runs only.
pub trait Runner {
    /// Makes the targets of a profile ready, without measuring.
    fn prepare(&mut self, point: usize, profile: &Profile) -> Result<(), RunFailure>;
    /// Runs a profile.
    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure>;
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// The user ended it.
    Interrupted,
    /// It could not be run, or ended with errors: sentences.
    Failed(Vec<String>),
}
