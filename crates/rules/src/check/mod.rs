//! Checks of targets and their machine before a measurement: facts to findings.
//!
//! Each check yields at least one finding for all targets together; an unknown answer is a finding too.

mod background;
mod checklist;
mod device;
mod drive;
mod file_system;
mod footprint;
mod network;
mod paths;
mod processor;
mod quiet;
mod sql;
mod target;

#[cfg(test)]
mod fixture;

use crate::rule::{self, Rule, RuleSet};
use model::block_device::BlockDevice;
use model::check::{CheckFacts, CheckedTarget, Workload};
use model::finding::{Finding, Source};

/// The checks of every subject, in the order of documentation and answers.
const SUBJECTS: &[&[CheckRule]] = &[
    target::RULES,
    footprint::RULES,
    file_system::RULES,
    drive::RULES,
    background::RULES,
    quiet::RULES,
    network::RULES,
    processor::RULES,
    device::RULES,
    paths::RULES,
];

/// A check: a rule that also reports success.
pub type CheckRule = Rule<CheckRules>;

/// The set of checks.
#[derive(Debug)]
pub struct CheckRules;

impl RuleSet for CheckRules {
    const SOURCE: Source = Source::Check;
    type Context<'a> = CheckFacts;
    type Documentation = CheckDocumentation;
}

/// The row of a check in the documentation.
#[derive(Clone, Copy, Debug)]
pub struct CheckDocumentation {
    /// The subject of the check.
    pub looks_at: &'static str,
    /// The condition for a warning; empty = never.
    pub warns_if: &'static str,
    /// The condition for a failure; empty = never.
    pub fails_if: &'static str,
}

/// All checks for a workload.
pub fn rules(workload: Workload) -> impl Iterator<Item = &'static CheckRule> {
    SUBJECTS.iter().copied().flatten().chain(rules_of(workload))
}

/// The checks for this workload only.
pub fn rules_of(workload: Workload) -> &'static [CheckRule] {
    match workload {
        Workload::Any => &[],
        Workload::Sql => sql::RULES,
    }
}

/// Runs all checks for the workload, in the order of [`rules`].
pub fn check(facts: &CheckFacts) -> Vec<Finding> {
    rule::evaluate(rules(facts.workload), facts)
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

/// The devices whose queues and counters represent a target: its disks, or the device below it if no disk is known (a
/// loop device over memory, a ZFS volume).
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
