//! `diskspd report --output` as a page or a chart.

use crate::output::{say, say_each};
use crate::outputs::{OutputFile, Protected};
use crate::runs_table;
use crate::saved_results::{contents, output_file, read_all, result_in, sweep_in};
use crate::status::{Status, fail};
use crate::subject::{meaning, name_of, recording_in, shown_run};
use cli::subcommand::report::{OutputAsked, PictureForm};
use model::device_interval::Recording;
use model::result::RunResult;
use model::sweep::{DeviceCount, SeriesKind, Sweep};
use pages::{ChartFormat, chart, html};
use render::document::DocumentKind;
use report::words::gate::History;
use report::{Report, Side, Subject};
use rules::verdict;
use std::path::{Path, PathBuf};

/// Makes one of some files and directories; `monitor` is a recording of what devices did during a run. Several results of one load
/// are compared; of different loads they are a table.
pub(crate) fn make(sources: &[PathBuf], output: &OutputAsked, form: &PictureForm, monitor: Option<&Path>) -> Status {
    let recording = monitor.map(|path| Protected { path: path.to_owned(), role: "the recording being read" });
    let protected: Vec<Protected> = runs_table::protected(sources).into_iter().chain(recording).collect();
    let place = match output_file(output, kind_of(form), &protected) {
        Ok(place) => place,
        Err(status) => return status,
    };
    let found = Found::at(sources).and_then(|found| found.with(monitor));
    // Standard input gives its bytes only once.
    let can_be_read_again = !sources.iter().any(|source| source == Path::new("-"));
    let is_table = match &found {
        Ok(found) => !found.unlike_loads().is_empty(),
        Err(_) => sources.len() > 1,
    };
    if is_table && can_be_read_again {
        return write_table(sources, None, &place, form);
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
    write(&found.subject(), &place, form)
}

/// Makes a page or chart of a table of runs.
pub(crate) fn make_table(
    sources: &[PathBuf],
    devices: Option<DeviceCount>,
    output: &OutputAsked,
    form: &PictureForm,
) -> Status {
    match output_file(output, kind_of(form), &runs_table::protected(sources)) {
        Ok(place) => write_table(sources, devices, &place, form),
        Err(status) => status,
    }
}

fn write_table(sources: &[PathBuf], devices: Option<DeviceCount>, place: &OutputFile, form: &PictureForm) -> Status {
    match runs_table::gather_all(sources, devices) {
        Ok(table) => {
            let name = match sources {
                [only] => name_of(only),
                _ => runs_table::title(&table),
            };
            write(&Subject::Runs { name: &name, table: &table }, place, form)
        }
        Err(status) => status,
    }
}

fn kind_of(form: &PictureForm) -> DocumentKind {
    match form {
        PictureForm::Page => DocumentKind::Page,
        PictureForm::Svg { .. } => DocumentKind::Svg,
        PictureForm::Png { .. } => DocumentKind::Png,
    }
}

fn write(subject: &Subject<'_>, place: &OutputFile, form: &PictureForm) -> Status {
    let drawn = |name: Option<&str>, format| chart(subject, name, format).map_err(|error| error.to_string());
    let bytes = match form {
        PictureForm::Page => html(subject.report(meaning)).map(String::into_bytes).map_err(|error| error.to_string()),
        PictureForm::Svg { chart } => drawn(chart.as_deref(), ChartFormat::Svg),
        PictureForm::Png { chart } => drawn(chart.as_deref(), ChartFormat::Png),
    };
    let written = bytes.and_then(|bytes| {
        let written = place.write(|out| out.write_all(&bytes));
        written.map_err(|error| format!("cannot write '{}': {error}", place.name().display()))
    });
    match written {
        Ok(()) => Status::Done,
        Err(reason) => fail(&reason),
    }
}

/// Writes a report as a page.
pub(crate) fn page(report: Report, output: &OutputFile) -> Result<(), String> {
    let page = html(report).map_err(|error| error.to_string())?;
    let written = output.write(|out| out.write_all(page.as_bytes()));
    written.map_err(|error| format!("cannot write '{}': {error}", output.name().display()))
}

/// The page of `diskspd history`.
pub(crate) fn history(histories: &[History<'_>], name: &str) -> Result<String, String> {
    html(report::history(histories, name)).map_err(|error| error.to_string())
}

/// What was found at the places that were given.
enum Found {
    Run { name: String, result: Box<RunResult>, devices: Option<Box<Recording>> },
    Recording { name: String, recording: Box<Recording> },
    Folder { name: String, kind: SeriesKind, sweep: Box<Sweep>, result: Option<Box<RunResult>> },
    Sides(Vec<Side>),
}

impl Found {
    fn at(sources: &[PathBuf]) -> Result<Self, String> {
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
    fn unlike_loads(&self) -> Vec<String> {
        let Self::Sides(sides) = self else { return Vec::new() };
        let mut results = sides.iter().flat_map(|side| &side.results);
        let Some(reference) = results.next() else { return Vec::new() };
        let unlike = results.map(|other| report::words::compare::load_differences(reference, other));
        unlike.into_iter().find(|load| !load.is_empty()).unwrap_or_default()
    }

    /// The same with what devices did meanwhile.
    fn with(self, monitor: Option<&Path>) -> Result<Self, String> {
        match (self, monitor) {
            (found, None) => Ok(found),
            (Self::Run { name, result, .. }, Some(path)) => {
                Ok(Self::Run { name, result, devices: Some(Box::new(recording_in(path, &contents(path)?)?)) })
            }
            (_, Some(_)) => Err("--monitor needs the result of a single run".to_owned()),
        }
    }

    fn subject(&self) -> Subject<'_> {
        match self {
            Self::Run { name, result, devices } => Subject::Run { name, result, devices: devices.as_deref() },
            Self::Recording { name, recording } => Subject::Recording { name, recording },
            Self::Folder { name, kind, sweep, result } => {
                Subject::Series { kind: *kind, name, sweep, example: result.as_deref() }
            }
            Self::Sides(sides) => Subject::Comparison { sides, more: &[] },
        }
    }
}
