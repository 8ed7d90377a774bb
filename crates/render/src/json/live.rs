//! The lines of a live stream, each a JSON document.

use super::Document;
use model::live::{LIVE_SCHEMA, LIVE_SCHEMA_VERSION, LiveInterval};
use model::plan::Plan;
use model::printable::printable_json;
use model::profile::Profile;
use model::result::{RunResult, Tool};
use report::Explain;
use serde::Serialize;

/// The planned run.
#[derive(Clone, Debug)]
pub struct Begin<'a> {
    /// The program.
    pub tool: &'a Tool,
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: &'a str,
    /// The values of `--label`.
    pub labels: &'a [(String, String)],
    /// Time of the line, in nanoseconds since 1970-01-01 00:00:00 UTC.
    pub at_unix_ns: i64,
    /// Planned length of the intervals.
    pub interval_ns: u64,
    /// The requested profile.
    pub profile: &'a Profile,
    /// The plan; `None` for several hosts, each of which has its own.
    pub plan: Option<&'a Plan>,
    /// The names of the hosts of `--on`.
    pub hosts: &'a [String],
}

/// A line of a live stream.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LiveLine"))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// The first line: what is going to be done.
    Begin(PlanLine<'a>),
    /// An interval of the warm-up or the measurement.
    Interval(IntervalLine<'a>),
    /// The last line: the result.
    Result(Box<ResultLine<'a>>),
}

/// The planned run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LiveBegin"))]
pub(super) struct PlanLine<'a> {
    /// Always `diskspd-live`.
    schema: &'static str,
    /// Version of this format. Fields may be added to a version.
    schema_version: u32,
    /// The program that measures.
    tool: &'a Tool,
    /// The command line, arguments joined by single blanks, program name first.
    command_line: &'a str,
    /// The labels of `--label`, in that order.
    #[serde(serialize_with = "model::label::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<model::label::Label>"))]
    labels: &'a [(String, String)],
    /// When the line was written, in nanoseconds since 1970-01-01 00:00:00 UTC.
    at_unix_ns: i64,
    /// Planned length of the intervals.
    interval_ns: u64,
    /// The requested load.
    profile: &'a Profile,
    /// The plan; null with `--on`.
    plan: Option<&'a Plan>,
    /// With `--on`, the names of the hosts; otherwise empty.
    hosts: &'a [String],
}

/// An interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LiveIntervalLine"))]
pub struct IntervalLine<'a> {
    /// Its number in the run, from 1.
    pub number: u64,
    /// Number of the timespan, from 1.
    pub time_span: u64,
    /// When it ended, in nanoseconds since 1970-01-01 00:00:00 UTC.
    pub ended_at_unix_ns: i64,
    /// Lines that the reader did not take in time and that were dropped, since the stream began.
    pub dropped_lines: u64,
    /// Its figures.
    #[serde(flatten)]
    pub interval: &'a LiveInterval,
}

/// The result.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LiveResult"))]
pub(super) struct ResultLine<'a> {
    /// Lines that were dropped, as in the intervals.
    dropped_lines: u64,
    /// The document that `--json` writes.
    result: Document<'a>,
}

fn line(line: &Line<'_>) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(line).map(|text| printable_json(&text).into_owned())
}

/// The first line, without a line feed.
///
/// # Errors
///
/// None known: all of it can be written as JSON.
pub fn begin_line(begin: &Begin<'_>) -> serde_json::Result<Vec<u8>> {
    line(&Line::Begin(PlanLine {
        schema: LIVE_SCHEMA,
        schema_version: LIVE_SCHEMA_VERSION,
        tool: begin.tool,
        command_line: begin.command_line,
        labels: begin.labels,
        at_unix_ns: begin.at_unix_ns,
        interval_ns: begin.interval_ns,
        profile: begin.profile,
        plan: begin.plan,
        hosts: begin.hosts,
    }))
}

/// The line of an interval, without a line feed.
///
/// # Errors
///
/// As [`begin_line`].
pub fn interval_line(interval: &IntervalLine<'_>) -> serde_json::Result<Vec<u8>> {
    line(&Line::Interval(interval.clone()))
}

/// The last line, without a line feed; `explain` as in [`write`](super::write()).
///
/// # Errors
///
/// As [`begin_line`].
pub fn result_line(dropped_lines: u64, result: &RunResult, explain: Explain) -> serde_json::Result<Vec<u8>> {
    line(&Line::Result(Box::new(ResultLine { dropped_lines, result: Document::new(result, explain) })))
}
