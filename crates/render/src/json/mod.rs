//! The result document of our own: everything that was measured, as JSON.
//!
//! [`read`] gives back exactly the result that [`write()`] was given. Described field by field in
//! docs/formats/json.md; why it is made this way in docs/decisions/0005-json.md.

mod layout;
pub mod live;
#[cfg(feature = "schema")]
mod schema;
mod upgrade;

#[cfg(feature = "schema")]
pub use schema::{
    schema, schema_of_live, schema_of_live_interval, schema_of_monitor, schema_of_sweep, schema_of_written,
    schema_of_written_monitor, schema_of_written_sweep,
};

use layout::Layout;
use model::result::RunResult;
use model::sweep::{SWEEP_FORM_1, SWEEP_SCHEMA, SWEEP_SCHEMA_VERSION, Sweep};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, Write};

/// Largest document that is read.
pub const BYTES_MAX: usize = 1 << 30;

/// What `schema` says in every document.
pub const SCHEMA: &str = "diskspd-result";

/// Version of the documents that are written, and the newest that is read. Fields may be added to
/// it; one that is renamed, removed or given another meaning makes a new version.
pub const SCHEMA_VERSION: u32 = 2;

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or none of the form that results have.
    #[error("it is not a result of this program: {0}")]
    Malformed(serde_json::Error),
    /// It is JSON of somebody else.
    #[error("it is JSON, but not a result of this program: its \"schema\" is {found}, not \"{SCHEMA}\"")]
    Foreign {
        /// What it says that it is.
        found: String,
    },
    /// It is larger than anything that is read.
    #[error("{bytes} bytes are more than a result may have ({BYTES_MAX})")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is a live stream whose run did not come to its end.
    #[error("it is a live stream without a result: its run did not come to its end")]
    CutOff,
    /// A newer program wrote it.
    #[error("it has version {version} of the format; this program knows versions up to {SCHEMA_VERSION}")]
    TooNew {
        /// Its version.
        version: u64,
    },
}

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
        Self { schema: SCHEMA, schema_version: SCHEMA_VERSION, result }
    }
}

/// Writes a result, indented for people, with a line feed at its end.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Layout::default());
    Document::of(result).serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Reads a result that [`write()`] wrote, or that of a live stream. Fields that it does not know are ignored.
pub fn read(bytes: &[u8]) -> Result<RunResult, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let of_stream = live::result_in(bytes)?;
    let bytes = of_stream.as_deref().unwrap_or(bytes);
    let head: Head = serde_json::from_slice(bytes).map_err(ReadError::Malformed)?;
    let schema = head.schema.ok_or_else(|| ReadError::Foreign { found: "missing".to_owned() })?;
    if schema != SCHEMA {
        return Err(ReadError::Foreign { found: format!("{schema:?}") });
    }
    if let Some(version) = head.schema_version.filter(|&version| version > u64::from(SCHEMA_VERSION)) {
        return Err(ReadError::TooNew { version });
    }
    let result: Result<RunResult, _> = if head.schema_version < Some(u64::from(SCHEMA_VERSION)) {
        upgraded(bytes)
    } else {
        serde_json::from_slice(bytes)
    };
    let mut result = result.map_err(ReadError::Malformed)?;
    // Earlier programs wrote none.
    result.time_spans.iter_mut().for_each(|span_result| span_result.summary = stats::summary(span_result));
    Ok(result)
}

/// A document of an earlier version.
fn upgraded<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    upgrade::upgrade(&mut value);
    serde_json::from_value(value)
}

/// Reads what a sweep or repeat keeps (`sweep.json`, `repeat.json`).
///
/// # Errors
///
/// Why it is none.
pub fn read_sweep(bytes: &[u8]) -> Result<Sweep, String> {
    let head: SweepHead = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let read = match (head.schema.as_deref(), head.schema_version, head.form.as_deref()) {
        (Some(SWEEP_SCHEMA), Some(SWEEP_SCHEMA_VERSION), _) => serde_json::from_slice(bytes),
        (Some(SWEEP_SCHEMA), Some(version), _) => {
            return Err(format!("unsupported version {version} (this program reads up to {SWEEP_SCHEMA_VERSION})"));
        }
        (None, _, Some(SWEEP_FORM_1)) => upgraded(bytes),
        (found, ..) => {
            let found = found.or(head.form.as_deref()).unwrap_or("missing");
            return Err(format!("unknown schema '{found}' (expected: {SWEEP_SCHEMA})"));
        }
    };
    read.map_err(|error| error.to_string())
}

/// What tells whether a sweep can be read.
#[derive(Deserialize)]
struct SweepHead {
    schema: Option<String>,
    schema_version: Option<u32>,
    /// Of version 1.
    form: Option<String>,
}

/// What tells whether the rest can be read.
#[derive(Deserialize)]
struct Head<'a> {
    schema: Option<Cow<'a, str>>,
    schema_version: Option<u64>,
}
