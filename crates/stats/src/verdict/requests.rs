//! How the run's I/Os looked to the device: how many at a time, and in how many pieces.

use super::stack::{self, Amount, OnDevice};
use super::{Case, Rule};
use model::kernel_counters::RequestCounters;
use model::plan::{Pace, WorkerTarget};
use model::result::LoadLoop;
use model::verdict::{Finding, Severity};

pub(super) const DEVICE_DEPTH: Rule = Rule {
    name: "device-depth",
    severity: Severity::Note,
    advice: "read the figures as those of the depth at the device",
};

pub(super) const SHALLOW_QUEUE: Rule = Rule {
    name: "shallow-queue",
    severity: Severity::Warn,
    advice: "use more threads (-t) or another engine: the device never saw the depth that -o asks for, as I/Os spend \
             most of their time before or behind it",
};

pub(super) const SPLIT_IOS: Rule = Rule {
    name: "split-ios",
    severity: Severity::Note,
    advice: "read I/Os per second and latencies as those of so many requests each, or use a block size (-b) within \
             max_sectors_kb and max_segments in the device's queue folder in /sys",
};

/// Share of the depth that is missing at every device: requests on their way between it and the program.
const ON_THE_WAY: f64 = 0.2;

/// What is no longer the depth that was asked for.
const HALF: f64 = 0.5;

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let devices = stack::by_device(case);
    let mut findings: Vec<Finding> = depth(case, &devices).into_iter().collect();
    findings.extend(devices.iter().filter_map(|on| split(case, on)));
    findings
}

/// Requests that were at the device at a time, by its own count, where all are meant to be there.
fn depth(case: &Case<'_>, devices: &[OnDevice<'_>]) -> Option<Finding> {
    let [on] = devices else { return None };
    let Some(LoadLoop::Closed { depth: asked }) = case.measured.load_loop else { return None };
    let unpaced = |work: &WorkerTarget| work.pace == Pace::Unlimited;
    let mut all = case.plan?.workers.iter().flat_map(|worker| &worker.targets);
    if on.rows.len() < case.measured.rows.len() || on.reads().ios + on.writes().ios == 0 || !all.all(unpaced) {
        return None;
    }
    let mean = on.counted.queue_time_ms as f64 / 1e3 / case.elapsed_s();
    let share = mean / f64::from(asked);
    let figure = format!("{}'s mean depth was {mean:.1} of the {asked} that -o allows", on.device.name);
    // One request at a time is with the program for a moment after each, and the device waits for it.
    let is_queue = asked as usize > case.plan?.workers.len();
    match share {
        share if share < HALF && is_queue => Some(SHALLOW_QUEUE.finding(figure, mean)),
        share if share < 1.0 - ON_THE_WAY => Some(DEVICE_DEPTH.finding(figure, mean)),
        _ => None,
    }
}

/// I/Os that the kernel cut into several requests, where the device did nothing else.
fn split(case: &Case<'_>, on: &OnDevice<'_>) -> Option<Finding> {
    let OnDevice { device, counted, .. } = on;
    // A flush without data counts as a write.
    let no_flushes = counted.flush.is_none_or(|flush| flush.count == 0);
    let sides = [(on.reads(), counted.read, true), (on.writes(), counted.write, no_flushes)];
    let is_alone = |ours: Amount, counted: RequestCounters| {
        counted.bytes.abs_diff(ours.bytes) as f64 <= ours.bytes as f64 * case.slack()
    };
    let known = sides.into_iter().filter(|(ours, counted, known)| *known && ours.ios > 0 && is_alone(*ours, *counted));
    let (ios, requests) = known.fold((0, 0), |(ios, requests), (ours, counted, _)| {
        (ours.ios.saturating_add(ios), counted.count.saturating_add(requests))
    });
    let ratio = requests as f64 / ios as f64;
    let figure = format!("each I/O became {ratio:.1} requests at {}", device.name);
    (ios > 0 && ratio > 1.0 + case.slack()).then(|| SPLIT_IOS.finding(figure, ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built, IOS};
    use model::kernel_counters::FlushCounters;

    /// 8 requests outstanding for 100 s, past the cache; the disk counted this time in its queue.
    fn queued(queue_time_ms: u64) -> Built {
        let mut built = Built::sound();
        built.plan().targets[0].open.direct = true;
        built.measured().load_loop = Some(LoadLoop::Closed { depth: 8 });
        let counted = built.counted("sda");
        (counted.read.count, counted.read.bytes, counted.queue_time_ms) = (IOS, BYTES, queue_time_ms);
        built
    }

    #[test]
    fn a_depth_that_the_device_saw_is_silent() {
        assert_eq!(queued(800_000).found(look), [""; 0]);
        assert_eq!(queued(650_000).found(look), [""; 0]);
    }

    #[test]
    fn a_depth_that_the_device_did_not_see_is_told() {
        assert_eq!(
            queued(560_000).found(look),
            ["NOTE device-depth: sda's mean depth was 5.6 of the 8 that -o allows"]
        );
        assert_eq!(
            queued(310_000).found(look),
            ["WARN shallow-queue: sda's mean depth was 3.1 of the 8 that -o allows"]
        );
        let mut one = queued(30_000);
        one.measured().load_loop = Some(LoadLoop::Closed { depth: 1 });
        assert_eq!(one.found(look), ["NOTE device-depth: sda's mean depth was 0.3 of the 1 that -o allows"]);
    }

    #[test]
    fn where_the_depth_is_not_meant_or_not_known_it_is_silent() {
        let mut paced = queued(1000);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(look), [""; 0]);
        let mut buffered = queued(1000);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(look), [""; 0]);
        let mut open = queued(1000);
        open.measured().load_loop = None;
        assert_eq!(open.found(look), [""; 0]);
    }

    #[test]
    fn flushes_are_no_pieces_of_writes() {
        let mut built = queued(800_000);
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let counted = built.counted("sda");
        (counted.read, counted.write) = (counted.write, counted.read);
        counted.write.count = 2 * IOS;
        assert_eq!(built.found(look), ["NOTE split-ios: each I/O became 2.0 requests at sda"]);
        built.counted("sda").flush = Some(FlushCounters { count: IOS, time_ms: 0 });
        built
            .happened()
            .kernel_counters
            .get_or_insert_default()
            .before
            .devices
            .entry("sda".to_owned())
            .or_default()
            .flush = Some(FlushCounters::default());
        assert_eq!(built.found(look), [""; 0]);
    }

    #[test]
    fn ios_in_several_pieces_are_noted() {
        let mut built = queued(800_000);
        built.counted("sda").read.count = 4 * IOS;
        assert_eq!(built.found(look), ["NOTE split-ios: each I/O became 4.0 requests at sda"]);
        built.counted("sda").read.bytes = 2 * BYTES;
        assert_eq!(built.found(look), [""; 0], "the requests may be those of others");
    }
}
