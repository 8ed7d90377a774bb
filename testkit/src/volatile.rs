//! A file on a disk with a volatile cache whose power can be cut, served by the test itself over FUSE.
//!
//! Beside the file is another one, `power`: writing `off` to it cuts the power, and `on` restores it. Commands run by a
//! program under test can do that.

use crate::fuse::{FIRST, Files, Outcome, Served};
use crate::random::Random;
use crate::workplace::Workplace;
use fuser::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

const FILE: u64 = FIRST;
const POWER: u64 = FIRST + 1;
const SECTOR_BYTES: usize = 512;

/// The disk's reaction to a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushing {
    /// It writes its whole cache to the medium.
    Honest,
    /// It writes nothing, and reports success.
    Ignored,
    /// It loses each eighth sector until it is written again, and reports failure.
    Partial,
}

/// Numbers of writes to a sector; 0 = none.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
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
struct Disk {
    medium: Vec<u8>,
    /// By number of the sector; the latest data of each, and the number of its write.
    cache: BTreeMap<usize, (u64, Vec<u8>)>,
    /// The disk's own log of each sector.
    known: Vec<Known>,
    writes: u64,
    flushing: Flushing,
    /// Sectors lost by a partial flush.
    forgotten: BTreeSet<usize>,
    is_off: bool,
    random: Random,
    flushes: u64,
    cuts: u64,
    /// Number of sectors that were in the cache at a cut, and are lost.
    dropped: u64,
}

impl Disk {
    fn store(&mut self, sector: usize) {
        if self.forgotten.contains(&sector) {
            return;
        }
        if let Some((write, content)) = self.cache.remove(&sector) {
            self.known[sector].on_medium = write;
            self.medium[sector * SECTOR_BYTES..][..SECTOR_BYTES].copy_from_slice(&content);
        }
    }

    fn store_all(&mut self, offset: u64, data: &[u8], is_through: bool) {
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
                Flushing::Partial if is_eighth => _ = self.forgotten.insert(*sector),
                Flushing::Honest | Flushing::Partial => self.store(*sector),
                Flushing::Ignored => {}
            }
        }
    }

    fn content(&self, offset: u64, bytes: usize) -> Vec<u8> {
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

    fn cut(&mut self) {
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

    fn after_cut(&self) -> AfterCut {
        let mut after = AfterCut::default();
        for (sector, known) in (0..).zip(&self.known) {
            let set = match known {
                Known { acknowledged: 0, .. } => continue,
                _ if known.on_medium < known.flushed => &mut after.lost,
                _ if known.on_medium < known.acknowledged => &mut after.unflushed,
                _ => &mut after.right,
            };
            set.insert(sector);
        }
        after
    }
}

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Volatile {
    served: Served<Disk>,
    /// The file, initially full of zeros.
    pub file: PathBuf,
    /// The control file of the power.
    pub power: PathBuf,
}

impl Volatile {
    /// Mounts one with a file of this size; the error is the reason if that is impossible.
    pub fn mounted(place: &Workplace, name: &str, size_bytes: u64, flushing: Flushing) -> Result<Self, String> {
        let disk = Disk {
            medium: vec![0; size_bytes as usize],
            cache: BTreeMap::new(),
            known: vec![Known::default(); size_bytes as usize / SECTOR_BYTES],
            writes: 0,
            flushing,
            forgotten: BTreeSet::new(),
            is_off: false,
            random: Random::new(1),
            flushes: 0,
            cuts: 0,
            dropped: 0,
        };
        let served = Served::mounted(disk, place.path(name))?;
        let (file, power) = (served.folder().join("a.dat"), served.folder().join("power"));
        Ok(Self { served, file, power })
    }

    /// Cuts the power: the contents of the cache are lost, and each I/O fails.
    pub fn cut(&self) {
        self.served.files().cut();
    }

    /// Restores the power.
    pub fn back(&self) {
        self.served.files().is_off = false;
    }

    /// The state of the sectors, according to the disk's own log.
    pub fn after_cut(&self) -> AfterCut {
        self.served.files().after_cut()
    }

    /// Numbers of flushes, of power cuts, and of sectors lost by these.
    pub fn counts(&self) -> (u64, u64, u64) {
        let disk = self.served.files();
        (disk.flushes, disk.cuts, disk.dropped)
    }
}

impl Files for Disk {
    fn names(&self) -> Vec<(OsString, u64)> {
        vec![("a.dat".into(), FILE), ("power".into(), POWER)]
    }

    fn size_bytes(&self, file: u64) -> u64 {
        if file == FILE { self.medium.len() as u64 } else { 0 }
    }

    fn read(&mut self, file: u64, offset: u64, bytes: u32) -> Outcome<Vec<u8>> {
        match file {
            FILE if self.is_off => Err(Errno::EIO),
            FILE => Ok(self.content(offset, bytes as usize)),
            _ => Ok(Vec::new()),
        }
    }

    fn write(&mut self, file: u64, offset: u64, data: &[u8], is_through: bool) -> Outcome {
        if file == POWER {
            match data {
                b"off\n" => self.cut(),
                b"on\n" => self.is_off = false,
                _ => return Err(Errno::EINVAL),
            }
            return Ok(());
        }
        if self.is_off {
            return Err(Errno::EIO);
        }
        let is_whole = offset.is_multiple_of(SECTOR_BYTES as u64) && data.len().is_multiple_of(SECTOR_BYTES);
        if !is_whole || offset + data.len() as u64 > self.medium.len() as u64 {
            return Err(Errno::EINVAL);
        }
        self.store_all(offset, data, is_through);
        Ok(())
    }

    fn flush(&mut self) -> Outcome {
        if self.is_off {
            return Err(Errno::EIO);
        }
        self.flushes += 1;
        self.flush_sectors(&self.cache.keys().copied().collect::<Vec<_>>());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_was_flushed_survives_a_cut_on_an_honest_disk_only() {
        let place = Workplace::new("/bin/true", &std::env::temp_dir().to_string_lossy());
        for (number, flushing) in [Flushing::Honest, Flushing::Ignored].into_iter().enumerate() {
            let disk = crate::or_skip!(Volatile::mounted(&place, &format!("disk{number}"), 1 << 20, flushing));
            let file = File::options().read(true).write(true).open(&disk.file).expect("the file");
            file.write_all_at(&vec![1; 512 << 10], 0).expect("room");
            file.sync_data().expect("said to be done");
            file.write_all_at(&vec![2; 512 << 10], 512 << 10).expect("room");
            let mut all = vec![0; 1 << 20];
            file.read_exact_at(&mut all, 0).expect("from the cache");
            assert!(all.iter().all(|&byte| byte > 0));
            std::fs::write(&disk.power, "off\n").expect("the power is cut");
            file.read_exact_at(&mut all, 0).expect_err("it is off");
            file.write_all_at(&[3; 512], 0).expect_err("it is off");
            file.sync_data().expect_err("it is off");
            std::fs::write(&disk.power, "on\n").expect("the power is back");
            file.read_exact_at(&mut all, 0).expect("it is on");
            let is_kept = all[..512 << 10].iter().all(|&byte| byte == 1);
            assert_eq!(is_kept, flushing == Flushing::Honest);
            let unflushed = &all[512 << 10..];
            assert!(unflushed.contains(&0) && unflushed.contains(&2), "some of it is gone");
            assert_eq!(disk.counts().0, 1);
            let after = disk.after_cut();
            assert_eq!(after.lost.is_empty(), flushing == Flushing::Honest);
            let is_gone = |sector: &u64| all[*sector as usize * SECTOR_BYTES] == 0;
            assert!(after.lost.iter().chain(&after.unflushed).all(is_gone));
            assert_eq!(after.right.len(), all.chunks(SECTOR_BYTES).filter(|sector| sector[0] > 0).count());
        }
    }
}
