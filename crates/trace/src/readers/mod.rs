//! Traces of other tools, and the program's own: recognized by their content, read as requests in order of their issue.
//!
//! The first request of a trace is issued at 0; gaps stay. Records out of order are sorted within a window
//! ([`WINDOW`]). Text lines that cannot be read are left out, binary traces end at their damage;
//! both are counted in the [`Account`].

mod blkparse;
mod blktrace;
mod csv;
mod iolog;
mod lines;
mod requests;
mod steps;

use crate::account::Account;
use crate::event::{Event, Names};
use crate::format::{self, FormatError};
use crate::reorder::{Reorder, WINDOW};
use model::block_step::BlockStep;
use serde::Serialize;
use std::io::{self, BufReader, Cursor, Read};

/// Kinds of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceKind {
    /// The program's own.
    IoTrace,
    /// Binary files of blktrace, one per CPU.
    Blktrace,
    /// Text of blkparse in its default format, or of the kernel's `blk` tracer with `blk_classic`.
    Blkparse,
    /// fio's log of this version.
    IoLog(u32),
    /// CSV in the form of MSR Cambridge.
    Csv,
}

/// Reasons for which inputs are not a trace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Reading failed.
    #[error("reading failed: {error}")]
    Io {
        /// From 0.
        input: usize,
        /// The error.
        error: io::Error,
    },
    /// There is none.
    #[error("no input (expected: a trace)")]
    NoInput,
    /// The content is of no known kind.
    #[error(
        "not a trace (expected: .iotrace, blktrace, blkparse, fio iolog version 2 or 3, or CSV \
         Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime)"
    )]
    Unknown {
        /// From 0.
        input: usize,
    },
    /// Several inputs that are not the files of one blktrace.
    #[error("only the files of one blktrace, one per CPU, are read together")]
    SeveralInputs,
    /// The header of an `.iotrace` cannot be used.
    #[error("{0}")]
    Format(#[from] FormatError),
}

/// Names and counts that sources add to while they read.
#[derive(Debug, Default)]
struct State {
    names: Names,
    account: Account,
    /// To be added to stamps for nanoseconds since 1970, if known.
    unix_minus_stamp_ns: Option<i128>,
}

/// Requests, with the stamps of the trace.
trait Source {
    /// The next one; `None` at the end.
    fn next(&mut self, state: &mut State) -> Option<Event>;

    /// True if requests come in the order of completion, so that their order says nothing about the trace.
    fn is_by_completion(&self) -> bool {
        false
    }
}

/// Reads a trace of any kind, one request after the other.
pub struct TraceReader<'a> {
    kind: TraceKind,
    source: Box<dyn Source + 'a>,
    state: State,
    window: Reorder<Event>,
    /// Stamp of the first request.
    begin_ns: Option<u64>,
}

impl OpenError {
    /// The input that it is about, from 0.
    pub const fn input(&self) -> usize {
        match self {
            Self::Io { input, .. } | Self::Unknown { input } => *input,
            Self::NoInput | Self::SeveralInputs | Self::Format(_) => 0,
        }
    }
}

impl<'a> TraceReader<'a> {
    /// Begins to read: one input, or the files of one blktrace.
    pub fn new(inputs: Vec<Box<dyn Read + 'a>>) -> Result<Self, OpenError> {
        let mut state = State::default();
        let mut known = Vec::new();
        for (input, content) in inputs.into_iter().enumerate() {
            let (kind, content) = detect(content, input)?;
            known.push((kind, content));
        }
        let several = known.len() > 1;
        if several && known.iter().any(|(kind, _)| *kind != TraceKind::Blktrace) {
            return Err(OpenError::SeveralInputs);
        }
        let kind = known.first().ok_or(OpenError::NoInput)?.0;
        let mut contents: Vec<_> = known.into_iter().map(|(_, content)| content).collect();
        let source: Box<dyn Source + 'a> = match kind {
            TraceKind::Blktrace => Box::new(blktrace::Blktrace::new(contents)),
            TraceKind::IoTrace => Box::new(IoTrace::new(contents.remove(0), &mut state)?),
            TraceKind::Blkparse => Box::new(blkparse::Blkparse::new(contents.remove(0))),
            TraceKind::IoLog(version) => Box::new(iolog::IoLog::new(contents.remove(0), version, &mut state)),
            TraceKind::Csv => Box::new(csv::Csv::new(contents.remove(0))),
        };
        Ok(Self { kind, source, state, window: Reorder::new(WINDOW), begin_ns: None })
    }

    /// Reads steps as blktrace has them, while they are made; `unix_minus_stamp_ns` added to their stamps is nanoseconds since 1970.
    pub fn from_steps(steps: impl Iterator<Item = BlockStep> + 'a, unix_minus_stamp_ns: i128) -> Self {
        let state = State { unix_minus_stamp_ns: Some(unix_minus_stamp_ns), ..State::default() };
        let source = Box::new(steps::Steps::new(steps));
        Self { kind: TraceKind::Blktrace, source, state, window: Reorder::new(WINDOW), begin_ns: None }
    }

    /// The kind of the trace.
    pub fn kind(&self) -> TraceKind {
        self.kind
    }

    /// Names of the requests so far.
    pub fn names(&self) -> &Names {
        &self.state.names
    }

    /// Counts and losses so far.
    pub fn account(&self) -> Account {
        let mut account = self.state.account.clone();
        account.late += self.window.late();
        if !self.source.is_by_completion() {
            account.sorted += self.window.sorted();
        }
        account
    }

    /// Time of the first request in nanoseconds since 1970, if the trace has it; known with the first request.
    pub fn begin_unix_ns(&self) -> Option<u64> {
        u64::try_from(i128::from(self.begin_ns?) + self.state.unix_minus_stamp_ns?).ok()
    }
}

impl Iterator for TraceReader<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let (source, state) = (&mut self.source, &mut self.state);
        let (stamp_ns, event) = self.window.next_from(|| source.next(state).map(|event| (event.issue_ns, event)))?;
        let begin_ns = *self.begin_ns.get_or_insert(stamp_ns);
        self.state.account.events += 1;
        Some(Event { issue_ns: stamp_ns - begin_ns, ..event })
    }
}

/// True if a file that begins with these bytes, the first 16 KiB, is read as a trace.
pub fn is_trace(begin: &[u8]) -> bool {
    kind_of_content(begin).is_some()
}

/// Bytes by which a trace is recognized.
pub const DETECTED_BYTES: u64 = 16 << 10;

/// The kind of an input, and the input from its beginning.
fn detect<'a>(mut content: Box<dyn Read + 'a>, input: usize) -> Result<(TraceKind, Box<dyn Read + 'a>), OpenError> {
    let mut begin = Vec::new();
    (&mut content).take(DETECTED_BYTES).read_to_end(&mut begin).map_err(|error| OpenError::Io { input, error })?;
    let kind = kind_of_content(&begin).ok_or(OpenError::Unknown { input })?;
    Ok((kind, Box::new(BufReader::new(Cursor::new(begin).chain(content)))))
}

fn kind_of_content(begin: &[u8]) -> Option<TraceKind> {
    if begin.starts_with(&format::MAGIC) {
        return Some(TraceKind::IoTrace);
    }
    if blktrace::detect(begin) {
        return Some(TraceKind::Blktrace);
    }
    let text = String::from_utf8_lossy(begin);
    let first = text.lines().next()?.trim_end();
    match iolog::detect(first) {
        Some(version) => [2, 3].contains(&version).then_some(TraceKind::IoLog(version)),
        None if csv::detect(first) => Some(TraceKind::Csv),
        None => text.lines().any(blkparse::detect).then_some(TraceKind::Blkparse),
    }
}

/// An `.iotrace`.
struct IoTrace<R> {
    reader: format::Reader<R>,
    revision: u64,
}

impl<R: Read> IoTrace<R> {
    fn new(content: R, state: &mut State) -> Result<Self, FormatError> {
        let reader = format::Reader::new(content)?;
        state.unix_minus_stamp_ns = reader.header().begin_unix_ns.map(i128::from);
        state.names = reader.names().clone();
        Ok(Self { revision: reader.names().revision(), reader })
    }
}

impl<R: Read> Source for IoTrace<R> {
    fn next(&mut self, state: &mut State) -> Option<Event> {
        let event = self.reader.next();
        if self.reader.names().revision() != self.revision {
            self.revision = self.reader.names().revision();
            state.names = self.reader.names().clone();
        }
        state.account.issues_without_completion += event.map_or(0, |event| u64::from(event.latency_ns.is_none()));
        if event.is_none() {
            state.account.missed_events = self.reader.missed_events();
            self.reader.loss().cloned().into_iter().for_each(|loss| state.account.add_loss(loss));
        }
        event
    }
}
