//! In a build without pages there are no HTML pages and charts.

use crate::feature::Feature;
use crate::output::say;
use crate::outputs::OutputFile;
use crate::status::Status;
use cli::subcommand::report::{OutputAsked, PictureForm};
use model::sweep::DeviceCount;
use report::Report;
use report::words::gate::History;
use std::path::{Path, PathBuf};

/// Refuses to make one.
pub(crate) fn make(_: &[PathBuf], output: &OutputAsked, _: &PictureForm, _: Option<&Path>) -> Status {
    say(&format!("ERROR: --output '{}': {}", output.path.display(), Feature::Pages.refusal()));
    Status::Refused
}

/// Refuses to make one of a table of runs.
pub(crate) fn make_table(
    sources: &[PathBuf],
    _: Option<DeviceCount>,
    output: &OutputAsked,
    form: &PictureForm,
) -> Status {
    make(sources, output, form, None)
}

/// Refuses to make one of a report.
pub(crate) fn page(_: Report, _: &OutputFile) -> Result<(), String> {
    Err(Feature::Pages.refusal())
}

/// Refuses to make one of a history.
pub(crate) fn history(_: &[History<'_>], _: &str) -> Result<String, String> {
    Err(Feature::Pages.refusal())
}
