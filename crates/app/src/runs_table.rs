//! `diskspd report` of many runs: one table as text, CSV, workbook or page.

use crate::meaning::meaning;
use crate::output::{print, say};
use crate::outputs::{OutputFile, Protected, cannot_write, written};
use crate::picture_file::{place_of, save};
use crate::saved_results::{contents, output_file, read, rounded_result_in, sweep_in};
use crate::series_folder;
use crate::status::{Status, done, fail, printed, refuse_with};
use crate::subject::name_of;
use crate::workbook;
use cli::subcommand::report::{OutputAsked, PictureForm, TableForm};
use model::sweep::{DeviceCount, Sweep, VisitOutcome};
use render::Detail;
use render::document::{DocumentKind, HEAD_BYTES};
use report::Subject;
use report::runs_table::{InSeries, RunSource, RunsTable};
use rules::verdict;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Makes the table of some files and directories.
pub(crate) fn make(
    sources: &[PathBuf],
    devices: Option<DeviceCount>,
    output: Option<&(OutputAsked, TableForm)>,
) -> Status {
    match output {
        Some((output, form)) => write(sources, devices, output, form),
        None => print_table(sources, devices),
    }
}

/// Prints the runs of all readable sources; unreadable ones do not prevent the others from being printed.
fn print_table(sources: &[PathBuf], devices: Option<DeviceCount>) -> Status {
    let (table, reasons) = gather(sources, devices);
    let status = fail_for(&reasons);
    if table.rows().is_empty() {
        return status;
    }
    let report = Subject::Runs { name: &title(&table), table: &table }.report(meaning);
    match written(|out| render::report_text(&report, Detail::Short, out)) {
        Ok(text) => printed(print(&text), status),
        Err(error) => fail(&format!("the report cannot be created: {error}")),
    }
}

/// Writes a page or a chart of all sources.
pub(crate) fn write_picture(
    sources: &[PathBuf],
    devices: Option<DeviceCount>,
    place: &OutputFile,
    form: &PictureForm,
) -> Status {
    match gather_all(sources, devices) {
        Ok(table) => {
            let name = match sources {
                [only] => name_of(only),
                _ => title(&table),
            };
            save(&Subject::Runs { name: &name, table: &table }, place, form)
        }
        Err(status) => status,
    }
}

/// Writes a table of all sources, or nothing.
fn write(sources: &[PathBuf], devices: Option<DeviceCount>, output: &OutputAsked, form: &TableForm) -> Status {
    if let TableForm::Picture(form) = form {
        return match place_of(output, form, &protected(sources)) {
            Ok(place) => write_picture(sources, devices, &place, form),
            Err(status) => status,
        };
    }
    if *form == TableForm::Workbook
        && let Some(reason) = crate::feature::Feature::Sheets.missing()
    {
        return refuse_with(&format!("--output '{}': {reason}", output.path.display()));
    }
    let append = *form == TableForm::Csv { append: true };
    if append && let Err(reason) = check_header(&output.path) {
        return refuse_with(&format!("--output '{}': {reason}", output.path.display()));
    }
    let kind = if *form == TableForm::Workbook { DocumentKind::Workbook } else { DocumentKind::RunsTable };
    let place = match output_file(output, kind, &protected(sources)) {
        Ok(place) => place,
        Err(status) => return status,
    };
    let table = match gather_all(sources, devices) {
        Ok(table) => table,
        Err(status) => return status,
    };
    let is_empty = table.rows().iter().all(|row| !row.has_figures());
    if place.is_there() && is_empty {
        return fail(&format!(
            "--output '{}': no run has results; the existing file is unchanged",
            output.path.display()
        ));
    }
    let bytes = match form {
        TableForm::Workbook => workbook::bytes(&table),
        _ if append => appended(&place, &table),
        _ => written(|out| render::runs_csv(&table, out)).map_err(|error| error.to_string()),
    };
    let bytes = bytes.map_err(|reason| cannot_write(place.name(), &reason));
    done(bytes.and_then(|bytes| place.save(|out| out.write_all(&bytes))))
}

/// The source files of a table, which its output may not replace.
pub(crate) fn protected(sources: &[PathBuf]) -> Vec<Protected> {
    sources.iter().map(|path| Protected { path: path.clone(), role: "the result being read" }).collect()
}

/// `12 runs`
fn title(table: &RunsTable) -> String {
    model::units::counted(table.rows().len(), "run")
}

/// The table of all sources; if one cannot be read, all reasons are printed.
fn gather_all(sources: &[PathBuf], devices: Option<DeviceCount>) -> Result<RunsTable, Status> {
    let (table, reasons) = gather(sources, devices);
    if reasons.is_empty() { Ok(table) } else { Err(fail_for(&reasons)) }
}

fn fail_for(reasons: &[String]) -> Status {
    reasons.iter().fold(Status::Done, |_, reason| fail(reason))
}

/// The runs of the sources, and the reasons why some cannot be read.
pub(crate) fn gather(sources: &[PathBuf], devices: Option<DeviceCount>) -> (RunsTable, Vec<String>) {
    let mut table = RunsTable::new(devices);
    let mut reasons = Vec::new();
    for source in sources {
        let added = match sweep_in(source) {
            Some(Ok((_, sweep))) => {
                add_series(&mut table, source, &sweep);
                Ok(())
            }
            Some(Err(reason)) => Err(reason),
            None if source.is_dir() => add_directory(&mut table, source, &mut reasons),
            None => add_file(&mut table, source),
        };
        reasons.extend(added.err());
    }
    (table, reasons)
}

fn add_file(table: &mut RunsTable, file: &Path) -> Result<(), String> {
    let bytes = contents(file)?;
    if import::recording::is_recording(&bytes) {
        return Err(format!(
            "'{}' is a recording of diskspd monitor, not a result: diskspd report prints it and makes its page",
            file.display()
        ));
    }
    let (mut result, rounding) = rounded_result_in(file, &bytes)?;
    // Other programs give no verdict; some rules need only the measurements.
    if result.tool.implementation.is_none() {
        verdict::judge(&mut result);
    }
    table.add(&RunSource { name: file.to_string_lossy().into_owned(), series: None, rounding }, &result);
    Ok(())
}

/// The runs of a series with the settings of their points. A run whose file is missing has the values of the index.
fn add_series(table: &mut RunsTable, directory: &Path, sweep: &Sweep) {
    for visit in &sweep.visits {
        let settings = sweep.points.get(visit.point).map(|point| point.settings.clone()).unwrap_or_default();
        let series = InSeries { name: directory.to_string_lossy().into_owned(), purpose: visit.purpose, settings };
        let mut source = RunSource { name: series.name.clone(), series: Some(series), ..RunSource::default() };
        match &visit.outcome {
            VisitOutcome::Measured { file, headline } => {
                // Files of a series are in its directory, regardless of the index.
                let path = directory.join(Path::new(file).file_name().unwrap_or_default());
                source.name = path.to_string_lossy().into_owned();
                match read(&path) {
                    Ok(result) => table.add(&source, &result),
                    Err(reason) => {
                        say(&format!("WARNING: {reason}; its row has only the figures of the index"));
                        table.add_headline(&source, headline);
                    }
                }
            }
            VisitOutcome::Failed { reasons } => table.add_failed(&source, reasons),
        }
    }
}

/// The results in a directory that no series wrote, by name: JSON, XML and text. Of the forms of one run, JSON is
/// preferred to XML, and XML to text.
fn add_directory(table: &mut RunsTable, directory: &Path, reasons: &mut Vec<String>) -> Result<(), String> {
    const SUFFIXES: [&str; 3] = ["json", "xml", "txt"];
    let error = |error| format!("cannot read '{}': {error}", directory.display());
    let rank = |file: &Path| {
        let suffix = file.extension()?.to_ascii_lowercase();
        SUFFIXES.iter().position(|known| suffix == *known)
    };
    let mut files: Vec<(PathBuf, usize, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)? {
        let file = entry.map_err(error)?.path();
        if let Some(rank) = rank(&file).filter(|_| !series_folder::is_no_run(&file)) {
            if file.is_file() {
                files.push((file.with_extension(""), rank, file));
            } else {
                say(&format!("WARNING: '{}' is not a regular file and is skipped", file.display()));
            }
        }
    }
    files.sort();
    files.dedup_by(|later, first| later.0 == first.0);
    if files.is_empty() {
        return Err(format!("no results in '{}'", directory.display()));
    }
    for (_, rank, file) in files {
        match add_file(table, &file) {
            // It was not named explicitly, and many texts and documents are not results.
            Err(reason) if rank > 0 && !is_begun(&file) => say(&format!("WARNING: {reason}; it is skipped")),
            added => reasons.extend(added.err()),
        }
    }
    Ok(())
}

/// True if a file begins like a result.
fn is_begun(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| import::read_rounded(&bytes) != Err(import::ReadError::NotAResult))
}

/// Refuses a file to which rows cannot be appended: its columns differ, or its last line is incomplete.
fn check_header(path: &Path) -> Result<(), String> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let unreadable = |error| format!("the existing file cannot be read: {error}");
    let mut beginning = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut beginning)).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&beginning);
    let (line, expected) = (text.split('\n').next().unwrap_or_default(), render::runs_header());
    if line == expected && text.contains('\n') {
        return Ok(());
    }
    let names = |line: &str| -> Vec<String> {
        line.trim_start_matches('\u{feff}').trim_end_matches('\r').split(',').map(str::to_owned).collect()
    };
    let (found, wanted) = (names(line), names(&expected));
    let only_in = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let (missing, unknown) = (only_in(&wanted, &found), only_in(&found, &wanted));
    if missing.len() == wanted.len() {
        return Err("rows are added only to a table of runs: its first line has none of the columns".to_owned());
    }
    let listed = |what: &str, mut names: Vec<String>| {
        let more = names.len().saturating_sub(NAMES_MAX);
        names.truncate(NAMES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{what} {}{more}", names.join(", ")))
    };
    let differences: Vec<String> =
        [listed("it lacks", missing), listed("it alone has", unknown)].into_iter().flatten().collect();
    Err(match &differences[..] {
        [] => "its header has the columns in another order, other line ends or a byte order mark: write a new table"
            .to_owned(),
        differences => format!("its columns differ: {}; write a new table", differences.join(", ")),
    })
}

/// Maximum number of columns listed in an error.
const NAMES_MAX: usize = 6;

/// The existing file with the rows appended; a whole table if there is none.
fn appended(place: &OutputFile, table: &RunsTable) -> Result<Vec<u8>, String> {
    let found = if place.is_there() { fs::read(place.name()).map_err(|error| error.to_string())? } else { Vec::new() };
    if found.is_empty() {
        return written(|out| render::runs_csv(table, out)).map_err(|error| error.to_string());
    }
    if !found.ends_with(b"\n") {
        return Err("its last line is not whole: end it with a line feed, or remove it".to_owned());
    }
    let rows = written(|out| render::runs_csv_rows(table, out)).map_err(|error| error.to_string())?;
    Ok([found, rows].concat())
}
