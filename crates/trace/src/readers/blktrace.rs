//! Binary traces of blktrace: records of `struct blk_io_trace` (`linux/blktrace_api.h`, version 7), in the byte order of
//! the machine that wrote them. There is a file per CPU; their records are merged by time.
//!
//! The structure cannot tell writes of zeroes from other writes.

use super::State;
use super::requests::{Record, Records, Requests};
use crate::account::{Loss, Place};
use crate::event::{Action, Flags};
use model::block_step::StepKind;
use model::operation::Operation;
use model::profile::FlushCall;
use std::collections::HashMap;
use std::io::Read;

/// Bytes of a record without its payload.
const RECORD_BYTES: usize = 48;

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Categories, in the upper half of an action.
mod category {
    pub(super) const READ: u32 = 1 << 16;
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const FLUSH: u32 = 1 << 18;
    pub(super) const SYNC: u32 = 1 << 19;
    pub(super) const PC: u32 = 1 << 25;
    pub(super) const NOTIFY: u32 = 1 << 26;
    pub(super) const AHEAD: u32 = 1 << 27;
    pub(super) const META: u32 = 1 << 28;
    pub(super) const DISCARD: u32 = 1 << 29;
    pub(super) const DRV_DATA: u32 = 1 << 30;
    pub(super) const FUA: u32 = 1 << 31;
}

/// Set in an action whose payload begins with the id of a cgroup.
const CGROUP: u32 = 1 << 8;
const CGROUP_BYTES: usize = 8;

/// Messages: name of a process, and time of day.
const NOTE_PROCESS: u32 = 0;
const NOTE_TIMESTAMP: u32 = 1;

const NS_PER_S: i128 = 1_000_000_000;

/// True if the content begins with a record of any version, in any byte order.
pub(super) fn detect(begin: &[u8]) -> bool {
    begin.first_chunk().is_some_and(|magic| {
        [u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)].iter().any(|magic| magic & 0xFFFF_FF00 == MAGIC)
    })
}

/// The files of a trace.
pub(super) struct Blktrace<'a> {
    files: Vec<File<'a>>,
    /// Names of processes.
    names: HashMap<u32, String>,
}

impl<'a> Blktrace<'a> {
    pub(super) fn new(inputs: Vec<Box<dyn Read + 'a>>) -> Requests<Self> {
        let file = |(number, input)| File { number, input, position: 0, is_finished: false, next: None };
        Requests::new(Self { files: inputs.into_iter().enumerate().map(file).collect(), names: HashMap::new() })
    }

    /// The earliest record of all files.
    fn next_raw(&mut self, state: &mut State) -> Option<Raw> {
        for file in &mut self.files {
            if file.next.is_none() {
                file.next = file.read(state);
            }
        }
        let earliest = self.files.iter_mut().filter(|file| file.next.is_some());
        earliest.min_by_key(|file| file.next.as_ref().map(|raw| raw.time_ns))?.next.take()
    }

    /// Uses a message.
    fn note(&mut self, raw: &Raw, state: &mut State) {
        let cgroup = if raw.action & CGROUP == 0 { 0 } else { CGROUP_BYTES };
        let payload = raw.payload.get(cgroup..).unwrap_or_default();
        match raw.action & 0xFF {
            NOTE_PROCESS => {
                let end = payload.iter().position(|&byte| byte == 0).unwrap_or(payload.len());
                self.names.insert(raw.pid, String::from_utf8_lossy(&payload[..end]).into_owned());
            }
            NOTE_TIMESTAMP if payload.len() >= 8 => {
                let (seconds, ns) = (raw.word(payload, 0), raw.word(payload, 4));
                let unix_ns = i128::from(seconds) * NS_PER_S + i128::from(ns);
                state.unix_minus_stamp_ns = Some(unix_ns - i128::from(raw.time_ns));
            }
            _ => {}
        }
    }
}

impl Records for Blktrace<'_> {
    fn next(&mut self, state: &mut State) -> Option<Record> {
        loop {
            let raw = self.next_raw(state)?;
            if raw.action & category::NOTIFY != 0 {
                self.note(&raw, state);
                continue;
            }
            let Some(step) = raw.step() else { continue };
            if raw.action & category::PC != 0 {
                state.account.not_block_io += 1;
                continue;
            }
            // As the kernel numbers devices: 12 bits and 20 bits.
            let device = format!("{},{}", raw.device >> 20, raw.device & 0xF_FFFF);
            let name = self.names.get(&raw.pid).map_or("", String::as_str);
            let range = (raw.sector, u64::from(raw.bytes));
            let source = (&*device, raw.pid, name);
            return Some(Record::new((step, raw.time_ns), source, range, raw.kind(), &mut state.names));
        }
    }
}

/// One file.
struct File<'a> {
    number: usize,
    input: Box<dyn Read + 'a>,
    position: u64,
    is_finished: bool,
    /// Its next record.
    next: Option<Raw>,
}

impl File<'_> {
    /// The next record; `None` at the end or at damage.
    fn read(&mut self, state: &mut State) -> Option<Raw> {
        if self.is_finished {
            return None;
        }
        let mut bytes = Vec::new();
        match self.read_record(&mut bytes) {
            Ok(record) => {
                self.is_finished = record.is_none();
                self.position += bytes.len() as u64;
                record
            }
            Err(reason) => {
                self.is_finished = true;
                let rest = std::io::copy(&mut self.input, &mut std::io::sink()).unwrap_or_default();
                let (place, lost) = (Place::Byte(self.position), bytes.len() as u64 + rest);
                state.account.add_loss(Loss { input: self.number, place, bytes: lost, reason });
                None
            }
        }
    }

    fn read_record(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Raw>, String> {
        let cut = || "the trace ends within a record".to_owned();
        self.fill(bytes, RECORD_BYTES)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let head: [u8; RECORD_BYTES] = bytes.as_slice().try_into().map_err(|_| cut())?;
        let is_little = match u32::from_le_bytes([head[0], head[1], head[2], head[3]]) {
            magic if magic & 0xFFFF_FF00 == MAGIC => true,
            magic if magic.swap_bytes() & 0xFFFF_FF00 == MAGIC => false,
            _ => return Err("a record lacks the magic number of blktrace".to_owned()),
        };
        let mut raw = Raw::from_bytes(&head, is_little);
        if raw.version != VERSION {
            return Err(format!("version {} of blktrace is not supported (expected: {VERSION})", raw.version));
        }
        self.fill(bytes, RECORD_BYTES + raw.payload_bytes)?;
        if bytes.len() < RECORD_BYTES + raw.payload_bytes {
            return Err(cut());
        }
        raw.payload = bytes[RECORD_BYTES..].to_vec();
        Ok(Some(raw))
    }

    /// Reads until there are `length` bytes, or to the end.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> Result<(), String> {
        let more = (length - bytes.len()) as u64;
        match (&mut self.input).take(more).read_to_end(bytes) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("reading failed: {error}")),
        }
    }
}

/// A record.
struct Raw {
    is_little: bool,
    version: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    payload_bytes: usize,
    payload: Vec<u8>,
}

impl Raw {
    fn from_bytes(head: &[u8; RECORD_BYTES], is_little: bool) -> Self {
        let word = |at| word(head, at, is_little);
        let long = |at: usize| {
            let (low, high) = if is_little { (at, at + 4) } else { (at + 4, at) };
            u64::from(word(low)) | u64::from(word(high)) << 32
        };
        let last = [head[RECORD_BYTES - 2], head[RECORD_BYTES - 1]];
        let payload_bytes = if is_little { u16::from_le_bytes(last) } else { u16::from_be_bytes(last) };
        Self {
            is_little,
            version: word(0) & 0xFF,
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            pid: word(32),
            device: word(36),
            payload_bytes: usize::from(payload_bytes),
            payload: Vec::new(),
        }
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        word(bytes, at, self.is_little)
    }

    /// `enum blktrace_act`: other actions change no request.
    fn step(&self) -> Option<StepKind> {
        if self.action & category::DRV_DATA != 0 {
            return None;
        }
        match self.action & 0xFF {
            1 => Some(StepKind::Queued),
            6 => Some(StepKind::Requeued),
            7 => Some(StepKind::Issued),
            8 => Some(StepKind::Completed),
            _ => None,
        }
    }

    fn kind(&self) -> (Action, Flags) {
        let has = |bits| self.action & bits != 0;
        let is_flush = has(category::FLUSH) && self.bytes == 0;
        let action = if is_flush {
            Action::Flush(FlushCall::Fsync)
        } else if has(category::DISCARD) {
            Action::Operation(Operation::Discard)
        } else if has(category::WRITE) && !has(category::READ) {
            Action::Operation(Operation::Write)
        } else {
            Action::Operation(Operation::Read)
        };
        let flags = Flags::default()
            .with(Flags::PREFLUSH, has(category::FLUSH) && !is_flush)
            .with(Flags::FUA, has(category::FUA))
            .with(Flags::SYNC, has(category::SYNC))
            .with(Flags::READAHEAD, has(category::AHEAD))
            .with(Flags::METADATA, has(category::META));
        (action, flags)
    }
}

/// Four bytes at `at`; 0 behind the end.
fn word(bytes: &[u8], at: usize, is_little: bool) -> u32 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
    if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
}
