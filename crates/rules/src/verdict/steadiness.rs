//! Length and steadiness of a run.

use super::VerdictRule;
use crate::rule::{Observation, percent};
use model::confidence::{FigureSteadiness, LASTING_S, Steadiness};
use model::ending::Ending;
use model::finding::Severity;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "ended-early",
        severity: Severity::Note,
        unit: "seconds measured",
        computed_from: "a signal or event ended the measurement early",
        advice: "let the run finish",
        evaluate: |context| {
            if !context.measured.is_partial || context.span_result.outcome != Ending::Stopped {
                return Vec::new();
            }
            let elapsed_s = context.elapsed_s();
            let figure = format!("stopped after {elapsed_s:.1} s of {} s", context.span.duration_s);
            vec![Observation::new(figure, elapsed_s)]
        },
    },
    VerdictRule {
        name: "short-run",
        severity: Severity::Note,
        unit: "seconds",
        computed_from: "measured time, if below 60 s",
        advice: "measure for 60 s or longer (-d60): cache exhaustion, garbage collection and the end of a CPU boost only \
                 show up in longer runs, and confidence intervals may need them",
        evaluate: |context| {
            let elapsed_s = context.elapsed_s();
            // Times are requested with up to two decimals.
            let is_short = elapsed_s < LASTING_S - 0.005;
            let observation = is_short.then(|| {
                let found = Observation::new(format!("measured for {elapsed_s:.1} s"), elapsed_s);
                found.with_advice(longer(stats::advised_s(context.measured)))
            });
            observation.into_iter().collect()
        },
    },
    VerdictRule {
        name: "short-warm-up",
        severity: Severity::Warn,
        unit: "change in the mean, in percent",
        computed_from: "half-second means of I/Os per second and of latency, in measurements of 30 s or more: the \
                        MSER-5 test finds a start-up phase longer than 10 % of the measurement, and leaving it out \
                        changes the mean by at least 2 %, significant at the 0.1 % level. Or the metric \
                        approaches its level exponentially and needs 10 % to 50 % of the measurement for it. \
                        [How](measurement.md#steadiness)",
        advice: "extend the warm-up (-W) to cover the start of the measurement, which differs from the rest",
        evaluate: |context| {
            let Some((name, &Steadiness::ShortWarmUp { cut, shift })) = unsteady(&context.measured.steadiness) else {
                return Vec::new();
            };
            let figure = format!(
                "without the first {} of the measurement, {name} would be {}",
                percent(cut),
                moved(shift, "higher", "lower")
            );
            vec![Observation::new(figure, shift * 100.0)]
        },
    },
    VerdictRule {
        name: "drift",
        severity: Severity::Warn,
        unit: "change in the metric, in percent",
        computed_from: "the same data as `short-warm-up`, if there is no such start-up phase. Reported if there is a \
                        trend from start to end of more than 5 % of the mean, or if a final phase, longer than 10 % of \
                        the measurement, changes the mean by more than 2 %, significant at the 0.1 % level",
        advice: "lengthen the warm-up (-W) and the measurement (-d) until the result is stable: a filling cache, \
                 thermal throttling or other load changed it",
        evaluate: |context| {
            let Some((name, &Steadiness::Drift { change })) = unsteady(&context.measured.steadiness) else {
                return Vec::new();
            };
            let direction = if change < 0.0 { "down" } else { "up" };
            let figure = format!("{name} went {direction} by {} from start to end", percent(change.abs()));
            vec![Observation::new(figure, change * 100.0)]
        },
    },
];

/// Effects that take longer.
const LATER: &str = "cache exhaustion, garbage collection and the end of a CPU boost only show up in longer runs, and confidence \
                     intervals may need them";

/// The advice of `short-run`, with the length that all parts of a result advise.
fn longer(advised_s: f64) -> String {
    format!("measure for {advised_s:.0} s or longer (-d{advised_s:.0}): {LATER}")
}

/// The metric that is checked first.
pub(super) const RATE: &str = "I/Os per second";

/// The first metric that was not steady: in a closed loop latency moves with the rate, and one finding is enough.
pub(super) fn unsteady(steadiness: &FigureSteadiness) -> Option<(&'static str, &Steadiness)> {
    let figures = [(RATE, &steadiness.iops), ("the mean latency", &steadiness.latency_mean)];
    let mut known = figures.into_iter().filter_map(|(name, steadiness)| Some((name, steadiness.as_ref()?)));
    known.find(|(_, steadiness)| **steadiness != Steadiness::Steady)
}

/// `4.2 % lower`
fn moved(share: f64, more: &str, less: &str) -> String {
    format!("{} {}", percent(share.abs()), if share < 0.0 { less } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use model::confidence::{HalfWidths, Withheld};
    use model::figures::Directions;

    #[test]
    fn a_minute_is_long_enough() {
        let mut built = CaseResult::sound();
        for (elapsed_ns, expected) in [
            (60_001_000_000, None),
            (59_999_000_000, None),
            (9_990_000_000, Some("NOTE short-run: measured for 10.0 s")),
        ] {
            built.measured().elapsed_ns = elapsed_ns;
            assert_eq!(built.found(RULES), Vec::from_iter(expected));
        }
    }

    /// Pages advised 60 s in one place and 150 s in another.
    #[test]
    fn a_short_run_and_missing_intervals_advise_one_length() {
        let mut built = CaseResult::sound();
        built.measured().elapsed_ns = 10_000_000_000;
        let mut advised = |measure_s: Option<f64>| {
            let withheld = Some(Withheld { dependence_s: None, measure_s });
            let total = HalfWidths { withheld, ..HalfWidths::default() };
            built.measured().confidence = Some(Directions { total: Some(total), ..Directions::default() });
            longer(stats::advised_s(built.measured()))
        };
        assert!(advised(None).starts_with("measure for 60 s or longer (-d60): "));
        assert!(advised(Some(6.0)).starts_with("measure for 60 s or longer (-d60): "));
        assert!(advised(Some(150.0)).starts_with("measure for 150 s or longer (-d150): "));
    }

    // Shows verdict: short-warm-up
    // Shows verdict: drift
    #[test]
    fn unsteady_figures_are_warned_of_once() {
        let mut built = CaseResult::sound();
        let drift = Some(Steadiness::Drift { change: -0.123 });
        for (iops, latency_mean, expected) in [
            (Some(Steadiness::Steady), Some(Steadiness::Steady), None),
            (drift.clone(), drift.clone(), Some("WARN drift: I/Os per second went down by 12.3 % from start to end")),
            (
                Some(Steadiness::Steady),
                drift,
                Some("WARN drift: the mean latency went down by 12.3 % from start to end"),
            ),
            (
                Some(Steadiness::ShortWarmUp { cut: 0.23, shift: 0.042 }),
                None,
                Some(
                    "WARN short-warm-up: without the first 23.0 % of the measurement, I/Os per second would \
                     be 4.2 % higher",
                ),
            ),
        ] {
            built.measured().steadiness = FigureSteadiness { iops, latency_mean, ..FigureSteadiness::default() };
            assert_eq!(built.found(RULES), Vec::from_iter(expected));
        }
    }

    #[test]
    fn a_run_that_was_stopped_says_when() {
        let mut built = CaseResult::sound();
        built.measured().is_partial = true;
        assert_eq!(built.found(RULES), [""; 0], "an error ended it, which another rule tells");
        built.span_result().outcome = Ending::Stopped;
        assert_eq!(built.found(RULES), ["NOTE ended-early: stopped after 100.0 s of 100 s"]);
    }
}
