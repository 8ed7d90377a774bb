//! Hosts of the runs of a series: this machine, or several hosts. The code that makes series is independent of both.

use crate::fleet;
use crate::interrupt::Signals;
use crate::machine_runner::MachineRunner;
use crate::outputs::Protected;
use crate::series_runner::{ProfileRefusal, SeriesRunner};
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

/// The runner of these points, of which there is at least one. `part` is the prefix of the live line.
///
/// # Errors
///
/// The status if there is none; the reason was printed.
pub(crate) fn runner<'a>(
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
    let of_place = |place: Option<&FleetOption>| -> Result<Box<dyn SeriesRunner + 'a>, Status> {
        match place {
            Some(option) => fleet::series_runner(points, option, signals, part),
            None => Ok(Box::new(MachineRunner::new(signals, host::system(&Root::machine()), points, part))),
        }
    };
    let mut runners = places.into_iter().map(of_place).collect::<Result<Vec<_>, _>>()?;
    match runners.pop() {
        Some(only) if runners.is_empty() => Ok(only),
        last => {
            runners.extend(last);
            Ok(Box::new(SeriesOnSeveralHosts { runners, of_point }))
        }
    }
}

/// Points on different hosts: each is run and checked on its own host.
struct SeriesOnSeveralHosts<'a> {
    runners: Vec<Box<dyn SeriesRunner + 'a>>,
    /// The index of the runner of each point.
    of_point: Vec<usize>,
}

impl<'a> SeriesOnSeveralHosts<'a> {
    fn runner(&mut self, point: usize) -> &mut (dyn SeriesRunner + 'a) {
        &mut *self.runners[self.of_point[point]]
    }
}

impl Runner for SeriesOnSeveralHosts<'_> {
    fn prepare(&mut self, point: usize, profile: &Profile) -> Result<(), RunFailure> {
        self.runner(point).prepare(point, profile)
    }

    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        self.runner(point).run(point, profile)
    }
}

impl SeriesRunner for SeriesOnSeveralHosts<'_> {
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String {
        self.runners[self.of_point[point]].load_line(point, profile, is_rate_searched)
    }

    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, ProfileRefusal> {
        self.runner(point).check(point, profile)
    }

    fn precondition(&mut self, point: usize, profile: &Profile) -> Result<(Profile, u64), ProfileRefusal> {
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
