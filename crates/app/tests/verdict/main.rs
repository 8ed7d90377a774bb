//! The verdict of real runs: each of its rules that can be provoked here is, once. Changes during a run, which require
//! a long run, are in `timing_sensitive`.

mod cpu;
mod data;
mod faults;
mod form;
mod ledger;
mod ledger_trials;
mod load;
mod other_programs;

use serde_json::Value;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use testkit::{Cgroup, Finished, Program, Workplace};

/// Shared by tests that need CPU time, and exclusive to the one that takes it all.
static CPUS: RwLock<()> = RwLock::new(());

/// Until it is dropped, no test takes all CPU time.
fn with_cpus() -> RwLockReadGuard<'static, ()> {
    CPUS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, no test needs CPU time.
fn without_others() -> RwLockWriteGuard<'static, ()> {
    CPUS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Shared by tests that compare bytes with the counters of the disk of the build, and exclusive to the one that reads
/// from it all the time.
static DISK: RwLock<()> = RwLock::new(());

/// Until it is dropped, no test reads from the disk all the time.
fn with_disk() -> RwLockReadGuard<'static, ()> {
    DISK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, no other test needs the counters of the disk.
fn with_busy_disk() -> RwLockWriteGuard<'static, ()> {
    DISK.write().unwrap_or_else(PoisonError::into_inner)
}

/// `r.json`.
fn document(place: &Workplace) -> Value {
    place.json("r.json")
}

/// The findings of its first timespan.
fn findings(place: &Workplace) -> Vec<Value> {
    document(place)["time_spans"][0]["verdict"]["findings"].as_array().expect("a verdict").clone()
}

/// The finding of this name.
fn found(place: &Workplace, run: &Finished, name: &str) -> Value {
    let findings = findings(place);
    let finding = findings.iter().find(|finding| finding["name"] == name).cloned();
    finding.unwrap_or_else(|| panic!("no finding '{name}' in {findings:#?}\n{run}"))
}

/// True if there is a finding of this name.
fn is_found(place: &Workplace, name: &str) -> bool {
    findings(place).iter().any(|finding| finding["name"] == name)
}

/// Skips if the build is not on a disk with reliable byte counters.
fn counted_disk(place: &Workplace) -> Result<(), String> {
    let environment = &document(place)["targets"][0]["environment"];
    let file_system = environment["mount"]["file_system"].as_str().unwrap_or_default();
    let is_plain = ["ext2", "ext3", "ext4", "xfs", "vfat"].contains(&file_system);
    if is_plain && !environment["backing"]["devices"].is_null() {
        return Ok(());
    }
    Err(format!("the build is on {file_system}, or on no device that can be seen"))
}

/// The program, in a cgroup.
fn inside(place: &Workplace, group: &Cgroup) -> Program {
    let script = format!("echo $$ > {}; exec \"$0\" \"$@\"", group.door().display());
    place.tool("sh").arg("-c").arg(script).arg(place.program())
}
