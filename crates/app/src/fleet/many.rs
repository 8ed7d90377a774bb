//! A load on several hosts: one for each, the course of the run, and one result of all.

use super::host::Options;
use super::{connection, not_for_many, told};
use crate::interrupt;
use crate::load::Report;
use crate::output::{print, say, say_each};
use crate::saved_results::result_in;
use crate::status::{Status, fail, printed};
use crate::system_env::Invocation;
use ::fleet::{Controller, FleetError, HostInfo, HostOutcome, HostPlan, HostRun, Load, Progress, SigningKey, name};
use cli::{FleetOption, RunRequest};
use model::profile::{Profile, ResultFormat, Target};
use model::result::{Ending, RunResult};
use model::validate::{Purpose, validate};
use model::version::IMPLEMENTATION_VERSION;
use stats::fleet::{HostOutcome as Sent, HostResult};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Stands for the name of a host in paths.
const HOST: &str = "{host}";
/// Stands for its number.
const INDEX: &str = "{index}";

/// Runs a load on the hosts of `--on`.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest, option: &FleetOption) -> Status {
    go(invocation, request, option).unwrap_or_else(|status| status)
}

fn go(invocation: &Invocation, request: &RunRequest, option: &FleetOption) -> Result<Status, Status> {
    let refused = |reasons: Vec<String>| {
        say_each("ERROR", &reasons);
        Status::Refused
    };
    let key = check(request, option).map_err(refused)?;
    say_each("WARNING", &request.warnings);
    let key = SigningKey::read(key).map_err(|error| told(&error))?;
    let report = Report::check(request, &[]).map_err(refused)?;
    let signals = interrupt::watch_for_load()?;
    let server = connection(&option.server, &option.access);
    let mut controller = Controller::connect(&server, IMPLEMENTATION_VERSION).map_err(|error| told(&error))?;
    let hosts = controller.select(&option.hosts, Some(&key)).map_err(|error| told(&error))?;
    let profiles: Vec<Profile> =
        hosts.iter().enumerate().map(|(index, host)| expanded(&request.profile, &host.name, index)).collect();
    let alike = alike(&profiles);
    if !alike.is_empty() {
        return Err(refused(alike));
    }
    let loads = loads(invocation, request, &hosts, &profiles)?;
    if request.options.plan_only {
        let plans = controller.plan(loads, &key, &signals.interrupted).map_err(|error| told(&error))?;
        return Ok(printed(print(shown(&plans).as_bytes()), Status::Done));
    }
    let run = match controller.run(loads, &key, &signals.interrupted, &mut show_progress) {
        Ok(run) => run,
        Err(FleetError::Stopped(sentences)) => {
            say_each("ERROR", &sentences);
            return Err(signals.status_without_results().unwrap_or(Status::Failed));
        }
        Err(error) => return Err(told(&error)),
    };
    let result = merged(invocation, request, run.hosts);
    let failures: Vec<String> = result.errors.clone();
    let status = match crate::load::judged(&result, &request.options) {
        Status::Corrupt => Status::Corrupt,
        _ if has_failed(&result) => Status::Failed,
        judged => judged,
    };
    Ok(report.write(&result, &failures, status))
}

/// The file with the key; or what a load on other hosts cannot have, and what it lacks.
fn check<'a>(request: &RunRequest, option: &'a FleetOption) -> Result<&'a Path, Vec<String>> {
    let (profile, options) = (&request.profile, &request.options);
    let mut errors: Vec<String> = validate(profile, Purpose::Run).errors;
    errors.extend(not_for_many(profile).map(str::to_owned));
    let lacks = |what: &str| format!("--{what} is missing");
    errors.extend(option.server.is_empty().then(|| lacks("on")));
    errors.extend(option.key.is_none().then(|| lacks("key")));
    let events = &request.events;
    let uses_events = [&events.wait_start, &events.stop, &events.on_started, &events.on_finished];
    let unusable = [
        (options.overwrite, "--overwrite"),
        (!options.destroy.is_empty(), "--destroy (agents have --allow-destroy)"),
        (options.hold_latency, "--hold-latency"),
        (options.probe_host_cache, "--probe-host-cache"),
        (options.journal.is_some(), "--journal"),
        (options.live.screen || options.live.stream.is_some() || options.live.metrics.is_some(), "live output"),
        (uses_events.iter().any(|event| event.is_some()), "an event (-ys, -yf, -yr, -yp)"),
        (options.preset.is_some(), "a preset"),
    ];
    let unusable = unusable.into_iter().filter(|(is_used, _)| *is_used);
    errors.extend(unusable.map(|(_, what)| format!("{what} cannot be used with --on")));
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        if !target.path.is_absolute() {
            errors.push(format!("'{}': with --on, paths of targets are absolute", target.path.display()));
        }
    }
    option.key.as_deref().filter(|_| errors.is_empty()).ok_or(errors)
}

/// The load of each host.
fn loads(
    invocation: &Invocation,
    request: &RunRequest,
    hosts: &[HostInfo],
    profiles: &[Profile],
) -> Result<Vec<Load>, Status> {
    let run = name::new_id().map_err(|error| told(&error))?;
    let options = Options {
        command_line: invocation.command_line(),
        labels: request.options.labels.clone(),
        recreate: request.options.recreate,
        delete_after: request.options.delete_after,
    };
    let options = serde_json::to_value(options).map_err(|error| fail(&error.to_string()))?;
    let load = |(index, (host, profile)): (usize, (&HostInfo, &Profile))| Load {
        run: run.clone(),
        host: host.name.clone(),
        index,
        hosts: hosts.len(),
        profile: cli::write_profile(profile, ResultFormat::Xml).into(),
        options: options.clone(),
    };
    Ok(hosts.iter().zip(profiles).enumerate().map(load).collect())
}

/// The profile of one host: paths with its name and number.
fn expanded(profile: &Profile, host: &str, index: usize) -> Profile {
    let expand = |path: &Path| match path.to_str() {
        Some(text) => PathBuf::from(text.replace(HOST, host).replace(INDEX, &index.to_string())),
        None => path.to_owned(),
    };
    let mut profile = profile.clone();
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.path = expand(&target.path);
        if let Some(file) = target.write_source.as_mut().and_then(|source| source.file.as_mut()) {
            *file = expand(file);
        }
    }
    profile
}

/// Files that several hosts would create or write to under one path.
fn alike(profiles: &[Profile]) -> Vec<String> {
    let [first, others @ ..] = profiles else { return Vec::new() };
    let changed =
        |target: &&Target| (target.create_size.is_some() || target.writes()) && !target.path.starts_with("/dev");
    let paths_of = |profile: &Profile| -> BTreeSet<PathBuf> {
        profile
            .time_spans
            .iter()
            .flat_map(|span| &span.targets)
            .filter(changed)
            .map(|target| target.path.clone())
            .collect()
    };
    let others: BTreeSet<PathBuf> = others.iter().flat_map(paths_of).collect();
    let both = paths_of(first).into_iter().filter(|path| others.contains(path));
    both.map(|path| {
        format!("'{}' would be written to by several hosts: put {HOST} or {INDEX} into the path", path.display())
    })
    .collect()
}

fn show_progress(progress: Progress) {
    match progress {
        Progress::Planned(plans) => {
            let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
            say(&format!("{} checked the load: {}", hosts_in_words(names.len()), names.join(", ")));
        }
        Progress::Prepared => say("all targets are ready"),
        Progress::Starting { lead_ns } => say(&format!("start in {:.1} s", lead_ns as f64 / 1e9)),
        Progress::Connection(sentence) => say(&sentence),
        Progress::Running(_) | Progress::Collecting => {}
    }
}

fn hosts_in_words(count: usize) -> String {
    if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") }
}

/// The plans of all hosts, each under its name.
fn shown(plans: &[HostPlan]) -> String {
    let mut text = String::new();
    for HostPlan { name, text: plan, .. } in plans {
        let line = "=".repeat(name.chars().count());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}\n{line}\n{plan}");
    }
    text
}

/// One result of all, judged.
fn merged(invocation: &Invocation, request: &RunRequest, hosts: Vec<HostRun>) -> RunResult {
    let merged = stats::fleet::merge(hosts.into_iter().map(sent).collect());
    let result =
        RunResult { command_line: invocation.command_line(), labels: request.options.labels.clone(), ..merged };
    let options = &request.options;
    let bands = options.judging_bands(result.time_spans.len());
    rules::judged(result, options.criteria.stated.as_ref(), &options.criteria.requirements, &bands)
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

/// True if the load failed on a host.
fn has_failed(result: &RunResult) -> bool {
    !result.errors.is_empty() || result.time_spans.iter().any(|span| span.outcome == Ending::Failed)
}
