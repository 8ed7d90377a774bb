//! Checks of a request before anything is planned: its profile, its outputs, its permissions.

use crate::feature::Feature;
use crate::live::CheckedStream;
use crate::output::{can_draw, say};
use crate::outputs::{Destinations, Protected};
use crate::same_file;
use crate::trace_of_run;
use cli::{RunOptions, RunRequest};
use host::Root;
use model::facts::SystemFacts;
use model::live::StreamTarget;
use model::profile::{Profile, ResultFormat};
use model::validate::{Findings, Purpose, validate};
use plan::{Choices, Reuse, SharedFiles};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Environment variable for scripts that cannot be changed: equivalent to `--overwrite`.
const OVERWRITE_VARIABLE: &str = "DISKSPD_OVERWRITE";

/// Destination of the live stream; the errors name everything wrong with the live outputs.
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

/// The reason why a run cannot be shown in full-screen mode.
fn no_screen() -> Option<String> {
    let missing = Feature::Screens.missing().map(|reason| format!("--live: {reason}"));
    let needs_terminal = || "--live needs stderr to be a terminal; programs should use --live-json".to_owned();
    missing.or_else(|| (!can_draw(&std::io::stderr())).then(needs_terminal))
}

/// The request with a target for each file that a thread appends to (`--append`), as it is run and reported.
pub(crate) fn with_log_files(request: &RunRequest) -> RunRequest {
    RunRequest { profile: request.profile.clone().with_log_files(), ..request.clone() }
}

/// Refusals of devices and directories that threads are to append to: names of log files are derived from the name of a
/// file.
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

/// Errors of a profile as typed, and of its log files, on this machine.
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

/// Destination of the live stream: must not be anything that this run reads or writes, results included.
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

/// The files that a run writes its results, its live stream and its trace to.
pub(crate) fn outputs_of(options: &RunOptions) -> impl Iterator<Item = Protected> {
    let trace = options.trace.iter();
    results_and_stream(options).chain(trace.map(|path| Protected { path: path.clone(), role: "the trace of this run" }))
}

/// The files that a run writes its results and its live stream to.
pub(crate) fn results_and_stream(options: &RunOptions) -> impl Iterator<Item = Protected> {
    let stream = match &options.live.stream {
        Some(StreamTarget::File(path)) => Some(Protected { path: path.clone(), role: "the live stream of this run" }),
        _ => None,
    };
    results_of(options).chain(stream)
}

/// All errors about result files, including one that would overwrite `path`, from which this run is read.
pub(crate) fn check_outputs(options: &RunOptions, path: &Path, role: &'static str) -> Result<(), Vec<String>> {
    if options.plan_only {
        return Ok(());
    }
    let source = [Protected { path: path.to_owned(), role }];
    let files = Destinations::check(&options.outputs, ResultFormat::Text, options.replace_output, &source);
    let mut errors = files.err().unwrap_or_default();
    errors.extend(stream(options, &source).err());
    errors.extend(trace_of_run::check(options, &source).err());
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The files that a profile reads or writes, directly or through a loop device.
pub(crate) fn protected(profile: &Profile) -> Vec<Protected> {
    let (mut protected, machine) = (Vec::new(), Root::machine());
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        protected.push(Protected { path: target.path.clone(), role: "a target of this run" });
        // An empty one would be treated as free.
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

/// With `-v`: reports that the environment permits overwriting although no option does.
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
