//! CPU columns from clock ticks.

use model::course::CpuCourse;
use model::cpu_shares::CpuShares;
use model::note::Note;
use model::plan::TimeSpanPlan;
use model::record::{CounterReading, CpuTimes, CpuWait, ThreadRecord};
use model::result::{CpuUsage, Measured, TimeSpanResult};
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

/// Shares of the time of all CPUs in each part; steal time is in the whole here, as its share is reported.
pub(crate) fn course(readings: &[CounterReading], elapsed_ns: u64) -> CpuCourse {
    let mut course = CpuCourse::default();
    let mut samples: Vec<(u64, CpuTimes)> =
        readings.iter().filter_map(|reading| Some((reading.at_ns.min(elapsed_ns), reading.cpus?))).collect();
    // A short rest belongs to the part before it: shares of few ticks are not meaningful.
    if let [.., (start_ns, _), (middle_ns, _), (end_ns, _)] = samples[..]
        && end_ns.saturating_sub(middle_ns) < middle_ns.saturating_sub(start_ns) / 2
    {
        samples.remove(samples.len() - 2);
    }
    let Some((first, others)) = samples.split_first() else { return course };
    let mut before = first.1;
    for &(at_ns, sample) in others {
        let spent = |of: fn(&CpuTimes) -> u64| of(&sample).saturating_sub(of(&before));
        let [user, kernel, idle, steal] =
            [spent(|of| of.user), spent(|of| of.kernel), spent(|of| of.idle), spent(|of| of.steal)];
        let total = u128::from(user) + u128::from(kernel) + u128::from(idle) + u128::from(steal);
        // A part shorter than a tick belongs to the next one.
        if total == 0 {
            continue;
        }
        let percent = |ticks: u64| 100.0 * ticks as f64 / total as f64;
        course.end_ns.push(at_ns);
        course.user_percent.push(percent(user));
        course.kernel_percent.push(percent(kernel));
        course.steal_percent.push(percent(steal));
        before = sample;
    }
    course
}

/// The arithmetic mean of each column; zeros without CPUs.
pub(crate) fn average(usages: &[CpuUsage]) -> CpuUsage {
    weighted_average(&usages.iter().map(|usage| (usage, 1.0)).collect::<Vec<_>>())
}

/// The mean of each column, of usages with weights; zeros without any.
pub(crate) fn weighted_average(usages: &[(&CpuUsage, f64)]) -> CpuUsage {
    if usages.is_empty() {
        return CpuUsage::default();
    }
    let weights: f64 = usages.iter().map(|(_, weight)| weight).sum();
    let mean = |column: fn(&CpuUsage) -> f64| {
        usages.iter().map(|(usage, weight)| column(usage) * weight).sum::<f64>() / weights
    };
    CpuUsage {
        cpu: 0,
        usage_percent: mean(|usage| usage.usage_percent),
        user_percent: mean(|usage| usage.user_percent),
        kernel_percent: mean(|usage| usage.kernel_percent),
        idle_percent: mean(|usage| usage.idle_percent),
    }
}

/// Shares of programs, kernel threads and interrupts in the CPU time of the measurement; `None` = unknown.
pub fn cpu_shares(span_result: &TimeSpanResult) -> Option<CpuShares> {
    let around = span_result.kernel_counters.as_ref()?;
    let spent = around.after.since(&around.before).process?;
    let (spent_ms, user_ms) = (spent.cpu_time_ms?, spent.user_time_ms?);
    let measured = span_result.measured.as_ref().filter(|measured| !measured.cpus.is_empty())?;
    let CpuUsage { user_percent, kernel_percent, idle_percent, .. } = average(&measured.cpus);
    // The columns of the CPUs are shares of the time without steal.
    let available_ms = measured.elapsed_ns as f64 / 1e6 * measured.cpus.len() as f64 * (1.0 - stolen(measured));
    let share = |ms: u64| ms as f64 / available_ms * 100.0;
    // The counters of the process and of the CPUs are read a moment apart.
    let own_user = share(user_ms).min(user_percent);
    let own_kernel = share(spent_ms.saturating_sub(user_ms)).min(kernel_percent);
    let mut shares = CpuShares {
        program_percent: own_user + own_kernel,
        others_percent: user_percent - own_user,
        unattributed_percent: kernel_percent - own_kernel,
        idle_percent,
        ..CpuShares::default()
    };
    if let Some(outside) = around.after.since(&around.before).other_cpu {
        let mut left = shares.others_percent + shares.unattributed_percent;
        let mut take = |ms: u64| {
            let taken = share(ms).min(left);
            left -= taken;
            taken
        };
        shares.others_percent = take(outside.programs_ms);
        shares.kernel_threads_percent = Some(take(outside.kernel_threads_ms));
        shares.interrupts_percent = Some(take(outside.interrupts_ms));
        shares.unattributed_percent = left;
    }
    (available_ms > 0.0).then_some(shares)
}

/// The share of steal time in the time of all CPUs, from 0 to 1; 0 if it is unknown.
fn stolen(measured: &Measured) -> f64 {
    let CpuCourse { end_ns, steal_percent, .. } = &measured.cpu_course;
    let starts_ns = std::iter::once(0).chain(end_ns.iter().copied());
    let parts = starts_ns.zip(end_ns).zip(steal_percent);
    let stolen_ns: f64 = parts.map(|((start, end), percent)| end.saturating_sub(start) as f64 * percent / 100.0).sum();
    end_ns.last().map_or(0.0, |end| stolen_ns / (*end).max(1) as f64)
}

/// The CPUs that threads run on; `None` = any.
pub(crate) fn used(plan: &TimeSpanPlan, topology: &Topology) -> Option<BTreeSet<u32>> {
    let bound: Option<BTreeSet<u32>> = plan.workers.iter().map(|worker| worker.cpu).collect();
    let allowed = || topology.cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect();
    Some(bound.unwrap_or_else(allowed)).filter(|cpus| !cpus.is_empty())
}

/// Note on CPU times that the columns do not show; `used`: the CPUs of the run, or `None` = all.
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

/// Note that threads waited for a CPU, if that was a hundredth of their time.
pub(crate) fn awaited(threads: &[ThreadRecord]) -> Option<Note> {
    let sum = |column: fn(&CpuWait) -> u64| {
        threads.iter().filter_map(|thread| thread.cpu_wait.as_ref()).map(|wait| u128::from(column(wait))).sum::<u128>()
    };
    let (wait_ns, of_ns) = (sum(|wait| wait.wait_ns), sum(|wait| wait.of_ns));
    let turns = sum(|wait| wait.turns).max(1);
    let hundredths = u32::try_from((wait_ns * 10_000).checked_div(of_ns)?.min(10_000)).unwrap_or(u32::MAX);
    let turn_ns = Some(u64::try_from(wait_ns / turns).unwrap_or(u64::MAX));
    (hundredths >= 100).then_some(Note::CpuAwaited { percent_hundredths: hundredths, turn_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::engine_kind::EngineKind;
    use model::kernel_counters::{KernelCounters, KernelCountersAround, OtherCpuTime, ProcessCounters};
    use model::plan::{Assignment, EnginePlan, WorkerPlan};
    use model::result::Measured;
    use model::topology::Cpu;

    fn times(user: u64, kernel: u64, idle: u64, steal: u64) -> CpuTimes {
        CpuTimes { cpu: 3, user, kernel, idle, steal }
    }

    fn columns(usage: CpuUsage) -> String {
        let CpuUsage { usage_percent, user_percent, kernel_percent, idle_percent, .. } = usage;
        format!("{usage_percent:.2} {user_percent:.2} {kernel_percent:.2} {idle_percent:.2}")
    }

    /// "other programs 53 %" and "diskspd 7.8 %" stood beside a usage of 99.8 %.
    #[test]
    fn shares_of_the_cpus_add_up() {
        let counters = |cpu_time_ms, user_time_ms| {
            let (cpu_time_ms, user_time_ms) = (Some(cpu_time_ms), Some(user_time_ms));
            let process = Some(ProcessCounters { cpu_time_ms, user_time_ms, ..ProcessCounters::default() });
            KernelCounters { process, ..KernelCounters::default() }
        };
        let mut result = TimeSpanResult {
            kernel_counters: Some(KernelCountersAround { before: counters(500, 100), after: counters(2500, 600) }),
            measured: Some(Measured {
                elapsed_ns: 4_000_000_000,
                cpus: usages(&[times(50, 40, 10, 0), times(70, 30, 0, 0)]),
                ..Measured::default()
            }),
            ..TimeSpanResult::default()
        };
        let words = |result: &TimeSpanResult| cpu_shares(result).expect("they are known").to_string();
        let all = "diskspd 25.0 %, other programs 53.8 %, kernel outside diskspd 16.2 %, idle 5.0 %";
        assert_eq!(words(&result), all);
        let mut outside = |programs_ms, kernel_threads_ms, interrupts_ms| {
            let around = result.kernel_counters.as_mut().expect("it is there");
            around.before.other_cpu = Some(OtherCpuTime::default());
            around.after.other_cpu = Some(OtherCpuTime { programs_ms, kernel_threads_ms, interrupts_ms });
            words(&result)
        };
        // "Other programs used no CPU time to speak of": the kernel had worked for them.
        let known = "diskspd 25.0 %, other programs 50.0 %, kernel threads 12.5 %, interrupts 2.5 %, unattributed 5.0 %, idle 5.0 %";
        assert_eq!(outside(4000, 1000, 200), known);
        assert!(outside(9000, 1000, 200).starts_with("diskspd 25.0 %, other programs 70.0 %, kernel threads 0.0 %, "));
        result.kernel_counters.as_mut().expect("it is there").after.other_cpu = None;
        let measured = result.measured.as_mut().expect("it is there");
        measured.cpu_course = CpuCourse {
            end_ns: vec![1_000_000_000, 4_000_000_000],
            steal_percent: vec![80.0, 40.0],
            ..CpuCourse::default()
        };
        // Half of the time was stolen, so the program had twice the share of the rest, and no more kernel time than all.
        let stolen = "diskspd 47.5 %, other programs 47.5 %, kernel outside diskspd 0.0 %, idle 5.0 %";
        assert_eq!(words(&result), stolen);
        result.kernel_counters = None;
        assert_eq!(cpu_shares(&result), None);
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
    fn the_course_has_the_shares_of_each_part() {
        let at = |at_ns, user, kernel, idle, steal| CounterReading {
            at_ns,
            cpus: Some(CpuTimes { cpu: 0, user, kernel, idle, steal }),
            ..CounterReading::default()
        };
        let samples = [
            at(0, 0, 0, 0, 0),
            at(1_000, 10, 20, 60, 10),
            // Shorter than a tick.
            at(1_001, 10, 20, 60, 10),
            // Of other counters.
            CounterReading { at_ns: 1_500, ..CounterReading::default() },
            at(2_000, 10, 70, 60, 60),
        ];
        let found = course(&samples, 2_000);
        assert_eq!(found.end_ns, [1_000, 2_000]);
        assert_eq!((found.user_percent, found.kernel_percent), (vec![10.0, 0.0], vec![20.0, 50.0]));
        assert_eq!(found.steal_percent, [10.0, 50.0]);
        assert_eq!(course(&[], 0), CpuCourse::default());
        assert_eq!(course(&samples[..1], 2_000), CpuCourse::default());
        let rest = course(
            &[at(0, 0, 0, 0, 0), at(1_000, 50, 0, 50, 0), at(2_000, 99, 0, 99, 0), at(2_030, 100, 0, 100, 0)],
            2_020,
        );
        assert_eq!((rest.end_ns, rest.user_percent), (vec![1_000, 2_020], vec![50.0; 2]));
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
        let note_for = |cpus: &[u32]| note(&all, Some(&cpus.iter().copied().collect()), &[]);
        assert_eq!(note_for(&[0]), Some(Note::CpuStolen { percent_hundredths: 4000 }));
        assert_eq!(note_for(&[1, 2]), Some(Note::CpuStolen { percent_hundredths: 100 }));
        assert_eq!(note_for(&[2]), None);
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
        let thread = |wait_ns, of_ns| ThreadRecord {
            cpu_wait: Some(CpuWait { wait_ns, of_ns, turns: 5 }),
            ..ThreadRecord::default()
        };
        assert_eq!(awaited(&[]), None);
        assert_eq!(awaited(&[ThreadRecord::default()]), None, "unknown");
        assert_eq!(awaited(&[thread(9, 1000), thread(10, 1000)]), None);
        assert_eq!(
            awaited(&[thread(0, 1000), thread(500, 1000)]),
            Some(Note::CpuAwaited { percent_hundredths: 2500, turn_ns: Some(50) })
        );
    }

    #[test]
    fn missing_times_are_noted_once() {
        let unread = Note::CpuTimesUnknown { reason: "/proc is not mounted".to_owned() };
        assert!(matches!(note(&[], None, &[]), Some(Note::CpuTimesUnknown { .. })));
        assert_eq!(note(&[], None, &[unread]), None);
    }
}
