//! The page of a recording of the monitor, and its devices under a run.

use super::answer::{Answer, Statement};
use super::block::{Block, Column, Fact, Page, Section, Table, Tone, charts};
use super::charts::Shown;
use super::charts::device::{self, Span};
use super::environment::{self, Machine, counted};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant, size};
use model::device_interval::Recording;
use model::device_interval::{DeviceInterval, DeviceRates, WatchedDevice};
use model::result::{Measured, RunResult};
use model::shell::quoted;
use model::units::{self, UnixTime};
use render::system::utc;
use stats::device_course::{Activity, BUSY_PERCENT, active_devices, activity, course};
use std::io;

/// Devices that have charts; a machine may have hundreds.
const DEVICES_MAX: usize = 12;

/// Everything about a recording.
pub(super) fn page(recording: &Recording, name: &str) -> io::Result<Page> {
    let mut first = vec![Block::Answers { answers: vec![Answer::resting_on([], statement(recording, name))] }];
    first.extend(overview(recording));
    let mut sections = vec![Section::new("", first)];
    sections.extend(of_devices(recording, whole(recording), "")?);
    sections.push(Section::new("Environment", vec![Block::Facts { facts: facts(recording) }]));
    Ok(Page::new(format!("Block device activity: {name}"), String::new(), subtitle(recording), sections))
}

/// What the busiest device did, whether it was at its limit, and what to do next.
fn statement(recording: &Recording, name: &str) -> Statement {
    let active = active_devices(&recording.intervals);
    let busiest = active.first().and_then(|(device, _)| Some((*device, activity(&recording.intervals, device)?)));
    let Some((device, found)) = busiest else {
        return Statement {
            tone: Tone::Plain,
            about: String::new(),
            headline: "No device had a request".to_owned(),
            sentences: vec!["Record again while the programs that you look for are running.".to_owned()],
        };
    };
    let requests =
        |rates: &DeviceRates| Quantity::Iops.value(rates.read.per_s + rates.write.per_s).replace("IOPS", "requests/s");
    let mib =
        |rates: &DeviceRates| Quantity::MibPerS.value(units::mib(rates.read.bytes_per_s + rates.write.bytes_per_s));
    let at = |began_ns: u64| Quantity::TimeS.value(began_ns as f64 / 1e9);
    let request_bytes = mean_request_bytes(&found.peak);
    let device = text(device.as_bytes());
    let headline = format!(
        "{device} did most: {} on average, at most {} ({})",
        requests(&found.mean),
        requests(&found.peak),
        mib(&found.peak)
    );
    let mut sentences = vec![
        "These are the requests of all programs, as the kernel counted them. The recording does not say which programs."
            .to_owned(),
        format!(
            "Its peak began at {} of the recording: {} reads/s and {} writes/s of {} on average{}.",
            at(found.peak_began_ns),
            grouped(found.peak.read.per_s),
            grouped(found.peak.write.per_s),
            size(request_bytes as u64),
            found.peak.latency_ns.map(|ns| format!(", mean latency {}", latency(ns))).unwrap_or_default()
        ),
    ];
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
        "Next: see which programs do this I/O (pidstat -d 1, as root), and what the device can do: run diskspd sweep \
         --vary o=1..64*2 -- -c4G -b{} -r -Su -L -d30 FILE, with FILE on the device, while nothing else uses it. If a result \
         of diskspd was measured meanwhile, diskspd report RESULT.json --monitor {} --output page.html shows both on one \
         time axis.",
        units::short_size(block_bytes(request_bytes)),
        text(quoted(name).as_bytes())
    ));
    Statement { tone: Tone::Plain, about: String::new(), headline, sentences }
}

fn mean_request_bytes(rates: &DeviceRates) -> f64 {
    (rates.read.bytes_per_s + rates.write.bytes_per_s) / (rates.read.per_s + rates.write.per_s).max(f64::MIN_POSITIVE)
}

/// The power of two nearest to a mean size, from a sector to a MiB.
fn block_bytes(mean_bytes: f64) -> u64 {
    mean_bytes.clamp(512.0, 1_048_576.0).log2().round().exp2() as u64
}

/// Whether a device was at its limit, as far as its counters tell.
fn saturation(device: &str, found: &Activity) -> String {
    let Activity { busy_intervals, intervals, .. } = *found;
    let queue = significant(found.queue_max);
    if busy_intervals == 0 {
        return format!(
            "{device} was not saturated for a whole interval: in none did it have requests in flight for {BUSY_PERCENT} % of \
             the time (at most for {} %; at most {queue} requests in flight). Bursts shorter than an interval do not show.",
            significant(found.busy_max_percent)
        );
    }
    format!(
        "{device} may have been saturated: in {busy_intervals} of {intervals} intervals it had requests in flight for \
         {BUSY_PERCENT} % of the time or more, {queue} at once on average in the fullest. A single disk that is busy all the time is at its limit. SSDs and RAIDs serve \
         several requests at once: they are at their limit where latency rises with the requests in flight, but requests \
         per second no longer do."
    )
}

/// Machine and time, on a line.
pub(super) fn subtitle(recording: &Recording) -> String {
    let begin = &recording.begin;
    let started = utc(UnixTime(begin.started_at_unix_ns.into()));
    format!("{} · {started} · diskspd monitor", text(begin.host.as_bytes()))
}

/// The machine and its devices, as far as the recording has them.
fn facts(recording: &Recording) -> Vec<Fact> {
    let begin = &recording.begin;
    let machine = begin.machine.as_deref();
    let mut facts = environment::of_machine(&Machine {
        computer: &begin.host,
        processor: machine.and_then(|machine| machine.processor_name.as_deref()),
        cpus: machine.map(|machine| counted(machine.cpu_count as usize, "CPU")),
        environment: machine.map(|machine| &machine.environment),
        kernel_release: None,
        power: None,
        tool: format!("diskspd monitor {}", text(begin.tool_version.as_bytes())),
    });
    let is_virtual = machine.is_some_and(|machine| machine.environment.virtual_machine().is_some());
    let active = active_devices(&recording.intervals);
    for device in begin.devices.iter().filter(|device| active.iter().any(|(name, _)| *name == device.name)) {
        let scheduler = device.scheduler.as_ref().map(|scheduler| format!("scheduler {}", text(scheduler.as_bytes())));
        let rotational = device.rotational.map(|is_rotational| environment::rotational(is_rotational, is_virtual));
        let parts = [Some(described(recording, &device.name)), scheduler, rotational];
        facts.push(Fact { name: "device", value: parts.into_iter().flatten().collect::<Vec<_>>().join(", ") });
    }
    facts
}

/// The charts of the device that did most.
pub(super) fn shown(recording: &Recording) -> Vec<Shown> {
    let busiest = active_devices(&recording.intervals).into_iter().next();
    busiest.map(|(name, _)| device::charts(&recording.intervals, name, whole(recording))).unwrap_or_default()
}

/// What devices did during a timespan of a run, on its time axis; nothing if the recording is of another time.
pub(super) fn during(recording: &Recording, result: &RunResult, measured: &Measured) -> io::Result<Vec<Section>> {
    let warm_up_s = result.profile.time_spans.first().map_or(0, |span| span.warm_up_s);
    let started = i64::try_from(result.started_at.0).unwrap_or(i64::MAX);
    let span = Span {
        start_unix_ns: started.saturating_add(i64::from(warm_up_s) * 1_000_000_000),
        length_ns: measured.elapsed_ns,
    };
    let sections = of_devices(recording, span, "During the run: ")?;
    if !sections.is_empty() {
        return Ok(sections);
    }
    let sentences = vec![
        "No recorded device was active during the measurement. Check that the recording belongs to this run."
            .to_owned(),
    ];
    Ok(vec![Section::new("Devices", vec![Block::Notes { heading: String::new(), sentences }])])
}

fn whole(recording: &Recording) -> Span {
    let length_ns = recording.intervals.last().map_or(0, |last| last.end_ns);
    Span { start_unix_ns: recording.begin.started_at_unix_ns, length_ns }
}

/// A section for each device that did anything in the time.
fn of_devices(recording: &Recording, span: Span, prefix: &str) -> io::Result<Vec<Section>> {
    let inside: Vec<DeviceInterval> =
        recording.intervals.iter().filter(|interval| span.holds(interval)).cloned().collect();
    let section = |(name, _): (&str, u64)| {
        let heading = format!("{prefix}{}", described(recording, name));
        Ok(Section::new(&heading, charts(&device::charts(&inside, name, span))?))
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
    text(parts.into_iter().flatten().collect::<Vec<_>>().join(", ").as_bytes())
}

fn overview(recording: &Recording) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table(recording))];
    let mut sentences = Vec::new();
    match recording.end {
        None => sentences.push("The recording is incomplete: it was cut off or is still in progress.".to_owned()),
        Some(end) if end.missed_count > 0 => {
            sentences.push(format!(
                "{} intervals were not read in time; their counts are in the intervals after them.",
                end.missed_count
            ));
        }
        Some(_) => {}
    }
    let active = active_devices(&recording.intervals).len();
    if active > DEVICES_MAX {
        sentences.push(format!("Charts show the {DEVICES_MAX} busiest of {active} devices."));
    }
    if !sentences.is_empty() {
        blocks.push(Block::Notes { heading: String::new(), sentences });
    }
    blocks
}

/// The means of all of it.
fn table(recording: &Recording) -> Table {
    let row = |(name, _): (&str, u64)| {
        let rates = course(&recording.intervals, name, 1).pop()?.rates?;
        let known = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), latency);
        let mib = |bytes_per_s: f64| Quantity::MibPerS.value(units::mib(bytes_per_s)).replace(" MiB/s", "");
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
            "Means over {} of recording, in {} intervals. Idle devices are left out.",
            Quantity::TimeS.value(length_ns as f64 / 1e9),
            recording.intervals.len()
        ),
        label: "Devices",
        ..Table::default()
    }
}
