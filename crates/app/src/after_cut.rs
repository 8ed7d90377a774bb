//! `diskspd verify --journal` after a cut: the logs of the run determine the expected contents of the targets.

mod logs;
mod lost_unit;
mod read;
mod report;

use crate::corrupt_unit::add_evidence;
use crate::interrupt;
use crate::status::{Status, fail};
use crate::target_reading::{Refusal, find_saved, open, print_report, progress_bar, status_of};
use cli::subcommand::verify::VerifyRequest;
use host::{HealthWatch, Root};
pub(crate) use logs::{Logs, memory_bytes_max, too_little_memory, unusable};
use read::Target;
use report::{AfterCutReport, TargetReport};
use std::path::Path;
use verify::history::TargetHistory;
use verify::unit::tag;

/// Compares targets with the logs of a run.
pub(crate) fn run(request: &VerifyRequest, logs: &mut Logs) -> Status {
    let signals = match interrupt::watch() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("cannot watch for signals: {error}")),
    };
    let mut targets = Vec::new();
    for path in &request.targets {
        match target(path, logs) {
            Ok(target) => targets.push(target),
            Err(refusal) => return refusal.print_reason(),
        }
    }
    let bar = progress_bar(targets.iter().map(|target| target.size_bytes).sum());
    // Messages logged while targets are read are evidence.
    let root = Root::machine();
    let mut kernel_log = HealthWatch::begin(&root, [], sys::clock::monotonic_ns());
    let read = |ends_early| -> Result<Vec<TargetReport>, Status> {
        let one = |target: &Target<'_>| {
            let read = target.read(ends_early, &signals.interrupted, &bar);
            read.map(|read| TargetReport::new(target, read))
                .map_err(|error| fail(&format!("cannot read '{}': {error}", target.path.display())))
        };
        targets.iter().map(one).collect()
    };
    let seem_whole = !logs.history.ends_early;
    let mut reports = match read(!seem_whole) {
        Ok(reports) => reports,
        Err(status) => return status,
    };
    // Logs that lack a change are truncated.
    let are_behind = reports.iter().any(|report| report.is_ahead);
    if are_behind && seem_whole {
        bar.reset();
        reports = match read(true) {
            Ok(reports) => reports,
            Err(status) => return status,
        };
    }
    bar.finish_and_clear();
    if are_behind {
        logs.are_behind();
    }
    kernel_log.read_messages(sys::clock::monotonic_ns());
    add_evidence(&root, &kernel_log.into_messages(), reports.iter_mut().map(TargetReport::wrong_units));
    let report = AfterCutReport::new(logs, reports);
    print_report(&report, || report.report(), request.json, status_of(report.outcome))
}

fn target<'a>(path: &Path, logs: &'a Logs) -> Result<Target<'a>, Refusal> {
    let opened = open(path)?;
    let targets = &logs.history.targets;
    let (history, is_certain) = find_saved(targets, |history| &history.logged.target, path, &opened, &logs.boot)?;
    let names = opened.names.iter().chain(&history.logged.target.names);
    let tags = names.map(|name| tag(name)).collect();
    Ok(Target { path: path.to_owned(), size_bytes: opened.size_bytes, tags, history, is_certain })
}

/// Byte offset of a unit.
fn offset(history: &TargetHistory, unit: u64) -> u64 {
    unit * history.unit().bytes()
}
