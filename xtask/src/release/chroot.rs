//! Commands in another root file system, and the program in one without other files.

use super::binary::has_interpreter;
use super::target::Target;
use super::{Workspace, expect, failed, only_root, run, work_folder};
use crate::stop::Stop;
use std::path::Path;
use std::process::Command;

/// Search path of commands.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The example of the README on a smaller file and for a shorter time, without its target. Under emulation, unsupported
/// features are left out: qemu 7.2 has no asynchronous I/O, and reports for every file that it supports no direct I/O
/// (`STATX_DIOALIGN` is set, its fields are zero).
pub(super) fn example(target: &Target) -> String {
    let way = if target.is_foreign() { "-Sw --engine=sync" } else { "-Sh" };
    format!("-c4M -d1 -W0 -r -b8K -t2 -o8 -w30 {way} -L -D")
}

/// Mounts, which end with the command, and then the command. With a volume, everything else is read-only.
const ENTER: &str = r#"
set -e
root=$1 user=$2 volume=$3
shift 3
mount --bind "$root" "$root"
[ -z "$volume" ] || mount --bind "$volume" "$root/data"
[ -z "$volume" ] || mount -o remount,bind,ro "$root"
mount --rbind /sys "$root/sys"
exec unshare --pid --fork --kill-child --mount-proc --root "$root" --setgid "$user" --setuid "$user" -- "$@"
"#;

/// A root file system for commands, with /proc and /sys.
pub(super) struct Guest<'a> {
    pub(super) root: &'a Path,
    /// User and group.
    pub(super) user: u32,
    /// The directory mounted on /data; everything else is then read-only.
    pub(super) volume: Option<&'a Path>,
}

impl Guest<'_> {
    /// The command, to be run by root.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.env_clear().env("PATH", PATH).args(["--mount", "sh", "-c", ENTER, "sh"]).arg(self.root);
        command.arg(self.user.to_string()).arg(self.volume.unwrap_or(Path::new(""))).args(words);
        command
    }

    /// Runs a command and returns its output.
    pub(super) fn run(&self, words: &[&str]) -> Result<String, Stop> {
        run(&mut self.command(words))
    }
}

/// Puts the emulator for a program of another CPU into a root file system; returns its path there.
pub(super) fn add_emulator(target: &Target, root: &Path) -> Result<Option<&'static str>, Stop> {
    let Some(emulator) = target.emulator().map_err(Stop::Skipped)? else { return Ok(None) };
    let bytes = std::fs::read(&emulator).map_err(failed("read", &emulator))?;
    if has_interpreter(&bytes) {
        return Err(Stop::Skipped(format!("{} is not static (Debian: qemu-user-static)", emulator.display())));
    }
    std::fs::copy(&emulator, root.join("emulator")).map_err(failed("copy", &emulator))?;
    Ok(Some("/emulator"))
}

/// Runs the program as the only file of a root file system: without /proc, /sys, /dev and a home directory. A program
/// for another CPU has its emulator beside it.
pub(super) fn bare(workspace: &Workspace, stage: &Path, target: &Target) -> Result<String, Stop> {
    only_root()?;
    let folder = work_folder(workspace)?;
    let to = folder.path().join("diskspd");
    std::fs::copy(stage.join("diskspd"), &to).map_err(failed("copy to", &to))?;
    let emulator = add_emulator(target, folder.path())?;
    let diskspd = |words: &str| {
        let mut command = Command::new("chroot");
        command.env_clear().env("PATH", PATH).arg(folder.path()).args(emulator);
        run(command.arg("/diskspd").args(words.split(' ')))
    };
    for (words, part) in [("--version", "commit: "), ("-?", "Usage: "), ("--man", ".TH DISKSPD")] {
        expect(&diskspd(words)?, &[part])?;
    }
    let report = diskspd(&format!("{} /testfile.dat", example(target)))?;
    expect(&report, &["Total IO", "Write IO", "avg.|   0.00%|", "NOTE: "])?;
    // The table's heading, directly followed by its last line.
    let table = report.split_once("\nCPU |").and_then(|(_, table)| table.split_once("avg.|"));
    let rows = table.map(|(rows, _)| rows.lines().skip(1).filter(|line| line.contains('|')).count());
    if rows != Some(0) {
        return Err(Stop::Failed(format!("without /proc/stat the CPU table has rows:\n{report}")));
    }
    Ok("--version, -?, --man and the README's example".to_owned())
}
