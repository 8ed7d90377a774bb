//! Whether targets and their machine are fit to be measured: facts to findings.
//!
//! Each question of [`model::check::Check`] is answered at least once for all targets together; what cannot be told
//! is a finding too.

mod background;
mod checklist;
mod device;
mod drive;
mod file_system;
mod paths;
mod processor;
mod quiet;
mod sql;
mod target;

#[cfg(test)]
mod fixture;

use checklist::Checklist;
use model::block_device::BlockDevice;
use model::check::{CheckFacts, CheckedTarget, Finding, Workload};

/// Answers every question that the workload asks, in the order of [`model::check::Check::ALL`].
pub fn check(facts: &CheckFacts) -> Vec<Finding> {
    let mut list = Checklist::default();
    target::check(facts, &mut list);
    file_system::check(facts, &mut list);
    drive::check(facts, &mut list);
    background::check(facts, &mut list);
    quiet::check(facts, &mut list);
    processor::check(facts, &mut list);
    device::check(facts, &mut list);
    paths::check(facts, &mut list);
    if facts.workload == Workload::Sql {
        sql::check(facts, &mut list);
    }
    list.into_findings()
}

/// Every device below any target, each once.
fn devices(facts: &CheckFacts) -> Vec<&BlockDevice> {
    let walked = facts.targets.iter().flat_map(|target| target.environment.devices()).flat_map(BlockDevice::walk);
    each_once(walked)
}

/// The disks below all targets, each once.
fn disks(facts: &CheckFacts) -> Vec<&BlockDevice> {
    each_once(facts.targets.iter().flat_map(|target| target.environment.disks()))
}

/// The devices whose queues and counters stand for a target: its disks, or what it stands on where no disk is
/// known (a loop device over memory, a ZFS volume).
fn carriers(target: &CheckedTarget) -> Vec<&BlockDevice> {
    let disks = target.environment.disks();
    if disks.is_empty() { target.environment.devices() } else { disks }
}

fn each_once<'a>(devices: impl Iterator<Item = &'a BlockDevice>) -> Vec<&'a BlockDevice> {
    let mut known: Vec<&BlockDevice> = Vec::new();
    for device in devices {
        if !known.iter().any(|other| other.name == device.name) {
            known.push(device);
        }
    }
    known
}
