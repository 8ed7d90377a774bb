//! Runs several profiles on this machine, one after the other.

use crate::console_observer::ConsoleObserver;
use crate::interrupt::Signals;
use crate::live::LiveSinks;
use crate::measure::{Measurement, stop_sources};
use crate::output::say;
use crate::outputs::Protected;
use crate::request_checks::{check_profile, choices, protected, unmeasured, with_log_files};
use crate::series_runner::{ProfileRefusal, SeriesRunner};
use crate::status::Status;
use cli::RunRequest;
use cli::sweep::PlannedPoint;
use host::Root;
use model::ending::Ending;
use model::facts::SystemFacts;
use model::plan::Plan;
use model::profile::Profile;
use model::result::RunResult;
use plan::{Choices, Refusal, RefusalKind, Reuse};
use run::event::Events;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use tune::{RunFailure, Runner};

/// Runs the points of a series.
pub(crate) struct MachineRunner<'a> {
    signals: &'a Signals,
    system: SystemFacts,
    /// Options and permissions of each point; its runs may have other profiles.
    points: &'a [PlannedPoint],
    /// Prefix of the live line.
    part: &'a RefCell<String>,
}

impl From<Vec<Refusal>> for ProfileRefusal {
    fn from(refusals: Vec<Refusal>) -> Self {
        let is_impossible = refusals.iter().all(|refusal| refusal.kind == RefusalKind::Impossible);
        let status = if is_impossible { Status::Failed } else { Status::Refused };
        Self { status, reasons: sentences(&refusals) }
    }
}

impl<'a> MachineRunner<'a> {
    pub(crate) fn new(
        signals: &'a Signals,
        system: SystemFacts,
        points: &'a [PlannedPoint],
        part: &'a RefCell<String>,
    ) -> Self {
        Self { signals, system, points, part }
    }

    fn request(&self, point: usize, profile: &Profile) -> RunRequest {
        with_log_files(&RunRequest { profile: profile.clone(), ..self.points[point].request.clone() })
    }

    fn plan(&self, request: &RunRequest, choices: &Choices) -> Result<Plan, Vec<Refusal>> {
        let too_large = plan::check_size(&request.profile, &self.system);
        if !too_large.is_empty() {
            return Err(too_large);
        }
        Measurement::new(request, String::new(), self.system.clone()).plan(choices)
    }

    fn observer(&self) -> ConsoleObserver {
        ConsoleObserver::of_part(self.part.borrow().clone())
    }
}

impl Runner for MachineRunner<'_> {
    fn prepare(&mut self, point: usize, profile: &Profile) -> Result<(), RunFailure> {
        let request = self.request(point, profile);
        let plan = self.plan(&request, &within_series(&request)).map_err(|refusals| failed(&refusals))?;
        let mut observer = self.observer();
        let prepared =
            run::prepare(&plan, &Root::machine(), stop_sources(self.signals, &Events::default()), &mut observer);
        observer.finish();
        prepared.map_err(|reason| reason.map_or(RunFailure::Interrupted, |reason| RunFailure::Failed(vec![reason])))
    }

    fn run(&mut self, point: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        let request = self.request(point, profile);
        // They were prepared, and points may overwrite them.
        let choices = Choices { reuse: Reuse::WrittenOver, ..within_series(&request) };
        let findings = check_profile(profile, &request.profile, &self.system);
        let warnings = request.warnings.iter().cloned().chain(findings.warnings).collect();
        let mut measurement = Measurement::new(&request, String::new(), self.system.clone()).warned(warnings);
        let plan = measurement.plan(&choices).map_err(|refusals| failed(&refusals))?;
        let (result, errors) =
            measurement.carry_out(&plan, &Events::default(), self.signals, self.observer(), LiveSinks::default(), None);
        if !errors.is_empty() {
            return Err(RunFailure::Failed(errors));
        }
        // The partial result of an interrupted run is not a point.
        let is_complete = result.time_spans.iter().all(|span_result| span_result.outcome == Ending::Completed);
        if is_complete { Ok(result) } else { Err(RunFailure::Interrupted) }
    }
}

impl SeriesRunner for MachineRunner<'_> {
    fn load_line(&self, point: usize, profile: &Profile, is_rate_searched: bool) -> String {
        let request = self.request(point, profile);
        let mut measurement = Measurement::new(&request, String::new(), self.system.clone());
        let plan = measurement.plan(&choices(&request)).ok();
        report::words::load_line::of_lines(measurement.load_lines(plan.as_ref(), is_rate_searched))
    }

    fn check(&mut self, point: usize, profile: &Profile) -> Result<BTreeMap<PathBuf, u64>, ProfileRefusal> {
        let request = self.request(point, profile);
        let mut errors = check_profile(profile, &request.profile, &self.system).errors;
        errors.extend(unmeasured(&request));
        if !errors.is_empty() {
            return Err(ProfileRefusal { status: Status::Refused, reasons: errors });
        }
        let plan = self.plan(&request, &choices(&request))?;
        Ok(plan.creations().map(|creation| (creation.path.clone(), creation.size_bytes)).collect())
    }

    fn precondition(&mut self, point: usize, profile: &Profile) -> Result<(Profile, u64), ProfileRefusal> {
        let request = self.request(point, profile);
        let plan = self.plan(&request, &choices(&request))?;
        let (written, bytes) = plan::precondition(profile, &plan);
        self.check(point, &written)?;
        Ok((written, bytes))
    }

    fn protected(&self, profile: &Profile) -> Vec<Protected> {
        protected(&profile.clone().with_log_files())
    }

    fn delete_targets(&mut self, point: usize, profile: &Profile) {
        let request = self.request(point, profile);
        let choices = Choices { reuse: Reuse::WrittenOver, delete_after: true, ..choices(&request) };
        match self.plan(&request, &choices) {
            Ok(plan) => {
                let mut observer = self.observer();
                run::delete_targets(&plan, &mut observer);
                observer.finish();
            }
            Err(refusals) => {
                let reasons = sentences(&refusals).join("; ");
                say(&format!("WARNING: the targets were not deleted (--delete-after): {reasons}"));
            }
        }
    }

    fn is_device(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
    }
}

/// Permissions of a run within a series: its targets are deleted after the last run.
fn within_series(request: &RunRequest) -> Choices {
    Choices { delete_after: false, ..choices(request) }
}

fn failed(refusals: &[Refusal]) -> RunFailure {
    RunFailure::Failed(sentences(refusals))
}

/// The reasons why a profile cannot be run, as sentences.
pub(crate) fn sentences(refusals: &[Refusal]) -> Vec<String> {
    refusals.iter().map(Refusal::to_string).collect()
}
