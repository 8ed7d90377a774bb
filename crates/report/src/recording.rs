//! The report of a recording of the monitor, and its devices under a run.

use super::answer::{Statement, sentence};
use super::block::{Block, Column, Fact, Report, Section, Table, Tone, charts, dash};
use super::brief::{self};
use super::charts::device::{self, Span};
use super::environment::{self, Machine};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant, significant_grouped, size};
use crate::block::{Answer, Brief, Trust};
use crate::chart::ChartResult;
use crate::words::time::utc;
use model::device_interval::Recording;
use model::device_interval::{DeviceInterval, DeviceRates, WatchedDevice};
use model::result::{Measured, RunResult};
use model::shell::quoted;
use model::system_counter::{Rule, SystemCounter};
use model::units::{self, UnixTime, counted};
use stats::device_course::{Activity, BUSY_PERCENT, active_devices, activity, course};
use stats::system_rates::{SystemCourse, system_courses};

/// Active devices that are named at the head of the report.
const DEVICES_NAMED: usize = 3;

/// Devices that have charts; a machine may have hundreds.
const DEVICES_MAX: usize = 12;

/// The report of a recording.
pub(crate) fn report(recording: &Recording, name: &str) -> Report {
    let mut first = vec![Block::Answers { answers: vec![Answer::resting_on([], statement(recording, name))] }];
    first.extend(overview(recording));
    let mut sections = vec![Section::new("", first)];
    sections.extend(of_devices(recording, whole(recording), ""));
    sections.push(Section::of_details("Environment", vec![Block::Facts { facts: facts(recording) }]));
    Report::new(
        format!("Block device activity: {name}"),
        String::new(),
        subtitle(recording),
        brief(recording, name),
        sections,
    )
}

/// Length in seconds below which a recording may not be typical of the machine.
const TYPICAL_S: f64 = 60.0;

/// A limit of recordings.
const WHOSE: &str = "the counts of the kernel are of all programs together: they do not say which program, or which load, \
                     caused the requests";

/// The device with the most requests, and its activity.
fn busiest(recording: &Recording) -> Option<(&str, Activity)> {
    let (device, _) = active_devices(&recording.intervals).into_iter().next()?;
    Some((device, activity(&recording.intervals, device)?))
}

fn requests(rates: &DeviceRates) -> String {
    Quantity::Iops.value(rates.read.per_s + rates.write.per_s).replace("IOPS", "requests/s")
}

fn throughput(rates: &DeviceRates) -> String {
    Quantity::MibPerS.value(units::mib(rates.read.bytes_per_s + rates.write.bytes_per_s))
}

/// The requests per second on average, with and without the time in which a device was idle.
fn averages(found: &Activity) -> String {
    let all = requests(&found.mean);
    let busy_percent = found.mean.busy_percent;
    if !(0.1..100.0).contains(&busy_percent) {
        return format!("{all} on average");
    }
    let busy = Quantity::Percent.value(busy_percent);
    format!("{all} on average, idle time included: requests were in flight for {busy} of the time")
}

fn brief(recording: &Recording, name: &str) -> Brief {
    let begin = &recording.begin;
    let (intervals, length_s) = (recording.intervals.len(), whole(recording).length_ns as f64 / 1e9);
    let time = |s: f64| Quantity::TimeS.value(s);
    let head = format!(
        "The requests of all programs to block devices, as the kernel counted them, for {} in {} of {}",
        time(length_s),
        counted(intervals, "interval"),
        time(begin.interval_ns as f64 / 1e9)
    );
    let found = busiest(recording);
    let came_out = found.map(|(device, found)| format!("{} did most, {}", text(device), averages(&found)));
    let came_out = came_out.unwrap_or_else(|| "no device had a request".to_owned());
    let devices: Vec<String> = active_devices(&recording.intervals)
        .iter()
        .take(DEVICES_NAMED)
        .map(|(device, _)| described(recording, device))
        .collect();
    let more = active_devices(&recording.intervals).len().saturating_sub(DEVICES_NAMED);
    let more = (more > 0).then(|| counted(more, "other device"));
    let devices: Vec<String> = devices.into_iter().chain(more).collect();
    let missed = recording.end.map(|end| end.missed_count).filter(|missed| *missed > 0);
    let limits = [
        (length_s < TYPICAL_S).then(|| format!("{} may not be typical", time(length_s))),
        recording.end.is_none().then(|| "the recording is incomplete".to_owned()),
        missed.map(|missed| format!("{} not read in time", counted(missed as usize, "interval"))),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let trust = if limits.is_empty() {
        Trust { tone: Tone::Good, words: format!("Yes, but {WHOSE}.") }
    } else {
        Trust { tone: Tone::Warn, words: format!("Only in part: {}. {}", limits.join("; "), sentence(WHOSE)) }
    };
    let (next, command) = match found {
        None => (
            "Record again while the programs that you look for are running.".to_owned(),
            format!("diskspd monitor --record {}", text(&quoted(name))),
        ),
        Some((_, found)) => (
            format!(
                "{}See which programs do this I/O while they do it (pidstat -d 1, as root). To measure random reads of the device \
                 at each queue depth, run diskspd sweep '--vary=o=1..64*2' -- -c4G -b{} -r -Su -L -d60 FILE while nothing else \
                 uses it; FILE is a new file on it, which is created.{}",
                if length_s < TYPICAL_S {
                    "Record for minutes while the usual programs run, with the command below. "
                } else {
                    ""
                },
                units::short_size(block_bytes(mean_request_bytes(&found.peak))),
                if length_s < TYPICAL_S { " To record (Ctrl+C ends it):" } else { "" }
            ),
            if length_s < TYPICAL_S {
                format!("diskspd monitor --record {}", text(&quoted(&format!("{name}-2"))))
            } else {
                String::new()
            },
        ),
    };
    let machine = brief::machine(&facts_of_machine(recording), &begin.host);
    Brief {
        measured: format!("{head}: {came_out}."),
        on: devices.join("; ") + if devices.is_empty() { "" } else { ". On " } + &machine + ".",
        trust,
        next,
        command,
    }
}

/// The activity of the busiest device, and its saturation.
fn statement(recording: &Recording, name: &str) -> Statement {
    let Some((device, found)) = busiest(recording) else {
        return Statement::new(Tone::Plain, "No device had a request", []);
    };
    let at = |began_ns: u64| Quantity::TimeS.value(began_ns as f64 / 1e9);
    let device = text(device);
    let headline = format!(
        "{device} did most: {} on average, at most {} ({})",
        requests(&found.mean),
        requests(&found.peak),
        throughput(&found.peak)
    );
    let mut sentences = vec![format!(
        "Its peak began at {} of the recording: {} reads/s and {} writes/s of {} on average{}.",
        at(found.peak_began_ns),
        grouped(found.peak.read.per_s),
        grouped(found.peak.write.per_s),
        size(mean_request_bytes(&found.peak) as u64),
        found.peak.latency_ns.map(|ns| format!(", mean latency {}", latency(ns))).unwrap_or_default()
    )];
    sentences.extend(found.mean.latency_ns.zip(found.slowest).map(|(mean, (slowest, began_ns))| {
        format!(
            "Mean latency of reads and writes: {}; in the slowest interval, at {}, {}.",
            latency(mean),
            at(began_ns),
            latency(slowest)
        )
    }));
    sentences.push(saturation(&device, &found));
    sentences.push(format!(
        "If a result of diskspd was measured meanwhile, diskspd report RESULT.json --monitor {} --output page.html shows both \
         on one time axis.",
        text(&quoted(name))
    ));
    Statement::new(Tone::Plain, headline, sentences)
}

fn mean_request_bytes(rates: &DeviceRates) -> f64 {
    (rates.read.bytes_per_s + rates.write.bytes_per_s) / (rates.read.per_s + rates.write.per_s).max(f64::MIN_POSITIVE)
}

/// The power of two nearest to a mean size, from a sector to a MiB.
fn block_bytes(mean_bytes: f64) -> u64 {
    mean_bytes.clamp(512.0, 1_048_576.0).log2().round().exp2() as u64
}

/// The saturation of a device, as far as its counters show it.
fn saturation(device: &str, found: &Activity) -> String {
    let Activity { busy_intervals, intervals, .. } = *found;
    let queue = significant(found.queue_max);
    let intervals = counted(intervals, "interval");
    if busy_intervals == 0 {
        return format!(
            "{device} was not saturated for a whole interval: in none did it have requests in flight for {BUSY_PERCENT} % of \
             the time (at most for {} %; at most {queue} requests in flight). Bursts shorter than an interval do not show.",
            significant(found.busy_max_percent)
        );
    }
    format!(
        "{device} may have been saturated: in {busy_intervals} of {intervals} it had requests in flight for \
         {BUSY_PERCENT} % of the time or more, {queue} at once on average in the fullest. A single disk that is busy all the time is at its limit. SSDs and RAIDs serve \
         several requests at once: they are at their limit where latency rises with the requests in flight, but requests \
         per second no longer do."
    )
}

/// Machine and time, on a line.
pub(crate) fn subtitle(recording: &Recording) -> String {
    let begin = &recording.begin;
    let started = utc(UnixTime(begin.started_at_unix_ns.into()));
    format!("{} · {started} · diskspd monitor", text(&begin.host))
}

/// The machine, as far as the recording has it.
fn facts_of_machine(recording: &Recording) -> Vec<Fact> {
    let begin = &recording.begin;
    let machine = begin.machine.as_deref();
    environment::of_machine(&Machine {
        computer: &begin.host,
        processor: machine.and_then(|machine| machine.processor_name.as_deref()),
        cpus: machine.map(|machine| counted(machine.cpu_count as usize, "CPU")),
        environment: machine.map(|machine| &machine.environment),
        kernel_release: None,
        power: None,
        tool: format!("diskspd monitor {}", text(&begin.tool_version)),
    })
}

/// The machine and its devices.
fn facts(recording: &Recording) -> Vec<Fact> {
    let begin = &recording.begin;
    let mut facts = facts_of_machine(recording);
    let is_virtual = begin.machine.as_deref().is_some_and(|machine| machine.environment.virtual_machine().is_some());
    let active = active_devices(&recording.intervals);
    for device in begin.devices.iter().filter(|device| active.iter().any(|(name, _)| *name == device.name)) {
        let scheduler = device.scheduler.as_ref().map(|scheduler| format!("scheduler {}", text(scheduler)));
        let rotational = device.rotational.map(|is_rotational| environment::rotational(is_rotational, is_virtual));
        let parts = [Some(described(recording, &device.name)), scheduler, rotational];
        facts.push(Fact { name: "device", value: parts.into_iter().flatten().collect::<Vec<_>>().join(", ") });
    }
    facts
}

/// The charts of the busiest device.
pub(crate) fn shown(recording: &Recording) -> Vec<ChartResult> {
    let busiest = active_devices(&recording.intervals).into_iter().next();
    busiest.map(|(name, _)| device::charts(&recording.intervals, name, whole(recording))).unwrap_or_default()
}

/// The activity of devices during a timespan of a run, on its time axis; empty if the recording is of another time.
pub(crate) fn during(recording: &Recording, result: &RunResult, measured: &Measured) -> Vec<Section> {
    let warm_up_s = result.profile.time_spans.first().map_or(0, |span| span.warm_up_s);
    let started = i64::try_from(result.started_at.0).unwrap_or(i64::MAX);
    let span = Span {
        start_unix_ns: started.saturating_add(i64::from(warm_up_s) * 1_000_000_000),
        length_ns: measured.elapsed_ns,
    };
    let sections = of_devices(recording, span, "During the run: ");
    if !sections.is_empty() {
        return sections;
    }
    let sentences = vec![
        "No recorded device was active during the measurement. Check that the recording belongs to this run."
            .to_owned(),
    ];
    vec![Section::new("Devices", vec![Block::notes(sentences)])]
}

fn whole(recording: &Recording) -> Span {
    let length_ns = recording.intervals.last().map_or(0, |last| last.end_ns);
    Span { start_unix_ns: recording.begin.started_at_unix_ns, length_ns }
}

/// A section for each device that was active in the time.
fn of_devices(recording: &Recording, span: Span, prefix: &str) -> Vec<Section> {
    let inside: Vec<DeviceInterval> =
        recording.intervals.iter().filter(|interval| span.holds(interval)).cloned().collect();
    let section = |(name, _): (&str, u64)| {
        let heading = format!("{prefix}{}", described(recording, name));
        Section::new(&heading, charts(device::charts(&inside, name, span)))
    };
    active_devices(&inside).into_iter().take(DEVICES_MAX).map(section).collect()
}

/// `dm-0 vg-data, lvm, 1 TiB`, `vda, virtio disk, 256 GiB`
fn described(recording: &Recording, name: &str) -> String {
    let nothing = WatchedDevice { name: name.to_owned(), ..WatchedDevice::default() };
    let facts = recording.begin.devices.iter().find(|device| device.name == name).unwrap_or(&nothing);
    let mapped = facts.mapped_name.as_ref().map(|mapped| format!("{name} {mapped}"));
    let parts = [
        Some(mapped.unwrap_or_else(|| name.to_owned())),
        Some([facts.transport.as_deref().unwrap_or(""), &facts.kind].join(" ").trim().to_owned())
            .filter(|kind| !kind.is_empty()),
        facts.model.clone(),
        facts.size_bytes.map(size),
    ];
    text(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn overview(recording: &Recording) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table(recording))];
    blocks.extend(system_table(recording).map(Block::Table));
    let mut sentences = Vec::new();
    let active = active_devices(&recording.intervals).len();
    if active > DEVICES_MAX {
        sentences.push(format!("Charts show the {DEVICES_MAX} busiest of {active} devices."));
    }
    if !sentences.is_empty() {
        blocks.push(Block::notes(sentences));
    }
    blocks
}

/// The usual counters of the system that were ever more than 0, with their means.
fn system_table(recording: &Recording) -> Option<Table> {
    let courses = system_courses(&recording.intervals);
    let row = |course: &SystemCourse<'_>| {
        let object = course.counter.object;
        let instance = if object.has_instances() { format!("({})", course.instance) } else { String::new() };
        let value = |value: f64| system_value(course.counter, value);
        let subject = text(&format!("{}{instance}", object.name()));
        let name = course.counter.name.to_owned();
        vec![subject, name, value(course.mean), value(course.min), value(course.max)]
    };
    let rows: Vec<Vec<String>> = courses.iter().filter(|course| course.max > 0.0).map(row).collect();
    let texts = ["object", "counter"].map(Column::text);
    (!rows.is_empty()).then(|| Table {
        columns: texts.into_iter().chain(["mean", "least", "most"].map(Column::number)).collect(),
        rows,
        note: "Counters that stayed 0 are left out.".to_owned(),
        label: "System",
        ..Table::default()
    })
}

fn system_value(counter: &SystemCounter, value: f64) -> String {
    let is_of_bytes = counter.name.contains("Bytes");
    match counter.rule {
        Rule::Percent(..) => Quantity::Percent.value(value),
        Rule::MeanSeconds(..) => latency(value * 1e9),
        Rule::Rate(_) if is_of_bytes => Quantity::MibPerS.value(units::mib(value)),
        Rule::Level(..) if is_of_bytes => size(value as u64),
        Rule::Rate(_) | Rule::Level(..) => grouped(value),
    }
}

/// The means of all devices over the recording.
fn table(recording: &Recording) -> Table {
    let row = |(name, _): (&str, u64)| {
        let rates = course(&recording.intervals, name, 1).pop()?.rates?;
        let known = |ns: Option<f64>| ns.map_or_else(dash, latency);
        let mib = |bytes_per_s: f64| significant_grouped(units::mib(bytes_per_s));
        Some(vec![
            described(recording, name),
            grouped(rates.read.per_s),
            grouped(rates.write.per_s),
            mib(rates.read.bytes_per_s),
            mib(rates.write.bytes_per_s),
            known(rates.read.latency_ns),
            known(rates.write.latency_ns),
            significant(rates.queue_length),
            significant(rates.busy_percent),
        ])
    };
    let names =
        ["reads/s", "writes/s", "read MiB/s", "write MiB/s", "read latency", "write latency", "queue", "busy %"];
    let length_ns = recording.intervals.last().map_or(0, |last| last.end_ns);
    Table {
        columns: [Column::text("device")].into_iter().chain(names.map(Column::number)).collect(),
        rows: active_devices(&recording.intervals).into_iter().filter_map(row).collect(),
        note: format!(
            "Means over {} of recording, in {}, idle ones included. Idle devices are left out.",
            Quantity::TimeS.value(length_ns as f64 / 1e9),
            counted(recording.intervals.len(), "interval")
        ),
        label: "Devices",
        ..Table::default()
    }
}
