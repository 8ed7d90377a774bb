//! JSON results, live streams and the files of sweeps, of every version, and JSON of fio.

mod upgrade;

use crate::fio;
use model::live::{LIVE_FORM_1, LIVE_SCHEMA};
use model::printable::clipped_error;
use model::result::{RESULT_SCHEMA, RESULT_SCHEMA_VERSION, RunResult};
use model::sweep::{SWEEP_FORM_1, SWEEP_SCHEMA, SWEEP_SCHEMA_VERSION, Sweep};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;
use std::borrow::Cow;

/// Largest document that is read.
pub const BYTES_MAX: usize = 1 << 30;

/// The reason why a text is no result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or not of the form of results.
    #[error("it is not a result of this program: {}", clipped_error(.0))]
    Malformed(serde_json::Error),
    /// It is JSON of another program.
    #[error(
        "it is JSON, but not a result of this program: its \"schema\" is {}, not \"{RESULT_SCHEMA}\"",
        clipped_error(found)
    )]
    Foreign {
        /// The schema that it names.
        found: String,
    },
    /// It exceeds the size limit.
    #[error("{bytes} bytes are more than a result may have ({BYTES_MAX})")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is a live stream of a run that did not end.
    #[error("it is a live stream without a result: its run did not come to its end")]
    CutOff,
    /// It is JSON of fio that cannot be read.
    #[error("{0}")]
    Fio(fio::ReadError),
    /// A newer program wrote it.
    #[error("it has version {version} of the format; this program knows versions up to {RESULT_SCHEMA_VERSION}")]
    TooNew {
        /// Its version.
        version: u64,
    },
}

/// Reads a result that `render` wrote, that of a live stream, or one of fio. Unknown fields are ignored.
pub fn read(bytes: &[u8]) -> Result<RunResult, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    if fio::is_document(bytes) {
        return fio::read(bytes).map_err(ReadError::Fio);
    }
    let of_stream = result_in(bytes)?;
    let bytes = of_stream.as_deref().unwrap_or(bytes);
    let head: Head = serde_json::from_slice(bytes).map_err(ReadError::Malformed)?;
    let schema = head.schema.ok_or_else(|| ReadError::Foreign { found: "missing".to_owned() })?;
    if schema != RESULT_SCHEMA {
        return Err(ReadError::Foreign { found: format!("{schema:?}") });
    }
    if let Some(version) = head.schema_version.filter(|&version| version > u64::from(RESULT_SCHEMA_VERSION)) {
        return Err(ReadError::TooNew { version });
    }
    let result: Result<RunResult, _> = if head.schema_version < Some(u64::from(RESULT_SCHEMA_VERSION)) {
        upgraded(bytes)
    } else {
        serde_json::from_slice(bytes)
    };
    let mut result = result.map_err(ReadError::Malformed)?;
    // Earlier programs did not write summaries.
    crate::finish::summaries(&mut result);
    Ok(result)
}

/// A document of an earlier version.
fn upgraded<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    upgrade::upgrade(&mut value);
    // Through text, so that the program has one reader for each type: a second one for values took 0.4 MiB.
    serde_json::from_slice(&serde_json::to_vec(&value)?).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let reason = error.to_string();
        // The place refers to the converted text, which the user does not have.
        serde_json::Error::custom(reason.trim_end_matches(&format!(" at line {line} column {column}")))
    })
}

/// Reads the file of a sweep or repeat (`sweep.json`, `repeat.json`).
///
/// # Errors
///
/// The reason why it is none.
pub fn read_sweep(bytes: &[u8]) -> Result<Sweep, String> {
    let head: SweepHead = serde_json::from_slice(bytes).map_err(|error| clipped_error(&error))?;
    let read = match (head.schema.as_deref(), head.schema_version, head.form.as_deref()) {
        (Some(SWEEP_SCHEMA), Some(SWEEP_SCHEMA_VERSION), _) => serde_json::from_slice(bytes),
        (Some(SWEEP_SCHEMA), Some(version), _) => {
            return Err(format!("unsupported version {version} (this program reads up to {SWEEP_SCHEMA_VERSION})"));
        }
        (None, _, Some(SWEEP_FORM_1)) => upgraded(bytes),
        (found, ..) => {
            let found = found.or(head.form.as_deref()).unwrap_or("missing");
            let found = clipped_error(&found);
            return Err(format!("unknown schema '{found}' (expected: {SWEEP_SCHEMA})"));
        }
    };
    let sweep: Sweep = read.map_err(|error| clipped_error(&error))?;
    let count = sweep.points.len();
    if let Some(point) = sweep.named_points().find(|point| *point >= count) {
        return Err(format!("it refers to point {point}, but has {count}, numbered from 0"));
    }
    if sweep.visits.iter().any(|visit| visit.run == u32::MAX) {
        return Err(format!("no run has the number {}", u32::MAX));
    }
    Ok(sweep)
}

/// The fields that decide if a sweep can be read.
#[derive(Deserialize)]
struct SweepHead {
    schema: Option<String>,
    schema_version: Option<u32>,
    /// Used by version 1.
    form: Option<String>,
}

/// The fields that decide if the rest can be read.
#[derive(Deserialize)]
struct Head<'a> {
    schema: Option<Cow<'a, str>>,
    schema_version: Option<u64>,
}

/// The fields of a line that identify its kind.
#[derive(Deserialize)]
struct Marks {
    schema: Option<String>,
    form: Option<String>,
}

/// The result in a live stream, as a separate document: the last line has it. `None` if a text is no such stream.
///
/// # Errors
///
/// If the stream has no result, because its run did not end.
fn result_in(text: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
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
