//! Writes a trace, block after block.

use super::block::{BLOCK_HEAD_BYTES, BlockHead};
use super::index::{Index, IndexedBlock};
use super::varint::put_text;
use super::{BLOCK_EVENTS, END_MAGIC, EVENTS_TAG, Header, INDEX_TAG, MAGIC, VERSION, columns};
use crate::event::{Event, Names};
use model::varint::put;
use std::io::{self, Write};

/// Writes requests in order of their issue. Memory grows by 32 bytes per [`BLOCK_EVENTS`] requests, for the index.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Bytes written.
    position: u64,
    events: Vec<Event>,
    /// Names that readers of the blocks so far know.
    written: Names,
    index: Index,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let mut content = Vec::new();
        put(&mut content, header.begin_unix_ns.map_or(0, |ns| ns.saturating_add(1)));
        put_text(&mut content, &header.program);
        put(&mut content, header.devices.len() as u64);
        let mut written = Names::default();
        for (index, device) in header.devices.iter().enumerate() {
            columns::put_device(&mut content, device);
            if !written.set_device(index, device.clone()) {
                return Err(invalid("too many devices"));
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        out.write_all(&bytes)?;
        Ok(Self { out, position: bytes.len() as u64, events: Vec::new(), written, index: Index::default() })
    }

    /// Adds a request; `names` has those that it refers to.
    ///
    /// # Errors
    ///
    /// It was issued before the one before it, or refers to a name that is not in `names`; or writing failed.
    pub fn push(&mut self, event: &Event, names: &Names) -> io::Result<()> {
        let is_known =
            (event.device as usize) < names.devices().len() && (event.process as usize) < names.processes().len();
        if !is_known {
            return Err(invalid("the request refers to a name that is not in the table"));
        }
        if event.latency_ns == Some(u64::MAX) {
            return Err(invalid("the latency is out of range"));
        }
        let before_ns = self.events.last().map_or(self.index.last_ns(), |last| last.issue_ns);
        if event.issue_ns < before_ns {
            return Err(invalid("requests must be in order of their issue"));
        }
        self.events.push(*event);
        if self.events.len() == BLOCK_EVENTS { self.write_events(names) } else { Ok(()) }
    }

    /// Sets the number of issues and completions that were lost while the requests were recorded, at most.
    pub fn set_missed_events(&mut self, events: u64) {
        self.index.missed_events = events;
    }

    /// Writes what is left, and the index.
    pub fn finish(mut self, names: &Names) -> io::Result<W> {
        if !self.events.is_empty() {
            self.write_events(names)?;
        }
        let mut content = Vec::new();
        self.index.put(&mut content, names);
        let place = self.position;
        self.write_block(INDEX_TAG, self.index.blocks.len() as u32, 0, &content)?;
        self.out.write_all(&place.to_le_bytes())?;
        self.out.write_all(&END_MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_events(&mut self, names: &Names) -> io::Result<()> {
        let mut content = Vec::new();
        columns::put_names(&mut content, names, &mut self.written);
        columns::put_events(&mut content, &self.events);
        if let Some(block) = IndexedBlock::new(self.position, &self.events) {
            self.index.blocks.push(block);
            self.write_block(EVENTS_TAG, block.events, block.first_ns, &content)?;
        }
        self.events.clear();
        Ok(())
    }

    fn write_block(&mut self, tag: [u8; 4], count: u32, first_ns: u64, content: &[u8]) -> io::Result<()> {
        self.out.write_all(&BlockHead::new(tag, count, first_ns, content).to_bytes())?;
        self.out.write_all(content)?;
        self.position += (BLOCK_HEAD_BYTES + content.len()) as u64;
        Ok(())
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
