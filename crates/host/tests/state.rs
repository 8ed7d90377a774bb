//! The state of devices, file systems and processors, on recorded machines.

#[allow(dead_code)]
mod support;

use model::check::{DeviceState, IdleState, InterfaceActivity, NetworkPath, Temperature};
use model::facts::{MissingFacts, TargetFacts, TargetKind};
use model::topology::{Cpu, Topology};
use std::collections::BTreeMap;
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
        let facts = TargetFacts::new(TargetKind::Missing(missing));
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
    let machine = Machine::new("proc/12/comm = restic\nproc/13/comm = zfs\nproc/14/comm = zfs\nproc/15/comm = rsync");
    machine.write_bytes("proc/13/cmdline", b"zfs\0send\0tank/a@b\0");
    machine.write_bytes("proc/14/cmdline", b"zfs\0list\0");
    machine.write_bytes("proc/15/cmdline", b"/usr/bin/rsync\0--daemon\0");
    assert_eq!(host::housekeeping(&machine.root()), ["restic", "zfs send"]);
    machine.write_bytes("proc/15/cmdline", b"rsync\0-a\0/a\0/b\0");
    assert_eq!(host::housekeeping(&machine.root()), ["restic", "rsync", "zfs send"]);
}

const CRON: &str = "
    etc/crontab = SHELL=/bin/sh\\n# a comment\\n17 * * * * root cd / && run-parts --report /etc/cron.hourly\\n25 6 * * * root test -x /usr/sbin/anacron || { run-parts --report /etc/cron.daily; }
    etc/cron.d/backup = 0 2 * * 1-5 postgres pg_dump -Fc db
    etc/cron.d/backup.dpkg-old = 0 3 * * * root false
    etc/cron.d/odd = 0~59 3 * * * root false\\n-*/10 * * * * root logged
    etc/cron.hourly/index = #!/bin/sh\\n# restic\\nupdatedb
    etc/cron.daily/logs = logrotate
    var/spool/cron/crontabs/anna = @daily restic backup /home";

/// The names and commands of the jobs in cron's tables.
fn cron(machine: &Machine) -> Vec<(String, String)> {
    let jobs = host::cron_jobs(&machine.root()).jobs;
    jobs.into_iter().map(|job| (job.name, job.command.trim().to_owned())).collect()
}

#[test]
fn jobs_of_cron_are_those_of_its_tables_and_scripts_if_it_runs() {
    let machine = Machine::new(CRON);
    assert_eq!(host::cron_jobs(&machine.root()), host::CronJobs::default());
    machine.write("proc/12/comm", "cron");
    let expected = [
        ("/etc/cron.hourly/index", "updatedb"),
        ("/etc/cron.daily/logs", "logrotate"),
        ("/etc/cron.d/backup", "pg_dump -Fc db"),
        ("/etc/cron.d/odd", "logged"),
        ("/var/spool/cron/crontabs/anna", "restic backup /home"),
    ];
    assert_eq!(cron(&machine), expected.map(|(name, command)| (name.to_owned(), command.to_owned())));
    let unread = host::cron_jobs(&machine.root()).unread;
    assert_eq!(unread, ["/etc/cron.d/odd: 1 line not understood"]);
}

#[test]
fn anacron_runs_its_scripts_in_place_of_cron() {
    let machine = Machine::new(
        "proc/12/comm = crond
         usr/sbin/anacron = x
         etc/crontab = 25 6 * * * root test -x /usr/sbin/anacron || { run-parts --report /etc/cron.daily; }
         etc/cron.daily/logs = logrotate
         etc/anacrontab = RANDOM_DELAY=45\\nSTART_HOURS_RANGE=3-22\\n1 5 cron.daily nice run-parts /etc/cron.daily\\n@monthly 45 m true
         var/spool/anacron/cron.daily = 20261129",
    );
    let found = host::cron_jobs(&machine.root());
    let schedule =
        host::JobSchedule::Anacron { period_days: 1, last_date: "20261129".to_owned(), start_minute: 3 * 60 + 5 };
    assert_eq!(found.jobs.len(), 1, "{found:?}");
    assert_eq!((found.jobs[0].name.as_str(), &found.jobs[0].schedule), ("/etc/cron.daily/logs", &schedule));
    assert_eq!(found.unread, ["/var/spool/anacron/m cannot be read"]);
}

#[test]
fn the_way_to_a_share_is_the_route_to_its_server() {
    let machine = Machine::new(
        "proc/self/mountinfo = 20 1 0:40 / /nas rw - nfs4 nas:/export rw,vers=4.2,addr=10.0.5.9
         proc/net/route = Iface Destination Gateway Flags RefCnt Use Metric Mask\\neth3 0005000A 00000000 0001 0 0 0 00FFFFFF
         proc/net/dev = a\\nb\\neth3: 1000 5 1 2 0 0 0 0 500 4 3 4 0 0 0 0
         sys/class/net/eth3/speed = 10000",
    );
    let path = PathBuf::from("/nas/a.dat");
    let environment = host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path);
    let found = host::network_paths(&machine.root(), &environment.expect("an answer"));
    let expected = NetworkPath { server: "10.0.5.9".to_owned(), interface: Ok("eth3".to_owned()) };
    assert_eq!(found, [expected]);
    let values = &host::interface_values(&machine.root())["eth3"];
    let activity = InterfaceActivity::between(&BTreeMap::new(), values);
    let expected = InterfaceActivity {
        link_mbit_per_s: Some(10_000),
        received_bytes: 1000,
        sent_bytes: 500,
        error_count: 4,
        drop_count: 6,
        error_total: 4,
        drop_total: 6,
    };
    assert_eq!(activity, expected);
}
