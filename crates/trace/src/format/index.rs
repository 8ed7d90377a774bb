//! The index: where blocks begin and which times they hold, and all names.

use super::block::read_block;
use super::varint::Cursor;
use super::{END_BYTES, END_MAGIC, FormatError, INDEX_TAG, columns};
use crate::event::{Event, Names};
use model::varint::put;
use std::io::{Read, Seek, SeekFrom};

/// A block of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedBlock {
    /// Its first byte in the file.
    pub place: u64,
    /// Issue of its first request.
    pub first_ns: u64,
    /// Issue of its last request.
    pub last_ns: u64,
    /// Number of requests.
    pub events: u32,
}

impl IndexedBlock {
    /// The block of these requests; `None` if there are none.
    pub(super) fn new(place: u64, events: &[Event]) -> Option<Self> {
        let (first, last) = (events.first()?, events.last()?);
        Some(Self { place, first_ns: first.issue_ns, last_ns: last.issue_ns, events: events.len() as u32 })
    }
}

/// All blocks, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The blocks.
    pub blocks: Vec<IndexedBlock>,
    /// Issues and completions that were lost while the trace was recorded, at most.
    pub missed_events: u64,
}

impl Index {
    /// Issue of the last request; 0 if there is none.
    pub fn last_ns(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.last_ns)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>, names: &Names) {
        columns::put_names(out, names, &mut Names::default());
        let (mut place, mut time_ns) = (0, 0);
        for block in &self.blocks {
            put(out, block.place - place);
            put(out, block.first_ns - time_ns);
            put(out, block.last_ns - block.first_ns);
            put(out, u64::from(block.events));
            (place, time_ns) = (block.place, block.last_ns);
        }
        if self.missed_events > 0 {
            put(out, self.missed_events);
        }
    }

    pub(super) fn take(content: &[u8], count: u32) -> Option<(Self, Names)> {
        let (mut cursor, mut names, mut index) = (Cursor(content), Names::default(), Self::default());
        columns::take_names(&mut cursor, &mut names)?;
        let (mut place, mut time_ns) = (0_u64, 0_u64);
        for _ in 0..count {
            place = place.checked_add(cursor.number()?)?;
            let first_ns = time_ns.checked_add(cursor.number()?)?;
            time_ns = first_ns.checked_add(cursor.number()?)?;
            let events = u32::try_from(cursor.number()?).ok()?;
            index.blocks.push(IndexedBlock { place, first_ns, last_ns: time_ns, events });
        }
        if !cursor.0.is_empty() {
            index.missed_events = cursor.number()?;
        }
        cursor.0.is_empty().then_some((index, names))
    }
}

/// Reads the index and the names from the end of a trace.
pub fn read_index(trace: &mut (impl Read + Seek)) -> Result<(Index, Names), FormatError> {
    let end = trace.seek(SeekFrom::End(0))?.checked_sub(END_BYTES).ok_or(FormatError::Index)?;
    trace.seek(SeekFrom::Start(end))?;
    let mut bytes = [0; END_BYTES as usize];
    trace.read_exact(&mut bytes)?;
    let (place, magic) = bytes.split_at(8);
    let place = u64::from_le_bytes(place.try_into().unwrap_or_default());
    if magic != END_MAGIC || place >= end {
        return Err(FormatError::Index);
    }
    trace.seek(SeekFrom::Start(place))?;
    let Ok(Some((head, content))) = read_block(trace) else { return Err(FormatError::Index) };
    let index = (head.tag == INDEX_TAG).then(|| Index::take(&content, head.count)).flatten();
    index.ok_or(FormatError::Index)
}
