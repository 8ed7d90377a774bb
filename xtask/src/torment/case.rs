//! One case: a stack, a command, and a check of other people's data afterwards.

use super::command::{self, Command};
use super::places::Places;
use super::process::ProgramResult;
use super::random::Random;
use super::snapshot::Snapshot;
use super::stack::{Stack, Undo};
use super::steps;
use super::verdict::{self, Allowed};
use crate::stop::Stop;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// True if results of the command may have the names of existing files.
const WITH_OUTPUTS: bool = true;

/// The result of a case.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The kind of our command.
    pub(super) kind: &'static str,
    /// The file system, and the actions as lines of the shell. The last one is ours.
    pub(super) lines: Vec<String>,
    /// Exit status of our command, if it ended by itself.
    pub(super) code: Option<i32>,
    pub(super) status: String,
    pub(super) stderr: String,
    /// Changes that it was not permitted to make.
    pub(super) losses: Vec<String>,
    /// True if bytes changed that may.
    pub(super) has_changed: bool,
    /// Parts that had to be removed by force.
    pub(super) left: Vec<String>,
}

/// Builds a stack in a new directory, runs our command over it, and compares.
pub(super) fn run(places: &Places, seed: u64, case: u64, is_root: bool) -> Result<Outcome, Stop> {
    let mut random = Random::of_case(seed, case);
    let (file_system, base) = places.choose(&mut random);
    let folder = base.join(format!("case-{case}"));
    let failed = |error: std::io::Error| Stop::Failed(format!("case {case} cannot be made or compared: {error}"));
    fs::create_dir(&folder).map_err(failed)?;
    let mut stack = Stack::new(folder.clone(), places.scratch(), places.programs(), is_root);
    stack.lines.push(format!("# a new folder on {file_system}"));
    steps::build(&mut stack, &mut random);
    let command = command::choose(&mut stack, &mut random, WITH_OUTPUTS);
    let judged = judge(&mut stack, &command);
    let lines = std::mem::take(&mut stack.lines);
    drop(stack);
    let left = places.clean(&folder);
    // Nothing is mounted in it any more.
    fs::remove_dir_all(&folder).map_err(failed)?;
    let (ended, losses, has_changed) = judged.map_err(failed)?;
    let (code, status) = (ended.status.and_then(|status| status.code()), ended.status_text());
    Ok(Outcome { kind: command.kind, lines, code, status, stderr: ended.stderr, losses, has_changed, left })
}

/// Runs the command; returns its forbidden changes, and true if it made permitted ones.
pub(super) fn judge(stack: &mut Stack, command: &Command) -> std::io::Result<(ProgramResult, Vec<String>, bool)> {
    let before = stack.snapshot()?;
    let allowed = verdict::allowed(stack, command, &before);
    stack.lines.push(command.line());
    let ended = stack.diskspd(&command.words)?;
    stack.check_holders()?;
    let code = ended.status.and_then(|status| status.code());
    // A refused command must not change anything.
    let allowed = if code == Some(3) { Allowed::default() } else { allowed };
    let after = stack.snapshot()?;
    let mut losses = verdict::losses(stack, &before, &after, &allowed, None);
    losses.extend(verdict::bad_end(command, code, &ended.stderr));
    let has_changed = before.bytes.iter().any(|(node, bytes)| after.bytes.get(node).is_some_and(|now| now != bytes));
    take_down(stack, &before, &allowed, &mut losses)?;
    Ok((ended, losses, has_changed))
}

/// Reverts all steps, and checks each writable file system once more, past the page cache.
fn take_down(stack: &mut Stack, before: &Snapshot, allowed: &Allowed, losses: &mut Vec<String>) -> std::io::Result<()> {
    stack.release();
    while let Some(undo) = stack.undo.pop() {
        let is_done = stack.take_back(&undo);
        let Undo::Unmount(point) = &undo else { continue };
        let mount = stack.device_mounts.iter().find(|mount| stack.folder.join(&mount.point) == *point).cloned();
        let Some(mount) = mount.filter(|_| is_done) else { continue };
        let device = mount.device.as_os_str();
        if let Err(reason) = stack.quietly("e2fsck", &[OsStr::new("-fn"), device]) {
            losses.push(format!("the file system on '{}' is damaged: {}", mount.device.display(), reason.trim()));
        }
        let options = [OsStr::new("-o"), OsStr::new("ro"), device, point.as_os_str()];
        // Another namespace may take a moment to release it.
        let mount_again = || stack.quietly("mount", &options);
        let mut mounted = mount_again();
        for _ in 0..20 {
            if mounted.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            mounted = mount_again();
        }
        if let Err(reason) = mounted {
            losses.push(format!("'{}' cannot be mounted again: {}", mount.device.display(), reason.trim()));
            continue;
        }
        let after = inside(stack, &mount.point)?;
        losses.extend(verdict::losses(stack, before, &after, allowed, Some(&mount.point)));
        stack.take_back(&undo);
    }
    losses.sort();
    losses.dedup();
    Ok(())
}

/// The contents of a mount point, under their names in the case.
fn inside(stack: &Stack, point: &Path) -> std::io::Result<Snapshot> {
    let mut snapshot = Snapshot::take(&stack.folder.join(point), &[], &[])?;
    snapshot.names = snapshot
        .names
        .into_iter()
        .map(|(path, entry)| (if path.as_os_str().is_empty() { point.to_owned() } else { point.join(path) }, entry))
        .collect();
    Ok(snapshot)
}
