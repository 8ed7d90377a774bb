//! Percentiles that a handful of I/Os decide.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::figures::LatencyDistribution;
use model::finding::Severity;
use stats::{NAMED_PERCENTILES, is_weak};

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
    name: "weak-percentiles",
    severity: Severity::Note,
    unit: "I/Os",
    computed_from: "with `-L`: the lowest reported percentile, of reads and of writes, beyond which fewer than 10 I/Os \
                    lie. The value is the number of those I/Os",
    advice: "measure longer, or quote lower percentiles: fewer than 10 I/Os lie beyond those named",
    evaluate: weak_percentiles,
}];

fn weak_percentiles(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(latencies) = &context.measured.total_latency else { return Vec::new() };
    let of = |kind: &str, latencies: &Option<LatencyDistribution>| {
        let count = latencies.as_ref()?.count;
        // Not the maximum, which claims to be no more than one I/O.
        let (name, _) = NAMED_PERCENTILES.into_iter().find(|&(_, rank_ppb)| is_weak(count, rank_ppb))?;
        Some(format!("{name} of {count} {kind}"))
    };
    let weak = [("reads", &latencies.read), ("writes", &latencies.write)].map(|(kind, one)| of(kind, one));
    let weak: Vec<String> = weak.into_iter().flatten().collect();
    let total = latencies.total.as_ref().map_or(0, |total| total.count);
    if weak.is_empty() {
        Vec::new()
    } else {
        vec![Observation::new(format!("unreliable at and above the {}", weak.join(", the ")), total as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;
    use model::figures::Directions;

    fn found(read: Option<u64>, write: Option<u64>) -> Vec<String> {
        let mut built = Built::sound();
        let of =
            |count: Option<u64>| count.map(|count| LatencyDistribution { count, ..LatencyDistribution::default() });
        let total = of(Some(read.unwrap_or(0) + write.unwrap_or(0)));
        built.measured().total_latency = Some(Directions { read: of(read), write: of(write), total });
        built.found(RULES)
    }

    #[test]
    fn without_latencies_there_is_nothing_to_say() {
        assert_eq!(Built::sound().found(RULES), [""; 0]);
    }

    #[test]
    fn each_direction_is_told_of_by_its_first_weak_percentile() {
        assert_eq!(
            found(Some(76_421), Some(999)),
            ["NOTE weak-percentiles: unreliable at and above the 4-nines of 76421 reads, the 99th of 999 writes"]
        );
        assert_eq!(found(Some(5), None), ["NOTE weak-percentiles: unreliable at and above the 25th of 5 reads"]);
        assert_eq!(found(Some(10_000_000_000), None), [""; 0]);
    }
}
