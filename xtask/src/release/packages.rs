//! Packages for Debian, as specified in `crates/app/Cargo.toml`, and for RPM, as specified in `packaging/diskspd.spec`.

use super::target::Target;
use super::{Workspace, failed, needed, run, work_folder};
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the package for Debian.
pub(super) fn debian(workspace: &Workspace, target: &Target) -> Result<PathBuf, Stop> {
    let tool = needed("cargo-deb", "cargo install cargo-deb")?;
    needed("dpkg-deb", "apt-get install dpkg")?;
    let name = format!("diskspd_{}_{}.deb", env!("CARGO_PKG_VERSION"), target.cpu.debian);
    let output = workspace.files().join(name);
    let mut command = Command::new(tool);
    command.current_dir(&workspace.root).env("CARGO_TARGET_DIR", &workspace.build);
    command.env("SOURCE_DATE_EPOCH", workspace.source.time.to_string());
    // Invoked like `cargo deb`.
    command.args(["deb", "--no-build", "--no-strip", "--package", "app", "--target", &target.triple]);
    run(command.arg("--output").arg(&output))?;
    let field = |name| run(Command::new("dpkg-deb").arg("--field").arg(&output).arg(name));
    let (architecture, needs) = (field("Architecture")?, field("Depends")?);
    if architecture.trim() != target.cpu.debian || !needs.trim().is_empty() {
        let (architecture, needs) = (architecture.trim(), needs.trim());
        return Err(Stop::Failed(format!("{} is for '{architecture}' and needs '{needs}'", output.display())));
    }
    let list = run(Command::new("dpkg-deb").arg("--contents").arg(&output))?;
    expect_files(&list, &output)
}

/// Makes the package for RPM.
pub(super) fn rpm(workspace: &Workspace, stage: &Path, target: &Target) -> Result<PathBuf, Stop> {
    let tool = needed("rpmbuild", "apt-get install rpm")?;
    let (cpu, version) = (target.cpu.rpm, env!("CARGO_PKG_VERSION"));
    let folder = work_folder(workspace)?;
    let mut command = Command::new(tool);
    command.env("SOURCE_DATE_EPOCH", workspace.source.time.to_string()).args([
        "-bb",
        "--target",
        &format!("{cpu}-linux"),
    ]);
    for (name, value) in [
        ("_topdir", &*folder.path().to_string_lossy()),
        ("stage", &stage.to_string_lossy()),
        ("package_version", version),
        // The same bytes at any time and on any machine.
        ("use_source_date_epoch_as_buildtime", "1"),
        ("clamp_mtime_to_source_date_epoch", "1"),
        ("_buildhost", "localhost"),
        ("_binary_payload", "w9.gzdio"),
    ] {
        command.arg("--define").arg(format!("{name} {value}"));
    }
    run(command.arg(workspace.root.join("packaging/diskspd.spec")))?;
    let name = format!("diskspd-{version}-1.{cpu}.rpm");
    let (built, output) = (folder.path().join("RPMS").join(cpu).join(&name), workspace.files().join(name));
    std::fs::rename(&built, &output).map_err(failed("move", &built))?;
    Ok(output)
}

/// The properties of a package according to rpm.
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
    // Its script after installation requires a shell.
    let is_library = |line: &&str| !line.starts_with("rpmlib(") && *line != "/bin/sh";
    let libraries: Vec<&str> = needs.lines().filter(is_library).collect();
    if !libraries.is_empty() {
        return Err(Stop::Failed(format!("it needs {}", libraries.join(", "))));
    }
    Ok(format!("{} files, no library needed", list.lines().count()))
}

/// Checks that a package has all files of this program.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::source::Source;

    /// An RPM of empty files, made in a separate directory; `None`, with a printed reason, without rpmbuild.
    fn package() -> Option<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let stage = root.join("stage");
        for name in [
            "diskspd",
            "man/diskspd.1",
            "man/diskspd-sweep.1",
            "completions/diskspd.bash",
            "completions/_diskspd",
            "completions/diskspd.fish",
            "systemd/diskspd-agent.service",
            "systemd/agent.conf",
            "systemd/sysusers.conf",
            "THIRD-PARTY.md",
            "LICENSE-MIT",
            "packaging/diskspd.spec",
            "target/release-files/none",
        ] {
            let path = if name.contains("packaging") || name.contains("target") { &root } else { &stage }.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
            std::fs::write(path, "").expect("a file");
        }
        let spec = "packaging/diskspd.spec";
        std::fs::copy(format!("{}/../{spec}", env!("CARGO_MANIFEST_DIR")), root.join(spec)).expect("it is there");
        let mut source = Source::read(&root).expect("no repository");
        source.time = 86_400;
        let workspace = Workspace { build: root.join("target"), root, source };
        let target = Target::choose(Some("x86_64-unknown-linux-musl")).expect("known").remove(0);
        match rpm(&workspace, &stage, &target) {
            Err(Stop::Skipped(reason)) => println!("SKIPPED an RPM: {reason}"),
            made => {
                let made = made.expect("rpmbuild");
                ask_rpm(&made, &target).expect("it is whole");
                return Some((folder, made));
            }
        }
        None
    }

    /// `cargo-generate-rpm` made packages that left their directories behind, and refused to make others.
    #[test]
    fn the_rpm_owns_its_folders_and_is_the_same_from_any_folder() {
        let Some(packages) = package().zip(package()) else { return };
        let ((_a, first), (_b, second)) = packages;
        let list = run(Command::new("rpm").arg("-qlp").arg(&first)).expect("rpm");
        for owned in ["/etc/diskspd", "/usr/share/doc/diskspd", "/usr/share/licenses/diskspd"] {
            assert!(list.lines().any(|line| line == owned), "{owned} is not in\n{list}");
        }
        let read = |path| std::fs::read(path).expect("it is there");
        assert!(read(first) == read(second));
    }
}
