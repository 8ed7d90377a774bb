//! `diskspd monitor`: what block devices do, as a live table, as comma-separated values or as JSON lines.

#[cfg_attr(not(feature = "ebpf"), path = "absent/histogram.rs")]
mod histogram;
mod sinks;

use crate::feature::Feature;
use crate::interrupt::{self, Signals};
use crate::output::{can_draw, say, say_each};
use crate::outputs::{OutputFile, Protected, Replace};
use crate::status::{Ended, Status, fail};
use cli::subcommand::monitor::{DevicesAsked, LineForm, WatchRequest};
use host::{NamedDevice, Root};
use live::choice::Choice;
use live::ticks::Ticks;
use live::watch::Watch;
use live::watch_lines::{self, Column};
use model::performance_counter::{CounterPattern, TOTAL_INSTANCE};
use render::document::DocumentKind;
use sinks::MonitorSinks;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long to wait before looking at signals again: one that comes just before a sleep does not end it.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs `diskspd monitor`.
pub(crate) fn run(request: &WatchRequest) -> Status {
    match request.histogram {
        Some(when) => histogram::run(request, when),
        None => begin(request).map_or_else(|status| status, |monitor| monitor.go_on(request)),
    }
}

/// A monitor that is about to begin.
struct Monitor {
    watch: Watch,
    sinks: MonitorSinks,
    signals: Signals,
}

/// Checks everything and opens what is written to.
fn begin(request: &WatchRequest) -> Result<Monitor, Status> {
    let root = Root::machine();
    let choice = choice(&root, request).map_err(|reasons| invalid(&reasons))?;
    let (output, record) = files(request).map_err(|reasons| invalid(&reasons))?;
    let host = host::computer_name(&root);
    let watch =
        Watch::begin(root, choice).ok_or_else(|| fail("no block devices in /proc/diskstats or /sys/class/block"))?;
    let form = form(request).map_err(|reason| invalid(&[reason]))?;
    let is_unasked = form.is_some() && request.lines.is_none() && request.output.is_none();
    if is_unasked && !std::io::stdout().is_terminal() && std::io::stderr().is_terminal() {
        say("stdout is not a terminal: writing CSV (--csv); use --jsonl for JSON lines");
    }
    let columns = match form {
        Some(LineForm::Csv) => columns(request, &watch).map_err(|reason| invalid(&[reason]))?,
        _ => Vec::new(),
    };
    let signals = signals()?;
    let begin = watch.facts(host, request.interval.as_nanos() as u64);
    let sinks = MonitorSinks::begin(form, columns, &begin, output, record).map_err(Ended::status)?;
    Ok(Monitor { watch, sinks, signals })
}

impl Monitor {
    fn go_on(mut self, request: &WatchRequest) -> Status {
        let mut ticks = Ticks::new(self.watch.begun_ns(), request.interval.as_nanos() as u64);
        let outcome = self.tell(&mut ticks, request.sample_count);
        // A recording ends well too if whoever looked on went away.
        let ended = self.sinks.end(ticks.missed_count());
        // The terminal is restored before anything is printed.
        drop(self.sinks);
        match outcome.and(ended) {
            Ok(()) => Status::Done,
            Err(ended) => ended.status(),
        }
    }

    /// Tells of intervals until enough are told, or the user or a reader has enough.
    fn tell(&mut self, ticks: &mut Ticks, sample_count: Option<u64>) -> Result<(), Ended> {
        while !self.signals.interrupted.load(Ordering::Relaxed) {
            let due = ticks.due(sys::clock::monotonic_ns());
            if let Some(interval) = due.and_then(|number| self.watch.read(number)) {
                self.sinks.take(&interval, &self.watch)?;
                if sample_count.is_some_and(|count| self.sinks.told_count() >= count) {
                    break;
                }
            }
            if self.sinks.wait(ticks.next_ns())?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The form of lines; `None` = the live table.
fn form(request: &WatchRequest) -> Result<Option<LineForm>, String> {
    let form = request.lines.or_else(|| (!can_draw(&std::io::stdout())).then_some(LineForm::Csv));
    let missing = Feature::Screens.missing().filter(|_| form.is_none());
    missing.map_or(Ok(form), |reason| Err(format!("the live table: {reason}; --csv and --jsonl work without it")))
}

fn signals() -> Result<Signals, Status> {
    interrupt::watch().map_err(|error| fail(&format!("cannot handle signals: {error}")))
}

fn invalid(reasons: &[String]) -> Status {
    say_each("ERROR", reasons);
    Status::Refused
}

/// Which devices to watch; all that is wrong with those that were named.
fn choice(root: &Root, request: &WatchRequest) -> Result<Choice, Vec<String>> {
    let paths = match &request.devices {
        DevicesAsked::All => return Ok(Choice::All),
        DevicesAsked::Usual if request.counters.is_empty() => return Ok(Choice::Usual),
        DevicesAsked::Usual => {
            let named = request.counters.iter().filter(|pattern| pattern.names_one_instance());
            return Ok(Choice::Used(named.map(|pattern| pattern.instance.clone()).collect()));
        }
        DevicesAsked::These(paths) => paths,
    };
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match host::named_device(root, path) {
            NamedDevice::Device(name) => names.push(name),
            NamedDevice::Missing => errors.push(missing(path)),
            NamedDevice::NoDevice { stands_on } => errors.push(no_device(path, &stands_on)),
        }
    }
    if errors.is_empty() { Ok(Choice::Named(names)) } else { Err(errors) }
}

fn missing(path: &Path) -> String {
    format!("no device '{}'; 'diskspd devices' lists all devices", path.display())
}

fn no_device(path: &Path, stands_on: &[String]) -> String {
    let shown = path.display();
    match stands_on {
        [] => format!("'{shown}' is not a block device; 'diskspd devices' lists all devices"),
        names => {
            format!("'{shown}' is not a block device; monitor the device it is stored on: {}", names.join(", "))
        }
    }
}

/// The files to write, checked.
fn files(request: &WatchRequest) -> Result<(Option<OutputFile>, Option<OutputFile>), Vec<String>> {
    let mut errors = Vec::new();
    let mut checked = |option: &str, path: Option<&PathBuf>, kind: DocumentKind, protected: &[Protected]| {
        let path = path?;
        match OutputFile::check(path, Replace { kind, any: request.replace_output }, protected) {
            Ok(file) => Some(file),
            Err(reason) => {
                errors.push(format!("{option} '{}': {reason}", path.display()));
                None
            }
        }
    };
    let lines = match request.lines {
        Some(LineForm::Json) => DocumentKind::MonitorJsonLines,
        _ => DocumentKind::MonitorCsv,
    };
    let output = checked("--output", request.output.as_ref(), lines, &[]);
    let taken = request.output.iter().map(|path| Protected { path: path.clone(), role: "the --output file" });
    let recording = DocumentKind::MonitorRecording;
    let record = checked("--record", request.record.as_ref(), recording, &taken.collect::<Vec<_>>());
    if errors.is_empty() { Ok((output, record)) } else { Err(errors) }
}

/// The columns of comma-separated values.
fn columns(request: &WatchRequest, watch: &Watch) -> Result<Vec<Column>, String> {
    if watch.devices().next().is_none() {
        return Err("no device to monitor; diskspd monitor all monitors every device".to_owned());
    }
    if request.counters.is_empty() {
        return Ok(watch_lines::usual_columns(watch.devices()));
    }
    watch_lines::columns(&request.counters, watch.devices()).map_err(|unfit| nothing_fits(&unfit, watch))
}

fn nothing_fits(unfit: &[CounterPattern], watch: &Watch) -> String {
    let unfit: Vec<String> = unfit.iter().map(ToString::to_string).collect();
    let there = watch.devices();
    let there =
        there.flat_map(|(name, device)| device.objects().map(move |object| format!("{}({name})", object.name())));
    let there: Vec<String> = there.collect();
    format!(
        "no device matches {} (available: {}, and {TOTAL_INSTANCE} for each object)",
        unfit.join(", "),
        there.join(", ")
    )
}
