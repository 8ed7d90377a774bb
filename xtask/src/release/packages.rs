//! Packages for Debian and for RPM, from what `crates/app/Cargo.toml` says about them.

use super::target::Target;
use super::{Workspace, needed, run};
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the package for Debian.
pub(super) fn debian(workspace: &Workspace, target: &Target) -> Result<PathBuf, Stop> {
    let tool = needed("cargo-deb", "cargo install cargo-deb")?;
    needed("dpkg-deb", "apt-get install dpkg")?;
    let name = format!("diskspd_{}_{}.deb", env!("CARGO_PKG_VERSION"), target.cpu.debian);
    let output = workspace.files().join(name);
    let mut command = tool_in(workspace, &tool);
    // As `cargo deb` calls it.
    command.args(["deb", "--no-build", "--no-strip", "--package", "app", "--target", &target.triple]);
    run(command.arg("--output").arg(&output))?;
    let architecture = run(Command::new("dpkg-deb").arg("--field").arg(&output).arg("Architecture"))?;
    if architecture.trim() != target.cpu.debian {
        return Err(Stop::Failed(format!("{} is for {}", output.display(), architecture.trim())));
    }
    let list = run(Command::new("dpkg-deb").arg("--contents").arg(&output))?;
    expect_files(&list, &output)
}

/// Makes the package for RPM.
pub(super) fn rpm(workspace: &Workspace, target: &Target) -> Result<PathBuf, Stop> {
    let tool = needed("cargo-generate-rpm", "cargo install cargo-generate-rpm")?;
    let output = workspace.files().join(format!("diskspd-{}-1.{}.rpm", env!("CARGO_PKG_VERSION"), target.cpu.rpm));
    let mut command = tool_in(workspace, &tool);
    command
        .args(["generate-rpm", "--package", "crates/app", "--auto-req", "disabled"])
        .args(["--target", &target.triple, "--output"])
        .arg(&output);
    run(&mut command)?;
    Ok(output)
}

/// What rpm reads in a package.
pub(super) fn ask_rpm(package: &Path, target: &Target) -> Result<String, Stop> {
    let rpm = needed("rpm", "apt-get install rpm")?;
    let ask = |what: &str| run(Command::new(&rpm).arg(what).arg(package));
    let (facts, list) = (ask("-qip")?, ask("-qlp")?);
    expect_files(&list, package)?;
    let architecture = format!("Architecture: {}", target.cpu.rpm);
    for part in ["Name        : diskspd", "License     : MIT OR Apache-2.0", &architecture] {
        if !facts.contains(part) {
            return Err(Stop::Failed(format!("rpm -qip does not say '{part}':\n{facts}")));
        }
    }
    let needs = ask("-qRp")?;
    // cargo-generate-rpm always asks for a shell.
    let is_library = |line: &&str| !line.starts_with("rpmlib(") && *line != "/bin/sh";
    let libraries: Vec<&str> = needs.lines().filter(is_library).collect();
    if !libraries.is_empty() {
        return Err(Stop::Failed(format!("it needs {}", libraries.join(", "))));
    }
    Ok(format!("{} files, no library needed", list.lines().count()))
}

/// A tool that makes a package of the workspace, with the time of the source.
fn tool_in(workspace: &Workspace, tool: &Path) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(&workspace.root).env("CARGO_TARGET_DIR", &workspace.build);
    command.env("SOURCE_DATE_EPOCH", workspace.source.time.to_string());
    command
}

/// That a package has what a package of this program has.
fn expect_files(list: &str, package: &Path) -> Result<PathBuf, Stop> {
    for file in [
        "/usr/bin/diskspd",
        "/usr/share/man/man1/diskspd.1",
        "/usr/share/man/man1/diskspd-sweep.1",
        "/usr/share/bash-completion/completions/diskspd",
        "/usr/share/fish/vendor_completions.d/diskspd.fish",
        "/_diskspd",
        "/usr/lib/systemd/system/diskspd-agent.service",
        "/usr/lib/sysusers.d/diskspd.conf",
        "/etc/diskspd/agent.conf",
        "/THIRD-PARTY.md",
    ] {
        if !list.contains(file) {
            return Err(Stop::Failed(format!("{} lacks {file}:\n{list}", package.display())));
        }
    }
    Ok(package.to_owned())
}
