//! `diskspd verify`: reads targets back and checks the units on them.

mod read_back;
mod report;

use crate::after_cut::{self, Logs, memory_bytes_max, too_little_memory, unusable};
use crate::corrupt_unit::add_evidence;
use crate::cut_cycles;
use crate::interrupt;
use crate::output::say_each;
use crate::status::{Status, fail, refuse_with};
use crate::target_reading::{Refusal, find_saved, open, print_report, progress_bar, status_of};
use cli::subcommand::verify::VerifyRequest;
use host::{HealthWatch, Root};
use model::units::counted;
use read_back::{Expectation, ReadBack};
use report::{TargetReport, VerifyReport};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::SystemTime;
use verify::saved::{self, FILE_NAME, SavedMap};
use verify::unit::tag;

/// Runs `diskspd verify`.
pub(crate) fn run(request: &VerifyRequest) -> Status {
    if let Some(cycles) = request.cycles.cycles {
        return cut_cycles::run(request, cycles);
    }
    match request.journal.as_deref().map_or(Ok(None), Logs::find) {
        Ok(Some(_)) if request.from.is_some() => {
            return refuse_with("--from cannot be used with the logs of a run that was cut off (--journal)");
        }
        Ok(Some(mut logs)) => return after_cut::run(request, &mut logs),
        Ok(None) => {}
        Err(reason) => return refuse_with(&reason),
    }
    let map = match request.journal.as_deref().map(saved_map).transpose() {
        Ok(map) => map,
        Err(reason) => return refuse_with(&reason),
    };
    let signals = match interrupt::watch() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("cannot watch for signals: {error}")),
    };
    let mut targets = Vec::new();
    for path in &request.targets {
        match target(path, map.as_ref()) {
            Ok(target) => targets.push(target.from(request.from.unwrap_or(0))),
            Err(refusal) => return refusal.print_reason(),
        }
    }
    let bar = progress_bar(targets.iter().map(ReadBack::wanted_bytes).sum());
    // Messages logged while targets are read are evidence.
    let root = Root::machine();
    let mut kernel_log = HealthWatch::begin(&root, [], sys::clock::monotonic_ns());
    let mut reports = Vec::new();
    for target in &targets {
        // The other targets are still read.
        let report = target.read(&signals.interrupted, &bar);
        reports.push(
            report.unwrap_or_else(|error| TargetReport::not_read(target.path.clone(), target.size_bytes, &error)),
        );
    }
    bar.finish_and_clear();
    kernel_log.read_messages(sys::clock::monotonic_ns());
    add_evidence(&root, &kernel_log.into_messages(), reports.iter_mut().map(TargetReport::wrong_units));
    let report = VerifyReport::new(reports);
    let failures: Vec<String> = report.targets.iter().filter_map(TargetReport::failure).collect();
    say_each("ERROR", &failures);
    print_report(&report, || report.report(), request.json, status_of(report.outcome))
}

/// Timestamps of files on different file systems may differ by less: some keep seconds only.
const CLOCK_SLACK_NS: u64 = 2_000_000_000;

/// The map in a directory, and the time when it was saved, if known.
fn saved_map(folder: &Path) -> Result<(SavedMap, Option<SystemTime>), String> {
    let path = folder.join(FILE_NAME);
    let shown = path.display();
    let file = File::open(&path).map_err(|error| {
        format!("cannot open '{shown}' (--journal): {error}; give the directory that a run with --verify and --journal wrote")
    })?;
    let saved_at = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let bytes = file.metadata().map_or(0, |metadata| saved::memory_bytes(metadata.len()));
    let bytes_max = memory_bytes_max();
    if bytes > bytes_max {
        return Err(too_little_memory(&format!("the units of '{shown}'"), bytes, "twice its length", bytes_max));
    }
    let map = saved::read(&mut BufReader::new(file)).map_err(|reason| unusable(&path, &reason))?;
    Ok((map, saved_at))
}

fn target<'a>(path: &Path, map: Option<&'a (SavedMap, Option<SystemTime>)>) -> Result<ReadBack<'a>, Refusal> {
    let opened = open(path)?;
    let (metadata, size_bytes) = (&opened.metadata, opened.size_bytes);
    let mut is_certain = true;
    let mut names = opened.names.clone();
    let expectation = match map {
        None => Expectation::Alone,
        Some((map, _)) => {
            let ((saved, states), certain) = find_saved(&map.targets, |(saved, _)| saved, path, &opened, &map.boot)?;
            is_certain = certain;
            names.extend(saved.names.iter().cloned());
            // Without an exact map of the writes, the missing data is unknown.
            if size_bytes < saved.size_bytes && !saved.is_exact {
                return Err(Refusal::NotInJournal(format!(
                    "'{}' has {}, but had {} when its map was saved (--journal)",
                    path.display(),
                    counted(size_bytes, "byte"),
                    saved.size_bytes
                )));
            }
            let of_run = Expectation::of_run(map.run, saved, states);
            of_run.ok_or_else(|| Refusal::NotInJournal(format!("the map of '{}' has no valid unit", path.display())))?
        }
    };
    // The time of a block device is that of its name in /dev.
    let modified = metadata.modified().ok().filter(|_| metadata.is_file());
    let changed_after = modified.zip(map.and_then(|(_, saved_at)| *saved_at)).and_then(|(modified, saved_at)| {
        let after = modified.duration_since(saved_at).ok()?;
        u64::try_from(after.as_nanos()).ok().filter(|&after_ns| after_ns > CLOCK_SLACK_NS)
    });
    Ok(ReadBack {
        path: path.to_owned(),
        size_bytes,
        tags: names.iter().map(|name| tag(name)).collect(),
        from_bytes: 0,
        expectation,
        is_certain,
        changed_after_ns: changed_after,
    })
}
