//! Traces of block I/O.

use ::trace::figures::{Closest, Document, Figures};
use ::trace::readers::TraceReader;
use model::validate::{Purpose, validate};
use render::Detail;

/// A trace of any kind: its figures can be shown and compared, and its closest load is valid.
pub fn trace(bytes: &[u8]) {
    let Ok(reader) = TraceReader::new(vec![Box::new(bytes)]) else { return };
    let figures = Figures::read(reader);
    let closest = Closest::new(&figures.summary);
    let document = Document::new(&[], &figures, closest.as_ref());
    serde_json::to_vec(&document).expect("JSON");
    let mut text = Vec::new();
    render::report_text(&report::trace("t", &figures, closest.as_ref(), None), Detail::Full, &mut text)
        .expect("memory takes it");
    let load = report::ComparedLoad::Trace(&figures);
    let compared = report::load_comparison(["a", "b"], [load, load]).expect("a trace has figures");
    render::report_text(&compared, Detail::Full, &mut text).expect("memory takes it");
    if let Some(closest) = closest {
        let findings = validate(&closest.fit.load.profile(60), Purpose::Show);
        assert!(findings.errors.is_empty(), "{:?}: {:?}", closest.fit.load, findings.errors);
    }
}
