//! `diskspd verify --journal` after a cut: what must be on the targets follows from the logs of the run.

mod logs;
mod read;
mod report;

use crate::interrupt;
use crate::output::{print, write_json};
use crate::show;
use crate::status::{Status, fail, printed, refuse_with};
use cli::subcommand::verify::VerifyRequest;
use engine::target::identify;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub(crate) use logs::Logs;
use read::Target;
use report::{AfterCutReport, Outcome};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use verify::history::TargetHistory;

/// Compares targets with the logs of a run.
pub(crate) fn run(request: &VerifyRequest, logs: &mut Logs) -> Status {
    let signals = match interrupt::watch() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("cannot watch for signals: {error}")),
    };
    let mut targets = Vec::new();
    for path in &request.targets {
        match target(path, logs) {
            Ok(target) => targets.push(target),
            Err(Refusal::Missing(reason)) => return fail(&reason),
            Err(Refusal::NotInLogs(reason)) => return refuse_with(&reason),
        }
    }
    let bytes = targets.iter().map(|target| target.size_bytes).sum();
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    let template = "verifying [{wide_bar}] {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
    let bar = bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut reports = Vec::new();
    let ends_early = logs.history.ends_early;
    for target in &targets {
        match target.read(ends_early, &signals.interrupted, &bar) {
            Ok(report) => reports.push(report),
            Err(error) => return fail(&format!("cannot read '{}': {error}", target.path.display())),
        }
    }
    bar.finish_and_clear();
    let report = AfterCutReport::new(logs, reports);
    let status = match report.outcome {
        Outcome::Good => Status::Done,
        Outcome::Corrupt => Status::Corrupt,
        Outcome::CannotTell => Status::CannotTell,
    };
    if request.json {
        let mut text = Vec::new();
        return printed(write_json(&report, &mut text).and_then(|()| print(&text)), status);
    }
    match show::text(&report.text()) {
        Status::Done => status,
        failed => failed,
    }
}

/// Why a target cannot be verified.
enum Refusal {
    Missing(String),
    NotInLogs(String),
}

fn target<'a>(path: &Path, logs: &'a Logs) -> Result<Target<'a>, Refusal> {
    let missing = |error: io::Error| Refusal::Missing(format!("cannot open '{}': {error}", path.display()));
    let metadata = path.metadata().map_err(missing)?;
    if !metadata.is_file() && !metadata.file_type().is_block_device() {
        return Err(Refusal::Missing(format!("'{}' is neither a file nor a block device", path.display())));
    }
    let mut file = File::open(path).map_err(missing)?;
    let identity = identify(&file).map_err(missing)?.numbers();
    // The size of a block device is not in its metadata.
    let size_bytes = file.seek(SeekFrom::End(0)).map_err(missing)?;
    let targets = &logs.history.targets;
    // After a restart, file systems and devices may have other numbers: the path counts more.
    let by_path = targets.iter().find(|history| is_same_path(&history.logged.target.path, path));
    let by_identity = || targets.iter().find(|history| history.logged.target.identity == identity);
    let Some(history) = by_path.or_else(by_identity) else {
        return Err(Refusal::NotInLogs(format!("the run of --journal did not verify '{}'", path.display())));
    };
    Ok(Target { path: path.to_owned(), size_bytes, history })
}

fn is_same_path(saved: &[u8], path: &Path) -> bool {
    let saved = PathBuf::from(std::ffi::OsStr::from_bytes(saved));
    saved == path || matches!((saved.canonicalize(), path.canonicalize()), (Ok(saved), Ok(path)) if saved == path)
}

/// The offset of a unit.
fn offset(history: &TargetHistory, unit: u64) -> u64 {
    unit * history.unit().bytes()
}
