//! `diskspd gate`: runs a load, keeps the result, and compares it with earlier ones.

mod fingerprint;
mod folder;
mod history;

use crate::interrupt;
use crate::load::judged;
use crate::output::{print, say, say_each};
use crate::outputs::{OutputFile, Protected, Replace, is_below_target, is_folder_of_target, names_in};
use crate::saved_results;
use crate::series_runner::{self, Refused};
use crate::status::{Status, fail, printed, refuse_with};
use crate::sweep::folder::Kind;
use crate::sweep::{self, check_points};
use crate::system_env::Invocation;
use cli::subcommand::gate::{GateCommand, GateTask};
use cli::subcommand::sweep::SweepCommand;
use cli::sweep::PlannedPoint;
use fingerprint::differences;
use folder::GateFolder;
pub(crate) use history::run as history;
use model::finding::Severity;
use model::gate::{GATE_SCHEMA, GateEntry, GateOutcome, history_of};
use model::metric::{Metric, MetricName};
use model::printable::command_line;
use model::profile::TimeSpan;
use model::result::RunResult;
use model::units::UnixTime;
use render::document::DocumentKind;
use render::gate::{Answer, answer};
use stats::gate::{GateVerdict, Judgement, Series, judge};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tune::RunFailure;

/// Judged unless others are named.
const JUDGED: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];

/// Set by GitHub Actions: the file that the steps of a job add to.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// Runs `diskspd gate`.
pub(crate) fn run(invocation: &Invocation, command: &GateCommand) -> Status {
    let points = match &command.task {
        GateTask::Run { points, .. } => &points[..],
        GateTask::Pairs(SweepCommand::Run { request, .. }) => &request.points[..],
        _ => &[],
    };
    let targets = points.iter().flat_map(|point| crate::load::protected(&point.request.profile)).collect::<Vec<_>>();
    if let Some(file) = targets.iter().find(|file| is_misplaced(&command.folder, &file.path)) {
        let folder = command.folder.display();
        return refuse_with(&format!("'{folder}' is or contains {}: give another directory", file.role));
    }
    let outputs = match Outputs::check(command, &targets) {
        Ok(outputs) => outputs,
        Err(reason) => return refuse_with(&reason),
    };
    let mut judged_runs = Status::Done;
    let ended = match &command.task {
        GateTask::Run { points, runs } => match run_load(invocation, command, points, *runs) {
            Ok((answer, judged)) => {
                judged_runs = judged;
                Ok(answer)
            }
            Err(status) => Err(status),
        },
        GateTask::Judge(file) => judge_file(command, file),
        GateTask::Pairs(SweepCommand::Run { request, replace_output, .. }) => {
            let name = format!("ab-{}", sys::clock::realtime_ns());
            let folder = Some(command.folder.join(name));
            let sides = SweepCommand::Run { request: request.clone(), folder, replace_output: *replace_output };
            match sweep::run(invocation, sides, Kind::Ab) {
                Status::Done => Ok(Answer::of_pairs(GateOutcome::Pass)),
                Status::No => Ok(Answer::of_pairs(GateOutcome::Fail)),
                Status::CannotTell => Ok(Answer::of_pairs(GateOutcome::CannotTell)),
                other => Err(other),
            }
        }
        GateTask::Pairs(SweepCommand::Resume { .. }) => Err(refuse_with("a gate cannot be resumed")),
        GateTask::Accept(reason) => return accept(command, reason),
    };
    let answer = match ended {
        Ok(answer) => answer,
        Err(status) => return status,
    };
    let shown = print(render::gate::text(&answer).as_bytes());
    if let Err(reason) = outputs.write(&answer) {
        return fail(&reason);
    }
    let status = match answer.outcome {
        _ if judged_runs != Status::Done => judged_runs,
        GateOutcome::Pass => Status::Done,
        GateOutcome::Fail => Status::No,
        GateOutcome::CannotTell => Status::CannotTell,
    };
    printed(shown, status)
}

/// True if results would stand where a target is, or beside one that may have the name of a result.
fn is_misplaced(folder: &Path, target: &Path) -> bool {
    is_folder_of_target(folder, target)
        || is_below_target(folder, target)
        || !names_in(folder, std::iter::once(target.to_owned())).is_empty()
}

/// The files of `--summary` and `--junit`, checked.
struct Outputs {
    /// With what it holds already.
    summary: Option<(OutputFile, Vec<u8>)>,
    junit: Option<OutputFile>,
}

impl Outputs {
    fn check(command: &GateCommand, targets: &[Protected]) -> Result<Self, String> {
        let check = |option: &str, path: &PathBuf, kind, any| {
            OutputFile::check(path, Replace { kind, any }, targets)
                .map_err(|reason| format!("{option} '{}': {reason}", path.display()))
        };
        let of_summary = |path: &PathBuf| {
            let is_of_job = std::env::var_os(SUMMARY_VARIABLE).is_some_and(|of_job| of_job == path.as_os_str());
            let file = check("--summary", path, DocumentKind::GateSummary, is_of_job)?;
            let before = if is_of_job && file.is_there() { saved_results::contents(path)? } else { Vec::new() };
            Ok::<_, String>((file, before))
        };
        let summary = command.summary.as_ref().map(of_summary).transpose()?;
        let junit =
            command.junit.as_ref().map(|path| check("--junit", path, DocumentKind::JUnit, false)).transpose()?;
        Ok(Self { summary, junit })
    }

    fn write(&self, answer: &Answer) -> Result<(), String> {
        let write = |file: &OutputFile, parts: [&[u8]; 2]| {
            let written = file.write(|out| parts.iter().try_for_each(|part| out.write_all(part)));
            written.map_err(|error| format!("cannot write '{}': {error}", file.name().display()))
        };
        if let Some((file, before)) = &self.summary {
            write(file, [before, render::gate::summary(answer).as_bytes()])?;
        }
        self.junit.as_ref().map_or(Ok(()), |file| write(file, [b"", render::gate::junit(answer).as_bytes()]))
    }
}

fn run_load(
    invocation: &Invocation,
    command: &GateCommand,
    points: &[PlannedPoint],
    runs: u32,
) -> Result<(Answer, Status), Status> {
    let signals = interrupt::watch_for_load()?;
    let part = RefCell::new(String::new());
    let mut runner = series_runner::of(points, &signals, &part)?;
    check_points(points.iter().enumerate(), &mut *runner).map_err(Refused::told)?;
    let planned = points.first().ok_or_else(|| fail("there is no load"))?;
    say_each("WARNING", &planned.request.warnings);
    crate::load::say_overwrite_of_environment(&planned.request);
    let mut gate = Gate::new(command).map_err(|reason| fail(&reason))?;
    let failed = |failure| match failure {
        RunFailure::Failed(reasons) => {
            say_each("ERROR", &reasons);
            Status::Failed
        }
        RunFailure::Interrupted => {
            say("stopped; runs that were complete are kept");
            signals.status_without_results().unwrap_or(Status::Failed)
        }
    };
    say(&format!("load: {}", runner.load_line(0, &planned.request.profile, false)));
    runner.prepare(0, &planned.request.profile).map_err(&failed)?;
    let program = invocation.program.to_string_lossy().into_owned();
    let mut of_runs = Status::Done;
    for number in 1..=runs {
        *part.borrow_mut() = format!("{number} of up to {runs}");
        let mut profile = planned.request.profile.clone();
        for span in &mut profile.time_spans {
            // Each run has other offsets, or the history would have the scatter of one.
            span.random_seed = crate::random::random() as u32;
        }
        let result = runner.run(0, &profile).map_err(&failed)?;
        let words = std::iter::once(program.as_str()).chain(planned.words.iter().map(String::as_str));
        let labels = planned.request.options.labels.clone();
        let result = RunResult { command_line: command_line(words), labels, ..result };
        // What --strict, --require and --verify make of the runs.
        of_runs = sweep::worse(of_runs, judged(&result, &planned.request.options));
        let wants_run = gate.add(&result).map_err(|reason| fail(&reason))?;
        if !wants_run {
            break;
        }
    }
    gate.end().map(|answer| (answer, of_runs)).map_err(|reason| fail(&reason))
}

fn judge_file(command: &GateCommand, file: &Path) -> Result<Answer, Status> {
    let result = saved_results::read(file).map_err(|reason| fail(&reason))?;
    let mut gate = Gate::new(command).map_err(|reason| fail(&reason))?;
    gate.add(&result).and_then(|_| gate.end()).map_err(|reason| fail(&reason))
}

/// The runs of one gate.
struct Gate<'a> {
    command: &'a GateCommand,
    folder: GateFolder,
    /// Entries of its runs.
    own: Vec<GateEntry>,
    judgement: Option<(Judgement, Vec<GateEntry>)>,
    /// Why no answer can be had from the runs.
    withheld: Option<String>,
}

impl<'a> Gate<'a> {
    fn new(command: &'a GateCommand) -> Result<Self, String> {
        let folder = GateFolder::make(&command.folder)?;
        // A directory that cannot be used is refused before the run.
        folder.lock()?.save()?;
        Ok(Self { command, folder, own: Vec::new(), judgement: None, withheld: None })
    }

    /// Records a run; true if another may change the answer.
    fn add(&mut self, result: &RunResult) -> Result<bool, String> {
        let mut index = self.folder.lock()?;
        let is_known = |entry: &&GateEntry| {
            entry.file.is_some() && entry.at_unix_ns == result.started_at && result.started_at != UnixTime::UNKNOWN
        };
        let known = index.entries.iter().find(is_known).cloned();
        let entry = match known {
            Some(known) => known,
            None => index.record(result)?,
        };
        self.own.push(entry.clone());
        let others: Vec<GateEntry> =
            index.entries.iter().filter(|other| !self.own.iter().any(|own| own.file == other.file)).cloned().collect();
        drop(index);
        if let Some(span) = result.time_spans.first().filter(|_| entry.is_invalid()) {
            let findings = span.verdict.iter().flat_map(|verdict| &verdict.findings);
            let invalid = findings.filter(|finding| finding.severity == Severity::Invalid);
            let names: Vec<&str> = invalid.map(|finding| &*finding.name).collect();
            self.withheld = Some(format!("the run is INVALID ({}): it is kept, but is not history", names.join(", ")));
            return Ok(false);
        }
        let span = result.profile.time_spans.first().ok_or("the result has no timespan")?;
        let names = self.names(span)?;
        let has_all = |entry: &&GateEntry| names.iter().all(|name| entry.value(name).is_some());
        if let Some(missing) = names.iter().find(|name| entry.value(name).is_none()) {
            self.withheld = Some(format!("the run has no {missing} above 0"));
            return Ok(false);
        }
        let earlier: Vec<GateEntry> =
            history_of(&others, &entry.fingerprint).into_iter().filter(has_all).cloned().collect();
        let newest = others.iter().rev().find(|other| other.file.is_some());
        if let Some(newest) = newest.filter(|_| earlier.is_empty() && self.own.len() == 1) {
            let words = differences(&newest.fingerprint, &entry.fingerprint);
            if !words.is_empty() {
                say(&format!("a new history begins: {words}"));
            }
        }
        let values = |name: &MetricName, of: &[GateEntry]| of.iter().filter_map(|entry| entry.value(name)).collect();
        let series: Vec<Series> = names
            .iter()
            .map(|name| Series { figure: name.clone(), earlier: values(name, &earlier), new: values(name, &self.own) })
            .collect();
        let judgement = judge(&series);
        let wants_run = judgement.wants_run;
        self.judgement = Some((judgement, earlier));
        Ok(wants_run)
    }

    /// The metrics that are judged, by full name.
    fn names(&self, span: &TimeSpan) -> Result<Vec<MetricName>, String> {
        let bare = JUDGED.map(MetricName::bare);
        let asked = if self.command.metrics.is_empty() { &bare[..] } else { &self.command.metrics };
        let resolved: Result<Vec<_>, String> = asked.iter().map(|name| name.resolve(span)).collect();
        let mut names: Vec<MetricName> = resolved?.concat();
        let is_default = self.command.metrics.is_empty();
        names.retain(|name| !is_default || !name.metric.needs_latency() || span.measure_latency);
        Ok(names)
    }

    /// The answer; it is written down beside its runs.
    fn end(self) -> Result<Answer, String> {
        let answer = match (self.withheld, &self.judgement) {
            (Some(reason), _) => Answer::cannot_tell(&reason),
            (None, Some((judgement, earlier))) => answer(judgement, earlier, &self.own),
            (None, None) => Answer::cannot_tell("no run was made"),
        };
        let is_judged = self.judgement.is_some_and(|(of, _)| of.verdict != GateVerdict::NotEnough);
        if is_judged {
            let mut index = self.folder.lock()?;
            for entry in &mut index.entries {
                if self.own.iter().any(|own| own.file == entry.file) {
                    entry.gate = Some(answer.outcome);
                }
            }
            index.save()?;
        }
        Ok(answer)
    }
}

/// Begins the history anew with the runs since the load is worse, or with the latest.
fn accept(command: &GateCommand, reason: &str) -> Status {
    let accepted = GateFolder::open(&command.folder).and_then(|folder| {
        let mut index = folder.lock()?;
        let latest = index.entries.iter().rev().find(|entry| entry.file.is_some() && !entry.is_invalid());
        let latest = latest.ok_or_else(|| format!("no results in '{}'", command.folder.display()))?;
        let same = index
            .entries
            .iter()
            .rev()
            .filter(|entry| entry.file.is_some() && !entry.is_invalid() && entry.fingerprint == latest.fingerprint);
        let worse = same.take_while(|entry| entry.gate == Some(GateOutcome::Fail));
        let from: UnixTime = worse.last().unwrap_or(latest).at_unix_ns;
        let acceptance = GateEntry {
            schema: GATE_SCHEMA.to_owned(),
            at_unix_ns: from,
            fingerprint: latest.fingerprint.clone(),
            accepted: Some(reason.to_owned()),
            ..GateEntry::default()
        };
        index.entries.push(acceptance);
        index.save()?;
        Ok(from)
    });
    match accepted {
        Ok(from) => {
            let line = format!("accepted: the history begins with the run of {}\n", render::system::utc(from));
            printed(print(line.as_bytes()), Status::Done)
        }
        Err(reason) => fail(&reason),
    }
}
