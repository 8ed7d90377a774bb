//! JSON of fio: real documents of 3.33, one in the form of 2.2, and damaged ones.

mod figures;
mod hostile;

use import::fio::is_document;
use import::json::read;
use model::result::{Measured, RunResult};

/// Documents by name.
const DOCUMENTS: [(&str, &str); 8] = [
    ("mix", include_str!("../data/fio/mix.json")),
    ("four", include_str!("../data/fio/four.json")),
    ("plus", include_str!("../data/fio/plus.json")),
    ("fsync", include_str!("../data/fio/fsync.json")),
    ("trim", include_str!("../data/fio/trim.json")),
    ("status", include_str!("../data/fio/status.json")),
    ("jobs", include_str!("../data/fio/jobs.json")),
    ("2.2.10", include_str!("../data/fio/2.2.10.json")),
];

fn document(name: &str) -> &'static str {
    DOCUMENTS.iter().find(|(known, _)| *known == name).expect("a document").1
}

fn result(name: &str) -> RunResult {
    read_text(document(name))
}

fn read_text(text: &str) -> RunResult {
    assert!(is_document(text.as_bytes()), "it is known for what it is");
    read(text.as_bytes()).expect("a result")
}

fn measured(result: &RunResult) -> &Measured {
    result.time_spans[0].measured.as_ref().expect("it measured")
}

/// All notes as text.
fn notes(result: &RunResult) -> String {
    let notes = result.notes.iter().chain(result.time_spans.iter().flat_map(|span| &span.notes));
    notes.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
