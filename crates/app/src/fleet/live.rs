//! Live results of several hosts: their counts, merged for the same moment.

use super::live_line::LiveLine;
use crate::console_observer::ConsoleObserver;
use crate::live::{LiveEvent, LiveSinks, LiveThread, RunDescription, live_thread};
use crate::output::say;
use ::fleet::{AgentState, HostLive, Progress, RESULT_WAIT};
use live::stream::Stream;
use model::fleet::few_names;
use model::live::{LiveCounts, LivePhase, LiveRow};
use model::units::counted;
use std::collections::VecDeque;
use std::time::Instant;

/// Maximum number of counts of a host that wait for those of the others.
const WAITING_MAX: usize = 16;

/// Shows a load of several hosts.
pub(super) struct HostsView {
    /// `None` if there are no live outputs.
    live_thread: Option<LiveThread>,
    names: Vec<String>,
    loads: Vec<String>,
    interval_ns: u64,
    counts: HostCounts,
    /// True if the view takes over the screen once the load has started.
    screen: bool,
    has_screen: bool,
    /// Used while there is no screen.
    line: LiveLine,
}

impl HostsView {
    /// Starts the live outputs. The load runs even if they fail.
    pub(super) fn begin(sinks: LiveSinks, naming: &RunDescription<'_>) -> Self {
        let interval_ns = u64::from(sinks.interval_ms) * 1_000_000;
        let screen = sinks.screen;
        let live_thread = if sinks.is_empty() { None } else { live_thread(sinks, naming, interval_ns) };
        let (names, loads) = (naming.hosts.to_vec(), naming.loads_on_screen());
        let counts = HostCounts::new(names.len(), interval_ns);
        let line = LiveLine::new(ConsoleObserver::new(false));
        Self { live_thread, names, loads, interval_ns, counts, screen, has_screen: false, line }
    }

    /// Starts a timespan, counted from 1.
    pub(super) fn begin_time_span(&mut self, number: usize) {
        self.counts = HostCounts::new(self.names.len(), self.interval_ns);
        let load = self.loads.get(number.saturating_sub(1)).cloned().unwrap_or_default();
        self.tell(LiveEvent::TimeSpan { number: number as u64, targets: self.names.clone(), load });
    }

    /// Shows the progress of a run.
    pub(super) fn show(&mut self, progress: Progress) {
        if !matches!(progress, Progress::Running(_)) {
            self.line.clear();
        }
        match progress {
            Progress::Planned(plans) => {
                let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
                self.say(format!("{} checked the load: {}", counted(names.len(), "host"), names.join(", ")));
            }
            Progress::Prepared => self.say("all targets are ready".to_owned()),
            Progress::Starting { lead_ns } => self.say(format!("start in {:.1} s", lead_ns as f64 / 1e9)),
            Progress::Connection(sentence) if self.has_screen => self.tell(LiveEvent::Message(sentence)),
            Progress::Connection(sentence) => say(&sentence),
            Progress::Running(hosts) => {
                if self.screen && !self.has_screen {
                    self.has_screen = true;
                    self.tell(LiveEvent::Started);
                }
                if !self.has_screen {
                    self.line.show(&hosts, Instant::now());
                }
                if self.live_thread.is_some() {
                    for counts in self.counts.take(hosts) {
                        self.tell(LiveEvent::Counts(counts));
                    }
                }
            }
            Progress::Collecting if self.has_screen => self.say("fetching results".to_owned()),
            Progress::Collecting => {}
            Progress::AwaitingResults(names) => self.say(awaiting_results(&names)),
        }
    }

    /// Ends the view: after the load only the result is shown.
    pub(super) fn finish(self) -> Option<Stream> {
        self.live_thread.and_then(|live_thread| live_thread.finish().stream)
    }

    /// Prints a line; on the screen while that is in use.
    fn say(&self, line: String) {
        if self.has_screen { self.tell(LiveEvent::Status(line)) } else { say(&line) }
    }

    fn tell(&self, event: LiveEvent) {
        if let Some(live_thread) = &self.live_thread {
            live_thread.send(event);
        }
    }
}

/// The message that the results of these hosts are awaited although the run was stopped.
pub(super) fn awaiting_results(names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "waiting up to {} s for the result of {} (Ctrl+C again: end without it)",
        RESULT_WAIT.as_secs(),
        few_names(&names)
    )
}

/// Counts of the hosts. They start together and take counts at the same times, so equal times are the same moment.
struct HostCounts {
    interval_ns: u64,
    hosts: Vec<HostCount>,
}

#[derive(Default)]
struct HostCount {
    /// Not yet shown, in the order of their arrival.
    waiting: VecDeque<LiveCounts>,
    shown: LiveCounts,
    /// True if nothing more is awaited.
    is_over: bool,
}

impl HostCounts {
    fn new(hosts: usize, interval_ns: u64) -> Self {
        Self { interval_ns, hosts: (0..hosts).map(|_| HostCount::default()).collect() }
    }

    /// Takes new counts; returns the complete ones, in chronological order. A host that is late by more than a few
    /// intervals is not waited for: its counts are in a later interval then, as counts are sums.
    fn take(&mut self, news: Vec<HostLive>) -> Vec<LiveCounts> {
        for HostLive { index, state, lost, live, .. } in news {
            let Some(host) = self.hosts.get_mut(index) else { continue };
            let known = live.into_iter().filter_map(|document| serde_json::from_value(document).ok());
            host.waiting.extend(known.filter(|counts: &LiveCounts| counts.rows.len() == 1));
            let has_ended = matches!(state, AgentState::Finished | AgentState::Failed | AgentState::Undone);
            host.is_over = lost || has_ended;
        }
        std::iter::from_fn(|| self.next_moment()).collect()
    }

    fn next_moment(&mut self) -> Option<LiveCounts> {
        let is_full = self.hosts.iter().any(|host| host.waiting.len() > WAITING_MAX);
        if !is_full && self.hosts.iter().any(|host| host.waiting.is_empty() && !host.is_over) {
            return None;
        }
        let interval_ns = self.interval_ns.max(1);
        let moment = |counts: &LiveCounts| {
            (counts.phase == LivePhase::Measurement, counts.elapsed_ns.saturating_add(interval_ns / 2) / interval_ns)
        };
        let first = self.hosts.iter().filter_map(|host| host.waiting.front()).map(moment).min()?;
        let mut all = LiveCounts { left_ns: u64::MAX, ..LiveCounts::default() };
        for host in &mut self.hosts {
            if host.waiting.front().is_none_or(|counts| moment(counts) > first) {
                continue;
            }
            let Some(counts) = host.waiting.pop_front() else { continue };
            all.phase = counts.phase;
            all.elapsed_ns = all.elapsed_ns.max(counts.elapsed_ns);
            all.left_ns = all.left_ns.min(counts.left_ns);
            host.shown = counts;
        }
        let row = |(index, host): (usize, &HostCount)| {
            let of_phase = host.shown.rows.first().filter(|_| host.shown.phase == all.phase);
            LiveRow { thread: index as u32, target: index, ..of_phase.cloned().unwrap_or_default() }
        };
        all.rows = self.hosts.iter().enumerate().map(row).collect();
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::LiveTally;

    const SECOND_NS: u64 = 1_000_000_000;

    fn news(index: usize, measured: &[(u64, u64)]) -> HostLive {
        let live = measured.iter().map(|&(elapsed_ns, ios)| {
            let row = LiveRow { read: LiveTally { ios, ..LiveTally::default() }, ..LiveRow::default() };
            let phase = LivePhase::Measurement;
            let counts = LiveCounts { phase, elapsed_ns, left_ns: 7, rows: vec![row] };
            serde_json::to_value(counts).expect("it is a document")
        });
        let (name, state, lost) = (index.to_string(), AgentState::Running, false);
        HostLive { name, index, state, lost, ios: 0, bytes: 0, live: live.collect() }
    }

    fn shown(counts: &[LiveCounts]) -> Vec<(u64, Vec<u64>)> {
        let ios = |counts: &LiveCounts| counts.rows.iter().map(|row| row.read.ios).collect();
        counts.iter().map(|counts| (counts.elapsed_ns / SECOND_NS, ios(counts))).collect()
    }

    #[test]
    fn what_is_shown_is_of_one_moment() {
        let mut counts = HostCounts::new(2, SECOND_NS);
        let late = SECOND_NS / 50;
        assert_eq!(shown(&counts.take(vec![news(0, &[(SECOND_NS, 5), (2 * SECOND_NS, 9)])])), []);
        let both = counts.take(vec![news(1, &[(SECOND_NS + late, 3)])]);
        assert_eq!(shown(&both), [(1, vec![5, 3])]);
        // One count of the second host was lost in transit.
        let more = counts.take(vec![news(0, &[(3 * SECOND_NS, 20)]), news(1, &[(3 * SECOND_NS + late, 8)])]);
        assert_eq!(shown(&more), [(2, vec![9, 3]), (3, vec![20, 8])]);
        // A lost host is not waited for, and its counts remain.
        let lost = HostLive { lost: true, ..news(1, &[]) };
        assert_eq!(shown(&counts.take(vec![news(0, &[(4 * SECOND_NS, 30)]), lost])), [(4, vec![30, 8])]);
    }

    #[test]
    fn a_host_that_is_silent_keeps_nobody_waiting_for_long() {
        let mut counts = HostCounts::new(2, SECOND_NS);
        let many: Vec<(u64, u64)> = (1..=WAITING_MAX as u64 + 2).map(|second| (second * SECOND_NS, second)).collect();
        assert_eq!(shown(&counts.take(vec![news(0, &many)])), [(1, vec![1, 0]), (2, vec![2, 0])]);
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let mut counts = HostCounts::new(1, SECOND_NS);
        let odd = HostLive { live: vec![serde_json::json!({ "rows": 3 }), serde_json::json!(null)], ..news(0, &[]) };
        assert_eq!(shown(&counts.take(vec![odd, news(7, &[(SECOND_NS, 1)])])), []);
        let huge = news(0, &[(u64::MAX, u64::MAX)]);
        assert_eq!(shown(&counts.take(vec![huge])), [(u64::MAX / SECOND_NS, vec![u64::MAX])]);
    }
}
