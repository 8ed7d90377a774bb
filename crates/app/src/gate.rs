//! `diskspd gate`: runs a load, keeps the result, and compares it with earlier ones.

mod fingerprint;
mod folder;
mod history;

use crate::interrupt;
use crate::output::{print, say, say_each};
use crate::outputs::{
    OutputFile, Protected, Replace, cannot_write, has_figures, is_below_target, is_folder_of_target, names_in,
};
use crate::run_report::judged;
use crate::saved_results;
use crate::series_places;
use crate::series_runner::{ProfileRefusal, SeriesRunner};
use crate::status::{Status, fail, printed, refuse_with};
use crate::sweep::{self, check_points, delete_targets};
use crate::system_env::Invocation;
use cli::RunOptions;
use cli::subcommand::gate::{GateCommand, GateTask};
use cli::subcommand::sweep::SweepCommand;
use cli::sweep::PlannedPoint;
use fingerprint::differences;
use folder::{GateFolder, own_files};
pub(crate) use history::run as history;
use model::finding::Severity;
use model::gate::{GATE_SCHEMA, GateEntry, GateOutcome, history_of};
use model::metric::{Metric, MetricName};
use model::printable::command_line;
use model::profile::TimeSpan;
use model::result::RunResult;
use model::sweep::SeriesKind;
use model::units::UnixTime;
use render::document::DocumentKind;
use report::words::gate::{Answer, answer};
use stats::gate::{GateVerdict, Judgement, Series, judge};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tune::RunFailure;

/// Metrics judged by default.
const JUDGED: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];

/// Set by GitHub Actions: the file to which the steps of a job append their summaries.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// Runs `diskspd gate`.
pub(crate) fn run(invocation: &Invocation, command: &GateCommand) -> Status {
    let points = match &command.task {
        GateTask::Run { points, .. } => &points[..],
        GateTask::Pairs(SweepCommand::Run { request, .. }) => &request.points[..],
        _ => &[],
    };
    let targets =
        points.iter().flat_map(|point| crate::request_checks::protected(&point.request.profile)).collect::<Vec<_>>();
    if let Some(file) = targets.iter().find(|file| is_misplaced(&command.folder, &file.path)) {
        let folder = command.folder.display();
        return refuse_with(&format!("'{folder}' is or contains {}: give another directory", file.role));
    }
    let protected = targets.into_iter().chain(own_files(&command.folder)).collect::<Vec<_>>();
    let outputs = match Outputs::check(command, &protected) {
        Ok(outputs) => outputs,
        Err(reason) => return refuse_with(&reason),
    };
    let ended = match &command.task {
        GateTask::Run { points, runs } => run_load(invocation, command, points, *runs),
        GateTask::Judge(file) => judge_file(command, file),
        GateTask::Pairs(SweepCommand::Run { request, replace_output, .. }) => {
            let name = format!("ab-{}", sys::clock::realtime_ns());
            let folder = Some(command.folder.join(name));
            let sides = SweepCommand::Run {
                request: request.clone(),
                folder,
                replace_output: *replace_output,
                plan_only: false,
            };
            let status = sweep::run(invocation, sides, SeriesKind::Ab);
            let outcome = match status {
                Status::Done => Ok(GateOutcome::Pass),
                Status::No => Ok(GateOutcome::Fail),
                Status::CannotTell => Ok(GateOutcome::CannotTell),
                other => Err(other),
            };
            outcome.map(|outcome| (Answer::of_pairs(outcome), status))
        }
        GateTask::Pairs(SweepCommand::Resume { .. }) => Err(refuse_with("a gate cannot be resumed")),
        GateTask::Accept(reason) => return accept(command, reason),
    };
    let (answer, status) = match ended {
        Ok(ended) => ended,
        Err(status) => return status,
    };
    let shown = print(render::gate::text(&answer).as_bytes());
    if let Err(reason) = outputs.write(&answer) {
        return fail(&reason);
    }
    printed(shown, status)
}

/// True if results would be stored at a target, or beside one whose name may be that of a result.
fn is_misplaced(folder: &Path, target: &Path) -> bool {
    is_folder_of_target(folder, target)
        || is_below_target(folder, target)
        || !names_in(folder, std::iter::once(target.to_owned())).is_empty()
}

/// The files of `--summary` and `--junit`, checked.
struct Outputs {
    /// With true if the summary is appended to the file.
    summary: Option<(OutputFile, bool)>,
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
            check("--summary", path, DocumentKind::GateSummary, is_of_job).map(|file| (file, is_of_job))
        };
        let summary = command.summary.as_ref().map(of_summary).transpose()?;
        let junit =
            command.junit.as_ref().map(|path| check("--junit", path, DocumentKind::JUnit, false)).transpose()?;
        if summary.as_ref().zip(junit.as_ref()).is_some_and(|((summary, _), junit)| summary.is(junit)) {
            return Err("--junit and --summary name one file".to_owned());
        }
        Ok(Self { summary, junit })
    }

    fn write(&self, answer: &Answer) -> Result<(), String> {
        let write = |file: &OutputFile, text: String, is_added: bool| {
            let text = text.as_bytes();
            let written = if is_added { file.add(text) } else { file.write(|out| out.write_all(text)) };
            written.map_err(|error| cannot_write(file.name(), &error))
        };
        if let Some((file, is_added)) = &self.summary {
            write(file, render::gate::summary(answer), *is_added)?;
        }
        self.junit.as_ref().map_or(Ok(()), |file| write(file, render::gate::junit(answer), false))
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
    let mut runner = series_places::runner(points, &signals, &part)?;
    check_points(points.iter().enumerate(), &mut *runner).map_err(ProfileRefusal::print_reasons)?;
    let planned = points.first().ok_or_else(|| fail("there is no load"))?;
    say_each("WARNING", &planned.request.warnings);
    crate::request_checks::say_overwrite_of_environment(&planned.request);
    let mut gate = Gate::new(command).map_err(|reason| fail(&reason))?;
    let failed = |failure| match failure {
        RunFailure::Failed(reasons) => {
            say_each("ERROR", &reasons);
            Status::Failed
        }
        RunFailure::Interrupted => {
            say("stopped; runs that were complete are kept");
            crate::interrupt::status_without_results().unwrap_or(Status::Failed)
        }
    };
    say(&format!("load: {}", runner.load_line(0, &planned.request.profile, false)));
    let program = invocation.program.to_string_lossy().into_owned();
    let mut measure = |number: u32, runner: &mut dyn SeriesRunner| {
        if number == 1 {
            runner.prepare(0, &planned.request.profile).map_err(&failed)?;
        }
        *part.borrow_mut() = format!("{number} of up to {runs}");
        let mut profile = planned.request.profile.clone();
        for span in &mut profile.time_spans {
            // Each run has different offsets; otherwise the history would only have the scatter of one.
            span.random_seed = crate::random::random() as u32;
        }
        let result = runner.run(0, &profile).map_err(&failed)?;
        let words = std::iter::once(program.as_str()).chain(planned.words.iter().map(String::as_str));
        let labels = planned.request.options.labels.clone();
        let result = RunResult { command_line: command_line(words), labels, ..result };
        gate.heed(&result, &planned.request.options);
        gate.add(&result).map_err(|reason| fail(&reason))
    };
    let mut ended = Ok(true);
    for number in 1..=runs {
        ended = measure(number, &mut *runner);
        if !matches!(ended, Ok(true)) {
            break;
        }
    }
    delete_targets(points, &mut *runner);
    ended?;
    gate.end().map_err(|reason| fail(&reason))
}

fn judge_file(command: &GateCommand, file: &Path) -> Result<(Answer, Status), Status> {
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
    /// The reason why the runs permit no answer.
    withheld: Option<String>,
    /// The worst status by `--strict`, `--require` and `--verify`.
    status: Status,
    /// The requirements that are not met, or not known to be.
    unmet: Vec<String>,
}

impl<'a> Gate<'a> {
    fn new(command: &'a GateCommand) -> Result<Self, String> {
        let folder = GateFolder::make(&command.folder)?;
        // An unusable directory is refused before the run.
        folder.lock()?.save()?;
        Ok(Self {
            command,
            folder,
            own: Vec::new(),
            judgement: None,
            withheld: None,
            status: Status::Done,
            unmet: Vec::new(),
        })
    }

    /// Applies the requirements to the result of a run.
    fn heed(&mut self, result: &RunResult, options: &RunOptions) {
        self.status = Status::worst([self.status, judged(result, options)]);
        let findings = result.time_spans.iter().flat_map(|span| &span.requirements);
        let unmet = findings.filter(|finding| finding.severity != Severity::Pass);
        self.unmet.extend(unmet.map(|finding| format!("{}: {}", finding.subject, finding.figure)));
    }

    /// Records a run; true if another may change the answer.
    fn add(&mut self, result: &RunResult) -> Result<bool, String> {
        // A run that cannot be judged is not recorded.
        let [span] = &result.profile.time_spans[..] else {
            return Err("a gate judges one timespan; the result has several, or none".to_owned());
        };
        if !has_figures(result) {
            return Err("the result has no figures: its run failed".to_owned());
        }
        let names = self.names(span)?;
        let mut index = self.folder.lock()?;
        let like = folder::entry("", result);
        let is_known = |entry: &&GateEntry| {
            let is_same = (&entry.fingerprint, entry.at_unix_ns) == (&like.fingerprint, result.started_at);
            entry.file.is_some() && is_same && result.started_at != UnixTime::UNKNOWN
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
        let has_all = |entry: &&GateEntry| names.iter().all(|name| entry.value(name).is_some());
        if let Some(missing) = names.iter().find(|name| entry.value(name).is_none()) {
            let is_stalled = entry.metrics.get(&MetricName::bare(Metric::Iops).to_string()) == Some(&0.0);
            self.withheld = Some(if is_stalled {
                self.status = Status::worst([self.status, Status::No]);
                "no I/O was completed".to_owned()
            } else {
                format!("the run has no {missing} above 0")
            });
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
        let wants_run = judgement.wants_run && self.status != Status::No;
        self.judgement = Some((judgement, earlier));
        Ok(wants_run)
    }

    /// Full names of the metrics that are judged.
    fn names(&self, span: &TimeSpan) -> Result<Vec<MetricName>, String> {
        let bare = JUDGED.map(MetricName::bare);
        let asked = if self.command.metrics.is_empty() { &bare[..] } else { &self.command.metrics };
        let resolved: Result<Vec<_>, String> = asked.iter().map(|name| name.resolve(span)).collect();
        let mut names: Vec<MetricName> = resolved?.concat();
        let is_default = self.command.metrics.is_empty();
        names.retain(|name| !is_default || !name.metric.needs_latency() || span.measure_latency);
        Ok(names)
    }

    /// The answer, which is saved with its runs.
    fn end(self) -> Result<(Answer, Status), String> {
        let mut answer = match (self.withheld, &self.judgement) {
            (Some(reason), _) => Answer::cannot_tell(&reason),
            (None, Some((judgement, earlier))) => answer(judgement, earlier, &self.own),
            (None, None) => Answer::cannot_tell("no run was made"),
        };
        answer.outcome = match self.status {
            Status::Done => answer.outcome,
            Status::CannotTell if answer.outcome != GateOutcome::Fail => GateOutcome::CannotTell,
            _ => GateOutcome::Fail,
        };
        answer.reason = [self.unmet, vec![answer.reason]].concat().join("; ");
        let is_judged = answer.outcome == GateOutcome::Fail
            || self.judgement.is_some_and(|(of, _)| of.verdict != GateVerdict::NotEnough);
        if is_judged {
            let mut index = self.folder.lock()?;
            for entry in &mut index.entries {
                if self.own.iter().any(|own| own.file == entry.file) {
                    entry.gate = Some(answer.outcome);
                }
            }
            index.save()?;
        }
        let status = match answer.outcome {
            _ if self.status == Status::Corrupt => Status::Corrupt,
            GateOutcome::Pass => Status::Done,
            GateOutcome::Fail => Status::No,
            GateOutcome::CannotTell => Status::CannotTell,
        };
        Ok((answer, status))
    }
}

/// Restarts the history with the runs since the load became worse, or with the latest run.
fn accept(command: &GateCommand, reason: &str) -> Status {
    let accepted = GateFolder::open(&command.folder).and_then(|folder| {
        let none = || format!("no results in '{}'", command.folder.display());
        // A directory that no gate created is left alone.
        if folder.results()?.is_empty() {
            return Err(none());
        }
        let mut index = folder.lock()?;
        let is_run = |entry: &GateEntry| entry.file.is_some() && !entry.is_invalid();
        let latest = index.entries.iter().rposition(is_run).ok_or_else(none)?;
        let fingerprint = index.entries[latest].fingerprint.clone();
        let is_same = |entry: &GateEntry| is_run(entry) && entry.fingerprint == fingerprint;
        let same = index.entries.iter().enumerate().rev().filter(|(_, entry)| is_same(entry));
        // Runs between the failing ones may be inconclusive.
        let is_bad = |entry: &GateEntry| matches!(entry.gate, Some(GateOutcome::Fail | GateOutcome::CannotTell));
        let since = same.take_while(|(_, entry)| is_bad(entry) && entry.accepted.is_none());
        let first = since.filter(|(_, entry)| entry.gate == Some(GateOutcome::Fail)).last().map_or(latest, |of| of.0);
        index.entries[first..].iter_mut().filter(|entry| is_same(entry)).for_each(|entry| {
            entry.accepted = Some(reason.to_owned());
        });
        let from = index.entries[first].at_unix_ns;
        let acceptance = GateEntry {
            schema: GATE_SCHEMA.to_owned(),
            at_unix_ns: from,
            fingerprint,
            accepted: Some(reason.to_owned()),
            ..GateEntry::default()
        };
        index.entries.insert(first, acceptance);
        index.save()?;
        Ok(from)
    });
    match accepted {
        Ok(from) => {
            let line = format!("accepted: the history begins with the run of {}\n", report::words::time::utc(from));
            printed(print(line.as_bytes()), Status::Done)
        }
        Err(reason) => fail(&reason),
    }
}
