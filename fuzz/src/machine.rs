//! Readers of the kernel's files, below a root that holds what the fuzzer says.

use host::{HealthWatch, Root};
use model::environment::MountedFileSystem;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where the one disk is described.
const DISK: &str = "sys/devices/pci0000:00/0000:00:01.0/host0/target0:0:0/0:0:0:0/block/sda";

/// Files that the fuzzer fills; those that begin with `@` are below [`DISK`].
const FILES: [&str; 68] = [
    "proc/stat",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/loadavg",
    "proc/vmstat",
    "proc/swaps",
    "proc/self/status",
    "proc/self/stat",
    "proc/self/io",
    "proc/self/mountinfo",
    "proc/self/cgroup",
    "proc/self/uid_map",
    "proc/net/snmp",
    "proc/net/snmp6",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/version",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/io_uring_disabled",
    "proc/spl/kstat/zfs/arcstats",
    "proc/spl/kstat/zfs/tank/state",
    "proc/device-tree/model",
    "etc/os-release",
    "etc/hostname",
    "etc/zfs/zpool.cache",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/hypervisor/type",
    "sys/firmware/acpi/platform_profile",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/distance",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.current",
    "sys/fs/cgroup/io.max",
    "@/dev",
    "@/size",
    "@/stat",
    "@/inflight",
    "@/ro",
    "@/uevent",
    "@/sda1/dev",
    "@/sda1/partition",
    "@/sda1/size",
    "@/sda1/stat",
    "@/queue/scheduler",
    "@/queue/write_cache",
    "@/queue/logical_block_size",
    "@/../../model",
    "@/../../wwid",
    "proc/diskstats",
    "@/start",
    "proc/self/mountstats",
    "proc/fs/cifs/Stats",
];

/// Everything that is read of a machine. The bytes are files one after the other: a byte for which, two for
/// its length, its content.
pub fn machine(bytes: &[u8]) {
    // Tests of one process call this side by side.
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    let directory = std::env::temp_dir().join(format!("diskspd-fuzz-{}-{thread}", std::process::id()));
    let made = make(&directory, bytes);
    if made.is_ok() {
        read(&Root::recorded(&directory));
    }
    let _ = fs::remove_dir_all(&directory);
    made.expect("a folder for temporary files");
}

fn make(directory: &Path, mut bytes: &[u8]) -> io::Result<()> {
    let disk = directory.join(DISK);
    fs::create_dir_all(disk.join("sda1"))?;
    for (folder, link) in [("sys/class/block", "sda"), ("sys/block", "sda"), ("sys/dev/block", "8:0")] {
        fs::create_dir_all(directory.join(folder))?;
        let up = "../".repeat(folder.split('/').count());
        // Already there if an earlier process had the same number.
        let _ = symlink(format!("{up}{DISK}"), directory.join(folder).join(link));
    }
    fs::write(disk.join("dev"), "8:0\n")?;
    while let [which, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (content, others) = rest.split_at(length);
        let path = place(directory, FILES[usize::from(*which) % FILES.len()]);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content)?;
        bytes = others;
    }
    Ok(())
}

fn place(directory: &Path, file: &str) -> PathBuf {
    match file.strip_prefix("@/") {
        Some(below) => directory.join(DISK).join(below),
        None => directory.join(file),
    }
}

fn read(root: &Root) {
    let system = host::system(root);
    let _ = host::environment(root);
    let devices = host::devices(root);
    let names: Vec<&str> = devices.iter().map(|row| row.name.as_str()).collect();
    let before = host::io_counters(root, names.iter().copied());
    let _ = host::io_counters(root, names.iter().copied()).since(&before);
    let _ = host::cpu_counters(root, system.topology.cpus.iter().map(|cpu| cpu.id));
    let _ = host::machine_counters(root);
    let _ = host::device_reading(root);
    let _ = host::processor_state(root, &system.topology);
    let _ = host::housekeeping(root);
    let mut watch = HealthWatch::begin(root, names.iter().copied(), 0);
    watch.read_messages(1_000_000);
    let _ = watch.notes();
    let share = |file_system: &str, source: &str| MountedFileSystem {
        file_system: file_system.to_owned(),
        source: source.to_owned(),
        point: "/mnt".into(),
        ..MountedFileSystem::default()
    };
    let _ = host::share_counters(root, &[&share("nfs4", "nas:/a"), &share("cifs", "//filer/a")]);
    let paths = [PathBuf::from("/data/file"), PathBuf::from("/dev/sda"), PathBuf::from("/dev/sda1")];
    for environment in host::target_environment(root, &paths).values() {
        for device in environment.disks() {
            let _ = host::device_state(root, device);
        }
    }
}
