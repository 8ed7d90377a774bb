//! The disks that xtask/src/vm/disks.rs gives the virtual machine.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time limit for a driver to show a disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// Zeros are written this many bytes at a time.
const CHUNK: usize = 1 << 20;

/// A disk as the kernel shows it now.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// `nvme0n1`.
    pub(crate) name: String,
    /// `/dev/nvme0n1`.
    pub(crate) path: PathBuf,
}

impl Disk {
    /// An `NVMe` disk without a WWID: 0 or 1.
    pub(crate) fn plain(number: usize) -> Self {
        Self::only(&format!("PLAIN{number}"), |disk| disk.file("device/serial") == Some(format!("PLAIN{number}")))
    }

    /// The `NVMe` disk with sectors of this size, other than 512 bytes.
    pub(crate) fn with_sectors(bytes: u32) -> Self {
        Self::only(&format!("SECTORS{bytes}"), |disk| disk.file("device/serial") == Some(format!("SECTORS{bytes}")))
    }

    /// The SCSI disk.
    pub(crate) fn scsi() -> Self {
        Self::only("SCSI0", |disk| disk.file("device/wwid").as_deref() == Some("naa.5000c50000000001"))
    }

    /// The disk with this WWID.
    pub(crate) fn with_wwid(wwid: &str) -> Self {
        Self::only(wwid, |disk| disk.file("wwid").as_deref() == Some(wwid))
    }

    /// The namespace with this number in the subsystem shared by two controllers: one device, or two if the kernel does
    /// not join its paths.
    pub(crate) fn shared(namespace: u32, count: usize) -> Vec<Self> {
        let has_number = |disk: &Self| disk.file("nsid") == Some(namespace.to_string());
        Self::all("SHARED", count, |disk| disk.file("device/serial").as_deref() == Some("SHARED") && has_number(disk))
    }

    /// The device with this name, once it exists.
    pub(crate) fn named(name: &str) -> Self {
        Self::only(name, |disk| disk.name == name)
    }

    /// The device mapper's device with this name.
    pub(crate) fn mapped(name: &str) -> Self {
        Self::only(name, |disk| disk.file("dm/name").as_deref() == Some(name))
    }

    fn only(what: &str, is_it: impl Fn(&Self) -> bool) -> Self {
        Self::all(what, 1, is_it).remove(0)
    }

    /// Those that can be opened: paths of a multipath disk are hidden.
    fn all(what: &str, count: usize, is_it: impl Fn(&Self) -> bool) -> Vec<Self> {
        let until = Instant::now() + PATIENCE;
        loop {
            let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let disks = names.map(|name| Self { path: Path::new("/dev").join(&name), name });
            let mut disks: Vec<Self> = disks.filter(|disk| disk.path.exists() && is_it(disk)).collect();
            disks.sort_by(|a, b| a.name.cmp(&b.name));
            if disks.len() == count {
                return disks;
            }
            assert!(Instant::now() < until, "{count} of the disk {what}, not {disks:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The value of a file about it in /sys.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(Path::new("/sys/block").join(&self.name).join(name)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Bytes that were written to it, by its own counters.
    pub(crate) fn written_bytes(&self) -> u64 {
        let stat = self.file("stat").expect("counters");
        stat.split_whitespace().nth(6).and_then(|sectors| sectors.parse::<u64>().ok()).expect("sectors written") * 512
    }

    /// Its partition with this number.
    pub(crate) fn partition(&self, number: u32) -> Self {
        let name = format!("{}p{number}", self.name);
        Self { path: Path::new("/dev").join(&name), name }
    }

    /// The disk, overwritten with zeros.
    pub(crate) fn blank(self) -> Self {
        let sectors = fs::read_to_string(Path::new("/sys/class/block").join(&self.name).join("size"));
        let mut left = sectors.expect("a size").trim().parse::<usize>().expect("a number") * 512;
        let mut file = File::options().write(true).open(&self.path).expect("our own disk");
        while left > 0 {
            let part = left.min(CHUNK);
            file.write_all(&vec![0; part]).expect("it takes zeros");
            left -= part;
        }
        file.sync_all().expect("they get there");
        self
    }

    /// The flag that permits writing to it: the first name that the refusal of a plain write offers.
    pub(crate) fn flag(&self, place: &testkit::Workplace) -> String {
        let run = place.write_refused(&[], &self.path, &self.path, &["--destroy="]);
        let (_, rest) = run.stderr.split_once("--destroy=").expect("a flag");
        format!("--destroy={}", rest.split_whitespace().next().unwrap_or_default().trim_matches(['\'', ';']))
    }
}
