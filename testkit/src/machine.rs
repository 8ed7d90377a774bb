//! Setups that require root. Everything is removed when dropped.

use crate::process::Finished;
use crate::workplace::Workplace;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// True if this is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The path of a program; the error states that it is missing.
pub fn tool(name: &str) -> Result<PathBuf, String> {
    let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let mut paths = folders.iter().map(|folder| Path::new(folder).join(name));
    paths.find(|path| is_program(path)).ok_or_else(|| format!("{name} is not installed"))
}

/// True if this is an executable program.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Processes (not threads) with this name in `/proc/PID/comm`.
pub fn processes_of(name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|comm| comm.trim() == name))
        .collect()
}

fn root_with(name: &str) -> Result<PathBuf, String> {
    if is_root() { tool(name) } else { Err("needs root".to_owned()) }
}

fn worked(run: &Finished) -> Result<(), String> {
    if run.code() == Some(0) { Ok(()) } else { Err(format!("not possible here: {}", run.stderr.trim())) }
}

/// The command prefix that runs a program as nobody, if that works here.
pub fn nobody_can_run(place: &Workplace) -> Result<String, String> {
    let setpriv = root_with("setpriv")?;
    let words = format!("{} --reuid=65534 --regid=65534 --clear-groups", setpriv.display());
    let mut parts = words.split_whitespace();
    let program = place.tool(parts.next().expect("a program")).args(&parts.collect::<Vec<_>>().join(" "));
    let run = program.arg(place.program()).arg("--version").run();
    worked(&run).map_err(|reason| format!("the user nobody cannot run the program: {reason}"))?;
    Ok(words)
}

/// A loop device over a file.
#[derive(Debug)]
pub struct LoopDevice<'a> {
    place: &'a Workplace,
    losetup: PathBuf,
    /// Path like `/dev/loop0`.
    pub path: PathBuf,
}

impl<'a> LoopDevice<'a> {
    /// Over the file at `backing`.
    pub fn over(place: &'a Workplace, backing: &Path) -> Result<Self, String> {
        let losetup = root_with("losetup")?;
        // Two that search for a free device at the same time find the same one, and the second keeps it open for a
        // moment after the first has it: others are then told that it is in use.
        let turn = std::env::temp_dir().join("diskspd-tests-losetup.lock");
        let turn =
            File::options().create(true).truncate(false).write(true).open(turn).map_err(|error| error.to_string())?;
        turn.lock().map_err(|error| error.to_string())?;
        let run = place.tool(&losetup).args("--find --show").arg(backing).run();
        drop(turn);
        worked(&run)?;
        Ok(Self { place, losetup, path: run.stdout.trim().into() })
    }

    /// Over the file at `backing`, past the page cache.
    pub fn direct(place: &'a Workplace, backing: &Path) -> Result<Self, String> {
        let device = Self::over(place, backing)?;
        worked(&place.tool(&device.losetup).args("--direct-io=on").arg(&device.path).run())?;
        Ok(device)
    }

    /// One that reports 32 MiB although `memory` has less space: writes beyond that fail. Returned with the file below
    /// it.
    pub fn failing(memory: &Mounted<'a>) -> Result<(Self, PathBuf), String> {
        let image = memory.path.join("own.img");
        File::create(&image).and_then(|file| file.set_len(32 << 20)).expect("a sparse file");
        Ok((Self::over(memory.place, &image)?, image))
    }

    /// Name like `loop0`.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for LoopDevice<'_> {
    fn drop(&mut self) {
        let backing = Path::new("/sys/block").join(self.name()).join("loop/backing_file");
        let before = std::fs::read(&backing).ok();
        self.place.tool(&self.losetup).args("--detach").arg(&self.path).run();
        // A process that has it open keeps it attached until it closes it: other tests check all devices.
        for _ in 0..200 {
            if before.is_none() || std::fs::read(&backing).ok() != before {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A disk in compressed memory.
#[derive(Debug)]
pub struct Zram {
    number: u32,
    /// Path like `/dev/zram1`.
    pub path: PathBuf,
}

impl Zram {
    const CONTROL: &str = "/sys/class/zram-control";

    /// One with this size in bytes.
    pub fn create(size_bytes: u64) -> Result<Self, String> {
        let control = Path::new(Self::CONTROL);
        // Reading the file creates one.
        let number = std::fs::read_to_string(control.join("hot_add"))
            .map_err(|error| format!("no zram of one's own can be had: {error}"))?;
        let number = number.trim().parse().map_err(|_| format!("zram has no number but {number:?}"))?;
        let zram = Self { number, path: PathBuf::from(format!("/dev/zram{number}")) };
        let size = format!("/sys/block/zram{number}/disksize");
        std::fs::write(size, size_bytes.to_string()).map_err(|error| format!("zram takes no size: {error}"))?;
        Ok(zram)
    }

    /// Name like `zram1`.
    pub fn name(&self) -> String {
        format!("zram{}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let removed = std::fs::write(Path::new(Self::CONTROL).join("hot_remove"), self.number.to_string());
        assert!(removed.is_ok() || std::thread::panicking(), "{} is still there: {removed:?}", self.name());
    }
}

/// A partition added in the kernel, without a table. It would outlive the loop device.
#[derive(Debug)]
pub struct Partition<'a> {
    place: &'a Workplace,
    disk: PathBuf,
    /// Its node.
    pub path: PathBuf,
}

impl<'a> Partition<'a> {
    /// 4 MiB of a loop device, from 1 MiB on.
    pub fn create(place: &'a Workplace, disk: &LoopDevice<'_>) -> Result<Self, String> {
        let (addpart, _) = (tool("addpart")?, tool("delpart")?);
        let made = place.tool(addpart).arg(&disk.path).args("1 2048 8192").run();
        if made.code() != Some(0) {
            return Err(format!("this kernel makes no partitions of loop devices: {}", made.stderr.trim()));
        }
        Ok(Self { place, path: format!("{}p1", disk.path.display()).into(), disk: disk.path.clone() })
    }
}

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        self.place.tool("delpart").arg(&self.disk).args("1").run();
    }
}

/// A descriptor of a device that excludes other exclusive openers.
pub fn claimed(device: &Path) -> std::io::Result<File> {
    Ok(rustix::fs::open(device, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// A separate file system.
#[derive(Debug)]
pub struct Mounted<'a> {
    place: &'a Workplace,
    /// Its mount point.
    pub path: PathBuf,
    /// The device below it, if it has one. Dropped after it is unmounted.
    pub device: Option<LoopDevice<'a>>,
}

impl<'a> Mounted<'a> {
    /// A tmpfs of this size, like `1M`.
    pub fn tmpfs(place: &'a Workplace, name: &str, size: &str) -> Result<Self, String> {
        let mount = root_with("mount")?;
        let path = Self::folder(place, name);
        let options = format!("-t tmpfs -o size={size},mode=0777 none");
        worked(&place.tool(mount).args(&options).arg(&path).run())?;
        Ok(Self { place, path, device: None })
    }

    /// A ramfs: no extended attributes, no direct I/O, no accounting of space.
    pub fn ramfs(place: &'a Workplace, name: &str) -> Result<Self, String> {
        let mount = root_with("mount")?;
        let path = Self::folder(place, name);
        worked(&place.tool(mount).args("-t ramfs none").arg(&path).run())?;
        Ok(Self { place, path, device: None })
    }

    /// A file or a directory under a second name, which must also exist.
    pub fn bind(place: &'a Workplace, source: &str, name: &str) -> Result<Self, String> {
        let path = place.path(name);
        worked(&place.tool(root_with("mount")?).args("--bind").arg(place.path(source)).arg(&path).run())?;
        Ok(Self { place, path, device: None })
    }

    /// An overlay over the directory `lower`; its upper layer is the directory `upper`, created here.
    pub fn overlay(place: &'a Workplace, lower: &str, upper: &str, name: &str) -> Result<Self, String> {
        let mount = root_with("mount")?;
        let path = Self::folder(place, name);
        let [upper, work] = [upper.to_owned(), format!("{upper}-work")].map(|name| Self::folder(place, &name));
        let lower = place.path(lower);
        let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        worked(&place.tool(mount).args("-t overlay none -o").arg(options).arg(&path).run())?;
        Ok(Self { place, path, device: None })
    }

    /// An ext4 in a file of this size.
    pub fn ext4(place: &'a Workplace, name: &str, size_bytes: u64) -> Result<Self, String> {
        let mkfs = root_with("mkfs.ext4")?;
        let image = place.sparse(&format!("{name}.img"), size_bytes).expect("a sparse file");
        worked(&place.tool(mkfs).args("-q -F -m0").arg(&image).run())?;
        Self::device(place, name, LoopDevice::over(place, &image)?)
    }

    /// A btrfs in a file of this size (at least 109 MiB), mounted with these options.
    pub fn btrfs(place: &'a Workplace, name: &str, size_bytes: u64, options: &str) -> Result<Self, String> {
        let mkfs = root_with("mkfs.btrfs")?;
        let image = place.sparse(&format!("{name}.img"), size_bytes).expect("a sparse file");
        worked(&place.tool(mkfs).arg("-q").arg(&image).run())?;
        let mounted = Self::device(place, name, LoopDevice::over(place, &image)?)?;
        mounted.remount(options)?;
        Ok(mounted)
    }

    /// An XFS in a file of this size (at least 300 MiB).
    pub fn xfs(place: &'a Workplace, name: &str, size_bytes: u64) -> Result<Self, String> {
        let mkfs = root_with("mkfs.xfs")?;
        let image = place.sparse(&format!("{name}.img"), size_bytes).expect("a sparse file");
        worked(&place.tool(mkfs).arg("-q").arg(&image).run())?;
        Self::device(place, name, LoopDevice::over(place, &image)?)
    }

    /// An ext4 without background writes, and a file of 64 MiB on it for direct I/O.
    pub fn ext4_with_file(place: &'a Workplace) -> Result<(Self, PathBuf), String> {
        place.direct_io()?;
        let mounted = Self::ext4(place, "own", 96 << 20)?;
        // Otherwise the file system writes its tables.
        mounted.remount("noinit_itable")?;
        let file = mounted.path.join("a.dat");
        place.briefly("-c64M").arg(&file).run_until_measuring().expect_status(0);
        place.tool("sync").run().expect_status(0);
        Ok((mounted, file))
    }

    /// The existing file system of a device.
    pub fn device(place: &'a Workplace, name: &str, device: LoopDevice<'a>) -> Result<Self, String> {
        let path = Self::folder(place, name);
        worked(&place.tool(root_with("mount")?).arg(&device.path).arg(&path).run())?;
        Ok(Self { place, path, device: Some(device) })
    }

    /// Remounts it with other options.
    pub fn remount(&self, options: &str) -> Result<(), String> {
        let words = format!("-o remount,{options}");
        worked(&self.place.tool(root_with("mount")?).args(&words).arg(&self.path).run())
    }

    fn folder(place: &Workplace, name: &str) -> PathBuf {
        let path = place.path(name);
        std::fs::create_dir(&path).expect("a new folder");
        path
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Lazily, so that a process left behind by a failed test cannot block it.
        self.place.tool("umount").args("--lazy").arg(&self.path).run();
    }
}

/// Count of memory management events so far under a name in `/proc/vmstat`, like `nr_written`.
pub fn memory_events(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

/// The result of an attempt, and true if it did not change content; it is repeated if content changed while the kernel
/// swapped, which changes the swap space.
pub fn unless_swapping<T>(attempt: impl Fn() -> (T, bool)) -> (T, bool) {
    let swapped_out_pages = || memory_events("pswpout");
    for _ in 0..20 {
        let before = swapped_out_pages();
        let (found, is_left_alone) = attempt();
        if is_left_alone || swapped_out_pages() == before {
            return (found, is_left_alone);
        }
    }
    attempt()
}

/// An active swap file.
#[derive(Debug)]
pub struct Swap<'a> {
    place: &'a Workplace,
    path: PathBuf,
}

impl<'a> Swap<'a> {
    /// Formats the file at `path` and swaps to it.
    pub fn on(place: &'a Workplace, path: &Path) -> Result<Self, String> {
        let (mkswap, swapon) = (root_with("mkswap")?, root_with("swapon")?);
        worked(&place.tool(mkswap).arg(path).run())?;
        worked(&place.tool(swapon).arg(path).run())?;
        Ok(Self { place, path: path.to_owned() })
    }
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        self.place.tool("swapoff").arg(&self.path).run();
    }
}
