//! `diskspd devices --mark-scratch`: this machine's list of disks that tests may write to.

use crate::show;
use crate::status::{Status, fail, refuse_each};
use host::Root;
use model::device_guard::{SCRATCH_LIST, Scratch};
use model::facts::{TargetFacts, TargetKind, TargetQuestion};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Adds all devices or none.
pub(crate) fn mark(devices: &[PathBuf]) -> Status {
    let question = |path: &PathBuf| TargetQuestion { path: path.clone(), writes: true, ..TargetQuestion::default() };
    let questions: Vec<TargetQuestion> = devices.iter().map(question).collect();
    let facts = host::targets(&Root::machine(), &questions);
    let mut lines: Vec<&str> = Vec::new();
    let mut said = Vec::new();
    let mut reasons = Vec::new();
    for path in devices {
        // All requested facts are present.
        let Some(target) = facts.get(path) else { continue };
        if let Some(reason) = untrusted(target) {
            reasons.push(reason);
            break;
        }
        match plan::scratch_name(path, target) {
            Ok(name) if is_listed(target) => said.push(format!("{SCRATCH_LIST} already lists {name}\n")),
            // The same disk under two names.
            Ok(name) if lines.contains(&name) => {}
            Ok(name) => {
                said.push(format!("{SCRATCH_LIST} now lists {name}\n"));
                lines.push(name);
            }
            Err(found) => reasons.extend(found),
        }
    }
    if !reasons.is_empty() {
        return refuse_each(&reasons);
    }
    match append(Path::new(SCRATCH_LIST), &lines) {
        Ok(()) => show::text(&said.concat()),
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

/// Appends lines to a list that only its owner may change; creates it, and its directory, if necessary.
fn append(list: &Path, lines: &[&str]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let folder = list.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o644).open(list)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // An editor may have left the last line unterminated: two names on one line would be invalid.
    let end_of_last = if text.last().is_some_and(|&byte| byte != b'\n') { "\n" } else { "" };
    let text = lines.iter().fold(end_of_last.to_owned(), |text, line| text + line + "\n");
    // In one write, so that concurrent additions do not interleave.
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_name_gets_a_line_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("diskspd/scratch");
        append(&list, &[]).expect("nothing to do");
        assert!(!list.exists());
        append(&list, &["naa.1", "naa.2"]).expect("written");
        assert_eq!(fs::read_to_string(&list).expect("made"), "naa.1\nnaa.2\n");
        fs::write(&list, "# ours\nnaa.1").expect("written");
        append(&list, &["naa.3"]).expect("written");
        assert_eq!(fs::read_to_string(&list).expect("made"), "# ours\nnaa.1\nnaa.3\n");
    }
}
