//! `cargo xtask dist`: what somebody installs. A static binary, an archive with it, and packages for
//! Debian and for RPM; each is looked at from outside where the tools are there.

mod archive;
mod binary;
mod chroot;
mod licences;
mod packages;
mod stage;
mod target;

use crate::stop::Stop;
use std::path::Path;
use std::process::Command;
use target::Target;

/// Makes everything for a target of rustc (without one for this machine), prints a row for each, and checks it.
///
/// # Errors
///
/// [`Stop::Failed`] if something could not be made, or does not do what it should.
pub fn make(root: &Path, target: Option<&str>) -> Result<(), Stop> {
    let target = Target::choose(target)?;
    // Its man pages and completions are printed by the program itself.
    target.emulator()?;
    let binary = binary::build(root, target)?;
    let mut rows = Rows::default();
    rows.add("static binary", binary.describe());
    let stage = stage::fill(root, &binary)?;
    rows.add("archive", archive::make(root, &stage, &binary));
    let debian = packages::debian(root, &binary.target);
    let rpm = packages::rpm(root, &binary.target);
    rows.add("in an empty root", chroot::bare(root, &stage, &binary.target));
    rows.add("Debian package", debian.as_ref().map(|package| packages::size(package)).map_err(Stop::clone));
    rows.add("in Debian stable", debian.and_then(|package| chroot::debian(root, &package, &binary.target)));
    rows.add("RPM", rpm.as_ref().map(|package| packages::size(package)).map_err(Stop::clone));
    rows.add("what rpm says of it", rpm.and_then(|package| packages::ask_rpm(&package, &binary.target)));
    rows.end()
}

/// What became of each step.
#[derive(Default)]
struct Rows {
    failed: usize,
}

impl Rows {
    fn add(&mut self, name: &str, outcome: Result<String, Stop>) {
        match outcome {
            Ok(text) => println!("{name:20} {text}"),
            Err(Stop::Skipped(reason)) => println!("{name:20} SKIPPED: {reason}"),
            Err(Stop::Failed(reason)) => {
                println!("{name:20} FAILED: {reason}");
                self.failed += 1;
            }
        }
    }

    fn end(self) -> Result<(), Stop> {
        if self.failed == 0 { Ok(()) } else { Err(Stop::Failed(format!("{} steps failed", self.failed))) }
    }
}

/// Runs a command to its end and gives what it prints; a failure says what it printed.
fn run(command: &mut Command) -> Result<String, Stop> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| Stop::Failed(format!("cannot run {shown}: {error}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(Stop::Failed(format!("{shown}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))))
}

/// A failure to do something with a file.
fn failed(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Stop {
    let text = format!("cannot {what} '{}'", path.display());
    move |error| Stop::Failed(format!("{text}: {error}"))
}

/// A size as people read it.
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
