//! `diskspd compare`: saved results side by side.

use crate::kept_results;
use crate::meaning::meaning;
use crate::output::{print, say, say_each};
use crate::outputs::{OutputFile, Protected, written};
use crate::picture;
use crate::saved_results::{output_file, read, read_all};
use crate::status::{Status, done, fail, printed, refuse_with};
use crate::subject::side_of;
use cli::subcommand::compare::{ChangeLimit, CompareCommand};
use cli::subcommand::report::OutputAsked;
use model::metric::{MetricName, Scope, ScopedMetric};
use model::result::RunResult;
use render::Detail;
use render::document::DocumentKind;
use report::words::compare::load_differences;
use report::{Comparison, Report, Subject};
use stats::compare::{Basis, ComparisonVerdict, Difference};
use std::path::{Path, PathBuf};

mod loads;

/// Runs `diskspd compare`.
pub(crate) fn run(mut command: CompareCommand) -> Status {
    if let Err(reason) = command.paths_mut().into_iter().try_for_each(kept_results::resolve) {
        return refuse_with(&reason);
    }
    match &command {
        CompareCommand::Compare { first, second, limits, anyway, output } => {
            let page = match output.as_ref().map(|output| page_file(output, first, second)).transpose() {
                Ok(page) => page,
                Err(status) => return status,
            };
            if first.iter().chain(second).any(|path| loads::has_trace(path)) {
                return loads::compare([first, second], limits, page.as_ref());
            }
            compare(first, second, limits, *anyway, page.as_ref())
        }
        CompareCommand::Scaling { one, many, drives } => scaling(one, many, *drives),
    }
}

/// The file of `--output`; must not be one of the results.
fn page_file(output: &OutputAsked, first: &[PathBuf], second: &[PathBuf]) -> Result<OutputFile, Status> {
    let results = first.iter().chain(second);
    let protected = results.map(|path| Protected { path: path.clone(), role: "a result being read" });
    output_file(output, DocumentKind::Page, &protected.collect::<Vec<_>>())
}

fn compare(
    first_paths: &[PathBuf],
    second_paths: &[PathBuf],
    limits: &[ChangeLimit],
    anyway: bool,
    page: Option<&OutputFile>,
) -> Status {
    let names: Result<Vec<MetricName>, String> = limits.iter().map(name).collect();
    let names = match names {
        Ok(names) => names,
        Err(reason) => {
            return refuse_with(&reason);
        }
    };
    let (first, second) = match (side(first_paths), side(second_paths)) {
        (Ok(first), Ok(second)) => (first, second),
        (first, second) => {
            let mut reasons: Vec<String> = [first.err(), second.err()].into_iter().flatten().collect();
            // Both sides may be the same file.
            reasons.dedup();
            say_each("ERROR", &reasons);
            return Status::Failed;
        }
    };
    if let Some(reasons) = [&first, &second].into_iter().find_map(|side| no_repeats(side)) {
        say_each("ERROR", &reasons);
        return refuse_with("the runs of one side must be repeats of one load");
    }
    let reference = &first[0];
    let others = first.iter().chain(&second).skip(1);
    if let Some(strange) = others.map(|other| load_differences(reference, other)).find(|load| !load.is_empty())
        && !anyway
    {
        say_each("ERROR", &strange);
        say("ERROR: the loads differ; use --anyway to compare them");
        return Status::Refused;
    }
    let waited_for = stats::compare::waited_for(&first);
    let unlike_waits = report::words::compare::unlike_waits(&first, &second);
    let is_compared = |name: &&MetricName| unlike_waits.is_none() || !is_resolved(name);
    let more: Vec<ScopedMetric> = names.iter().filter(is_compared).flat_map(|name| judged(name, &waited_for)).collect();
    let compared = Comparison::new(vec![side_of(first_paths, first), side_of(second_paths, second)], &more);
    let differences = compared.differences();
    if differences.is_empty() {
        return fail("the results have no metrics in common");
    }
    let report = Subject::Comparison(&compared).report(meaning);
    match show_report(report, page) {
        Status::Done => {}
        status => return status,
    }
    gates(limits, |limit| match name(limit) {
        Ok(name) if is_resolved(&name) => match &unlike_waits {
            Some(words) => {
                say(&format!("--fail-if '{}' cannot be judged: {words}", limit.typed));
                Status::CannotTell
            }
            None => Status::worst(judged(&name, &waited_for).into_iter().map(|of| gate(limit, of, differences))),
        },
        Ok(name) => gate(limit, (name.scope, name.metric), differences),
        Err(_) => Status::Refused,
    })
}

/// Prints a report, and makes its page.
fn show_report(report: Report, page: Option<&OutputFile>) -> Status {
    if let Err(error) = written(|out| render::report_text(&report, Detail::Short, out)).and_then(|text| print(&text)) {
        return printed(Err(error), Status::Done);
    }
    page.map_or(Status::Done, |page| done(picture::page(report, page)))
}

/// The metric of a limit.
pub(crate) fn name(limit: &ChangeLimit) -> Result<MetricName, String> {
    let of_limit = |reason| format!("--fail-if '{}': {reason}", limit.typed);
    let name = MetricName::parse(&limit.figure).map_err(of_limit)?;
    match name.stream {
        None => Ok(name),
        Some(_) => Err(of_limit("compare has no metrics of streams".to_owned())),
    }
}

/// True if the request type that the application waits for determines which I/Os a metric covers.
pub(crate) fn is_resolved(name: &MetricName) -> bool {
    name.scope == Scope::All && name.metric.needs_latency()
}

/// The metrics that a limit applies to.
fn judged(name: &MetricName, waited_for: &[Scope]) -> Vec<ScopedMetric> {
    if is_resolved(name) {
        return waited_for.iter().map(|scope| (*scope, name.metric)).collect();
    }
    vec![(name.scope, name.metric)]
}

/// The worst status of all limits (`--fail-if`): 4 if one is exceeded, else 6 if one cannot be judged.
pub(crate) fn gates(limits: &[ChangeLimit], gate: impl FnMut(&ChangeLimit) -> Status) -> Status {
    Status::worst(limits.iter().map(gate))
}

/// Status of one limit: prints a message if the metric changed by more than the limit, or if that cannot be determined.
fn gate(limit: &ChangeLimit, (scope, metric): ScopedMetric, differences: &[Difference]) -> Status {
    let typed = &limit.typed;
    let Some(found) = differences.iter().find(|found| (found.scope, found.figure) == (scope, metric)) else {
        let name = MetricName { stream: None, scope, metric };
        say(&format!("--fail-if '{typed}' cannot be judged: the results of one side have no {name}"));
        return Status::CannotTell;
    };
    match found.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse if limit.is_exceeded_by(found.percent) => {
            let basis = if found.basis == Basis::Course { " (one run a side)" } else { "" };
            say(&format!("--fail-if '{typed}': condition met{basis}"));
            Status::No
        }
        // The change may exceed the limit if its confidence interval reaches that far or is unknown.
        ComparisonVerdict::CannotTell if found.interval.is_none_or(|interval| limit.may_be_exceeded_by(interval)) => {
            let percent = report::numbers::change(found.percent);
            say(&format!(
                "--fail-if '{typed}' cannot be judged: a change of {percent} may be due to chance; more runs are \
                 needed"
            ));
            Status::CannotTell
        }
        _ => Status::Done,
    }
}

fn scaling(one: &Path, many: &Path, drives: u32) -> Status {
    let (one, many) = match (read(one), read(many)) {
        (Ok(one), Ok(many)) => (one, many),
        (Err(reason), _) | (_, Err(reason)) => return fail(&reason),
    };
    let mut text = Vec::new();
    let written = render::report_text(&report::scaling(&one, &many, drives), Detail::Full, &mut text);
    printed(written.and_then(|()| print(&text)), Status::Done)
}

/// Differences between the loads of one side: several runs of a side count as repeats, even if `--anyway` permits
/// differences between sides.
fn no_repeats(side: &[RunResult]) -> Option<Vec<String>> {
    let (first, others) = side.split_first()?;
    others.iter().map(|other| load_differences(first, other)).find(|load| !load.is_empty())
}

/// The results of one side: files, and all results in directories.
fn side(paths: &[PathBuf]) -> Result<Vec<RunResult>, String> {
    let mut results = Vec::new();
    for path in paths {
        results.extend(read_all(path)?);
    }
    Ok(results)
}
