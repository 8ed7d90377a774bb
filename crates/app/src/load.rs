//! Running a load: check everything, plan, run, report.

use crate::output::{print, say};
use crate::spectator::Spectator;
use crate::status::{NOT_SUPPORTED, Status, fail, printed};
use crate::{Invocation, events, interrupt};
use host::Root;
use model::facts::Facts;
use model::plan::Plan;
use model::profile::{Profile, ResultFormat};
use model::record::{Outcome, Record};
use model::units::UnixTime;
use model::validate::{Purpose, validate};
use plan::{Choices, Refusal, RefusalKind};
use run::event::{Events, Outside};
use spec::RunRequest;
use stats::Input;

/// In the environment, for scripts that cannot be changed: as if `--overwrite` were typed.
const OVERWRITE_VARIABLE: &str = "DISKSPD_OVERWRITE";

/// Runs what a command line asks for.
pub(crate) fn run(invocation: &Invocation, request: &RunRequest) -> Status {
    let machine = Root::machine();
    let mut facts = Facts { system: host::system(&machine), ..Facts::default() };
    if !is_valid(request, &facts) {
        return Status::Invalid;
    }
    if !request.unsupported.is_empty() {
        request.unsupported.iter().for_each(|option| say(&format!("ERROR: {NOT_SUPPORTED}{option}")));
        return Status::Failure;
    }
    // Before anything that takes time, so that others find them soon; not for a look at the plan.
    let events = if request.options.plan_only { Ok(Events::default()) } else { events::hold(&request.events) };
    let events = match events {
        Ok(events) => events,
        Err(reason) => return fail(&reason),
    };
    facts.targets = host::targets(&machine, &plan::questions(&request.profile));
    let plan = match plan::plan(&request.profile, &facts, &choices(request)) {
        Ok(plan) => plan,
        Err(refusals) => return refused(invocation, &request.profile, &facts, &refusals),
    };
    if request.options.plan_only {
        let mut text = Vec::new();
        let result = plan::explain(&plan, &facts, &mut text);
        return printed(result.and_then(|()| print(&text)), Status::Success);
    }
    execute(invocation, &request.profile, &facts, &plan, &events)
}

/// Says everything that is wrong with the profile, and everything the user should know.
fn is_valid(request: &RunRequest, facts: &Facts) -> bool {
    let mut errors: Vec<String> = plan::check_affinity(&request.profile, &facts.system.topology);
    let findings = validate(&request.profile, Purpose::Run);
    errors.extend(findings.errors);
    errors.iter().for_each(|error| say(&format!("ERROR: {error}")));
    let warnings = request.warnings.iter().chain(&findings.warnings);
    warnings.for_each(|warning| say(&format!("WARNING: {warning}")));
    errors.is_empty()
}

fn choices(request: &RunRequest) -> Choices {
    let by_environment = std::env::var_os(OVERWRITE_VARIABLE).is_some_and(|value| value == "1");
    if by_environment && !request.options.overwrite {
        say(&format!("{OVERWRITE_VARIABLE}=1: existing files may be overwritten, as with --overwrite"));
    }
    Choices { overwrite: request.options.overwrite || by_environment, recreate: request.options.recreate, engine: None }
}

/// Says why the run cannot be. One that this machine cannot do is reported like a run that failed,
/// as scripts know it; one that is unsafe or wrong is not reported at all.
fn refused(invocation: &Invocation, profile: &Profile, facts: &Facts, refusals: &[Refusal]) -> Status {
    refusals.iter().for_each(|refusal| say(&format!("ERROR: {refusal}")));
    if refusals.iter().any(|refusal| refusal.kind == RefusalKind::Invalid) {
        return Status::Invalid;
    }
    let record = Record { started_at: UnixTime(sys::clock::realtime_ns()), ..Record::default() };
    report(invocation, profile, facts, &Plan::default(), &record, Status::Failure)
}

fn execute(invocation: &Invocation, profile: &Profile, facts: &Facts, plan: &Plan, events: &Events) -> Status {
    let interrupted = match sys::thread::prepare_wake().and_then(|()| interrupt::watch()) {
        Ok(interrupted) => interrupted,
        Err(error) => return fail(&format!("cannot watch for signals: {error}")),
    };
    let mut spectator = Spectator::new(profile.verbose);
    let record = run::run(plan, Outside { interrupt: &interrupted, events }, &mut spectator);
    spectator.finish();
    let mut status = Status::Success;
    for time_span in &record.time_spans {
        if let Outcome::Failed { errors } = &time_span.outcome {
            status = Status::Failure;
            errors.iter().for_each(|error| say(&format!("ERROR: {error}")));
        }
    }
    report(invocation, profile, facts, plan, &record, status)
}

fn report(
    invocation: &Invocation,
    profile: &Profile,
    facts: &Facts,
    plan: &Plan,
    record: &Record,
    status: Status,
) -> Status {
    let command_line = invocation.command_line();
    let result = stats::summarise(&Input { command_line, profile, system: &facts.system, plan, record });
    let mut document = Vec::new();
    let written = match profile.result_format {
        ResultFormat::Text => report::text(&result, &mut document),
        ResultFormat::Xml => {
            let profile_xml = spec::write_profile(profile, ResultFormat::Xml);
            report::xml(&result, &profile_xml, &mut document)
        }
    };
    let written = written.and_then(|()| print(&document));
    if status == Status::Failure {
        say("Error generating I/O requests");
    }
    printed(written, status)
}
