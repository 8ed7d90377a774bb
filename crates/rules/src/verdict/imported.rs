//! Results of DiskSpd for Windows, of which only the load and the figures are known.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::finding::Severity;
use model::profile::{CacheMode, Target, Throughput};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "imported-cached",
        severity: Severity::Warn,
        unit: "targets",
        computed_from: "pages of results of DiskSpd for Windows: targets that were measured through the file system's cache \
                        (no `-Su`, `-Sh` or `-h`)",
        advice: "the figures are those of memory as well as of the disk: to measure the disk, repeat the run with -Sh",
        evaluate: |context| cached(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-rate",
        severity: Severity::Note,
        unit: "targets",
        computed_from: "pages of results of DiskSpd for Windows: targets with a rate limit (`-g`)",
        advice: "IOPS and throughput are at most those of the limit, not those that the target can do: read the latency, or \
                 repeat the run without -g",
        evaluate: |context| limited(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-outlier",
        severity: Severity::Note,
        unit: "times the 99.9th percentile",
        computed_from: "pages of results of DiskSpd for Windows with `-L`: the highest latency, if it is at least 10 times \
                        the 99.9th percentile and 10 ms or more",
        advice: "the file does not say what delayed this I/O: repeat the run, and look whether it comes back; quote the median \
                 beside the mean",
        evaluate: |context| outlier(context).into_iter().collect(),
    },
];

/// A maximum this many times the 99.9th percentile is of another kind than the other I/Os.
const OUTLIER_FACTOR: f64 = 10.0;
/// Shorter ones are nothing unusual.
const OUTLIER_MIN_NS: u64 = 10_000_000;

/// The targets of a result that another program made: there is neither a plan nor the name of this program.
fn targets<'a>(context: &RuleContext<'a>) -> &'a [Target] {
    let is_imported = context.result.tool.implementation.is_none() && context.plan.is_none();
    if is_imported { &context.span.targets } else { &[] }
}

fn cached(context: &RuleContext<'_>) -> Option<Observation> {
    let all = targets(context);
    let count = all.iter().filter(|target| target.cache_mode != CacheMode::Unbuffered).count();
    let which = if count == all.len() { String::new() } else { format!(" of {count} of {} targets", all.len()) };
    (count > 0).then(|| Observation::new(format!("the I/O{which} went through the file system's cache"), count as f64))
}

fn limited(context: &RuleContext<'_>) -> Option<Observation> {
    let words = |target: &Target| match target.throughput {
        Throughput::Unlimited => None,
        Throughput::BytesPerMs(bytes) => Some(format!("{bytes} bytes per ms")),
        Throughput::Iops(iops) => Some(format!("{iops} IOPS")),
    };
    let limits: Vec<String> = targets(context).iter().filter_map(words).collect();
    let first = limits.first()?;
    let of_first = if limits.iter().all(|limit| limit == first) { "" } else { " (first target)" };
    Some(Observation::new(format!("each thread was limited to {first}{of_first}"), limits.len() as f64))
}

fn outlier(context: &RuleContext<'_>) -> Option<Observation> {
    targets(context).first()?;
    let latencies = context.measured.total_latency.as_ref()?.total.as_ref()?;
    let (max_ns, p999_ns) = (latencies.figures.max_ns?, latencies.at(999_000_000)?);
    let factor = max_ns as f64 / p999_ns.max(1) as f64;
    if max_ns < OUTLIER_MIN_NS || factor < OUTLIER_FACTOR {
        return None;
    }
    let sum_ns = latencies.figures.mean_ns * latencies.count as f64;
    let share = max_ns as f64 / sum_ns.max(1.0) * 100.0;
    let figure = format!(
        "the slowest I/O took {:.1} ms, {factor:.0} times the 99.9th percentile ({:.3} ms), and makes up {share:.0} % of the \
         mean latency",
        max_ns as f64 / 1e6,
        p999_ns as f64 / 1e6
    );
    Some(Observation::new(figure, factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;
    use crate::verdict::judge;
    use model::figures::{Directions, LatencyDistribution, LatencyFigures, Percentile};

    /// A result as it is read from a file of DiskSpd: cached, with a limit, and with one slow I/O of 872 ms.
    fn imported() -> Built {
        let mut built = Built::sound();
        (built.result.plan, built.result.tool.implementation) = (None, None);
        let target = &mut built.result.profile.time_spans[0].targets[0];
        target.throughput = Throughput::BytesPerMs(2000);
        let figures = LatencyFigures { mean_ns: 539_000.0, max_ns: Some(872_000_000), ..LatencyFigures::default() };
        let percentiles = vec![Percentile { rank_ppb: 999_000_000, value_ns: 4_660_000 }];
        let total = LatencyDistribution { count: 2145, figures, percentiles, ..LatencyDistribution::default() };
        built.measured().total_latency = Some(Directions { total: Some(total), ..Directions::default() });
        built
    }

    fn of_imported(built: &mut Built) -> Vec<String> {
        judge(&mut built.result);
        let verdict = built.result.time_spans[0].verdict.clone().expect("there are figures");
        let imported = verdict.findings.iter().filter(|finding| finding.name.starts_with("imported-"));
        imported.map(|finding| format!("{} {}: {}", finding.severity, finding.name, finding.figure)).collect()
    }

    // Shows verdict: imported-cached
    // Shows verdict: imported-rate
    // Shows verdict: imported-outlier
    #[test]
    fn imported_results_have_the_findings_that_need_only_their_figures() {
        let mut built = imported();
        assert_eq!(
            of_imported(&mut built),
            [
                "WARN imported-cached: the I/O went through the file system's cache",
                "NOTE imported-rate: each thread was limited to 2000 bytes per ms",
                "NOTE imported-outlier: the slowest I/O took 872.0 ms, 187 times the 99.9th percentile (4.660 ms), and makes \
                 up 75 % of the mean latency",
            ]
        );
        let target = &mut built.result.profile.time_spans[0].targets[0];
        (target.throughput, target.cache_mode) = (Throughput::Unlimited, CacheMode::Unbuffered);
        built.measured().total_latency = None;
        assert_eq!(of_imported(&mut built), [""; 0]);
        assert_eq!(of_imported(&mut Built::sound()), [""; 0], "results of this program have rules that know more");
    }
}
