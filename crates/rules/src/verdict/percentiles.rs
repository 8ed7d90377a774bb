//! Latencies of too few I/Os.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::figures::{Directions, LatencyDistribution};
use model::finding::Severity;
use model::result::LoadLoop;
use model::units::{counted, grouped};
use stats::{NAMED_PERCENTILES, is_weak, ordinal, summary};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "weak-percentiles",
        severity: Severity::Note,
        unit: "I/Os",
        computed_from: "with `-L`: for reads and for writes, and of each stream if there are several, the lowest reported \
                    percentile with fewer than 10 I/Os beyond it. The value is the number of all I/Os with a measured latency",
        advice: "measure longer, or quote lower percentiles: fewer than 10 I/Os lie beyond those named",
        evaluate: weak_percentiles,
    },
    VerdictRule {
        name: "unfinished-ios",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "with `-L`, for loads without pauses or rate limit: share of the outstanding I/Os (-o) of \
                    all threads that Little's law (I/Os per second times mean latency) does not account for. Reported \
                    if above 20 %, and if the outstanding I/Os are more than 2 % of the measured I/Os",
        advice: "measure longer (-d): the latencies of the I/Os that were outstanding when the measurement ended are \
             unknown, and they may be the longest",
        evaluate: unfinished_ios,
    },
];

/// Share of the depth that the latencies must explain.
const EXPLAINED: f64 = 0.8;
/// Share of the I/Os that may be outstanding at the end without a noticeable effect on the latencies.
const OUTSTANDING: f64 = 0.02;

fn weak_percentiles(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(all) = &context.measured.total_latency else { return Vec::new() };
    let streams = &context.measured.streams;
    // A stream has percentiles of its own, and never more I/Os than all together.
    let weak: Vec<String> = match streams.as_slice() {
        [] | [_] => weak_of(all, ""),
        _ => streams.iter().flat_map(|stream| weak_of(&stream.latency, &format!(" of {}", stream.name))).collect(),
    };
    let Some((last, others)) = weak.split_last() else { return Vec::new() };
    let others = if others.is_empty() { String::new() } else { format!("{} and the ", others.join(", the ")) };
    let total = all.total.as_ref().map_or(0, |total| total.count);
    vec![Observation::new(format!("unreliable from the {others}{last} on"), total as f64)]
}

/// The lowest weak percentile of the reads and of the writes `of` a stream.
fn weak_of(latencies: &Directions<Option<LatencyDistribution>>, of: &str) -> Vec<String> {
    let weak = |(kind, latencies): (&str, &Option<LatencyDistribution>)| {
        let count = latencies.as_ref()?.count;
        // The maximum is left out: by definition it is one I/O.
        let (_, rank_ppb) = NAMED_PERCENTILES.into_iter().find(|&(_, rank_ppb)| is_weak(count, rank_ppb))?;
        Some(format!("{} of {} {kind}{of}", ordinal(rank_ppb), grouped(count as f64)))
    };
    [("reads", &latencies.read), ("writes", &latencies.write)].into_iter().filter_map(weak).collect()
}

fn unfinished_ios(context: &RuleContext<'_>) -> Vec<Observation> {
    let ios = context.measured.total.total.ios;
    let shortfall = || {
        let Some(LoadLoop::Closed { depth }) = context.measured.load_loop else { return None };
        let explained = summary(context.span_result)?.total.outstanding?;
        let depth = f64::from(depth);
        let is_few = depth > ios as f64 * OUTSTANDING;
        (is_few && explained < depth * EXPLAINED && context.is_unpaced()?).then_some((depth, explained))
    };
    let Some((depth, explained)) = shortfall() else { return Vec::new() };
    let figure = format!(
        "I/Os per second times mean latency explain {explained:.1} of {depth} outstanding I/Os, and only {} completed",
        counted(ios, "I/O")
    );
    vec![Observation::new(figure, (1.0 - explained / depth) * 100.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use model::figures::{Figures, LatencyFigures};
    use model::plan::Pace;
    use model::profile::StreamName;
    use model::result::StreamFigures;

    fn found(read: Option<u64>, write: Option<u64>) -> Vec<String> {
        let mut built = CaseResult::sound();
        let latencies_of =
            |count: Option<u64>| count.map(|count| LatencyDistribution { count, ..LatencyDistribution::default() });
        let total = latencies_of(Some(read.unwrap_or(0) + write.unwrap_or(0)));
        built.measured().total_latency =
            Some(Directions { read: latencies_of(read), write: latencies_of(write), total });
        built.found(RULES)
    }

    #[test]
    fn without_latencies_there_is_nothing_to_say() {
        assert_eq!(CaseResult::sound().found(RULES), [""; 0]);
    }

    #[test]
    fn each_direction_is_told_of_by_its_first_weak_percentile() {
        assert_eq!(
            found(Some(76_421), Some(999)),
            [
                "NOTE weak-percentiles: unreliable from the 99.99th percentile of 76,421 reads and the 99th percentile of 999 writes on"
            ]
        );
        assert_eq!(found(Some(5), None), ["NOTE weak-percentiles: unreliable from the 25th percentile of 5 reads on"]);
        assert_eq!(found(Some(10_000_000_000), None), [""; 0]);
    }

    #[test]
    fn each_of_several_streams_is_told_of() {
        let latencies_of = |count: u64| Some(LatencyDistribution { count, ..LatencyDistribution::default() });
        let stream = |name: &str, read, write| StreamFigures {
            name: StreamName::parse(name).expect("a name"),
            targets: vec![0],
            figures: Directions::default(),
            latency: Directions { read, write, total: None },
        };
        let mut built = CaseResult::sound();
        built.measured().total_latency =
            Some(Directions { read: latencies_of(50_999), write: latencies_of(9), total: latencies_of(51_008) });
        built.measured().streams =
            vec![stream("oltp", latencies_of(999), latencies_of(9)), stream("scan", latencies_of(50_000), None)];
        let expected = "NOTE weak-percentiles: unreliable from the 99th percentile of 999 reads of oltp, the 25th percentile \
                        of 9 writes of oltp and the 99.99th percentile of 50,000 reads of scan on";
        assert_eq!(built.found(RULES), [expected]);
    }

    /// This number of I/Os with this mean latency in 100 s, eight at a time.
    fn completed(ios: u64, mean_ns: f64) -> CaseResult {
        let mut built = CaseResult::sound();
        let latency = Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        built.measured().total.total = Figures { ios, iops: ios as f64 / 100.0, latency, ..Figures::default() };
        built.measured().load_loop = Some(LoadLoop::Closed { depth: 8 });
        built
    }

    // Shows verdict: unfinished-ios
    #[test]
    fn latencies_that_lack_the_last_ios_are_told_of() {
        assert_eq!(
            completed(100, 4e9).found(RULES),
            [
                "WARN unfinished-ios: I/Os per second times mean latency explain 4.0 of 8 outstanding I/Os, and only 100 \
              I/Os completed"
            ]
        );
        assert_eq!(completed(100, 7e9).found(RULES), [""; 0]);
        assert_eq!(completed(1000, 4e8).found(RULES), [""; 0], "eight of so many change little");
        let mut paced = completed(100, 4e9);
        paced.work().pace = Pace::Throughput { interval_numerator: 1, interval_denominator: 1 };
        assert_eq!(paced.found(RULES), [""; 0]);
    }
}
