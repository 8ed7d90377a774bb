//! `diskspd devices --mark-scratch`: this machine's list of disks that tests may write to.

use crate::output::{print, say_each};
use crate::status::{Status, fail, printed};
use host::Root;
use model::device_guard::{SCRATCH_LIST, Scratch};
use model::facts::{TargetFacts, TargetKind, TargetQuestion};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Adds the devices, all or none.
pub(crate) fn mark(devices: &[PathBuf]) -> Status {
    let question = |path: &PathBuf| TargetQuestion { path: path.clone(), writes: true, ..TargetQuestion::default() };
    let questions: Vec<TargetQuestion> = devices.iter().map(question).collect();
    let facts = host::targets(&Root::machine(), &questions);
    let mut lines = Vec::new();
    let mut reasons = Vec::new();
    for path in devices {
        // Every question has an answer.
        let Some(target) = facts.get(path) else { continue };
        if let Some(reason) = untrusted(target) {
            reasons.push(reason);
            break;
        }
        match plan::scratch_name(path, target) {
            Ok(_) if is_listed(target) => {}
            Ok(name) => lines.push(name.to_owned()),
            Err(found) => reasons.extend(found),
        }
    }
    if !reasons.is_empty() {
        say_each("ERROR", &reasons);
        return Status::Invalid;
    }
    match append(Path::new(SCRATCH_LIST), &lines) {
        Ok(()) => {
            let said = lines.iter().fold(String::new(), |text, name| text + SCRATCH_LIST + " lists " + name + " now\n");
            printed(print(said.as_bytes()), Status::Success)
        }
        Err(error) => fail(&format!("cannot write to {SCRATCH_LIST}: {error}")),
    }
}

fn scratch(target: &TargetFacts) -> Option<&Scratch> {
    match &target.kind {
        TargetKind::Block(device) => device.guard.as_ref().map(|guard| &guard.scratch),
        _ => None,
    }
}

fn is_listed(target: &TargetFacts) -> bool {
    scratch(target) == Some(&Scratch::Listed)
}

fn untrusted(target: &TargetFacts) -> Option<String> {
    match scratch(target)? {
        Scratch::Untrusted { reason } => Some(reason.clone()),
        Scratch::Listed | Scratch::NotListed => None,
    }
}

/// Adds lines to a list that only its owner may change; makes it, and its folder, if need be.
fn append(list: &Path, lines: &[String]) -> io::Result<()> {
    let folder = list.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o644).open(list)?;
    let text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
    // In one piece, so that two who add at the same time do not mix their lines.
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
