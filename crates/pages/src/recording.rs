//! The page of a recording of the monitor, and its devices under a run.

use super::block::{Block, Column, Page, Section, Table, charts};
use super::charts::Shown;
use super::charts::device::{self, Span};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant, size};
use model::device_interval::Recording;
use model::device_interval::{DeviceInterval, WatchedDevice};
use model::result::{Measured, RunResult};
use model::units::{self, UnixTime};
use render::system::utc;
use stats::device_course::{active_devices, course};
use std::io;

/// Devices that have charts; a machine may have hundreds.
const DEVICES_MAX: usize = 12;

/// Everything about a recording.
pub(super) fn page(recording: &Recording, name: &str) -> io::Result<Page> {
    let mut sections = vec![Section::new("", overview(recording))];
    sections.extend(of_devices(recording, whole(recording), "")?);
    Ok(Page::new(format!("Block device activity: {name}"), String::new(), subtitle(recording), sections))
}

/// Machine and time, on a line.
pub(super) fn subtitle(recording: &Recording) -> String {
    let begin = &recording.begin;
    let started = utc(UnixTime(begin.started_at_unix_ns.into()));
    format!("{} · {started} · diskspd monitor", text(begin.host.as_bytes()))
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

/// `dm-0 vg-data, lvm, 1TiB`
fn described(recording: &Recording, name: &str) -> String {
    let nothing = WatchedDevice { name: name.to_owned(), ..WatchedDevice::default() };
    let facts = recording.begin.devices.iter().find(|device| device.name == name).unwrap_or(&nothing);
    let mapped = facts.mapped_name.as_ref().map(|mapped| format!("{name} {mapped}"));
    let parts = [
        Some(mapped.unwrap_or_else(|| name.to_owned())),
        Some(facts.kind.clone()).filter(|kind| !kind.is_empty()),
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
