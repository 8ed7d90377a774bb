//! The agent's work on this machine for a controller: plan a load, prepare it, run it.

use crate::console_observer::{ConsoleObserver, LoadProgress};
use crate::interrupt::Signals;
use crate::live::LiveSinks;
use crate::machine_runner::sentences;
use crate::measure::Measurement;
use crate::outputs::document;
use crate::request_checks::check_profile;
use ::fleet::{Finished, Load, LoadHost, Planned, Prepared, StartGate};
use cli::{Form, RunOptions, RunRequest};
use host::Root;
use model::plan::Plan;
use model::profile::{Profile, Target};
use model::units::Bytes;
use plan::{Choices, Reuse, SharedFiles, SharedStage};
use run::event::{AgreedStart, Events, StopSources};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use sys::confinement::Confinement;
use sys::file_identity::FileState;
use sys::folder::Folder;

/// Key among the facts of a plan: the files that it creates, with their sizes.
pub(super) const CREATED: &str = "created";

/// The shortest interval at which a controller may request counts: that of a run on this machine.
const LIVE_MS_MIN: u32 = 100;
const NS_PER_MS: u64 = 1_000_000;

/// Maximum time until a file created by another host is visible here.
const SEEN_WITHIN: Duration = Duration::from_mins(1);

/// Interval at which an agent's stop request is passed on to a run.
const PASS_ON: Duration = Duration::from_millis(20);

/// Limits of a load.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// IDs of block devices that may be written to.
    pub(super) destroy: Vec<String>,
    /// The largest file that may be created, in bytes.
    pub(super) file_bytes: u64,
    /// Maximum number of threads.
    pub(super) threads: u32,
    /// Maximum memory that a plan may need; `None` = the limit of every run.
    pub(super) memory_bytes: Option<u64>,
}

/// Options from the controller beside the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// Command line as reports show it.
    pub(super) command_line: String,
    /// `--label`
    pub(super) labels: Vec<(String, String)>,
    /// `--recreate`
    pub(super) recreate: bool,
    /// `--delete-after`
    pub(super) delete_after: bool,
    /// Interval at which the controller shows counts; `None` = never.
    pub(super) live_interval_ms: Option<u32>,
    /// Files created by diskspd are valid although an earlier run of the same series wrote to them.
    pub(super) reuses_written: bool,
    /// `--shared`: files that all hosts create or write to under one path.
    pub(super) shared: BTreeSet<PathBuf>,
}

impl Options {
    /// The options of a request whose files no run has used yet.
    pub(super) fn new(command_line: String, request: &RunRequest) -> Self {
        let RunOptions { labels, recreate, delete_after, live, .. } = &request.options;
        let (recreate, delete_after) = (*recreate, *delete_after);
        let live_interval_ms = live.asked().next().map(|_| live.interval_ms);
        Self {
            command_line,
            labels: labels.clone(),
            recreate,
            delete_after,
            live_interval_ms,
            reuses_written: false,
            shared: BTreeSet::new(),
        }
    }

    fn reuse(&self) -> Reuse {
        match (self.reuses_written, self.recreate) {
            (true, _) => Reuse::WrittenOver,
            (false, true) => Reuse::Nothing,
            (false, false) => Reuse::AsMade,
        }
    }
}

/// This machine.
pub(super) struct ThisHost {
    confinement: &'static Confinement,
    limits: Limits,
    /// Files created by preparations, by path.
    made: Mutex<BTreeMap<String, FileState>>,
    /// Files that the last preparation marked for all hosts of a run, with the ID of the run.
    marked: Mutex<Vec<(PathBuf, String)>>,
}

/// A parsed load.
struct ParsedLoad {
    request: RunRequest,
    options: Options,
}

impl ThisHost {
    /// For targets within the confinement, which must be that of this process.
    pub(super) fn new(confinement: &'static Confinement, limits: Limits) -> Self {
        Self { confinement, limits, made: Mutex::default(), marked: Mutex::default() }
    }

    /// Marks a file for all hosts, or checks that the first host did.
    fn share(&self, file: &SharedUse, load: &Load) -> Result<(), String> {
        let SharedUse { path, is_written } = file;
        if load.index > 0 {
            return run::shared_files::check(path, &load.run, *is_written);
        }
        self.marked.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), load.run.clone()));
        run::shared_files::mark_shared(path, &load.run, *is_written)
    }

    fn understand(&self, load: &Load) -> Result<ParsedLoad, Vec<String>> {
        let one = |reason: String| vec![reason];
        let text = load.profile.as_str().ok_or_else(|| one("the load has no profile".to_owned()))?;
        let profile = cli::read_profile(text.as_bytes(), "the profile of the load")
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let options: Options = serde_json::from_value(load.options.clone())
            .map_err(|error| one(format!("the options of the load are not valid: {error}")))?;
        let run_options = RunOptions {
            recreate: options.recreate,
            delete_after: options.delete_after,
            destroy: self.limits.destroy.clone(),
            labels: options.labels.clone(),
            ..RunOptions::default()
        };
        if !options.shared.is_empty() && options.delete_after {
            return Err(one("files that hosts share are not deleted after the load".to_owned()));
        }
        let request =
            RunRequest { profile, events: cli::Events::default(), options: run_options, warnings: Vec::new() };
        Ok(ParsedLoad { request, options })
    }

    /// Errors for everything that this agent does not permit.
    fn forbidden(&self, profile: &Profile) -> Vec<String> {
        let mut reasons: Vec<String> = super::not_for_many(profile).map(str::to_owned).collect();
        if profile.time_spans.len() != 1 {
            reasons.push("the load of an order has exactly one timespan".to_owned());
        }
        for span in &profile.time_spans {
            let all = match span.thread_count {
                0 => span.targets.iter().map(|target| u64::from(target.threads)).sum(),
                count => u64::from(count),
            };
            if all > u64::from(self.limits.threads) {
                reasons.push(format!("{all} threads; this agent allows {} (--max-threads)", self.limits.threads));
            }
            for target in &span.targets {
                reasons.extend(self.not_allowed(target));
            }
        }
        reasons
    }

    fn not_allowed(&self, target: &Target) -> Option<String> {
        let about = |path: &Path, reason: &dyn std::fmt::Display| format!("'{}': {reason}", path.display());
        if let Some(file) = target.write_source.as_ref().and_then(|source| source.file.as_ref())
            && let Err(reason) = self.confinement.place(file)
        {
            return Some(about(file, &reason));
        }
        if let Err(error) = self.confinement.place(&target.path) {
            return Some(about(&target.path, &error));
        }
        let size = target.create_size.filter(|size| size.0 > self.limits.file_bytes)?;
        let most = Bytes(self.limits.file_bytes);
        Some(about(&target.path, &format!("{size}; this agent creates files of up to {most} (--max-file)")))
    }

    fn choices(&self, understood: &ParsedLoad, run: &str, stage: SharedStage) -> Choices {
        Choices {
            overwrite: false,
            reuse: understood.options.reuse(),
            delete_after: understood.options.delete_after,
            destroy: self.limits.destroy.clone(),
            shared: SharedFiles { paths: understood.options.shared.clone(), run: run.to_owned(), stage },
            // A confined process creates no directories.
            strict: false,
        }
    }
}

/// A plan of a load, and the facts for which it was made.
fn planned<'a>(
    understood: &'a ParsedLoad,
    choices: &Choices,
    host: &ThisHost,
) -> Result<(Measurement<'a>, Plan), Vec<String>> {
    let request = &understood.request;
    let forbidden = host.forbidden(&request.profile);
    if !forbidden.is_empty() {
        return Err(forbidden);
    }
    let system = host::system(&Root::machine());
    let findings = check_profile(&request.profile, &request.profile, &system);
    if !findings.errors.is_empty() {
        return Err(findings.errors);
    }
    let too_large = plan::check_size(&request.profile, &system);
    if !too_large.is_empty() {
        return Err(sentences(&too_large));
    }
    let command_line = understood.options.command_line.clone();
    let mut measurement = Measurement::new(request, command_line, system).warned(findings.warnings);
    let plan = measurement.plan(choices).map_err(|refusals| sentences(&refusals))?;
    let need = plan.time_spans.iter().map(|span| span.memory.total()).max().unwrap_or(0);
    match host.limits.memory_bytes {
        Some(most) if need > most => Err(vec![format!(
            "the load needs up to {} of memory; this agent allows {} (--max-memory)",
            Bytes(need),
            Bytes(most)
        )]),
        _ => Ok((measurement, plan)),
    }
}

/// A file used by all hosts.
struct SharedUse {
    path: PathBuf,
    /// True if the load writes to it.
    is_written: bool,
}

impl SharedUse {
    fn all(understood: &ParsedLoad) -> Vec<Self> {
        let targets = || understood.request.profile.time_spans.iter().flat_map(|span| &span.targets);
        let is_written = |path: &Path| targets().any(|target| target.path == path && target.writes());
        let of_path = |path: &PathBuf| Self { path: path.clone(), is_written: is_written(path) };
        understood
            .options
            .shared
            .iter()
            .filter(|path| targets().any(|target| target.path == **path))
            .map(of_path)
            .collect()
    }
}

/// Waits until the files created by the first host are visible here: clients of network file systems cache for some
/// time that a file was missing.
fn wait_for_files(shared: &[SharedUse], stop: &AtomicBool) {
    let until = Instant::now() + SEEN_WITHIN;
    let is_missing = |file: &SharedUse| {
        let folder = file.path.parent().and_then(|folder| Folder::open(folder).ok());
        // Listing a directory makes a client query its server.
        folder.is_some_and(|folder| {
            let _ = folder.names(sys::new_file::PRIVATE_PREFIX);
            file.path.file_name().is_some_and(|name| matches!(folder.find(name), Ok(None)))
        })
    };
    while shared.iter().any(is_missing) && !stop.load(Relaxed) && Instant::now() < until {
        thread::sleep(PASS_ON * 10);
    }
}

/// The file at a path, and its directory.
fn found_at(path: &Path) -> Option<(Folder, FileState)> {
    let folder = Folder::open(path.parent()?).ok()?;
    let found = folder.find(path.file_name()?).ok()??;
    Some((folder, found))
}

impl LoadHost for ThisHost {
    fn plan(&self, load: &Load) -> Result<Planned, Vec<String>> {
        let understood = self.understand(load)?;
        let stage = if load.index == 0 { SharedStage::Creates } else { SharedStage::Waits };
        let (measurement, plan) = planned(&understood, &self.choices(&understood, &load.run, stage), self)?;
        let mut text = Vec::new();
        let explained = plan::explain(&plan, &measurement.facts, &mut text);
        explained.map_err(|error| vec![format!("the plan cannot be shown: {error}")])?;
        let system = &measurement.facts.system;
        let created = plan.creations().map(|creation| (creation.path.to_string_lossy(), creation.size_bytes));
        let facts = serde_json::json!({
            "cpus": system.topology.cpus.len(),
            "kernel": system.kernel_release,
            CREATED: created.collect::<Vec<_>>(),
        });
        Ok(Planned { facts, text: String::from_utf8_lossy(&text).into_owned() })
    }

    fn prepare(&self, load: &Load, stop: &AtomicBool) -> Result<Prepared, Vec<String>> {
        let understood = self.understand(load)?;
        let is_first = load.index == 0;
        let stage = if is_first { SharedStage::Creates } else { SharedStage::Uses };
        let shared = SharedUse::all(&understood);
        self.marked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if !is_first {
            wait_for_files(&shared, stop);
            if stop.load(Relaxed) {
                return Err(Vec::new());
            }
        }
        let (_, plan) = planned(&understood, &self.choices(&understood, &load.run, stage), self)?;
        let new = plan.creations().filter(|creation| creation.replaces.is_none());
        let created: Vec<String> = new.map(|creation| creation.path.to_string_lossy().into_owned()).collect();
        let (no, events) = (AtomicBool::new(false), Events::default());
        let sources = StopSources { interrupt: stop, status_asked: &no, events: &events, agreed_start: None };
        let mut observer = ConsoleObserver::of_part(load.run.clone());
        let prepared = run::prepare(&plan, &Root::machine(), sources, &mut observer);
        observer.finish();
        let made = created.iter().filter_map(|path| Some((path.clone(), found_at(Path::new(path))?.1)));
        self.made.lock().unwrap_or_else(PoisonError::into_inner).extend(made);
        let files = Prepared { created };
        let prepared = prepared.and_then(|()| shared.iter().try_for_each(|file| self.share(file, load)).map_err(Some));
        prepared.map(|()| files.clone()).map_err(|reason| {
            self.undo(&files);
            reason.into_iter().collect()
        })
    }

    fn undo(&self, prepared: &Prepared) {
        for (path, run) in self.marked.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            run::shared_files::unmark_shared(&path, &run);
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &prepared.created {
            let Some(state) = made.remove(path) else { continue };
            let path = Path::new(path);
            // A file that has taken its name since is not ours.
            if let (Some((folder, _)), Some(name)) = (found_at(path), path.file_name()) {
                let _ = folder.remove(name, &state);
            }
        }
    }

    fn settle(&self, load: &Load) -> Result<(), Vec<String>> {
        let understood = self.understand(load)?;
        let shared = SharedUse::all(&understood);
        let (written, read): (Vec<_>, Vec<_>) = shared.iter().partition(|file| file.is_written);
        for file in read {
            run::shared_files::unmark_shared(&file.path, &load.run);
        }
        let errors: Vec<String> =
            written.iter().filter_map(|file| run::shared_files::settle(&file.path, &load.run).err()).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn run(
        &self,
        load: &Load,
        prepared: &Prepared,
        gate: &StartGate,
        stop: &AtomicBool,
    ) -> Result<Finished, Vec<String>> {
        let understood = self.understand(load)?;
        let mut choices = self.choices(&understood, &load.run, SharedStage::Uses);
        if choices.reuse == Reuse::Nothing {
            // The prepared files are used.
            choices.reuse = Reuse::AsMade;
        }
        let (measurement, plan) = planned(&understood, &choices, self)?;
        let is_agreed = || gate.enter();
        let agreed = AgreedStart { start_ns: gate.start_at_ns(), is_agreed: &is_agreed };
        let signals = Signals::default();
        let interrupt = Arc::clone(&signals.interrupted);
        let counts_every_ns = understood.options.live_interval_ms.map(|ms| u64::from(ms.max(LIVE_MS_MIN)) * NS_PER_MS);
        let progress = Arc::new(LoadProgress { counts_every_ns, ..LoadProgress::default() });
        let over = AtomicBool::new(false);
        let report = || {
            gate.report(progress.ios.load(Relaxed), progress.bytes.load(Relaxed));
            let counts = progress.counts.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(document) = counts.and_then(|counts| serde_json::to_value(stats::live::summed(&counts)).ok()) {
                gate.report_live(document);
            }
        };
        let (result, errors) = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    if stop.load(Relaxed) {
                        interrupt.store(true, Relaxed);
                    }
                    report();
                    thread::sleep(PASS_ON);
                }
                report();
            });
            let observer = ConsoleObserver::of_part(load.run.clone()).counting(Arc::clone(&progress));
            let mut measurement = measurement.starting(agreed);
            let outcome =
                measurement.carry_out(&plan, &Events::default(), &signals, observer, LiveSinks::default(), None);
            over.store(true, Relaxed);
            outcome
        });
        if !gate.has_entered() {
            return Err(errors);
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|path, _| !prepared.created.contains(path));
        let timing = result.time_spans.first().and_then(|span| span.timing).unwrap_or_default();
        let document =
            document(Form::Json, &result).map_err(|error| vec![format!("the result cannot be sent: {error}")])?;
        let result = String::from_utf8_lossy(&document).into_owned();
        Ok(Finished { result, timing })
    }
}
