//! `diskspd report --output` as a page or a chart.

use crate::output::{say, say_each};
use crate::outputs::{OutputFile, Protected};
use crate::saved_results::output_file;
use crate::status::{Status, fail};
use crate::subject::{Found, meaning};
use cli::subcommand::report::{OutputAsked, PictureForm};
use pages::{ChartFormat, chart, html};
use render::document::DocumentKind;
use report::Report;
use report::words::gate::History;
use std::path::{Path, PathBuf};

/// Makes one of some files and directories; `monitor` is a recording of what devices did during a run.
pub(crate) fn make(sources: &[PathBuf], output: &OutputAsked, form: &PictureForm, monitor: Option<&Path>) -> Status {
    let results = sources.iter().map(|path| Protected { path: path.clone(), role: "the result being read" });
    let recording = monitor.map(|path| Protected { path: path.to_owned(), role: "the recording being read" });
    let protected: Vec<Protected> = results.chain(recording).collect();
    let kind = match form {
        PictureForm::Page => DocumentKind::Page,
        PictureForm::Svg { .. } => DocumentKind::Svg,
        PictureForm::Png { .. } => DocumentKind::Png,
    };
    let place = match output_file(output, kind, &protected) {
        Ok(place) => place,
        Err(status) => return status,
    };
    let found = match Found::at(sources).and_then(|found| found.with(monitor)) {
        Ok(found) => found,
        Err(reason) => return fail(&reason),
    };
    let unlike = found.unlike_loads();
    if !unlike.is_empty() {
        say_each("ERROR", &unlike);
        say("ERROR: the loads differ; diskspd compare --anyway prints their differences");
        return Status::Refused;
    }
    let drawn = |name: Option<&str>, format| chart(&found.subject(), name, format).map_err(|error| error.to_string());
    let bytes = match form {
        PictureForm::Page => {
            html(found.subject().report(meaning)).map(String::into_bytes).map_err(|error| error.to_string())
        }
        PictureForm::Svg { chart } => drawn(chart.as_deref(), ChartFormat::Svg),
        PictureForm::Png { chart } => drawn(chart.as_deref(), ChartFormat::Png),
    };
    let written = bytes.and_then(|bytes| {
        let written = place.write(|out| out.write_all(&bytes));
        written.map_err(|error| format!("cannot write '{}': {error}", output.path.display()))
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
