//! Packages in a clean Debian: installed, the commands of the README run by an ordinary user, and removed without a
//! trace.

use super::chroot::Guest;
use super::target::Target;
use super::{Workspace, empty, expect, failed, needed, only_root, readme, run};
use crate::stop::Stop;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user that is not root and has no account.
const USER: u32 = 1000;

/// Permitted exit statuses of a run with a verdict or a requirement: done, not met, undetermined.
const STATUSES: [i32; 3] = [0, 4, 6];

/// Directories and files that package managers change in any case, or that are ours.
const APART: &str = "/var/cache /var/log /var/lib/apt /var/lib/dpkg/*-old /var/lib/dpkg/lock* /run /tmp /data";

/// The Debian package, by apt.
pub(super) fn apt(workspace: &Workspace, package: &Path, target: &Target) -> Result<String, Stop> {
    let debian = debian_root(workspace, target)?;
    let copy = debian.join("tmp/diskspd.deb");
    std::fs::copy(package, &copy).map_err(failed("copy", package))?;
    let guest = Guest { root: &debian, user: 0, volume: None };
    let mut install = guest.command(&["apt-get", "install", "--yes", "/tmp/diskspd.deb"]);
    let mut purge = guest.command(&["apt-get", "purge", "--yes", "diskspd"]);
    try_out(workspace, &debian, &mut install, &mut purge)
}

/// The RPM, by this machine's rpm: Debian's own package manager does not register it.
pub(super) fn rpm(workspace: &Workspace, package: &Path, target: &Target) -> Result<String, Stop> {
    let rpm = needed("rpm", "apt-get install rpm")?;
    let debian = debian_root(workspace, target)?;
    let command = |words: &[&str]| {
        let mut command = Command::new(&rpm);
        command.args(words).arg("--root").arg(&debian).args(["--dbpath", "/tmp/rpm", "--nodeps"]);
        if run(Command::new(&rpm).arg("--force-debian").arg("--version")).is_ok() {
            command.arg("--force-debian");
        }
        command
    };
    let mut install = command(&["--install"]);
    try_out(workspace, &debian, install.arg(package), command(&["--erase"]).arg("diskspd"))
}

/// Installs, runs the commands of the README, removes, and compares the files before and after.
fn try_out(workspace: &Workspace, debian: &Path, install: &mut Command, remove: &mut Command) -> Result<String, Stop> {
    let files = || {
        let mut find = vec!["find", "/", "-xdev"];
        find.extend(APART.split(' ').flat_map(|path| ["-path", path, "-prune", "-o"]));
        // Other directories belong to packages of a whole system, and rpm leaves them.
        find.extend(["(", "!", "-type", "d", "-o", "-path", "*/diskspd*", ")"]);
        find.extend(["-printf", "%p, mode %m, of user %u,\\n"]);
        let list = Guest { root: debian, user: 0, volume: None }.run(&find)?;
        Ok(list.lines().map(str::to_owned).collect::<BTreeSet<_>>())
    };
    let before = files()?;
    run(install)?;
    let count = files()?.difference(&before).count();
    let outcome = run_readme(workspace, debian);
    run(remove)?;
    let commands = outcome?;
    let after = files()?;
    if let Some(path) = after.symmetric_difference(&before).next() {
        let state = if after.contains(path) { "is left behind" } else { "is gone" };
        return Err(Stop::Failed(format!("after the package was removed, {path} {state}")));
    }
    let version = std::fs::read_to_string(debian.join("etc/debian_version")).unwrap_or_default();
    Ok(format!("{}: {count} files, {commands} commands of the README, removed without a trace", version.trim()))
}

/// Runs the commands of the README as an ordinary user; returns their number.
fn run_readme(workspace: &Workspace, debian: &Path) -> Result<usize, Stop> {
    let data = debian.join("data");
    empty(&data)?;
    std::os::unix::fs::chown(&data, Some(USER), Some(USER)).map_err(failed("give away", &data))?;
    let guest = Guest { root: debian, user: USER, volume: None };
    expect(&guest.run(&["diskspd", "--version"])?, &["commit: "])?;
    let path = workspace.root.join("README.md");
    let commands = readme::commands(&std::fs::read_to_string(&path).map_err(failed("read", &path))?);
    for line in &commands {
        let output = guest.command(&["sh", "-c", &format!("cd /data && {line}")]).output();
        let output = output.map_err(|error| Stop::Failed(format!("cannot run unshare: {error}")))?;
        if !output.status.code().is_some_and(|status| STATUSES.contains(&status)) {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(Stop::Failed(format!("{line}: {}\n{text}", output.status)));
        }
    }
    std::fs::remove_dir_all(&data).map_err(failed("remove", &data))?;
    Ok(commands.len())
}

/// A minimal Debian, kept for later runs.
fn debian_root(workspace: &Workspace, target: &Target) -> Result<PathBuf, Stop> {
    if target.is_foreign() {
        return Err(Stop::Skipped(format!("this machine's CPU is not {}", target.cpu.name)));
    }
    only_root()?;
    let folder =
        std::env::var_os("DISKSPD_DEBIAN_ROOT").map_or_else(|| workspace.build.join("debian-stable"), PathBuf::from);
    if folder.join("etc/debian_version").exists() {
        return Ok(folder);
    }
    let tool = needed("debootstrap", "apt-get install debootstrap")?;
    if run(Command::new(tool).args(["--variant=minbase", "stable"]).arg(&folder)).is_ok() {
        return Ok(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Err(Stop::Skipped("debootstrap found no Debian to fetch".to_owned()))
}
