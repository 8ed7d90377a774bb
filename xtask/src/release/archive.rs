//! Reproducible archives, and checksums.

use super::target::Target;
use super::{Workspace, failed, run};
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files to pack.
pub(super) struct Tar<'a> {
    /// The directory of the files.
    pub(super) folder: &'a Path,
    /// Their names; a directory includes its contents.
    pub(super) names: &'a [&'a str],
    /// Owner and group of each.
    pub(super) owner: u32,
    /// The time of each, in seconds since 1970.
    pub(super) time: u64,
}

impl Tar<'_> {
    /// Adds the files to the end of an archive, which is created if it does not exist.
    pub(super) fn append(&self, archive: &Path) -> Result<(), Stop> {
        run(self.command(archive).args(self.names)).map(|_| ())
    }

    fn command(&self, archive: &Path) -> Command {
        let mut tar = Command::new("tar");
        tar.arg("--append").arg("--file").arg(archive).arg("--directory").arg(self.folder);
        tar.args(["--format=ustar", "--sort=name", "--numeric-owner", "--mode=u=rwX,go=rX"]);
        tar.args([format!("--owner={}", self.owner), format!("--group={}", self.owner)]);
        tar.arg(format!("--mtime=@{}", self.time));
        tar
    }
}

/// Compresses a file in place; its name then ends in `.gz`.
pub(super) fn compress(path: &Path) -> Result<PathBuf, Stop> {
    run(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(path))?;
    Ok(PathBuf::from(format!("{}.gz", path.display())))
}

/// Makes the archive for installation in any directory.
pub(super) fn make(workspace: &Workspace, stage: &Path, target: &Target) -> Result<PathBuf, Stop> {
    let name = format!("diskspd-{}-{}", env!("CARGO_PKG_VERSION"), target.triple);
    let path = workspace.files().join(format!("{name}.tar"));
    let time = workspace.source.time;
    let mut tar = Tar { folder: stage, names: &["."], owner: 0, time }.command(&path);
    run(tar.arg(format!("--transform=s,^\\.,{name},")).arg("."))?;
    compress(&path)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String, Stop> {
    let line = run(Command::new("sha256sum").arg(path))?;
    Ok(line.split(' ').next().unwrap_or_default().to_owned())
}

/// The checksums of all files of a release, as `sha256sum --check` reads them.
pub(super) fn checksums(folder: &Path) -> Result<String, Stop> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed("read", folder))? {
        names.push(entry.map_err(failed("read", folder))?.file_name());
    }
    names.sort();
    let lines = names.iter().map(|name| Ok(format!("{}  {}\n", sha256(&folder.join(name))?, name.to_string_lossy())));
    lines.collect()
}

/// Writes the checksums beside the files.
pub(super) fn write_checksums(folder: &Path) -> Result<String, Stop> {
    let lines = checksums(folder)?;
    let path = folder.join("SHA256SUMS");
    std::fs::write(&path, &lines).map_err(failed("write", &path))?;
    Ok(format!("{}, {} files", path.display(), lines.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_same_files_give_the_same_archive() {
        let pack = |order: [&str; 2], mode: u32| {
            let folder = tempfile::tempdir().expect("a folder");
            for name in order {
                let path = folder.path().join(name);
                std::fs::write(&path, name).expect("a file");
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("our file");
            }
            let archive = tempfile::tempdir().expect("a folder").keep().join("a.tar");
            Tar { folder: folder.path(), names: &["."], owner: 7, time: 86_400 }.append(&archive).expect("tar");
            let bytes = std::fs::read(compress(&archive).expect("gzip")).expect("it is there");
            std::fs::remove_dir_all(archive.parent().expect("a folder")).expect("ours");
            bytes
        };
        assert!(pack(["a", "b"], 0o644) == pack(["b", "a"], 0o600));
        assert!(pack(["a", "b"], 0o644) != pack(["a", "c"], 0o644));
    }

    #[test]
    fn checksums_are_those_that_sha256sum_checks() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b", "a"] {
            std::fs::write(folder.path().join(name), name).expect("a file");
        }
        write_checksums(folder.path()).expect("sha256sum");
        let check = run(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(folder.path()));
        assert_eq!(check.expect("they are right"), "a: OK\nb: OK\n");
    }
}
