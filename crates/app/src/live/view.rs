//! An observer of a run that passes what it counts on to the teller, and everything to the one inside.

use super::outlets::Outlets;
use super::teller::{News, ScreenSettings, Teller, announce, now_unix_ns};
use crate::output::say;
use crate::spectator::Spectator;
use live::stream::Stream;
use model::note::Note;
use model::plan::Plan;
use model::profile::Profile;
use model::result::{RunResult, Tool};
use report::json::live::{Begin, begin_line, result_line};
use run::observer::{Event, Observer, Phase};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const NS_PER_MS: u64 = 1_000_000;

/// What a run is, to those who look.
pub(crate) struct Naming<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) command_line: &'a str,
    pub(crate) labels: &'a [(String, String)],
    pub(crate) profile: &'a Profile,
    /// The devices below its targets, by the kernel's names.
    pub(crate) devices: BTreeSet<String>,
    /// Set when somebody wants it to end.
    pub(crate) interrupt: &'a Arc<AtomicBool>,
}

/// See the module.
pub(crate) struct LiveView<'a> {
    inner: Spectator,
    plan: &'a Plan,
    interval_ns: u64,
    /// `None` if nobody looks.
    teller: Option<Teller>,
    /// The screen is for the picture once the load has started.
    screen: bool,
}

impl<'a> LiveView<'a> {
    /// Begins to show a run. It is run all the same if it cannot be shown.
    pub(crate) fn begin(inner: Spectator, plan: &'a Plan, outlets: Outlets, naming: &Naming<'_>) -> Self {
        let interval_ns = u64::from(outlets.interval_ms) * NS_PER_MS;
        let screen = outlets.screen;
        let teller = if outlets.is_empty() { Ok(None) } else { teller(plan, outlets, naming, interval_ns).map(Some) };
        let teller = teller.unwrap_or_else(|error| {
            say(&format!("WARNING: the run cannot be shown while it goes on: {error}"));
            None
        });
        Self { inner, plan, interval_ns, teller, screen }
    }

    /// The run is over: nothing is shown any more but the result.
    pub(crate) fn finish(&mut self) -> Option<Stream> {
        let stream = self.teller.take().and_then(|teller| teller.finish().stream);
        self.inner.finish();
        stream
    }

    /// What is seen on the screen instead of the lines of the one inside.
    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started => {
                // From now on its lines would spoil the picture.
                self.inner.hold_back();
                self.tell(News::Started);
            }
            Event::Creating { path, written_bytes, size_bytes } => {
                let percent = (*written_bytes as f64 / (*size_bytes).max(1) as f64 * 100.0).floor();
                self.tell(News::Status(format!("making {}: {percent} %", path.display())));
            }
            Event::Phase(Phase::CoolDown { .. }) => self.tell(News::Status("cool down".to_owned())),
            Event::Finished => self.tell(News::Status("finished".to_owned())),
            Event::Warning { message } => self.tell(News::Message(format!("WARNING: {message}"))),
            _ => {}
        }
    }

    fn tell(&self, news: News) {
        if let Some(teller) = &self.teller {
            teller.send(news);
        }
    }
}

impl Observer for LiveView<'_> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TimeSpan { number } => {
                let targets = paths(self.plan, number.saturating_sub(1));
                self.tell(News::TimeSpan { number: *number as u64, targets });
            }
            Event::Counts(counts) => self.tell(News::Counts((*counts).clone())),
            _ if self.screen => self.show(event),
            _ => {}
        }
        self.inner.observe(event);
    }

    fn counts_every_ns(&self) -> Option<u64> {
        self.teller.as_ref().map(|_| self.interval_ns)
    }
}

/// Tells what is going to be done, and starts the teller.
fn teller(plan: &Plan, mut outlets: Outlets, naming: &Naming<'_>, interval_ns: u64) -> io::Result<Teller> {
    if let Some(stream) = &mut outlets.stream {
        let Naming { tool, command_line, labels, profile, .. } = *naming;
        let at_unix_ns = now_unix_ns();
        stream.send(begin_line(&Begin { tool, command_line, labels, at_unix_ns, interval_ns, profile, plan })?);
    }
    if let Some(server) = &outlets.metrics {
        for index in 0..plan.time_spans.len() {
            announce(server, &paths(plan, index));
        }
        say(&format!("metrics: http://{}/metrics", server.address()));
    }
    let screen = ScreenSettings {
        command_line: naming.command_line.to_owned(),
        time_spans: plan.time_spans.len() as u64,
        devices: naming.devices.clone(),
        interrupt: Arc::clone(naming.interrupt),
    };
    Teller::start(outlets, screen)
}

/// The targets of the timespan with this index, as labels and lines name them.
fn paths(plan: &Plan, index: usize) -> Vec<String> {
    let targets = plan.time_spans.get(index).map(|span| span.targets.as_slice()).unwrap_or_default();
    targets.iter().map(|target| target.path.display().to_string()).collect()
}

/// The note about lines that were dropped before the last one.
pub(crate) fn dropped(stream: &Stream) -> Option<Note> {
    let lines = stream.dropped_lines();
    (lines > 0).then_some(Note::LiveLinesDropped { lines })
}

/// Sends the result and ends the stream; what its reader missed is said.
pub(crate) fn end(stream: Stream, result: &RunResult) {
    let dropped_before = stream.dropped_lines();
    let end = match result_line(dropped_before, result) {
        Ok(line) => stream.finish(line),
        Err(error) => return say(&format!("WARNING: --live-json: {error}")),
    };
    let dropped = (end.dropped_lines > 0).then(|| format!("{} lines were dropped", end.dropped_lines));
    let reasons: Vec<String> = dropped.into_iter().chain(end.reason).collect();
    if !reasons.is_empty() {
        say(&format!("WARNING: --live-json: {}", reasons.join("; ")));
    }
}
