//! An observer of a run that passes counts on to the live thread, and all events to the inner observer.

use super::live_thread::{LiveEvent, LiveThread, ScreenSettings, announce, now_unix_ns};
use super::sinks::LiveSinks;
use crate::console_observer::ConsoleObserver;
use crate::meaning::meaning;
use crate::output::say;
use live::stream::Stream;
use model::note::Note;
use model::plan::{Plan, TargetPlan};
use model::profile::Profile;
use model::result::{RunResult, Tool};
use model::units::counted;
use render::json::live::{Begin, begin_line, result_line};
use run::observer::{Event, Observer, Phase};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const NS_PER_MS: u64 = 1_000_000;

/// Description of a run for its live outputs.
pub(crate) struct RunDescription<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) command_line: &'a str,
    pub(crate) labels: &'a [(String, String)],
    pub(crate) profile: &'a Profile,
    /// The plan; with several hosts there is none, as each has its own.
    pub(crate) plan: Option<&'a Plan>,
    /// The names of the hosts of `--on`.
    pub(crate) hosts: &'a [String],
    /// The load of each timespan on a line.
    pub(crate) loads: Vec<String>,
    /// The devices below its targets, by the kernel's names.
    pub(crate) devices: BTreeSet<String>,
    /// Set when the user ends the run.
    pub(crate) interrupt: &'a Arc<AtomicBool>,
}

impl RunDescription<'_> {
    /// The loads for a screen, whose latencies are those of reads and writes alone.
    pub(crate) fn loads_on_screen(&self) -> Vec<String> {
        let line = |(load, span): (&String, _)| {
            [Some(load.clone()), report::words::waits::beside(span)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; ")
        };
        self.loads.iter().zip(&self.profile.time_spans).map(line).collect()
    }
}

pub(crate) struct LiveView<'a> {
    inner: ConsoleObserver,
    plan: &'a Plan,
    /// The load of each timespan.
    loads: Vec<String>,
    interval_ns: u64,
    /// `None` if there are no live outputs.
    live_thread: Option<LiveThread>,
    /// True if the view takes over the screen once the load has started.
    screen: bool,
}

impl<'a> LiveView<'a> {
    /// Starts the live outputs of a run. The run continues if they fail.
    pub(crate) fn begin(inner: ConsoleObserver, plan: &'a Plan, sinks: LiveSinks, naming: &RunDescription<'_>) -> Self {
        let interval_ns = u64::from(sinks.interval_ms) * NS_PER_MS;
        let screen = sinks.screen;
        let live_thread = if sinks.is_empty() { None } else { live_thread(sinks, naming, interval_ns) };
        Self { inner, plan, loads: naming.loads_on_screen(), interval_ns, live_thread, screen }
    }

    /// Ends the view: after the run only the result is shown.
    pub(crate) fn finish(&mut self) -> Option<Stream> {
        let stream = self.live_thread.take().and_then(|live_thread| live_thread.finish().stream);
        self.inner.finish();
        stream
    }

    /// Shows an event on the screen in place of the inner observer's lines.
    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started => {
                // From now on its lines would overwrite the screen.
                self.inner.hold_back();
                self.tell(LiveEvent::Started);
            }
            Event::Creating { path, written_bytes, size_bytes } => {
                let percent = (*written_bytes as f64 / (*size_bytes).max(1) as f64 * 100.0).floor();
                self.tell(LiveEvent::Status(format!("creating {}: {percent} %", path.display())));
            }
            Event::Phase(Phase::CoolDown { .. }) => self.tell(LiveEvent::Status("cool down".to_owned())),
            Event::Finished => self.tell(LiveEvent::Status("finished".to_owned())),
            Event::Warning { message } => self.tell(LiveEvent::Message(format!("WARNING: {message}"))),
            _ => {}
        }
    }

    fn tell(&self, event: LiveEvent) {
        if let Some(live_thread) = &self.live_thread {
            live_thread.send(event);
        }
    }
}

impl Observer for LiveView<'_> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TimeSpan { number } => {
                let index = number.saturating_sub(1);
                let (targets, load) = (paths(self.plan, index), self.loads.get(index).cloned().unwrap_or_default());
                self.tell(LiveEvent::TimeSpan { number: *number as u64, targets, load });
            }
            Event::Counts(counts) => self.tell(LiveEvent::Counts((*counts).clone())),
            _ if self.screen => self.show(event),
            _ => {}
        }
        self.inner.observe(event);
    }

    fn counts_every_ns(&self) -> Option<u64> {
        self.live_thread.as_ref().map(|_| self.interval_ns).or_else(|| self.inner.counts_every_ns())
    }
}

/// Announces the run, and starts the live thread. `None` if it cannot be started; the run continues without it.
pub(crate) fn live_thread(sinks: LiveSinks, naming: &RunDescription<'_>, interval_ns: u64) -> Option<LiveThread> {
    begin(sinks, naming, interval_ns)
        .inspect_err(|error| say(&format!("WARNING: the run cannot be shown live: {error}")))
        .ok()
}

fn begin(mut sinks: LiveSinks, naming: &RunDescription<'_>, interval_ns: u64) -> io::Result<LiveThread> {
    if let Some(stream) = &mut sinks.stream {
        let RunDescription { tool, command_line, labels, profile, plan, hosts, .. } = *naming;
        let at_unix_ns = now_unix_ns();
        stream.send(begin_line(&Begin { tool, command_line, labels, at_unix_ns, interval_ns, profile, plan, hosts })?);
    }
    if let Some(server) = &sinks.metrics {
        for index in 0..naming.loads.len() {
            announce(server, &naming.shown(index));
        }
        say(&format!("metrics: http://{}/metrics", server.address()));
    }
    let screen = ScreenSettings {
        are_hosts: !naming.hosts.is_empty(),
        command_line: naming.command_line.to_owned(),
        time_spans: naming.loads.len() as u64,
        devices: naming.devices.clone(),
        interrupt: Arc::clone(naming.interrupt),
    };
    LiveThread::start(sinks, screen)
}

impl RunDescription<'_> {
    /// The targets or hosts of the timespan with this index, as labels and lines name them.
    pub(super) fn shown(&self, index: usize) -> Vec<String> {
        self.plan.map_or_else(|| self.hosts.to_vec(), |plan| paths(plan, index))
    }
}

/// The targets of the timespan with this index, as labels and lines name them.
fn paths(plan: &Plan, index: usize) -> Vec<String> {
    let targets = plan.time_spans.get(index).map(|span| span.targets.as_slice()).unwrap_or_default();
    let name = |target: &TargetPlan| match &target.stream {
        // Streams may have the same path.
        Some(stream) => format!("{stream}: {}", target.path.display()),
        None => target.path.display().to_string(),
    };
    targets.iter().map(name).collect()
}

/// The note about lines that were dropped before the last one.
pub(crate) fn dropped(stream: &Stream) -> Option<Note> {
    let lines = stream.dropped_lines();
    (lines > 0).then_some(Note::LiveLinesDropped { lines })
}

/// Sends the result and ends the stream; reports lines that the reader missed.
pub(crate) fn end(stream: Stream, result: &RunResult) {
    let dropped_before = stream.dropped_lines();
    let end = match result_line(dropped_before, result, meaning) {
        Ok(line) => stream.finish(line),
        Err(error) => return say(&format!("WARNING: --live-json: {error}")),
    };
    let dropped = (end.dropped_lines > 0).then(|| format!("dropped {}", counted(end.dropped_lines, "line")));
    let reasons: Vec<String> = dropped.into_iter().chain(end.reason).collect();
    if !reasons.is_empty() {
        say(&format!("WARNING: --live-json: {}", reasons.join("; ")));
    }
}
