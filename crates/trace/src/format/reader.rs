//! Reads a trace, block after block, up to its end or to damage.

use super::block::{BLOCK_HEAD_BYTES, BlockHead, read_block, read_content, read_up_to};
use super::index::Index;
use super::varint::Cursor;
use super::{BLOCK_EVENTS, END_BYTES, END_MAGIC, EVENTS_TAG, FormatError, Header, INDEX_TAG, MAGIC, VERSION, columns};
use crate::account::{Loss, Place};
use crate::event::{Event, NAME_BYTES_MAX, Names};
use std::io::{self, Read};

/// Reads requests. Ends at damage; [`loss`](Self::loss) then has it.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Bytes read as valid.
    position: u64,
    header: Header,
    names: Names,
    /// Of the current block.
    events: std::vec::IntoIter<Event>,
    is_finished: bool,
    loss: Option<Loss>,
    /// Issue of the last request.
    last_ns: u64,
    missed_events: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut input: R) -> Result<Self, FormatError> {
        let mut bytes = vec![0; MAGIC.len() + 6];
        let read = read_up_to(&mut input, &mut bytes)?;
        if bytes[..MAGIC.len()] != MAGIC {
            return Err(FormatError::Magic);
        }
        if read < bytes.len() {
            return Err(FormatError::Header);
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(FormatError::Version(version));
        }
        let length = u32::from_le_bytes([bytes[10], bytes[11], bytes[12], bytes[13]]);
        bytes.extend(read_content(&mut input, length)?);
        let mut crc = [0; 4];
        if read_up_to(&mut input, &mut crc)? < crc.len() || u32::from_le_bytes(crc) != crc32c::crc32c(&bytes) {
            return Err(FormatError::Header);
        }
        let header = take_header(&bytes[MAGIC.len() + 6..]).ok_or(FormatError::Header)?;
        let mut names = Names::default();
        for (index, device) in header.devices.iter().enumerate() {
            names.set_device(index, device.clone());
        }
        let position = (bytes.len() + crc.len()) as u64;
        let events = Vec::new().into_iter();
        let (is_finished, loss, last_ns, missed_events) = (false, None, 0, 0);
        Ok(Self { input, position, header, names, events, is_finished, loss, last_ns, missed_events })
    }

    /// Properties that were known before the first request.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Names of the requests so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Issues and completions that were lost while the trace was recorded, at most; known once the reader has ended.
    pub fn missed_events(&self) -> u64 {
        self.missed_events
    }

    /// The part that was not used, once the reader has ended.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// The next block of requests; `None` at the end or at damage.
    fn next_block(&mut self) -> Option<Vec<Event>> {
        if self.is_finished {
            return None;
        }
        let block = read_block(&mut self.input);
        let read = match &block {
            Ok(Some((_, content))) => (BLOCK_HEAD_BYTES + content.len()) as u64,
            Ok(None) => 0,
            Err(damage) => damage.read,
        };
        let reason = match block {
            Ok(Some((head, content))) if head.tag == EVENTS_TAG => {
                if let Some(events) = self.take_block(head, &content) {
                    self.position += read;
                    return Some(events);
                }
                "the content of a block is not valid".to_owned()
            }
            Ok(Some((head, content))) if head.tag == INDEX_TAG => match self.check_end(&content, head.count, read) {
                Ok(()) => return self.end(None),
                Err((reason, more)) => return self.end(Some((reason, read + more))),
            },
            Ok(Some(_)) => "unknown kind of block".to_owned(),
            Ok(None) => "the trace ends without its index: it was not finished".to_owned(),
            Err(damage) => damage.reason,
        };
        self.end(Some((reason, read)))
    }

    /// Ends the reading; a loss is a reason and the bytes of it that were read already.
    fn end<T>(&mut self, loss: Option<(String, u64)>) -> Option<T> {
        self.is_finished = true;
        if let Some((reason, read)) = loss {
            let rest = io::copy(&mut self.input, &mut io::sink()).unwrap_or_default();
            self.loss = Some(Loss { input: 0, place: Place::Byte(self.position), bytes: read + rest, reason });
        }
        None
    }

    fn take_block(&mut self, head: BlockHead, content: &[u8]) -> Option<Vec<Event>> {
        let count = usize::try_from(head.count).ok().filter(|&count| (1..=BLOCK_EVENTS).contains(&count))?;
        let mut cursor = Cursor(content);
        columns::take_names(&mut cursor, &mut self.names)?;
        let events = columns::take_events(&mut cursor, count, head.first_ns, &self.names)?;
        if head.first_ns < self.last_ns {
            return None;
        }
        self.last_ns = events.last()?.issue_ns;
        Some(events)
    }

    /// Checks the index and the end mark; an error has its reason and the bytes read after the index.
    fn check_end(&mut self, content: &[u8], count: u32, read: u64) -> Result<(), (String, u64)> {
        let mut end = [0; END_BYTES as usize + 1];
        let after = read_up_to(&mut self.input, &mut end).map_err(|error| (error.to_string(), 0))?;
        let is_marked = end[..8] == self.position.to_le_bytes() && end[8..16] == END_MAGIC;
        match Index::take(content, count) {
            Some((index, _)) if after as u64 == END_BYTES && is_marked => {
                self.missed_events = index.missed_events;
                self.position += read + END_BYTES;
                Ok(())
            }
            _ => Err(("the index or the end mark is damaged or incomplete".to_owned(), after as u64)),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            self.events = self.next_block()?.into_iter();
        }
    }
}

fn take_header(content: &[u8]) -> Option<Header> {
    let mut cursor = Cursor(content);
    let begin_unix_ns = cursor.number()?.checked_sub(1);
    let program = cursor.text()?;
    let count = cursor.number()?;
    let devices = (0..count).map(|_| columns::take_device(&mut cursor)).collect::<Option<Vec<_>>>()?;
    let is_short = devices.iter().all(|device| device.name.len() <= NAME_BYTES_MAX);
    (cursor.0.is_empty() && is_short).then_some(Header { begin_unix_ns, program, devices })
}
