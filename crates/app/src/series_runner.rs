//! Where the runs of a series are made: on this machine, or on several hosts. What makes series knows neither.

use crate::fleet;
use crate::interrupt::Signals;
use crate::machine_runner::MachineRunner;
use crate::output::say_each;
use crate::outputs::Protected;
use crate::status::Status;
use cli::FleetOption;
use cli::sweep::PlannedPoint;
use host::Root;
use model::profile::Profile;
use model::result::RunResult;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tune::{RunFailure, Runner};

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

    /// Deletes the files that a profile's runs created (`--delete-after`). A file that cannot be deleted is named.
    fn delete_targets(&mut self, point: usize, profile: &Profile);
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
    let mut places: Vec<Option<&FleetOption>> = Vec::new();
    let mut of_point = Vec::new();
    for planned in points {
        let place = planned.request.options.fleet.as_deref();
        of_point.push(places.iter().position(|other| *other == place).unwrap_or_else(|| {
            places.push(place);
            places.len() - 1
        }));
    }
    let runner = |place: Option<&FleetOption>| -> Result<Box<dyn SeriesRunner + 'a>, Status> {
        match place {
            Some(option) => fleet::series_runner(points, option, signals, part),
            None => Ok(Box::new(MachineRunner::new(signals, host::system(&Root::machine()), points, part))),
        }
    };
    let mut runners = places.into_iter().map(runner).collect::<Result<Vec<_>, _>>()?;
    match runners.pop() {
        Some(only) if runners.is_empty() => Ok(only),
        last => {
            runners.extend(last);
            Ok(Box::new(InSeveralPlaces { runners, of_point }))
        }
    }
}

/// Points on different hosts: each is run, and checked, where it belongs.
struct InSeveralPlaces<'a> {
    runners: Vec<Box<dyn SeriesRunner + 'a>>,
    /// The index of its runner.
    of_point: Vec<usize>,
}

impl<'a> InSeveralPlaces<'a> {
    fn runner(&mut self, point: usize) -> &mut (dyn SeriesRunner + 'a) {
        &mut *self.runners[self.of_point[point]]
    }
}

impl Runner for InSeveralPlaces<'_> {
    fn prepare(&mut self, point: usize, profile: &Profile) -> Result<(), RunFailure> {
        self.runner(point).prepare(point, profile)
    }

    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        self.runner(point).run(point, profile)
    }
}

impl SeriesRunner for InSeveralPlaces<'_> {
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String {
        self.runners[self.of_point[point]].load_line(point, profile, is_rate_searched)
    }

    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, Refused> {
        self.runner(point).check(point, profile)
    }

    fn precondition(&mut self, point: usize, profile: &Profile) -> Result<(Profile, u64), Refused> {
        self.runner(point).precondition(point, profile)
    }

    fn protected(&self, profile: &Profile) -> Vec<Protected> {
        self.runners.iter().flat_map(|runner| runner.protected(profile)).collect()
    }

    fn is_device(&self, path: &Path) -> bool {
        self.runners.iter().any(|runner| runner.is_device(path))
    }

    fn delete_targets(&mut self, point: usize, profile: &Profile) {
        self.runner(point).delete_targets(point, profile);
    }
}
