//! How the run's I/Os looked to the device: how many at a time, and in how many pieces.

use super::stack::{self, Amount, OnDevice};
use super::{Case, Rule, cpu, others};
use model::kernel_counters::RequestCounters;
use model::note::Note;
use model::plan::{Pace, WorkerTarget};
use model::result::{LoadLoop, Row};
use model::verdict::{Finding, Severity};

pub(super) const DEVICE_DEPTH: Rule = Rule {
    name: "device-depth",
    severity: Severity::Note,
    advice: "read the figures as those of the depth at the device",
};

pub(super) const SHALLOW_QUEUE: Rule = Rule {
    name: "shallow-queue",
    severity: Severity::Warn,
    advice: "look at nr_requests in the device's queue folder in /sys, or use more threads (-t) or another engine: the \
             device never saw the depth that -o asks for, as I/Os spend most of their time before or behind it",
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
    let is_known = on.rows.len() == case.measured.rows.len() && all.all(unpaced);
    if !is_known || !is_one_request_each(case, on) || waits_for_flushes(case, on) {
        return None;
    }
    let mean = on.counted.queue_time_ms as f64 / 1e3 / case.elapsed_s();
    let share = mean / f64::from(asked);
    let figure = format!("{}'s mean depth was {mean:.1} of the {asked} that -o allows", on.device.name);
    // One request at a time is with the program for a moment after each, and the device waits for it.
    let is_queue = asked as usize > case.plan?.workers.len();
    match share {
        share if share < HALF && is_queue && !lacked_cpu(case) => Some(SHALLOW_QUEUE.finding(figure, mean)),
        share if share < 1.0 - ON_THE_WAY => Some(DEVICE_DEPTH.finding(figure, mean)),
        _ => None,
    }
}

/// True if no I/Os were merged, and the device counts at all.
fn is_one_request_each(case: &Case<'_>, on: &OnDevice<'_>) -> bool {
    let ios = on.reads().ios.saturating_add(on.writes().ios);
    let requests = on.counted.read.count.saturating_add(on.counted.write.count);
    ios > 0 && requests as f64 >= ios as f64 * (1.0 - case.slack())
}

/// True if I/Os wait for flushes, of which one serves many: they are outstanding without being at the
/// device.
fn waits_for_flushes(case: &Case<'_>, on: &OnDevice<'_>) -> bool {
    let (reads, writes) = (on.reads(), on.writes());
    let through = |row: &Row| case.target(row.target).is_some_and(|target| target.open.write_through);
    let flushes = on.counted.flush.map_or(0, |flush| flush.count);
    let is_often = flushes as f64 > reads.ios.saturating_add(writes.ios) as f64 * case.slack();
    is_often || (writes.ios > 0 && on.rows.iter().any(|row| through(row)))
}

/// True if it may have been the threads that could not keep the queue full.
fn lacked_cpu(case: &Case<'_>) -> bool {
    let paused = |note: &Note| matches!(note, Note::ProcessPaused { .. });
    cpu::was_scarce(case) || !others::contention(case).is_empty() || case.notes().any(paused)
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
    use model::kernel_counters::{FlushCounters, ProcessCounters};

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
    fn a_queue_that_the_threads_may_have_emptied_is_noted_alone() {
        for note in [
            Note::CpuAwaited { percent_hundredths: 300 },
            Note::CpuStolen { percent_hundredths: 300 },
            Note::ProcessPaused { pause_ns: 1 << 31 },
        ] {
            let mut built = queued(310_000);
            built.happened().notes = vec![note];
            assert!(built.found(look)[0].starts_with("NOTE device-depth: sda's mean depth was 3.1 of the 8"));
        }
        let mut busy = queued(310_000);
        let around = busy.happened().kernel_counters.get_or_insert_default();
        let process = |ms| Some(ProcessCounters { cpu_time_ms: Some(ms), ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (process(0), process(60_000));
        assert!(busy.found(look)[0].starts_with("NOTE device-depth: "));
    }

    #[test]
    fn ios_that_were_merged_or_wait_for_flushes_are_no_measure_of_depth() {
        let mut merged = queued(310_000);
        merged.counted("sda").read.count = IOS / 2;
        assert_eq!(merged.found(look), [""; 0]);
        let mut through = queued(310_000);
        through.plan().targets[0].open.write_through = true;
        assert!(through.found(look)[0].starts_with("WARN shallow-queue: "), "nothing was written");
        through.measured().rows[0].figures.write.ios = 1;
        assert_eq!(through.found(look), [""; 0]);
        let mut flushed = queued(310_000);
        for (counters, count) in flushed.around("sda").into_iter().zip([0, IOS / 10]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
        assert_eq!(flushed.found(look), [""; 0]);
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
        for (counters, count) in built.around("sda").into_iter().zip([0, IOS]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
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
