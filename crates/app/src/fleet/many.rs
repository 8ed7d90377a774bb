//! A load on several hosts: one load for each host, the run, and one merged result.

use super::host::Options;
use super::hosts::Hosts;
use super::live::HostsView;
use super::{not_for_many, print_error};
use crate::interrupt;
use crate::live::{self, LiveSinks, RunDescription};
use crate::measure::Measurement;
use crate::output::{print, say_each};
use crate::outputs::has_figures;
use crate::request_checks::{live_outputs, unmeasured};
use crate::run_report::RunReport;
use crate::status::{Status, fail, printed, refuse_each};
use crate::system_env::Invocation;
use ::fleet::{FleetError, HostPlan};
use ::host::Root;
use cli::{FleetOption, RunRequest};
use model::ending::Ending;
use model::profile::{Profile, TimeSpan};
use model::result::{RunResult, Tool};
use model::validate::{Purpose, validate};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Runs a load on the hosts of `--on`.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest, option: &FleetOption) -> Status {
    go(invocation, request, option).unwrap_or_else(|status| status)
}

fn go(invocation: &Invocation, request: &RunRequest, option: &FleetOption) -> Result<Status, Status> {
    let refused = |reasons: Vec<String>| refuse_each(&reasons);
    check(request, option).map_err(refused)?;
    say_each("WARNING", &request.warnings);
    let report = RunReport::check(request, &[]).map_err(refused)?;
    let stream = live_outputs(&request.options, &[]).map_err(refused)?;
    let signals = interrupt::watch_for_load()?;
    let mut hosts = Hosts::find(request, option, &signals)?;
    let loads = Loads::from_request(request, &invocation.command_line());
    let failed = |error: FleetError| match error {
        FleetError::Stopped(sentences) => {
            say_each("ERROR", &sentences);
            crate::interrupt::status_without_results().unwrap_or(Status::Failed)
        }
        error => print_error(&error),
    };
    if request.options.plan_only {
        let plans = loads.plan(&mut hosts).map_err(failed)?;
        return Ok(printed(print(plans.as_bytes()), Status::Done));
    }
    if loads.0.len() > 1 {
        // Nothing is written before all timespans were checked.
        loads.plan(&mut hosts).map_err(failed)?;
    }
    let sinks = LiveSinks::open(&request.options.live, stream).map_err(|reason| fail(&reason))?;
    let names = hosts.names();
    let naming = RunDescription {
        tool: &Tool::default(),
        command_line: &invocation.command_line(),
        labels: &request.options.labels,
        profile: &request.profile,
        plan: None,
        hosts: &names,
        loads: load_lines(request, false),
        devices: BTreeSet::new(),
        interrupt: &signals.interrupted,
    };
    let mut view = HostsView::begin(sinks, &naming);
    let done = loads.run(&mut hosts, &mut view);
    let stream = view.finish();
    let mut result = RunResult { command_line: invocation.command_line(), ..done.map_err(failed)? };
    result.notes.extend(stream.as_ref().and_then(live::dropped));
    let result = judged(result, request);
    if let Some(stream) = stream {
        live::end(stream, &result);
    }
    // Hosts that were stopped before their start report that they have no result.
    let unmeasured = crate::interrupt::status_without_results().filter(|_| !has_figures(&result));
    let status = match (crate::run_report::judged(&result, &request.options), unmeasured) {
        (Status::Corrupt, _) => Status::Corrupt,
        (_, Some(signal)) => signal,
        _ if has_failed(&result) => Status::Failed,
        (judged, None) => judged,
    };
    Ok(report.write(&result, &result.errors, status))
}

/// Errors for options that a load on other hosts cannot have, or lacks.
pub(super) fn check(request: &RunRequest, option: &FleetOption) -> Result<(), Vec<String>> {
    let (profile, options) = (&request.profile, &request.options);
    let mut errors: Vec<String> = validate(profile, Purpose::Run).errors;
    errors.extend(unmeasured(request));
    errors.extend(not_for_many(profile).map(str::to_owned));
    let lacks = |what: &str| format!("--{what} is missing");
    let over_ssh = option.is_over_ssh();
    errors.extend(option.hosts.is_empty().then(|| lacks("on")));
    errors.extend((!over_ssh && option.key.is_none()).then(|| lacks("key")));
    errors.extend(if over_ssh { of_a_server(option) } else { Vec::new() });
    let events = &request.events;
    let uses_events = [&events.wait_start, &events.stop, &events.on_started, &events.on_finished];
    let unusable = [
        (options.overwrite, "--overwrite"),
        (!over_ssh && !options.destroy.is_empty(), "--destroy (agents have --allow-destroy)"),
        (options.hold_latency, "--hold-latency"),
        (options.probe_host_cache, "--probe-host-cache"),
        (options.journal.is_some(), "--journal"),
        (options.trace.is_some(), "--trace"),
        (uses_events.iter().any(|event| event.is_some()), "an event (-ys, -yf, -yr, -yp)"),
    ];
    let unusable = unusable.into_iter().filter(|(is_used, _)| *is_used);
    errors.extend(unusable.map(|(_, what)| format!("{what} cannot be used with --on")));
    let unshared =
        [(options.delete_after, "--delete-after"), (profile.time_spans.iter().any(|span| span.verify), "--verify")];
    let unshared = unshared.into_iter().filter(|(is_used, _)| option.shared && *is_used);
    errors.extend(unshared.map(|(_, what)| format!("{what} cannot be used with --shared")));
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        if !target.path.is_absolute() {
            errors.push(format!("'{}': with --on, paths of targets are absolute", target.path.display()));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Options for a server, which hosts reached by ssh do not have.
fn of_a_server(option: &FleetOption) -> Vec<String> {
    let access = &option.access;
    let given = [
        (option.key.is_some(), "--key"),
        (access.creds.is_some(), "--creds"),
        (access.tls_ca.is_some(), "--tls-ca"),
        (access.no_tls, "--no-tls"),
        (access.anonymous, "--anonymous"),
        (access.inbox.is_some(), "--inbox"),
    ];
    let given = given.into_iter().filter(|(is_given, _)| *is_given);
    given
        .map(|(_, what)| format!("{what} is for hosts on a server (--on=nats://...), not for those reached by ssh"))
        .collect()
}

/// The timespans of a load. Hosts run each as a separate load, so that all begin each at the same time.
struct Loads(Vec<(Profile, Options)>);

impl Loads {
    fn from_request(request: &RunRequest, command_line: &str) -> Self {
        let spans = &request.profile.time_spans;
        let load = |(index, span): (usize, &TimeSpan)| {
            let profile = Profile { time_spans: vec![span.clone()], ..request.profile.clone() };
            let options = Options::new(command_line.to_owned(), request);
            let is_last = index + 1 == spans.len();
            (profile, Options { reuses_written: index > 0, delete_after: options.delete_after && is_last, ..options })
        };
        Self(spans.iter().enumerate().map(load).collect())
    }

    /// The plans of all hosts, each under its name.
    fn plan(&self, hosts: &mut Hosts<'_>) -> Result<String, FleetError> {
        let mut text = String::new();
        for (index, (profile, options)) in self.0.iter().enumerate() {
            if self.0.len() > 1 {
                // Writing to a string does not fail.
                let _ = writeln!(text, "Timespan {}\n", index + 1);
            }
            text.push_str(&shown(&hosts.plan(profile, options)?));
        }
        Ok(text)
    }

    /// The merged result of all timespans, not yet judged. An error after the first results does not discard them.
    fn run(&self, hosts: &mut Hosts<'_>, view: &mut HostsView) -> Result<RunResult, FleetError> {
        let mut results: Vec<RunResult> = Vec::new();
        let mut errors = Vec::new();
        for (index, (profile, options)) in self.0.iter().enumerate() {
            view.begin_time_span(index + 1);
            match hosts.run(profile, options, &mut |progress| view.show(progress)) {
                Ok(run) => {
                    let is_stopped = run.stopped;
                    results.push(hosts.merged(run));
                    if is_stopped || results.last().is_some_and(has_failed) {
                        break;
                    }
                }
                Err(error) if results.is_empty() => return Err(error),
                Err(error) => {
                    errors.extend(error.sentences().iter().cloned());
                    break;
                }
            }
        }
        let all: Vec<&Profile> = self.0.iter().map(|(profile, _)| profile).collect();
        let mut result = stats::fleet::join(results, &all);
        result.errors.extend(errors);
        Ok(result)
    }
}

/// The load of each timespan on a line, as each host runs it: nothing is known of the targets here.
pub(super) fn load_lines(request: &RunRequest, is_rate_searched: bool) -> Vec<String> {
    Measurement::new(request, String::new(), ::host::system(&Root::machine())).load_lines(None, is_rate_searched)
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

/// The result of all hosts with the user's criteria and labels, judged.
pub(super) fn judged(result: RunResult, request: &RunRequest) -> RunResult {
    let options = &request.options;
    let preset = options.preset.as_deref().cloned();
    let result = RunResult { labels: options.labels.clone(), preset, ..result };
    let bands = options.judging_bands(result.time_spans.len());
    rules::judged(result, options.criteria.stated.as_ref(), &options.criteria.requirements, &bands)
}

/// True if the load failed on a host.
fn has_failed(result: &RunResult) -> bool {
    !result.errors.is_empty() || result.time_spans.iter().any(|span| span.outcome == Ending::Failed)
}

/// The reasons why a load failed, host by host.
pub(super) fn reasons(result: &RunResult) -> Vec<String> {
    result.errors.iter().chain(result.time_spans.iter().flat_map(|span| &span.errors)).cloned().collect()
}
