//! `cargo xtask vm-test`: tests that need exclusive disks and drivers, inside a virtual machine.
//!
//! A Debian kernel is booted under qemu with emulated `NVMe` and SCSI disks; its root file system is an archive in
//! memory with the built program, the built tests and their tools. The tests run there one by one and report over a
//! serial line.

mod disks;
mod initramfs;
mod kernel;
mod machine;
mod programs;
mod rows;

use crate::stop::Stop;
use crate::surroundings::target_directory;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a step, or the reason for the end of the task.
type Step<T> = Result<T, Stop>;

/// Tests to run, and the kernel.
#[derive(Debug, Default)]
pub struct Request {
    /// Directory that contains `boot/vmlinuz-*` and `lib/modules/*`: `/` for the installed kernel. `None` = Debian's
    /// package, which is downloaded and kept in the target directory.
    pub kernel: Option<PathBuf>,
    /// Never emulate a CPU, which takes several times as long.
    pub only_with_kvm: bool,
    /// Only tests with this in their name.
    pub filter: String,
}

/// Runs the tests and prints a row for each.
///
/// # Errors
///
/// [`Stop::Skipped`] if qemu, a kernel or a tool to make the archive with is missing, or KVM if required;
/// [`Stop::Failed`] if a test failed or did not run.
pub fn test(root: &Path, request: &Request) -> Step<()> {
    let cache = target_directory(root).join("vm");
    std::fs::create_dir_all(&cache).map_err(|error| failed("make", &cache, &error))?;
    let qemu = machine::find()?;
    let kernel = kernel::find(&cache, request.kernel.as_deref())?;
    let cpu = machine::cpu(&qemu, &kernel)?;
    if cpu == machine::Cpu::Emulated && request.only_with_kvm {
        return Err(Stop::Skipped("no guest starts with KVM here, and an emulated CPU is too slow".to_owned()));
    }
    let programs = programs::build(root)?;
    let rows: Vec<rows::Name> =
        programs.rows()?.into_iter().filter(|row| row.to_string().contains(&request.filter)).collect();
    let archive = initramfs::make(&cache, &kernel, &programs, &rows)?;
    let disks = disks::make(&cache)?;
    let log = machine::run(&qemu, &kernel, cpu, &archive, &disks, &cache)?;
    rows::judge(&rows, &log, &kernel.version)
}

/// An error of a file operation.
fn failed(verb: &str, path: &Path, error: &std::io::Error) -> Stop {
    Stop::Failed(format!("cannot {verb} '{}': {error}", path.display()))
}

/// Output of a program that must succeed.
fn output_of(command: &mut Command) -> Result<String, String> {
    let words = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{words}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{words}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}
