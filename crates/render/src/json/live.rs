//! The lines of a live stream. Each is one document of JSON on a line of its own.

use super::{Document, ReadError};
use model::live::LiveInterval;
use model::plan::Plan;
use model::printable::printable_json;
use model::profile::Profile;
use model::result::{RunResult, Tool};
use serde::{Deserialize, Serialize};

/// What `schema` says in the first line of a stream.
pub const LIVE_SCHEMA: &str = "diskspd-live";

/// Version of the streams that are written.
pub const LIVE_SCHEMA_VERSION: u32 = 2;

/// What marked streams of version 1 instead, in the field `form`.
pub const LIVE_FORM_1: &str = "diskspd-live/1";

/// What a run is going to do.
#[derive(Clone, Debug)]
pub struct Begin<'a> {
    /// The program.
    pub tool: &'a Tool,
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: &'a str,
    /// What `--label` gave.
    pub labels: &'a [(String, String)],
    /// When the line was written, in nanoseconds since 1970 in UTC.
    pub at_unix_ns: i64,
    /// Planned length of the intervals.
    pub interval_ns: u64,
    /// What was asked for.
    pub profile: &'a Profile,
    /// What was decided.
    pub plan: &'a Plan,
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

/// What is going to be done.
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
    /// What `--label` gave, in that order.
    #[serde(serialize_with = "model::label::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<model::label::Label>"))]
    labels: &'a [(String, String)],
    /// When the line was written, in nanoseconds since 1970-01-01 00:00:00 UTC.
    at_unix_ns: i64,
    /// Planned length of the intervals.
    interval_ns: u64,
    /// What was asked for.
    profile: &'a Profile,
    /// What was decided.
    plan: &'a Plan,
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
/// None that is known: all of it can be written as JSON.
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

/// The last line, without a line feed.
///
/// # Errors
///
/// As [`begin_line`].
pub fn result_line(dropped_lines: u64, result: &RunResult) -> serde_json::Result<Vec<u8>> {
    line(&Line::Result(Box::new(ResultLine { dropped_lines, result: Document::of(result) })))
}

/// What is asked of a line before it is read.
#[derive(Deserialize)]
struct Marks {
    schema: Option<String>,
    form: Option<String>,
}

/// The result in a live stream, as a document of its own: the last line has it. `None` if a text is no such stream.
///
/// # Errors
///
/// If the stream has no result, because its run did not come to its end.
pub(super) fn result_in(text: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let marks: Option<Marks> = lines.next().and_then(|line| serde_json::from_slice(line).ok());
    let is_stream =
        |marks: Marks| marks.schema.as_deref() == Some(LIVE_SCHEMA) || marks.form.as_deref() == Some(LIVE_FORM_1);
    if !marks.is_some_and(is_stream) {
        return Ok(None);
    }
    let mut last: serde_json::Value =
        lines.next_back().and_then(|line| serde_json::from_slice(line).ok()).unwrap_or_default();
    match last.get_mut("result").map(serde_json::Value::take) {
        Some(result) => serde_json::to_vec(&result).map(Some).map_err(ReadError::Malformed),
        None => Err(ReadError::CutOff),
    }
}
