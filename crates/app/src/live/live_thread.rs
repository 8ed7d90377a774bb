//! The live thread: computes live results from counters, and lines and metrics from these.

use super::sinks::LiveSinks;
use crate::output::say;
use crate::screens::RunPicture;
use live::metrics::{Direction, RunMetrics, Server};
use live::stream::Stream;
use model::live::LiveCounts;
use render::json::live::{IntervalLine, interval_line};
use stats::live::{Follower, LiveSample};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

/// Maximum number of waiting counts; dropped ones are included in the next, which are sums.
const COUNTS_WAITING_MAX: usize = 4;

/// Events of a run.
pub(crate) enum LiveEvent {
    /// A timespan begins; its targets by their paths, or its hosts by their names, and its load on a line.
    TimeSpan { number: u64, targets: Vec<String>, load: String },
    /// Counts of its current phase so far.
    Counts(LiveCounts),
    /// The load is about to start: from now on the screen may be taken over.
    Started,
    /// Progress of an activity without measurements.
    Status(String),
    /// A message for the user.
    Message(String),
}

/// Contents of a screen beside measurements, and the effect of its keys.
pub(super) struct ScreenSettings {
    /// True if hosts are shown in place of targets.
    pub(super) are_hosts: bool,
    pub(super) command_line: String,
    pub(super) time_spans: u64,
    /// Devices below the targets, by the kernel's names.
    pub(super) devices: BTreeSet<String>,
    /// Set when the user ends the run.
    pub(super) interrupt: Arc<AtomicBool>,
}

/// The run's handle of the thread.
pub(crate) struct LiveThread {
    event: Sender<LiveEvent>,
    counts_waiting: Arc<AtomicUsize>,
    thread: JoinHandle<LiveSinks>,
}

impl LiveThread {
    pub(super) fn start(sinks: LiveSinks, screen: ScreenSettings) -> std::io::Result<Self> {
        let (event, received) = channel();
        let counts_waiting = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&counts_waiting);
        let body = move || LiveState::new(sinks, screen).tell(&received, &waiting);
        let thread = thread::Builder::new().name("live figures".to_owned()).spawn(body)?;
        Ok(Self { event, counts_waiting, thread })
    }

    /// Never blocks.
    pub(crate) fn send(&self, event: LiveEvent) {
        if matches!(event, LiveEvent::Counts(_)) && self.counts_waiting.fetch_add(1, Relaxed) >= COUNTS_WAITING_MAX {
            self.counts_waiting.fetch_sub(1, Relaxed);
            return;
        }
        // The thread ends only after this end of the channel is dropped.
        let _ = self.event.send(event);
    }

    /// Waits until all events were processed.
    pub(crate) fn finish(self) -> LiveSinks {
        drop(self.event);
        self.thread.join().unwrap_or_default()
    }
}

/// State of the thread.
struct LiveState {
    sinks: LiveSinks,
    follower: Follower,
    time_span: u64,
    /// Targets of the timespan, by their paths.
    targets: Vec<String>,
    load: String,
    /// Number of intervals so far.
    intervals: u64,
    settings: ScreenSettings,
    picture: Option<RunPicture>,
}

impl LiveState {
    fn new(sinks: LiveSinks, settings: ScreenSettings) -> Self {
        let (follower, targets) = (Follower::default(), Vec::new());
        Self { sinks, follower, time_span: 0, targets, load: String::new(), intervals: 0, settings, picture: None }
    }

    /// Forwards events until the run has ended.
    fn tell(mut self, event: &Receiver<LiveEvent>, counts_waiting: &AtomicUsize) -> LiveSinks {
        loop {
            let next = if self.picture.is_some() { event.try_recv() } else { event.recv().map_err(TryRecvError::from) };
            match next {
                Ok(LiveEvent::Counts(counts)) => {
                    counts_waiting.fetch_sub(1, Relaxed);
                    self.count(&counts);
                }
                Ok(other) => self.handle(other),
                Err(TryRecvError::Empty) => self.refresh_picture(),
                Err(TryRecvError::Disconnected) => break,
            }
        }
        if let Some(server) = &self.sinks.metrics {
            server.update(|metrics| metrics.phase = None);
        }
        self.sinks
    }

    fn handle(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::TimeSpan { number, targets, load } => {
                let new = if self.settings.are_hosts { Follower::of_hosts } else { Follower::new };
                self.follower = new(targets.len());
                self.show(|picture| picture.begin_time_span(number, targets.clone(), load.clone()));
                (self.time_span, self.targets, self.load) = (number, targets, load);
            }
            LiveEvent::Started if self.sinks.screen && self.picture.is_none() => self.take_screen(),
            LiveEvent::Status(status) => self.show(|picture| picture.status(status)),
            LiveEvent::Message(message) => self.show(|picture| picture.message(message)),
            LiveEvent::Started | LiveEvent::Counts(_) => {}
        }
    }

    /// Updates the screen, if there is one.
    fn show(&mut self, change: impl FnOnce(&mut RunPicture)) {
        if let Some(picture) = &mut self.picture {
            change(picture);
        }
    }

    fn take_screen(&mut self) {
        let ScreenSettings { command_line, time_spans, devices, interrupt, .. } = &self.settings;
        match RunPicture::begin(command_line, *time_spans, devices.clone(), Arc::clone(interrupt)) {
            Ok(mut picture) => {
                picture.begin_time_span(self.time_span, self.targets.clone(), self.load.clone());
                self.picture = Some(picture);
            }
            Err(error) => self.lose_screen(&error),
        }
    }

    /// Continues the run without the screen.
    fn lose_screen(&mut self, error: &std::io::Error) {
        self.sinks.screen = false;
        self.picture = None;
        say(&format!("WARNING: --live: the terminal cannot be used: {error}"));
    }

    fn refresh_picture(&mut self) {
        if let Some(Err(error)) = self.picture.as_mut().map(RunPicture::refresh) {
            self.lose_screen(&error);
        }
    }

    fn count(&mut self, counts: &LiveCounts) {
        self.intervals += 1;
        let look = self.follower.sample(counts);
        if let Some(server) = &self.sinks.metrics {
            server.update(|metrics| update(metrics, self.time_span, &self.targets, &look));
        }
        if let Some(stream) = &mut self.sinks.stream {
            send(stream, self.intervals, self.time_span, &look);
        }
        if let Some(picture) = &mut self.picture {
            picture.take(look.interval);
        }
    }
}

fn send(stream: &mut Stream, number: u64, time_span: u64, look: &LiveSample) {
    let line = interval_line(&IntervalLine {
        number,
        time_span,
        ended_at_unix_ns: now_unix_ns(),
        dropped_lines: stream.dropped_lines(),
        interval: &look.interval,
    });
    match line {
        Ok(line) => stream.send(line),
        Err(error) => say(&format!("WARNING: --live-json: {error}")),
    }
}

fn update(metrics: &mut RunMetrics, time_span: u64, targets: &[String], look: &LiveSample) {
    metrics.time_span = time_span;
    metrics.phase = Some(look.interval.phase);
    metrics.left_s = look.interval.left_ns as f64 / 1e9;
    for (path, sides) in targets.iter().zip(&look.targets) {
        for (direction, counted) in Direction::ALL.into_iter().zip(sides) {
            metrics.targets.entry((path.clone(), direction)).or_default().add(look.interval.phase, counted);
        }
    }
    for (scope, counted) in [("commit", &look.commit), ("response", &look.response)] {
        if counted.ios > 0 {
            metrics.waited_for.entry(scope).or_default().add(look.interval.phase, counted);
        }
    }
}

/// Nanoseconds since 1970, which fit until 2262.
pub(super) fn now_unix_ns() -> i64 {
    i64::try_from(sys::clock::realtime_ns()).unwrap_or(i64::MAX)
}

/// Serves zeros for targets before their first I/O, so that rates are right from the start.
pub(super) fn announce(server: &Server, targets: &[String]) {
    server.update(|metrics| {
        for path in targets {
            for direction in Direction::ALL {
                metrics.targets.entry((path.clone(), direction)).or_default();
            }
        }
    });
}
