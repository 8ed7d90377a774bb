//! Reports as pages and charts.

use crate::meaning::meaning;
use crate::outputs::OutputFile;
use cli::subcommand::report::PictureForm;
use pages::{ChartFormat, chart, html};
use report::words::gate::History;
use report::{Report, Subject};

/// A report as a page or a chart.
pub(crate) fn bytes(subject: &Subject<'_>, form: &PictureForm) -> Result<Vec<u8>, String> {
    let drawn = |name: Option<&str>, format| chart(subject, name, format).map_err(|error| error.to_string());
    match form {
        PictureForm::Page => html(subject.report(meaning)).map(String::into_bytes).map_err(|error| error.to_string()),
        PictureForm::Svg { chart } => drawn(chart.as_deref(), ChartFormat::Svg),
        PictureForm::Png { chart } => drawn(chart.as_deref(), ChartFormat::Png),
    }
}

/// Writes a report as a page.
pub(crate) fn page(report: Report, output: &OutputFile) -> Result<(), String> {
    let page = html(report).map_err(|error| error.to_string())?;
    output.save(|out| out.write_all(page.as_bytes()))
}

/// The page of `diskspd history`.
pub(crate) fn history(histories: &[History<'_>], name: &str) -> Result<String, String> {
    html(report::history(histories, name)).map_err(|error| error.to_string())
}
