//! How the run's I/Os looked to the device: how many at a time, and in how many pieces.

use super::stack::{Amount, OnDevice};
use super::{Rule, RuleContext, cpu, io_workers, limits, others};
use model::kernel_counters::RequestCounters;
use model::note::Note;
use model::plan::{Pace, WorkerTarget};
use model::result::{LoadLoop, Row};
use model::verdict::{Finding, Severity};

pub(super) const DEVICE_DEPTH: Rule = Rule {
    name: "device-depth",
    severity: Severity::Note,
    advice: "attribute the results to the device's queue depth, not to -o",
};

pub(super) const SHALLOW_QUEUE: Rule = Rule {
    name: "shallow-queue",
    severity: Severity::Warn,
    advice: "check nr_requests in the device's queue directory in /sys, or use more threads (-t) or another engine: \
             the device never reached the -o depth, because I/Os spent most of their time in the host, not at the \
             device",
};

pub(super) const SUBMISSION_LIMITED: Rule = Rule {
    name: "submission-limited",
    severity: Severity::Warn,
    advice: "submit fewer I/Os at a time (-u1, no -oc), or use more threads (-t) or another placement (-a, -n): this \
             program, not the device, limited the depth",
};

pub(super) const SPLIT_IOS: Rule = Rule {
    name: "split-ios",
    severity: Severity::Note,
    advice: "use a block size (-b) within max_sectors_kb and max_segments in the device's queue directory in /sys; \
             otherwise, the kernel splits each I/O into several requests",
};

/// Share of the depth that is missing at every device: requests on their way between it and the program.
const ON_THE_WAY: f64 = 0.2;

/// Share of the depth at a device that nothing keeps from it but this program, below which that is worth telling.
const KEPT_FULL: f64 = 0.85;

/// Share of a thread's depth in one submission that keeps a device from being full: the default loop hands over a
/// sixteenth where operations complete later.
const BURST: f64 = 0.25;

/// What is no longer the depth that was asked for.
const HALF: f64 = 0.5;

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let devices = context.devices();
    let mut findings: Vec<Finding> = depth(context, devices).into_iter().collect();
    findings.extend(devices.iter().filter_map(|on| split(context, on)));
    findings
}

/// Requests that were at the device at a time, by its own count, where all are meant to be there.
fn depth(context: &RuleContext<'_>, devices: &[OnDevice<'_>]) -> Option<Finding> {
    let [on] = devices else { return None };
    let Some(LoadLoop::Closed { depth: asked }) = context.measured.load_loop else { return None };
    let unpaced = |work: &WorkerTarget| work.pace == Pace::Unlimited;
    let mut all = context.plan?.workers.iter().flat_map(|worker| &worker.targets);
    let is_known = on.rows.len() == context.measured.rows.len() && all.all(unpaced);
    if !is_known || !is_one_request_each(context, on) || waits_for_flushes(context, on) {
        return None;
    }
    let mean = on.counted.queue_time_ms as f64 / 1e3 / context.elapsed_s();
    let share = mean / f64::from(asked);
    let figure = format!("{}'s mean depth was {mean:.1}; -o allows {asked}", on.device.name);
    // One request at a time is with the program for a moment after each, and the device waits for it.
    let threads = context.plan?.workers.len();
    let is_queue = asked as usize > threads;
    // With one at a time for each thread, I/Os may be complete before the system call that submits them returns.
    let is_asynchronous = mean > threads as f64;
    let is_kept_back = || is_asynchronous && is_in_bursts(context, asked) && is_free_to_take(context, on, asked);
    match share {
        share if share < KEPT_FULL && is_kept_back() => Some(SUBMISSION_LIMITED.finding(figure, mean)),
        share if share < HALF && is_queue && !lacked_cpu(context) => Some(SHALLOW_QUEUE.finding(figure, mean)),
        share if share < 1.0 - ON_THE_WAY => Some(DEVICE_DEPTH.finding(figure, mean)),
        _ => None,
    }
}

/// True if threads are known to hand over so many requests at a time that a device which answers them together idles
/// meanwhile. One after the other, what is missing is on its way.
fn is_in_bursts(context: &RuleContext<'_>, asked: u32) -> bool {
    let Some(submissions) = &context.measured.submissions else { return false };
    let count: u64 = submissions.threads.iter().map(|thread| thread.count).sum();
    let ios = context.measured.total.total.ios;
    let depth_of_thread = f64::from(asked) / submissions.threads.len() as f64;
    ios as f64 >= count as f64 * (depth_of_thread * BURST).max(2.0)
}

/// True if nothing between this program and the device is known to keep `asked` requests from it, nor takes the
/// CPUs from this program.
fn is_free_to_take(context: &RuleContext<'_>, on: &OnDevice<'_>, asked: u32) -> bool {
    let takes_all = on.device.queue.request_count_max.is_some_and(|most| most >= u64::from(asked));
    // Allocation and locks of a file system hold writes.
    let is_plain = on.writes().ios == 0 || !on.has_file_system(context);
    takes_all
        && is_plain
        && split(context, on).is_none()
        && !cpu_was_taken(context)
        && limits::evaluate(context).is_empty()
        && io_workers::evaluate(context).is_empty()
}

/// True if no I/Os were merged, and the device counts at all.
fn is_one_request_each(context: &RuleContext<'_>, on: &OnDevice<'_>) -> bool {
    let ios = on.reads().ios.saturating_add(on.writes().ios);
    let requests = on.counted.read.count.saturating_add(on.counted.write.count);
    ios > 0 && requests as f64 >= ios as f64 * (1.0 - context.slack())
}

/// True if I/Os wait for flushes, of which one serves many: they are outstanding without being at the
/// device.
fn waits_for_flushes(context: &RuleContext<'_>, on: &OnDevice<'_>) -> bool {
    let (reads, writes) = (on.reads(), on.writes());
    let through = |row: &Row| context.target(row.target).is_some_and(|target| target.open.write_through);
    let flushes = on.counted.flush.map_or(0, |flush| flush.count);
    let is_often = flushes as f64 > reads.ios.saturating_add(writes.ios) as f64 * context.slack();
    is_often || (writes.ios > 0 && on.rows.iter().any(|row| through(row)))
}

/// True if it may have been the threads that could not keep the queue full.
fn lacked_cpu(context: &RuleContext<'_>) -> bool {
    cpu::was_scarce(context) || cpu_was_taken(context)
}

/// True if others had the CPUs that the threads wanted.
fn cpu_was_taken(context: &RuleContext<'_>) -> bool {
    let paused = |note: &Note| matches!(note, Note::ProcessPaused { .. });
    cpu::was_taken(context) || !others::contention(context).is_empty() || context.notes().any(paused)
}

/// I/Os that the kernel cut into several requests, where the device did nothing else.
fn split(context: &RuleContext<'_>, on: &OnDevice<'_>) -> Option<Finding> {
    let OnDevice { device, counted, .. } = on;
    // A flush without data counts as a write.
    let no_flushes = counted.flush.is_none_or(|flush| flush.count == 0);
    let sides = [(on.reads(), counted.read, true), (on.writes(), counted.write, no_flushes)];
    let is_alone = |ours: Amount, counted: RequestCounters| {
        counted.bytes.abs_diff(ours.bytes) as f64 <= ours.bytes as f64 * context.slack()
    };
    let known = sides.into_iter().filter(|(ours, counted, known)| *known && ours.ios > 0 && is_alone(*ours, *counted));
    let (ios, requests) = known.fold((0, 0), |(ios, requests), (ours, counted, _)| {
        (ours.ios.saturating_add(ios), counted.count.saturating_add(requests))
    });
    let ratio = requests as f64 / ios as f64;
    let figure = format!("each I/O was split into {ratio:.1} requests at {}", device.name);
    (ios > 0 && ratio > 1.0 + context.slack()).then(|| SPLIT_IOS.finding(figure, ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built, IOS, PATH};
    use model::environment::Backing;
    use model::kernel_counters::{FlushCounters, ProcessCounters};
    use model::result::{Submissions, ThreadSubmissions};
    use std::path::Path;

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
        assert_eq!(queued(800_000).found(evaluate), [""; 0]);
        assert_eq!(queued(650_000).found(evaluate), [""; 0]);
    }

    // Shows verdict: device-depth
    #[test]
    fn a_depth_that_the_device_did_not_see_is_told() {
        assert_eq!(queued(560_000).found(evaluate), ["NOTE device-depth: sda's mean depth was 5.6; -o allows 8"]);
        assert_eq!(queued(310_000).found(evaluate), ["WARN shallow-queue: sda's mean depth was 3.1; -o allows 8"]);
        let mut one = queued(30_000);
        one.measured().load_loop = Some(LoadLoop::Closed { depth: 1 });
        assert_eq!(one.found(evaluate), ["NOTE device-depth: sda's mean depth was 0.3; -o allows 1"]);
    }

    /// The same on a disk that is known to take this many requests.
    fn taking(request_count_max: u64, queue_time_ms: u64) -> Built {
        let mut built = queued(queue_time_ms);
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        let Backing::Devices(devices) = &mut environment.backing else { panic!("a partition") };
        devices[0].below[0].queue.request_count_max = Some(request_count_max);
        built.measured().submissions = Some(submitted(IOS / 4));
        built
    }

    fn submitted(count: u64) -> Submissions {
        Submissions { threads: vec![ThreadSubmissions { count, ..ThreadSubmissions::default() }], total_per_s: 0.0 }
    }

    #[test]
    fn a_depth_that_nothing_else_kept_down_is_the_programs() {
        assert_eq!(taking(8, 690_000).found(evaluate), [""; 0]);
        for (queue_time_ms, depth) in [(670_000, "6.7"), (310_000, "3.1")] {
            assert_eq!(
                taking(8, queue_time_ms).found(evaluate),
                [format!("WARN submission-limited: sda's mean depth was {depth}; -o allows 8")]
            );
        }
    }

    #[test]
    fn a_depth_that_something_else_may_have_kept_down_is_not_the_programs() {
        let blamed = |change: fn(&mut Built)| {
            let mut built = taking(256, 560_000);
            change(&mut built);
            built.found(evaluate).iter().any(|line| line.contains("submission-limited"))
        };
        assert!(blamed(|_| {}));
        assert!(!blamed(|built| built.measured().submissions = Some(submitted(IOS))), "one at a time");
        assert!(!blamed(|built| built.measured().submissions = None));
        assert_eq!(taking(7, 560_000).found(evaluate).len(), 1);
        assert!(taking(7, 560_000).found(evaluate)[0].starts_with("NOTE device-depth: "));
        // A thread that waits for each I/O in its system call.
        assert!(taking(256, 90_000).found(evaluate)[0].starts_with("WARN shallow-queue: "));
        assert!(!blamed(|built| built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 300 }]));
        assert!(!blamed(|built| built.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 300 }]));
        assert!(!blamed(
            |built| built.span_result().notes = vec![Note::ProcessPaused { pause_ns: 1 << 31, at_end_ns: 0 }]
        ));
        assert!(!blamed(|built| built.span_result().notes = vec![Note::IoWorkerThreads { threads: 1 }]));
        assert!(!blamed(|built| built.counted("sda").read.count = 4 * IOS), "split");
        assert!(!blamed(|built| built.measured().rows[0].figures.write.ios = 1), "writes to a file");
    }

    #[test]
    fn where_the_depth_is_not_meant_or_not_known_it_is_silent() {
        let mut paced = queued(1000);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(evaluate), [""; 0]);
        let mut buffered = queued(1000);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(evaluate), [""; 0]);
        let mut open = queued(1000);
        open.measured().load_loop = None;
        assert_eq!(open.found(evaluate), [""; 0]);
    }

    #[test]
    fn a_queue_that_the_threads_may_have_emptied_is_noted_alone() {
        for note in [
            Note::CpuAwaited { percent_hundredths: 300 },
            Note::CpuStolen { percent_hundredths: 300 },
            Note::ProcessPaused { pause_ns: 1 << 31, at_end_ns: 0 },
        ] {
            let mut built = queued(310_000);
            built.span_result().notes = vec![note];
            assert!(built.found(evaluate)[0].starts_with("NOTE device-depth: sda's mean depth was 3.1; -o allows 8"));
        }
        let mut busy = queued(310_000);
        let around = busy.span_result().kernel_counters.get_or_insert_default();
        let process = |ms| Some(ProcessCounters { cpu_time_ms: Some(ms), ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (process(0), process(60_000));
        assert!(busy.found(evaluate)[0].starts_with("NOTE device-depth: "));
    }

    #[test]
    fn ios_that_were_merged_or_wait_for_flushes_are_no_measure_of_depth() {
        let mut merged = queued(310_000);
        merged.counted("sda").read.count = IOS / 2;
        assert_eq!(merged.found(evaluate), [""; 0]);
        let mut through = queued(310_000);
        through.plan().targets[0].open.write_through = true;
        assert!(through.found(evaluate)[0].starts_with("WARN shallow-queue: "), "nothing was written");
        through.measured().rows[0].figures.write.ios = 1;
        assert_eq!(through.found(evaluate), [""; 0]);
        let mut flushed = queued(310_000);
        for (counters, count) in flushed.around("sda").into_iter().zip([0, IOS / 10]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
        assert_eq!(flushed.found(evaluate), [""; 0]);
    }

    #[test]
    fn flushes_are_no_pieces_of_writes() {
        let mut built = queued(800_000);
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let counted = built.counted("sda");
        (counted.read, counted.write) = (counted.write, counted.read);
        counted.write.count = 2 * IOS;
        assert_eq!(built.found(evaluate), ["NOTE split-ios: each I/O was split into 2.0 requests at sda"]);
        for (counters, count) in built.around("sda").into_iter().zip([0, IOS]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
        assert_eq!(built.found(evaluate), [""; 0]);
    }

    #[test]
    fn ios_in_several_pieces_are_noted() {
        let mut built = queued(800_000);
        built.counted("sda").read.count = 4 * IOS;
        assert_eq!(built.found(evaluate), ["NOTE split-ios: each I/O was split into 4.0 requests at sda"]);
        built.counted("sda").read.bytes = 2 * BYTES;
        assert_eq!(built.found(evaluate), [""; 0], "the requests may be those of others");
    }
}
