//! `diskspd trace replay`: the requests of a trace, issued again.

use crate::load;
use crate::status::{Status, refuse_with};
use crate::system_env::{Invocation, SystemEnv};
use crate::trace_reading::open;
use cli::subcommand::trace::ReplayRequest;
use model::printable::printable;
use model::replay::Replay;
use std::path::Path;
use trace::replay::survey;
use trace::summary::Summarizer;

/// Runs `diskspd trace replay`.
pub(crate) fn run(invocation: &Invocation, request: &ReplayRequest) -> Status {
    let prepared = surveyed(request).and_then(|replay| cli::replay_request(request, replay, &SystemEnv));
    match prepared {
        Ok(run) => load::run(invocation, &run),
        Err(reason) => refuse_with(&reason),
    }
}

/// Reads the whole trace: its figures decide how the target is opened and what it must have room for.
fn surveyed(request: &ReplayRequest) -> Result<Replay, String> {
    let name = printable(&request.trace.to_string_lossy()).into_owned();
    if request.trace == Path::new("-") {
        return Err("trace replay reads the trace twice, which stdin does not allow: give a file".to_owned());
    }
    let mut reader = open(&request.trace)?;
    let mut summarizer = Summarizer::default();
    let mut span_ns = 0;
    for event in reader.by_ref() {
        span_ns = event.issue_ns;
        summarizer.add(&event);
    }
    let (device_begins_bytes, recorded) = survey(&summarizer.finish(), span_ns);
    let ReplayRequest { closed, scale_offsets, discards, .. } = *request;
    let trace = request.trace.clone();
    let replay = Replay { trace, closed, scale_offsets, discards, device_begins_bytes, recorded };
    let left_out = if discards { 0 } else { replay.recorded.discard.count };
    if replay.recorded.count() == left_out {
        return Err(format!("'{name}' has no requests to replay"));
    }
    Ok(replay)
}
