//! Running a load: check everything, plan, run, report.

use crate::console_observer::ConsoleObserver;
use crate::feature::Feature;
use crate::fleet;
use crate::journal::{Journal, JournalFile};
use crate::kept_results::KeptResults;
use crate::live::{CheckedStream, LiveSinks};
use crate::measure::Measurement;
use crate::output::{can_draw, print, say, say_each};
use crate::outputs::{Destinations, Protected, has_figures, misdirected_report};
use crate::same_file;
use crate::status::{Status, fail, printed};
use crate::system_env::Invocation;
use crate::{events, interrupt};
use cli::{Outputs, RunOptions, RunRequest};
use host::Root;
use model::facts::SystemFacts;
use model::finding::{Severity, Source};
use model::live::StreamTarget;
use model::plan::Plan;
use model::profile::{Profile, ResultFormat};
use model::record::Record;
use model::result::{RunResult, TimeSpanResult};
use model::units::UnixTime;
use model::validate::{Findings, Purpose, validate};
use plan::{Choices, Refusal, RefusalKind, Reuse, SharedFiles};
use run::event::Events;
use std::io::IsTerminal as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// In the environment, for scripts that cannot be changed: as if `--overwrite` were typed.
const OVERWRITE_VARIABLE: &str = "DISKSPD_OVERWRITE";

/// Where a result goes.
pub(crate) struct Report {
    destinations: Destinations,
    kept: Option<KeptResults>,
}

/// A run and where its results go.
struct Job<'a> {
    measurement: Measurement<'a>,
    report: Report,
    stream: Option<CheckedStream>,
    journal: Option<Journal>,
}

/// What a request needs beside its targets, checked.
struct Checked {
    warnings: Vec<String>,
    report: Report,
    stream: Option<CheckedStream>,
    journal: Option<Journal>,
}

/// Runs what a command line asks for.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest) -> Status {
    if let Some(option) = &request.options.fleet {
        return fleet::run(invocation, request, option);
    }
    let system = host::system(&Root::machine());
    let typed = &request.profile;
    let request = &with_log_files(request);
    let Some(Checked { warnings, report, stream, journal }) = check(typed, request, &system) else {
        return Status::Refused;
    };
    let measurement = Measurement::new(request, invocation.command_line(), system).warned(warnings);
    let mut job = Job { measurement, report, stream, journal };
    let too_large = plan::check_size(&request.profile, &job.measurement.facts.system);
    if !too_large.is_empty() {
        return job.refused(&too_large);
    }
    // Before anything that takes time, so that others find them soon; not for a look at the plan.
    let events = if request.options.plan_only { Ok(Events::default()) } else { events::hold(&request.events) };
    let events = match events {
        Ok(events) => events,
        Err(reason) => return fail(&reason),
    };
    say_overwrite_of_environment(request);
    let plan = match job.measurement.plan(&choices(request)) {
        Ok(plan) => plan,
        Err(refusals) => return job.refused(&refusals),
    };
    if request.options.plan_only {
        let mut text = Vec::new();
        let result = plan::explain(&plan, &job.measurement.facts, &mut text);
        text.extend(render::placement::of_targets(&job.measurement.placements()).into_bytes());
        return printed(result.and_then(|()| print(&text)), Status::Done);
    }
    job.execute(&plan, &events)
}

/// Says everything that is wrong with the profile and with where its results shall go, and
/// everything the user should know. The request has its log files; `typed` is the profile without. `None` = it cannot be
/// run.
fn check(typed: &Profile, request: &RunRequest, system: &SystemFacts) -> Option<Checked> {
    let Findings { mut errors, warnings } = check_profile(typed, &request.profile, system);
    errors.extend(unmeasured(request));
    errors.extend(same_file::changed_source(request));
    // With --plan nothing is written.
    let protected = if request.options.plan_only { Vec::new() } else { protected(&request.profile) };
    errors.extend(misdirected_report(&protected));
    let report = Report::check(request, &protected).map_err(|reasons| errors.extend(reasons)).ok();
    let stream = live_outputs(&request.options, &protected).map_err(|reasons| errors.extend(reasons)).ok();
    let written: Vec<Protected> = protected.iter().cloned().chain(outputs_of(&request.options)).collect();
    let journal = Journal::check(request, &written).map_err(|reason| errors.push(reason)).ok().flatten();
    say_each("ERROR", &errors);
    let warnings: Vec<String> = request.warnings.iter().cloned().chain(warnings).collect();
    say_each("WARNING", &warnings);
    report.zip(stream).filter(|_| errors.is_empty()).map(|(report, stream)| Checked {
        warnings,
        report,
        stream,
        journal,
    })
}

/// Where the live stream shall go; all that is wrong with the live outputs.
pub(crate) fn live_outputs(
    options: &RunOptions,
    protected: &[Protected],
) -> Result<Option<CheckedStream>, Vec<String>> {
    let mut errors = Vec::new();
    let stream = stream(options, protected).map_err(|reason| errors.push(reason)).ok();
    if options.live.screen && !options.plan_only {
        errors.extend(no_screen());
    }
    stream.filter(|_| errors.is_empty()).ok_or(errors)
}

/// Why a run cannot be shown in full-screen mode.
fn no_screen() -> Option<String> {
    let missing = Feature::Screens.missing().map(|reason| format!("--live: {reason}"));
    let needs_terminal = || "--live needs stderr to be a terminal; programs should use --live-json".to_owned();
    missing.or_else(|| (!can_draw(&std::io::stderr())).then(needs_terminal))
}

/// A request with a target for each file that a thread appends to (`--append`): what is run, and reported.
pub(crate) fn with_log_files(request: &RunRequest) -> RunRequest {
    RunRequest { profile: request.profile.clone().with_log_files(), ..request.clone() }
}

/// Devices and directories that threads are to append to: the names of log files are made from that of a file.
fn no_names_of_logs(profile: &Profile) -> impl Iterator<Item = String> {
    let logs = profile.time_spans.iter().flat_map(|span| &span.targets).filter(|target| target.append.is_some());
    logs.filter_map(|target| {
        let path = target.path.display();
        if is_device(&target.path) {
            Some(format!("'{path}' is a device, and --append needs files: give a path on a file system"))
        } else if target.path.is_dir() || target.path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            Some(format!("'{path}' is a directory: give the name of a log file in it to --append"))
        } else {
            None
        }
    })
}

fn is_device(path: &Path) -> bool {
    let kind = std::fs::metadata(path).map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_block_device() || kind.is_char_device())
}

/// What is wrong with a profile as it was typed, and with its log files, on this machine.
pub(crate) fn check_profile(typed: &Profile, with_log_files: &Profile, system: &SystemFacts) -> Findings {
    let mut errors: Vec<String> = plan::check_affinity(typed, &system.topology);
    let findings = validate(typed, Purpose::Run);
    errors.extend(findings.errors);
    errors.extend(no_names_of_logs(typed));
    errors.extend(same_file::conflicts(with_log_files));
    Findings { errors, warnings: findings.warnings }
}

/// Requirements of metrics that a load of the profile cannot have.
pub(crate) fn unmeasured(request: &RunRequest) -> impl Iterator<Item = String> {
    request.options.criteria.requirements.iter().filter_map(|requirement| requirement.refusal(&request.profile))
}

/// Where the results shall go: nowhere that this run reads or writes.
fn destinations(request: &RunRequest, protected: &[Protected]) -> Result<Destinations, Vec<String>> {
    if request.options.plan_only {
        return Destinations::check(&Outputs::default(), request.profile.result_format, false, &[]);
    }
    let RunOptions { outputs, replace_output, .. } = &request.options;
    let format = request.profile.result_format;
    let destinations = Destinations::check(outputs, format, *replace_output, protected)?;
    Ok(match request.options.short_report {
        Some(form) => destinations.with(form, outputs),
        None => destinations,
    })
}

/// Where the live stream shall go: nowhere that this run reads or writes, results included.
fn stream(options: &RunOptions, protected: &[Protected]) -> Result<Option<CheckedStream>, String> {
    let Some(target) = options.live.stream.as_ref().filter(|_| !options.plan_only) else {
        return Ok(None);
    };
    let protected: Vec<Protected> = protected.iter().cloned().chain(results_of(options)).collect();
    CheckedStream::check(target, options.replace_output, &protected).map(Some)
}

fn results_of(options: &RunOptions) -> impl Iterator<Item = Protected> {
    options.outputs.files().map(|(_, path)| Protected { path: path.clone(), role: "a result file of this run" })
}

/// The files that a run writes its results and its live stream to.
pub(crate) fn outputs_of(options: &RunOptions) -> impl Iterator<Item = Protected> {
    let stream = match &options.live.stream {
        Some(StreamTarget::File(path)) => Some(Protected { path: path.clone(), role: "the live stream of this run" }),
        _ => None,
    };
    results_of(options).chain(stream)
}

/// All errors about result files, including one that would overwrite `path`, which this run is read from.
pub(crate) fn check_outputs(options: &RunOptions, path: &Path, role: &'static str) -> Result<(), Vec<String>> {
    if options.plan_only {
        return Ok(());
    }
    let source = [Protected { path: path.to_owned(), role }];
    let files = Destinations::check(&options.outputs, ResultFormat::Text, options.replace_output, &source);
    let mut errors = files.err().unwrap_or_default();
    errors.extend(stream(options, &source).err());
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The files that a profile reads or writes, themselves or through a loop device.
pub(crate) fn protected(profile: &Profile) -> Vec<Protected> {
    let (mut protected, machine) = (Vec::new(), Root::machine());
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        protected.push(Protected { path: target.path.clone(), role: "a target of this run" });
        // An empty one would be taken for free.
        if let Some(path) = host::loop_file(&machine, &target.path) {
            protected.push(Protected { path, role: "below a target of this run" });
        }
        if let Some(path) = target.write_source.as_ref().and_then(|source| source.file.clone()) {
            protected.push(Protected { path, role: "the file with write data (-Z)" });
        }
    }
    protected
}

/// True if the environment does the same as --overwrite.
pub(crate) fn overwrites_by_environment() -> bool {
    std::env::var_os(OVERWRITE_VARIABLE).is_some_and(|value| value == "1")
}

/// With `-v`: that the environment permits what no option does.
pub(crate) fn say_overwrite_of_environment(request: &RunRequest) {
    if overwrites_by_environment() && !request.options.overwrite && request.profile.verbose {
        say(&format!("{OVERWRITE_VARIABLE}=1: existing files may be overwritten, as with --overwrite"));
    }
}

/// Permissions of one request.
pub(crate) fn choices(request: &RunRequest) -> Choices {
    Choices {
        overwrite: request.options.overwrite || overwrites_by_environment(),
        reuse: if request.options.recreate { Reuse::Nothing } else { Reuse::AsMade },
        delete_after: request.options.delete_after,
        destroy: request.options.destroy.clone(),
        shared: SharedFiles::default(),
        strict: request.options.strict,
    }
}

/// What the findings of a result make of a run that succeeded: `--strict` and `--require` decide.
pub(crate) fn judged(result: &RunResult, options: &RunOptions) -> Status {
    let found = |source, severity| {
        let mut findings = result.time_spans.iter().flat_map(TimeSpanResult::findings);
        findings.any(|finding| (finding.source, finding.severity) == (source, severity))
    };
    let is_invalid = options.strict && found(Source::Verdict, Severity::Invalid);
    let is_corrupt = |span: &TimeSpanResult| span.verification.as_ref().is_some_and(|found| found.corrupt_units() > 0);
    match () {
        () if result.time_spans.iter().any(is_corrupt) => Status::Corrupt,
        () if is_invalid || found(Source::Requirement, Severity::Fail) => Status::No,
        () if found(Source::Requirement, Severity::Unknown) => Status::CannotTell,
        () => Status::Done,
    }
}

impl Job<'_> {
    /// Says why the run cannot be. One that this machine cannot do is reported like a run that
    /// failed, as scripts know it; one that is unsafe or wrong is not reported at all.
    fn refused(&self, refusals: &[Refusal]) -> Status {
        if refusals.iter().any(|refusal| refusal.kind == RefusalKind::Invalid) {
            say_each("ERROR", refusals);
            return Status::Refused;
        }
        let record = Record { started_at: UnixTime(sys::clock::realtime_ns()), ..Record::default() };
        let errors = refusals.iter().map(Refusal::to_string).collect();
        let result = self.measurement.summarise(None, &record, errors);
        self.report.write(&result, &result.errors, Status::Failed)
    }

    fn execute(&mut self, plan: &Plan, events: &Events) -> Status {
        let signals = match interrupt::watch_for_load() {
            Ok(signals) => signals,
            Err(status) => return status,
        };
        let request = self.measurement.request;
        let sinks = match LiveSinks::open(&request.options.live, self.stream.take()) {
            Ok(sinks) => sinks,
            Err(reason) => return fail(&reason),
        };
        let preset = request.options.preset.as_deref().cloned();
        let observer = ConsoleObserver::new(request.profile.verbose).of_preset(preset);
        let journal = self.journal.take().map(Journal::begin).transpose();
        let journal = match journal {
            Ok(journal) => journal,
            Err(reason) => return fail(&reason),
        };
        let file = journal.as_ref().map(JournalFile::of_run);
        let (result, mut errors) = self.measurement.carry_out(plan, events, &signals, observer, sinks, file);
        errors.extend(journal.and_then(|journal| journal.publish().err()));
        let judge = || judged(&result, &request.options);
        let status = match () {
            () if judge() == Status::Corrupt => Status::Corrupt,
            () if !errors.is_empty() => Status::Failed,
            () if !has_figures(&result) => signals.status_without_results().unwrap_or_else(judge),
            () => judge(),
        };
        self.report.write(&result, &errors, status)
    }
}

impl Report {
    /// Where the results of a request go; all that is wrong with it.
    pub(crate) fn check(request: &RunRequest, protected: &[Protected]) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let destinations = destinations(request, protected).map_err(|reasons| errors.extend(reasons)).ok();
        let kept = KeptResults::check(request).map_err(|reason| errors.push(reason)).ok().flatten();
        let report = destinations.map(|destinations| Self { destinations, kept });
        report.filter(|_| errors.is_empty()).ok_or(errors)
    }

    /// Reports a result and its errors. On a terminal errors come last, where they are seen. A run that was not begun has
    /// its errors, and no report but documents for programs.
    pub(crate) fn write(&self, result: &RunResult, errors: &[String], status: Status) -> Status {
        let is_terminal = std::io::stdout().is_terminal();
        if !is_terminal {
            say_each("ERROR", errors);
        }
        // The hosts of a result of several have plans of their own.
        let is_begun = result.plan.is_some() || has_figures(result);
        let written = self.destinations.write(result, is_begun);
        if status == Status::Failed && is_begun {
            say("Error generating I/O requests");
        }
        if is_terminal {
            say_each("ERROR", errors);
        }
        let written = written.and_then(|()| self.keep(result));
        written.map_or_else(|reason| fail(&reason), |()| status)
    }

    /// Keeps a result that has figures in the user's directory of results, if there is one.
    fn keep(&self, result: &RunResult) -> Result<(), String> {
        let Some(kept) = self.kept.as_ref().filter(|_| has_figures(result)) else { return Ok(()) };
        kept.keep(result).map(|path| say(&format!("result saved to '{}'", path.display())))
    }
}
