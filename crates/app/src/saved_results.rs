//! Reading saved results.

use crate::foreign_file;
use crate::output::say;
use crate::outputs::{OutputFile, Protected, Replace};
use crate::series_folder;
use crate::status::{Status, refuse_with};
use cli::subcommand::report::OutputAsked;
use model::result::RunResult;
use model::sweep::{SeriesKind, Sweep};
use render::document::DocumentKind;
use report::runs_table::Rounding;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The file of `--output`, checked.
pub(crate) fn output_file(
    output: &OutputAsked,
    kind: DocumentKind,
    protected: &[Protected],
) -> Result<OutputFile, Status> {
    OutputFile::check(&output.path, Replace { kind, any: output.replace }, protected)
        .map_err(|reason| refuse_with(&format!("--output '{}': {reason}", output.path.display())))
}

/// Reads a result of this program or of DiskSpd; the error is a sentence.
pub(crate) fn read(file: &Path) -> Result<RunResult, String> {
    let bytes = contents(file)?;
    if import::recording::is_recording(&bytes) {
        return Err(format!(
            "'{}' is a recording of diskspd monitor, not a result: diskspd report prints it and makes its page",
            file.display()
        ));
    }
    result_in(file, &bytes)
}

/// Parses the contents of a file as a result; the error is a sentence.
pub(crate) fn result_in(file: &Path, bytes: &[u8]) -> Result<RunResult, String> {
    read_with(file, bytes, import::read)
}

/// The same, also for a text report of this program, and the precision of its values.
pub(crate) fn rounded_result_in(file: &Path, bytes: &[u8]) -> Result<(RunResult, Rounding), String> {
    let result = read_with(file, bytes, import::read_rounded)?;
    let is_fio = import::fio::is_document(bytes);
    let is_json = !is_fio && bytes.trim_ascii_start().starts_with(b"{");
    let rounding = match () {
        () if is_fio => Rounding::Fio,
        () if is_json => Rounding::Exact,
        () if import::is_text_report(bytes) => Rounding::Text,
        () => Rounding::Xml,
    };
    Ok((result, rounding))
}

fn read_with(
    file: &Path,
    bytes: &[u8],
    read_other: fn(&[u8]) -> Result<RunResult, import::ReadError>,
) -> Result<RunResult, String> {
    let is_fio = import::fio::is_document(bytes);
    if let Some(reason) = foreign_file::reason(file, bytes).filter(|_| !is_fio) {
        return Err(reason);
    }
    let is_json = is_fio || bytes.trim_ascii_start().starts_with(b"{");
    let result = if is_json {
        import::json::read(bytes).map_err(|error| error.to_string())
    } else {
        read_other(bytes).map_err(|error| error.to_string())
    };
    result.map_err(|reason| format!("'{}': {reason}", file.display()))
}

/// Reads at most one byte more than the limit, in one pass: a pipe can be read only once.
pub(crate) fn contents(file: &Path) -> Result<Vec<u8>, String> {
    let limit = import::json::BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map(|_| bytes).map_err(|error| format!("cannot read '{}': {error}", file.display()))
}

/// The results of one side of a comparison: a file, or every result in a directory.
pub(crate) fn read_all(path: &Path) -> Result<Vec<RunResult>, String> {
    if path.is_dir() { results_in(path) } else { read(path).map(|result| vec![result]) }
}

/// The results in a directory.
fn results_in(path: &Path) -> Result<Vec<RunResult>, String> {
    let error = |error| format!("cannot read '{}': {error}", path.display());
    if let Some(Ok((kind, sweep))) = sweep_in(path)
        && sweep.points.len() > 1
    {
        // Their scatter would be that between the points.
        return Err(format!(
            "'{}' has the {} points of a {}, not repeats of one load: give the results of one point",
            path.display(),
            sweep.points.len(),
            kind.name()
        ));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(error)? {
        let file = entry.map_err(error)?.path();
        let is_json = file.extension().is_some_and(|suffix| suffix == "json");
        if !is_json || series_folder::is_no_run(&file) {
            continue;
        }
        // It was not named explicitly, and reading a pipe or a device may never end.
        if file.is_file() {
            files.push(file);
        } else {
            say(&format!("WARNING: '{}' is not a regular file and is skipped", file.display()));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("no results in '{}'", path.display()));
    }
    files.iter().map(|file| read(file)).collect()
}

/// Contents of a directory created by a sweep or a repeat, if it is one.
pub(crate) fn sweep_in(path: &Path) -> Option<Result<(SeriesKind, Sweep), String>> {
    let kind = SeriesKind::ALL.into_iter().find(|kind| path.join(kind.file()).is_file())?;
    let file = path.join(kind.file());
    let text = fs::read(&file).map_err(|error| format!("cannot read '{}': {error}", file.display()));
    Some(text.and_then(|text| Ok((kind, series_folder::read(&text, &file, kind)?))))
}
