//! Names, memory, limits and kernel features of recorded machines.

#[allow(dead_code)]
mod support;

use model::facts::SystemFacts;
use model::kernel_counters::KernelCounters;
use support::Machine;

fn system(table: &str) -> SystemFacts {
    host::system(&Machine::new(table).root())
}

#[test]
fn names_are_read_and_blanks_collapsed() {
    let facts = system(
        "proc/sys/kernel/hostname = lab-7
         proc/sys/kernel/osrelease = 6.18.44-generic
         proc/cpuinfo = processor\t: 0\\nmodel name\t:  Example(R)   Hybrid\t4  \\nmodel name\t: other
         cpu[2]/cpufreq/scaling_governor = performance
         sys/devices/system/cpu/online = 2-3
         sys/firmware/acpi/platform_profile = balanced",
    );
    assert_eq!(facts.computer_name, "lab-7");
    assert_eq!(facts.kernel_release, "6.18.44-generic");
    assert_eq!(facts.processor_name.as_deref(), Some("Example(R) Hybrid 4"));
    assert_eq!(facts.power_scheme.as_deref(), Some("performance"));
    assert!(facts.page_size_bytes.is_power_of_two());
    assert!(facts.open_files_max > 0);
}

#[test]
fn a_platform_profile_stands_in_for_a_governor_and_nothing_for_both() {
    assert_eq!(system("sys/firmware/acpi/platform_profile = balanced").power_scheme.as_deref(), Some("balanced"));
    assert_eq!(system("unrelated = 1").power_scheme, None);
}

#[test]
fn arm_processors_are_named_by_part_then_board_then_numbers() {
    let known = "proc/cpuinfo = processor\t: 0\\nCPU implementer\t: 0x41\\nCPU part\t: 0xd0c
                 proc/device-tree/model = linux,dummy-virt";
    let unknown = "proc/cpuinfo = CPU implementer\t: 0x7f\\nCPU part\t: 0x001";
    let board = format!("{unknown}\nproc/device-tree/model = Example Board 4\0");
    assert_eq!(system(known).processor_name.as_deref(), Some("Neoverse-N1"));
    assert_eq!(system(&board).processor_name.as_deref(), Some("Example Board 4"));
    assert_eq!(system(unknown).processor_name.as_deref(), Some("CPU implementer 0x7f part 0x001"));
    assert_eq!(system("proc/cpuinfo = model name\t:   ").processor_name, None);
}

#[test]
fn available_memory_is_the_kernels_estimate() {
    let facts = system("proc/meminfo = MemTotal: 8000 kB\\nMemFree: 100 kB\\nMemAvailable:    4096 kB");
    assert_eq!(facts.memory.available_bytes, 4 << 20);
    let old = system("proc/meminfo = MemFree: 100 kB\\nBuffers: 10 kB\\nCached: 1 kB");
    assert_eq!(old.memory.available_bytes, 111 << 10);
    assert_eq!(facts.memory.cgroup_left_bytes, None);
}

const UNIFIED: &str = "proc/self/cgroup = 0::/user/job
    proc/self/mountinfo = 38 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw
    sys/fs/cgroup/memory.stat = file 5
    sys/fs/cgroup/user/memory.max = 1000000
    sys/fs/cgroup/user/memory.current = 900000
    sys/fs/cgroup/user/memory.stat = anon 1\\ninactive_file 300000\\nactive_file 100000\\nslab 7";

#[test]
fn the_tightest_cgroup_above_counts_and_its_cached_files_do_not() {
    let machine = Machine::new(UNIFIED);
    machine.write("sys/fs/cgroup/user/job/memory.max", "max");
    assert_eq!(host::system(&machine.root()).memory.cgroup_left_bytes, Some(500_000));
    machine.write("sys/fs/cgroup/user/job/memory.max", "400000");
    machine.write("sys/fs/cgroup/user/job/memory.current", "300000");
    assert_eq!(host::system(&machine.root()).memory.cgroup_left_bytes, Some(100_000));
    machine.write("sys/fs/cgroup/user/job/memory.current", "500000");
    assert_eq!(host::system(&machine.root()).memory.cgroup_left_bytes, Some(0));
}

#[test]
fn a_container_sees_its_own_cgroup_at_the_mount() {
    let facts = system(
        "proc/self/cgroup = 4:memory:/docker/abc\\n0::/
         proc/self/mountinfo = 35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
         sys/fs/cgroup/memory/memory.limit_in_bytes = 2000
         sys/fs/cgroup/memory/memory.usage_in_bytes = 1500
         sys/fs/cgroup/memory/memory.stat = inactive_file 9999\\ntotal_inactive_file 400\\ntotal_active_file 0",
    );
    assert_eq!(facts.memory.cgroup_left_bytes, Some(900));
}

#[test]
fn the_old_way_of_saying_no_limit_is_none() {
    let facts = system(
        "proc/self/cgroup = 4:memory:/a/../../b
         proc/self/mountinfo = 35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
         sys/fs/cgroup/memory/memory.limit_in_bytes = 9223372036854771712",
    );
    assert_eq!(facts.memory.cgroup_left_bytes, None);
}

#[test]
fn whoever_may_lock_any_memory_has_no_limit() {
    let may = system("proc/self/status = CapEff:\t0000000000004000");
    assert_eq!(may.memory.lock_limit_bytes, None);
    // A capability of a user namespace does not count for rings.
    let inside = system(
        "proc/self/status = CapEff:\t000001ffffffffff
         proc/self/uid_map = 0 1000 1",
    );
    let may_not = system("proc/self/status = CapEff:\t0000000000000000");
    assert_eq!(inside.memory.lock_limit_bytes, may_not.memory.lock_limit_bytes);
}

#[test]
fn garbage_is_unknown() {
    let facts = system(
        "proc/meminfo = MemAvailable: \u{1F4A9} kB
         proc/self/cgroup = ::::\\n0::\\n:\\n0::/../..
         proc/self/mountinfo = - - -\\n1 2 3:4 / /sys/fs/cgroup rw - cgroup2
         sys/fs/cgroup/memory.max = -5
         proc/self/status = CapEff:\tzz\\nSeccomp
         proc/cpuinfo = :::",
    );
    assert_eq!(facts.memory.cgroup_left_bytes, None);
    assert!(facts.memory.available_bytes >= 1 << 40, "nothing may be refused for want of a figure");
    assert_eq!(facts.processor_name, None);
}

#[test]
fn cpus_tell_their_clock_and_how_often_heat_slowed_them_down() {
    let machine = Machine::new(
        "cpu[0-20]/cpufreq/scaling_cur_freq = 30000{}
         cpu[1]/thermal_throttle/core_throttle_count = 7
         cpu[1]/thermal_throttle/package_throttle_count = 9
         cpu[30]/online = 1",
    );
    let read = |cpus: &[u32]| host::cpu_counters(&machine.root(), cpus.iter().copied());
    let before = read(&[1, 2, 30, 99]);
    let [hot, cool] = before.as_slice() else { panic!("{before:?}") };
    assert_eq!((hot.cpu, hot.clock_khz), (1, Some(300_001)));
    assert_eq!((hot.core_throttled_count, hot.package_throttled_count), (Some(7), Some(9)));
    assert_eq!((cool.cpu, cool.clock_khz, cool.core_throttled_count), (2, Some(300_002), None));
    machine.write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "12");
    let counters = |cpus| KernelCounters { cpus, ..KernelCounters::default() };
    let risen = counters(read(&[1])).since(&counters(before)).cpus;
    assert_eq!((risen[0].core_throttled_count, risen[0].package_throttled_count), (Some(5), Some(0)));
    let many: Vec<u32> = (0..21).collect();
    assert_eq!(read(&many).len(), 16, "each may take time");
}
