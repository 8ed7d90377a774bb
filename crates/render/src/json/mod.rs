//! The result document of this program: all measured data, as JSON.
//!
//! The crate `import` reads back exactly the output of [`write()`], except for the brief, which follows from the rest.
//! The types of `model` are its form; docs/formats/json.md describes it field by field, and docs/decisions/0005-json.md
//! gives the reasons.

mod layout;
pub mod live;
#[cfg(feature = "schema")]
mod schema;

#[cfg(feature = "schema")]
pub use schema::{
    schema, schema_of_live, schema_of_live_interval, schema_of_monitor, schema_of_sweep, schema_of_trace,
    schema_of_written, schema_of_written_monitor, schema_of_written_sweep,
};

use layout::Layout;
use model::result::{RESULT_SCHEMA, RESULT_SCHEMA_VERSION, RunResult};
use report::closing_line;
use report::{Brief, Explain};
use serde::Serialize;
use std::io::{self, Write};

/// Everything about one run: what was asked for, on which machine, what was decided, and what was
/// measured.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Result"))]
struct Document<'a> {
    /// Always `diskspd-result`.
    schema: &'static str,
    /// Version of this format. Fields may be added to a version; readers ignore those that they do
    /// not know.
    schema_version: u32,
    /// The result in sentences; earlier documents lack it.
    #[serde(default)]
    brief: InBrief,
    #[serde(flatten)]
    result: &'a RunResult,
}

impl<'a> Document<'a> {
    fn new(result: &'a RunResult, explain: Explain) -> Self {
        let brief = InBrief::new(result, explain);
        Self { schema: RESULT_SCHEMA, schema_version: RESULT_SCHEMA_VERSION, brief, result }
    }
}

/// The result in sentences, as its page has them. It is not read back: the figures are the result.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Brief"))]
struct InBrief {
    /// The load, its figures and the findings on a line; empty if nothing was measured.
    answer: String,
    /// How long, by what means, and what came out.
    measured: String,
    /// The targets, what they stand on, and the machine.
    on: String,
    /// How far the figures can be used, and why not further.
    trust: String,
    /// The next step: what to do with the answer, or for a better one.
    next: String,
    /// The command line for it; may be empty.
    command: String,
}

impl InBrief {
    fn new(result: &RunResult, explain: Explain) -> Self {
        let Brief { measured, on, trust, next, command } = report::brief_of_run(result, explain);
        let answer = closing_line(result).unwrap_or_default();
        Self { answer, measured, on, trust: trust.words, next, command }
    }
}

/// Writes a result, indented for people, with a line feed at its end; `explain` has the documentation of its findings.
pub fn write(result: &RunResult, explain: Explain, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Layout::default());
    Document::new(result, explain).serialize(&mut serializer)?;
    out.write_all(b"\n")
}
