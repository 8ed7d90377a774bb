//! The state of devices, file systems and processors, on recorded machines.

#[allow(dead_code)]
mod support;

use model::check::{DeviceState, IdleState, Temperature};
use model::facts::{MissingFacts, TargetFacts, TargetKind};
use model::topology::{Cpu, Topology};
use std::path::PathBuf;
use support::Machine;
use support::recorded::{scsi_disk, two_nvme_disks};

fn state(machine: &Machine, name: &str) -> DeviceState {
    let path = PathBuf::from(format!("/dev/{name}"));
    let environment = host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path);
    let device = environment.expect("an answer").devices()[0].clone();
    host::device_state(&machine.root(), &device)
}

#[test]
fn an_nvme_drive_tells_temperature_and_sleep() {
    let table = two_nvme_disks()
        + "@nvme0n1/../hwmon3/temp1_input = 41850
           @nvme0n1/../hwmon3/temp1_max = 81850
           @nvme0n1/../power/pm_qos_latency_tolerance_us = 5000
           @nvme0n1p2/start = 2048
           @nvme1n1/../power/pm_qos_latency_tolerance_us = auto
           sys/module/nvme_core/parameters/default_ps_max_latency_us = 100000";
    let machine = Machine::new(&table);
    let first = state(&machine, "nvme0n1");
    let temperature = Temperature { millidegrees: 41_850, warning_millidegrees: Some(81_850) };
    assert_eq!((first.temperature, first.wake_latency_us), (Ok(temperature), Ok(5000)));
    assert!(first.health.expect_err("no such drive").contains("/dev/nvme0n1: No such file"));
    let second = state(&machine, "nvme1n1");
    assert!(second.temperature.is_err());
    assert_eq!((second.wake_latency_us, second.start_bytes), (Ok(100_000), None));
    assert_eq!(state(&machine, "nvme0n1p2").start_bytes, Some(1 << 20));
}

#[test]
fn a_scsi_disk_tells_its_path_and_its_drives_temperature() {
    let table = scsi_disk("sdb", "8:16", "pci0000:00/ata1/host0", "0:0:0:0")
        + "@sdb/../../access_state = active/non-optimized
           @sdb/../../hwmon/hwmon1/temp1_input = 30000";
    let state = state(&Machine::new(&table), "sdb");
    assert_eq!(state.path_access.as_deref(), Some("active/non-optimized"));
    assert_eq!(state.temperature, Ok(Temperature { millidegrees: 30_000, warning_millidegrees: None }));
    assert!(state.health.expect_err("SATA").contains("smartctl"));
    assert!(state.wake_latency_us.is_err());
}

#[test]
fn file_systems_tell_errors_and_work_in_their_own_ways() {
    let on = |file_system: &str, more: &str| {
        let table = format!(
            "block sda 8:0 pci0000:00/host0/block/sda
             proc/self/mountinfo = 20 1 8:0 / / rw,relatime - {file_system} /dev/sda rw
             data/keep = x
             {more}"
        );
        let machine = Machine::new(&table);
        let path = PathBuf::from("/data/a.dat");
        let environment =
            host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path).expect("an answer");
        let missing = MissingFacts { existing_parent: machine.path().to_owned(), ..MissingFacts::default() };
        let facts = TargetFacts { resolved: None, kind: TargetKind::Missing(missing) };
        host::file_system_state(&machine.root(), &path, &facts, &environment)
    };
    let ext4 = on("ext4", "sys/fs/ext4/sda/errors_count = 2");
    assert_eq!((ext4.error_count, ext4.work), (Ok(2), Ok(None)));
    let uuid = "sys/fs/btrfs/0123-4567";
    let btrfs = on(
        "btrfs",
        &format!(
            "{uuid}/devices/sda/size = 1
             {uuid}/devinfo/1/error_stats = write_errs 1\\nread_errs 0\\nflush_errs 0\\ncorruption_errs 4\\ngeneration_errs 0
             {uuid}/exclusive_operation = balance"
        ),
    );
    assert_eq!((btrfs.error_count, btrfs.work), (Ok(5), Ok(Some("balance".to_owned()))));
    let quiet = on("btrfs", &format!("{uuid}/devices/sda/size = 1\n{uuid}/exclusive_operation = none"));
    assert_eq!((quiet.error_count.is_err(), quiet.work), (true, Ok(None)));
    assert!(on("xfs", "").error_count.expect_err("none").contains("xfs keeps no error count"));
}

#[test]
fn processors_tell_governors_idle_states_and_distances() {
    let machine = Machine::new(
        "cpu[0-2]/cpufreq/scaling_governor = powersave
         cpu[3]/cpufreq/scaling_governor = performance
         cpu[1]/cpuidle/state0/name = POLL
         cpu[1]/cpuidle/state0/latency = 0
         cpu[1]/cpuidle/state0/disable = 0
         cpu[1]/cpuidle/state1/name = C1
         cpu[1]/cpuidle/state1/latency = 2
         cpu[1]/cpuidle/state2/name = C6
         cpu[1]/cpuidle/state2/latency = 133
         cpu[1]/cpuidle/state2/disable = 1
         sys/devices/system/node/node0/distance = 10 21
         sys/devices/system/node/node2/distance = 21 10",
    );
    let cpu = |id, allowed| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed };
    let cpus = vec![cpu(0, false), cpu(1, true), cpu(2, true), cpu(3, true)];
    let topology = Topology { cpus, possible_cpus: 4, caches: Vec::new() };
    let found = host::processor_state(&machine.root(), &topology);
    assert_eq!(
        found.governors.into_iter().collect::<Vec<_>>(),
        [("performance".to_owned(), 1), ("powersave".to_owned(), 2)]
    );
    let idle = |name: &str, exit_latency_us| IdleState { exit_latency_us, name: name.to_owned() };
    assert_eq!(found.idle_states, [idle("POLL", 0), idle("C1", 2)]);
    assert_eq!(found.node_distances[&0][&2], 21);
    assert!(!found.may_hold_latency, "a recorded machine has no such door");
}

#[test]
fn programs_that_work_on_whole_disks_are_found_by_name() {
    let machine =
        Machine::new("proc/12/comm = fstrim\nproc/13/comm = bash\nproc/14/comm = fstrim\nproc/self/comm = e2scrub");
    assert_eq!(host::housekeeping(&machine.root()), ["fstrim"]);
}
