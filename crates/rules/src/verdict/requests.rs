//! The run's I/Os as the device saw them: queue depth, and splits.

use super::stack::{Amount, DeviceIo};
use super::{RuleContext, VerdictRule, cpu, io_workers, limits, others};
use crate::rule::Observation;
use model::finding::Severity;
use model::kernel_counters::RequestCounters;
use model::note::Note;
use model::result::{LoadLoop, Row};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "submission-limited",
        severity: Severity::Warn,
        unit: "requests",
        computed_from: "mean number of requests at the device (as for `shallow-queue`), if below 85 % of the \
                        outstanding I/Os (-o) of all threads and no cause other than this program is known. Only with \
                        more than one outstanding I/O per thread, because a single one may complete inside the system \
                        call. Only if the mean submission has at least two I/Os and at least a quarter of the thread's \
                        depth. Only for devices to which `shallow-queue` applies, only if nr_requests is known and not \
                        below -o, and only if the run writes to no file. Not reported together with `split-ios`, \
                        `io-limited`, `io-workers`, `steal`, `cpu-contention`, `cpu-limited` or `process-paused`. \
                        Replaces `shallow-queue` and `device-depth`",
        advice: "submit fewer I/Os at a time (-u1, no -oc), or use more threads (-t) or another placement (-a, -n): \
                 this program, not the device, limited the depth",
        evaluate: |context| depth(context, MissingDepth::BySubmission),
    },
    VerdictRule {
        name: "shallow-queue",
        severity: Severity::Warn,
        unit: "requests",
        computed_from: "mean number of requests at the device (weighted time in /sys/block/*/stat divided by the \
                        measured time), if below half of the outstanding I/Os (-o) of all threads and below 64. Only \
                        for loads without pauses or rate limit and with more than one outstanding I/O per thread, if \
                        all I/O bypasses the page cache, goes to one disk or loop device, and is not merged. Not with \
                        write-through (-Sh) or frequent flushes. Reported as `device-depth` if the threads lacked CPU \
                        time (`steal`, `cpu-contention`, `cpu-limited`, `process-paused`) or used a CPU for more than \
                        half of the time",
        advice: "check nr_requests in the device's queue directory in /sys, or use more threads (-t) or another \
                 engine: the device never reached the -o depth, because I/Os spent most of their time above it, \
                 in this machine",
        evaluate: |context| depth(context, MissingDepth::InHost),
    },
    VerdictRule {
        name: "device-depth",
        severity: Severity::Note,
        unit: "requests",
        computed_from: "mean number of requests at the device (weighted time in /sys/block/*/stat divided by the \
                        measured time), if below 80 % of the outstanding I/Os (-o) of all threads, even with one per \
                        thread. Only for loads without pauses or rate limit, if all I/O bypasses the page cache, goes \
                        to one disk or loop device, and is not merged. Not with write-through (-Sh) or frequent flushes",
        advice: "quote the device's queue depth beside -o: the other I/Os were on their way to the device or back",
        evaluate: |context| depth(context, MissingDepth::Unexplained),
    },
    VerdictRule {
        name: "split-ios",
        severity: Severity::Note,
        unit: "requests per I/O",
        computed_from: "the requests that the device counted are compared with the I/Os of the run. Reported if they \
                        exceed the I/Os of the run by more than 2 % plus an allowance for 50 ms of I/O. Only for \
                        devices to which `other-io` applies, and only if the device transferred no bytes other than \
                        those of the run. Not if writes are mixed with flushes",
        advice: "use a block size (-b) within max_sectors_kb and max_segments in the device's queue directory in \
                 /sys; otherwise, the kernel splits each I/O into several requests",
        evaluate: |context| context.devices().iter().filter_map(|on| split(context, on)).collect(),
    },
];

/// Reason for a device's queue depth below -o.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingDepth {
    /// This program submitted them in bursts.
    BySubmission,
    /// Most were in the host.
    InHost,
    /// It is not known.
    Unexplained,
}

/// Share of the depth that is missing at every device: requests in transit between it and the program.
const ON_THE_WAY: f64 = 0.2;

/// Share of the depth at a device, below which it is worth a finding if only this program limits it.
const KEPT_FULL: f64 = 0.85;

/// Share of a thread's depth in one submission that keeps a device from being full: the default loop submits a
/// sixteenth if operations complete later.
const BURST: f64 = 0.25;

/// Share below which the requested depth is missed clearly.
const HALF: f64 = 0.5;

/// Queue depth that saturates a device: more requests only wait there instead of in the host.
const DEEP: f64 = 64.0;

/// The queue depth at the device, if requests are missing for this reason.
fn depth(context: &RuleContext<'_>, wanted: MissingDepth) -> Vec<Observation> {
    let missing = context.missing_depth().filter(|(reason, _)| *reason == wanted);
    missing.map(|(_, observation)| observation.clone()).into_iter().collect()
}

/// The queue depth at the device, by its own counters, if all requests should be there and some are missing.
pub(super) fn missing_depth(context: &RuleContext<'_>) -> Option<(MissingDepth, Observation)> {
    let [on] = context.devices() else { return None };
    let Some(LoadLoop::Closed { depth: asked }) = context.measured.load_loop else { return None };
    let is_known = on.rows.len() == context.measured.rows.len() && context.is_unpaced()?;
    if !is_known || !is_one_request_each(context, on) || waits_for_flushes(context, on) {
        return None;
    }
    let mean = on.counted.queue_time_ms as f64 / 1e3 / context.elapsed_s();
    let share = mean / f64::from(asked);
    let figure = format!("{}'s mean depth was {mean:.1}; -o allows {asked}", on.device.name);
    // Each request is briefly with the program after its completion, while the device waits for it.
    let threads = context.plan?.workers.len();
    let is_queue = asked as usize > threads;
    // At one request per thread, I/Os may be complete before the system call that submits them returns.
    let is_asynchronous = mean > threads as f64;
    let is_kept_back = || is_asynchronous && is_in_bursts(context, asked) && is_free_to_take(context, on, asked);
    let reason = match share {
        share if share < KEPT_FULL && is_kept_back() => MissingDepth::BySubmission,
        share if share < HALF && mean < DEEP && is_queue && !lacked_cpu(context) => MissingDepth::InHost,
        share if share < 1.0 - ON_THE_WAY => MissingDepth::Unexplained,
        _ => return None,
    };
    Some((reason, Observation::new(figure, mean).with_subject(&on.device.name)))
}

/// True if threads submit so many requests at a time that a device which completes them together idles meanwhile. For
/// single submissions, missing requests are in transit.
fn is_in_bursts(context: &RuleContext<'_>, asked: u32) -> bool {
    let Some(submissions) = &context.measured.submissions else { return false };
    let count: u64 = submissions.threads.iter().map(|thread| thread.count).sum();
    let ios = context.measured.total.total.ios;
    let depth_of_thread = f64::from(asked) / submissions.threads.len() as f64;
    ios as f64 >= count as f64 * (depth_of_thread * BURST).max(2.0)
}

/// True if nothing between this program and the device is known to hold back `asked` requests, or to take the CPUs from
/// this program.
fn is_free_to_take(context: &RuleContext<'_>, on: &DeviceIo<'_>, asked: u32) -> bool {
    let takes_all = on.device.queue.request_count_max.is_some_and(|most| most >= u64::from(asked));
    // Allocation and locks of a file system delay writes.
    let is_plain = on.writes().ios == 0 || !on.has_file_system(context);
    takes_all
        && is_plain
        && split(context, on).is_none()
        && !cpu_was_taken(context)
        && !limits::decided(context)
        && io_workers::io_workers(context).is_empty()
}

/// True if no I/Os were merged, and the device has counters.
fn is_one_request_each(context: &RuleContext<'_>, on: &DeviceIo<'_>) -> bool {
    let ios = on.reads().ios.saturating_add(on.writes().ios);
    let requests = on.counted.read.count.saturating_add(on.counted.write.count);
    ios > 0 && requests as f64 >= ios as f64 * (1.0 - context.slack())
}

/// True if I/Os wait for flushes, each of which serves many: they are outstanding without being at the device.
fn waits_for_flushes(context: &RuleContext<'_>, on: &DeviceIo<'_>) -> bool {
    let (reads, writes) = (on.reads(), on.writes());
    let through = |row: &Row| context.target(row.target).is_some_and(|target| target.open.write_through);
    let flushes = on.counted.flush.map_or(0, |flush| flush.count);
    let is_often = flushes as f64 > reads.ios.saturating_add(writes.ios) as f64 * context.slack();
    is_often || (writes.ios > 0 && on.rows.iter().any(|row| through(row)))
}

/// True if lack of CPU time may have kept the threads from filling the queue.
fn lacked_cpu(context: &RuleContext<'_>) -> bool {
    cpu::was_scarce(context) || cpu_was_taken(context)
}

/// True if others used the CPUs that the threads needed.
fn cpu_was_taken(context: &RuleContext<'_>) -> bool {
    let paused = |note: &Note| matches!(note, Note::ProcessPaused { .. });
    cpu::was_taken(context) || others::waited_for_cpus(context) || context.notes().any(paused)
}

/// I/Os that the kernel split into several requests, if the device did nothing else.
fn split(context: &RuleContext<'_>, on: &DeviceIo<'_>) -> Option<Observation> {
    let DeviceIo { device, counted, .. } = on;
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
    let figure = format!("on average, each I/O was split into {ratio:.1} requests at {}", device.name);
    (ios > 0 && ratio > 1.0 + context.slack()).then(|| Observation::new(figure, ratio).with_subject(&device.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, CaseResult, IOS, PATH};
    use model::environment::Backing;
    use model::kernel_counters::{FlushCounters, ProcessCounters};
    use model::plan::Pace;
    use model::result::{Submissions, ThreadSubmissions};
    use std::path::Path;

    /// 8 requests outstanding for 100 s, bypassing the cache; the disk counted this time in its queue.
    fn queued(queue_time_ms: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        built.measured().load_loop = Some(LoadLoop::Closed { depth: 8 });
        let counted = built.counted("sda");
        (counted.read.count, counted.read.bytes, counted.queue_time_ms) = (IOS, BYTES, queue_time_ms);
        built
    }

    #[test]
    fn a_depth_that_the_device_saw_is_silent() {
        assert_eq!(queued(800_000).found(RULES), [""; 0]);
        assert_eq!(queued(650_000).found(RULES), [""; 0]);
    }

    // Shows verdict: device-depth
    #[test]
    fn a_depth_that_the_device_did_not_see_is_told() {
        assert_eq!(queued(560_000).found(RULES), ["NOTE device-depth: sda's mean depth was 5.6; -o allows 8"]);
        assert_eq!(queued(310_000).found(RULES), ["WARN shallow-queue: sda's mean depth was 3.1; -o allows 8"]);
        let mut one = queued(30_000);
        one.measured().load_loop = Some(LoadLoop::Closed { depth: 1 });
        assert_eq!(one.found(RULES), ["NOTE device-depth: sda's mean depth was 0.3; -o allows 1"]);
        let mut full = queued(12_700_000);
        full.measured().load_loop = Some(LoadLoop::Closed { depth: 40_000 });
        assert_eq!(full.found(RULES), ["NOTE device-depth: sda's mean depth was 127.0; -o allows 40000"]);
    }

    /// The same on a disk with this known request limit.
    fn taking(request_count_max: u64, queue_time_ms: u64) -> CaseResult {
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
        assert_eq!(taking(8, 690_000).found(RULES), [""; 0]);
        for (queue_time_ms, depth) in [(670_000, "6.7"), (310_000, "3.1")] {
            assert_eq!(
                taking(8, queue_time_ms).found(RULES),
                [format!("WARN submission-limited: sda's mean depth was {depth}; -o allows 8")]
            );
        }
    }

    #[test]
    fn a_depth_that_something_else_may_have_kept_down_is_not_the_programs() {
        let blamed = |change: fn(&mut CaseResult)| {
            let mut built = taking(256, 560_000);
            change(&mut built);
            built.found(RULES).iter().any(|line| line.contains("submission-limited"))
        };
        assert!(blamed(|_| {}));
        assert!(!blamed(|built| built.measured().submissions = Some(submitted(IOS))), "one at a time");
        assert!(!blamed(|built| built.measured().submissions = None));
        assert_eq!(taking(7, 560_000).found(RULES).len(), 1);
        assert!(taking(7, 560_000).found(RULES)[0].starts_with("NOTE device-depth: "));
        // A thread that waits for each I/O in its system call.
        assert!(taking(256, 90_000).found(RULES)[0].starts_with("WARN shallow-queue: "));
        assert!(!blamed(|built| built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 300 }]));
        assert!(!blamed(
            |built| built.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 300, turn_ns: None }]
        ));
        assert!(!blamed(
            |built| built.span_result().notes = vec![Note::ProcessPaused { pause_ns: 1 << 31, at_end_ns: 0 }]
        ));
        assert!(!blamed(
            |built| built.span_result().notes = vec![Note::IoWorkerThreads { threads: 1, cpu_time_ms: None }]
        ));
        assert!(!blamed(|built| built.counted("sda").read.count = 4 * IOS), "split");
        assert!(!blamed(|built| built.measured().rows[0].figures.write.ios = 1), "writes to a file");
    }

    #[test]
    fn where_the_depth_is_not_meant_or_not_known_it_is_silent() {
        let mut paced = queued(1000);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(RULES), [""; 0]);
        let mut buffered = queued(1000);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut open = queued(1000);
        open.measured().load_loop = None;
        assert_eq!(open.found(RULES), [""; 0]);
    }

    #[test]
    fn a_queue_that_the_threads_may_have_emptied_is_noted_alone() {
        for note in [
            Note::CpuAwaited { percent_hundredths: 300, turn_ns: None },
            Note::CpuStolen { percent_hundredths: 300 },
            Note::ProcessPaused { pause_ns: 1 << 31, at_end_ns: 0 },
        ] {
            let mut built = queued(310_000);
            built.span_result().notes = vec![note];
            assert!(built.found(RULES)[0].starts_with("NOTE device-depth: sda's mean depth was 3.1; -o allows 8"));
        }
        let mut busy = queued(310_000);
        let around = busy.span_result().kernel_counters.get_or_insert_default();
        let process = |ms| Some(ProcessCounters { cpu_time_ms: Some(ms), ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (process(0), process(60_000));
        assert!(busy.found(RULES)[0].starts_with("NOTE device-depth: "));
    }

    #[test]
    fn ios_that_were_merged_or_wait_for_flushes_are_no_measure_of_depth() {
        let mut merged = queued(310_000);
        merged.counted("sda").read.count = IOS / 2;
        assert_eq!(merged.found(RULES), [""; 0]);
        let mut through = queued(310_000);
        through.plan().targets[0].open.write_through = true;
        assert!(through.found(RULES)[0].starts_with("WARN shallow-queue: "), "nothing was written");
        through.measured().rows[0].figures.write.ios = 1;
        assert_eq!(through.found(RULES), [""; 0]);
        let mut flushed = queued(310_000);
        for (counters, count) in flushed.around("sda").into_iter().zip([0, IOS / 10]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
        assert_eq!(flushed.found(RULES), [""; 0]);
    }

    #[test]
    fn flushes_are_no_pieces_of_writes() {
        let mut built = queued(800_000);
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let counted = built.counted("sda");
        (counted.read, counted.write) = (counted.write, counted.read);
        counted.write.count = 2 * IOS;
        assert_eq!(built.found(RULES), ["NOTE split-ios: on average, each I/O was split into 2.0 requests at sda"]);
        for (counters, count) in built.around("sda").into_iter().zip([0, IOS]) {
            counters.flush = Some(FlushCounters { count, time_ms: 0 });
        }
        assert_eq!(built.found(RULES), [""; 0]);
    }

    #[test]
    fn ios_in_several_pieces_are_noted() {
        let mut built = queued(800_000);
        built.counted("sda").read.count = 4 * IOS;
        assert_eq!(built.found(RULES), ["NOTE split-ios: on average, each I/O was split into 4.0 requests at sda"]);
        built.counted("sda").read.bytes = 2 * BYTES;
        assert_eq!(built.found(RULES), [""; 0], "the requests may be those of others");
    }
}
