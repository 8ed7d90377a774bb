//! Reproducibility: a build in another directory gives the same files.

use super::target::Target;
use super::{Workspace, build, failed, run};
use crate::stop::Stop;
use std::process::Command;

/// Builds the same commit in a new clone elsewhere, and compares the files of both.
pub(super) fn compare(workspace: &Workspace, targets: Vec<Target>) -> Result<String, Stop> {
    std::fs::create_dir_all(&workspace.build).map_err(failed("make", &workspace.build))?;
    let folder = tempfile::tempdir_in(&workspace.build).map_err(failed("make a folder in", &workspace.build))?;
    let root = folder.path().join("clone");
    run(Command::new("git").args(["clone", "--quiet"]).arg(&workspace.root).arg(&root))?;
    let other = Workspace::new(&root, root.join("target"))?;
    if other.source.commit != workspace.source.commit {
        return Err(Stop::Failed(format!("the clone is at {}", other.source.commit)));
    }
    let (mut equal, mut different) = (Vec::new(), Vec::new());
    for target in targets {
        build(&other, target)?;
    }
    for entry in std::fs::read_dir(other.files()).map_err(failed("read", &other.files()))? {
        let name = entry.map_err(failed("read", &other.files()))?.file_name();
        let read = |workspace: &Workspace| std::fs::read(workspace.files().join(&name)).ok();
        let list = if read(&other) == read(workspace) { &mut equal } else { &mut different };
        list.push(name.to_string_lossy().into_owned());
    }
    if different.is_empty() {
        return Ok(format!("{} files, all equal", equal.len()));
    }
    different.sort();
    let kept = folder.keep();
    Err(Stop::Failed(format!("these differ from the files in {}: {}", kept.display(), different.join(", "))))
}
