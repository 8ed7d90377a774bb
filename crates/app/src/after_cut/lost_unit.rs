//! A unit that lacks data that must survive a cut.

use super::logs::Durable;
use crate::corrupt_unit::CorruptUnit;
use model::corruption::CorruptionClass as Class;
use model::verification::UnitWrite;
use report::CorruptUnitText;
use serde::Serialize;
use verify::log::Kind;

pub(super) type LostUnit = CorruptUnit<Loss>;

/// Data that must survive a cut, and the data in its place.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Loss {
    /// The write named in its header; null = it has no header.
    pub(super) found: Option<UnitWrite>,
    pub(super) found_run: Option<String>,
    pub(super) is_intact: Option<bool>,
    /// True if the file ends before it, or within it.
    pub(super) is_beyond_end: bool,
    #[serde(skip)]
    pub(super) durable_ticket: Option<u64>,
    /// The change that must be present; null = nothing is durable.
    pub(super) durable: Option<DurableChange>,
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

    pub(super) fn text(&self) -> CorruptUnitText<'_> {
        let Loss { found, found_run, is_intact, is_beyond_end, durable, .. } = &self.details;
        let damaged = if *is_intact == Some(false) { ", with a wrong checksum" } else { "" };
        let found = match found {
            _ if *is_beyond_end => Some("the file ends before its last byte".to_owned()),
            found => found.as_ref().map(|write| format!("{}{damaged}", write.words(found_run.as_deref()))),
        };
        let expected = durable.as_ref().map(|durable| ("durable", durable.words()));
        let text = self.text_with(expected, found);
        if !is_beyond_end {
            return text;
        }
        let second_read = text.second_read.filter(|_| self.second_read_is_right == Some(true));
        CorruptUnitText { first_bytes: None, second_read, ..text }
    }
}
