//! What a report is about: saved results, recordings and series.

use crate::output::say;
use crate::saved_results::{contents, read, read_all, result_in, sweep_in};
use crate::sweep::folder::Kind;
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::{Sweep, VisitOutcome};
use report::{Meaning, Side, Subject};
use rules::verdict;
use std::path::{Path, PathBuf};

/// What a finding of the verdict means.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let rule = verdict::rules().find(|rule| rule.name == name)?;
    Some(Meaning { severity: rule.severity, unit: rule.unit, computed_from: rule.computed_from, advice: rule.advice })
}

/// What was found at the places that were given.
pub(crate) enum Found {
    Run { name: String, result: Box<RunResult>, devices: Option<Box<Recording>> },
    Recording { name: String, recording: Box<Recording> },
    Folder { name: String, kind: Kind, sweep: Box<Sweep>, result: Option<Box<RunResult>> },
    Sides(Vec<Side>),
}

impl Found {
    pub(crate) fn at(sources: &[PathBuf]) -> Result<Self, String> {
        let [source] = sources else {
            let side = |path: &PathBuf| Ok(Side { name: name_of(path), results: read_all(path)? });
            return sources.iter().map(side).collect::<Result<_, String>>().map(Self::Sides);
        };
        let name = name_of(source);
        match sweep_in(source) {
            Some(found) => {
                let (kind, sweep) = found?;
                let result = shown_run(source, &sweep).map(Box::new);
                Ok(Self::Folder { name, kind, sweep: Box::new(sweep), result })
            }
            None if source.is_dir() => Err(format!(
                "'{}': this directory was not created by sweep, repeat or ab; give the result files in it",
                source.display()
            )),
            None => {
                let bytes = contents(source)?;
                if import::recording::is_recording(&bytes) {
                    let recording = Box::new(recording_in(source, &bytes)?);
                    return Ok(Self::Recording { name, recording });
                }
                let mut result = Box::new(result_in(source, &bytes)?);
                // Other programs make no verdict; some rules need only figures.
                if result.tool.implementation.is_none() {
                    verdict::judge(&mut result);
                }
                Ok(Self::Run { name, result, devices: None })
            }
        }
    }

    /// How the loads of results that would be compared differ: `compare` refuses these, too.
    pub(crate) fn unlike_loads(&self) -> Vec<String> {
        let Self::Sides(sides) = self else { return Vec::new() };
        let mut results = sides.iter().flat_map(|side| &side.results);
        let Some(reference) = results.next() else { return Vec::new() };
        let unlike = results.map(|other| report::words::compare::unlike(reference, other).load);
        unlike.into_iter().find(|load| !load.is_empty()).unwrap_or_default()
    }

    /// The same with what devices did meanwhile.
    pub(crate) fn with(self, monitor: Option<&Path>) -> Result<Self, String> {
        match (self, monitor) {
            (found, None) => Ok(found),
            (Self::Run { name, result, .. }, Some(path)) => {
                Ok(Self::Run { name, result, devices: Some(Box::new(recording_in(path, &contents(path)?)?)) })
            }
            (_, Some(_)) => Err("--monitor needs the result of a single run".to_owned()),
        }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        match self {
            Self::Run { name, result, devices } => Subject::Run { name, result, devices: devices.as_deref() },
            Self::Recording { name, recording } => Subject::Recording { name, recording },
            Self::Folder { name, kind, sweep, result } => of_series(name, *kind, sweep, result.as_deref()),
            Self::Sides(sides) => Subject::Comparison { sides, more: &[] },
        }
    }
}

/// A series by its kind; `example` is the result of one of its runs.
pub(crate) fn of_series<'a>(
    name: &'a str,
    kind: Kind,
    sweep: &'a Sweep,
    example: Option<&'a RunResult>,
) -> Subject<'a> {
    match kind {
        Kind::Sweep => Subject::Sweep { name, sweep, chosen: example },
        Kind::Ab => Subject::Pairs { name, sweep, example },
        Kind::Interference => Subject::Interference { name, sweep, example },
        Kind::Repeat => Subject::Repeat { name, sweep, example },
    }
}

/// Sides of a comparison, named after their files.
pub(crate) fn sides<const N: usize>(sides: [(&[PathBuf], &[RunResult]); N]) -> [Side; N] {
    sides.map(|(paths, results)| Side {
        name: paths.iter().map(|path| name_of(path)).collect::<Vec<_>>().join(", "),
        results: results.to_vec(),
    })
}

/// The result of the run that a report shows as a whole. A report without it is better than none, so what is wrong
/// with it is only told.
pub(crate) fn shown_run(folder: &Path, sweep: &Sweep) -> Option<RunResult> {
    let visit = stats::sweep::median_run(sweep, stats::sweep::recommended(sweep)?)?;
    let VisitOutcome::Measured { file, .. } = &visit.outcome else { return None };
    // Files of a sweep lie in its directory, whatever the index says.
    let name = Path::new(file).file_name()?;
    match read(&folder.join(name)) {
        Ok(result) => Some(result),
        Err(reason) => {
            say(&format!("WARNING: {reason}; its report lacks this result"));
            None
        }
    }
}

/// The recording of the monitor that `bytes`, the contents of a file, are; the error is a sentence.
pub(crate) fn recording_in(file: &Path, bytes: &[u8]) -> Result<Recording, String> {
    import::recording::read(bytes).map_err(|error| format!("'{}': {error}", file.display()))
}

/// The last part of a path, or all of it.
pub(crate) fn name_of(path: &Path) -> String {
    let named = std::path::absolute(path).ok().and_then(|path| path.file_name().map(ToOwned::to_owned));
    let name = if path == Path::new("-") { None } else { named };
    name.as_deref().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
