//! Change of the CPUs' speed during the run.

use super::{RuleContext, VerdictRule, cpu};
use crate::rule::{Observation, percent};
use model::finding::Severity;
use model::kernel_counters::CpuCounters;
use model::units::counted;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "frequency-change",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "mean frequency of the CPUs that threads are bound to (scaling_cur_freq, first 16 CPUs) at the \
                        beginning and at the end of the measurement. Reported if the lower frequency is more than 5 % \
                        below the higher one, and if this difference (in percent), multiplied by the share of the time \
                        for which the threads used a CPU (as for `cpu-bound`), is above 2 %. Only after a warm-up of \
                        at least one second, and not with `-n`",
        advice: "pin the CPU frequency (governor performance, no turbo), or warm up longer: the same I/O took more or \
                 less CPU time at the end than at the beginning",
        evaluate: |context| frequency_change(context).into_iter().collect(),
    },
    VerdictRule {
        name: "thermal-throttling",
        severity: Severity::Warn,
        unit: "count",
        computed_from: "core_throttle_count and package_throttle_count (thermal_throttle in /sys) of the CPUs that \
                        threads are bound to, if one of them rose during the measurement. The value is the highest \
                        increase on any CPU",
        advice: "cool the machine, or measure when it is cool: CPUs throttle when they overheat, which slows I/O",
        evaluate: |context| thermal_throttling(context).into_iter().collect(),
    },
];

/// Relative change of the clock beyond the steps of CPU boost and the noise of one sample.
const CHANGE_MIN: f64 = 0.05;

/// Without a warm-up, the first sample sees idle CPUs.
const WARM_UP_NS_MIN: u64 = 1_000_000_000;

/// A change of the clock that affects more than 2 % of the time, weighted by the computing share.
fn frequency_change(context: &RuleContext<'_>) -> Option<Observation> {
    if context.plan?.warm_up_ns < WARM_UP_NS_MIN {
        return None;
    }
    let computing = cpu::computing(context)?;
    let around = context.span_result.kernel_counters.as_ref()?;
    let (first, last) = (mean_ghz(&around.before.cpus)?, mean_ghz(&around.after.cpus)?);
    let change = 1.0 - first.min(last) / first.max(last);
    let influence = change * computing.share;
    let figure = format!(
        "the CPUs ran at {first:.2} GHz at the beginning and at {last:.2} GHz at the end; the threads used a CPU for \
         {} of the time",
        percent(computing.share)
    );
    let counts = change > CHANGE_MIN && influence > super::WORTH_A_WARNING;
    counts.then(|| Observation::new(figure, influence * 100.0))
}

/// Mean over the CPUs that report a clock.
fn mean_ghz(cpus: &[CpuCounters]) -> Option<f64> {
    let clocks: Vec<u64> = cpus.iter().filter_map(|cpu| cpu.clock_khz).filter(|clock| *clock > 0).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<u64>() as f64 / clocks.len() as f64 / 1e6)
}

/// The CPU that was throttled most often.
fn thermal_throttling(context: &RuleContext<'_>) -> Option<Observation> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let cpus = around.after.since(&around.before).cpus;
    let of_cpu = |cpu: &CpuCounters| Some((cpu.core_throttled_count.max(cpu.package_throttled_count)?, cpu.cpu));
    let (count, cpu) = cpus.iter().filter_map(of_cpu).filter(|(count, _)| *count > 0).max()?;
    let figure = format!("CPU {cpu} (or its core or package) was thermally throttled {}", counted(count, "time"));
    Some(Observation::new(figure, count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use model::kernel_counters::ProcessCounters;

    fn cpu(clock_khz: u64, core: u64, package: u64) -> CpuCounters {
        CpuCounters {
            cpu: 0,
            clock_khz: Some(clock_khz),
            core_throttled_count: Some(core),
            package_throttled_count: Some(package),
        }
    }

    /// One thread with this CPU time in 100 s, on a CPU with these counters.
    fn ran(cpu_time_ms: u64, before: CpuCounters, after: CpuCounters) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().warm_up_ns = 5_000_000_000;
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let process = |ms| Some(ProcessCounters { cpu_time_ms: Some(ms), ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (process(0), process(cpu_time_ms));
        (around.before.cpus, around.after.cpus) = (vec![before], vec![after]);
        built
    }

    // Shows verdict: frequency-change
    #[test]
    fn a_clock_that_changes_is_warned_of_where_the_cpu_decides() {
        let clocks = |cpu_time_ms, first, last| ran(cpu_time_ms, cpu(first, 0, 0), cpu(last, 0, 0));
        assert_eq!(
            clocks(50_000, 4_000_000, 3_000_000).found(RULES),
            ["WARN frequency-change: the CPUs ran at 4.00 GHz at the beginning and at 3.00 GHz at the end; the \
                 threads used a CPU for 50.0 % of the time"]
        );
        assert!(clocks(50_000, 3_000_000, 4_000_000).found(RULES)[0].starts_with("WARN frequency-change"));
        assert_eq!(clocks(50_000, 4_000_000, 3_900_000).found(RULES), [""; 0], "a step of turbo");
        assert_eq!(clocks(5_000, 4_000_000, 3_000_000).found(RULES), [""; 0], "the CPU hardly matters");
        let mut cold = clocks(50_000, 800_000, 3_000_000);
        cold.plan().warm_up_ns = 0;
        assert_eq!(cold.found(RULES), [""; 0], "it had nothing to do before");
    }

    // Shows verdict: thermal-throttling
    #[test]
    fn heat_that_slows_cpus_down_is_warned_of() {
        let heat = |core: u64, package: u64| ran(0, cpu(1, 7, 3), cpu(1, 7 + core, 3 + package)).found(RULES);
        assert_eq!(heat(0, 0), [""; 0]);
        let found = "WARN thermal-throttling: CPU 0 (or its core or package) was thermally throttled 9 times";
        assert_eq!(heat(4, 9), [found]);
        assert_eq!(heat(9, 0), [found]);
        let mut unknown = ran(0, cpu(1, 7, 3), cpu(1, 8, 3));
        unknown.span_result().kernel_counters.get_or_insert_default().before.cpus.clear();
        assert_eq!(unknown.found(RULES), [""; 0]);
    }
}
