//! Figures of a trace, computed in one pass.
//!
//! Memory: at most about 100 MB, whatever the length of the trace: 64 MiB for the footprint, 18 MB for the popularity, a
//! table of latencies per action, and bounded tables of sizes, streams, processes and outstanding requests.

pub mod arrivals;
mod course;
mod depth;
mod footprint;
mod latency;
mod popularity;
mod sequence;
pub mod skew;

pub use course::Course;
pub use depth::Depth;
pub use footprint::Footprint;
pub use latency::Latencies;
pub use popularity::Popularity;

use crate::event::{Action, Event};
use arrivals::{ArrivalCounter, Arrivals};
use depth::DepthCounter;
use footprint::FootprintMap;
use latency::LatencyCounter;
use model::operation::{ByOperation, Operation};
use popularity::PopularityCounter;
use sequence::Streams;
use serde::Serialize;
use skew::ZipfFit;
use std::collections::BTreeMap;

/// Requests and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Volume {
    /// Requests.
    pub requests: u64,
    /// Bytes of these.
    pub bytes: u64,
}

impl Volume {
    fn add(&mut self, event: &Event) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(event.length);
    }
}

/// Figures of one action.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionFigures {
    /// Requests and bytes.
    pub volume: Volume,
    /// Of the requests with a known completion; `None` if there are none.
    pub latencies: Option<Latencies>,
}

/// Figures of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFigures {
    /// Requests and bytes.
    pub volume: Volume,
    /// First byte that a request touches; `u64::MAX` if none does.
    pub first_byte: u64,
    /// Byte after the last one that a request touches.
    pub end_byte: u64,
}

impl DeviceFigures {
    const NONE: Self = Self { volume: Volume { requests: 0, bytes: 0 }, first_byte: u64::MAX, end_byte: 0 };

    /// Bytes from the first to the last touched.
    pub fn span_bytes(&self) -> u64 {
        self.end_byte.saturating_sub(self.first_byte)
    }
}

/// Figures of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessFigures {
    /// All requests.
    pub volume: Volume,
    /// Its reads.
    pub reads: Volume,
    /// Its writes.
    pub writes: Volume,
}

/// Requests by size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sizes {
    /// Number of requests by bytes.
    pub counts: BTreeMap<u64, u64>,
    /// Requests whose size was rounded up to a power of two, as there were too many sizes.
    pub rounded: u64,
}

impl Sizes {
    /// Sizes of an operation at most, without powers of two.
    const MAX: usize = 1024;

    fn add(&mut self, length: u64) {
        let is_known = self.counts.len() < Self::MAX || self.counts.contains_key(&length);
        let size = if is_known { length } else { length.checked_next_power_of_two().unwrap_or(u64::MAX) };
        self.rounded += u64::from(size != length);
        *self.counts.entry(size).or_default() += 1;
    }
}

/// Figures of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// By [`Action::index`].
    #[serde(skip)]
    pub actions: [ActionFigures; Action::COUNT],
    /// By operation.
    #[serde(skip)]
    pub sizes: ByOperation<Sizes>,
    /// Requests that begin where one of the last 16 streams of their process on their device ended.
    pub sequential_requests: u64,
    /// Distinct bytes of all requests, also of discards.
    pub footprint: Footprint,
    /// Repeats of the offsets of requests that are not sequential.
    pub popularity: Popularity,
    /// The Zipf law with these repeats; `None` if there are too few.
    pub skew: Option<ZipfFit>,
    /// Times of issue, without flushes.
    pub arrivals: Arrivals,
    /// Reads and writes over time.
    pub course: Course,
    /// Outstanding requests over time, without flushes; `None` without completions.
    pub depth: Option<Depth>,
    /// By index in the table of names.
    #[serde(skip)]
    pub devices: Vec<DeviceFigures>,
    /// By index in the table of names.
    #[serde(skip)]
    pub processes: Vec<ProcessFigures>,
}

impl Summary {
    /// Requests and bytes of an operation.
    pub fn volume(&self, operation: Operation) -> Volume {
        self.actions[operation.index()].volume
    }

    /// Requests other than flushes.
    pub fn operations(&self) -> u64 {
        Operation::ALL.into_iter().map(|operation| self.volume(operation).requests).sum()
    }

    /// Percent of the requests other than flushes that are sequential; 0 if there are none.
    pub fn sequential_percent(&self) -> f64 {
        100.0 * self.sequential_requests as f64 / self.operations().max(1) as f64
    }

    /// Mean latency of the requests other than flushes, in nanoseconds; 0 without completions.
    pub fn mean_latency_ns(&self) -> u64 {
        let known = self.actions[..Operation::COUNT].iter().filter_map(|action| action.latencies);
        let (count, sum) =
            known.fold((0, 0.0), |(count, sum), of| (count + of.count, sum + of.mean_ns * of.count as f64));
        (sum / count.max(1) as f64) as u64
    }

    /// Bytes from the first to the last touched, of all devices together.
    pub fn span_bytes(&self) -> u64 {
        span_bytes(&self.devices)
    }
}

fn span_bytes(devices: &[DeviceFigures]) -> u64 {
    devices.iter().map(DeviceFigures::span_bytes).fold(0, u64::saturating_add)
}

/// Adds up requests, in order of their issue.
#[derive(Debug, Default)]
pub struct Summarizer {
    volumes: [Volume; Action::COUNT],
    latencies: [Option<LatencyCounter>; Action::COUNT],
    sizes: ByOperation<Sizes>,
    streams: Streams,
    sequential: u64,
    footprint: FootprintMap,
    popularity: PopularityCounter,
    arrivals: ArrivalCounter,
    course: Course,
    first_ns: Option<u64>,
    depth: DepthCounter,
    devices: Vec<DeviceFigures>,
    processes: Vec<ProcessFigures>,
}

impl Summarizer {
    /// Adds a request.
    pub fn add(&mut self, event: &Event) {
        let index = event.action.index();
        self.volumes[index].add(event);
        if let Some(latency_ns) = event.latency_ns {
            self.latencies[index].get_or_insert_default().add(latency_ns);
        }
        let process = entry(&mut self.processes, event.process, ProcessFigures::default());
        process.volume.add(event);
        match event.action {
            Action::Operation(Operation::Read) => process.reads.add(event),
            Action::Operation(Operation::Write) => process.writes.add(event),
            _ => {}
        }
        let device = entry(&mut self.devices, event.device, DeviceFigures::NONE);
        device.volume.add(event);
        if let Some(operation) = event.action.operation() {
            self.arrivals.add(event.issue_ns);
            let first_ns = *self.first_ns.get_or_insert(event.issue_ns);
            self.course.add(event.issue_ns.saturating_sub(first_ns), operation);
            if let Some(latency_ns) = event.latency_ns {
                self.depth.add(event.issue_ns, latency_ns);
            }
            device.first_byte = device.first_byte.min(event.offset);
            device.end_byte = device.end_byte.max(event.offset.saturating_add(event.length));
            self.sizes[operation].add(event.length);
            self.footprint.add(event.device, event.offset, event.length);
            if self.streams.continues(event) {
                self.sequential += 1;
            } else {
                self.popularity.add(event.device, event.offset, event.length);
            }
        }
    }

    /// The figures.
    pub fn finish(self) -> Summary {
        let popularity = self.popularity.finish();
        let span = span_bytes(&self.devices);
        let actions = std::array::from_fn(|index| ActionFigures {
            volume: self.volumes[index],
            latencies: self.latencies[index].as_ref().map(LatencyCounter::finish),
        });
        Summary {
            actions,
            sizes: self.sizes,
            sequential_requests: self.sequential,
            footprint: self.footprint.finish(),
            skew: ZipfFit::new(&popularity, span / popularity.alignment),
            popularity,
            arrivals: self.arrivals.finish(),
            course: self.course,
            depth: self.depth.finish(),
            devices: self.devices,
            processes: self.processes,
        }
    }
}

/// The entry of an index; tables of names bound it.
fn entry<T: Clone>(table: &mut Vec<T>, index: u32, empty: T) -> &mut T {
    let index = index as usize;
    if index >= table.len() {
        table.resize(index + 1, empty);
    }
    &mut table[index]
}
