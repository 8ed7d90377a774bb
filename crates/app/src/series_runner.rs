//! Where the runs of a series are made: on this machine, or on several hosts. What makes series knows neither.

use crate::fleet;
use crate::interrupt::Signals;
use crate::machine_runner::MachineRunner;
use crate::output::say_each;
use crate::outputs::Protected;
use crate::status::Status;
use cli::sweep::PlannedPoint;
use host::Root;
use model::profile::Profile;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tune::Runner;

/// Runs the points of a series, and checks them before. `point` is the index of the point that a profile was made for: its
/// options and permissions apply to that profile, and no other's do.
pub(crate) trait SeriesRunner: Runner {
    /// The load of a profile on a line; without what is known of its targets if it cannot be planned. A search may set its
    /// rate.
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String;

    /// Checks a profile as it would be run now, and touches nothing: the files that it would make, and their sizes.
    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, Refused>;

    /// What is written before a profile is measured (`--precondition`), checked as it would be run now, and its bytes.
    fn precondition(&mut self, point: usize, profile: &Profile) -> Result<(Profile, u64), Refused>;

    /// The files of this machine that a profile reads or writes.
    fn protected(&self, profile: &Profile) -> Vec<Protected>;

    /// True if a target is a whole device, as far as that is known here.
    fn is_device(&self, path: &Path) -> bool;
}

/// Why a profile cannot be run, and how the program ends because of it: as a single run of it would.
pub(crate) struct Refused {
    pub(crate) status: Status,
    pub(crate) reasons: Vec<String>,
}

impl Refused {
    /// Says why, and gives the status.
    pub(crate) fn told(self) -> Status {
        say_each("ERROR", &self.reasons);
        self.status
    }
}

/// The runner of these points, of which there is one at least. `part` is what the live line begins with.
///
/// # Errors
///
/// Why there is none; it was said.
pub(crate) fn of<'a>(
    points: &'a [PlannedPoint],
    signals: &'a Signals,
    part: &'a RefCell<String>,
) -> Result<Box<dyn SeriesRunner + 'a>, Status> {
    match points.first().and_then(|first| first.request.options.fleet.as_deref()) {
        Some(option) => fleet::series_runner(points, option, signals, part),
        None => Ok(Box::new(MachineRunner::new(signals, host::system(&Root::machine()), points, part))),
    }
}
