//! `diskspd monitor`: activity of block devices and the system, as a table, as comma-separated values or as JSON lines.

#[cfg_attr(not(feature = "ebpf"), path = "absent/histogram.rs")]
mod histogram;
mod sinks;

use crate::feature::Feature;
use crate::interrupt::{self, Signals};
use crate::output::{can_draw, say};
use crate::outputs::{OutputFile, Protected, Replace};
use crate::status::{MonitorEnd, Status, fail, refuse_each};
use cli::subcommand::monitor::{DevicesAsked, LineForm, WatchRequest};
use host::{NamedDevice, Root};
use live::choice::Choice;
use live::ticks::Ticks;
use live::watch::Watch;
use live::watch_lines::{self, Column};
use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::performance_counter::CounterPattern;
use render::document::DocumentKind;
use sinks::MonitorSinks;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time until signals are polled again: one that arrives just before a sleep does not end it.
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

/// Checks everything and opens the files to be written.
fn begin(request: &WatchRequest) -> Result<Monitor, Status> {
    let root = Root::machine();
    let Chosen { choice, counters, notes } = choice(&root, request).map_err(|reasons| invalid(&reasons))?;
    let (output, record) = files(request).map_err(|reasons| invalid(&reasons))?;
    let host = host::computer_name(&root);
    let watch =
        Watch::begin(root, choice).ok_or_else(|| fail("no block devices in /proc/diskstats or /sys/class/block"))?;
    let view = view(request).map_err(|reason| invalid(&[reason]))?;
    let columns = match view {
        View::Lines(LineForm::Csv) => columns(request, &counters, &watch).map_err(|reason| invalid(&[reason]))?,
        _ => Vec::new(),
    };
    for note in &notes {
        say(note);
    }
    let signals = signals()?;
    let begin = watch.facts(host, request.interval.as_nanos() as u64);
    let sinks = MonitorSinks::begin(view, columns, &begin, output, record).map_err(MonitorEnd::status)?;
    Ok(Monitor { watch, sinks, signals })
}

impl Monitor {
    fn go_on(mut self, request: &WatchRequest) -> Status {
        let mut ticks = Ticks::new(self.watch.begun_ns(), request.interval.as_nanos() as u64);
        let outcome = self.tell(&mut ticks, request.sample_count);
        // A recording is also complete if its viewer exited.
        let ended = self.sinks.end(ticks.missed_count());
        // The terminal is restored before anything is printed.
        drop(self.sinks);
        match outcome.and(ended) {
            Ok(()) => Status::Done,
            Err(ended) => ended.status(),
        }
    }

    /// Reports intervals until their number is reached, or the user or a reader stops.
    fn tell(&mut self, ticks: &mut Ticks, sample_count: Option<u64>) -> Result<(), MonitorEnd> {
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

/// The way in which intervals are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// The live table.
    Screen,
    /// A table for each interval.
    Table,
    Lines(LineForm),
}

fn view(request: &WatchRequest) -> Result<View, String> {
    if let Some(form) = request.lines {
        return Ok(View::Lines(form));
    }
    if !can_draw(&std::io::stdout()) {
        return Ok(View::Table);
    }
    let missing = Feature::Screens.missing();
    missing
        .map_or(Ok(View::Screen), |reason| Err(format!("the live table: {reason}; --csv and --jsonl work without it")))
}

fn signals() -> Result<Signals, Status> {
    interrupt::watch().map_err(|error| fail(&format!("cannot handle signals: {error}")))
}

fn invalid(reasons: &[String]) -> Status {
    refuse_each(reasons)
}

/// Devices to watch and counters to write, by the kernel's names.
struct Chosen {
    choice: Choice,
    counters: Vec<CounterPattern>,
    /// Notes on the devices found for files and mount points.
    notes: Vec<String>,
}

/// Resolves the requested devices; the errors name everything wrong with them.
fn choice(root: &Root, request: &WatchRequest) -> Result<Chosen, Vec<String>> {
    let (mut names, mut notes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut counters = Vec::new();
    for pattern in &request.counters {
        match by_device(root, pattern) {
            Ok((patterns, note)) => {
                counters.extend(patterns);
                notes.extend(note);
            }
            Err(reason) => errors.push(reason),
        }
    }
    let choice = match &request.devices {
        DevicesAsked::All => Choice::All,
        DevicesAsked::Usual if counters.is_empty() => Choice::Usual,
        DevicesAsked::Usual => {
            let of_one = counters.iter().filter(|pattern| pattern.names_one_instance());
            Choice::Used(of_one.map(|pattern| pattern.instance.clone()).collect())
        }
        DevicesAsked::These(paths) => {
            for path in paths {
                match devices_of(root, path) {
                    Ok((found, note)) => {
                        names.extend(found);
                        notes.extend(note);
                    }
                    Err(reason) => errors.push(reason),
                }
            }
            Choice::Named(names)
        }
    };
    if errors.is_empty() { Ok(Chosen { choice, counters, notes }) } else { Err(errors) }
}

/// The devices that an argument names or that its file is on; for a file, with a note that reports them.
fn devices_of(root: &Root, path: &Path) -> Result<(Vec<String>, Option<String>), String> {
    match host::named_device(root, path) {
        NamedDevice::Device(name) => Ok((vec![name], None)),
        NamedDevice::Missing => Err(format!("no device '{}'; 'diskspd devices' lists all devices", path.display())),
        NamedDevice::NoDevice { stands_on } if stands_on.is_empty() => {
            Err(format!("'{}' is not a block device and on none; 'diskspd devices' lists all devices", path.display()))
        }
        NamedDevice::NoDevice { stands_on } => {
            let note = format!("'{}' is on {}", path.display(), stands_on.join(", "));
            Ok((stands_on, Some(note)))
        }
    }
}

/// Replaces a path given as the instance of a pattern by its devices: for `PhysicalDisk`, by the disks below.
fn by_device(root: &Root, pattern: &CounterPattern) -> Result<(Vec<CounterPattern>, Option<String>), String> {
    let instance = Path::new(&pattern.instance);
    if !pattern.object.is_disk() || !pattern.names_one_instance() || !pattern.instance.contains('/') {
        return Ok((vec![pattern.clone()], None));
    }
    let (mut names, mut note) = devices_of(root, instance).map_err(|reason| format!("{pattern}: {reason}"))?;
    if pattern.object == CounterObject::PhysicalDisk {
        names = names.iter().flat_map(|name| host::disks_below(root, name)).collect();
        names.sort_unstable();
        names.dedup();
        note = note.map(|_| format!("'{}' is on {}", pattern.instance, names.join(", ")));
    }
    let patterns = names.into_iter().map(|instance| CounterPattern { instance, ..pattern.clone() }).collect();
    Ok((patterns, note))
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
fn columns(request: &WatchRequest, counters: &[CounterPattern], watch: &Watch) -> Result<Vec<Column>, String> {
    if !counters.is_empty() {
        return watch_lines::columns(counters, watch).map_err(|unfit| nothing_fits(&unfit, watch));
    }
    if watch.devices().next().is_none() {
        return Err("no device to monitor; diskspd monitor all monitors every device".to_owned());
    }
    let mut columns = watch_lines::usual_columns(watch.devices());
    if !matches!(request.devices, DevicesAsked::These(_)) {
        columns.extend(watch_lines::usual_system_columns(watch));
    }
    Ok(columns)
}

fn nothing_fits(unfit: &[CounterPattern], watch: &Watch) -> String {
    let patterns: Vec<String> = unfit.iter().map(ToString::to_string).collect();
    let mut there: Vec<String> = Vec::new();
    if unfit.iter().any(|pattern| pattern.object.is_disk()) {
        let names = watch.devices();
        let names =
            names.flat_map(|(name, device)| device.objects().map(move |object| format!("{}({name})", object.name())));
        there.extend(names);
    }
    let mut objects: Vec<_> = unfit.iter().map(|pattern| pattern.object).filter(|object| !object.is_disk()).collect();
    objects.dedup();
    for object in objects {
        let names = watch.system_instances(object).into_iter().filter(|instance| instance.name != TOTAL_INSTANCE);
        there.extend(names.map(|instance| format!("{}({})", object.name(), instance.name)));
    }
    let has_letter = |pattern: &CounterPattern| pattern.object.is_disk() && pattern.instance.ends_with(':');
    let letter = if unfit.iter().any(has_letter) {
        "; drive letters are mount points here: \\LogicalDisk(/var/lib)"
    } else {
        ""
    };
    if there.is_empty() {
        return format!("nothing on this machine matches {}{letter}", patterns.join(", "));
    }
    format!(
        "nothing matches {} (available: {}, and {TOTAL_INSTANCE} for each object){letter}",
        patterns.join(", "),
        there.join(", ")
    )
}
