//! Running a load: check everything, plan, run, report.

use crate::console_observer::ConsoleObserver;
use crate::fleet;
use crate::journal::{Journal, JournalFile};
use crate::live::{CheckedStream, LiveSinks};
use crate::measure::Measurement;
use crate::output::{print, say_each};
use crate::outputs::{OutputFile, Protected, has_figures, misdirected_report};
use crate::request_checks::{
    check_profile, choices, live_outputs, outputs_of, protected, results_and_stream, say_overwrite_of_environment,
    unmeasured, with_log_files,
};
use crate::run_report::{RunReport, judged};
use crate::same_file;
use crate::status::{Status, fail, printed, refuse_each};
use crate::system_env::Invocation;
use crate::trace_of_run::{self, TraceOfRun};
use crate::{events, interrupt};
use cli::RunRequest;
use host::Root;
use model::facts::SystemFacts;
use model::plan::Plan;
use model::profile::Profile;
use model::record::Record;
use model::units::UnixTime;
use model::validate::Findings;
use plan::{Refusal, RefusalKind};
use run::event::Events;

/// A run and the destinations of its results.
struct Job<'a> {
    measurement: Measurement<'a>,
    report: RunReport,
    stream: Option<CheckedStream>,
    journal: Option<Journal>,
    trace: Option<OutputFile>,
}

/// Everything that a request needs beside its targets, checked.
struct CheckedRequest {
    warnings: Vec<String>,
    report: RunReport,
    stream: Option<CheckedStream>,
    journal: Option<Journal>,
    trace: Option<OutputFile>,
}

/// Runs the load of a command line.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest) -> Status {
    if let Some(option) = &request.options.fleet {
        return fleet::run(invocation, request, option);
    }
    let system = host::system(&Root::machine());
    let typed = &request.profile;
    let request = &with_log_files(request);
    let Some(CheckedRequest { warnings, report, stream, journal, trace }) = check(typed, request, &system) else {
        return Status::Refused;
    };
    let measurement = Measurement::new(request, invocation.command_line(), system).warned(warnings);
    let mut job = Job { measurement, report, stream, journal, trace };
    let too_large = plan::check_size(&request.profile, &job.measurement.facts.system);
    if !too_large.is_empty() {
        return job.refused(&too_large);
    }
    // Before anything that takes time, so that other processes find them early; not with --plan.
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
        text.extend(expected(request, &plan).into_bytes());
        text.extend(render::placement::of_targets(&job.measurement.placements()).into_bytes());
        return printed(result.and_then(|()| print(&text)), Status::Done);
    }
    job.execute(&plan, &events)
}

/// The limit of `--expect` that each timespan reaches first, one line each.
fn expected(request: &RunRequest, plan: &Plan) -> String {
    let Some(stated) = &request.options.criteria.stated else { return String::new() };
    let spans = request.profile.time_spans.iter().zip(&plan.time_spans);
    let several = plan.time_spans.len() > 1;
    let lines = spans.enumerate().filter_map(|(index, (span, plan))| {
        let number = if several { format!("Timespan {}: ", index + 1) } else { String::new() };
        let expectation = rules::expect::planned(span, plan, stated)?;
        Some(format!("{number}{}\n", report::lowest_limit(&expectation)))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The same for a load that is not run, or the reason why it cannot be planned.
pub(crate) fn planned_limits(request: &RunRequest, system: SystemFacts) -> String {
    match Measurement::new(request, String::new(), system).plan(&choices(request)) {
        Ok(plan) => expected(request, &plan),
        Err(refusals) => {
            let reason = refusals.first().map(|refusal| refusal.message.as_str()).unwrap_or_default();
            format!("\nExpectation: unknown, as the load cannot run: {reason}\n")
        }
    }
}

/// Prints all errors and warnings about the profile and the destinations of its results. The profile of `request`
/// includes the log files; `typed` does not. `None` = it cannot be run.
fn check(typed: &Profile, request: &RunRequest, system: &SystemFacts) -> Option<CheckedRequest> {
    let Findings { mut errors, warnings } = check_profile(typed, &request.profile, system);
    errors.extend(unmeasured(request));
    errors.extend(same_file::changed_source(request));
    // With --plan nothing is written.
    let protected = if request.options.plan_only { Vec::new() } else { protected(&request.profile) };
    errors.extend(misdirected_report(&protected));
    let report = RunReport::check(request, &protected).map_err(|reasons| errors.extend(reasons)).ok();
    let stream = live_outputs(&request.options, &protected).map_err(|reasons| errors.extend(reasons)).ok();
    let written: Vec<Protected> = protected.iter().cloned().chain(outputs_of(&request.options)).collect();
    let others: Vec<Protected> = protected.iter().cloned().chain(results_and_stream(&request.options)).collect();
    let trace = trace_of_run::check(&request.options, &others).map_err(|reason| errors.push(reason)).ok().flatten();
    let journal = Journal::check(request, &written).map_err(|reason| errors.push(reason)).ok().flatten();
    say_each("ERROR", &errors);
    let warnings: Vec<String> = request.warnings.iter().cloned().chain(warnings).collect();
    say_each("WARNING", &warnings);
    report.zip(stream).filter(|_| errors.is_empty()).map(|(report, stream)| CheckedRequest {
        warnings,
        report,
        stream,
        journal,
        trace,
    })
}

impl Job<'_> {
    /// Prints the reasons why the run is refused. A run that is impossible on this machine is reported like a failed
    /// run, as scripts expect; one that is unsafe or invalid is not reported at all.
    fn refused(&self, refusals: &[Refusal]) -> Status {
        if refusals.iter().any(|refusal| refusal.kind == RefusalKind::Invalid) {
            return refuse_each(refusals);
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
        let trace = match self.trace.take().map(|file| TraceOfRun::begin(file, plan)).transpose() {
            Ok(trace) => trace,
            Err(reason) => return fail(&reason),
        };
        self.measurement.trace = trace.as_ref().map(TraceOfRun::rings);
        let (result, mut errors) = self.measurement.carry_out(plan, events, &signals, observer, sinks, file);
        errors.extend(trace.and_then(|trace| trace.end().err()));
        errors.extend(journal.and_then(|journal| journal.publish().err()));
        let judge = || judged(&result, &request.options);
        let status = match () {
            () if judge() == Status::Corrupt => Status::Corrupt,
            () if !errors.is_empty() => Status::Failed,
            () if !has_figures(&result) => crate::interrupt::status_without_results().unwrap_or_else(judge),
            () => judge(),
        };
        self.report.write(&result, &errors, status)
    }
}
