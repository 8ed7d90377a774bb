//! `cargo xtask release`: the files for installation. For each CPU a static program, an archive, packages for Debian
//! and for RPM and a container image, all below `target/release-files` with their checksums. Each is checked from
//! outside if the tools are installed.

mod archive;
mod binary;
mod chroot;
mod clean_root;
mod image;
mod licences;
mod packages;
mod readme;
mod source;
mod stage;
mod target;
mod twice;

use crate::stop::Stop;
use crate::surroundings::target_directory;
use binary::Binary;
use source::Source;
use std::path::{Path, PathBuf};
use std::process::Command;
use target::Target;

/// Targets and options of a release.
#[derive(Debug, Default)]
pub struct Request {
    /// A target of rustc; `None` = one for each CPU.
    pub target: Option<String>,
    /// Build everything again in another directory and compare the files.
    pub twice: bool,
}

/// Directories and source of a release.
struct Workspace {
    root: PathBuf,
    /// Cargo's target directory.
    build: PathBuf,
    source: Source,
}

impl Workspace {
    /// The workspace at a root, with an empty directory for the files.
    fn new(root: &Path, build: PathBuf) -> Result<Self, Stop> {
        let root = root.canonicalize().map_err(failed("find", root))?;
        let source = Source::read(&root)?;
        let workspace = Self { root, build, source };
        empty(&workspace.files())?;
        Ok(workspace)
    }

    /// The directory of the released files.
    fn files(&self) -> PathBuf {
        self.root.join("target/release-files")
    }
}

/// The files made for a target.
struct BuiltTarget {
    binary: Binary,
    stage: PathBuf,
    archive: PathBuf,
    debian: Result<PathBuf, Stop>,
    rpm: Result<PathBuf, Stop>,
    image: PathBuf,
}

/// Makes the files of a release, prints a row for each, and checks it.
///
/// # Errors
///
/// [`Stop::Failed`] if a file could not be made, or fails its check.
pub fn make(root: &Path, request: &Request) -> Result<(), Stop> {
    let targets = Target::choose(request.target.as_deref())?;
    let workspace = Workspace::new(root, target_directory(root))?;
    if request.twice {
        workspace.source.must_be_committed()?;
    }
    let mut rows = Rows::default();
    rows.add("source", Ok(workspace.source.describe()?));
    let mut built = Vec::new();
    for target in targets {
        println!("{}:", target.triple);
        match target.ready() {
            Ok(()) => {
                let made = build(&workspace, target)?;
                check(&workspace, &made, &mut rows);
                built.push(made.binary.target);
            }
            Err(reason) if request.target.is_none() => rows.add("program", Err(Stop::Skipped(reason))),
            Err(reason) => return Err(Stop::Failed(reason)),
        }
    }
    println!("all:");
    rows.add("checksums", archive::write_checksums(&workspace.files()));
    if request.twice {
        rows.add("built again", twice::compare(&workspace, built));
    }
    rows.end()
}

/// Makes all files for a target.
fn build(workspace: &Workspace, target: Target) -> Result<BuiltTarget, Stop> {
    let binary = binary::build(workspace, target)?;
    let stage = stage::fill(workspace, &binary)?;
    let archive = archive::make(workspace, &stage, &binary.target)?;
    let image = image::make(workspace, &stage, &binary.target)?;
    let debian = packages::debian(workspace, &binary.target);
    let rpm = packages::rpm(workspace, &stage, &binary.target);
    Ok(BuiltTarget { binary, stage, archive, debian, rpm, image })
}

/// Checks the files of a target, and reports their sizes.
fn check(workspace: &Workspace, made: &BuiltTarget, rows: &mut Rows) {
    let target = &made.binary.target;
    let sized = |file: &Result<PathBuf, Stop>| file.as_ref().map_err(Stop::clone).and_then(|path| size(path));
    let file = |file: &Result<PathBuf, Stop>| file.clone().map_err(|_| Stop::Skipped("there is no package".to_owned()));
    rows.add("program", made.binary.describe());
    rows.add("  in an empty root", chroot::bare(workspace, &made.stage, target));
    rows.add("archive", size(&made.archive));
    rows.add("Debian package", sized(&made.debian));
    rows.add("  in clean Debian", file(&made.debian).and_then(|path| clean_root::apt(workspace, &path, target)));
    rows.add("RPM", sized(&made.rpm));
    rows.add("  what rpm says", file(&made.rpm).and_then(|path| packages::ask_rpm(&path, target)));
    rows.add("  in clean Debian", file(&made.rpm).and_then(|path| clean_root::rpm(workspace, &path, target)));
    rows.add("container image", size(&made.image));
    rows.add("  what skopeo says", image::ask_skopeo(&made.image, target));
    rows.add("  read-only root", image::run_read_only(workspace, &made.image, target));
}

/// The results of the steps.
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

/// Runs a command to its end and returns its output; a failure includes the output.
fn run(command: &mut Command) -> Result<String, Stop> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| Stop::Failed(format!("cannot run {shown}: {error}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(Stop::Failed(format!("{shown}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))))
}

/// An error of a file operation.
fn failed(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Stop {
    let text = format!("cannot {what} '{}'", path.display());
    move |error| Stop::Failed(format!("{text}: {error}"))
}

/// Creates a directory, or empties it.
fn empty(folder: &Path) -> Result<(), Stop> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed("remove", folder))?;
    }
    std::fs::create_dir_all(folder).map_err(failed("make", folder))
}

/// A directory for temporary work. Not below /tmp, which may be in memory, without direct I/O.
fn work_folder(workspace: &Workspace) -> Result<tempfile::TempDir, Stop> {
    let folder = workspace.root.join("target");
    tempfile::tempdir_in(&folder).map_err(failed("make a folder in", &folder))
}

/// The name and size of a released file.
fn size(path: &Path) -> Result<String, Stop> {
    let bytes = path.metadata().map_err(failed("read", path))?.len();
    Ok(format!("{}, {}", path.file_name().unwrap_or_default().to_string_lossy(), mebibytes(bytes)))
}

/// A size in MiB as text.
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// The program that a step needs, or an error with the way to install it.
fn needed(tool: &str, how: &str) -> Result<PathBuf, Stop> {
    crate::surroundings::installed(tool).ok_or_else(|| Stop::Skipped(format!("{tool} is not installed: {how}")))
}

fn only_root() -> Result<(), Stop> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(Stop::Skipped("only root may change the root".to_owned()))
    }
}

/// Checks that a text has these parts.
fn expect(text: &str, parts: &[&str]) -> Result<(), Stop> {
    for part in parts {
        if !text.contains(part) {
            return Err(Stop::Failed(format!("'{part}' is not in:\n{text}")));
        }
    }
    Ok(())
}
