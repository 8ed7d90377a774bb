//! Use of the run's CPUs and devices by others.

use super::stack::DeviceIo;
use super::{RuleContext, VerdictRule, io_workers};
use crate::rule::{Observation, percent};
use model::cpu_shares::CpuShares;
use model::finding::Severity;
use model::note::Note;
use model::result::LoadLoop;
use model::units::{latency, mib};
use std::fmt;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "cpu-contention",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "time for which the threads were runnable but waited for a CPU (run delay in \
                        /proc/thread-self/schedstat, from the start of the load to its end), as a share of the \
                        threads' total time, if that is above 2 % and makes up more than 2 % of the mean latency: \
                        the share with one I/O outstanding per thread, otherwise the mean wait before a thread got a \
                        CPU, and the share at most. The finding also shows the shares of the time of all CPUs \
                        (/proc/stat, without steal time): this program, other programs and threads of the kernel \
                        (/proc/PID/stat), interrupts, what is unattributed, and idle time. Not checked on kernels \
                        without schedstat",
        advice: "stop other programs, use no more threads than CPUs, or bind threads to CPUs that do not handle the \
                 device's interrupts (-a): the shares of CPU time show which of these helps. While a thread waits \
                 for a CPU, its I/Os appear slower",
        evaluate: contention,
    },
    VerdictRule {
        name: "other-io",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "bytes not transferred by the run, as a share of all bytes that /sys/block/*/stat counted for \
                        the disk or loop device. I/Os that may be outstanding at the end (-o times the block size) \
                        count as those of the run. Reported if above 2 % plus an allowance for 50 ms of I/O, and above \
                        256 KiB/s. Only for block devices and for files on ext2-4, xfs or vfat that are on a single disk, with \
                        nothing but partitions and loop devices in between, and only if all I/O of the run on the \
                        device bypasses the page cache. If the run writes to a file system, writes by others \
                        are not counted, because they cannot be distinguished from the run's own journal and metadata",
        advice: "stop other programs that use the device: their I/O and the run's I/O slow each other down",
        evaluate: |context| context.devices().iter().filter_map(|on| other_io(context, on)).collect(),
    },
];

/// Bytes per second of others below which they have no influence: an occasional log or journal write.
const OTHERS_BYTES_PER_S_MIN: f64 = 256.0 * 1024.0;

fn contention(context: &RuleContext<'_>) -> Vec<Observation> {
    context.noted(|note| cpu_contention(context, note))
}

/// True if the threads waited for a CPU for a significant share of their time.
pub(super) fn waited_for_cpus(context: &RuleContext<'_>) -> bool {
    context.notes().filter_map(waited).any(|(share, _)| share > super::WORTH_A_WARNING)
}

/// The share of the threads' time, and the mean wait before a thread got a CPU in nanoseconds.
fn waited(note: &Note) -> Option<(f64, Option<u64>)> {
    let Note::CpuAwaited { percent_hundredths, turn_ns } = note else { return None };
    Some((f64::from(*percent_hundredths) / 10_000.0, *turn_ns))
}

/// Time in which runnable threads did not run.
fn cpu_contention(context: &RuleContext<'_>, note: &Note) -> Option<Observation> {
    let (share, turn_ns) = waited(note)?;
    let of_latency = WaitOfLatency::estimate(context, share, turn_ns);
    let is_felt = of_latency.as_ref().is_none_or(|found| found.wait_ns > super::WORTH_A_WARNING * found.mean_ns);
    let shares = stats::cpu_shares(context.span_result);
    let advice = advice(context, shares.as_ref());
    let shares = shares.map(|shares| format!("; time of all CPUs: {shares}")).unwrap_or_default();
    let of_latency = of_latency.map(|found| format!(": {found}")).unwrap_or_default();
    let figure = format!("the threads waited for a CPU for {} of their time{of_latency}{shares}", percent(share));
    let is_much = share > super::WORTH_A_WARNING && is_felt;
    is_much.then(|| Observation::new(figure, share * 100.0).with_advice(advice))
}

/// Part of the mean latency spent waiting for a CPU.
struct WaitOfLatency {
    wait_ns: f64,
    mean_ns: f64,
    /// One I/O is outstanding per thread: the I/O waits whenever the thread waits.
    is_exact: bool,
}

impl WaitOfLatency {
    /// An I/O is delayed by no more than the wait before the time slice in which it is collected: while the thread
    /// waits, the I/O is at the device. If each thread keeps its depth all the time, all I/Os together are delayed by
    /// no more than the share, and a single one by exactly that.
    fn estimate(context: &RuleContext<'_>, share: f64, turn_ns: Option<u64>) -> Option<Self> {
        let mean_ns = context.measured.total.total.latency?.mean_ns;
        let of_turn = turn_ns.map(|turn_ns| (turn_ns as f64).min(mean_ns));
        let of_turn = of_turn.map(|wait_ns| Self { wait_ns, mean_ns, is_exact: false });
        let Some(LoadLoop::Closed { depth }) = context.measured.load_loop else { return of_turn };
        // Other work of the threads, such as flushes, takes part of their time, too.
        let busy = context.measured.total.total.iops * mean_ns / 1e9 / f64::from(depth);
        if !(0.9..=1.1).contains(&busy) {
            return of_turn;
        }
        let is_exact = depth == context.measured.thread_count;
        let of_share = Self { wait_ns: share * mean_ns, mean_ns, is_exact };
        Some(of_turn.filter(|of_turn| !is_exact && of_turn.wait_ns < of_share.wait_ns).unwrap_or(of_share))
    }
}

/// `about 0.887 ms of the mean latency of 1.000 ms`
impl fmt::Display for WaitOfLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.is_exact { "about" } else { "at most" };
        write!(f, "{about} {} of the mean latency of {}", latency(self.wait_ns), latency(self.mean_ns))
    }
}

/// The user of the CPUs while threads waited for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    OtherPrograms,
    /// Kernel threads and interrupts, if the run has I/Os that they complete.
    Completions,
    /// The threads themselves: there are more threads than CPUs, which are seldom idle.
    OwnThreads,
    /// Kernel threads that perform the run's I/Os for `io_uring`.
    OwnWorkers,
    Unknown,
}

/// The largest user of CPU time, as far as it is known and worth a warning.
fn cause(context: &RuleContext<'_>, shares: Option<&CpuShares>) -> Cause {
    let has_too_many = has_too_many_threads(context, shares);
    let has_workers = io_workers::cpu_share(context).is_some_and(|share| share > super::WORTH_A_WARNING);
    let nobody = match (has_too_many, has_workers) {
        (true, _) => Cause::OwnThreads,
        (_, true) => Cause::OwnWorkers,
        _ => Cause::Unknown,
    };
    let Some(shares) = shares else { return nobody };
    let kernel =
        shares.kernel_threads_percent.zip(shares.interrupts_percent).map(|(threads, interrupts)| threads + interrupts);
    let others = shares.others_percent;
    let is_much = |percent: f64| percent / 100.0 > super::WORTH_A_WARNING;
    // Reads from the page cache have no completions.
    let has_completions = context.plan.is_some_and(|plan| plan.targets.iter().any(|target| target.open.direct));
    match kernel {
        _ if is_much(others) && others >= kernel.unwrap_or(0.0) => Cause::OtherPrograms,
        _ if has_too_many || has_workers => nobody,
        Some(kernel) if is_much(kernel) && has_completions => Cause::Completions,
        _ => nobody,
    }
}

/// Idle time of all CPUs above which fewer threads would not help.
const IDLE_PERCENT: f64 = 50.0;

/// True if threads had to wait for one another.
fn has_too_many_threads(context: &RuleContext<'_>, shares: Option<&CpuShares>) -> bool {
    let cpus = context.result.system.topology.cpus.len();
    let is_idle = shares.is_some_and(|shares| shares.idle_percent > IDLE_PERCENT);
    cpus > 0 && context.measured.thread_count as usize > cpus && !is_idle
}

/// The advice for the cause.
fn advice(context: &RuleContext<'_>, shares: Option<&CpuShares>) -> String {
    let fewer = format!("use no more threads than CPUs ({})", context.result.system.topology.cpus.len());
    let what = match cause(context, shares) {
        Cause::OtherPrograms if has_too_many_threads(context, shares) => format!("stop other programs, and {fewer}"),
        Cause::OtherPrograms => "stop other programs, or use a machine with more CPUs".to_owned(),
        Cause::OwnThreads => fewer,
        Cause::OwnWorkers => {
            "use --engine=sync with more threads: kernel threads of io_uring that do this run's I/Os had the CPUs".to_owned()
        }
        Cause::Completions => {
            "bind threads to CPUs that do not handle the device's interrupts (-a; /proc/interrupts names them), or use more \
             CPUs: threads and interrupts of the kernel had the CPUs, most likely to complete the I/Os of this run"
                .to_owned()
        }
        Cause::Unknown => "use more CPUs, or bind threads to some (-a): what had the CPUs is not known".to_owned(),
    };
    format!(
        "{what}. While a thread waits for a CPU, its I/Os appear slower, and the latencies are not those of the device alone"
    )
}

/// Bytes of others that went through a device.
fn other_io(context: &RuleContext<'_>, on: &DeviceIo<'_>) -> Option<Observation> {
    let (reads, writes) = (on.reads(), on.writes());
    let foreign_writes = match writes.ios {
        // Journal and metadata are written on behalf of the run.
        1.. if on.has_file_system(context) => 0,
        _ => on.counted.write.bytes.saturating_sub(writes.bytes),
    };
    // I/Os outstanding at the end belong to the run, and may have passed the device already.
    let foreign = on.counted.read.bytes.saturating_sub(reads.bytes).saturating_add(foreign_writes);
    let foreign = foreign.saturating_sub(on.outstanding_bytes(context));
    let seen = on.counted.read.bytes.saturating_add(on.counted.write.bytes);
    let share = foreign as f64 / seen as f64;
    let figure = format!(
        "{} of the bytes transferred by {} were not from this run ({:.2} MiB/s)",
        percent(share),
        on.device.name,
        mib(foreign as f64) / context.elapsed_s()
    );
    let is_much = foreign as f64 / context.elapsed_s() > OTHERS_BYTES_PER_S_MIN;
    (seen > 0 && is_much && share > context.slack())
        .then(|| Observation::new(figure, share * 100.0).with_subject(&on.device.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, CaseResult, IOS};
    use model::figures::{Figures, LatencyFigures};
    use model::kernel_counters::{OtherCpuTime, ProcessCounters};
    use model::result::CpuUsage;
    use model::topology::Cpu;

    #[test]
    fn waiting_for_a_cpu_counts_above_two_percent() {
        let mut built = CaseResult::sound();
        built.span_result().notes = vec![awaited(200)];
        assert_eq!(built.found(RULES), [""; 0]);
        built.span_result().notes = vec![awaited(1230)];
        let found = built.found(RULES);
        assert_eq!(found, ["WARN cpu-contention: the threads waited for a CPU for 12.3 % of their time"]);
    }

    fn awaited(percent_hundredths: u32) -> Note {
        Note::CpuAwaited { percent_hundredths, turn_ns: None }
    }

    /// "Other programs used no CPU time to speak of" stood beside 3847 MiB/s of theirs, and "stop other programs"
    /// beside only the completions of the run's own writes.
    #[test]
    fn only_what_helps_is_advised() {
        let advice = |threads: u32, is_direct: bool, outside: Option<[u64; 3]>| {
            let mut built = CaseResult::sound();
            built.plan().targets[0].open.direct = is_direct;
            used(&mut built, 20_000);
            if let Some([programs_ms, kernel_threads_ms, interrupts_ms]) = outside {
                let around = built.span_result().kernel_counters.get_or_insert_default();
                around.before.other_cpu = Some(OtherCpuTime::default());
                around.after.other_cpu = Some(OtherCpuTime { programs_ms, kernel_threads_ms, interrupts_ms });
            }
            built.span_result().notes = vec![awaited(1230)];
            built.measured().thread_count = threads;
            let cpu = |id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true };
            built.result.system.topology.cpus = (0..2).map(cpu).collect();
            let rule = RULES.iter().find(|rule| rule.name == "cpu-contention").expect("it is there");
            let context = RuleContext::new(&built.result, 0).expect("it was measured");
            rule.findings(&context)[0].advice.clone()
        };
        let stop = "stop other programs, or use a machine with more CPUs. ";
        assert!(advice(2, true, None).starts_with(stop), "user time of others alone is known");
        assert!(advice(2, true, Some([40_000, 30_000, 5_000])).starts_with(stop), "their kernel time counts");
        assert!(
            advice(3, true, Some([40_000, 0, 0]))
                .starts_with("stop other programs, and use no more threads than CPUs (2)")
        );
        assert!(advice(3, true, Some([0, 30_000, 0])).starts_with("use no more threads than CPUs (2). "));
        let bind = "bind threads to CPUs that do not handle the device's interrupts";
        assert!(advice(2, true, Some([1_000, 20_000, 5_000])).starts_with(bind));
        let unknown = "use more CPUs, or bind threads to some (-a): what had the CPUs is not known";
        assert!(advice(2, false, Some([1_000, 20_000, 5_000])).starts_with(unknown), "nothing completes cached reads");
        assert!(advice(2, true, Some([1_000, 1_000, 1_000])).starts_with(unknown));
    }

    #[test]
    fn kernel_threads_of_io_uring_are_our_own() {
        let mut built = CaseResult::sound();
        used(&mut built, 60_000);
        let workers = Note::IoWorkerThreads { threads: 1, cpu_time_ms: Some(30_000) };
        built.span_result().notes = vec![awaited(1230), workers];
        let around = built.span_result().kernel_counters.get_or_insert_default();
        (around.before.other_cpu, around.after.other_cpu) =
            (Some(OtherCpuTime::default()), Some(OtherCpuTime::default()));
        let context = RuleContext::new(&built.result, 0).expect("it was measured");
        let rule = RULES.iter().find(|rule| rule.name == "cpu-contention").expect("it is there");
        let found = rule.findings(&context);
        assert!(
            found[0].advice.starts_with("use --engine=sync with more threads: kernel threads of io_uring"),
            "{found:?}"
        );
    }

    /// Four threads that wait for the device on two idle CPUs do not wait for each other.
    #[test]
    fn threads_on_idle_cpus_are_not_too_many() {
        let mut built = CaseResult::sound();
        built.measured().thread_count = 4;
        let cpu = |id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true };
        built.result.system.topology.cpus = (0..2).map(cpu).collect();
        let context = RuleContext::new(&built.result, 0).expect("it was measured");
        let shares = |idle_percent| CpuShares { idle_percent, ..CpuShares::default() };
        assert!(has_too_many_threads(&context, Some(&shares(10.0))) && has_too_many_threads(&context, None));
        assert!(!has_too_many_threads(&context, Some(&shares(62.0))));
    }

    /// 10 µs of a latency of 5 ms is not worth a warning, even at a large share of the thread's time.
    #[test]
    fn a_wait_that_latencies_do_not_show_is_no_finding() {
        let found = |turn_ns: u64| {
            let mut built = CaseResult::sound();
            built.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 1000, turn_ns: Some(turn_ns) }];
            let measured = built.measured();
            measured.load_loop = Some(LoadLoop::Closed { depth: 32 });
            let latency = Some(LatencyFigures { mean_ns: 5e6, ..LatencyFigures::default() });
            measured.total.total = Figures { latency, iops: 6400.0, ..measured.total.total };
            built.found(RULES)
        };
        assert_eq!(found(10_000), [""; 0]);
        let words =
            "WARN cpu-contention: the threads waited for a CPU for 10.0 % of their time: at most 400 µs of the mean";
        assert!(found(400_000)[0].starts_with(words), "{:?}", found(400_000));
        assert!(found(1_000_000_000)[0].contains("at most 500 µs"), "not more than the share");
        // In an open loop only the time slices show it.
        let open = |turn_ns: u64| {
            let mut built = CaseResult::sound();
            built.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 1000, turn_ns: Some(turn_ns) }];
            let measured = built.measured();
            measured.load_loop = None;
            let latency = Some(LatencyFigures { mean_ns: 5e6, ..LatencyFigures::default() });
            measured.total.total = Figures { latency, ..measured.total.total };
            built.found(RULES)
        };
        assert_eq!(open(90_000), [""; 0]);
        assert!(open(400_000)[0].contains(": at most 400 µs of the mean latency of 5 ms"), "{:?}", open(400_000));
    }

    #[test]
    fn of_single_ios_the_wait_is_a_part_of_their_latency() {
        let mut built = CaseResult::sound();
        built.span_result().notes = vec![awaited(8870)];
        let measured = built.measured();
        measured.load_loop = Some(LoadLoop::Closed { depth: 1 });
        let latency = Some(LatencyFigures { mean_ns: 1e6, ..LatencyFigures::default() });
        measured.total.total = Figures { latency, ..measured.total.total };
        let of_latency = "for 88.7 % of their time: about 887 µs of the mean latency of 1 ms";
        assert!(built.found(RULES)[0].ends_with(of_latency), "{:?}", built.found(RULES));
        built.measured().load_loop = Some(LoadLoop::Closed { depth: 8 });
        assert!(built.found(RULES)[0].ends_with("for 88.7 % of their time"), "one was outstanding");
        built.measured().total.total.iops *= 8.0;
        let at_most = of_latency.replace("about", "at most");
        assert!(built.found(RULES)[0].ends_with(&at_most), "{:?}", built.found(RULES));
    }

    /// Two CPUs with 60 s of user time each in 100 s; this program had `user_ms` in all, and twice that in the kernel.
    fn used(built: &mut CaseResult, user_ms: u64) {
        let cpu = CpuUsage { user_percent: 60.0, kernel_percent: 38.0, idle_percent: 2.0, ..CpuUsage::default() };
        built.measured().cpus = vec![cpu, cpu];
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let process = |ms| {
            let (cpu_time_ms, user_time_ms) = (Some(3 * ms), Some(ms));
            Some(ProcessCounters { cpu_time_ms, user_time_ms, ..ProcessCounters::default() })
        };
        (around.before.process, around.after.process) = (process(0), process(user_ms));
    }

    #[test]
    fn the_cpu_time_of_other_programs_is_named_beside_the_wait() {
        let mut built = CaseResult::sound();
        built.span_result().notes = vec![awaited(1230)];
        used(&mut built, 20_000);
        let shares = "diskspd 30.0 %, other programs 50.0 %, kernel outside diskspd 18.0 %, idle 2.0 %";
        assert!(built.found(RULES)[0].ends_with(&format!("; time of all CPUs: {shares}")), "{:?}", built.found(RULES));
    }

    /// Reads past the cache; the disk counted `bytes`.
    fn seen(bytes: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        built.counted("sda").read.bytes = bytes;
        built
    }

    #[test]
    fn io_that_is_not_of_the_run_is_warned_of() {
        assert_eq!(seen(BYTES).found(RULES), [""; 0]);
        assert_eq!(seen(BYTES + BYTES / 50).found(RULES), [""; 0], "2 %");
        assert_eq!(
            seen(2 * BYTES).found(RULES),
            ["WARN other-io: 50.0 % of the bytes transferred by sda were not from this run (7.81 MiB/s)"]
        );
        let mut writes = seen(BYTES);
        writes.counted("sda").write.bytes = BYTES;
        assert!(writes.found(RULES)[0].starts_with("WARN other-io: 50.0 %"), "reads and writes are one load");
    }

    #[test]
    fn what_was_outstanding_at_the_end_is_of_the_run() {
        // One I/O completed; all submitted ones passed the disk.
        let mut built = seen(BYTES);
        built.measured().rows[0].figures.read.bytes = 8192;
        let outstanding = u32::try_from(IOS).expect("few");
        (built.plan().workers[0].slots, built.work().slots) = (outstanding, outstanding);
        assert_eq!(built.found(RULES), [""; 0]);
        built.counted("sda").read.bytes = 2 * BYTES;
        assert!(built.found(RULES)[0].starts_with("WARN other-io: 50.0 %"));
        // Threads that share requests among targets have no more in total.
        built.work().slots = 3 * outstanding;
        assert!(built.found(RULES)[0].starts_with("WARN other-io: 50.0 %"));
    }

    #[test]
    fn journals_of_our_own_writes_are_not_of_others() {
        let mut built = seen(0);
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        built.counted("sda").write.bytes = 2 * BYTES;
        assert_eq!(built.found(RULES), [""; 0]);
        built.counted("sda").read.bytes = BYTES;
        assert!(built.found(RULES)[0].starts_with("WARN other-io: 33.3 %"), "reads are not");
    }

    #[test]
    fn where_our_own_io_at_the_device_is_not_known_it_is_silent() {
        let mut buffered = seen(2 * BYTES);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut compressed = seen(2 * BYTES);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(RULES), [""; 0]);
    }
}
