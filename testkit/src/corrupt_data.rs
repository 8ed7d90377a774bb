//! Data in memory that is corrupted on demand, beside the data that a sound disk would hold: every differing sector is
//! known, and so is the fault that caused it.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes that a disk writes atomically.
pub const SECTOR_BYTES: u64 = 512;

/// A fault of an I/O. All I/Os are reported as successful, except reads that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// A write is not stored.
    Lost,
    /// Only the first bytes of a write are stored.
    Torn {
        /// A multiple of [`SECTOR_BYTES`] on a real disk.
        stored_bytes: u64,
    },
    /// A write is stored at this distance from its place, and not there. Beyond the end, it wraps to the beginning.
    Misdirected {
        /// Backwards if negative.
        distance_bytes: i64,
    },
    /// A write is stored at its place and also at this distance from it.
    Duplicated {
        /// Backwards if negative.
        distance_bytes: i64,
    },
    /// A write is stored only after the next one that overlaps it, and over that one; until then it is missing.
    Late,
    /// A bit stored by a write is flipped.
    Rotten {
        /// Counted from the beginning of the write.
        bit: u64,
    },
    /// A read returns each sector as it was before its last write.
    Stale,
    /// A bit returned by a read is flipped; the stored data are good.
    Flipped {
        /// Counted from the beginning of the read.
        bit: u64,
    },
    /// A read returns zeros.
    Zeros,
    /// A read fails with `EIO`.
    Unreadable,
}

impl Corruption {
    fn is_of_reads(self) -> bool {
        matches!(self, Self::Stale | Self::Flipped { .. } | Self::Zeros | Self::Unreadable)
    }
}

/// The I/Os that fail: of those that touch a range, each n-th, up to a maximum number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    range: Range<u64>,
    every: u64,
    left: u64,
}

impl Occasion {
    /// Each that covers this byte.
    pub fn at(offset: u64) -> Self {
        Self { range: offset..offset + 1, every: 1, left: u64::MAX }
    }

    /// Each n-th, at any offset.
    pub fn every(every: u64) -> Self {
        Self { range: 0..u64::MAX, every, left: u64::MAX }
    }

    /// Only those that touch this range.
    #[must_use]
    pub fn within(self, range: Range<u64>) -> Self {
        Self { range, ..self }
    }

    /// Only this number of the first ones.
    #[must_use]
    pub fn at_most(self, left: u64) -> Self {
        Self { left, ..self }
    }
}

/// A fault that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// Its kind.
    pub corruption: Corruption,
    /// Requested offset of the I/O, in bytes.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Number of the I/O among all reads and writes, from 1.
    pub number: u64,
}

/// A sector for which a read returned, or would return, data that a sound disk would not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongSector {
    /// Its offset in bytes.
    pub offset: u64,
    /// The fault that caused it.
    pub cause: Injected,
}

#[derive(Debug)]
struct Order {
    corruption: Corruption,
    occasion: Occasion,
    seen: u64,
}

#[derive(Debug)]
struct LateWrite {
    offset: u64,
    data: Vec<u8>,
    cause: Injected,
}

/// The data and its faults.
#[derive(Debug)]
pub(crate) struct CorruptData {
    /// The data of a sound disk.
    truth: Vec<u8>,
    stored: Vec<u8>,
    /// Each sector as it was before its last write.
    before: Vec<u8>,
    late: Vec<LateWrite>,
    orders: Vec<Order>,
    injected: Vec<Injected>,
    /// Numbers of the sectors whose stored bytes differ from the truth, with the causes.
    wrong: BTreeMap<u64, Injected>,
    /// The same for those returned by a read.
    read_wrong: BTreeMap<u64, Injected>,
    /// Ranges of the reads that returned them.
    wrong_reads: Vec<Range<u64>>,
    ios: u64,
}

/// A read that fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReadFailed;

impl CorruptData {
    /// This number of zeros.
    pub(crate) fn new(size_bytes: u64) -> Self {
        let zeros = vec![0; size_bytes as usize];
        Self {
            truth: zeros.clone(),
            stored: zeros.clone(),
            before: zeros,
            late: Vec::new(),
            orders: Vec::new(),
            injected: Vec::new(),
            wrong: BTreeMap::new(),
            read_wrong: BTreeMap::new(),
            wrong_reads: Vec::new(),
            ios: 0,
        }
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.truth.len() as u64
    }

    /// From now on I/Os fail on these occasions; the first matching order applies.
    pub(crate) fn order(&mut self, corruption: Corruption, occasion: Occasion) {
        self.orders.push(Order { corruption, occasion, seen: 0 });
    }

    /// From now on no I/O fails; existing corruption remains.
    pub(crate) fn behave(&mut self) {
        self.orders.clear();
    }

    pub(crate) fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// Sectors whose stored bytes differ from those of a sound disk.
    pub(crate) fn wrong(&self) -> Vec<WrongSector> {
        sectors(&self.wrong)
    }

    /// Sectors for which a read returned data that a sound disk would not have returned.
    pub(crate) fn read_wrong(&self) -> Vec<WrongSector> {
        sectors(&self.read_wrong)
    }

    /// The ranges of those reads.
    pub(crate) fn wrong_reads(&self) -> &[Range<u64>] {
        &self.wrong_reads
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        self.ios += 1;
        let end = offset + data.len() as u64;
        let asked = range(offset, data.len());
        self.before[asked.clone()].copy_from_slice(&self.truth[asked.clone()]);
        self.truth[asked].copy_from_slice(data);
        let cause = self.due(false, offset, data.len() as u64);
        match cause.map(|cause| (cause.corruption, cause)) {
            Some((Corruption::Lost, _)) => {}
            Some((Corruption::Torn { stored_bytes }, _)) => {
                self.store(offset, &data[..data.len().min(stored_bytes as usize)]);
            }
            Some((Corruption::Misdirected { distance_bytes }, cause)) => {
                self.store_elsewhere(offset, distance_bytes, data, cause);
            }
            Some((Corruption::Duplicated { distance_bytes }, cause)) => {
                self.store(offset, data);
                self.store_elsewhere(offset, distance_bytes, data, cause);
            }
            Some((Corruption::Late, cause)) => {
                self.late.push(LateWrite { offset, data: data.to_owned(), cause });
                return self.note_differences(offset..end, Some(cause));
            }
            Some((Corruption::Rotten { bit }, _)) => self.store(offset, &flipped(data, bit)),
            _ => self.store(offset, data),
        }
        self.note_differences(offset..end, cause);
        self.store_late(offset..end);
    }

    /// Zeroes a range, as a discard does.
    pub(crate) fn discard(&mut self, offset: u64, bytes: u64) {
        let end = (offset + bytes).min(self.size_bytes());
        let offset = offset.min(end);
        let asked = range(offset, (end - offset) as usize);
        self.before[asked.clone()].copy_from_slice(&self.truth[asked.clone()]);
        self.truth[asked.clone()].fill(0);
        self.stored[asked].fill(0);
        self.note_differences(offset..end, None);
        self.store_late(offset..end);
    }

    pub(crate) fn read(&mut self, offset: u64, bytes: u64) -> Result<Vec<u8>, ReadFailed> {
        self.ios += 1;
        let offset = offset.min(self.size_bytes());
        let asked = range(offset, bytes.min(self.size_bytes() - offset) as usize);
        let mut data = self.stored[asked.clone()].to_owned();
        let cause = self.due(true, offset, data.len() as u64);
        match cause.map(|cause| cause.corruption) {
            Some(Corruption::Stale) => data.copy_from_slice(&self.before[asked]),
            Some(Corruption::Flipped { bit }) => data = flipped(&data, bit),
            Some(Corruption::Zeros) => data.fill(0),
            Some(Corruption::Unreadable) => {
                let all = sectors_of(offset..offset + data.len() as u64);
                self.read_wrong.extend(all.filter_map(|sector| Some((sector, cause?))));
                self.wrong_reads.push(offset..offset + data.len() as u64);
                return Err(ReadFailed);
            }
            _ => {}
        }
        let mut is_wrong = false;
        for sector in sectors_of(offset..offset + data.len() as u64) {
            let start = (sector * SECTOR_BYTES).max(offset) as usize;
            let end = (((sector + 1) * SECTOR_BYTES) as usize).min(offset as usize + data.len());
            let given = &data[start - offset as usize..end - offset as usize];
            if given == &self.truth[start..end] {
                continue;
            }
            is_wrong = true;
            if let Some(cause) = self.wrong.get(&sector).copied().or(cause) {
                self.read_wrong.insert(sector, cause);
            }
        }
        if is_wrong {
            self.wrong_reads.push(offset..offset + data.len() as u64);
        }
        Ok(data)
    }

    /// The fault of this I/O, if one is due.
    fn due(&mut self, is_read: bool, offset: u64, bytes: u64) -> Option<Injected> {
        let end = offset + bytes;
        let mut due = None;
        for order in &mut self.orders {
            let Occasion { range, every, left } = &mut order.occasion;
            if due.is_some() || order.corruption.is_of_reads() != is_read || range.end <= offset || end <= range.start {
                continue;
            }
            order.seen += 1;
            if *left > 0 && order.seen.is_multiple_of(*every) {
                *left -= 1;
                due = Some(Injected { corruption: order.corruption, offset, bytes, number: self.ios });
            }
        }
        self.injected.extend(due);
        due
    }

    fn store(&mut self, offset: u64, data: &[u8]) {
        let place = range(offset, data.len());
        self.stored[place].copy_from_slice(data);
    }

    fn store_elsewhere(&mut self, offset: u64, distance_bytes: i64, data: &[u8], cause: Injected) {
        let size = self.size_bytes();
        let to = (i128::from(offset) + i128::from(distance_bytes)).rem_euclid(i128::from(size)) as u64;
        let fits = data.len().min((size - to) as usize);
        self.store(to, &data[..fits]);
        self.note_differences(to..to + fits as u64, Some(cause));
    }

    /// Stores late writes over the data just written.
    fn store_late(&mut self, written: Range<u64>) {
        let overlaps =
            |late: &mut LateWrite| late.offset < written.end && written.start < late.offset + late.data.len() as u64;
        let due: Vec<LateWrite> = self.late.extract_if(.., overlaps).collect();
        for late in due {
            self.store(late.offset, &late.data);
            self.note_differences(late.offset..late.offset + late.data.len() as u64, Some(late.cause));
        }
    }

    /// Records the sectors of a range that differ from the truth: new ones are attributed to this fault.
    fn note_differences(&mut self, range: Range<u64>, cause: Option<Injected>) {
        for sector in sectors_of(range) {
            let start = (sector * SECTOR_BYTES) as usize;
            let end = self.truth.len().min(start + SECTOR_BYTES as usize);
            if self.truth[start..end] == self.stored[start..end] {
                self.wrong.remove(&sector);
            } else if let Some(cause) = cause {
                self.wrong.insert(sector, cause);
            }
        }
    }
}

fn sectors(wrong: &BTreeMap<u64, Injected>) -> Vec<WrongSector> {
    wrong.iter().map(|(sector, cause)| WrongSector { offset: sector * SECTOR_BYTES, cause: *cause }).collect()
}

fn sectors_of(range: Range<u64>) -> Range<u64> {
    range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES)
}

fn range(offset: u64, bytes: usize) -> Range<usize> {
    offset as usize..offset as usize + bytes
}

fn flipped(data: &[u8], bit: u64) -> Vec<u8> {
    let mut data = data.to_owned();
    let byte = (bit / 8) as usize % data.len().max(1);
    if let Some(byte) = data.get_mut(byte) {
        *byte ^= 1 << (bit % 8);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 4096;

    /// Data of 64 KiB, of which the first 32 KiB were written with ones.
    fn data() -> CorruptData {
        let mut data = CorruptData::new(64 << 10);
        data.write(0, &vec![1; 32 << 10]);
        data
    }

    fn block(data: &mut CorruptData, number: u64) -> Vec<u8> {
        data.read(number * BLOCK as u64, BLOCK as u64).expect("no read fails here")
    }

    fn offsets(wrong: &[WrongSector]) -> Vec<u64> {
        wrong.iter().map(|wrong| wrong.offset).collect()
    }

    fn block_sectors(numbers: Range<u64>) -> Vec<u64> {
        (numbers.start * 8..numbers.end * 8).map(|sector| sector * SECTOR_BYTES).collect()
    }

    #[test]
    fn without_an_order_nothing_is_wrong() {
        let mut data = data();
        data.write(100, &[2; 1000]);
        data.discard(4096, 4096);
        assert_eq!((block(&mut data, 0)[99..101].to_owned(), block(&mut data, 1)), (vec![1, 2], vec![0; BLOCK]));
        assert_eq!((data.injected(), data.wrong(), data.read_wrong()), (&[][..], vec![], vec![]));
        assert_eq!(data.read(65_000, 4096).expect("short").len(), 536);
    }

    #[test]
    fn a_lost_write_leaves_what_was_there() {
        let mut data = data();
        data.order(Corruption::Lost, Occasion::at(4096 + 17));
        data.write(0, &[2; BLOCK]);
        data.write(4096, &[2; BLOCK]);
        assert_eq!((block(&mut data, 0), block(&mut data, 1)), (vec![2; BLOCK], vec![1; BLOCK]));
        let lost = Injected { corruption: Corruption::Lost, offset: 4096, bytes: 4096, number: 3 };
        assert_eq!(data.injected(), [lost]);
        assert_eq!(offsets(&data.wrong()), block_sectors(1..2));
        assert_eq!(data.read_wrong(), data.wrong());
        assert!(data.wrong().iter().all(|wrong| wrong.cause == lost));
        data.behave();
        data.write(4096, &[3; BLOCK]);
        assert_eq!((block(&mut data, 1), data.wrong()), (vec![3; BLOCK], vec![]));
    }

    #[test]
    fn a_torn_write_is_stored_in_part() {
        let mut data = data();
        data.order(Corruption::Torn { stored_bytes: 1024 }, Occasion::at(0));
        data.write(0, &[2; BLOCK]);
        let read = block(&mut data, 0);
        assert_eq!((&read[..1024], &read[1024..]), (&[2; 1024][..], &[1; 3072][..]));
        assert_eq!(offsets(&data.wrong()), block_sectors(0..1)[2..]);
    }

    #[test]
    fn a_misdirected_write_is_missing_here_and_found_there() {
        let mut data = data();
        data.order(Corruption::Misdirected { distance_bytes: -4096 }, Occasion::at(8192));
        data.write(8192, &[2; BLOCK]);
        assert_eq!([1, 2].map(|number| block(&mut data, number)), [vec![2; BLOCK], vec![1; BLOCK]]);
        assert_eq!(offsets(&data.wrong()), block_sectors(1..3));
        data.order(Corruption::Misdirected { distance_bytes: -8192 }, Occasion::at(4096));
        data.write(4096, &[3; BLOCK]);
        assert_eq!(block(&mut data, 15), vec![3; BLOCK], "round the end");
    }

    #[test]
    fn a_duplicated_write_is_found_here_and_there() {
        let mut data = data();
        data.order(Corruption::Duplicated { distance_bytes: 4096 }, Occasion::at(0));
        data.write(0, &[2; BLOCK]);
        assert_eq!([0, 1].map(|number| block(&mut data, number)), [vec![2; BLOCK], vec![2; BLOCK]]);
        assert_eq!(offsets(&data.wrong()), block_sectors(1..2));
    }

    #[test]
    fn a_late_write_is_missing_and_then_hides_the_next_one() {
        let mut data = data();
        data.order(Corruption::Late, Occasion::at(0).at_most(1));
        data.write(0, &[2; BLOCK]);
        assert_eq!(block(&mut data, 0), vec![1; BLOCK]);
        data.write(4096, &[9; BLOCK]);
        assert_eq!(block(&mut data, 0), vec![1; BLOCK], "another place");
        data.write(0, &[3; BLOCK]);
        assert_eq!(block(&mut data, 0), vec![2; BLOCK]);
        assert_eq!((data.injected().len(), offsets(&data.wrong())), (1, block_sectors(0..1)));
    }

    #[test]
    fn a_rotten_write_has_a_wrong_bit_for_good_and_a_flipped_read_for_once() {
        let mut data = data();
        data.order(Corruption::Rotten { bit: 8 * 600 }, Occasion::at(0).at_most(1));
        data.write(0, &[2; BLOCK]);
        for _ in 0..2 {
            let read = block(&mut data, 0);
            assert_eq!(((read[599], read[600], read[601]), offsets(&data.wrong())), ((2, 3, 2), vec![512]));
        }
        data.order(Corruption::Flipped { bit: 1 }, Occasion::at(4096).at_most(1));
        assert_eq!([block(&mut data, 1)[0], block(&mut data, 1)[0]], [3, 1]);
        assert_eq!((offsets(&data.wrong()), offsets(&data.read_wrong())), (vec![512], vec![512, 4096]));
    }

    #[test]
    fn reads_can_be_stale_zeros_or_fail() {
        let mut data = data();
        data.write(0, &[2; BLOCK]);
        data.write(0, &[3; BLOCK]);
        data.order(Corruption::Stale, Occasion::at(0).at_most(1));
        data.order(Corruption::Zeros, Occasion::at(4096));
        data.order(Corruption::Unreadable, Occasion::at(8192));
        assert_eq!([0, 0].map(|number| block(&mut data, number)), [vec![2; BLOCK], vec![3; BLOCK]]);
        assert_eq!(block(&mut data, 1), vec![0; BLOCK]);
        assert_eq!(data.read(8192, 512), Err(ReadFailed));
        let expected = [block_sectors(0..2), vec![8192]].concat();
        assert_eq!((data.wrong(), offsets(&data.read_wrong())), (vec![], expected));
        assert_eq!((data.injected().len(), data.wrong_reads()), (3, &[0..4096, 4096..8192, 8192..8704][..]));
    }

    #[test]
    fn rates_and_limits_are_kept() {
        let mut data = data();
        data.order(Corruption::Lost, Occasion::every(3).within(0..16_384).at_most(2));
        for round in 0..10 {
            data.write(round % 2 * 4096, &[2; BLOCK]);
            data.write(16_384, &[2; BLOCK]);
        }
        let hit: Vec<_> = data.injected().iter().map(|injected| (injected.number, injected.offset)).collect();
        // The first write created the data; each second of the others is outside the range.
        assert_eq!(hit, [(6, 0), (12, 4096)]);
    }
}
