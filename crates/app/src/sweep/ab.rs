//! `diskspd ab`: the results of its pairs, and the exit status.

use crate::compare::{gates, is_resolved, name};
use crate::output::say;
use crate::status::Status;
use cli::subcommand::compare::ChangeLimit;
use cli::subcommand::sweep::AbOptions;
use model::ab::{AbAnswer, AbFigure, AbVerdict};

/// 4 if a limit is exceeded, 6 if that, or any difference, cannot be determined.
pub(super) fn status(answer: Option<&AbAnswer>, options: &AbOptions) -> Status {
    let Some(answer) = answer else { return Status::CannotTell };
    if options.limits.is_empty() {
        let is_answered = options.is_noise_floor() || answer.is_decided();
        return if is_answered { Status::Done } else { Status::CannotTell };
    }
    gates(&options.limits, |limit| gate(limit, answer))
}

/// A latency without a scope covers each kind of I/O that the application waits for.
fn gate(limit: &ChangeLimit, answer: &AbAnswer) -> Status {
    let Ok(name) = name(limit) else { return Status::Refused };
    let is_meant = |found: &&AbFigure| found.figure == name.metric && (is_resolved(&name) || found.scope == name.scope);
    let found: Vec<&AbFigure> = answer.figures.iter().filter(is_meant).collect();
    if found.is_empty() {
        say(&format!("--fail-if '{}' cannot be judged: the sides have no {name} in common", limit.typed));
        return Status::CannotTell;
    }
    Status::worst(found.into_iter().map(|found| gate_figure(limit, found)))
}

fn gate_figure(limit: &ChangeLimit, found: &AbFigure) -> Status {
    let typed = &limit.typed;
    let AbFigure { percent, low_percent, high_percent, verdict, .. } = *found;
    let is_significant = matches!(verdict, AbVerdict::Better | AbVerdict::Worse);
    if limit.is_exceeded_by(percent) && is_significant {
        say(&format!("--fail-if '{typed}': condition met"));
        return Status::No;
    }
    if is_significant || !limit.may_be_exceeded_by((low_percent, high_percent)) {
        return Status::Done;
    }
    let interval = report::numbers::interval_of_change((low_percent, high_percent));
    say(&format!("--fail-if '{typed}' cannot be judged: the change is {interval}; more pairs are needed"));
    Status::CannotTell
}
