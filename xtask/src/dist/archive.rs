//! The archive to unpack anywhere, and its checksum.

use super::binary::Binary;
use super::{failed, mebibytes, run};
use crate::stop::Stop;
use std::path::Path;
use std::process::Command;

/// Makes it beside the folder of its files, the same bytes from the same files.
pub(super) fn make(root: &Path, stage: &Path, binary: &Binary) -> Result<String, Stop> {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("diskspd-{version}-{}", binary.target.triple);
    let folder = root.join("target/dist");
    let archive = format!("{name}.tar.gz");
    run(Command::new("tar")
        .current_dir(&folder)
        .args(["--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--use-compress-program=gzip -n9", "--mode=u=rwX,go=rX"])
        .arg(format!("--transform=s,^{},{name},", stage.file_name().unwrap_or_default().to_string_lossy()))
        .arg("--file")
        .arg(&archive)
        .arg(stage.file_name().unwrap_or_default()))?;
    let sum = run(Command::new("sha256sum").current_dir(&folder).arg(&archive))?;
    let path = folder.join(format!("{archive}.sha256"));
    std::fs::write(&path, &sum).map_err(failed("write", &path))?;
    let size = folder.join(&archive).metadata().map_err(failed("read", &folder.join(&archive)))?.len();
    Ok(format!("target/dist/{archive}, {}, SHA-256 {}", mebibytes(size), sum.split(' ').next().unwrap_or_default()))
}
