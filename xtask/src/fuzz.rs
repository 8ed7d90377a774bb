//! `cargo xtask fuzz`: all targets of `fuzz/`, each for a bounded time, on a stable toolchain.
//!
//! The fuzzer's new inputs stay in the target directory; the committed corpora are only read, so that they stay small.

use crate::stop::Stop;
use crate::surroundings::{installed, target_directory};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest input in bytes: faults of longer ones also occur with shorter ones.
const INPUT_BYTES_MAX: u32 = 65_536;
/// Memory in MiB above which an input counts as a crash.
const MEMORY_MIB_MAX: u32 = 4096;
/// Seconds above which one input counts as a crash.
const SECONDS_PER_INPUT: u32 = 25;

/// Targets and duration of fuzzing.
#[derive(Debug)]
pub struct Request {
    /// Seconds per target.
    pub seconds: u32,
    /// Only targets with this in their name.
    pub filter: String,
}

impl Default for Request {
    fn default() -> Self {
        Self { seconds: 60, filter: String::new() }
    }
}

/// Files of the project's tests that also serve as examples for a target, beside its corpus.
const EXAMPLES: [(&str, &str); 9] = [
    ("decoded_result", "crates/import/tests/data"),
    ("fio_job", "crates/cli/tests/data/fio"),
    ("page", "crates/import/tests/data"),
    ("page", "fuzz/corpus/result"),
    ("planned", "crates/cli/tests/data/profiles"),
    ("preset", "crates/cli/presets"),
    ("profile", "crates/cli/tests/data/profiles"),
    ("result", "crates/import/tests/data/fio"),
    ("trace", "crates/trace/tests/samples"),
];

/// Paths of the examples for a target. One that takes the inputs of another has no corpus.
pub fn examples(root: &Path, target: &str) -> Vec<PathBuf> {
    let others = EXAMPLES.iter().filter(|(name, _)| *name == target).map(|(_, folder)| root.join(folder));
    let own = Some(root.join("fuzz/corpus").join(target)).filter(|folder| folder.is_dir());
    own.into_iter().chain(others).collect()
}

/// Fuzzes, one target after the other.
///
/// # Errors
///
/// [`Stop::Skipped`] without cargo-fuzz; [`Stop::Failed`] if an input made a target panic, run out of memory
/// or take too long.
pub fn run(root: &Path, request: &Request) -> Result<(), Stop> {
    if installed("cargo-fuzz").is_none() {
        return Err(Stop::Skipped("cargo-fuzz is not installed: cargo install cargo-fuzz".to_owned()));
    }
    let targets = targets(root)?;
    let mut broken = Vec::new();
    for target in targets.into_iter().filter(|target| target.contains(&request.filter)) {
        println!("== {target}: {} s", request.seconds);
        if !fuzz(root, &target, request.seconds)? {
            broken.push(target);
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Stop::Failed(format!("crashes of {}: their inputs are below fuzz/artifacts", broken.join(", "))))
    }
}

/// The programs of `fuzz/targets`, by name.
fn targets(root: &Path) -> Result<Vec<String>, Stop> {
    let failed = |error| Stop::Failed(format!("cannot read fuzz/targets: {error}"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("fuzz/targets")).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// True if no crash was found.
fn fuzz(root: &Path, target: &str, seconds: u32) -> Result<bool, Stop> {
    let found = target_directory(root).join("fuzz-corpus").join(target);
    std::fs::create_dir_all(&found)
        .map_err(|error| Stop::Failed(format!("cannot make '{}': {error}", found.display())))?;
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["fuzz", "run", "--fuzz-dir", "fuzz"]);
    // Sanitizers need a nightly toolchain, and the code that reads inputs has no `unsafe`.
    command.args(["--sanitizer", "none", target]).arg(found).args(examples(root, target)).arg("--");
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={INPUT_BYTES_MAX}"));
    command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}")).arg(format!("-timeout={SECONDS_PER_INPUT}"));
    command.arg("-print_final_stats=1");
    // Some targets make small files for each input.
    if Path::new("/dev/shm").is_dir() && std::env::var_os("TMPDIR").is_none() {
        command.env("TMPDIR", "/dev/shm");
    }
    let status = command.status().map_err(|error| Stop::Failed(format!("cannot run cargo fuzz: {error}")))?;
    Ok(status.success())
}
