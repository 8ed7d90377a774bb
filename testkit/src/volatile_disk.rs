//! A disk with a volatile cache, in memory: it loses, reorders and tears what was not flushed when its power is cut, and
//! logs what it knows of each sector.

use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(crate) const SECTOR_BYTES: usize = 512;

/// The disk's reaction to a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushing {
    /// It writes its whole cache to the medium.
    Honest,
    /// It writes nothing, and reports success.
    Ignored,
    /// It loses each eighth sector until it is written again, and reports success.
    Partial,
}

/// Numbers of writes to a sector; 0 = none.
#[derive(Clone, Copy, Debug, Default)]
struct SectorWrites {
    on_medium: u64,
    /// The last write reported as completed.
    acknowledged: u64,
    /// The last write reported as flushed.
    flushed: u64,
}

/// Sectors by their state after a cut, according to the disk's own log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterCut {
    /// A write reported as flushed is lost.
    pub lost: BTreeSet<u64>,
    /// A write reported as completed is lost, and no flush had covered it.
    pub unflushed: BTreeSet<u64>,
    /// The last write reported as completed is present.
    pub right: BTreeSet<u64>,
}

#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) medium: Vec<u8>,
    /// By number of the sector; the latest data of each, and the number of its write.
    cache: BTreeMap<usize, (u64, Vec<u8>)>,
    /// The disk's own log of each sector.
    known: Vec<SectorWrites>,
    writes: u64,
    flushing: Flushing,
    /// The sectors that its [`Flushing`] applies to; flushes of all others are honest.
    deceives_in: Range<usize>,
    /// Sectors lost by a partial flush.
    forgotten: BTreeSet<usize>,
    pub(crate) is_off: bool,
    random: Random,
    pub(crate) flushes: u64,
    pub(crate) cuts: u64,
    /// Number of sectors that were in the cache at a cut, and are lost.
    pub(crate) dropped: u64,
}

impl Disk {
    /// A disk full of zeros. What its cache keeps is drawn from the seed.
    pub(crate) fn new(size_bytes: u64, flushing: Flushing, seed: u64) -> Self {
        Self {
            medium: vec![0; size_bytes as usize],
            cache: BTreeMap::new(),
            known: vec![SectorWrites::default(); size_bytes as usize / SECTOR_BYTES],
            writes: 0,
            flushing,
            deceives_in: 0..usize::MAX,
            forgotten: BTreeSet::new(),
            is_off: false,
            random: Random::new(seed),
            flushes: 0,
            cuts: 0,
            dropped: 0,
        }
    }

    /// Writes its whole cache to the medium and begins its log anew. From now on only these sectors are flushed as
    /// `flushing` says.
    pub(crate) fn begin(&mut self, flushing: Flushing, deceives_in: Range<u64>) {
        self.forgotten.clear();
        self.cache.keys().copied().collect::<Vec<_>>().into_iter().for_each(|sector| self.store(sector));
        self.known.fill(SectorWrites::default());
        self.writes = 0;
        self.flushing = flushing;
        self.deceives_in = deceives_in.start as usize..deceives_in.end as usize;
    }

    fn store(&mut self, sector: usize) {
        if self.forgotten.contains(&sector) {
            return;
        }
        if let Some((write, content)) = self.cache.remove(&sector) {
            self.known[sector].on_medium = write;
            self.medium[sector * SECTOR_BYTES..][..SECTOR_BYTES].copy_from_slice(&content);
        }
    }

    /// Takes a write of whole sectors.
    pub(crate) fn store_all(&mut self, offset: u64, data: &[u8], is_through: bool) {
        let first = offset as usize / SECTOR_BYTES;
        let sectors = first..first + data.len() / SECTOR_BYTES;
        self.writes += 1;
        for (sector, content) in sectors.clone().zip(data.chunks_exact(SECTOR_BYTES)) {
            self.cache.insert(sector, (self.writes, content.to_vec()));
            self.known[sector].acknowledged = self.writes;
            self.forgotten.remove(&sector);
        }
        if is_through {
            self.flush_sectors(&sectors.collect::<Vec<_>>());
        }
        // The cache writes back arbitrary sectors.
        for _ in 0..self.random.below(3) {
            let at = self.random.below(self.cache.len().max(1) as u64) as usize;
            if let Some(sector) = self.cache.keys().nth(at).copied() {
                self.store(sector);
            }
        }
    }

    fn flush_sectors(&mut self, sectors: &[usize]) {
        for sector in sectors {
            let known = &mut self.known[*sector];
            known.flushed = known.acknowledged;
            let is_eighth = self.random.below(8) == 0;
            match self.flushing {
                _ if !self.deceives_in.contains(sector) => self.store(*sector),
                Flushing::Partial if is_eighth => _ = self.forgotten.insert(*sector),
                Flushing::Honest | Flushing::Partial => self.store(*sector),
                Flushing::Ignored => {}
            }
        }
    }

    /// Flushes its whole cache, as its [`Flushing`] has it.
    pub(crate) fn flush(&mut self) {
        self.flushes += 1;
        self.flush_sectors(&self.cache.keys().copied().collect::<Vec<_>>());
    }

    /// The bytes of a range, from the cache and the medium.
    pub(crate) fn content(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let offset = (offset as usize).min(self.medium.len());
        let end = (offset + bytes).min(self.medium.len());
        let mut data = self.medium[offset..end].to_vec();
        for (sector, (_, content)) in self.cache.range(offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)) {
            for (at, byte) in (sector * SECTOR_BYTES..).zip(content) {
                if (offset..end).contains(&at) {
                    data[at - offset] = *byte;
                }
            }
        }
        data
    }

    /// Loses most of the cache, and fails from now on.
    pub(crate) fn cut(&mut self) {
        self.is_off = true;
        self.cuts += 1;
        for sector in self.cache.keys().copied().collect::<Vec<_>>() {
            // Writes in flight.
            if self.random.below(4) == 0 {
                self.store(sector);
            }
        }
        self.dropped += self.cache.len() as u64;
        self.cache.clear();
    }

    /// The written sectors, by the state in which the cut left each.
    pub(crate) fn after_cut(&self) -> AfterCut {
        let mut after = AfterCut::default();
        for (sector, known) in (0..).zip(&self.known) {
            let set = match known {
                SectorWrites { acknowledged: 0, .. } => continue,
                _ if known.on_medium < known.flushed => &mut after.lost,
                _ if known.on_medium < known.acknowledged => &mut after.unflushed,
                _ => &mut after.right,
            };
            set.insert(sector);
        }
        after
    }
}
