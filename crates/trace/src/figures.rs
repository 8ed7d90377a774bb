//! A trace that was read, with all its figures, and its closest load with the figures of its own requests.

use crate::account::Account;
use crate::event::{Action, Device, Names, Process};
use crate::fit::{Fit, Row};
use crate::readers::{TraceKind, TraceReader};
use crate::simulate::Requests;
use crate::summary::{ActionFigures, DeviceFigures, ProcessFigures, Sizes, Summarizer, Summary};
use model::operation::Operation;
use model::trace::{TRACE_SCHEMA, TRACE_SCHEMA_VERSION};
use model::version::IMPLEMENTATION_VERSION;
use serde::Serialize;
use std::collections::BTreeMap;

/// A trace that was read up to its end or its damage.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Its kind.
    pub kind: TraceKind,
    /// Time of the first request in nanoseconds since 1970, if the trace has it.
    pub begin_unix_ns: Option<u64>,
    /// Devices and processes.
    pub names: Names,
    /// Counts of what was read, and losses.
    pub account: Account,
    /// The figures.
    pub summary: Summary,
}

impl Figures {
    /// Reads a trace.
    pub fn read(mut reader: TraceReader<'_>) -> Self {
        let mut summarizer = Summarizer::default();
        reader.by_ref().for_each(|event| summarizer.add(&event));
        Self {
            kind: reader.kind(),
            begin_unix_ns: reader.begin_unix_ns(),
            names: reader.names().clone(),
            account: reader.account(),
            summary: summarizer.finish(),
        }
    }

    /// The devices that have requests, those with the most first.
    pub fn devices(&self) -> Vec<(&Device, &DeviceFigures)> {
        let mut found: Vec<_> = self.names.devices().iter().zip(&self.summary.devices).collect();
        found.retain(|(_, figures)| figures.volume.requests > 0);
        found.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.volume.requests));
        found
    }

    /// The processes that have requests, those with the most first.
    pub fn processes(&self) -> Vec<(&Process, &ProcessFigures)> {
        let mut found: Vec<_> = self.names.processes().iter().zip(&self.summary.processes).collect();
        found.retain(|(_, figures)| figures.volume.requests > 0);
        found.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.volume.requests));
        found
    }
}

/// Requests of a load that are simulated at most.
const SIMULATED_MAX: u64 = 10_000_000;

/// The closest load, and the figures of its own requests.
#[derive(Clone, Debug)]
pub struct Closest {
    /// The load.
    pub fit: Fit,
    /// The figures of as many requests as the trace has, at most 10 million, made by its generators without any I/O.
    pub own: Summary,
}

impl Closest {
    /// The closest load to a trace; `None` if it has no request but flushes.
    pub fn new(summary: &Summary) -> Option<Self> {
        let fit = Fit::new(summary)?;
        let requests = summary.operations().min(SIMULATED_MAX);
        let mut summarizer = Summarizer::default();
        let mut operations = 0;
        for event in Requests::new(&fit.load, summary.mean_latency_ns()) {
            summarizer.add(&event);
            operations += u64::from(event.action.operation().is_some());
            if operations == requests {
                break;
            }
        }
        Some(Self { fit, own: summarizer.finish() })
    }
}

/// All figures of a trace.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Trace"))]
pub struct Document<'a> {
    /// Always `diskspd-trace`.
    schema: &'static str,
    /// Version of this format. Fields may be added to a version; readers ignore those that they do not know.
    schema_version: u32,
    /// Version of the program.
    version: &'static str,
    /// The files of the trace, as given.
    files: &'a [String],
    /// Its kind.
    kind: TraceKind,
    /// Time of the first request in nanoseconds since 1970 in UTC, if the trace has it.
    begin_unix_ns: Option<u64>,
    /// Counts of what was read, and losses.
    account: &'a Account,
    /// By kind of request: `read`, `write`, `discard`, `write zeroes`, `fdatasync`, `fsync`; without those that the trace
    /// has none of.
    actions: BTreeMap<&'static str, &'a ActionFigures>,
    /// By kind of request.
    sizes: BTreeMap<&'static str, &'a Sizes>,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Percent of the requests other than flushes that are sequential.
    sequential_percent: f64,
    /// Bytes from the first to the last touched, of all devices together.
    span_bytes: u64,
    /// Devices, those with the most requests first.
    devices: Vec<Named<'a, Device, DeviceFigures>>,
    /// Processes, those with the most requests first.
    processes: Vec<Named<'a, Process, ProcessFigures>>,
    /// The closest load (`--job`): a row for each property of the trace.
    closest_load: Option<&'a [Row]>,
}

/// Figures with what they are of.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "{N}Figures"))]
struct Named<'a, N, F> {
    #[serde(flatten)]
    name: &'a N,
    #[serde(flatten)]
    figures: &'a F,
}

impl<'a, N, F> From<(&'a N, &'a F)> for Named<'a, N, F> {
    fn from((name, figures): (&'a N, &'a F)) -> Self {
        Self { name, figures }
    }
}

impl<'a> Document<'a> {
    /// The document of a trace in these files.
    pub fn new(files: &'a [String], figures: &'a Figures, closest: Option<&'a Closest>) -> Self {
        let summary = &figures.summary;
        let actions = Action::ALL.into_iter().map(|action| (action.name(), &summary.actions[action.index()]));
        let sizes = Operation::ALL.into_iter().map(|operation| (operation.name(), &summary.sizes[operation]));
        Self {
            schema: TRACE_SCHEMA,
            schema_version: TRACE_SCHEMA_VERSION,
            version: IMPLEMENTATION_VERSION,
            files,
            kind: figures.kind,
            begin_unix_ns: figures.begin_unix_ns,
            account: &figures.account,
            actions: actions.filter(|(_, action)| action.volume.requests > 0).collect(),
            sizes: sizes.filter(|(_, sizes)| !sizes.counts.is_empty()).collect(),
            summary,
            sequential_percent: summary.sequential_percent(),
            span_bytes: summary.span_bytes(),
            devices: figures.devices().into_iter().map(Named::from).collect(),
            processes: figures.processes().into_iter().map(Named::from).collect(),
            closest_load: closest.map(|closest| &*closest.fit.rows),
        }
    }
}
