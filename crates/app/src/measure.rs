//! One run on this machine: facts, plan, run, summary.

use crate::console_observer::ConsoleObserver;
use crate::interrupt::Signals;
use crate::kernel_sampler::KernelSampler;
use crate::live::{self, LiveSinks, LiveView, Naming};
use cli::RunRequest;
use host::Root;
use model::block_device::BlockDevice;
use model::environment::TargetEnvironment;
use model::facts::{DiskFacts, Facts, FileIdentity, SystemFacts, TargetKind};
use model::note::Note;
use model::plan::Plan;
use model::record::{Outcome, Record};
use model::result::{RunResult, Tool};
use plan::{Choices, Refusal};
use run::event::{Events, StopSources, UsersOfFiles};
use stats::Input;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use sys::cpu_latency::LatencyHold;

/// A request and what the machine is like.
pub(crate) struct Measurement<'a> {
    pub(crate) request: &'a RunRequest,
    /// As reports show it.
    command_line: String,
    machine: Root,
    pub(crate) facts: Facts,
    /// What was warned of.
    warnings: Vec<String>,
    /// See [`environments`](Self::environments).
    environments: OnceCell<BTreeMap<PathBuf, TargetEnvironment>>,
}

impl<'a> Measurement<'a> {
    /// Nothing but the machine is known yet.
    pub(crate) fn new(request: &'a RunRequest, command_line: String, system: SystemFacts) -> Self {
        Self {
            request,
            command_line,
            machine: Root::machine(),
            facts: Facts { system, ..Facts::default() },
            warnings: Vec::new(),
            environments: OnceCell::new(),
        }
    }

    /// With what was warned of.
    pub(crate) fn warned(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Looks at the targets and decides everything.
    ///
    /// # Errors
    ///
    /// Why it cannot be run.
    pub(crate) fn plan(&mut self, choices: &Choices) -> Result<Plan, Vec<Refusal>> {
        self.facts.targets = host::targets(&self.machine, &plan::questions(&self.request.profile));
        self.facts.disks = disks(self.environments());
        plan::plan(&self.request.profile, &self.facts, choices)
    }

    /// Runs the plan. The errors of its timespans are in the result and, one by one, beside it.
    pub(crate) fn carry_out(
        &mut self,
        plan: &Plan,
        events: &Events,
        signals: &Signals,
        observer: ConsoleObserver,
        sinks: LiveSinks,
    ) -> (RunResult, Vec<String>) {
        self.sample_devices(plan);
        let environments = self.environments();
        let profile = &self.request.profile;
        let devices = devices(environments);
        let naming = Naming {
            tool: &Tool::default(),
            command_line: &self.command_line,
            labels: &self.request.options.labels,
            profile,
            devices: devices.clone(),
            interrupt: &signals.interrupted,
        };
        let view = LiveView::begin(observer, plan, sinks, &naming);
        let mut observer = KernelSampler::new(view, &self.machine, plan, profile.tracing, environments, devices);
        let hold = self.request.options.hold_latency.then(LatencyHold::acquire);
        let record = run::run(plan, stop_sources(signals, events), &mut observer);
        let stream = observer.inner.finish();
        let mut errors = Vec::new();
        for time_span in &record.time_spans {
            if let Outcome::Failed { errors: reasons } = &time_span.outcome {
                errors.extend(reasons.iter().cloned());
            }
        }
        let mut result = RunResult { target_environments: environments.clone(), ..self.summarise(plan, &record) };
        observer.tell(&record, &mut result);
        result.notes.extend(hold.as_ref().map(latency_note));
        result.notes.extend(stream.as_ref().and_then(live::dropped));
        stats::verdict::judge(&mut result);
        if let Some(stated) = &self.request.options.expect {
            stats::expect::judge(&mut result, stated);
        }
        if let Some(stream) = stream {
            live::end(stream, &result);
        }
        (result, errors)
    }

    /// Looks whether devices hold data where they will be read.
    fn sample_devices(&mut self, plan: &Plan) {
        for span in &plan.time_spans {
            let work = span.target_work();
            for (index, target) in span.targets.iter().enumerate() {
                let facts = self.facts.targets.get_mut(&target.path).map(|facts| &mut facts.kind);
                let Some(TargetKind::Block(facts)) = facts else { continue };
                let is_read = work.reads(index) && !work.is_null(index);
                let Some(used) = work.used_bytes(index).filter(|_| is_read) else { continue };
                if !facts.zeros.iter().any(|known| known.range_bytes() == used) {
                    facts.zeros.extend(host::sampled_zeros(&target.path, &used));
                }
            }
        }
    }

    /// What the targets stand on, looked for once; the targets' facts come first.
    fn environments(&self) -> &BTreeMap<PathBuf, TargetEnvironment> {
        self.environments.get_or_init(|| {
            let paths: Vec<PathBuf> = self.facts.targets.keys().cloned().collect();
            host::target_environment(&self.machine, &paths)
        })
    }

    /// The result, with everything that is known beside the figures.
    pub(crate) fn summarise(&self, plan: &Plan, record: &Record) -> RunResult {
        let (profile, system) = (&self.request.profile, &self.facts.system);
        let command_line = self.command_line.clone();
        let result = stats::summarise(&Input { command_line, profile, system, plan, record });
        RunResult {
            labels: self.request.options.labels.clone(),
            preset: self.request.options.preset.as_deref().cloned(),
            environment: Some(host::environment(&self.machine)),
            targets: self.facts.targets.clone(),
            warnings: self.warnings.clone(),
            ..result
        }
    }
}

/// What became of `--hold-latency`.
fn latency_note(hold: &io::Result<LatencyHold>) -> Note {
    match hold {
        Ok(_) => Note::CpuLatencyHeld,
        Err(error) => Note::CpuLatencyNotHeld { reason: format!("{}: {error}", sys::cpu_latency::DOOR) },
    }
}

/// What a run heeds.
pub(crate) fn stop_sources<'a>(signals: &'a Signals, events: &'a Events) -> StopSources<'a> {
    StopSources { interrupt: &signals.interrupted, status_asked: &signals.status_asked, events, users_of_files }
}

fn users_of_files(files: &[(PathBuf, FileIdentity)]) -> UsersOfFiles {
    host::users_of_files(&Root::machine(), files)
}

/// The devices that the targets stand on, and those below, by the kernel's names.
fn devices(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeSet<String> {
    let devices = environments.values().flat_map(TargetEnvironment::devices).flat_map(|device| device.walk());
    devices.map(|device| device.name.clone()).collect()
}

/// What planning wants to know about the disks below each target.
fn disks(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeMap<PathBuf, Vec<DiskFacts>> {
    let facts = |disk: &BlockDevice| DiskFacts {
        name: disk.name.clone(),
        numa_node: disk.connection.numa_node,
        interrupt_cpus: disk.queue.interrupt_cpus.clone(),
    };
    let of = |environment: &TargetEnvironment| environment.disks().into_iter().map(facts).collect();
    environments.iter().map(|(path, environment)| (path.clone(), of(environment))).collect()
}
