//! Running a load: check everything, plan, run, report.

use crate::kernel_view::KernelView;
use crate::output::{print, say, say_each};
use crate::outputs::{Destinations, Protected};
use crate::spectator::Spectator;
use crate::status::{Status, fail, printed};
use crate::{Invocation, events, interrupt};
use host::{HealthWatch, Root};
use model::environment::TargetEnvironment;
use model::facts::Facts;
use model::plan::Plan;
use model::record::{Outcome, Record};
use model::result::RunResult;
use model::units::UnixTime;
use model::validate::{Purpose, validate};
use model::verdict::{Severity, Verdict};
use plan::{Choices, Refusal, RefusalKind};
use run::event::{Events, Outside};
use spec::{Outputs, RunRequest};
use stats::Input;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// In the environment, for scripts that cannot be changed: as if `--overwrite` were typed.
const OVERWRITE_VARIABLE: &str = "DISKSPD_OVERWRITE";

/// What is known before anything is planned.
struct Job<'a> {
    invocation: &'a Invocation,
    request: &'a RunRequest,
    machine: Root,
    facts: Facts,
    destinations: Destinations,
    /// What was warned of.
    warnings: Vec<String>,
    /// See [`environments`](Self::environments).
    environments: OnceCell<BTreeMap<PathBuf, TargetEnvironment>>,
}

/// Runs what a command line asks for.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest) -> Status {
    let machine = Root::machine();
    let facts = Facts { system: host::system(&machine), ..Facts::default() };
    let Some((warnings, destinations)) = check(request, &facts) else {
        return Status::Invalid;
    };
    let mut job = Job { invocation, request, machine, facts, destinations, warnings, environments: OnceCell::new() };
    let too_large = plan::check_size(&request.profile, &job.facts.system);
    if !too_large.is_empty() {
        return job.refused(&too_large);
    }
    // Before anything that takes time, so that others find them soon; not for a look at the plan.
    let events = if request.options.plan_only { Ok(Events::default()) } else { events::hold(&request.events) };
    let events = match events {
        Ok(events) => events,
        Err(reason) => return fail(&reason),
    };
    job.facts.targets = host::targets(&job.machine, &plan::questions(&request.profile));
    if request.profile.time_spans.iter().any(|span| span.near_device) {
        job.facts.nodes = nodes(job.environments());
    }
    let plan = match plan::plan(&request.profile, &job.facts, &choices(request)) {
        Ok(plan) => plan,
        Err(refusals) => return job.refused(&refusals),
    };
    if request.options.plan_only {
        let mut text = Vec::new();
        let result = plan::explain(&plan, &job.facts, &mut text);
        return printed(result.and_then(|()| print(&text)), Status::Success);
    }
    job.execute(&plan, &events)
}

/// The NUMA nodes that the kernel says the disks of each target belong to.
fn nodes(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeMap<PathBuf, BTreeSet<u32>> {
    let of = |environment: &TargetEnvironment| {
        environment.disks().into_iter().filter_map(|disk| disk.connection.numa_node).collect()
    };
    environments.iter().map(|(path, environment)| (path.clone(), of(environment))).collect()
}

/// Says everything that is wrong with the profile and with where its results shall go, and
/// everything the user should know. `None` = it cannot be run.
fn check(request: &RunRequest, facts: &Facts) -> Option<(Vec<String>, Destinations)> {
    let mut errors: Vec<String> = plan::check_affinity(&request.profile, &facts.system.topology);
    let findings = validate(&request.profile, Purpose::Run);
    errors.extend(findings.errors);
    let destinations = destinations(request).map_err(|reasons| errors.extend(reasons));
    say_each("ERROR", &errors);
    let warnings: Vec<String> = request.warnings.iter().cloned().chain(findings.warnings).collect();
    say_each("WARNING", &warnings);
    destinations.ok().filter(|_| errors.is_empty()).map(|destinations| (warnings, destinations))
}

/// Where the results shall go: nowhere that this run reads or writes.
fn destinations(request: &RunRequest) -> Result<Destinations, Vec<String>> {
    if request.options.plan_only {
        return Destinations::check(&Outputs::default(), request.profile.result_format, &[]);
    }
    let mut protected = Vec::new();
    for target in request.profile.time_spans.iter().flat_map(|span| &span.targets) {
        protected.push(Protected { path: target.path.clone(), role: "a target of this run" });
        if let Some(path) = target.write_source.as_ref().and_then(|source| source.file.clone()) {
            protected.push(Protected { path, role: "the file that write data is taken from (-Z)" });
        }
    }
    Destinations::check(&request.options.outputs, request.profile.result_format, &protected)
}

fn choices(request: &RunRequest) -> Choices {
    let by_environment = std::env::var_os(OVERWRITE_VARIABLE).is_some_and(|value| value == "1");
    if by_environment && !request.options.overwrite {
        say(&format!("{OVERWRITE_VARIABLE}=1: existing files may be overwritten, as with --overwrite"));
    }
    Choices {
        overwrite: request.options.overwrite || by_environment,
        recreate: request.options.recreate,
        delete_after: request.options.delete_after,
        destroy: request.options.destroy.clone(),
    }
}

/// True if the figures of any timespan are not what they claim to be.
fn is_invalid(result: &RunResult) -> bool {
    let verdicts = result.time_spans.iter().filter_map(|happened| happened.verdict.as_ref());
    verdicts.filter_map(Verdict::severity).any(|severity| severity == Severity::Invalid)
}

impl Job<'_> {
    /// Says why the run cannot be. One that this machine cannot do is reported like a run that
    /// failed, as scripts know it; one that is unsafe or wrong is not reported at all.
    fn refused(&self, refusals: &[Refusal]) -> Status {
        say_each("ERROR", refusals);
        if refusals.iter().any(|refusal| refusal.kind == RefusalKind::Invalid) {
            return Status::Invalid;
        }
        let record = Record { started_at: UnixTime(sys::clock::realtime_ns()), ..Record::default() };
        let result = self.summarise(&Plan::default(), &record);
        let errors = refusals.iter().map(Refusal::to_string).collect();
        self.report(&RunResult { plan: None, errors, ..result }, Status::Failure)
    }

    fn execute(&self, plan: &Plan, events: &Events) -> Status {
        let signals = match sys::thread::prepare_wake().and_then(|()| interrupt::watch()) {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("cannot watch for signals: {error}")),
        };
        let environments = self.environments();
        let profile = &self.request.profile;
        let spectator = Spectator::new(profile.verbose);
        let mut observer = KernelView::new(spectator, &self.machine, profile.tracing, environments);
        let health = HealthWatch::begin(&self.machine, observer.devices());
        let record = run::run(
            plan,
            Outside { interrupt: &signals.interrupted, status_asked: &signals.status_asked, events },
            &mut observer,
        );
        observer.inner.finish();
        let mut status = Status::Success;
        for time_span in &record.time_spans {
            if let Outcome::Failed { errors } = &time_span.outcome {
                status = Status::Failure;
                say_each("ERROR", errors);
            }
        }
        let mut result = RunResult { target_environments: environments.clone(), ..self.summarise(plan, &record) };
        observer.tell(&profile.time_spans, plan, &record, &mut result.time_spans);
        result.notes.extend(health.end());
        stats::verdict::judge(&mut result);
        if self.request.options.strict && status == Status::Success && is_invalid(&result) {
            status = Status::InvalidFigures;
        }
        self.report(&result, status)
    }

    /// What the targets stand on, looked for once; the targets' facts come first.
    fn environments(&self) -> &BTreeMap<PathBuf, TargetEnvironment> {
        self.environments.get_or_init(|| {
            let paths: Vec<PathBuf> = self.facts.targets.keys().cloned().collect();
            host::target_environment(&self.machine, &paths)
        })
    }

    /// The result, with everything that is known beside the figures.
    fn summarise(&self, plan: &Plan, record: &Record) -> RunResult {
        let command_line = self.invocation.command_line();
        let (profile, system) = (&self.request.profile, &self.facts.system);
        let result = stats::summarise(&Input { command_line, profile, system, plan, record });
        RunResult {
            labels: self.request.options.labels.clone(),
            environment: Some(host::environment(&self.machine)),
            targets: self.facts.targets.clone(),
            warnings: self.warnings.clone(),
            ..result
        }
    }

    fn report(&self, result: &RunResult, status: Status) -> Status {
        let written = self.destinations.write(result);
        if status == Status::Failure {
            say("Error generating I/O requests");
        }
        written.map_or_else(|reason| fail(&reason), |()| status)
    }
}
