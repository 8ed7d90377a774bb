//! The progress line of a load of several hosts on a terminal.

use crate::console_observer::ConsoleObserver;
use ::fleet::HostLive;
use model::fleet::few_names;
use model::units::{counted, mib};
use std::time::{Duration, Instant};

/// Agents count once per second.
const EVERY: Duration = Duration::from_secs(1);

pub(super) struct LiveLine {
    console: ConsoleObserver,
    /// The time of the last update, and the I/Os and bytes until then.
    before: Option<(Instant, u64, u64)>,
}

impl LiveLine {
    /// Shown by this console, if it is a terminal.
    pub(super) fn new(console: ConsoleObserver) -> Self {
        Self { console, before: None }
    }

    /// Shows the activity of all hosts since the last update.
    pub(super) fn show(&mut self, hosts: &[HostLive], now: Instant) {
        if self.before.is_some_and(|(then, ..)| now.saturating_duration_since(then) < EVERY) {
            return;
        }
        let sum = |of: fn(&HostLive) -> u64| hosts.iter().map(of).fold(0, u64::saturating_add);
        let (ios, bytes) = (sum(|host| host.ios), sum(|host| host.bytes));
        if let Some((then, ios_then, bytes_then)) = self.before.replace((now, ios, bytes)) {
            let seconds = now.saturating_duration_since(then).as_secs_f64();
            let rates =
                [(ios, ios_then), (bytes, bytes_then)].map(|(now, then)| now.saturating_sub(then) as f64 / seconds);
            self.console.live(line(hosts, rates));
        }
    }

    /// Removes it from the terminal.
    pub(super) fn clear(&mut self) {
        self.console.finish();
    }
}

/// `8 hosts: 123456 IOPS, 482.25 MiB/s; lost: h3`
fn line(hosts: &[HostLive], [iops, bytes_per_s]: [f64; 2]) -> String {
    let lost: Vec<&str> = hosts.iter().filter(|host| host.lost).map(|host| host.name.as_str()).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; lost: {}", few_names(&lost)) };
    format!("{}: {iops:.0} IOPS, {:.2} MiB/s{lost}", counted(hosts.len(), "host"), mib(bytes_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::fleet::AgentState;

    #[test]
    fn the_line_says_how_many_do_how_much() {
        let host = |index: usize, lost| {
            let (state, name) = (AgentState::Running, format!("h{index}"));
            HostLive { name, index, state, lost, ios: 0, bytes: 0, live: Vec::new() }
        };
        let hosts = [host(0, false), host(1, false)];
        assert_eq!(line(&hosts, [2000.0, 8_388_608.0]), "2 hosts: 2000 IOPS, 8.00 MiB/s");
        let hosts = [host(0, true)];
        assert_eq!(line(&hosts, [0.0, 0.0]), "1 host: 0 IOPS, 0.00 MiB/s; lost: h0");
    }
}
