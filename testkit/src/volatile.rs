//! A file on a disk with a volatile cache whose power can be cut, served by the test itself over FUSE.
//!
//! Beside the file is another one, `power`: writing `off` to it cuts the power, and `on` restores it. Commands run by a
//! program under test can do that.

use crate::fuse::{FIRST, Files, Outcome, Served};
use crate::volatile_disk::{AfterCut, Disk, Flushing, SECTOR_BYTES};
use crate::workplace::Workplace;
use fuser::Errno;
use std::ffi::OsString;
use std::path::PathBuf;

const FILE: u64 = FIRST;
const POWER: u64 = FIRST + 1;

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
        let disk = Disk::new(size_bytes, flushing, 1);
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
        Disk::flush(self);
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
