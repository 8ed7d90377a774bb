//! `diskspd report --output` as a page or a chart.

use crate::output::{say, say_each};
use crate::outputs::Protected;
use crate::picture_file::{place_of, save};
use crate::runs_table;
use crate::saved_results::{contents, read_all, result_in, sweep_in};
use crate::status::{Status, fail};
use crate::subject::{name_of, recording_in, shown_run};
use cli::subcommand::report::{OutputAsked, PictureForm};
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::{SeriesKind, Sweep};
use report::{Comparison, Side, Subject};
use rules::verdict;
use std::path::{Path, PathBuf};

/// Makes a page or chart of files and directories; `monitor` is a recording of device activity during a run. Several
/// results of the same load are compared; those of different loads make a table.
pub(crate) fn make(sources: &[PathBuf], output: &OutputAsked, form: &PictureForm, monitor: Option<&Path>) -> Status {
    let recording = monitor.map(|path| Protected { path: path.to_owned(), role: "the recording being read" });
    let protected: Vec<Protected> = runs_table::protected(sources).into_iter().chain(recording).collect();
    let place = match place_of(output, form, &protected) {
        Ok(place) => place,
        Err(status) => return status,
    };
    let found = PictureInputs::at(sources).and_then(|found| found.with(monitor));
    // Standard input can be read only once.
    let can_be_read_again = !sources.iter().any(|source| source == Path::new("-"));
    let is_table = match &found {
        Ok(found) => !found.unlike_loads().is_empty(),
        Err(_) => sources.len() > 1,
    };
    if is_table && can_be_read_again {
        return runs_table::write_picture(sources, None, &place, form);
    }
    let found = match found {
        Ok(found) => found,
        Err(reason) => return fail(&reason),
    };
    if is_table {
        say_each("ERROR", &found.unlike_loads());
        say("ERROR: the loads differ; --table shows them side by side, diskspd compare --anyway their differences");
        return Status::Refused;
    }
    match found {
        PictureInputs::Sides(sides) => save(&Subject::Comparison(&Comparison::new(sides, &[])), &place, form),
        PictureInputs::One(one) => save(&one.subject(), &place, form),
    }
}

/// Results and recordings at the given paths.
enum PictureInputs {
    One(One),
    Sides(Vec<Side>),
}

/// The contents of one path.
enum One {
    Run { name: String, result: Box<RunResult>, devices: Option<Box<Recording>> },
    Recording { name: String, recording: Box<Recording> },
    Folder { name: String, kind: SeriesKind, sweep: Box<Sweep>, result: Option<Box<RunResult>> },
}

impl PictureInputs {
    fn at(sources: &[PathBuf]) -> Result<Self, String> {
        let [source] = sources else {
            let side = |path: &PathBuf| Ok(Side { name: name_of(path), results: read_all(path)? });
            return sources.iter().map(side).collect::<Result<_, String>>().map(Self::Sides);
        };
        One::at(source).map(Self::One)
    }

    /// Differences between the loads of results to be compared: `compare` refuses these, too.
    fn unlike_loads(&self) -> Vec<String> {
        let Self::Sides(sides) = self else { return Vec::new() };
        let mut results = sides.iter().flat_map(|side| &side.results);
        let Some(reference) = results.next() else { return Vec::new() };
        let unlike = results.map(|other| report::words::compare::load_differences(reference, other));
        unlike.into_iter().find(|load| !load.is_empty()).unwrap_or_default()
    }

    /// Adds the device activity during the run.
    fn with(self, monitor: Option<&Path>) -> Result<Self, String> {
        match (self, monitor) {
            (found, None) => Ok(found),
            (Self::One(One::Run { name, result, .. }), Some(path)) => {
                let devices = Some(Box::new(recording_in(path, &contents(path)?)?));
                Ok(Self::One(One::Run { name, result, devices }))
            }
            (_, Some(_)) => Err("--monitor needs the result of a single run".to_owned()),
        }
    }
}

impl One {
    fn at(source: &Path) -> Result<Self, String> {
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
                // Other programs give no verdict; some rules need only the measurements.
                if result.tool.implementation.is_none() {
                    verdict::judge(&mut result);
                }
                Ok(Self::Run { name, result, devices: None })
            }
        }
    }

    fn subject(&self) -> Subject<'_> {
        match self {
            Self::Run { name, result, devices } => Subject::Run { name, result, devices: devices.as_deref() },
            Self::Recording { name, recording } => Subject::Recording { name, recording },
            Self::Folder { name, kind, sweep, result } => {
                Subject::Series { kind: *kind, name, sweep, example: result.as_deref() }
            }
        }
    }
}
