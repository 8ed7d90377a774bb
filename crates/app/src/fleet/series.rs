//! Runs of a series on several hosts, each at the same time on all of them.

use super::host::{CREATED, Options};
use super::hosts::Hosts;
use super::live::awaiting_results;
use super::live_line::LiveLine;
use super::many::{check, load_lines, reasons};
use super::paths::is_device;
use crate::console_observer::ConsoleObserver;
use crate::interrupt::{self, Signals};
use crate::output::{say, say_each};
use crate::outputs::Protected;
use crate::series_runner::{ProfileRefusal, SeriesRunner};
use crate::status::{Status, fail};
use ::fleet::{FleetError, HostPlan, Progress};
use cli::sweep::PlannedPoint;
use cli::{FleetOption, RunRequest};
use model::ending::Ending;
use model::profile::Profile;
use model::result::RunResult;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tune::{RunFailure, Runner};

/// Runs the points of a series.
struct SeriesOnHosts<'a> {
    hosts: Hosts<'a>,
    /// Options of each point; its runs may have other profiles.
    points: &'a [PlannedPoint],
    /// True if files overwritten by a run of the series are used again.
    reuses_written: bool,
    /// Prefix of the live line.
    part: &'a RefCell<String>,
}

/// The runner of those of these points that have these hosts; there is at least one.
pub(crate) fn series_runner<'a>(
    points: &'a [PlannedPoint],
    option: &FleetOption,
    signals: &'a Signals,
    part: &'a RefCell<String>,
) -> Result<Box<dyn SeriesRunner + 'a>, Status> {
    let mut first = None;
    for planned in points.iter().filter(|planned| planned.request.options.fleet.as_deref() == Some(option)) {
        check(&planned.request, option)
            .map_err(|reasons| ProfileRefusal { status: Status::Refused, reasons }.print_reasons())?;
        first.get_or_insert(&planned.request);
    }
    let Some(first) = first else { return Err(fail("no point has these hosts")) };
    // All points on them have the same --destroy.
    let hosts = Hosts::find(first, option, signals)?;
    Ok(Box::new(SeriesOnHosts { hosts, points, reuses_written: false, part }))
}

impl SeriesOnHosts<'_> {
    fn options(&self, point: usize) -> Options {
        // A series keeps results under separate command lines.
        let options = Options::new(String::new(), &self.points[point].request);
        Options { reuses_written: self.reuses_written, ..options }
    }
}

impl Runner for SeriesOnHosts<'_> {
    fn prepare(&mut self, _: usize, _: &Profile) -> Result<(), RunFailure> {
        // The next run creates its files as it needs them.
        self.reuses_written = false;
        Ok(())
    }

    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        let mut line = LiveLine::new(ConsoleObserver::of_part(self.part.borrow().clone()));
        let mut progress = |progress| match progress {
            Progress::Running(hosts) => line.show(&hosts, Instant::now()),
            other => {
                line.clear();
                match other {
                    Progress::Connection(sentence) => say(&sentence),
                    Progress::AwaitingResults(names) => say(&awaiting_results(&names)),
                    _ => {}
                }
            }
        };
        let options = self.options(point);
        let run = self.hosts.run(profile, &options, &mut progress).map_err(|error| match error {
            FleetError::Stopped(sentences) => {
                say_each("ERROR", &sentences);
                RunFailure::Interrupted
            }
            error => RunFailure::Failed(error.sentences().to_vec()),
        })?;
        self.reuses_written = true;
        let result = super::many::judged(self.hosts.merged(run), &self.points[point].request);
        let reasons = reasons(&result);
        if !reasons.is_empty() {
            return Err(RunFailure::Failed(reasons));
        }
        // The partial result of an interrupted run is not a point.
        let is_complete = result.time_spans.iter().all(|span_result| span_result.outcome == Ending::Completed);
        if is_complete { Ok(result) } else { Err(RunFailure::Interrupted) }
    }
}

impl SeriesRunner for SeriesOnHosts<'_> {
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String {
        let request = RunRequest { profile: profile.clone(), ..self.points[point].request.clone() };
        let line = report::words::load_line::of_lines(load_lines(&request, is_rate_searched));
        format!("{line}; on {}", self.hosts.in_words())
    }

    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, ProfileRefusal> {
        let options = self.options(point);
        let plans = self.hosts.plan(profile, &options).map_err(|error| {
            let stopped = matches!(error, FleetError::Stopped(_)).then(interrupt::status_without_results);
            let of_error = if error.touched_nothing() { Status::Refused } else { Status::Failed };
            ProfileRefusal { status: stopped.flatten().unwrap_or(of_error), reasons: error.sentences().to_vec() }
        })?;
        Ok(plans.iter().flat_map(created).collect())
    }

    fn precondition(&mut self, _: usize, _: &Profile) -> Result<(Profile, u64), ProfileRefusal> {
        let reasons = vec!["--precondition cannot be used with --on".to_owned()];
        Err(ProfileRefusal { status: Status::Refused, reasons })
    }

    fn protected(&self, _: &Profile) -> Vec<Protected> {
        // The files of the hosts are not on this machine.
        Vec::new()
    }

    fn is_device(&self, path: &Path) -> bool {
        is_device(path)
    }

    /// A series on hosts is refused with `--delete-after`.
    fn delete_targets(&mut self, _: usize, _: &Profile) {}
}

/// The files that a host would create, and their sizes.
fn created(plan: &HostPlan) -> Vec<(PathBuf, u64)> {
    let list: Vec<(String, u64)> = serde_json::from_value(plan.facts[CREATED].clone()).unwrap_or_default();
    list.into_iter().map(|(path, bytes)| (PathBuf::from(format!("{}:{path}", plan.name)), bytes)).collect()
}
