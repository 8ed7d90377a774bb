//! CPU columns from clock ticks.

use model::note::Note;
use model::plan::TimeSpanPlan;
use model::record::{CpuTimes, CpuWait, ThreadRecord};
use model::result::CpuUsage;
use model::topology::Topology;
use std::collections::BTreeSet;

/// Usage of each CPU. Stolen time is in no column and not in the whole.
pub fn usages(times: &[CpuTimes]) -> Vec<CpuUsage> {
    times.iter().map(usage).collect()
}

fn usage(times: &CpuTimes) -> CpuUsage {
    let total = u128::from(times.user) + u128::from(times.kernel) + u128::from(times.idle);
    if total == 0 {
        return CpuUsage { cpu: times.cpu, idle_percent: 100.0, ..CpuUsage::default() };
    }
    let percent = |ticks: u64| 100.0 * ticks as f64 / total as f64;
    let (user_percent, kernel_percent) = (percent(times.user), percent(times.kernel));
    CpuUsage {
        cpu: times.cpu,
        usage_percent: user_percent + kernel_percent,
        user_percent,
        kernel_percent,
        idle_percent: percent(times.idle),
    }
}

/// The arithmetic mean of each column; zeros without CPUs.
pub(crate) fn average(usages: &[CpuUsage]) -> CpuUsage {
    if usages.is_empty() {
        return CpuUsage::default();
    }
    let mean = |column: fn(&CpuUsage) -> f64| usages.iter().map(column).sum::<f64>() / usages.len() as f64;
    CpuUsage {
        cpu: 0,
        usage_percent: mean(|usage| usage.usage_percent),
        user_percent: mean(|usage| usage.user_percent),
        kernel_percent: mean(|usage| usage.kernel_percent),
        idle_percent: mean(|usage| usage.idle_percent),
    }
}

/// The CPUs that threads run on; `None` = any.
pub(crate) fn used(plan: &TimeSpanPlan, topology: &Topology) -> Option<BTreeSet<u32>> {
    let bound: Option<BTreeSet<u32>> = plan.workers.iter().map(|worker| worker.cpu).collect();
    let allowed = || topology.cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect();
    Some(bound.unwrap_or_else(allowed)).filter(|cpus| !cpus.is_empty())
}

/// What must be said about CPU times beside the columns; `used`: the CPUs of the run, or `None` = all.
pub(crate) fn note(times: &[CpuTimes], used: Option<&BTreeSet<u32>>, said: &[Note]) -> Option<Note> {
    if times.is_empty() {
        let known = said.iter().any(|note| matches!(note, Note::CpuTimesUnknown { .. }));
        return (!known).then(|| Note::CpuTimesUnknown { reason: "no CPU times were recorded".to_owned() });
    }
    let is_used = |times: &&CpuTimes| used.is_none_or(|cpus| cpus.contains(&times.cpu));
    let sum = |column: fn(&CpuTimes) -> u64| {
        times.iter().filter(is_used).map(|times| u128::from(column(times))).sum::<u128>()
    };
    let steal = sum(|times| times.steal);
    let total = sum(|times| times.user) + sum(|times| times.kernel) + sum(|times| times.idle) + steal;
    let hundredths = |parts: u128| u32::try_from(parts / total).unwrap_or(u32::MAX);
    // At least 0.01 %, then rounded to the nearest hundredth.
    (steal > 0 && steal * 10_000 >= total)
        .then(|| Note::CpuStolen { percent_hundredths: hundredths(steal * 10_000 + total / 2) })
}

/// That threads waited for a CPU, if that was a hundredth of their time.
pub(crate) fn awaited(threads: &[ThreadRecord]) -> Option<Note> {
    let sum = |column: fn(&CpuWait) -> u64| {
        threads.iter().filter_map(|thread| thread.cpu_wait.as_ref()).map(|wait| u128::from(column(wait))).sum::<u128>()
    };
    let (wait_ns, of_ns) = (sum(|wait| wait.wait_ns), sum(|wait| wait.of_ns));
    let hundredths = u32::try_from((wait_ns * 10_000).checked_div(of_ns)?.min(10_000)).unwrap_or(u32::MAX);
    (hundredths >= 100).then_some(Note::CpuAwaited { percent_hundredths: hundredths })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::engine_kind::EngineKind;
    use model::plan::{Assignment, EnginePlan, WorkerPlan};
    use model::topology::Cpu;

    fn times(user: u64, kernel: u64, idle: u64, steal: u64) -> CpuTimes {
        CpuTimes { cpu: 3, user, kernel, idle, steal }
    }

    fn columns(usage: CpuUsage) -> String {
        let CpuUsage { usage_percent, user_percent, kernel_percent, idle_percent, .. } = usage;
        format!("{usage_percent:.2} {user_percent:.2} {kernel_percent:.2} {idle_percent:.2}")
    }

    #[test]
    fn columns_are_shares_of_the_time_that_was_ours() {
        assert_eq!(columns(usage(&times(25, 90, 285, 0))), "28.75 6.25 22.50 71.25");
        assert_eq!(columns(usage(&times(25, 90, 285, 400))), "28.75 6.25 22.50 71.25");
        assert_eq!(usage(&times(0, 0, 5, 0)).cpu, 3);
    }

    #[test]
    fn a_cpu_without_any_time_was_idle() {
        assert_eq!(columns(usage(&times(0, 0, 0, 9))), "0.00 0.00 0.00 100.00");
    }

    #[test]
    fn the_average_is_the_mean_of_the_columns() {
        // The table of the specification.
        let table = usages(&[times(25, 90, 285, 0), times(24, 87, 289, 0), times(2, 3, 395, 0), times(0, 0, 7, 0)]);
        assert_eq!(columns(average(&table)), "14.44 3.19 11.25 85.56");
        assert_eq!(average(&[]), CpuUsage::default());
    }

    #[test]
    fn steal_is_noted_from_a_hundredth_of_a_percent_on() {
        let note = |times: &[CpuTimes]| note(times, None, &[]);
        assert_eq!(note(&[times(0, 0, 9_999, 1)]), Some(Note::CpuStolen { percent_hundredths: 1 }));
        assert_eq!(note(&[times(0, 0, 10_000, 1)]), None);
        assert_eq!(note(&[times(50, 0, 25, 25)]), Some(Note::CpuStolen { percent_hundredths: 2500 }));
        assert_eq!(note(&[times(0, 0, 19_997, 3)]), Some(Note::CpuStolen { percent_hundredths: 2 }));
        assert_eq!(note(&[times(0, 0, 0, 0)]), None);
    }

    #[test]
    fn steal_of_cpus_that_the_run_does_not_use_is_no_matter_of_it() {
        let stolen = |cpu, steal| CpuTimes { cpu, idle: 100 - steal, steal, ..CpuTimes::default() };
        let all = [stolen(0, 40), stolen(1, 2), stolen(2, 0)];
        let of = |cpus: &[u32]| note(&all, Some(&cpus.iter().copied().collect()), &[]);
        assert_eq!(of(&[0]), Some(Note::CpuStolen { percent_hundredths: 4000 }));
        assert_eq!(of(&[1, 2]), Some(Note::CpuStolen { percent_hundredths: 100 }));
        assert_eq!(of(&[2]), None);
        assert_eq!(note(&all, None, &[]), Some(Note::CpuStolen { percent_hundredths: 1400 }));
    }

    #[test]
    fn the_cpus_of_a_run_are_those_of_its_threads_or_all_that_it_may_use() {
        let cpu = |id, allowed| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed };
        let topology = Topology { cpus: vec![cpu(0, true), cpu(1, false), cpu(2, true)], ..Topology::default() };
        let on = |cpus: &[Option<u32>]| {
            let engine = EnginePlan { kind: EngineKind::IoUring, reason: "".into(), ring: None, completions_max: None };
            let worker = |cpu: &Option<u32>| WorkerPlan {
                thread: 0,
                cpu: *cpu,
                engine: engine.clone(),
                targets: Vec::new(),
                assignment: Assignment::Fixed,
                slots: 1,
                seed: 0,
                stream: 0,
                randomize_writes: false,
            };
            let plan = TimeSpanPlan { workers: cpus.iter().map(worker).collect(), ..TimeSpanPlan::default() };
            used(&plan, &topology).map(|cpus| cpus.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(on(&[Some(2), Some(2)]), Some(vec![2]));
        assert_eq!(on(&[Some(2), None]), Some(vec![0, 2]));
        assert_eq!(on(&[]), None);
    }

    #[test]
    fn waiting_for_a_cpu_is_noted_from_a_hundredth_of_the_time_on() {
        let thread =
            |wait_ns, of_ns| ThreadRecord { cpu_wait: Some(CpuWait { wait_ns, of_ns }), ..ThreadRecord::default() };
        assert_eq!(awaited(&[]), None);
        assert_eq!(awaited(&[ThreadRecord::default()]), None, "unknown");
        assert_eq!(awaited(&[thread(9, 1000), thread(10, 1000)]), None);
        assert_eq!(awaited(&[thread(0, 1000), thread(500, 1000)]), Some(Note::CpuAwaited { percent_hundredths: 2500 }));
    }

    #[test]
    fn missing_times_are_noted_once() {
        let unread = Note::CpuTimesUnknown { reason: "/proc is not mounted".to_owned() };
        assert!(matches!(note(&[], None, &[]), Some(Note::CpuTimesUnknown { .. })));
        assert_eq!(note(&[], None, &[unread]), None);
    }
}
