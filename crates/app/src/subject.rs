//! Subjects of reports and pages: names, results of runs, and the meaning of findings.

use crate::output::say;
use crate::saved_results::read;
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::{Sweep, VisitOutcome};
use report::Side;
use std::path::{Path, PathBuf};

/// A side of a comparison, named after its files.
pub(crate) fn side_of(paths: &[PathBuf], results: Vec<RunResult>) -> Side {
    Side { name: paths.iter().map(|path| name_of(path)).collect::<Vec<_>>().join(", "), results }
}

/// The result of the run that a report shows as a whole. A report without it is better than none, so errors in it are
/// only warnings.
pub(crate) fn shown_run(folder: &Path, sweep: &Sweep) -> Option<RunResult> {
    let visit = stats::sweep::median_run(sweep, stats::sweep::recommended(sweep)?)?;
    let VisitOutcome::Measured { file, .. } = &visit.outcome else { return None };
    // Files of a sweep are in its directory, regardless of the index.
    let name = Path::new(file).file_name()?;
    match read(&folder.join(name)) {
        Ok(result) => Some(result),
        Err(reason) => {
            say(&format!("WARNING: {reason}; its report lacks this result"));
            None
        }
    }
}

/// Parses the contents of a file as a recording of the monitor; the error is a sentence.
pub(crate) fn recording_in(file: &Path, bytes: &[u8]) -> Result<Recording, String> {
    import::recording::read(bytes).map_err(|error| format!("'{}': {error}", file.display()))
}

/// The last component of a path, or all of it.
pub(crate) fn name_of(path: &Path) -> String {
    let named = std::path::absolute(path).ok().and_then(|path| path.file_name().map(ToOwned::to_owned));
    let name = if path == Path::new("-") { None } else { named };
    name.as_deref().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
