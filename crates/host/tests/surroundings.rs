//! The system around a run, on recorded machines.

#[allow(dead_code)]
mod support;

use model::block_device::DeviceNumber;
use model::environment::{CgroupDevice, CgroupLimit, Environment, Hypervisor, IoRates, Limit};
use std::path::PathBuf;
use support::Machine;

fn environment(table: &str) -> Environment {
    host::environment(&Machine::new(table).root())
}

#[test]
fn names_and_memory() {
    let found = environment(
        "proc/sys/kernel/osrelease = 6.18.44-generic
         proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Mon Jun 15
         etc/os-release -> ../usr/lib/os-release
         usr/lib/os-release = NAME=\"Example\"\\nPRETTY_NAME=\"Example Linux 12 (bookworm)\"\\nID=example
         proc/meminfo = MemTotal:       16384000 kB\\nMemFree: 1 kB",
    );
    assert_eq!(found.kernel_release.as_deref(), Some("6.18.44-generic"));
    assert_eq!(found.kernel_version.as_deref(), Some("#1 SMP PREEMPT_DYNAMIC Mon Jun 15"));
    assert_eq!(found.distribution.as_deref(), Some("Example Linux 12 (bookworm)"));
    assert_eq!(found.memory_bytes, Some(16_384_000 << 10));
    assert_eq!(environment("unrelated = 1"), Environment::default());
}

#[test]
fn hypervisors_are_told_apart() {
    let virtual_cpu = "proc/cpuinfo = flags\t\t: fpu hypervisor lahf_lm\n";
    let real_cpu = "proc/cpuinfo = flags\t\t: fpu lahf_lm\n";
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let named = |name: &str| Some(Hypervisor::Named(name.to_owned()));
    for (table, expected) in [
        (format!("{virtual_cpu} sys/class/dmi/id/sys_vendor = VMware, Inc."), named("VMware")),
        (format!("{virtual_cpu} sys/class/dmi/id/product_name = Virtual Machine"), named("Hyper-V")),
        (format!("{virtual_cpu} sys/class/dmi/id/sys_vendor = QEMU"), named("QEMU")),
        (format!("{virtual_cpu} sys/class/dmi/id/sys_vendor = QEMU\n {clocks} = kvm-clock tsc acpi_pm"), named("KVM")),
        (format!("{virtual_cpu} {clocks} = tsc hyperv_clocksource_tsc_page"), named("Hyper-V")),
        (format!("{virtual_cpu} sys/hypervisor/type = xen"), named("Xen")),
        (virtual_cpu.to_owned(), Some(Hypervisor::Unnamed)),
        // A bare-metal machine of a cloud.
        (format!("{real_cpu} sys/class/dmi/id/sys_vendor = Amazon EC2"), Some(Hypervisor::None)),
        (real_cpu.to_owned(), Some(Hypervisor::None)),
        // arm64 has no such flag.
        ("proc/cpuinfo = Features\t: fp asimd".to_owned(), None),
        ("sys/class/dmi/id/sys_vendor = QEMU".to_owned(), named("QEMU")),
        ("proc/device-tree/hypervisor/compatible = xen,xen-4.17\0xen,xen".to_owned(), named("Xen")),
        ("proc/device-tree/hypervisor/compatible = linux,kvm\0".to_owned(), named("KVM")),
    ] {
        assert_eq!(environment(&table).hypervisor, expected, "{table}");
    }
}

fn limit(cgroup: &str, file: &str, limit: Limit) -> CgroupLimit {
    CgroupLimit { cgroup: PathBuf::from(cgroup), file: file.to_owned(), limit }
}

fn device(major: u32, minor: u32, name: Option<&str>) -> CgroupDevice {
    CgroupDevice { number: DeviceNumber { major, minor }, name: name.map(str::to_owned) }
}

#[test]
fn limits_are_found_up_the_tree() {
    let found = environment(
        "block sdb 8:16 pci0000:00/host0/block/sdb
         proc/self/cgroup = 0::/user.slice/job
         proc/self/mountinfo = 38 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw
         sys/fs/cgroup/user.slice/job/io.max = 8:16 rbps=2097152 wbps=max riops=max wiops=120\\n8:32 rbps=max wbps=max riops=1 wiops=max
         sys/fs/cgroup/user.slice/job/io.weight = default 50\\n8:16 200
         sys/fs/cgroup/user.slice/job/cpu.max = max 100000
         sys/fs/cgroup/user.slice/cpu.max = 150000 100000
         sys/fs/cgroup/user.slice/memory.max = 1073741824
         sys/fs/cgroup/user.slice/memory.high = max
         sys/fs/cgroup/user.slice/io.weight = default 100
         sys/fs/cgroup/user.slice/io.latency = 8:16 target=75000",
    );
    let first = IoRates { read_bytes_per_s: Some(2_097_152), write_ios_per_s: Some(120), ..IoRates::default() };
    let second = IoRates { read_ios_per_s: Some(1), ..IoRates::default() };
    let sdb = || device(8, 16, Some("sdb"));
    let job = "/user.slice/job";
    let expected = [
        limit(job, "io.max", Limit::Io { device: sdb(), rates: first }),
        limit(job, "io.max", Limit::Io { device: device(8, 32, None), rates: second }),
        limit(job, "io.weight", Limit::IoWeight { device: None, weight: 50 }),
        limit(job, "io.weight", Limit::IoWeight { device: Some(sdb()), weight: 200 }),
        limit("/user.slice", "cpu.max", Limit::Cpu { quota_us: 150_000, period_us: 100_000 }),
        limit("/user.slice", "memory.max", Limit::Memory { bytes: 1 << 30, is_hard: true }),
        limit("/user.slice", "io.latency", Limit::IoLatency { device: sdb(), target_us: 75_000 }),
    ];
    assert_eq!(found.cgroup_limits, expected);
}

#[test]
fn limits_of_the_old_cgroups() {
    let found = environment(
        "proc/self/cgroup = 5:cpu,cpuacct:/docker/abc\\n4:blkio:/docker/abc\\n3:memory:/docker/abc\\n0::/docker/abc
         proc/self/mountinfo = 35 31 0:32 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\\n36 31 0:33 /docker/abc /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\\n37 31 0:34 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
         sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us = 50000
         sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us = 100000
         sys/fs/cgroup/blkio/blkio.throttle.write_bps_device = 8:0 1048576
         sys/fs/cgroup/blkio/blkio.throttle.read_iops_device = 8:0 100
         sys/fs/cgroup/blkio/blkio.weight = 500
         sys/fs/cgroup/blkio/blkio.bfq.weight = 300
         sys/fs/cgroup/memory/memory.limit_in_bytes = 2000",
    );
    let write = IoRates { write_bytes_per_s: Some(1 << 20), ..IoRates::default() };
    let read = IoRates { read_ios_per_s: Some(100), ..IoRates::default() };
    let disk = || device(8, 0, None);
    let expected = [
        limit("/", "cpu.cfs_quota_us", Limit::Cpu { quota_us: 50_000, period_us: 100_000 }),
        limit("/", "blkio.throttle.write_bps_device", Limit::Io { device: disk(), rates: write }),
        limit("/", "blkio.throttle.read_iops_device", Limit::Io { device: disk(), rates: read }),
        limit("/", "blkio.bfq.weight", Limit::IoWeight { device: None, weight: 300 }),
        limit("/", "memory.limit_in_bytes", Limit::Memory { bytes: 2000, is_hard: true }),
    ];
    assert_eq!(found.cgroup_limits, expected);
    let unlimited = environment(
        "proc/self/cgroup = 5:cpu:/
         proc/self/mountinfo = 35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
         sys/fs/cgroup/cpu/cpu.cfs_quota_us = -1
         sys/fs/cgroup/cpu/cpu.cfs_period_us = 100000",
    );
    assert_eq!(unlimited.cgroup_limits, []);
}
