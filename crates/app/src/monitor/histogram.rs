//! Distributions of the latencies of disks.

use super::{PATIENCE, choice, invalid, signals};
use crate::output::{print, say};
use crate::status::{Status, fail};
use cli::subcommand::monitor::{Histograms, WatchRequest};
use host::Root;
use live::block_latency::{BlockLatencyWatch, DiskLatencies, table};
use live::choice::Choice;
use live::ticks::Ticks;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Counts and reports until the requested number of intervals or until the user ends it.
pub(super) fn run(request: &WatchRequest, when: Histograms) -> Status {
    let root = Root::machine();
    let choice = match choice(&root, request) {
        Ok(chosen) => {
            for note in &chosen.notes {
                say(note);
            }
            chosen.choice
        }
        Err(reasons) => return invalid(&reasons),
    };
    let signals = match signals() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    let watch = match BlockLatencyWatch::begin(&root) {
        Ok(watch) => watch,
        Err(reason) => return fail(&format!("--histogram: {reason}")),
    };
    let mut told =
        HistogramReports { root, choice, watch, before: BTreeMap::new(), since_ns: sys::clock::monotonic_ns() };
    let mut ticks = Ticks::new(told.since_ns, request.interval.as_nanos() as u64);
    let mut intervals = 0;
    while !signals.interrupted.load(Relaxed) {
        let now_ns = sys::clock::monotonic_ns();
        if ticks.due(now_ns).is_some() {
            intervals += 1;
            if request.sample_count.is_some_and(|count| intervals >= count) {
                break;
            }
            if when == Histograms::EachInterval
                && let Err(status) = told.tell()
            {
                return status;
            }
        }
        sys::clock::sleep_until_ns(ticks.next_ns().min(now_ns + PATIENCE.as_nanos() as u64));
    }
    told.tell().map_or_else(|status| status, |()| Status::Done)
}

/// State of the reports so far.
struct HistogramReports {
    root: Root,
    choice: Choice,
    watch: BlockLatencyWatch,
    before: BTreeMap<(u32, u32), DiskLatencies>,
    since_ns: u64,
}

impl HistogramReports {
    /// Reports the counts since the last report.
    fn tell(&mut self) -> Result<(), Status> {
        let now = self.watch.read().map_err(|error| fail(&format!("--histogram: cannot read the counts: {error}")))?;
        let now_ns = sys::clock::monotonic_ns();
        let length_s = now_ns.saturating_sub(self.since_ns) as f64 / 1e9;
        let names = names(&self.root);
        let none = DiskLatencies::default();
        let mut tables = Vec::new();
        for (number, latencies) in &now {
            let since = latencies.since(self.before.get(number).unwrap_or(&none));
            let name = names.get(number).cloned().unwrap_or_else(|| format!("{}:{}", number.0, number.1));
            if self.is_wanted(&name) && since != none {
                tables.push(table(&name, &since, length_s));
            }
        }
        if tables.is_empty() {
            tables.push(format!("no request completed in {length_s:.1} s\n"));
        }
        (self.before, self.since_ns) = (now, now_ns);
        let text = tables.join("\n") + "\n";
        print(text.as_bytes()).map_err(|error| fail(&format!("cannot write to stdout: {error}")))
    }

    fn is_wanted(&self, name: &str) -> bool {
        match &self.choice {
            Choice::Named(names) => names.iter().any(|wanted| wanted == name),
            _ => true,
        }
    }
}

/// The kernel's names of devices, by their numbers.
fn names(root: &Root) -> BTreeMap<(u32, u32), String> {
    let reading = host::device_reading(root);
    let devices = reading.map(|reading| reading.devices).unwrap_or_default();
    devices.into_iter().map(|(name, device)| ((device.number.major, device.number.minor), name)).collect()
}
