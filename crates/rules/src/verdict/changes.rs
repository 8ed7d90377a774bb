//! Changes within the run: levels, short deviating parts, stalls, and periodic stalls.

use super::steadiness::unsteady;
use super::{RuleContext, VerdictRule, WORTH_A_WARNING};
use crate::rule::{Observation, percent};
use model::change::{BriefChange, CompletionGap, Level, PeriodicStalls};
use model::confidence::Steadiness;
use model::finding::Severity;
use model::note::Note;
use model::plan::Pace;
use model::storage_course::DeviceCourse;
use model::units::latency;
use std::cmp::Reverse;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "change-point",
        severity: Severity::Warn,
        unit: "change from the first level to the last, in percent",
        computed_from: "half-second means of I/Os per second and of latency, in measurements of 30 s or more. Reported \
                        if the run consists of two to four flat parts, each at least 10 % of the run, whose means \
                        differ by at least 10 % of the mean of the run and 3 standard deviations, significant at the \
                        0.1 % level (PELT). Replaces `short-warm-up` and `drift`; a slow first part of at most half of \
                        the run is a `short-warm-up`. [How](measurement.md#steadiness)",
        advice: "measure again, and look for other load, throttling and background tasks: the mean describes none of \
                 the levels",
        evaluate: |context| level_change(context).into_iter().collect(),
    },
    VerdictRule {
        name: "brief-change",
        severity: Severity::Warn,
        unit: "change in the mean, in percent",
        computed_from: "I/Os per second in each 100 ms, in measurements of 30 s or more. Reported if consecutive \
                        values deviate from the median by at least 25 % and 6 standard deviations (estimated from the \
                        median absolute deviation), cover at most a tenth of the run, and change the mean by 2 % or \
                        more; or if a second lacks at least 40 % of its I/Os and 6 standard deviations. Not reported \
                        if more than three such parts deviate in the same direction, nor for a part that `stall` \
                        reports. [How](measurement.md#steadiness)",
        advice: "find out what happened at that time (other load, a cache, a journal), and measure again: a short part \
                 of the run shifts its mean",
        evaluate: |context| {
            let changes = &context.measured.steadiness.brief_changes;
            changes.iter().filter_map(|change| brief_change(context, change)).collect()
        },
    },
    VerdictRule {
        name: "stall",
        severity: Severity::Warn,
        unit: "seconds of the longest stall",
        computed_from: "I/Os in each 100 ms: at least half a second without a completion (a second at the start), in \
                        which the rate of the rest of the run leads to expect 20 I/Os or more (ten in a second or \
                        longer). Not with `-i`, nor with a `--rate` that changes. Says whether the devices below the \
                        targets had requests in flight at that time, if their counters were read at intervals (`-L`, \
                        `-D`)",
        advice: "look in the kernel log and the metrics of host, hypervisor and storage for what happened at that \
                 time: a single stall decides the highest percentiles and the maximum",
        evaluate: |context| stall(context).into_iter().collect(),
    },
    VerdictRule {
        name: "periodic-stalls",
        severity: Severity::Warn,
        unit: "milliseconds from one stall to the next",
        computed_from: "in measurements of 30 s or more: eight or more stalls in the I/Os per 100 ms, at intervals \
                        that vary by at most 15 %. Or a peak in the spectrum of the I/Os per 100 ms, significant at \
                        the 0.01 % level, if the rate in the mean period falls to 60 % or less for a part of it. Or, \
                        with `-L` or `-D` in a closed loop without `-g`, `-i` and `--fdatasync-every`: a period in \
                        the times of the slowest I/Os (only those with a latency of at least 2 ms and three times the \
                        mean; Rayleigh periodogram, significant at the 0.01 % level). Not with `-i`, nor with a \
                        `--rate` that changes. A NOTE if the stalls take less than 2 % of the time. \
                        [How](measurement.md#steadiness)",
        advice: "look for a timer or quota with this period: a CPU quota of the host (often 100 ms), a rate limiter, \
                 or a commit of the journal (often 5 s)",
        evaluate: |context| periodic_stalls(context).into_iter().collect(),
    },
];

fn level_change(context: &RuleContext<'_>) -> Option<Observation> {
    let (name, Steadiness::Levels { levels }) = unsteady(&context.measured.steadiness)? else { return None };
    let total = &context.measured.total.total;
    let whole = match name {
        super::steadiness::RATE => total.iops,
        _ => total.latency?.mean_ns,
    };
    let value = |level: &Level| match name {
        super::steadiness::RATE => format!("{:.0} I/Os per s", whole * level.mean),
        _ => format!("mean latency {}", latency(whole * level.mean)),
    };
    let (last, earlier) = levels.split_last()?;
    let mut parts: Vec<String> = earlier
        .iter()
        .map(|level| format!("{} for {:.1} s", value(level), level.length * context.elapsed_s()))
        .collect();
    parts.push(value(last));
    let is_fall = levels.windows(2).all(|pair| pair[1].mean < pair[0].mean) && name == super::steadiness::RATE;
    let cause = if is_fall { ": burst credit or cache exhausted" } else { "" };
    let change = last.mean / earlier.first()?.mean - 1.0;
    let observation = Observation::new(format!("{}{cause}", parts.join(", then ")), change * 100.0);
    Some(if is_fall {
        observation.with_advice(
            "the last level is the sustained rate: to measure it, warm up (-W) for longer than the levels before it \
             lasted; the mean describes none of the levels",
        )
    } else {
        observation
    })
}

fn brief_change(context: &RuleContext<'_>, change: &BriefChange) -> Option<Observation> {
    let BriefChange { start_ns, end_ns, iops, usual_iops, shift } = *change;
    let gaps = &context.measured.steadiness.completion_gaps;
    let is_stall = iops < usual_iops && gaps.iter().any(|gap| gap.overlap_ns(start_ns, end_ns) > 0);
    let is_pause = iops < usual_iops && context.notes().any(|note| matches!(note, Note::ProcessPaused { .. }));
    let seconds = |ns: u64| ns as f64 / 1e9;
    let figure = format!(
        "{iops:.0} I/Os per s (usually {usual_iops:.0}) for {:.1} s, starting at {:.1} s: without this part, the mean \
         would be {} {}",
        seconds(end_ns - start_ns),
        seconds(start_ns),
        percent(shift.abs()),
        if shift < 0.0 { "lower" } else { "higher" }
    );
    (!is_pause && !is_stall).then(|| Observation::new(figure, shift * 100.0))
}

/// The longest time without a completion, and the device activity meanwhile.
fn stall(context: &RuleContext<'_>) -> Option<Observation> {
    if pauses_itself(context) {
        return None;
    }
    let paused_ns =
        context.notes().map(|note| if let Note::ProcessPaused { pause_ns, .. } = note { *pause_ns } else { 0 });
    let paused_ns: u64 = paused_ns.sum();
    let gaps = context.measured.steadiness.completion_gaps.iter();
    let gaps: Vec<CompletionGap> = gaps.filter(|gap| gap.length_ns() > paused_ns).copied().collect();
    let longest = gaps.iter().max_by_key(|gap| (gap.length_ns(), Reverse(gap.start_ns)))?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let others = match gaps.len() - 1 {
        0 => String::new(),
        others => format!(", and {others} more of 0.5 s or longer"),
    };
    let busy: Vec<(&str, f64)> = context
        .measured
        .devices
        .iter()
        .filter_map(|of| Some((of.device.as_str(), busy_percent(of, *longest)?)))
        .collect();
    let states: Vec<String> = busy.iter().map(|(device, percent)| state(device, *percent)).collect();
    let states = if states.is_empty() { String::new() } else { format!("; meanwhile {}", states.join(", ")) };
    let length_s = seconds(longest.length_ns());
    let figure =
        format!("no I/O completed for {length_s:.1} s (at {:.1} s{others}){states}", seconds(longest.start_ns));
    let observation = Observation::new(figure, length_s);
    let most = busy.iter().map(|(_, percent)| *percent).reduce(f64::max);
    Some(match most {
        Some(most) if most < IDLE_PERCENT => observation.with_advice(
            "look in this machine for what held the I/Os back (file system journal, memory reclaim, CPU time, limits): the \
             devices had nothing to do",
        ),
        Some(most) if most >= BUSY_PERCENT => observation.with_advice(
            "look at the device and what is below it (its log and health, firmware, hypervisor, array): it had \
             requests in flight and completed none of this run",
        ),
        _ => observation,
    })
}

/// A device with requests in flight for less of the time was idle.
const IDLE_PERCENT: f64 = 10.0;
/// A device with requests in flight for more of the time was busy.
const BUSY_PERCENT: f64 = 50.0;

fn state(device: &str, percent: f64) -> String {
    match percent {
        percent if percent < IDLE_PERCENT => {
            format!("{device} was idle (requests in flight {percent:.0} % of the time)")
        }
        percent => format!("{device} had requests in flight {percent:.0} % of the time"),
    }
}

/// Percent of the time with requests in flight, by the steps that lie mostly in the gap; `None` if there are none,
/// because the steps are too long.
fn busy_percent(course: &DeviceCourse, gap: CompletionGap) -> Option<f64> {
    let inside = course.steps.iter().filter_map(|step| {
        let (length_ns, overlap_ns) =
            (step.end_ns.saturating_sub(step.start_ns), gap.overlap_ns(step.start_ns, step.end_ns));
        (overlap_ns * 2 > length_ns).then_some((overlap_ns as f64, step.figures.busy_percent))
    });
    let (weight, sum) = inside.fold((0.0, 0.0), |(weight, sum), (ns, percent)| (weight + ns, sum + ns * percent));
    (weight > 0.0).then(|| sum / weight)
}

/// True if the load itself pauses: no completions are expected then.
fn pauses_itself(context: &RuleContext<'_>) -> bool {
    let mut works = context.plan.into_iter().flat_map(|plan| &plan.workers).flat_map(|worker| &worker.targets);
    works.any(|work| matches!(work.pace, Pace::Burst { .. } | Pace::Varying { .. }))
}

fn periodic_stalls(context: &RuleContext<'_>) -> Option<Observation> {
    if pauses_itself(context) {
        return None;
    }
    let PeriodicStalls { period_ns, length_ns, count } = context.measured.steadiness.periodic_stalls?;
    let [length, period] = [length_ns, period_ns].map(|ns| latency(ns as f64));
    let figure = format!("I/Os stalled for about {length} every {period} ({count} stalls seen)");
    let observation = Observation::new(figure, period_ns as f64 / 1e6);
    let is_large = length_ns as f64 >= WORTH_A_WARNING * period_ns as f64;
    Some(if is_large { observation } else { observation.with_severity(Severity::Note) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, IOS};
    use model::confidence::FigureSteadiness;
    use model::figures::LatencyFigures;
    use model::storage_course::{DeviceFigures, DeviceStep};

    fn levels(levels: &[(f64, f64)]) -> Steadiness {
        Steadiness::Levels { levels: levels.iter().map(|&(length, mean)| Level { length, mean }).collect() }
    }

    // Shows verdict: change-point
    #[test]
    fn levels_are_told_in_the_order_of_time() {
        assert_eq!(IOS, 100_000, "1000 per second");
        let mut built = CaseResult::sound();
        let bucket = levels(&[(0.42, 1.4), (0.58, 0.7)]);
        built.measured().steadiness = FigureSteadiness { iops: Some(bucket), ..FigureSteadiness::default() };
        let expected = "1400 I/Os per s for 42.0 s, then 700 I/Os per s: burst credit or cache exhausted";
        assert_eq!(built.found(super::super::steadiness::RULES), [""; 0], "one cause, one finding");
        assert_eq!(built.found(RULES), [format!("WARN change-point: {expected}")]);
        let back = levels(&[(0.25, 1.2), (0.5, 0.8), (0.25, 1.2)]);
        built.measured().steadiness.iops = Some(back);
        let expected = "1200 I/Os per s for 25.0 s, then 800 I/Os per s for 50.0 s, then 1200 I/Os per s";
        assert_eq!(built.found(RULES), [format!("WARN change-point: {expected}")]);
        let latency = LatencyFigures { mean_ns: 2e6, ..LatencyFigures::default() };
        built.measured().total.total.latency = Some(latency);
        built.measured().steadiness.iops = Some(Steadiness::Steady);
        built.measured().steadiness.latency_mean = Some(levels(&[(0.5, 0.5), (0.5, 1.5)]));
        let expected = "mean latency 1 ms for 50.0 s, then mean latency 3 ms";
        assert_eq!(built.found(RULES), [format!("WARN change-point: {expected}")]);
    }

    // Shows verdict: brief-change
    #[test]
    fn a_short_part_that_moves_the_mean_is_told_unless_the_process_was_paused() {
        let mut built = CaseResult::sound();
        let burst = BriefChange {
            start_ns: 12_000_000_000,
            end_ns: 12_500_000_000,
            iops: 17_000.0,
            usual_iops: 1000.0,
            shift: -0.27,
        };
        built.measured().steadiness.brief_changes = vec![burst];
        let expected = "WARN brief-change: 17000 I/Os per s (usually 1000) for 0.5 s, starting at 12.0 s: without this \
                        part, the mean would be 27.0 % lower";
        assert_eq!(built.found(RULES), [expected]);
        built.measured().steadiness.brief_changes = vec![BriefChange { iops: 0.0, shift: 0.05, ..burst }];
        assert_eq!(built.found(RULES).len(), 1);
        let gap = CompletionGap { start_ns: 11_400_000_000, end_ns: 12_500_000_000 };
        built.measured().steadiness.completion_gaps = vec![gap];
        assert_eq!(
            built.found(RULES),
            ["WARN stall: no I/O completed for 1.1 s (at 11.4 s)"],
            "one cause, one finding"
        );
        built.measured().steadiness.completion_gaps.clear();
        built.span_result().notes = vec![Note::ProcessPaused { pause_ns: 500_000_000, at_end_ns: 0 }];
        assert_eq!(built.found(RULES), [""; 0], "process-paused tells of it");
    }

    // Shows verdict: stall
    #[test]
    fn a_stall_is_told_with_the_state_of_the_device() {
        let mut built = CaseResult::sound();
        let gap = |start_ds: u64, end_ds: u64| CompletionGap { start_ns: start_ds * DS, end_ns: end_ds * DS };
        built.measured().steadiness.completion_gaps = vec![gap(100, 112), gap(300, 325), gap(500, 511)];
        let longest = "WARN stall: no I/O completed for 2.5 s (at 30.0 s, and 2 more of 0.5 s or longer)";
        assert_eq!(built.found(RULES), [longest]);
        for (busy_percent, state) in [
            (3.0, "sda was idle (requests in flight 3 % of the time)"),
            (20.0, "sda had requests in flight 20 % of the time"),
            (97.0, "sda had requests in flight 97 % of the time"),
        ] {
            let figures = DeviceFigures { busy_percent, ..DeviceFigures::default() };
            let usual = DeviceFigures { busy_percent: 60.0, ..DeviceFigures::default() };
            let step =
                |start_ds, figures| DeviceStep { start_ns: start_ds * DS, end_ns: (start_ds + 10) * DS, figures };
            // Only half of the last step lies in the stall.
            let steps = vec![step(290, usual), step(300, figures), step(310, figures), step(320, usual)];
            built.measured().devices =
                vec![DeviceCourse { device: "sda".to_owned(), steps, ..DeviceCourse::default() }];
            assert_eq!(built.found(RULES), [format!("{longest}; meanwhile {state}")]);
        }
        built.span_result().notes = vec![Note::ProcessPaused { pause_ns: 2_600_000_000, at_end_ns: 0 }];
        assert_eq!(built.found(RULES), [""; 0], "it was the process");
        built.span_result().notes.clear();
        built.work().pace = Pace::Burst { ios: 5, pause_ns: 2_000_000_000 };
        assert_eq!(built.found(RULES), [""; 0], "pauses are asked for");
    }

    const DS: u64 = 100_000_000;

    // Shows verdict: periodic-stalls
    #[test]
    fn stalls_are_told_with_their_period() {
        let mut built = CaseResult::sound();
        let stalls = PeriodicStalls { period_ns: 100_000_000, length_ns: 20_400_000, count: 87 };
        built.measured().steadiness.periodic_stalls = Some(stalls);
        let expected = "WARN periodic-stalls: I/Os stalled for about 20.4 ms every 100 ms (87 stalls seen)";
        assert_eq!(built.found(RULES), [expected]);
        built.measured().steadiness.periodic_stalls = Some(PeriodicStalls { period_ns: 5_000_000_000, ..stalls });
        let expected = "NOTE periodic-stalls: I/Os stalled for about 20.4 ms every 5 s (87 stalls seen)";
        assert_eq!(built.found(RULES), [expected]);
        built.work().pace = Pace::Burst { ios: 10, pause_ns: 500_000_000 };
        assert_eq!(built.found(RULES), [""; 0], "the pauses were asked for");
    }
}
