//! Whether the run was long and steady enough for its figures to be those of any other run.

use super::{Case, Rule};
use model::result::Ending;
use model::verdict::{Finding, Severity};

pub(super) const ENDED_EARLY: Rule =
    Rule { name: "ended-early", severity: Severity::Note, advice: "let it run to its end" };

pub(super) const SHORT_RUN: Rule = Rule {
    name: "short-run",
    severity: Severity::Note,
    advice: "measure for a minute or more (-d60): caches, garbage collection and turbo clocks show themselves late",
};

/// What is seldom enough to see a device's habits.
const SHORT_S: f64 = 60.0;

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let elapsed_s = case.elapsed_s();
    let mut findings = Vec::new();
    if case.measured.is_partial && case.happened.outcome == Ending::Stopped {
        let figure = format!("stopped after {elapsed_s:.1} s of {} s", case.span.duration_s);
        findings.push(ENDED_EARLY.finding(figure, elapsed_s));
    }
    // Two decimals are as exact as times are asked for.
    if elapsed_s < SHORT_S - 0.005 {
        findings.push(SHORT_RUN.finding(format!("measured for {elapsed_s:.1} s"), elapsed_s));
    }
    findings
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
            assert_eq!(built.found(look), Vec::from_iter(expected));
        }
    }

    #[test]
    fn a_run_that_was_stopped_says_when() {
        let mut built = Built::sound();
        built.measured().is_partial = true;
        assert_eq!(built.found(look), [""; 0], "an error ended it, which another rule tells");
        built.happened().outcome = Ending::Stopped;
        assert_eq!(built.found(look), ["NOTE ended-early: stopped after 100.0 s of 100 s"]);
    }
}
