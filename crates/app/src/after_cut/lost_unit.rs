//! A unit that lacks data that must survive a cut.

use super::logs::Durable;
use crate::unit_evidence::{UnitEvidence, WrongUnit, second_read_words};
use model::corruption::CorruptionClass as Class;
use model::verification::UnitWrite;
use report::CorruptUnitText;
use serde::Serialize;
use std::io;
use std::ops::Range;
use verify::log::Kind;

/// A corrupt unit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LostUnit {
    pub(super) offset_bytes: u64,
    pub(super) class: Class,
    /// The write named in its header; null = it has no header.
    pub(super) found: Option<UnitWrite>,
    pub(super) found_run: Option<String>,
    pub(super) is_intact: Option<bool>,
    /// Its first 64 bytes in hexadecimal.
    pub(super) first_bytes: String,
    /// True if a second read returned permitted contents.
    pub(super) second_read_is_right: Option<bool>,
    /// True if the file ends before it, or within it.
    pub(super) is_beyond_end: bool,
    #[serde(skip)]
    pub(super) durable_ticket: Option<u64>,
    /// The change that must be present; null = nothing is durable.
    pub(super) durable: Option<DurableChange>,
    pub(super) error: Option<String>,
    #[serde(flatten)]
    pub(super) evidence: UnitEvidence,
    #[serde(skip)]
    pub(super) unit_bytes: u64,
    /// Time of its read, by `CLOCK_MONOTONIC`.
    #[serde(skip)]
    pub(super) at_ns: u64,
}

impl WrongUnit for LostUnit {
    fn range(&self) -> Range<u64> {
        self.offset_bytes..self.offset_bytes + self.unit_bytes
    }

    fn read_at_ns(&self) -> u64 {
        self.at_ns
    }

    fn evidence(&mut self) -> &mut UnitEvidence {
        &mut self.evidence
    }
}

/// A change that must be present, and the reason.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct DurableChange {
    /// Number of the change in the run.
    pub(super) change: u64,
    thread: u32,
    begun_ns: u64,
    is_write_through: bool,
    /// The first flush that began after the change had completed, and completed; null if it was written through.
    flush: Option<u64>,
    flush_thread: Option<u32>,
    flush_begun_ns: Option<u64>,
    /// The first change that began after it was to be durable.
    #[serde(skip)]
    pub(super) durable_since: u64,
}

impl DurableChange {
    pub(super) fn new(durable: &Durable) -> Self {
        let flush = durable.flush;
        Self {
            change: durable.change.ticket,
            thread: durable.thread,
            begun_ns: durable.change.time_us.saturating_mul(1000),
            is_write_through: durable.change.kind == Kind::WriteThrough,
            flush: flush.map(|(flush, _)| flush.ticket),
            flush_thread: flush.map(|(_, thread)| thread),
            flush_begun_ns: flush.map(|(flush, _)| flush.time_us.saturating_mul(1000)),
            durable_since: flush.map_or(durable.count, |(flush, _)| flush.ticket + 1),
        }
    }

    pub(super) fn words(&self) -> String {
        let Self { change, thread, begun_ns, .. } = *self;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let flush = match (self.flush, self.flush_thread, self.flush_begun_ns) {
            (Some(flush), Some(thread), Some(begun_ns)) => {
                format!("flushed by thread {thread} at {:.6} s (change {flush})", seconds(begun_ns))
            }
            _ if self.is_write_through => "written through".to_owned(),
            _ => "flushed".to_owned(),
        };
        format!("change {change} of thread {thread} at {:.6} s, {flush}", seconds(begun_ns))
    }
}

impl LostUnit {
    /// True if a durable write is missing, in whole or in part, so that its order is informative.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.class, Class::Lost | Class::Zeros | Class::Foreign | Class::Torn)
    }

    pub(super) fn unreadable(offset_bytes: u64, unit_bytes: u64, error: &io::Error) -> Self {
        Self {
            offset_bytes,
            class: Class::Unreadable,
            found: None,
            found_run: None,
            is_intact: None,
            first_bytes: String::new(),
            second_read_is_right: None,
            is_beyond_end: false,
            durable_ticket: None,
            durable: None,
            error: Some(error.to_string()),
            evidence: UnitEvidence::default(),
            unit_bytes,
            at_ns: sys::clock::monotonic_ns(),
        }
    }

    pub(super) fn text(&self) -> CorruptUnitText<'_> {
        let damaged = if self.is_intact == Some(false) { ", with a wrong checksum" } else { "" };
        let found = match &self.found {
            _ if self.is_beyond_end => Some("the file ends before its last byte".to_owned()),
            found => found.as_ref().map(|write| format!("{}{damaged}", write.words(self.found_run.as_deref()))),
        };
        let second_read = self.second_read_is_right.filter(|is_right| *is_right || !self.is_beyond_end);
        CorruptUnitText {
            class: self.class,
            offset_bytes: self.offset_bytes,
            place: String::new(),
            error: self.error.as_deref(),
            expected: self.durable.as_ref().map(|durable| ("durable", durable.words())),
            found,
            first_bytes: Some(&*self.first_bytes).filter(|_| !self.is_beyond_end),
            second_read: second_read.map(second_read_words),
            places: &self.evidence.places,
            kernel_messages: &self.evidence.kernel_messages,
        }
    }
}
