//! Result documents, written and read back: XML, CSV, and the reports of other programs.

mod captured;
mod csv;
mod document;
mod elements;
mod fio_form;
mod fleet;
mod generated;
mod hostile;
mod older;
mod reader;
mod round_trip;
mod settings;

use model::profile::ResultFormat;
use model::result::RunResult;

/// A document as text.
fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

fn text(result: &RunResult) -> String {
    written(|out| render::text(result, render::Detail::Full, out))
}

/// With the profile as it would be shown.
fn xml(result: &RunResult) -> String {
    let profile = cli::write_profile(&result.profile, ResultFormat::Xml);
    written(|out| render::xml(result, &profile, out))
}
