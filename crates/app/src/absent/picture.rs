//! In a build without pages there are no HTML pages and charts.

use crate::feature::Feature;
use crate::outputs::OutputFile;
use cli::subcommand::report::PictureForm;
use report::words::gate::History;
use report::{Report, Subject};

/// Refuses to make a page or a chart.
pub(crate) fn bytes(_: &Subject<'_>, _: &PictureForm) -> Result<Vec<u8>, String> {
    Err(Feature::Pages.refusal())
}

/// Refuses to make a page of a report.
pub(crate) fn page(_: Report, _: &OutputFile) -> Result<(), String> {
    Err(Feature::Pages.refusal())
}

/// Refuses to make a page of a history.
pub(crate) fn history(_: &[History<'_>], _: &str) -> Result<String, String> {
    Err(Feature::Pages.refusal())
}
