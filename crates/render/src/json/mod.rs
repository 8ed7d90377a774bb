//! The result document of our own: everything that was measured, as JSON.
//!
//! What [`write()`] writes, the crate `import` reads back exactly. The types of `model` are its form; it is described
//! field by field in docs/formats/json.md, and why it is made this way in docs/decisions/0005-json.md.

mod layout;
pub mod live;
#[cfg(feature = "schema")]
mod schema;

#[cfg(feature = "schema")]
pub use schema::{
    schema, schema_of_live, schema_of_live_interval, schema_of_monitor, schema_of_sweep, schema_of_written,
    schema_of_written_monitor, schema_of_written_sweep,
};

use layout::Layout;
use model::result::{RESULT_SCHEMA, RESULT_SCHEMA_VERSION, RunResult};
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
    #[serde(flatten)]
    result: &'a RunResult,
}

impl<'a> Document<'a> {
    const fn of(result: &'a RunResult) -> Self {
        Self { schema: RESULT_SCHEMA, schema_version: RESULT_SCHEMA_VERSION, result }
    }
}

/// Writes a result, indented for people, with a line feed at its end.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Layout::default());
    Document::of(result).serialize(&mut serializer)?;
    out.write_all(b"\n")
}
