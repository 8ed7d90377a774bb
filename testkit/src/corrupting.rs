//! A file that loses, tears, misplaces and changes its data on demand, served by the test itself over FUSE.

use crate::corrupt_data::{CorruptData, Corruption, Injected, Occasion, WrongSector};
use crate::fuse::{FIRST, Files, Outcome, Served};
use crate::workplace::Workplace;
use fuser::Errno;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::MutexGuard;

const NAME: &str = "a.dat";

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Corrupting {
    served: Served<CorruptData>,
    /// The only file, initially full of zeros.
    pub file: PathBuf,
}

impl Corrupting {
    /// Mounts one with a file of this size and no faults yet; the error is the reason if that is impossible.
    pub fn mounted(place: &Workplace, name: &str, size_bytes: u64) -> Result<Self, String> {
        let served = Served::mounted(CorruptData::new(size_bytes), place.path(name))?;
        let file = served.folder().join(NAME);
        Ok(Self { served, file })
    }

    fn data(&self) -> MutexGuard<'_, CorruptData> {
        self.served.files()
    }

    /// From now on I/Os fail on these occasions. If there are several orders, the first matching one applies.
    pub fn order(&self, corruption: Corruption, occasion: Occasion) {
        self.data().order(corruption, occasion);
    }

    /// From now on no I/O fails; existing corruption remains.
    pub fn behave(&self) {
        self.data().behave();
    }

    /// The faults that occurred, in order.
    pub fn injected(&self) -> Vec<Injected> {
        self.data().injected().to_vec()
    }

    /// Sectors whose stored bytes differ from those of a sound disk, by offset.
    pub fn wrong(&self) -> Vec<WrongSector> {
        self.data().wrong()
    }

    /// Sectors for which a read returned data that a sound disk would not have returned, or failed.
    pub fn read_wrong(&self) -> Vec<WrongSector> {
        self.data().read_wrong()
    }

    /// The ranges of those reads, in their order.
    pub fn wrong_reads(&self) -> Vec<Range<u64>> {
        self.data().wrong_reads().to_vec()
    }
}

/// Each hook calls the method of the data with the same name.
impl Files for CorruptData {
    fn names(&self) -> Vec<(OsString, u64)> {
        vec![(NAME.into(), FIRST)]
    }

    fn size_bytes(&self, _: u64) -> u64 {
        self.size_bytes()
    }

    fn read(&mut self, _: u64, offset: u64, bytes: u32) -> Outcome<Vec<u8>> {
        self.read(offset, bytes.into()).map_err(|_| Errno::EIO)
    }

    fn write(&mut self, _: u64, offset: u64, data: &[u8], _: bool) -> Outcome {
        if offset + data.len() as u64 > self.size_bytes() {
            return Err(Errno::ENOSPC);
        }
        self.write(offset, data);
        Ok(())
    }

    fn discard(&mut self, _: u64, offset: u64, bytes: u64) -> Outcome {
        self.discard(offset, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn faults_reach_those_who_read_and_write_the_file() {
        let place = Workplace::new("/bin/true", &std::env::temp_dir().to_string_lossy());
        let corrupting = crate::or_skip!(Corrupting::mounted(&place, "corrupting", 1 << 20));
        let file = File::options().read(true).write(true).open(&corrupting.file).expect("the only file");
        file.write_all_at(&[1; 8192], 0).expect("room");
        corrupting.order(Corruption::Lost, Occasion::at(4096));
        file.write_all_at(&[2; 4096], 0).expect("room");
        file.write_all_at(&[2; 4096], 4096).expect("reported as done");
        corrupting.order(Corruption::Unreadable, Occasion::at(65_536));
        let mut read = [0; 8192];
        file.read_exact_at(&mut read, 0).expect("readable");
        assert_eq!((&read[..4096], &read[4096..]), (&[2; 4096][..], &[1; 4096][..]));
        let error = file.read_exact_at(&mut read, 65_536).expect_err("unreadable");
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
        let corruptions: Vec<_> = corrupting.injected().iter().map(|injected| injected.corruption).collect();
        assert_eq!(corruptions, [Corruption::Lost, Corruption::Unreadable]);
        assert_eq!((corrupting.wrong().len(), corrupting.read_wrong().len()), (8, 24));
        corrupting.behave();
        file.write_all_at(&[3; 4096], 4096).expect("room");
        file.read_exact_at(&mut read, 65_536).expect("readable again");
        assert!(corrupting.wrong().is_empty());
    }
}
