//! `diskspd verify --cycles`: repeated crashes of a load, each followed by a search for lost writes on its targets.

use crate::interrupt::{self, Signals};
use crate::journal;
use crate::output::{print, say};
use crate::outputs::{OutputFile, Protected, Replace, future_path};
use crate::preset;
use crate::request_checks::{outputs_of, protected, with_log_files};
use crate::status::{Status, fail, printed, refuse, refuse_each, refuse_with};
use crate::system_env::SystemEnv;
use crate::target_reading::{print_report, status_of};
use cli::subcommand::preset::PresetCommand;
use cli::subcommand::verify::VerifyRequest;
use cli::{Command, LineCommand, RunRequest, Subcommand};
use model::verification::{Cycle, CycleSeries, Outcome};
use render::Detail;
use render::document::{DocumentKind, cycle_load_title};
use report::Report;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use sys::folder::Folder;
use verify::log::{HEAD_BYTES, log_name};

/// Polling interval.
const TICK: Duration = Duration::from_millis(20);

/// Time for a load to end after a cut before it is killed.
const END: Duration = Duration::from_secs(30);

/// Time for a killed load to end, and for its targets to reappear, once the storage is back.
const BACK: Duration = Duration::from_mins(1);

/// Range of the load's duration, as fractions, in which the cut falls.
const CUT_FROM: f64 = 0.05;
const CUT_UNTIL: f64 = 0.9;

/// Prefix of the names of directories of cycles; the number follows.
const CYCLE_PREFIX: &str = "cycle-";

/// The files of a cycle beside its journal.
const LOAD_FILE: (&str, DocumentKind) = ("load.txt", DocumentKind::CycleLoad);
const REPORT_FILE: (&str, DocumentKind) = ("verify.json", DocumentKind::Verification);

/// Why a series ends.
enum SeriesEnd {
    /// Ctrl+C.
    Interrupted,
    /// The series cannot continue.
    Failed(String),
}

/// Parameters of each cycle.
struct Plan<'a> {
    cut: &'a str,
    back: Option<&'a str>,
    folder: &'a CycleFolder,
    load: &'a [String],
    targets: Vec<PathBuf>,
    time: Duration,
    signals: &'a Signals,
}

/// Runs a series.
pub(crate) fn run(request: &VerifyRequest, cycles: u32) -> Status {
    let words: Vec<OsString> = request.cycles.load.iter().map(OsString::from).collect();
    let load = match cli::parse(&words, &SystemEnv) {
        Ok(Command::Line(LineCommand::Run(load))) => load,
        Ok(Command::Subcommand(Subcommand::Preset(PresetCommand::Run(named)))) => match preset::request_of(&named) {
            Ok(load) => load,
            Err(reason) => return refuse_with(&reason),
        },
        Ok(_) => {
            return refuse_with("--cycles needs a load after --: its options and targets, or preset run NAME TARGET");
        }
        Err(failure) => return refuse(&failure),
    };
    let (Some(cut), Some(folder)) = (&request.cycles.cut, &request.journal) else {
        return refuse_with("--cycles needs --cut and --journal");
    };
    let folder = match CycleFolder::check(folder, cycles, &load) {
        Ok(folder) => folder,
        Err(reasons) => {
            return refuse_each(&reasons);
        }
    };
    let signals = match interrupt::watch() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("cannot watch for signals: {error}")),
    };
    let plan = Plan {
        cut,
        back: request.cycles.back.as_deref(),
        folder: &folder,
        load: &request.cycles.load,
        targets: targets(&load),
        time: load
            .profile
            .time_spans
            .iter()
            .map(|span| Duration::from_secs(u64::from(span.warm_up_s) + u64::from(span.duration_s)))
            .sum(),
        signals: &signals,
    };
    let mut series = CycleSeries::new(cycles);
    let mut is_interrupted = false;
    for number in 1..=cycles {
        let cycle = match plan.cycle(number) {
            Ok(cycle) => cycle,
            Err(SeriesEnd::Interrupted) => {
                is_interrupted = true;
                say("the series was interrupted");
                break;
            }
            Err(SeriesEnd::Failed(reason)) => return fail(&format!("cycle {number}: {reason}")),
        };
        if !request.json
            && let Err(error) = print_text(&report::cycle(&cycle))
        {
            return printed(Err(error), Status::Failed);
        }
        if series.add(cycle) {
            break;
        }
    }
    let mut status = status_of(series.outcome);
    if is_interrupted && series.cycles.is_empty() {
        status = interrupt::status_without_results().unwrap_or(status);
    }
    print_report(&series, || report::cycles(&series, &folder.path), request.json, status)
}

fn print_text(report: &Report) -> io::Result<()> {
    let mut text = Vec::new();
    render::report_text(report, Detail::Full, &mut text).and_then(|()| print(&text))
}

/// The findings after a cut, from the report of its verification.
fn cycle_of(number: u32, cut_after: Duration, report: &[u8]) -> Option<Cycle> {
    let report: Value = serde_json::from_slice(report).ok()?;
    let targets = report["targets"].as_array()?;
    let sum = |name: &str| targets.iter().filter_map(|target| target[name].as_u64()).sum();
    Some(Cycle {
        number,
        cut_after_ns: cut_after.as_nanos() as u64,
        outcome: serde_json::from_value(report["outcome"].clone()).ok()?,
        was_cut_off: report["logged_changes"].is_u64(),
        logged_changes: report["logged_changes"].as_u64().unwrap_or(0),
        logged_flushes: report["logged_flushes"].as_u64().unwrap_or(0),
        journal_ends_early: report["journal_ends_early"].as_bool().unwrap_or(false),
        durable_units: sum("durable_units"),
        unflushed_units: sum("unflushed_units"),
        torn_units: sum("torn_units"),
        corrupt_units: sum("corrupt_units"),
    })
}

/// The files and devices of a load.
fn targets(load: &RunRequest) -> Vec<PathBuf> {
    let mut targets: Vec<PathBuf> = Vec::new();
    for target in with_log_files(load).profile.time_spans.iter().flat_map(|span| &span.targets) {
        if !targets.contains(&target.path) {
            targets.push(target.path.clone());
        }
    }
    targets
}

impl Plan<'_> {
    fn cycle(&self, number: u32) -> Result<Cycle, SeriesEnd> {
        let folder = self.folder.of_cycle(number).map_err(SeriesEnd::Failed)?;
        let journal = &folder.path;
        // Logs of an earlier series would be mistaken for those of this load.
        run::journal::remove_logs(&folder.held)
            .map_err(|error| SeriesEnd::Failed(format!("'{}': {error}", journal.display())))?;
        let mut load = self.start(&folder, number)?;
        let wait = self.time.mul_f64(CUT_FROM + (CUT_UNTIL - CUT_FROM) * share());
        let started = self.wait_for_load(&mut load, journal);
        let waited = started.and_then(|()| self.wait(&mut load, wait));
        if let Err(ended) = waited {
            // Nothing was cut.
            end(&mut load, Duration::ZERO);
            return Err(ended);
        }
        let cut = Self::shell(self.cut, "--cut", &load, number);
        let has_ended = end(&mut load, END);
        // The storage must come back in any case.
        self.back.map_or(Ok(()), |back| Self::shell(back, "--back", &load, number))?;
        if !has_ended && !end(&mut load, BACK) {
            return Err(SeriesEnd::Failed("the load does not end: its I/Os never came back".to_owned()));
        }
        // Ctrl+C also ends the load, so the command has nothing left to cut.
        if self.signals.interrupted.load(Relaxed) {
            return Err(SeriesEnd::Interrupted);
        }
        cut?;
        self.wait_for_targets()?;
        let cycle = self.verify(number, wait, &folder);
        let is_known = cycle.as_ref().is_ok_and(|cycle| cycle.outcome != Outcome::CannotTell);
        if self.signals.interrupted.load(Relaxed) && !is_known { Err(SeriesEnd::Interrupted) } else { cycle }
    }

    fn start(&self, folder: &CycleFolder, number: u32) -> Result<Child, SeriesEnd> {
        let failed = |what: &str, error: io::Error| SeriesEnd::Failed(format!("cannot {what}: {error}"));
        let title = |out: &mut dyn Write| writeln!(out, "{}", cycle_load_title(number));
        let output = folder.output(LOAD_FILE).map_err(SeriesEnd::Failed)?.write_beginning(title);
        let output = output.map_err(|error| failed("keep the output of the load", error))?;
        let errors = output.try_clone().map_err(|error| failed("keep the output of the load", error))?;
        let mut command = itself();
        // Options come before the targets.
        let named = if self.load.first().is_some_and(|word| word == "preset") { 3 } else { 0 };
        let (name, rest) = self.load.split_at(named.min(self.load.len()));
        command.args(name);
        if !self.load.iter().any(|word| word == "--verify") {
            command.arg("--verify");
        }
        command.arg(format!("--journal={}", folder.path.display())).args(rest);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command.spawn().map_err(|error| failed("start the load", error))
    }

    /// Waits until the load logs its first record.
    fn wait_for_load(&self, load: &mut Child, journal: &Path) -> Result<(), SeriesEnd> {
        loop {
            self.wait(load, TICK)?;
            let has_records = |thread: u32| {
                let mut word = [0; 8];
                let file = File::open(journal.join(log_name(thread)));
                file.and_then(|file| file.read_exact_at(&mut word, HEAD_BYTES)).is_ok() && word != [0; 8]
            };
            if (0..64).any(has_records) {
                return Ok(());
            }
        }
    }

    /// Waits; an error if the load ends in the meantime.
    fn wait(&self, load: &mut Child, time: Duration) -> Result<(), SeriesEnd> {
        let until = Instant::now() + time;
        loop {
            if self.signals.interrupted.load(Relaxed) {
                return Err(SeriesEnd::Interrupted);
            }
            if let Ok(Some(status)) = load.try_wait() {
                let output = "its output is in load.txt in the directory of the cycle";
                return Err(SeriesEnd::Failed(format!("the load ended before the cut ({status}); {output}")));
            }
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            std::thread::sleep(TICK.min(until - now));
        }
    }

    fn shell(command: &str, option: &str, load: &Child, number: u32) -> Result<(), SeriesEnd> {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(command).env("DISKSPD_PID", load.id().to_string()).env("DISKSPD_CYCLE", number.to_string());
        // Its output is not part of the report. Ctrl+C in a terminal does not reach it: the storage must come back.
        let status = shell.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(SeriesEnd::Failed(format!("the command of {option} failed ({status})"))),
            Err(error) => Err(SeriesEnd::Failed(format!("cannot run the command of {option}: {error}"))),
        }
    }

    /// Waits for a device to reappear.
    fn wait_for_targets(&self) -> Result<(), SeriesEnd> {
        let until = Instant::now() + BACK;
        for target in &self.targets {
            while let Err(error) = File::open(target) {
                if Instant::now() >= until {
                    return Err(SeriesEnd::Failed(format!("'{}' did not come back: {error}", target.display())));
                }
                if self.signals.interrupted.load(Relaxed) {
                    return Err(SeriesEnd::Interrupted);
                }
                std::thread::sleep(TICK);
            }
        }
        Ok(())
    }

    fn verify(&self, number: u32, wait: Duration, folder: &CycleFolder) -> Result<Cycle, SeriesEnd> {
        let failed = |what: &str| SeriesEnd::Failed(format!("cannot verify the targets: {what}"));
        let mut command = itself();
        command.args(["verify", "--json", "--journal"]).arg(&folder.path);
        // Targets whose names look like options.
        let is_odd = |target: &Path| target.as_os_str().as_encoded_bytes().starts_with(b"-");
        let paths =
            self.targets.iter().map(|target| if is_odd(target) { Path::new(".").join(target) } else { target.clone() });
        command.args(paths);
        let command = command.stdin(Stdio::null()).output().map_err(|error| failed(&error.to_string()))?;
        if ![0, 5, 6].contains(&command.status.code().unwrap_or(-1)) {
            return Err(failed(String::from_utf8_lossy(&command.stderr).trim()));
        }
        let kept = folder.output(REPORT_FILE).map_err(|reason| failed(&reason))?;
        kept.write(|out| out.write_all(&command.stdout)).map_err(|error| failed(&error.to_string()))?;
        cycle_of(number, wait, &command.stdout).ok_or_else(|| failed("its report cannot be read"))
    }
}

/// The directory of a series or of one of its cycles. It is held open, so files are written in it even if its path
/// changes, and symbolic links in it are not followed.
struct CycleFolder {
    path: PathBuf,
    held: Folder,
}

impl CycleFolder {
    /// Checks the directory of a series; the errors name everything in it that conflicts with the series.
    fn check(path: &Path, cycles: u32, load: &RunRequest) -> Result<Self, Vec<String>> {
        let held = Folder::open(path)
            .map_err(|error| vec![format!("--journal='{}': {error}; create it first", path.display())])?;
        let folder = Self { path: path.to_owned(), held };
        let reasons = folder.obstacles(cycles, load);
        if reasons.is_empty() { Ok(folder) } else { Err(reasons) }
    }

    /// The directory of a cycle; created if it does not exist.
    fn of_cycle(&self, number: u32) -> Result<Self, String> {
        let name = cycle_name(number);
        let path = self.path.join(&name);
        let made = match self.held.create_folder(name.as_ref()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.held.open_folder(name.as_ref()),
        };
        match made {
            Ok(held) => Ok(Self { path, held }),
            Err(error) => {
                Err(format!("--journal: '{}' cannot be used as the directory of a cycle: {error}", path.display()))
            }
        }
    }

    /// A file of a cycle, if it can be written: it does not exist, or is of an earlier series.
    fn output(&self, (name, kind): (&str, DocumentKind)) -> Result<OutputFile, String> {
        OutputFile::check_within(&self.held, &self.path, name, Replace { kind, any: false }, "give another directory")
            .map_err(|reason| format!("--journal: '{}': {reason}", self.path.join(name).display()))
    }

    fn obstacles(&self, cycles: u32, load: &RunRequest) -> Vec<String> {
        let mut reasons = Vec::new();
        for number in 1..=cycles {
            if matches!(self.held.find(cycle_name(number).as_ref()), Ok(None)) {
                continue;
            }
            let checked = self.of_cycle(number).and_then(|cycle| {
                journal::check_files(&cycle.held, &cycle.path)?;
                [LOAD_FILE, REPORT_FILE].into_iter().try_for_each(|file| cycle.output(file).map(drop))
            });
            reasons.extend(checked.err());
        }
        let load = with_log_files(load);
        let files: Vec<Protected> = protected(&load.profile).into_iter().chain(outputs_of(&load.options)).collect();
        for Protected { path, role } in files {
            if is_in_cycle(&self.path, &path) {
                reasons.push(format!(
                    "--journal='{}': '{}', {role}, lies in the directory of a cycle: give it another directory",
                    self.path.display(),
                    path.display()
                ));
            }
        }
        reasons
    }
}

fn cycle_name(number: u32) -> String {
    format!("{CYCLE_PREFIX}{number}")
}

/// True if a file lies, or will lie, in the directory of a cycle of the series in `folder`.
fn is_in_cycle(folder: &Path, file: &Path) -> bool {
    let (Some(folder), Some(file)) = (future_path(folder), future_path(file)) else { return false };
    let first = file.strip_prefix(&folder).ok().and_then(|rest| rest.components().next());
    first.is_some_and(|first| first.as_os_str().as_encoded_bytes().starts_with(CYCLE_PREFIX.as_bytes()))
}

/// This program, even if its file was replaced since it was started.
fn itself() -> std::process::Command {
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("diskspd");
    command
}

/// Waits for the end of a load, and kills it after some time. True once it has ended.
fn end(load: &mut Child, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if !matches!(load.try_wait(), Ok(None)) {
            return true;
        }
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(TICK);
    }
    // It may have ended by itself.
    let _ = load.kill();
    let until = Instant::now() + Duration::from_secs(5);
    while matches!(load.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(TICK);
    }
    true
}

/// A random fraction from 0 to 1.
fn share() -> f64 {
    (crate::random::random() >> 11) as f64 / (1u64 << 53) as f64
}
