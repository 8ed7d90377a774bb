//! Runs of a series on several hosts, each at the same time on all of them.

use super::host::{CREATED, Options};
use super::hosts::{Hosts, is_device, merged};
use super::live_line::LiveLine;
use super::many::{check, load_lines, reasons};
use crate::console_observer::ConsoleObserver;
use crate::interrupt::Signals;
use crate::output::say;
use crate::outputs::Protected;
use crate::series_runner::{Refused, SeriesRunner};
use crate::status::Status;
use ::fleet::{FleetError, HostPlan, Progress};
use cli::{FleetOption, RunRequest};
use model::profile::Profile;
use model::result::{Ending, RunResult};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tune::{RunFailure, Runner};

/// Runs profiles that differ from one request.
struct SeriesOnHosts<'a> {
    hosts: Hosts<'a>,
    signals: &'a Signals,
    /// Everything but the profile counts.
    request: RunRequest,
    options: Options,
    /// What the live line begins with.
    part: &'a RefCell<String>,
}

/// What runs a request on the hosts of `--on`, and profiles that differ from it.
pub(crate) fn series_runner<'a>(
    request: &RunRequest,
    option: &FleetOption,
    signals: &'a Signals,
    part: &'a RefCell<String>,
) -> Result<Box<dyn SeriesRunner + 'a>, Status> {
    check(request, option).map_err(|reasons| Refused { status: Status::Refused, reasons }.told())?;
    let hosts = Hosts::find(request, option, signals)?;
    // A series keeps results under command lines of its own.
    let options = Options::new(String::new(), request);
    Ok(Box::new(SeriesOnHosts { hosts, signals, request: request.clone(), options, part }))
}

impl Runner for SeriesOnHosts<'_> {
    fn prepare(&mut self, _: &Profile) -> Result<(), RunFailure> {
        // The next run makes its files as it needs them.
        self.options.reuses_written = false;
        Ok(())
    }

    fn run(&mut self, profile: &Profile) -> Result<RunResult, RunFailure> {
        let mut line = LiveLine::new(ConsoleObserver::of_part(self.part.borrow().clone()));
        let mut progress = |progress| match progress {
            Progress::Running(hosts) => line.show(&hosts, Instant::now()),
            other => {
                line.clear();
                if let Progress::Connection(sentence) = other {
                    say(&sentence);
                }
            }
        };
        let run = self.hosts.run(profile, &self.options, &mut progress).map_err(|error| match error {
            FleetError::Stopped(_) => RunFailure::Interrupted,
            error => RunFailure::Failed(error.sentences().to_vec()),
        })?;
        self.options.reuses_written = true;
        let result = super::many::judged(merged(run), &self.request);
        let reasons = reasons(&result);
        if !reasons.is_empty() {
            return Err(RunFailure::Failed(reasons));
        }
        // What is left of a run that was stopped is not a point.
        let is_complete = result.time_spans.iter().all(|span_result| span_result.outcome == Ending::Completed);
        if is_complete { Ok(result) } else { Err(RunFailure::Interrupted) }
    }
}

impl SeriesRunner for SeriesOnHosts<'_> {
    fn load_line(&self, profile: &Profile, is_rate_searched: bool) -> String {
        let request = RunRequest { profile: profile.clone(), ..self.request.clone() };
        let line = render::load_line::of_lines(load_lines(&request, is_rate_searched));
        format!("{line}; on {}", self.hosts.in_words())
    }

    fn check(&mut self, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, Refused> {
        let plans = self.hosts.plan(profile, &self.options).map_err(|error| {
            let stopped = matches!(error, FleetError::Stopped(_)).then(|| self.signals.status_without_results());
            let of_error = if error.touched_nothing() { Status::Refused } else { Status::Failed };
            Refused { status: stopped.flatten().unwrap_or(of_error), reasons: error.sentences().to_vec() }
        })?;
        Ok(plans.iter().flat_map(created).collect())
    }

    fn precondition(&mut self, _: &Profile) -> Result<(Profile, u64), Refused> {
        let reasons = vec!["--precondition cannot be used with --on".to_owned()];
        Err(Refused { status: Status::Refused, reasons })
    }

    fn protected(&self, _: &Profile) -> Vec<Protected> {
        // Those of the hosts are none of this machine.
        Vec::new()
    }

    fn is_device(&self, path: &Path) -> bool {
        is_device(path)
    }
}

/// The files that a host would create, and their sizes.
fn created(plan: &HostPlan) -> Vec<(PathBuf, u64)> {
    let list: Vec<(String, u64)> = serde_json::from_value(plan.facts[CREATED].clone()).unwrap_or_default();
    list.into_iter().map(|(path, bytes)| (PathBuf::from(format!("{}:{path}", plan.name)), bytes)).collect()
}
