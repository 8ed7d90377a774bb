//! Presets that are series of runs: all are checked, then each is run in a separate directory.

use crate::check;
use crate::interrupt::{self, Signals};
use crate::meaning::meaning;
use crate::output::{print, say};
use crate::saved_results;
use crate::series_documents;
use crate::status::{Status, fail, refuse_with};
use crate::subject::{name_of, shown_run};
use crate::sweep;
use crate::system_env::{Invocation, SystemEnv};
use cli::planned_series::{PlannedSeries, planned_series};
use cli::preset::{Machine, Preset, PresetRequest};
use cli::subcommand::sweep::{Allowed, SweepCommand};
use model::shell;
use model::units::{Bytes, counted};
use report::{Report, Subject};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs the series of a preset one after another; the answers of all are printed at the end.
///
/// # Errors
///
/// The request is invalid; nothing was touched.
pub(crate) fn run(
    invocation: &Invocation,
    preset: &Preset,
    request: &PresetRequest,
    machine: Machine,
) -> Result<Status, String> {
    let mut planned = planned_series(preset, request, machine, &[], &SystemEnv)?;
    if request.choices.is_quick {
        planned = planned_series(preset, request, machine, &quick(&planned), &SystemEnv)?;
    }
    let folder = request.choices.folder.clone().unwrap_or_else(|| PathBuf::from(&request.name));
    check_folder(&folder, request.choices.resume)?;
    series_documents::check(&planned, &folder)?;
    let signals = match interrupt::watch_for_load() {
        Ok(signals) => signals,
        Err(status) => return Ok(status),
    };
    let bytes = match check_all(&planned, &signals) {
        Ok(bytes) => bytes,
        Err(status) => return Ok(status),
    };
    announce(&planned, bytes);
    if !request.choices.plan_only && !request.choices.resume {
        fs::create_dir(&folder)
            .or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })
            .map_err(|error| format!("cannot make '{}': {error}", folder.display()))?;
    }
    let is_checked = !request.choices.plan_only && !request.choices.resume && !is_on_hosts(&planned);
    let checked = if is_checked { check::before_load(&[], &request.words)? } else { Status::Done };
    let ran = run_all(invocation, request, &without_deletions(&planned), &folder);
    let status = if ends(ran) { ran } else { Status::worst([ran, checked]) };
    for request in planned.iter().filter_map(PlannedSeries::request).filter(|_| !request.choices.plan_only) {
        sweep::delete(request, &signals);
    }
    if request.choices.plan_only || !folder.exists() || ends(status) {
        return Ok(status);
    }
    let reports = reports(&planned, &folder);
    let written = series_documents::write(&planned, &reports, &folder);
    summary(&reports, &folder, written.as_deref().unwrap_or_default())
        .map_err(|error| format!("cannot write to stdout: {error}"))?;
    Ok(written.map_or_else(|reason| fail(&reason), |_| status))
}

fn run_all(invocation: &Invocation, request: &PresetRequest, planned: &[PlannedSeries], folder: &Path) -> Status {
    let mut worst = Status::Done;
    for (index, series) in planned.iter().enumerate() {
        say("");
        say(&format!("{} of {}: {}", index + 1, planned.len(), series.title));
        let status = one(invocation, request, series, &folder.join(&series.name));
        // An interrupted or impossible run ends the procedure.
        if ends(status) {
            return status;
        }
        worst = Status::worst([worst, status]);
    }
    worst
}

fn is_on_hosts(planned: &[PlannedSeries]) -> bool {
    let points = planned.iter().filter_map(PlannedSeries::request).flat_map(|request| &request.points);
    points.into_iter().any(|point| point.request.options.fleet.is_some())
}

/// The series without `--delete-after`: the next one uses the same targets.
fn without_deletions(planned: &[PlannedSeries]) -> Vec<PlannedSeries> {
    let mut planned = planned.to_vec();
    for series in &mut planned {
        let SweepCommand::Run { request, .. } = &mut series.command else { continue };
        for point in &mut request.points {
            point.request.options.delete_after = false;
        }
    }
    planned
}

/// Total time of all series with `--quick`, in seconds.
const QUICK_S: u64 = 600;

/// Options that shorten all runs accordingly.
fn quick(planned: &[PlannedSeries]) -> Vec<String> {
    let runs: usize = planned.iter().filter_map(PlannedSeries::request).map(|request| sweep::extent(request).0).sum();
    let each_s = (QUICK_S / runs.max(1) as u64).max(2);
    vec![format!("-d{}", each_s - 1), "-W1".to_owned()]
}

fn announce(planned: &[PlannedSeries], bytes: u64) {
    let extents = planned.iter().filter_map(PlannedSeries::request).map(sweep::extent);
    let (runs, load_s) = extents.fold((0, 0), |(runs, load_s), (more, more_s)| (runs + more, load_s + more_s));
    let time = sweep::length(Duration::from_secs(load_s));
    let made =
        if bytes == 0 { "no targets to create".to_owned() } else { format!("{} to create targets", Bytes(bytes)) };
    say(&format!("{} series, {} at least: {time} plus file creation; {made}", planned.len(), counted(runs, "run")));
}

/// True if the remaining series are not begun.
fn ends(status: Status) -> bool {
    !matches!(status, Status::Done | Status::No | Status::CannotTell)
}

fn check_folder(folder: &Path, is_resumed: bool) -> Result<(), String> {
    let shown = folder.display();
    match fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
        Err(_) if is_resumed => Err(format!("--resume: there is no directory '{shown}'")),
        Ok(true) if !is_resumed => {
            Err(format!("'{shown}' is not empty; give another --dir, or go on there with --resume"))
        }
        _ => Ok(()),
    }
}

/// Checks all series before anything is written; returns the size of the files that will be created.
fn check_all(planned: &[PlannedSeries], signals: &Signals) -> Result<u64, Status> {
    let mut files = BTreeSet::new();
    for request in planned.iter().filter_map(PlannedSeries::request) {
        files.extend(sweep::check(request, signals)?);
    }
    Ok(files.iter().map(|(_, size)| size).sum())
}

fn one(invocation: &Invocation, request: &PresetRequest, series: &PlannedSeries, folder: &Path) -> Status {
    if !folder.exists() || request.choices.plan_only {
        return sweep::run(invocation, series.command.clone(), series.kind);
    }
    let Some(planned) = series.request() else { return Status::Done };
    let saved = match saved_results::sweep_in(folder) {
        Some(Ok((_, saved))) => saved,
        Some(Err(reason)) => return fail(&reason),
        None => return refuse_with(&format!("'{}' holds no series", folder.display())),
    };
    if saved.words != planned.words {
        return refuse_with(&format!(
            "'{}' was begun with other options: diskspd {} {}",
            folder.display(),
            series.kind.name(),
            saved.words.join(" ")
        ));
    }
    // The same options as before.
    let options = planned.points.first().map(|point| point.request.options.clone()).unwrap_or_default();
    let allowed =
        Allowed { run_commands: false, overwrite: options.overwrite, destroy: options.destroy, on: options.fleet };
    let resumed = SweepCommand::Resume { folder: folder.to_owned(), allowed, replace_output: false, added: Vec::new() };
    sweep::run(invocation, resumed, series.kind)
}

/// The title and the report of each series that has results.
fn reports(planned: &[PlannedSeries], folder: &Path) -> Vec<(String, Report)> {
    let report = |series: &PlannedSeries| {
        let place = folder.join(&series.name);
        let (kind, sweep) = saved_results::sweep_in(&place)?.ok()?;
        let example = shown_run(&place, &sweep);
        let name = name_of(&place);
        let subject = Subject::Series { kind, name: &name, sweep: &sweep, example: example.as_ref() };
        Some((series.title.clone(), subject.report(meaning)))
    };
    planned.iter().filter_map(report).collect()
}

/// Prints the answers of all series and the documents of all runs.
fn summary(reports: &[(String, Report)], folder: &Path, documents: &[String]) -> std::io::Result<()> {
    let mut out = b"\nSummary\n".to_vec();
    for (title, report) in reports {
        render::answers(title, report, &mut out)?;
    }
    out.push(b'\n');
    if !documents.is_empty() {
        writeln!(out, "Results   {}", documents.join(", "))?;
    }
    let folder = shell::quoted(&folder.to_string_lossy()).to_string();
    writeln!(out, "Next      A page of one series: diskspd report {folder}/NAME --output page.html")?;
    print(&out)
}

#[cfg(test)]
mod simulated;
