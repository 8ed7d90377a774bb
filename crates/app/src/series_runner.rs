//! The interface to the runs of a series, on this machine or on others.

use crate::output::say_each;
use crate::outputs::Protected;
use crate::status::Status;
use model::profile::Profile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tune::Runner;

/// Runs the points of a series, and checks them before. `point` is the index of the point that a profile was made for:
/// only its options and permissions apply to that profile.
pub(crate) trait SeriesRunner: Runner {
    /// The load of a profile on a line; without facts about its targets if it cannot be planned. A search may set its
    /// rate.
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String;

    /// Checks a profile as it would be run now, without touching anything: returns the files that it would create, and
    /// their sizes.
    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, ProfileRefusal>;

    /// The load that precedes the measurement of a profile (`--precondition`), checked as it would be run now, and its
    /// size in bytes.
    fn precondition(&mut self, point: usize, profile: &Profile) -> Result<(Profile, u64), ProfileRefusal>;

    /// The files of this machine that a profile reads or writes.
    fn protected(&self, profile: &Profile) -> Vec<Protected>;

    /// True if a target is a whole device, as far as known here.
    fn is_device(&self, path: &Path) -> bool;

    /// Deletes the files that a profile's runs created (`--delete-after`). Files that cannot be deleted are reported.
    fn delete_targets(&mut self, point: usize, profile: &Profile);
}

/// The reasons why a profile cannot be run, and the exit status, which is that of a single run of it.
pub(crate) struct ProfileRefusal {
    pub(crate) status: Status,
    pub(crate) reasons: Vec<String>,
}

impl ProfileRefusal {
    /// Prints the reasons and returns the exit status.
    pub(crate) fn print_reasons(self) -> Status {
        say_each("ERROR", &self.reasons);
        self.status
    }
}
