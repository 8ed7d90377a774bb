//! `--trace`: the I/Os of a run, written as a trace by a thread beside it.

use crate::output::say;
use crate::outputs::{OutputFile, Protected, Replace, cannot_write};
use cli::RunOptions;
use model::plan::Plan;
use model::units::counted;
use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
use render::document::DocumentKind;
use run::io_trace::{IoRings, TracedIo};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::event::{Action, Device, Event, Flags, Names};
use trace::format::{Header, Writer};
use trace::reorder::Reorder;

/// How often the threads' I/Os are fetched.
const FETCH: Duration = Duration::from_millis(5);

/// I/Os that are put in order of their start at once: those of many threads, of which some take long.
const WINDOW: usize = 1 << 18;

const UNCHANGED: &str = "this run has no I/Os; the existing file is unchanged";

/// The file for the trace of a run, if it has one and is not only planned.
///
/// # Errors
///
/// The reason why it cannot be written.
pub(crate) fn check(options: &RunOptions, protected: &[Protected]) -> Result<Option<OutputFile>, String> {
    let Some(path) = options.trace.as_ref().filter(|_| !options.plan_only) else { return Ok(None) };
    let replace = Replace { kind: DocumentKind::Trace, any: options.replace_output };
    let checked = OutputFile::check(path, replace, protected);
    checked.map(Some).map_err(|reason| format!("--trace '{}': {reason}", path.display()))
}

/// The thread that writes.
pub(crate) struct TraceOfRun {
    rings: Arc<IoRings>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, String>>,
}

impl TraceOfRun {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// The machine gives no thread.
    pub(crate) fn begin(file: OutputFile, plan: &Plan) -> Result<Self, String> {
        let (rings, is_over) = (Arc::new(IoRings::new(plan)), Arc::new(AtomicBool::new(false)));
        let write = {
            let (rings, is_over) = (Arc::clone(&rings), Arc::clone(&is_over));
            move || {
                let mut late = 0;
                let mut is_kept = false;
                let written = file.write(|out| {
                    let count = self::write(&rings, &is_over, out)?;
                    is_kept = count.is_none() && file.is_there();
                    late = count.unwrap_or(0);
                    if is_kept { Err(io::Error::other(UNCHANGED)) } else { Ok(()) }
                });
                if is_kept {
                    say(&format!("WARNING: --trace '{}': {UNCHANGED}", file.name().display()));
                    return Ok(0);
                }
                written.map(|()| late).map_err(|error| cannot_write(file.name(), &error))
            }
        };
        let started = std::thread::Builder::new().name("trace".to_owned()).spawn(write);
        let thread = started.map_err(|error| format!("cannot start the thread of --trace: {error}"))?;
        Ok(Self { rings, is_over, thread })
    }

    /// Where the run puts its I/Os.
    pub(crate) fn rings(&self) -> Arc<IoRings> {
        Arc::clone(&self.rings)
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The reason why the trace could not be written.
    pub(crate) fn end(self) -> Result<(), String> {
        self.is_over.store(true, SeqCst);
        self.thread.thread().unpark();
        let late = self.thread.join().map_err(|_| "the thread of --trace ended by a panic".to_owned())??;
        if late > 0 {
            say(&format!(
                "WARNING: --trace has later starts than the true ones for {}",
                counted(late as usize, "slow I/O")
            ));
        }
        Ok(())
    }
}

/// Writes I/Os in order of their start until the run is over; gives the number of those that came too late for that, `None`
/// without any I/O.
fn write(rings: &IoRings, is_over: &AtomicBool, out: &mut dyn Write) -> io::Result<Option<u64>> {
    let mut names = Names::default();
    let devices = rings
        .targets()
        .iter()
        .map(|(path, bytes)| Device { name: path.display().to_string(), size_bytes: Some(*bytes) });
    let mut header = Header {
        begin_unix_ns: None,
        program: format!("{IMPLEMENTATION} {IMPLEMENTATION_VERSION}"),
        devices: devices.collect(),
    };
    header.devices.truncate(trace::event::DEVICES_MAX);
    for (index, device) in header.devices.iter().enumerate() {
        names.set_device(index, device.clone());
    }
    let pid = std::process::id();
    let mut window = Reorder::new(WINDOW);
    let mut fetched = VecDeque::new();
    let mut next = || loop {
        if let Some(io) = fetched.pop_front() {
            return Some(io);
        }
        // Looked at before what was put in until then.
        let is_last = is_over.load(SeqCst);
        rings.take(|io: TracedIo| fetched.push_back((io.issue_ns, io)));
        match fetched.is_empty() {
            true if is_last => return None,
            true => std::thread::park_timeout(FETCH),
            false => {}
        }
    };
    let Some((begin_ns, first)) = window.next_from(&mut next) else {
        Writer::new(out, &header)?.finish(&names)?;
        return Ok(None);
    };
    let unix_minus_monotonic_ns = sys::clock::realtime_ns() - i128::from(sys::clock::monotonic_ns());
    header.begin_unix_ns = u64::try_from(i128::from(begin_ns) + unix_minus_monotonic_ns).ok();
    let mut writer = Writer::new(out, &header)?;
    let last_device = header.devices.len() as u32 - 1;
    // A name for each thread, made once.
    let mut processes: Vec<Option<u32>> = Vec::new();
    let mut one = Some((begin_ns, first));
    while let Some((issue_ns, io)) = one {
        let thread = io.thread as usize;
        processes.resize(processes.len().max(thread + 1), None);
        let process =
            *processes[thread].get_or_insert_with(|| names.intern_process(pid, &format!("diskspd, thread {thread}")));
        let ended_ns = io.issue_ns.saturating_add(io.latency_ns);
        let event = Event {
            issue_ns: issue_ns - begin_ns,
            latency_ns: Some(ended_ns.saturating_sub(issue_ns)),
            device: io.target.min(last_device),
            process,
            offset: io.offset,
            length: io.length.into(),
            action: io.operation.map_or_else(Action::Flush, Action::Operation),
            flags: Flags::default(),
        };
        writer.push(&event, &names)?;
        one = window.next_from(&mut next);
    }
    writer.set_missed_events(rings.lost());
    writer.finish(&names)?;
    Ok(Some(window.late()))
}
