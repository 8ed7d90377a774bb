//! How true the replay of a trace was.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::finding::Severity;
use model::replay::ReplayChanges;
use model::replay_figures::ReplayFigures;
use model::units::{counted, grouped};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "replay-lateness",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "share of the requests of a trace (`trace replay`) that were started more than 100 us after their \
                        time. Reported if above 1 %. The share of those more than 1 ms late follows. Not with `--closed`",
        advice: "raise -o, use more threads (--threads), or leave the CPUs to diskspd: the target did not get the load \
                 of the trace at its times",
        evaluate: |context| context.measured.replay.as_ref().and_then(lateness).into_iter().collect(),
    },
    VerdictRule {
        name: "replay-incomplete",
        severity: Severity::Warn,
        unit: "requests",
        computed_from: "requests of a trace (`trace replay`) that were not issued before the run ended",
        advice: "allow more time (-d), or a higher depth (-o): the figures are those of the part that was issued",
        evaluate: |context| context.measured.replay.as_ref().and_then(missing).into_iter().collect(),
    },
    VerdictRule {
        name: "replay-changed",
        severity: Severity::Note,
        unit: "requests",
        computed_from: "requests of a trace (`trace replay`) that were issued at another offset, with another size or in \
                        pieces, because the target is smaller or needs another alignment, and requests that were left out",
        advice: "compare with the recorded latencies only if the change does not matter; a target of the recorded size \
                 needs none",
        evaluate: changed,
    },
];

/// Percent of late requests that is worth a warning.
const LATE_PERCENT: f64 = 1.0;

fn lateness(figures: &ReplayFigures) -> Option<Observation> {
    let ReplayFigures { late_percent, very_late_percent, lateness, .. } = figures;
    let is_late = lateness.is_some() && *late_percent > LATE_PERCENT;
    is_late.then(|| {
        let figure = format!(
            "{late_percent:.1} % of the requests started more than 100 us late, {very_late_percent:.1} % more than 1 ms"
        );
        Observation::new(figure, *late_percent)
    })
}

fn missing(figures: &ReplayFigures) -> Option<Observation> {
    let missing = figures.planned.saturating_sub(figures.issued);
    (missing > 0).then(|| {
        let figure = format!("{} of {} were not issued", grouped(missing as f64), counted(figures.planned, "request"));
        Observation::new(figure, missing as f64)
    })
}

fn changed(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(ReplayFigures { changes, .. }) = &context.measured.replay else { return Vec::new() };
    let ReplayChanges { folded, scaled, aligned, split, discards_left_out, empty_left_out, .. } = *changes;
    let parts = [
        (folded, "folded into the target"),
        (scaled, "scaled to its size"),
        (aligned, "extended to its alignment"),
        (split, "split"),
        (discards_left_out.saturating_add(empty_left_out), "left out"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let observation = |(count, words): (u64, &str)| {
        let are = if count == 1 { "was" } else { "were" };
        Observation::new(format!("{} {are} {words}", counted(count, "request")), count as f64)
    };
    parts.map(observation).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cases::CaseResult;
    use super::*;
    use model::figures::LatencyDistribution;

    fn found(of: impl Fn(&mut ReplayFigures)) -> Vec<String> {
        let mut built = CaseResult::sound();
        let lateness = Some(LatencyDistribution::default());
        let mut replay = ReplayFigures { planned: 1000, issued: 1000, lateness, ..ReplayFigures::default() };
        of(&mut replay);
        built.measured().replay = Some(replay);
        built.found(RULES)
    }

    // Shows verdict: replay-lateness
    // Shows verdict: replay-incomplete
    // Shows verdict: replay-changed
    #[test]
    fn what_a_replay_did_not_keep_is_found() {
        assert_eq!(found(|_| ()), [""; 0]);
        let late = found(|of| (of.late_percent, of.very_late_percent) = (2.5, 0.3));
        let expected = "2.5 % of the requests started more than 100 us late, 0.3 % more than 1 ms";
        assert_eq!(late, [format!("WARN replay-lateness: {expected}")]);
        assert_eq!(found(|of| of.late_percent = 1.0), [""; 0], "99 % were on time");
        assert_eq!(found(|of| (of.late_percent, of.lateness) = (50.0, None)), [""; 0], "a closed replay has no times");
        let missing = found(|of| of.issued = 998);
        assert_eq!(missing, ["WARN replay-incomplete: 2 of 1000 requests were not issued"]);
        let changed = found(|of| {
            of.changes = ReplayChanges { folded: 3, discards_left_out: 1, ..ReplayChanges::default() };
        });
        let expected = [
            "NOTE replay-changed: 3 requests were folded into the target",
            "NOTE replay-changed: 1 request was left out",
        ];
        assert_eq!(changed, expected);
    }
}
