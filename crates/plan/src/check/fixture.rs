//! Facts for tests: a file on ext4 on an `NVMe` disk of a machine with four CPUs, about which little is told.

use crate::fixture::{ours, system};
use model::block_device::{BlockDevice, DeviceKind, Queue};
use model::check::{
    Activity, Check, CheckFacts, CheckedTarget, DeviceState, FileAttributes, FileSystemState, Outcome, ProcessorState,
    Workload,
};
use model::environment::{Backing, Environment, MountedFileSystem, TargetEnvironment};
use model::facts::{Fill, TargetFacts, TargetKind};
use model::kernel_counters::DeviceCounters;
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
        facts: TargetFacts { resolved: None, kind: TargetKind::Regular(ours(1, 1 << 30, Fill::Ramp)) },
        environment: TargetEnvironment { mount: Some(mount), backing: Backing::Devices(vec![disk]) },
        file_system: FileSystemState { error_count: Ok(0), work: Ok(None), attributes: Ok(FileAttributes::default()) },
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
        system: system(4),
        environment: Environment::default(),
        targets: vec![target],
        devices: BTreeMap::from([(DISK.to_owned(), state)]),
        processors: ProcessorState::default(),
        timers: Ok(Vec::new()),
        housekeeping: Vec::new(),
        activity: Activity {
            duration_ms: 2000,
            devices: BTreeMap::from([(DISK.to_owned(), DeviceCounters::default())]),
            cpus: Vec::new(),
        },
    }
}

/// The device that the target is on.
pub(super) fn below(facts: &mut CheckFacts) -> &mut BlockDevice {
    let Backing::Devices(devices) = &mut facts.targets[0].environment.backing else { panic!("devices") };
    &mut devices[0]
}

/// What the disk tells.
pub(super) fn state_of(facts: &mut CheckFacts) -> &mut DeviceState {
    facts.devices.get_mut(DISK).expect("the disk")
}

/// The mount that the target is on.
pub(super) fn mount_of(facts: &mut CheckFacts) -> &mut MountedFileSystem {
    facts.targets[0].environment.mount.as_mut().expect("a mount")
}

/// The answers to one question.
pub(super) fn answers(facts: &CheckFacts, check: Check) -> Vec<String> {
    let findings = crate::check::check(facts).into_iter().filter(|finding| finding.check == check);
    findings.map(|finding| format!("{} {}: {}", finding.outcome.word(), finding.subject, finding.found)).collect()
}

/// The same, without what was found.
pub(super) fn outcomes(facts: &CheckFacts, check: Check) -> Vec<Outcome> {
    crate::check::check(facts).iter().filter(|finding| finding.check == check).map(|finding| finding.outcome).collect()
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
            for check in Check::ALL.into_iter().filter(|check| workload == Workload::Sql || !check.is_for_sql()) {
                let answered = findings.iter().any(|finding| finding.check == check);
                assert!(answered, "{} is silent: {:?}", check.name(), facts.targets[0].environment.backing);
            }
            // What is wrong comes with what to do, and nothing else does.
            for finding in findings {
                let is_bad = matches!(finding.outcome, Outcome::Warn | Outcome::Fail);
                assert_eq!(finding.advice.is_some(), is_bad, "{finding:?}");
            }
        }
    }
}
