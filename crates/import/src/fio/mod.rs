//! JSON of fio (`--output-format=json` and `json+`), of version 2.1.14 and later.
//!
//! Each job is a stream, named after it; all entries of jobs that ran at the same time are a timespan. Figures are
//! those that fio printed. Only joint figures of several jobs or both directions are computed: counts over the longest
//! time, pooled moments, and percentiles from bins (`json+`).

mod document;
mod find;
mod job;
mod load;
mod notes;
mod span;

use crate::decode;
use document::{Document, Global, Head, Job, Text};
use load::JobOptions;
use model::note::Note;
use model::printable::{clipped_error, printable};
use model::result::{Implementation, RunResult, Tool};
use model::units::UnixTime;
use std::borrow::Cow;

/// Largest text that is read.
pub const BYTES_MAX: usize = 256 << 20;
/// Maximum number of jobs, the same as in fio.
const JOBS_MAX: usize = 4096;
/// The last entry of `client_stats` is the sum of the others.
const ALL_CLIENTS: &str = "All clients";
/// The first key of every document of fio.
const VERSION_KEY: &[u8] = b"\"fio version\"";

/// The reason why the output of fio could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document is truncated.
    #[error("JSON of fio that is cut off: there is no whole document")]
    CutOff,
    /// It is not JSON, or not of the form of fio.
    #[error("JSON of fio: {}", clipped_error(.0))]
    Malformed(serde_json::Error),
    /// It exceeds the size limit.
    #[error("JSON of fio: {bytes} bytes are too large (at most {BYTES_MAX})")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It lacks a required part.
    #[error("JSON of fio: {}", printable(.0))]
    Incomplete(String),
}

/// True for JSON output of fio, with or without messages of fio around it.
pub fn is_document(bytes: &[u8]) -> bool {
    if bytes.len() > BYTES_MAX {
        return false;
    }
    let text = text(bytes);
    let text = text.as_ref();
    let Some(start) = text.windows(VERSION_KEY.len()).position(|part| part == VERSION_KEY) else { return false };
    // In most documents it is the first key; in a document of this program it may be a value.
    text[..start].trim_ascii_end().ends_with(b"{") || last_document(text).is_ok_and(|(document, _)| is_fio(&document))
}

/// Reads the last whole document in the output of fio.
///
/// # Errors
///
/// The reason why there is none.
pub fn read(bytes: &[u8]) -> Result<RunResult, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let text = text(bytes);
    let (document, notes) = last_document(&text)?;
    if !is_fio(&document) {
        return Err(ReadError::Incomplete("the last document has no \"fio version\" or no \"jobs\"".to_owned()));
    }
    let document: Document = serde_json::from_str(&document).map_err(ReadError::Malformed)?;
    let mut result = result(&document).map_err(ReadError::Incomplete)?;
    result.notes.extend(notes);
    crate::finish::totals(&mut result);
    Ok(result)
}

/// As UTF-8 without a byte order mark; `PowerShell` writes UTF-16.
fn text(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0xef, 0xbb, 0xbf, ..] => decode::decode(bytes).text.into_bytes().into(),
        bytes => bytes.into(),
    }
}

/// The last whole document as JSON, with notes on the others.
fn last_document(text: &[u8]) -> Result<(String, Vec<Note>), ReadError> {
    let text = String::from_utf8_lossy(text);
    let found = find::find(&text);
    let last = found.last.ok_or(ReadError::CutOff)?;
    let mut notes = Vec::new();
    if found.documents > 1 {
        notes.push(notes::verbatim(format!("the file has {} documents of fio: this is the last", found.documents)));
    }
    if found.is_cut {
        notes.push(notes::verbatim("the last document of the file is cut off: this is the one before".to_owned()));
    }
    Ok((find::mended(&text[last]), notes))
}

impl Document {
    fn given<'a>(&'a self, job: &'a Job) -> JobOptions<'a> {
        let is_of_host = |text: &Text| matches!((text, &job.hostname), (Text::Text(a), Some(b)) if a == b);
        let global = self.global.as_ref().and_then(|global| match global {
            Global::All(options) => Some(options),
            Global::Each(hosts) => hosts.iter().take(JOBS_MAX).find(|of| of.get("hostname").is_some_and(is_of_host)),
        });
        JobOptions { own: job.options.as_ref(), global }
    }
}

fn is_fio(document: &str) -> bool {
    let head: Result<Head, _> = serde_json::from_str(document);
    head.is_ok_and(|head| {
        head.schema.is_none() && head.version.is_some() && (head.jobs.is_some() || head.client_stats.is_some())
    })
}

fn result(document: &Document) -> Result<RunResult, String> {
    let version = document.version.strip_prefix("fio-").unwrap_or(&document.version);
    let version = printable(version).into_owned();
    let jobs: Vec<&Job> =
        document.jobs.iter().chain(document.client_stats.iter().filter(|job| job.jobname != ALL_CLIENTS)).collect();
    if jobs.is_empty() {
        return Err("there are no jobs".to_owned());
    }
    if jobs.len() > JOBS_MAX {
        return Err(format!("{} jobs are too many (at most {JOBS_MAX})", jobs.len()));
    }
    let mut result = RunResult {
        tool: Tool {
            version: String::new(),
            version_date: String::new(),
            implementation: Some(Implementation { name: "fio".to_owned(), version: version.clone() }),
        },
        started_at: UnixTime::UNKNOWN,
        ..RunResult::default()
    };
    if let Some((started_at, note)) = started_at(document, &jobs) {
        result.started_at = started_at;
        result.notes.extend(note);
    }
    let hosts: Vec<&String> = jobs.iter().filter_map(|job| job.hostname.as_ref()).collect();
    if let Some(host) = hosts.first().filter(|host| hosts.iter().all(|other| other == *host)) {
        result.system.computer_name.clone_from(host);
    }
    let source = format!("fio {version}");
    let mut names = span::Names::default();
    for jobs in jobs.chunk_by(|before, job| !begins_after(before, job)) {
        let entries: Vec<span::Entry<'_>> = jobs.iter().map(|job| (*job, document.given(job))).collect();
        let (span, span_result) = span::read(&entries, &source, &mut names)?;
        result.profile.time_spans.push(span);
        result.time_spans.push(span_result);
    }
    if result.time_spans.len() > 1 {
        result.notes.push(notes::verbatim(
            "each group of fio is a timespan, as after stonewall; groups of new_group alone ran at the same time"
                .to_owned(),
        ));
    }
    Ok(result)
}

/// True if a job began a group that waited for the one before. Documents lack stonewall, but have the number of the
/// group, and from 3.36 on the start time of a job.
fn begins_after(before: &Job, job: &Job) -> bool {
    let runtime_ms = [&before.read, &before.write, &before.trim].iter().filter_map(|of| of.runtime.whole).max();
    let starts = before.started_ms.whole.zip(job.started_ms.whole);
    let is_beside = starts.is_some_and(|(before, start)| start < before.saturating_add(runtime_ms.unwrap_or(0)));
    job.groupid.whole != before.groupid.whole && !is_beside
}

/// Start of the first job: older versions print only the time of the document, and the seconds since the start of fio.
fn started_at(document: &Document, jobs: &[&Job]) -> Option<(UnixTime, Option<Note>)> {
    let first = jobs.iter().filter_map(|job| job.started_ms.whole).filter(|ms| *ms > 0).min();
    if let Some(ms) = first {
        return Some((UnixTime(i128::from(ms) * 1_000_000), None));
    }
    let printed_ms = document.timestamp_ms.whole.or(document.timestamp.whole.map(|s| s.saturating_mul(1000)))?;
    let elapsed_s = jobs.iter().filter_map(|job| job.elapsed.whole).max()?;
    let started_ms = printed_ms.checked_sub(elapsed_s.saturating_mul(1000))?;
    let note = "the start time is that of the document less the whole seconds that fio ran: exact to 1 s";
    Some((UnixTime(i128::from(started_ms) * 1_000_000), Some(notes::verbatim(note.to_owned()))))
}
