//! The hosts of `--on`: each receives its load, and all results are merged into one.

use super::host::Options;
use super::meeting::Meeting;
use super::paths::{alike, expanded, refusals};
use super::print_error;
use crate::interrupt::Signals;
use crate::output::say;
use crate::saved_results::result_in;
use crate::status::Status;
use ::fleet::{
    Controller, FleetError, FleetRun, HostInfo, HostOutcome, HostPlan, HostRun, Load, Progress, TimeLimits, name,
};
use cli::{FleetOption, RunRequest};
use model::profile::{Profile, ResultFormat, TimeSpan};
use model::result::RunResult;
use model::units::counted;
use model::version::IMPLEMENTATION_VERSION;
use stats::fleet::{HostOutcome as Sent, HostResult};
use std::path::Path;
use std::time::Duration;

/// The hosts that carry out loads together, and their controller.
pub(super) struct Hosts<'a> {
    // Dropped before the meeting through which it is connected.
    controller: Controller,
    found: Vec<HostInfo>,
    signals: &'a Signals,
    meeting: Meeting,
    /// `--shared`
    shared: bool,
}

impl<'a> Hosts<'a> {
    /// Connects to a server, an existing one or our own, and finds the hosts. Prints the error if that fails.
    pub(super) fn find(request: &RunRequest, option: &FleetOption, signals: &'a Signals) -> Result<Self, Status> {
        // After a signal the status is that of the signal, whatever else failed in the meantime.
        let ended = |status| crate::interrupt::status_without_results().unwrap_or(status);
        let meeting = Meeting::open(request, option, &signals.interrupted).map_err(ended)?;
        let connected = Controller::connect(&meeting.connection, IMPLEMENTATION_VERSION);
        let mut controller = connected.map_err(|error| ended(print_error(&error)))?;
        let found = controller.select(&option.hosts, Some(&meeting.key)).map_err(|error| ended(print_error(&error)))?;
        Ok(Self { controller, found, signals, meeting, shared: option.shared })
    }

    /// `1 host`, `8 hosts`
    pub(super) fn in_words(&self) -> String {
        counted(self.found.len(), "host")
    }

    /// The names of the hosts, by their numbers.
    pub(super) fn names(&self) -> Vec<String> {
        self.found.iter().map(|host| host.name.clone()).collect()
    }

    /// The plan of each host; nothing is touched.
    pub(super) fn plan(&mut self, profile: &Profile, options: &Options) -> Result<Vec<HostPlan>, FleetError> {
        let loads = self.loads(profile, options)?;
        self.controller.plan(loads, &self.meeting.key, &self.signals.interrupted)
    }

    /// Runs a load on all hosts at the same time.
    pub(super) fn run(
        &mut self,
        profile: &Profile,
        options: &Options,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FleetRun, FleetError> {
        let loads = self.loads(profile, options)?;
        self.controller.limit_times(time_limits(profile));
        self.controller.run(loads, &self.meeting.key, &self.signals.interrupted, progress)
    }

    /// The merged result of all hosts, not yet judged.
    pub(super) fn merged(&self, run: FleetRun) -> RunResult {
        for reason in &run.unsettled {
            say(&format!(
                "WARNING: files that the hosts share may stay marked as being written to ({reason}): remove them before the \
                 next load that writes to them"
            ));
        }
        let mut result = stats::fleet::merge(run.hosts.into_iter().map(sent).collect());
        for host in result.fleet.iter_mut().flat_map(|fleet| &mut fleet.hosts) {
            let found = self.found.iter().find(|found| found.name == host.name);
            host.boot_id = found.map(|found| found.boot_id.clone()).unwrap_or_default();
        }
        result
    }

    /// The load of each host.
    fn loads(&self, profile: &Profile, options: &Options) -> Result<Vec<Load>, FleetError> {
        let of_host = |(index, host): (usize, &HostInfo)| expanded(profile, &host.name, index);
        let profiles: Vec<Profile> = self.found.iter().enumerate().map(of_host).collect();
        let alike = alike(&profiles);
        if !self.shared && !alike.is_empty() {
            return Err(FleetError::Refused(refusals(&alike)));
        }
        let run = name::new_id()?;
        let options = Options { shared: alike, ..options.clone() };
        let is_shared = !options.shared.is_empty();
        let options = serde_json::to_value(options).map_err(|error| FleetError::Usage(error.to_string()))?;
        let load = |(index, (host, profile)): (usize, (&HostInfo, &Profile))| Load {
            run: run.clone(),
            host: host.name.clone(),
            index,
            hosts: self.found.len(),
            shared: is_shared,
            profile: cli::write_profile(profile, ResultFormat::Xml).into(),
            options: options.clone(),
        };
        Ok(self.found.iter().zip(&profiles).enumerate().map(load).collect())
    }
}

/// Time limits for the hosts: slow disks write 10 MiB/s, and data that a load leaves in memory has to be written after
/// it.
fn time_limits(profile: &Profile) -> TimeLimits {
    const CREATED_BYTES_PER_S: u64 = 10 << 20;
    let spans = &profile.time_spans;
    let created = spans.iter().flat_map(|span| &span.targets).filter_map(|target| target.create_size);
    let created_bytes = created.fold(0_u64, |sum, size| sum.saturating_add(size.0));
    let seconds =
        |span: &TimeSpan| u64::from(span.warm_up_s) + u64::from(span.duration_s) + u64::from(span.cool_down_s);
    TimeLimits {
        prepare: Duration::from_mins(10) + Duration::from_secs(created_bytes / CREATED_BYTES_PER_S),
        run: Duration::from_mins(30) + Duration::from_secs(spans.iter().map(seconds).sum()),
    }
}

pub(super) fn sent(host: HostRun) -> HostResult {
    let outcome = match host.outcome {
        HostOutcome::Finished(finished) => match result_in(Path::new(&host.name), finished.result.as_bytes()) {
            Ok(result) => Sent::Finished { result: Box::new(result), timing: finished.timing },
            Err(reason) => Sent::Failed(vec![format!("its result cannot be read: {reason}")]),
        },
        HostOutcome::Failed(reasons) => Sent::Failed(reasons),
        HostOutcome::Lost(reason) => Sent::Lost(reason),
    };
    HostResult { name: host.name, index: host.index, outcome, clock: host.clock }
}
