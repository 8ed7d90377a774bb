//! `diskspd trace record`: requests of a disk, a partition, a file or a process, written as a trace.

use crate::interrupt;
use crate::output::say;
use crate::outputs::{OutputFile, Replace};
use crate::status::{Status, fail, refuse_with};
use cli::subcommand::trace::{RecordRequest, RecordSource};
use host::{RequestPlace, Root, request_place};
use model::block_step::MissedSteps;
use model::units::counted;
use model::version::IMPLEMENTATION_VERSION;
use render::document::DocumentKind;
use std::cell::Cell;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trace::event::{Device, Event, Names};
use trace::format::{Header, Writer};
use trace::readers::TraceReader;

mod steps;

/// Runs `diskspd trace record`.
pub(crate) fn run(request: &RecordRequest) -> Status {
    match recorded(request) {
        Ok(status) | Err(status) => status,
    }
}

/// The requests that are wanted.
#[derive(Debug)]
enum Selection {
    /// Those of a place.
    Place(RequestPlace),
    /// Those of a process and its threads.
    Process(u32),
}

/// Counts of a recording that has ended.
#[derive(Debug, Default)]
struct Outcome {
    written: u64,
    without_completion: u64,
}

fn recorded(request: &RecordRequest) -> Result<Status, Status> {
    let root = Root::machine();
    let selection = match &request.source {
        RecordSource::Place(path) => Selection::Place(request_place(&root, path).map_err(|reason| fail(&reason))?),
        RecordSource::Process(pid) if !host::process_exists(&root, *pid) => {
            return Err(fail(&format!("there is no process {pid} (--pid)")));
        }
        RecordSource::Process(pid) => Selection::Process(*pid),
    };
    let replace = Replace { kind: DocumentKind::Trace, any: request.replace_output };
    let file = OutputFile::check(&request.output, replace, &[])
        .map_err(|reason| refuse_with(&format!("--output '{}': {reason}", request.output.display())))?;
    let signals = interrupt::watch().map_err(|error| fail(&format!("cannot handle signals: {error}")))?;
    let duration = request.duration_s.map(|seconds| Duration::from_secs(seconds.get().into()));
    write_trace(&selection, &root, &file, duration, &signals.interrupted)
}

fn write_trace(
    selection: &Selection,
    root: &Root,
    file: &OutputFile,
    duration: Option<Duration>,
    interrupted: &AtomicBool,
) -> Result<Status, Status> {
    let disk = match selection {
        Selection::Place(place) => Some(place.disk),
        Selection::Process(_) => None,
    };
    let missed = Cell::default();
    let mut steps = steps::Steps::begin(root, disk, duration, interrupted, &missed).map_err(|reason| fail(&reason))?;
    if let Some(refusal) = steps.refusal() {
        say(&format!("NOTE: tracefs events are recorded: {refusal}"));
    }
    say(&begun(selection, duration));
    let unix_minus_monotonic = sys::clock::realtime_ns() - i128::from(sys::clock::monotonic_ns());
    let mut outcome = Outcome::default();
    let reader = TraceReader::from_steps(&mut steps, unix_minus_monotonic);
    file.save(|out| {
        outcome = copy(reader, selection, &missed, out)?;
        Ok(())
    })
    .map_err(|error| fail(&error))?;
    say(&ended(&outcome, file, missed.get()));
    Ok(Status::Done)
}

/// Writes the wanted requests of a recording; times count from the first of them.
fn copy(
    mut reader: TraceReader<'_>,
    selection: &Selection,
    missed: &Cell<MissedSteps>,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    let (mut outcome, mut out) = (Outcome::default(), Some(out));
    let mut open: Option<(Writer<&mut dyn Write>, u64)> = None;
    while let Some(event) = reader.next() {
        if !selection.wants(&event, reader.names()) {
            continue;
        }
        let (writer, begin_ns) = match &mut open {
            Some(open) => open,
            closed => {
                let Some(out) = out.take() else { break };
                let begin_unix_ns = reader.begin_unix_ns().map(|unix_ns| unix_ns + event.issue_ns);
                closed.insert((Writer::new(out, &header(selection, begin_unix_ns))?, event.issue_ns))
            }
        };
        outcome.written += 1;
        outcome.without_completion += u64::from(event.latency_ns.is_none());
        writer.push(&Event { issue_ns: event.issue_ns - *begin_ns, ..event }, reader.names())?;
    }
    let writer = match (open, out) {
        (Some((writer, _)), _) => Some(writer),
        (None, Some(out)) => Some(Writer::new(out, &header(selection, None))?),
        (None, None) => None,
    };
    if let Some(mut writer) = writer {
        writer.set_missed_events(missed.get().total());
        writer.finish(reader.names())?;
    }
    Ok(outcome)
}

fn header(selection: &Selection, begin_unix_ns: Option<u64>) -> Header {
    let devices = match selection {
        Selection::Place(RequestPlace { disk: (major, minor), disk_bytes, .. }) => {
            vec![Device { name: format!("{major},{minor}"), size_bytes: Some(*disk_bytes) }]
        }
        Selection::Process(_) => Vec::new(),
    };
    Header { begin_unix_ns, program: format!("diskspd {IMPLEMENTATION_VERSION}"), devices }
}

impl Selection {
    fn wants(&self, event: &Event, names: &Names) -> bool {
        match self {
            Self::Place(place) => place.contains(event.offset, event.length),
            Self::Process(pid) => names.processes().get(event.process as usize).is_some_and(|of| of.pid == *pid),
        }
    }
}

/// The requests that are recorded, and how the recording ends.
fn begun(selection: &Selection, duration: Option<Duration>) -> String {
    let end = duration.map_or("until Ctrl+C".to_owned(), |duration| format!("for {} s", duration.as_secs()));
    match selection {
        Selection::Process(pid) => format!("recording requests of process {pid}, {end}"),
        Selection::Place(RequestPlace { disk_name, ranges, is_file, .. }) => {
            let part = match (is_file, ranges.len()) {
                (true, extents) => {
                    format!(" in the {} of the file (flushes are of the whole disk)", counted(extents as u64, "extent"))
                }
                (false, 0) => String::new(),
                (false, _) => " in the partition".to_owned(),
            };
            format!("recording requests to {disk_name}{part}, {end}")
        }
    }
}

fn ended(outcome: &Outcome, file: &OutputFile, missed: MissedSteps) -> String {
    let Outcome { written, without_completion } = outcome;
    let requests = format!("{} in '{}'", counted(*written, "request"), file.name().display());
    let incomplete = (*without_completion > 0).then(|| format!("{without_completion} without completion"));
    let MissedSteps { without_room, skipped } = missed;
    let lost = (without_room > 0).then(|| format!("{} lost, as the buffer was full", counted(without_room, "event")));
    let skipped = (skipped > 0).then(|| {
        let events = counted(skipped, "event");
        format!("up to {events} lost, at which the kernel skipped the eBPF program as one was running on that CPU")
    });
    [Some(requests), incomplete, lost, skipped].into_iter().flatten().collect::<Vec<_>>().join("; ")
}
