//! `diskspd trace show`: the figures of a trace, and the closest load.

use crate::output::print;
use crate::status::{Status, fail, printed, refuse_with};
use cli::subcommand::trace::ShowTraceRequest;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use trace::readers::TraceReader;
use trace::summary::Summarizer;

/// Runs `diskspd trace show`.
pub(crate) fn run(request: &ShowTraceRequest) -> Status {
    let inputs = match request.traces.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>() {
        Ok(inputs) => inputs,
        Err(reason) => return fail(&reason),
    };
    let mut reader = match TraceReader::new(inputs) {
        Ok(reader) => reader,
        Err(error) => return refuse_with(&error.to_string()),
    };
    let mut summarizer = Summarizer::default();
    for event in reader.by_ref() {
        summarizer.add(&event);
    }
    printed(print(format!("{:?}\n", summarizer.finish()).as_bytes()), Status::Done)
}

/// A trace; `-` is stdin.
pub(crate) fn open(path: &PathBuf) -> Result<Box<dyn Read>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
    Ok(Box::new(file))
}
