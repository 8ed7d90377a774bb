//! One run on this machine: facts, plan, run, summary.

use crate::console_observer::ConsoleObserver;
use crate::foreign_file;
use crate::interrupt::Signals;
use crate::live::{self, LiveSinks, LiveView, RunDescription};
use crate::trace_reading::TraceReading;
use cli::RunRequest;
use host::Root;
use model::block_device::BlockDevice;
use model::by_path::ByPath;
use model::cache_probe::CacheProbe;
use model::environment::{TargetEnvironment, device_names};
use model::facts::{DiskFacts, Facts, SystemFacts, TargetKind};
use model::note::Note;
use model::placement::Placement;
use model::plan::{Plan, Preparation, TargetPlan};
use model::profile::Target;
use model::record::{Outcome, Record};
use model::result::{RunResult, Tool};
use model::targets_found::TargetsFound;
use model::tier::{TargetMedia, TierMismatch};
use plan::{Choices, Refusal, RefusalKind, SharedFiles, SharedStage};
use report::words::load_line::{KnownTargets, load_line};
use run::Machine;
use run::event::{AgreedStart, Events, StopSources};
use run::io_trace::IoRings;
use stats::{Input, RunContext};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of targets whose placement on the devices is looked up.
const PLACEMENTS_MAX: usize = 1000;

/// A request and the facts about the machine.
pub(crate) struct Measurement<'a> {
    pub(crate) request: &'a RunRequest,
    /// Command line as reports show it.
    command_line: String,
    machine: Root,
    pub(crate) facts: Facts,
    /// Warnings so far.
    warnings: Vec<String>,
    /// See [`probe_caches`](Self::probe_caches).
    cache_probes: BTreeMap<PathBuf, CacheProbe>,
    /// Start time of the load, if agreed with other hosts.
    agreed_start: Option<AgreedStart<'a>>,
    /// Where each I/O is put (`--trace`).
    pub(crate) trace: Option<Arc<IoRings>>,
    /// See [`environments`](Self::environments).
    environments: OnceCell<BTreeMap<PathBuf, TargetEnvironment>>,
}

impl<'a> Measurement<'a> {
    /// Only the machine is known at first.
    pub(crate) fn new(request: &'a RunRequest, command_line: String, system: SystemFacts) -> Self {
        Self {
            request,
            command_line,
            machine: Root::machine(),
            facts: Facts { system, ..Facts::default() },
            warnings: Vec::new(),
            cache_probes: BTreeMap::new(),
            agreed_start: None,
            trace: None,
            environments: OnceCell::new(),
        }
    }

    /// With these warnings.
    pub(crate) fn warned(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// With a start time agreed with other hosts.
    #[cfg(feature = "fleet")]
    pub(crate) fn starting(self, agreed: AgreedStart<'a>) -> Self {
        Self { agreed_start: Some(agreed), ..self }
    }

    /// Reads the facts about the targets and plans the run.
    ///
    /// # Errors
    ///
    /// The reasons why it cannot be run.
    pub(crate) fn plan(&mut self, choices: &Choices) -> Result<Plan, Vec<Refusal>> {
        let mut questions = plan::questions(&self.request.profile);
        let SharedFiles { paths, run, stage } = &choices.shared;
        for question in questions.iter_mut().filter(|question| paths.contains(&question.path)) {
            question.shared = true;
            question.shared_run = (*stage == SharedStage::Uses).then(|| run.clone());
        }
        self.facts.targets = host::targets(&self.machine, &questions);
        self.facts.disks = disks(self.environments());
        let plan = plan::plan(&self.request.profile, &self.facts, choices)
            .map_err(|refusals| foreign_file::refusals(&self.request.profile).unwrap_or(refusals))?;
        let misplaced = if choices.strict { self.misplaced(&plan) } else { Vec::new() };
        if misplaced.is_empty() { Ok(plan) } else { Err(misplaced) }
    }

    /// Refusals of targets known to be on other media than expected (`--expect-tier`), before anything is run.
    fn misplaced(&self, plan: &Plan) -> Vec<Refusal> {
        let spans = self.request.profile.time_spans.iter().zip(&plan.time_spans);
        let targets = spans.flat_map(|(span, plan)| span.targets.iter().zip(&plan.targets));
        let refusal = |(target, plan): (&Target, &TargetPlan)| {
            let tier = target.expected_tier?;
            let environment = self.environments().get(&target.path)?;
            // The bytes of a file that is created again will be placed elsewhere.
            let stays = matches!(plan.preparation, Preparation::Keep | Preparation::Reuse { .. });
            let placement = stays.then(|| host::placement(&self.machine, &target.path, environment)).flatten();
            let media = TargetMedia::new(Some(environment), placement.as_ref());
            let TierMismatch::Other(_) = media.misplaced(tier)? else { return None };
            let path = target.path.display();
            let message = format!(
                "'{path}' is not wholly on {tier} (--expect-tier, --strict): {}; use a path on {tier}",
                media.words(),
                tier = tier.word(),
            );
            Some(Refusal { kind: RefusalKind::Invalid, message })
        };
        let mut refusals: Vec<Refusal> = targets.filter_map(refusal).collect();
        refusals.dedup();
        refusals
    }

    /// Runs the plan. The errors of its timespans are in the result and also returned separately.
    pub(crate) fn carry_out(
        &mut self,
        plan: &Plan,
        events: &Events,
        signals: &Signals,
        observer: ConsoleObserver,
        sinks: LiveSinks,
        journal: Option<run::journal::Journal<'_>>,
    ) -> (RunResult, Vec<String>) {
        self.sample_devices(plan);
        let unprobed = self.probe_caches(plan);
        let environments = self.environments();
        let (profile, options) = (&self.request.profile, &self.request.options);
        let naming = RunDescription {
            tool: &Tool::default(),
            command_line: &self.command_line,
            labels: &options.labels,
            profile,
            plan: Some(plan),
            hosts: &[],
            loads: self.load_lines(Some(plan), false),
            devices: device_names(environments),
            interrupt: &signals.interrupted,
        };
        let mut errors = Vec::new();
        let reading = TraceReading::begin(profile, plan).unwrap_or_else(|error| {
            errors.push(error);
            None
        });
        let mut view = LiveView::begin(observer, plan, sinks, &naming);
        let machine = Machine {
            root: &self.machine,
            environments,
            counts_events: profile.tracing.is_some(),
            holds_latency: options.hold_latency,
            journal,
            feeds: reading.as_ref().map(|reading| &*reading.feeds).unwrap_or_default(),
            trace: self.trace.as_ref(),
        };
        let sources = StopSources { agreed_start: self.agreed_start, ..stop_sources(signals, events) };
        let mut record = run::run(plan, machine, sources, &mut view);
        let stream = view.finish();
        record.notes.extend(stream.as_ref().and_then(live::dropped));
        record.notes.extend(unprobed);
        if let Some((changes, span)) = reading.map(TraceReading::end).zip(record.time_spans.first_mut()) {
            span.replay = changes.map_err(|error| errors.push(error)).ok();
        }
        let lost = self.trace.as_ref().map_or(0, |rings| rings.lost());
        record.notes.extend((lost > 0).then_some(Note::TraceIncomplete { ios: lost }));
        for time_span in &record.time_spans {
            if let Outcome::Failed { errors: reasons } = &time_span.outcome {
                errors.extend(reasons.iter().cloned());
            }
        }
        let result = self.summarise(Some(plan), &record, Vec::new());
        if let Some(stream) = stream {
            live::end(stream, &result);
        }
        (result, errors)
    }

    /// The load of each timespan on a line, as far as it is known before the run; a search may set its rate.
    pub(crate) fn load_lines(&self, plan: Option<&Plan>, is_rate_searched: bool) -> Vec<String> {
        let spans = &self.request.profile.time_spans;
        let line = |(index, span)| {
            let known = KnownTargets {
                facts: ByPath::new(&self.facts.targets),
                environments: ByPath::new(self.environments()),
                plan: plan.and_then(|plan| plan.time_spans.get(index)),
                measured: None,
                is_windows: false,
                is_rate_searched,
            };
            load_line(span, &known)
        };
        spans.iter().enumerate().map(line).collect()
    }

    /// Checks whether devices hold data in the ranges that will be read.
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

    /// Probes for caches below the targets, if requested; returns notes on those where that is impossible.
    fn probe_caches(&mut self, plan: &Plan) -> Vec<Note> {
        let mut notes = Vec::new();
        for span in plan.time_spans.iter().filter(|_| self.request.options.probe_host_cache) {
            let work = span.target_work();
            for (index, target) in span.targets.iter().enumerate() {
                let path = &target.path;
                let Some(used) = work.used_bytes(index).filter(|_| work.reads(index) && !work.is_null(index)) else {
                    continue;
                };
                let probe = match target.preparation {
                    _ if self.cache_probes.contains_key(path) => continue,
                    Preparation::MadeBefore | Preparation::Create(_) => Err("this run creates it".to_owned()),
                    Preparation::Keep | Preparation::Reuse { .. } => host::cache_probe(path, &used),
                };
                match probe {
                    Ok(probe) => drop(self.cache_probes.insert(path.clone(), probe)),
                    Err(reason) => notes.push(Note::OptionWithoutEffect {
                        option: "--probe-host-cache".to_owned(),
                        reason: format!("'{}': {reason}", path.display()),
                    }),
                }
            }
        }
        notes
    }

    /// The environments of the targets, read once, after the facts about the targets.
    fn environments(&self) -> &BTreeMap<PathBuf, TargetEnvironment> {
        self.environments.get_or_init(|| {
            let paths: Vec<PathBuf> = self.facts.targets.keys().cloned().collect();
            host::target_environment(&self.machine, &paths)
        })
    }

    /// Current placement of the targets that are files.
    pub(crate) fn placements(&self) -> BTreeMap<PathBuf, Placement> {
        let environments = self.environments().iter().take(PLACEMENTS_MAX);
        let placed = environments
            .filter_map(|(path, environment)| Some((path.clone(), host::placement(&self.machine, path, environment)?)));
        placed.collect()
    }

    /// The result; `errors`: the reasons why nothing was run.
    pub(crate) fn summarise(&self, plan: Option<&Plan>, record: &Record, errors: Vec<String>) -> RunResult {
        let options = &self.request.options;
        let context = RunContext {
            command_line: self.command_line.clone(),
            labels: options.labels.clone(),
            preset: options.preset.as_deref().cloned(),
            environment: Some(host::environment(&self.machine)),
            targets: TargetsFound {
                facts: self.facts.targets.clone(),
                environments: plan.map(|_| self.environments().clone()).unwrap_or_default(),
                cache_probes: self.cache_probes.clone(),
                placements: if plan.is_some() { self.placements() } else { BTreeMap::new() },
            },
            warnings: self.warnings.clone(),
            errors,
        };
        let (profile, system) = (&self.request.profile, &self.facts.system);
        let result = stats::summarise(Input { context, profile, system, plan, record });
        let bands = options.judging_bands(result.time_spans.len());
        rules::judged(result, options.criteria.stated.as_ref(), &options.criteria.requirements, &bands)
    }
}

/// Sources that can stop a run.
pub(crate) fn stop_sources<'a>(signals: &'a Signals, events: &'a Events) -> StopSources<'a> {
    StopSources { interrupt: &signals.interrupted, status_asked: &signals.status_asked, events, agreed_start: None }
}

/// The facts about the disks below each target that planning needs.
fn disks(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeMap<PathBuf, Vec<DiskFacts>> {
    let facts = |disk: &BlockDevice| DiskFacts {
        name: disk.name.clone(),
        numa_node: disk.connection.numa_node,
        interrupt_cpus: disk.queue.interrupt_cpus.clone(),
    };
    let facts_of = |environment: &TargetEnvironment| environment.disks().into_iter().map(facts).collect();
    environments.iter().map(|(path, environment)| (path.clone(), facts_of(environment))).collect()
}
