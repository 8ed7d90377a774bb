//! Restricted environments: system calls are filtered, memory and threads are limited.

use crate::machine::is_root;
use crate::process::{Program, Running};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A system call that fails with an error.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    /// Its number.
    pub call: i64,
    /// Its condition; `None` = always.
    pub only: Option<Argument>,
}

/// A condition on one argument of a system call.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its index, from 0.
    pub number: u8,
    /// The bits to compare.
    pub mask: u64,
    /// Their required value.
    pub value: u64,
}

/// The numbers of `io_uring`'s system calls, which are the same on all machines.
pub mod io_uring {
    /// `io_uring_setup`
    pub const SETUP: i64 = 425;
    /// `io_uring_enter`; argument 3 has the flags.
    pub const ENTER: i64 = 426;
    /// `io_uring_register`; argument 1 is the operation.
    pub const REGISTER: i64 = 427;
}

impl Denied {
    /// Denies a call with any arguments.
    pub const fn always(call: i64) -> Self {
        Self { call, only: None }
    }

    fn rules(&self) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let Some(Argument { number, mask, value }) = self.only else { return Ok(Vec::new()) };
        let comparison = SeccompCmpOp::MaskedEq(mask);
        let condition = SeccompCondition::new(number, SeccompCmpArgLen::Dword, comparison, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    }
}

fn filter(denied: &[Denied], errno: u32) -> Result<BpfProgram, String> {
    let compile = || -> Result<BpfProgram, seccompiler::BackendError> {
        let rules = denied.iter().map(|call| Ok((call.call, call.rules()?)));
        let rules = rules.collect::<Result<BTreeMap<_, _>, seccompiler::BackendError>>()?;
        let machine = TargetArch::try_from(std::env::consts::ARCH)?;
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), machine)?.try_into()
    };
    compile().map_err(|error| format!("no system call filter for this machine: {error}"))
}

impl Program {
    /// Starts it with some system calls failing with an error, as in containers. The error is the reason if that is
    /// impossible here.
    pub fn start_without(self, denied: &[Denied], errno: u32) -> Result<Running, String> {
        let filter = filter(denied, errno)?;
        // A filter remains with its thread and all its children, so it gets a separate thread.
        std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                seccompiler::apply_filter(&filter).map_err(|error| format!("no system call filter here: {error}"))?;
                Ok(self.start())
            });
            starter.join().expect("it starts")
        })
    }
}

/// A cgroup, removed when it is dropped.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// One with this memory limit; the error is the reason if there can be none.
    pub fn of_memory(bytes: u64) -> Result<Self, String> {
        let group =
            Self::create("memory", [("memory.limit_in_bytes", bytes.to_string()), ("memory.max", bytes.to_string())])?;
        // Files that other tests swap to for a moment must not change. Each hierarchy has only one of these.
        for (file, value) in [("memory.swappiness", "0"), ("memory.swap.max", "0")] {
            let _ = std::fs::write(group.folder.join(file), value);
        }
        Ok(group)
    }

    /// One whose processes may use this percentage of one CPU; the error is the reason if there can be none.
    pub fn of_cpu(percent: u64) -> Result<Self, String> {
        // Both files count microseconds, with the default period of 100 ms.
        let quota_us = (percent * 1000).to_string();
        Self::create("cpu", [("cpu.cfs_quota_us", quota_us.clone()), ("cpu.max", quota_us)])
    }

    /// One with this limit on the threads of all its processes together; the error is the reason if there can be none.
    pub fn of_threads(count: u64) -> Result<Self, String> {
        Self::create("pids", [("pids.max", count.to_string()), ("pids.max", count.to_string())])
    }

    /// One with this limit on reads per second from a device; the error is the reason if there can be none.
    pub fn of_reads(device: &Path, per_s: u64) -> Result<Self, String> {
        Self::of_ios(device, "read", per_s)
    }

    /// The same for writes.
    pub fn of_writes(device: &Path, per_s: u64) -> Result<Self, String> {
        Self::of_ios(device, "write", per_s)
    }

    fn of_ios(device: &Path, direction: &str, per_s: u64) -> Result<Self, String> {
        let number = std::fs::metadata(device).map_err(|error| error.to_string())?.rdev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let file = format!("blkio.throttle.{direction}_iops_device");
        let one = (file.as_str(), format!("{number} {per_s}"));
        Self::create("blkio", [one, ("io.max", format!("{number} {}iops={per_s}", &direction[..1]))])
    }

    /// One that counts the bytes that its processes read and write on a block device (`254:0`); the error is the reason
    /// if there can be none.
    pub fn of_bytes(device: &str) -> Result<Self, String> {
        // The kernel counts only if there is a limit; this one is never reached.
        let bytes_per_s: u64 = 1 << 50;
        let one = ("blkio.throttle.read_bps_device", format!("{device} {bytes_per_s}"));
        Self::create("blkio", [one, ("io.max", format!("{device} rbps={bytes_per_s}"))])
    }

    /// Bytes that its processes read from a block device (`254:0`), and those that they wrote.
    pub fn bytes(&self, device: &str) -> Option<[u64; 2]> {
        let read = |file: &str| std::fs::read_to_string(self.folder.join(file)).ok();
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        if let Some(text) = read("blkio.throttle.io_service_bytes") {
            let line_of = |word: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{device} {word} ")));
            return Some(["Read", "Write"].map(|word| number(line_of(word))));
        }
        let text = read("io.stat")?;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{device} "))).unwrap_or_default();
        let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
        Some(["rbytes=", "wbytes="].map(|name| number(field(name))))
    }

    /// `limits`: the file, and the value to write to it, in a hierarchy of the controller and in the unified one.
    fn create(controller: &str, limits: [(&str, String); 2]) -> Result<Self, String> {
        // Tests of one process run at the same time.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !is_root() {
            return Err("needs root".to_owned());
        }
        let tops = [Path::new("/sys/fs/cgroup").join(controller), PathBuf::from("/sys/fs/cgroup")];
        let name = format!("diskspd-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        for (top, (file, limit)) in tops.iter().zip(limits) {
            let folder = top.join(&name);
            // If hierarchies are mounted side by side, the directory above them is not one.
            if !top.join("cgroup.procs").exists() || std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Self { folder };
            let limited = group.folder.join(file);
            if limited.exists() && std::fs::write(limited, limit).is_ok() {
                return Ok(group);
            }
        }
        Err(format!("no cgroup with a limit of {controller} can be made here"))
    }

    /// File to which a process writes its number to enter.
    pub fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last process has been reaped; the kernel may take a moment to notice that it is empty.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
