//! The screen of a run: its state and its keys. Drawing is in [`mod@draw`].

mod draw;

pub use draw::draw;

use crate::screen::terminal::Key;
use model::device_interval::DeviceRates;
use model::live::{LiveInterval, LiveLoad};
use std::collections::VecDeque;

/// Intervals in the charts.
const HISTORY_MAX: usize = 600;

/// Messages kept for display.
const MESSAGES_MAX: usize = 50;

/// Content of the lower part of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LowerPane {
    /// The devices below the targets, and the CPUs.
    #[default]
    Machine,
    /// Figures by target.
    Targets,
    /// Figures by thread.
    Threads,
}

impl LowerPane {
    const fn next(self) -> Self {
        match self {
            Self::Machine => Self::Targets,
            Self::Targets => Self::Threads,
            Self::Threads => Self::Machine,
        }
    }
}

/// The kernel's counters for the machine in the last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineActivity {
    /// Devices below the targets, by the kernel's names.
    pub devices: Vec<(String, DeviceRates)>,
    /// Busy time of each CPU, in percent.
    pub cpus_busy_percent: Vec<f64>,
}

/// State of the screen: data and view.
#[derive(Clone, Debug, Default)]
pub struct RunScreen {
    /// As in reports.
    command_line: String,
    /// Number of the timespan, from 1, and their count.
    time_span: (u64, u64),
    targets: Vec<String>,
    /// The load, on one line.
    load: String,
    /// The activity outside of intervals: creation of files, start of threads.
    status: String,
    last: Option<LiveInterval>,
    /// I/Os per second, bytes per second, mean and 99th percentile of latencies in nanoseconds; NaN = unknown.
    history: VecDeque<[f64; 4]>,
    machine: MachineActivity,
    messages: VecDeque<String>,
    below: LowerPane,
    shows_help: bool,
    /// The user asked the run to end.
    is_ending: bool,
    /// First line of the lower part that is shown.
    offset: usize,
}

/// Result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyResult {
    /// Go on.
    Continue,
    /// End the run.
    End,
}

impl RunScreen {
    /// A screen without data for a run with this number of timespans.
    pub fn new(command_line: String, time_spans: u64) -> Self {
        Self { command_line, time_span: (0, time_spans), ..Self::default() }
    }

    /// A timespan begins.
    pub fn begin(&mut self, number: u64, targets: Vec<String>, load: String) {
        self.time_span.0 = number;
        self.targets = targets;
        self.load = load;
        self.last = None;
    }

    /// Shows an activity that has no figures.
    pub fn status(&mut self, status: String) {
        self.status = status;
    }

    /// Adds a message for the user.
    pub fn message(&mut self, message: String) {
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(message);
    }

    /// Adds an interval, and the machine's counters in it.
    pub fn take(&mut self, interval: LiveInterval, machine: MachineActivity) {
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        let LiveLoad { total, commit, response, .. } = &interval.interval.total;
        let (mean_ns, latency) = match response.as_ref().or(commit.as_ref()) {
            Some(waited_for) => (Some(waited_for.mean_ns), waited_for.latency),
            None => (total.latency_mean_ns, total.latency),
        };
        let p99_ns = latency.map_or(f64::NAN, |latency| latency.p99_ns as f64);
        self.history.push_back([total.iops, total.bytes_per_s, mean_ns.unwrap_or(f64::NAN), p99_ns]);
        interval.phase.name().clone_into(&mut self.status);
        if self.last.is_none() && self.below == LowerPane::Machine && !interval.interval.hosts.is_empty() {
            // This host is not one of them.
            self.below = LowerPane::Targets;
        }
        self.last = Some(interval);
        self.machine = machine;
        let busy = |(_, rates): &(String, DeviceRates)| rates.busy_percent;
        // Stable: those that are alike stay in the order of their names.
        self.machine.devices.sort_by(|one, other| busy(other).total_cmp(&busy(one)));
    }

    /// Executes the action of a key.
    pub fn press(&mut self, key: Key) -> KeyResult {
        if key.is_end() {
            self.is_ending = true;
            return KeyResult::End;
        }
        if std::mem::take(&mut self.shows_help) {
            return KeyResult::Continue;
        }
        match key {
            Key::Character('m') => self.show(LowerPane::Machine),
            Key::Character('t') => self.show(LowerPane::Targets),
            Key::Character('h') => self.show(LowerPane::Threads),
            Key::Tab => self.show(self.below.next()),
            Key::Character('?') => self.shows_help = true,
            Key::Up => self.offset = self.offset.saturating_sub(1),
            Key::Down => self.offset += 1,
            Key::PageUp => self.offset = self.offset.saturating_sub(10),
            Key::PageDown => self.offset += 10,
            Key::Home => self.offset = 0,
            _ => {}
        }
        KeyResult::Continue
    }

    fn show(&mut self, below: LowerPane) {
        self.below = below;
        self.offset = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_choose_what_is_below_and_end_the_run() {
        let mut screen = RunScreen::new("diskspd a.dat".to_owned(), 1);
        for (key, below) in
            [('t', LowerPane::Targets), ('h', LowerPane::Threads), ('m', LowerPane::Machine), ('x', LowerPane::Machine)]
        {
            assert_eq!((screen.press(Key::Character(key)), screen.below), (KeyResult::Continue, below), "{key}");
        }
        screen.press(Key::Tab);
        screen.press(Key::Down);
        assert_eq!((screen.below, screen.offset), (LowerPane::Targets, 1));
        screen.press(Key::Character('?'));
        assert_eq!(screen.press(Key::Character('t')), KeyResult::Continue, "any key leaves the help");
        assert_eq!(screen.below, LowerPane::Targets, "and does nothing else");
        for end in [Key::Interrupt, Key::Character('q'), Key::Character('Q')] {
            screen.press(Key::Character('?'));
            assert_eq!(screen.press(end), KeyResult::End, "from the help, too");
            screen.shows_help = false;
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut screen = RunScreen::default();
        for number in 0..2000 {
            screen.take(LiveInterval::default(), MachineActivity::default());
            screen.message(number.to_string());
        }
        assert_eq!((screen.history.len(), screen.messages.len()), (HISTORY_MAX, MESSAGES_MAX));
    }
}
