//! Incorrectly measured time, and time that passed without the program running.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::finding::Severity;
use model::note::Note;
use model::units::latency;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "wrong-clock",
        severity: Severity::Invalid,
        unit: "milliseconds",
        computed_from: "drift between the CPU's time stamp counter and the kernel's clock during the run, if above 1 \
                        ms and above 1/5000 of the run's duration",
        advice: "use a machine or clocksource with a stable time stamp counter; migrating or pausing a virtual \
                 machine makes its counter unstable",
        evaluate: |context| {
            context.noted(|note| {
                let Note::ClocksDisagree { deviation_ns } = note else { return None };
                let drift_ns = *deviation_ns as f64;
                let figure = format!("the CPU's time counter drifted from the kernel clock by {}", latency(drift_ns));
                Some(Observation::new(figure, drift_ns / 1e6))
            })
        },
    },
    VerdictRule {
        name: "process-paused",
        severity: Severity::Warn,
        unit: "seconds",
        computed_from: "total length of the pauses of 1 s or more in which the control thread, which should wake up \
                        at regular intervals, did not run, if above 2 % of the measured time",
        advice: "measure again without suspending the process or the virtual machine: the rates are averages that \
                 include the pause",
        evaluate: |context| context.noted(|note| paused(context, note)),
    },
];

fn paused(context: &RuleContext<'_>, note: &Note) -> Option<Observation> {
    let Note::ProcessPaused { pause_ns, .. } = note else { return None };
    let pause_s = *pause_ns as f64 / 1e9;
    let figure = format!("the process was paused for {pause_s:.1} s of {:.1} s", context.elapsed_s());
    (pause_s > super::WORTH_A_WARNING * context.elapsed_s()).then(|| Observation::new(figure, pause_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;

    fn found(note: Option<Note>) -> Vec<String> {
        let mut built = CaseResult::sound();
        built.span_result().notes = note.into_iter().collect();
        built.found(RULES)
    }

    #[test]
    fn clocks_that_agree_are_silent() {
        assert_eq!(found(None), [""; 0]);
    }

    // Shows verdict: wrong-clock
    #[test]
    fn clocks_that_came_apart_make_it_invalid() {
        let note = Note::ClocksDisagree { deviation_ns: 7_500_000 };
        assert_eq!(
            found(Some(note)),
            ["INVALID wrong-clock: the CPU's time counter drifted from the kernel clock by 7.5 ms"]
        );
    }

    #[test]
    fn a_pause_counts_from_two_percent_of_the_time() {
        assert_eq!(found(Some(Note::ProcessPaused { pause_ns: 2_000_000_000, at_end_ns: 0 })), [""; 0]);
        let long = found(Some(Note::ProcessPaused { pause_ns: 3_000_000_000, at_end_ns: 0 }));
        assert_eq!(long, ["WARN process-paused: the process was paused for 3.0 s of 100.0 s"]);
    }
}
