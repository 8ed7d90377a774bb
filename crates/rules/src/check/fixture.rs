//! Facts for tests: a file on ext4 on an `NVMe` disk of a machine with four CPUs, with few facts known.

use model::block_device::{BlockDevice, DeviceKind, Queue};
use model::check::{
    Activity, CheckFacts, CheckedTarget, DeviceState, FileAttributes, FileSystemState, ProcessorState, ScheduledJobs,
    Workload,
};
use model::environment::{Backing, Environment, MountedFileSystem, TargetEnvironment};
use model::facts::{FileSystem, Memory, RegularFacts, SystemFacts, TargetFacts, TargetKind};
use model::finding::Severity;
use model::kernel_counters::DeviceCounters;
use model::topology::{Cpu, Topology};
use std::collections::BTreeMap;

const DISK: &str = "nvme0n1";

pub(super) fn facts() -> CheckFacts {
    let untold = || "nobody tells".to_owned();
    let disk = BlockDevice {
        name: DISK.to_owned(),
        kind: DeviceKind::Disk,
        queue: Queue { scheduler: Some("none".to_owned()), ..Queue::default() },
        ..BlockDevice::default()
    };
    let mount = MountedFileSystem { file_system: "ext4".to_owned(), ..MountedFileSystem::default() };
    let target = CheckedTarget {
        path: "a.dat".into(),
        facts: TargetFacts::new(TargetKind::Regular(file())),
        environment: TargetEnvironment { mount: Some(mount), backing: Backing::Devices(vec![disk]) },
        file_system: FileSystemState { error_count: Ok(0), work: Ok(None), attributes: Ok(FileAttributes::default()) },
        network: Vec::new(),
    };
    let state = DeviceState {
        start_bytes: None,
        path_access: None,
        health: Err(untold()),
        temperature: Err(untold()),
        wake_latency_us: Err(untold()),
    };
    CheckFacts {
        workload: Workload::Any,
        create_bytes: None,
        copies: 1,
        system: system(),
        environment: Environment::default(),
        targets: vec![target],
        devices: BTreeMap::from([(DISK.to_owned(), state)]),
        processors: ProcessorState::default(),
        scheduled: ScheduledJobs::default(),
        window_s: 3600,
        housekeeping: Vec::new(),
        activity: Activity {
            duration_ms: 2000,
            devices: BTreeMap::from([(DISK.to_owned(), DeviceCounters::default())]),
            cpus: Vec::new(),
            interfaces: BTreeMap::new(),
        },
    }
}

/// The device of the target.
pub(super) fn below(facts: &mut CheckFacts) -> &mut BlockDevice {
    let Backing::Devices(devices) = &mut facts.targets[0].environment.backing else { panic!("devices") };
    &mut devices[0]
}

/// The reported state of the disk.
pub(super) fn state_of(facts: &mut CheckFacts) -> &mut DeviceState {
    facts.devices.get_mut(DISK).expect("the disk")
}

/// The mount of the target.
pub(super) fn mount_of(facts: &mut CheckFacts) -> &mut MountedFileSystem {
    facts.targets[0].environment.mount.as_mut().expect("a mount")
}

/// A file of 1 GiB.
fn file() -> RegularFacts {
    let file_system = FileSystem { name: "ext4".to_owned(), free_bytes: 100 << 30, ..FileSystem::default() };
    RegularFacts { size_bytes: 1 << 30, allocated_bytes: 1 << 30, file_system, ..RegularFacts::default() }
}

/// Four CPUs of one node, and 8 GiB of free memory.
fn system() -> SystemFacts {
    let cpu = |id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true };
    SystemFacts {
        topology: Topology { cpus: (0..4).map(cpu).collect(), possible_cpus: 4, caches: Vec::new() },
        memory: Memory { available_bytes: 8 << 30, ..Memory::default() },
        ..SystemFacts::default()
    }
}

/// The findings of one check, as lines.
pub(super) fn answers(facts: &CheckFacts, check: &str) -> Vec<String> {
    let findings = crate::check::check(facts).into_iter().filter(|finding| finding.name == check);
    findings.map(|finding| format!("{} {}: {}", finding.severity.name(), finding.subject, finding.figure)).collect()
}

/// The severities of one check.
pub(super) fn outcomes(facts: &CheckFacts, check: &str) -> Vec<Severity> {
    crate::check::check(facts).iter().filter(|finding| finding.name == check).map(|finding| finding.severity).collect()
}

#[test]
fn every_question_is_answered_whatever_is_known() {
    let mut facts = facts();
    for workload in [Workload::Any, Workload::Sql] {
        facts.workload = workload;
        for backing in [None, Some(Backing::Unknown), Some(Backing::Memory)] {
            if let Some(backing) = backing {
                facts.targets[0].environment = TargetEnvironment { mount: None, backing };
            }
            let findings = crate::check::check(&facts);
            for rule in crate::check::rules(workload) {
                let answers: Vec<_> = findings.iter().filter(|finding| finding.name == rule.name).collect();
                assert!(!answers.is_empty(), "{} is silent: {:?}", rule.name, facts.targets[0].environment.backing);
                assert!(answers.iter().all(|finding| finding.severity <= rule.severity), "{answers:?}");
            }
            // Only problems come with advice.
            for finding in findings {
                let is_bad = matches!(finding.severity, Severity::Note | Severity::Warn | Severity::Fail);
                assert_eq!(!finding.advice.is_empty(), is_bad, "{finding:?}");
            }
        }
    }
}
