//! Whether the run was long and steady enough for its figures to be those of any other run.

use super::rule::percent;
use super::{Rule, RuleContext};
use model::confidence::{FigureSteadiness, Steadiness};
use model::result::Ending;
use model::verdict::{Finding, Severity};

pub(super) const ENDED_EARLY: Rule =
    Rule { name: "ended-early", severity: Severity::Note, advice: "let the run finish" };

pub(super) const SHORT_RUN: Rule = Rule {
    name: "short-run",
    severity: Severity::Note,
    advice: "measure for a minute or more (-d60): cache exhaustion, garbage collection and CPU boost only show up in \
             longer runs",
};

pub(super) const SHORT_WARM_UP: Rule = Rule {
    name: "short-warm-up",
    severity: Severity::Warn,
    advice: "extend the warm-up (-W) to cover the start of the measurement, which differs from the rest",
};

pub(super) const DRIFT: Rule = Rule {
    name: "drift",
    severity: Severity::Warn,
    advice: "warm up (-W) and measure (-d) until the result is stable: a filling cache, thermal throttling and other \
             load change it",
};

/// Runs shorter than this rarely show how a device behaves over time.
const SHORT_S: f64 = 60.0;

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let elapsed_s = context.elapsed_s();
    let mut findings = Vec::new();
    if context.measured.is_partial && context.span_result.outcome == Ending::Stopped {
        let figure = format!("stopped after {elapsed_s:.1} s of {} s", context.span.duration_s);
        findings.push(ENDED_EARLY.finding(figure, elapsed_s));
    }
    // Two decimals are as exact as times are asked for.
    if elapsed_s < SHORT_S - 0.005 {
        findings.push(SHORT_RUN.finding(format!("measured for {elapsed_s:.1} s"), elapsed_s));
    }
    findings.extend(unsteady(&context.measured.steadiness));
    findings
}

/// In a closed loop latency moves whenever the rate does: one finding is enough.
fn unsteady(steadiness: &FigureSteadiness) -> Option<Finding> {
    let figures = [("I/Os per second", steadiness.iops), ("the mean latency", steadiness.latency_mean)];
    figures.into_iter().find_map(|(name, steadiness)| match steadiness? {
        Steadiness::Steady => None,
        Steadiness::ShortWarmUp { cut, shift } => {
            let figure = format!(
                "without the first {} of the measurement, {name} would be {}",
                percent(cut),
                moved(shift, "higher", "lower")
            );
            Some(SHORT_WARM_UP.finding(figure, shift * 100.0))
        }
        Steadiness::Drift { change } => {
            let figure = format!(
                "{name} went {} by {} from start to end",
                if change < 0.0 { "down" } else { "up" },
                percent(change.abs())
            );
            Some(DRIFT.finding(figure, change * 100.0))
        }
    })
}

/// `4.2 % lower`.
fn moved(share: f64, more: &str, less: &str) -> String {
    format!("{} {}", percent(share.abs()), if share < 0.0 { less } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;

    #[test]
    fn a_minute_is_long_enough() {
        let mut built = Built::sound();
        for (elapsed_ns, expected) in [
            (60_001_000_000, None),
            (59_999_000_000, None),
            (9_990_000_000, Some("NOTE short-run: measured for 10.0 s")),
        ] {
            built.measured().elapsed_ns = elapsed_ns;
            assert_eq!(built.found(evaluate), Vec::from_iter(expected));
        }
    }

    // Shows verdict: short-warm-up
    // Shows verdict: drift
    #[test]
    fn unsteady_figures_are_warned_of_once() {
        let mut built = Built::sound();
        let drift = Some(Steadiness::Drift { change: -0.123 });
        for (iops, latency_mean, expected) in [
            (Some(Steadiness::Steady), Some(Steadiness::Steady), None),
            (drift, drift, Some("WARN drift: I/Os per second went down by 12.3 % from start to end")),
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
            built.measured().steadiness = FigureSteadiness { iops, latency_mean };
            assert_eq!(built.found(evaluate), Vec::from_iter(expected));
        }
    }

    #[test]
    fn a_run_that_was_stopped_says_when() {
        let mut built = Built::sound();
        built.measured().is_partial = true;
        assert_eq!(built.found(evaluate), [""; 0], "an error ended it, which another rule tells");
        built.span_result().outcome = Ending::Stopped;
        assert_eq!(built.found(evaluate), ["NOTE ended-early: stopped after 100.0 s of 100 s"]);
    }
}
