//! The program where there is nothing else, and the package in a fresh Debian.

use super::binary::has_interpreter;
use super::target::Target;
use super::{failed, run};
use crate::stop::Stop;
use crate::surroundings::{installed, target_directory};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example of the README on a smaller file and for a shorter time, and what its report has.
const EXAMPLE: &str = "-c4M -d1 -W0 -r -b8K -t2 -o8 -w30 -Sh -L -D /testfile.dat";

/// Runs the program as the only file of a root file system: without /proc, /sys, /dev and a home. One for another CPU
/// has its emulator beside it.
pub(super) fn bare(root: &Path, stage: &Path, target: &Target) -> Result<String, Stop> {
    only_root()?;
    // Not below /tmp, which may be in memory, where direct I/O is not.
    let folder = tempfile::tempdir_in(root.join("target")).map_err(failed("make a folder in", root))?;
    let to = folder.path().join("diskspd");
    std::fs::copy(stage.join("diskspd"), &to).map_err(failed("copy to", &to))?;
    let emulator = target.emulator()?;
    if let Some(emulator) = &emulator {
        let bytes = std::fs::read(emulator).map_err(failed("read", emulator))?;
        if has_interpreter(&bytes) {
            return Err(Stop::Skipped(format!("{} is not static (Debian: qemu-user-static)", emulator.display())));
        }
        std::fs::copy(emulator, folder.path().join("emulator")).map_err(failed("copy", emulator))?;
    }
    let diskspd = |words: &str| {
        let mut command = Command::new("chroot");
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin").arg(folder.path());
        command.args(emulator.as_ref().map(|_| "/emulator"));
        run(command.arg("/diskspd").args(words.split(' ')))
    };
    for (words, part) in [("--version", "commit: "), ("-?", "Usage: "), ("--man", ".TH DISKSPD")] {
        expect(&diskspd(words)?, &[part])?;
    }
    let report = diskspd(EXAMPLE)?;
    expect(&report, &["Total IO", "Write IO", "avg.|   0.00%|", "NOTE: "])?;
    // The table's heading, and then at once its last line.
    let table = report.split_once("\nCPU |").and_then(|(_, table)| table.split_once("avg.|"));
    let rows = table.map(|(rows, _)| rows.lines().skip(1).filter(|line| line.contains('|')).count());
    if rows != Some(0) {
        return Err(Stop::Failed(format!("without /proc/stat the CPU table has rows:\n{report}")));
    }
    Ok("--version, -?, --man and the README's example".to_owned())
}

/// Installs the package in a fresh Debian stable, runs the program and removes the package again.
pub(super) fn debian(root: &Path, package: &Path, target: &Target) -> Result<String, Stop> {
    if target.is_foreign() {
        return Err(Stop::Skipped(format!("this machine's CPU is not {}", target.cpu.name)));
    }
    only_root()?;
    let debian = debian_root(root)?;
    let inside = |words: &[&str]| {
        let mut command = Command::new("chroot");
        run(command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").arg(&debian).args(words))
    };
    let copy = debian.join("diskspd.deb");
    std::fs::copy(package, &copy).map_err(failed("copy", package))?;
    let before = inside(&["find", "/", "-xdev", "-name", "*diskspd*"])?;
    inside(&["dpkg", "--install", "/diskspd.deb"])?;
    let outcome = inside(&["diskspd", "--version"])
        .and_then(|text| expect(&text, &["commit: "]))
        .and_then(|()| inside(&["diskspd", "-c1M", "-d1", "-W0", "-b4K", "-w50", "/tmp/test.dat"]))
        .and_then(|text| expect(&text, &["Total IO"]));
    let _ = std::fs::remove_file(debian.join("tmp/test.dat"));
    inside(&["dpkg", "--purge", "diskspd"])?;
    outcome?;
    let after = inside(&["find", "/", "-xdev", "-name", "*diskspd*"])?;
    if before != after {
        return Err(Stop::Failed(format!("the package left files behind:\n{after}")));
    }
    let version = inside(&["cat", "/etc/debian_version"])?;
    Ok(format!("{}: installed, run and removed", version.trim()))
}

/// A minimal Debian, kept for the next time.
fn debian_root(root: &Path) -> Result<PathBuf, Stop> {
    let folder = std::env::var_os("DISKSPD_DEBIAN_ROOT")
        .map_or_else(|| target_directory(root).join("debian-stable"), PathBuf::from);
    if folder.join("etc/debian_version").exists() {
        return Ok(folder);
    }
    let tool = installed("debootstrap")
        .ok_or_else(|| Stop::Skipped("debootstrap is not installed: apt-get install debootstrap".to_owned()))?;
    if run(Command::new(tool).args(["--variant=minbase", "stable"]).arg(&folder)).is_ok() {
        return Ok(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Err(Stop::Skipped("debootstrap found no Debian to fetch".to_owned()))
}

fn only_root() -> Result<(), Stop> {
    let id = run(Command::new("id").arg("-u"))?;
    if id.trim() == "0" { Ok(()) } else { Err(Stop::Skipped("only root may change the root".to_owned())) }
}

fn expect(text: &str, parts: &[&str]) -> Result<(), Stop> {
    for part in parts {
        if !text.contains(part) {
            return Err(Stop::Failed(format!("'{part}' is not in:\n{text}")));
        }
    }
    Ok(())
}
