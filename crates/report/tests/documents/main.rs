//! Result documents, written and read back: XML, CSV, and the reports of other programs.

mod captured;
mod csv;
mod generated;
mod hostile;
mod older;
mod reader;
mod round_trip;

use model::result::RunResult;

/// A document as text.
fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

fn text(result: &RunResult) -> String {
    written(|out| report::text(result, out))
}

fn xml(result: &RunResult, profile_xml: &str) -> String {
    written(|out| report::xml(result, profile_xml, out))
}
