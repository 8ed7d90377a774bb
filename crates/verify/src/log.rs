//! The log of a run: changes and flushes that began, and how they ended, so that the expected content of a target is
//! known after a power cut.
//!
//! Numbers are little-endian words of 64 bits. Changes and flushes of a run share one count; each takes a *ticket* from it
//! before it begins. A change takes its ticket after it has claimed its units, so tickets order the changes of each unit,
//! whatever threads made them. An end names the count at that time: a flush whose ticket is not smaller began after it.
//!
//! The directory of a run has a file `run` ([`RunFile`]) and for each thread a file `log.THREAD`: a head of
//! [`HEAD_BYTES`] that begins with `DSKSPDL1`, run and thread, and then records. Bits are counted from the highest.
//!
//! | record | word 1 | word 2 | word 3 | word 4 |
//! |---|---|---|---|---|
//! | change begins | kind (8), ticket (56) | request (20), first unit (44) | check (16), target (24), units (24) | time in µs |
//! | change ends | kind (8), check (8), request (20), count less its ticket (28) | | | |
//! | flush begins, file is emptied | kind (8), ticket (56) | check (16), target (24), 0 | time in µs | |
//! | flush ends, log ends early | kind (8), check (8), 0 | | | |
//!
//! Check is a hash of the other bits, the run and the thread. A word that is 0, or does not fit, ends the log.

use crate::saved::{ReadError, SavedTarget, check_units};
use crate::unit::UNIT_BITS;
use model::limits::THREADS_MAX;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Name of the file that identifies the run of the logs.
pub const RUN_FILE_NAME: &str = "run";

/// Bytes of a log before its records.
pub const HEAD_BYTES: u64 = 64 << 10;

/// Requests of a thread that a log can distinguish.
pub const REQUESTS_MAX: u32 = 1 << REQUEST_BITS;

/// Targets that a log can name.
pub const TARGETS_MAX: usize = 1 << TARGET_BITS;

const LOG_MAGIC: &[u8; 8] = b"DSKSPDL1";
const RUN_MAGIC: &[u8; 8] = b"DSKSPDR2";
/// Of files without the lasting names of targets and without the mount.
const RUN_MAGIC_1: &[u8; 8] = b"DSKSPDR1";
const TICKET_BITS: u32 = 56;
const REQUEST_BITS: u32 = 20;
const TARGET_BITS: u32 = 24;
const LENGTH_BITS: u32 = 24;
const DELTA_BITS: u32 = 28;

/// The name of the log of a thread.
pub fn log_name(thread: u32) -> String {
    format!("log.{thread}")
}

/// True if a file of this name is a log.
pub fn is_log_name(name: &str) -> bool {
    name.strip_prefix("log.").is_some_and(|thread| thread.parse::<u32>().is_ok())
}

/// Bytes that [`is_ours`] needs.
pub const MAGIC_BYTES: usize = 8;

/// True if these are the first bytes of a log or of a run file.
pub fn is_ours(head: &[u8]) -> bool {
    [LOG_MAGIC, RUN_MAGIC, RUN_MAGIC_1].iter().any(|magic| head.starts_with(*magic))
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A write that is durable once a later flush has completed.
    Write,
    /// A write that is durable once it has completed.
    WriteThrough,
    /// A write of zeros without data.
    Zeroes,
    /// A discard.
    Discard,
}

impl Kind {
    /// True if its units contain its data afterwards.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteThrough)
    }

    const ALL: [Self; 4] = [Self::Write, Self::WriteThrough, Self::Zeroes, Self::Discard];
}

const ENDED: u64 = 8;
const FAILED: u64 = 9;
const FLUSH: u64 = 10;
const FLUSHED: u64 = 11;
const FLUSH_FAILED: u64 = 12;
const EMPTIED: u64 = 13;
const ENDS_EARLY: u64 = 14;

/// A change that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// Its ticket.
    pub ticket: u64,
    /// Number of the target in its run.
    pub target: u32,
    /// Its first unit.
    pub first: u64,
    /// Number of its units.
    pub length: u32,
    /// When it began, in microseconds since the run began.
    pub time_us: u64,
}

/// A flush of a target, or a truncation of a file, that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// Its ticket.
    pub ticket: u64,
    /// Number of the target in its run.
    pub target: u32,
    /// When it began, in microseconds since the run began.
    pub time_us: u64,
}

/// Encodes the records of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    key: u64,
}

impl Encoder {
    /// For the log of this thread.
    pub fn new(run: u64, thread: u32) -> Self {
        Self { key: run ^ u64::from(thread).rotate_left(40) }
    }

    fn hash(self, words: &[u64]) -> u64 {
        words.iter().fold(self.key, |hash, word| {
            let hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^ hash >> 29
        }) >> 13
    }

    fn check16(self, words: &[u64]) -> u64 {
        (self.hash(words) & 0xFFFF) << 48
    }

    fn short(self, kind: u64, rest: u64) -> u64 {
        let word = kind << TICKET_BITS | rest;
        word | (self.hash(&[word]) & 0xFF) << 48
    }

    /// The record of a change that begins, by this request.
    #[inline]
    pub fn begin(self, request: u32, change: &Change) -> [u64; 4] {
        let Change { kind, ticket, target, first, length, time_us } = *change;
        let number = Kind::ALL.iter().position(|other| *other == kind).unwrap_or_default() as u64 + 1;
        let word = number << TICKET_BITS | ticket;
        let place = u64::from(request) << UNIT_BITS | first;
        let size = u64::from(target) << LENGTH_BITS | u64::from(length);
        [word, place, size | self.check16(&[word, place, size, time_us]), time_us]
    }

    /// The record of the end of the change with this ticket by a request; `count` was read after it completed, `None`
    /// if it failed.
    #[inline]
    pub fn end(self, request: u32, ticket: u64, count: Option<u64>) -> u64 {
        let delta = count.map(|count| count.saturating_sub(ticket)).filter(|delta| delta >> DELTA_BITS == 0);
        let request = u64::from(request) << DELTA_BITS;
        match delta {
            Some(delta) => self.short(ENDED, request | delta),
            None => self.short(FAILED, request),
        }
    }

    fn of_target(self, kind: u64, flush: &Flush) -> [u64; 3] {
        let word = kind << TICKET_BITS | flush.ticket;
        let target = u64::from(flush.target) << LENGTH_BITS;
        [word, target | self.check16(&[word, target, flush.time_us]), flush.time_us]
    }

    /// The record of a flush that begins.
    pub fn begin_flush(self, flush: &Flush) -> [u64; 3] {
        self.of_target(FLUSH, flush)
    }

    /// The record of the end of the flush that began last.
    pub fn end_flush(self, is_durable: bool) -> u64 {
        self.short(if is_durable { FLUSHED } else { FLUSH_FAILED }, 0)
    }

    /// The record of a truncation that begins.
    pub fn begin_emptying(self, flush: &Flush) -> [u64; 3] {
        self.of_target(EMPTIED, flush)
    }

    /// The record that no more could be logged.
    pub fn ends_early(self) -> u64 {
        self.short(ENDS_EARLY, 0)
    }
}

/// Entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A change began.
    Began(Change),
    /// It completed, and the count then.
    Completed(Change, u64),
    /// It failed: part of it may be present.
    Failed(Change),
    /// A flush completed.
    Flushed(Flush),
    /// A truncation of a file began.
    Emptied(Flush),
}

/// The beginning of a log.
pub fn head(run: u64, thread: u32) -> Vec<u8> {
    [&LOG_MAGIC[..], &run.to_le_bytes(), &u64::from(thread).to_le_bytes()].concat()
}

/// Bytes of a log that [`run_of_head`] reads.
pub const RUN_HEAD_BYTES: u64 = MAGIC_BYTES as u64 + 8;

/// The run of a log that begins with these bytes.
pub fn run_of_head(head: &[u8]) -> Option<u64> {
    let run = head.strip_prefix(LOG_MAGIC)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*run))
}

/// Reads a log from its beginning.
#[derive(Debug)]
pub struct LogReader<R> {
    file: R,
    encoder: Encoder,
    under_way: BTreeMap<u32, Change>,
    flush: Option<Flush>,
    tickets: Tickets,
    /// How it ended: true = records may be missing.
    ended_early: Option<bool>,
}

/// The tickets of the records that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tickets {
    /// Their number.
    pub count: u64,
    /// The largest.
    pub last: u64,
}

impl<R: Read> LogReader<R> {
    /// Opens the log of this thread. One of another run or thread has no entries, and ends early.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn new(mut file: R, run: u64, thread: u32) -> io::Result<Self> {
        let mut found = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut found)?;
        let is_right = found.len() as u64 == HEAD_BYTES && found.starts_with(&head(run, thread));
        Ok(Self {
            file,
            encoder: Encoder::new(run, thread),
            under_way: BTreeMap::new(),
            flush: None,
            tickets: Tickets::default(),
            ended_early: (!is_right).then_some(true),
        })
    }

    /// True if records after the last entry may be missing; only after the last.
    pub fn ended_early(&self) -> bool {
        self.ended_early.unwrap_or(true)
    }

    /// The tickets of all changes, flushes and truncations that began so far.
    pub fn tickets(&self) -> Tickets {
        self.tickets
    }

    fn drew(&mut self, ticket: u64) {
        self.tickets = Tickets { count: self.tickets.count + 1, last: self.tickets.last.max(ticket) };
    }

    /// The next entry; `None` = there are no more.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        while self.ended_early.is_none() {
            match self.record()? {
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::Nothing => {}
                Step::Zero => self.ended_early = Some(!self.is_zero_to_the_end()?),
                Step::Invalid => self.ended_early = Some(true),
            }
        }
        Ok(None)
    }

    fn record(&mut self) -> io::Result<Step> {
        let Some(word) = self.word()? else { return Ok(Step::Invalid) };
        let kind = word >> TICKET_BITS;
        Ok(match kind {
            0 if word == 0 => Step::Zero,
            1..=4 => match self.change(word)? {
                Some((request, change)) => {
                    self.drew(change.ticket);
                    self.under_way.insert(request, change);
                    Step::Entry(Entry::Began(change))
                }
                None => self.cut_off()?,
            },
            ENDED | FAILED => {
                let rest = word & ((1 << (REQUEST_BITS + DELTA_BITS)) - 1);
                let change = self.under_way.get(&((rest >> DELTA_BITS) as u32)).copied();
                match change.filter(|_| self.encoder.short(kind, rest) == word) {
                    Some(change) => {
                        self.under_way.remove(&((rest >> DELTA_BITS) as u32));
                        let count = change.ticket + (rest & ((1 << DELTA_BITS) - 1));
                        let is_done = kind == ENDED;
                        Step::Entry(if is_done { Entry::Completed(change, count) } else { Entry::Failed(change) })
                    }
                    None => Step::Invalid,
                }
            }
            FLUSH | EMPTIED => {
                let words = [self.word()?, self.word()?];
                let [Some(target), Some(time_us)] = words else { return Ok(Step::Invalid) };
                let target_number = (target >> LENGTH_BITS & ((1 << TARGET_BITS) - 1)) as u32;
                let flush = Flush { ticket: word & ((1 << TICKET_BITS) - 1), target: target_number, time_us };
                if self.encoder.of_target(kind, &flush) != [word, target, time_us] {
                    return self.cut_off();
                }
                self.drew(flush.ticket);
                if kind == EMPTIED {
                    return Ok(Step::Entry(Entry::Emptied(flush)));
                }
                self.flush = Some(flush);
                Step::Nothing
            }
            FLUSHED | FLUSH_FAILED => match self.flush.take().filter(|_| self.encoder.short(kind, 0) == word) {
                Some(flush) if kind == FLUSHED => Step::Entry(Entry::Flushed(flush)),
                Some(_) => Step::Nothing,
                None => Step::Invalid,
            },
            _ => Step::Invalid,
        })
    }

    /// The change whose first word is this, and its request; `None` if it is invalid.
    fn change(&mut self, word: u64) -> io::Result<Option<(u32, Change)>> {
        let words = [self.word()?, self.word()?, self.word()?];
        let [Some(place), Some(size), Some(time_us)] = words else { return Ok(None) };
        let change = Change {
            kind: Kind::ALL[(word >> TICKET_BITS) as usize - 1],
            ticket: word & ((1 << TICKET_BITS) - 1),
            target: (size >> LENGTH_BITS & ((1 << TARGET_BITS) - 1)) as u32,
            first: place & ((1 << UNIT_BITS) - 1),
            length: (size & ((1 << LENGTH_BITS) - 1)) as u32,
            time_us,
        };
        let request = (place >> UNIT_BITS) as u32;
        let is_valid = self.encoder.begin(request, &change) == [word, place, size, time_us];
        Ok(is_valid.then_some((request, change)))
    }

    /// A record of several words is invalid. Its thread may have ended while writing it: the change was not begun then.
    fn cut_off(&mut self) -> io::Result<Step> {
        Ok(if self.is_zero_to_the_end()? { Step::Zero } else { Step::Invalid })
    }

    fn is_zero_to_the_end(&mut self) -> io::Result<bool> {
        let mut piece = vec![0; 1 << 16];
        loop {
            match self.file.read(&mut piece) {
                Ok(0) => return Ok(true),
                Ok(count) if piece[..count].iter().any(|&byte| byte != 0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next word; `None` at the end of the file, which always has room after its records.
    fn word(&mut self) -> io::Result<Option<u64>> {
        let mut word = [0; 8];
        match self.file.read_exact(&mut word) {
            Ok(()) => Ok(Some(u64::from_le_bytes(word))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

enum Step {
    Entry(Entry),
    Nothing,
    Zero,
    Invalid,
}

/// A logged target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedTarget {
    /// As in a saved map.
    pub target: SavedTarget,
    /// I/Os without data change it, or it is emptied.
    pub is_erased: bool,
    /// Discarded data reads as zeros, as in a file.
    pub discards_to_zeros: bool,
    /// All writes bypass the page cache, so that parts of sectors are never changed.
    pub is_direct: bool,
}

/// Identity of the run of the logs in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFile {
    /// Number of the run, which its units name.
    pub run: u64,
    /// Number of threads.
    pub threads: u32,
    /// Boot ID of the machine; empty if unknown.
    pub boot: String,
    /// ID of the mount of the logs; 0 if unknown.
    pub mount: u64,
    /// Its targets.
    pub targets: Vec<LoggedTarget>,
}

impl RunFile {
    /// Encodes a run file: `DSKSPDR2`, the numbers, and a CRC-32C of all before.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = RUN_MAGIC.to_vec();
        let text = |bytes: &mut Vec<u8>, text: &[u8]| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text);
        };
        for number in [self.run, self.threads.into(), self.targets.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        text(&mut bytes, self.boot.as_bytes());
        bytes.extend(self.mount.to_le_bytes());
        for LoggedTarget { target, is_erased, discards_to_zeros, is_direct } in &self.targets {
            let SavedTarget { target, path, names, identity, size_bytes, unit_bytes, is_exact } = target;
            let flags = [*is_exact, *is_erased, *discards_to_zeros, *is_direct];
            let flags = flags.iter().enumerate().fold(0, |all, (bit, flag)| all | u64::from(*flag) << bit);
            let numbers = [(*target).into(), identity.0, identity.1, *size_bytes, (*unit_bytes).into(), flags];
            bytes.extend(numbers.iter().flat_map(|number: &u64| number.to_le_bytes()));
            text(&mut bytes, path);
            bytes.extend((names.len() as u64).to_le_bytes());
            for name in names {
                text(&mut bytes, name.as_bytes());
            }
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    ///
    /// If they are something else, damaged, or contain an impossible number.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        let run = Self::parse(bytes).ok_or(ReadError::Torn)?;
        if run.threads > THREADS_MAX {
            return Err(ReadError::Impossible(format!("{} threads (at most {THREADS_MAX})", run.threads)));
        }
        for LoggedTarget { target, .. } in &run.targets {
            check_units(target.unit_bytes, target.size_bytes / u64::from(target.unit_bytes.max(1)))?;
        }
        Ok(run)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (content, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(content) != u32::from_le_bytes(*crc) {
            return None;
        }
        let is_first = content.starts_with(RUN_MAGIC_1);
        let mut rest = content.strip_prefix(if is_first { RUN_MAGIC_1 } else { RUN_MAGIC })?;
        let rest = &mut rest;
        let (run, threads, count) = (number(rest)?, number(rest)?, number(rest)?);
        let boot = String::from_utf8(text(rest)?).ok()?;
        let mount = if is_first { 0 } else { number(rest)? };
        let mut targets = Vec::new();
        for _ in 0..count {
            let [target, device, inode, size_bytes, unit_bytes, flags] =
                [number(rest)?, number(rest)?, number(rest)?, number(rest)?, number(rest)?, number(rest)?];
            let path = text(rest)?;
            let mut names = Vec::new();
            let name_count = if is_first { 0 } else { number(rest)? };
            for _ in 0..name_count {
                names.push(String::from_utf8(text(rest)?).ok()?);
            }
            targets.push(LoggedTarget {
                target: SavedTarget {
                    target: target.try_into().ok()?,
                    path,
                    names,
                    identity: (device, inode),
                    size_bytes,
                    unit_bytes: unit_bytes.try_into().ok()?,
                    is_exact: flags & 1 != 0,
                },
                is_erased: flags & 2 != 0,
                discards_to_zeros: flags & 4 != 0,
                is_direct: flags & 8 != 0,
            });
        }
        rest.is_empty().then_some(Self { run, threads: threads.try_into().ok()?, boot, mount, targets })
    }
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    Some(u64::from_le_bytes(*number))
}

fn text(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: u64 = 0xD15C;

    fn change(ticket: u64) -> Change {
        Change { kind: Kind::Write, ticket, target: 3, first: 77, length: 16, time_us: 10 * ticket }
    }

    fn file(words: &[u64], zeros: usize) -> Vec<u8> {
        let mut file = head(RUN, 2);
        file.resize(HEAD_BYTES as usize, 0);
        file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        file.extend(vec![0; zeros]);
        file
    }

    fn read(file: &[u8]) -> (Vec<Entry>, bool) {
        let mut log = LogReader::new(file, RUN, 2).expect("memory");
        let mut entries = Vec::new();
        while let Some(entry) = log.next_entry().expect("memory") {
            entries.push(entry);
        }
        (entries, log.ended_early())
    }

    fn example() -> (Vec<u64>, Vec<Entry>) {
        let encoder = Encoder::new(RUN, 2);
        let flush = Flush { ticket: 4, target: 3, time_us: 50 };
        let last = Change { kind: Kind::Discard, ..change(5) };
        let words = [
            &encoder.begin(0, &change(1))[..],
            &encoder.begin(1, &change(2)),
            &[encoder.end(1, 2, Some(3))],
            &[encoder.end(0, 1, None)],
            &encoder.begin_flush(&flush),
            &[encoder.end_flush(true)],
            &encoder.begin(9, &last),
        ];
        let entries = vec![
            Entry::Began(change(1)),
            Entry::Began(change(2)),
            Entry::Completed(change(2), 3),
            Entry::Failed(change(1)),
            Entry::Flushed(flush),
            Entry::Began(last),
        ];
        (words.concat(), entries)
    }

    #[test]
    fn a_log_comes_back() {
        let (words, entries) = example();
        assert_eq!(read(&file(&words, 8)), (entries.clone(), false));
        assert_eq!(read(&file(&words, 0)), (entries, true), "there is always room behind the records");
        assert_eq!(read(&file(&[], 4096)), (vec![], false));
    }

    #[test]
    fn what_is_torn_is_recognised_and_nothing_is_made_up() {
        let (words, entries) = example();
        for at in 0..words.len() {
            for wrong in [0, u64::MAX, words[at] ^ 1 << (at % 64), words[at] ^ 1 << 50] {
                let mut torn = words.clone();
                torn[at] = wrong;
                let (found, ended_early) = read(&file(&torn, 64));
                assert!(entries.starts_with(&found), "word {at}: {found:?}");
                let is_last = at >= words.len() - 4;
                // The end of a log looks as if its thread had ended there.
                assert!(ended_early || is_last, "word {at}");
            }
        }
        for length in 0..words.len() {
            let (found, ended_early) = read(&file(&words[..length], 64));
            assert!(entries.starts_with(&found) && !ended_early, "{length}");
        }
    }

    #[test]
    fn a_log_of_another_run_or_thread_has_nothing_to_say() {
        let (words, _) = example();
        let file = file(&words, 64);
        for (run, thread) in [(RUN + 1, 2), (RUN, 3)] {
            let mut log = LogReader::new(&file[..], run, thread).expect("memory");
            assert_eq!(log.next_entry().expect("memory"), None);
            assert!(log.ended_early());
        }
    }

    #[test]
    fn an_end_that_is_too_late_to_be_told_is_none() {
        let encoder = Encoder::new(RUN, 2);
        let words = [&encoder.begin(0, &change(1))[..], &[encoder.end(0, 1, Some(1 << 40))]].concat();
        assert_eq!(read(&file(&words, 64)).0[1], Entry::Failed(change(1)));
    }

    #[test]
    fn the_file_of_a_run_comes_back_or_not_at_all() {
        let target = SavedTarget {
            target: 1,
            path: b"/a/\xFF".to_vec(),
            names: vec!["naa.1".to_owned()],
            identity: (8, 15),
            size_bytes: 1 << 30,
            unit_bytes: 4096,
            is_exact: true,
        };
        let target = LoggedTarget { target, is_erased: true, discards_to_zeros: false, is_direct: true };
        let run = RunFile { run: RUN, threads: 4, boot: "a-b".to_owned(), mount: 7, targets: vec![target] };
        let bytes = run.to_bytes();
        assert_eq!(RunFile::from_bytes(&bytes).ok().as_ref(), Some(&run));
        for length in 0..bytes.len() {
            assert!(matches!(RunFile::from_bytes(&bytes[..length]), Err(ReadError::Torn)));
        }
        let mut many = run.clone();
        many.threads = 1 << 31;
        let mut large = run.clone();
        large.targets[0].target.size_bytes = u64::MAX;
        for run in [many, large] {
            assert!(matches!(RunFile::from_bytes(&run.to_bytes()), Err(ReadError::Impossible(_))));
        }
        assert!(is_ours(&bytes) && is_ours(&head(1, 2)) && !is_ours(b"DSKSPDM1"));
        assert!(is_log_name(&log_name(12)) && !is_log_name("log.txt") && !is_log_name("log"));
    }
}
