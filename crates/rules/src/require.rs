//! Acceptance criteria of a run (`--require`).

use crate::rule::{self, Observation, Rule, RuleSet};
use model::finding::{Finding, Severity, Source};
use model::latency_band::{BandKind, LatencyBands, Medium};
use model::metric::MetricUnit;
use model::profile::TimeSpan;
use model::requirement::Requirement;
use model::result::{RunResult, TimeSpanResult};
use model::verdict::Verdict;
use stats::latency_band::Judgement;

/// The rank of the maximum, in parts per billion.
const PPB: u64 = 1_000_000_000;

const RULES: &[RequirementRule] = &[
    RequirementRule {
        name: "requirement",
        severity: Severity::Fail,
        unit: "the unit of the metric: I/Os per second, MiB/s, nanoseconds or percent",
        computed_from: "the metric over the whole timespan. A latency without a scope is what the application waits for: \
                        with flushes the commits, with --rate the response times, and reads and commits separately \
                        where both are done. UNKNOWN if it is met by a percentile of too few latencies (a p99 needs 100), \
                        and, of the requirements of a preset, in an INVALID run",
        advice: "the verdict may name a cause other than the storage",
        evaluate: |context| context.requirements.iter().flat_map(|of| observed(context, of)).collect(),
    },
    RequirementRule {
        name: "latency-band",
        severity: Severity::Fail,
        unit: "nanoseconds",
        computed_from: "--bands, and presets that use bands: the mean latency exceeds the upper limit. It is 20 ms for \
                        data files; for commits to the log, it is 5 ms on flash and 10 ms on devices that the kernel \
                        reports as rotational. In a virtual machine, where the kernel does not see the disks of the host, \
                        a commit of 5 to 10 ms on such a device is UNKNOWN. So is everything in an INVALID run",
        advice: "the verdict may name a cause other than the storage",
        evaluate: |context| context.band.iter().map(|(kind, medium)| in_band(context, *kind, *medium)).collect(),
    },
];

/// A rule about requirements.
pub type RequirementRule = Rule<RequirementRules>;

/// The set of rules about requirements.
#[derive(Debug)]
pub struct RequirementRules;

impl RuleSet for RequirementRules {
    const SOURCE: Source = Source::Requirement;
    type Context<'a> = RequirementContext<'a>;
    type Documentation = &'static str;
}

/// A timespan and its requirements.
#[derive(Debug)]
pub struct RequirementContext<'a> {
    requirements: &'a [Requirement],
    /// The kind of latency that is rated in bands, and the medium.
    band: Option<(BandKind, Medium)>,
    span: &'a TimeSpan,
    span_result: &'a TimeSpanResult,
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static RequirementRule> {
    RULES.iter()
}

/// Sets the outcome of each requirement, in the order given, and of the bands in every timespan.
pub fn judge(result: &mut RunResult, requirements: &[Requirement], bands: &[Option<BandKind>]) {
    let medium = stats::latency_band::medium(result);
    for (index, (span_result, span)) in result.time_spans.iter_mut().zip(&result.profile.time_spans).enumerate() {
        let kind = bands.get(index).copied().flatten();
        let band = kind.map(|kind| (kind, medium));
        span_result.requirements = evaluate(span, span_result, requirements, band);
    }
}

fn evaluate(
    span: &TimeSpan,
    span_result: &TimeSpanResult,
    requirements: &[Requirement],
    band: Option<(BandKind, Medium)>,
) -> Vec<Finding> {
    rule::evaluate(rules(), &RequirementContext { requirements, band, span, span_result })
}

fn in_band(context: &RequirementContext<'_>, kind: BandKind, medium: Medium) -> Observation {
    let limits: Vec<String> = kind.bands(medium).iter().map(|bands: &LatencyBands| bands.upper_limit()).collect();
    let subject = format!("{} {}", kind.figure(), limits.join(", "));
    let observation = match stats::latency_band::judge(context.span_result, kind, medium) {
        Some(Judgement { latency_ns, severity, words }) => {
            let figure = format!("{} was {}: {words}", kind.figure(), MetricUnit::Nanoseconds.shown(latency_ns));
            Observation::new(figure, latency_ns).with_severity(severity)
        }
        None => {
            Observation::without_value(format!("{} was not measured", kind.figure())).with_severity(Severity::Unknown)
        }
    };
    observation.with_subject(&subject)
}

/// One observation for each part that the requirement covers.
fn observed(context: &RequirementContext<'_>, requirement: &Requirement) -> Vec<Observation> {
    let resolved = match requirement.resolve(context.span) {
        Ok(resolved) => resolved,
        Err(reason) => {
            let unknown = Observation::without_value(reason).with_severity(Severity::Unknown);
            return vec![unknown.with_subject(requirement.to_string()).with_basis(&requirement.basis)];
        }
    };
    let observe = |requirement: &Requirement| {
        let name = &requirement.name;
        let observation = if let Some(value) = stats::metrics::value(name, context.span_result) {
            let figure = format!("{} was {}", name.shown(), name.metric.unit().shown(value));
            let is_met = requirement.is_met_by(value);
            match doubt(context.span_result, requirement, is_met) {
                Some(doubt) => Observation::new(figure + &doubt, value).with_severity(Severity::Unknown),
                None => {
                    Observation::new(figure, value).with_severity(if is_met { Severity::Pass } else { Severity::Fail })
                }
            }
        } else {
            let figure = format!("{} was not measured", name.shown());
            Observation::without_value(figure).with_severity(Severity::Unknown)
        };
        observation.with_subject(requirement.to_string()).with_basis(&requirement.basis)
    };
    resolved.iter().map(observe).collect()
}

/// Words after a figure that does not prove a bound met or missed: a preset accepts storage by sound figures only, and
/// a percentile that leaves out less than one latency is the maximum, which the next latency may exceed.
fn doubt(span_result: &TimeSpanResult, requirement: &Requirement, is_met: bool) -> Option<String> {
    let name = &requirement.name;
    let is_invalid = span_result.verdict.as_ref().and_then(Verdict::severity) == Some(Severity::Invalid);
    if is_invalid && !requirement.basis.is_empty() {
        return Some(", but the run is INVALID".to_owned());
    }
    let left_out_ppb = PPB.saturating_sub(name.metric.rank_ppb()?).max(1);
    let needed = PPB.div_ceil(left_out_ppb);
    let count = stats::metrics::latencies(name, span_result).filter(|count| is_met && *count < needed)?;
    Some(format!(" of {count} I/Os (at least {needed} needed)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{
        CommitFigures, Directions, Figures, FlushFigures, LatencyDistribution, LatencyFigures, Percentile,
    };
    use model::metric::MetricName;
    use model::profile::Target;
    use model::requirement::Operator;
    use model::result::{CpuUsage, Measured};

    fn requirement(name: &str, operator: Operator, bound: f64, bound_typed: &str) -> Requirement {
        let name = MetricName::parse(name).expect("a name");
        let typed = format!("{name}{}{bound_typed}", operator.sign());
        Requirement { typed, name, operator, bound, bound_typed: bound_typed.to_owned(), basis: String::new() }
    }

    /// 1000 I/Os per second of 4 KiB, with a mean of 2 ms.
    fn ran() -> TimeSpanResult {
        let latency = LatencyFigures { mean_ns: 2e6, ..LatencyFigures::default() };
        let total = Figures { iops: 1000.0, bytes_per_s: 4_096_000.0, latency: Some(latency), ..Figures::default() };
        let measured = Measured {
            total: Directions { total, ..Directions::default() },
            cpu_average: CpuUsage { usage_percent: 12.5, ..CpuUsage::default() },
            ..Measured::default()
        };
        of_measured(measured)
    }

    fn of_measured(measured: Measured) -> TimeSpanResult {
        let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
        TimeSpanResult { summary: stats::summary(&span_result), ..span_result }
    }

    fn lines(span_result: &TimeSpanResult, requirements: &[Requirement]) -> Vec<String> {
        let line = |finding: Finding| format!("{} {}: {}", finding.severity, finding.subject, finding.figure);
        evaluate(&TimeSpan::default(), span_result, requirements, None).into_iter().map(line).collect()
    }

    #[test]
    fn each_requirement_passes_fails_or_cannot_be_told() {
        let requirements = [
            requirement("iops", Operator::AtLeast, 1000.0, "1000"),
            requirement("mean", Operator::Less, 2e6, "2ms"),
            requirement("p99", Operator::Less, 1e6, "1ms"),
            requirement("cpu", Operator::AtMost, 12.5, "12.5%"),
        ];
        assert_eq!(
            lines(&ran(), &requirements),
            [
                "PASS iops>=1000: iops was 1000 I/O per s",
                "FAIL mean<2ms: mean was 2 ms",
                "UNKNOWN p99<1ms: p99 was not measured",
                "PASS cpu<=12.5%: cpu was 12.5 %",
            ]
        );
    }

    /// The copy into the page cache is fast, the commit is slow.
    #[test]
    fn a_latency_is_that_of_commits_where_writes_are_flushed() {
        let mut target = Target::new("a");
        target.write_percent = 70;
        let span = TimeSpan { flush_after_writes: Some(1), targets: vec![target], ..TimeSpan::default() };
        let commit = CommitFigures { mean_ns: 150e6, p50_ns: 148_000_000, p99_ns: 160_000_000, max_ns: 170_000_000 };
        let flushes = FlushFigures { after_writes: 1, count: 9, commit: Some(commit), ..FlushFigures::default() };
        let mut result = ran();
        let measured = result.measured.as_mut().expect("measured");
        measured.flushes = Some(flushes);
        measured.total.read.latency = Some(LatencyFigures { mean_ns: 1e6, ..LatencyFigures::default() });
        let requirements = [
            requirement("mean", Operator::Less, 1e7, "10ms"),
            requirement("flush.p99", Operator::Less, 1e7, "10ms"),
            requirement("response.p99", Operator::Less, 1e7, "10ms"),
        ];
        let found = evaluate(&span, &result, &requirements, None);
        let lines: Vec<String> =
            found.iter().map(|of| format!("{} {}: {}", of.severity, of.subject, of.figure)).collect();
        assert_eq!(
            lines,
            [
                "PASS read.mean<10ms: mean (read) was 1 ms",
                "FAIL commit.mean<10ms: mean (commit) was 150 ms",
                "UNKNOWN flush.p99<10ms: p99 (flush) was not measured",
                "UNKNOWN response.p99<10ms: the load has no response.p99: it needs intended starts (--rate)",
            ]
        );
    }

    /// The 99th percentile of fewer than 100 latencies is their maximum: it can miss a bound, but cannot prove it met.
    #[test]
    fn a_percentile_of_too_few_latencies_cannot_pass() {
        let judged = |count: u64, value_ns: u64| {
            let mut result = ran();
            let percentiles = vec![Percentile { rank_ppb: 990_000_000, value_ns }];
            let total = Some(LatencyDistribution { count, percentiles, ..LatencyDistribution::default() });
            let measured = result.measured.as_mut().expect("measured");
            measured.total_latency = Some(Directions { total, ..Directions::default() });
            lines(&result, &[requirement("p99", Operator::Less, 1e7, "10ms")]).join("; ")
        };
        assert_eq!(judged(100, 2_000_000), "PASS p99<10ms: p99 was 2 ms");
        assert_eq!(judged(99, 2_000_000), "UNKNOWN p99<10ms: p99 was 2 ms of 99 I/Os (at least 100 needed)");
        assert_eq!(judged(99, 12_000_000), "FAIL p99<10ms: p99 was 12 ms");
    }

    #[test]
    fn bounds_with_a_source_are_not_judged_in_an_invalid_run() {
        let invalid = Finding {
            name: "cached-reads".to_owned(),
            severity: Severity::Invalid,
            subject: String::new(),
            figure: String::new(),
            value: None,
            advice: String::new(),
            basis: String::new(),
            source: Source::Verdict,
        };
        let result = TimeSpanResult { verdict: Some(Verdict { findings: vec![invalid] }), ..ran() };
        let of_preset = |bound: f64| Requirement {
            basis: "a vendor".to_owned(),
            ..requirement("iops", Operator::AtLeast, bound, "n")
        };
        let users = requirement("iops", Operator::AtLeast, 900.0, "900");
        let found = evaluate(&TimeSpan::default(), &result, &[of_preset(900.0), of_preset(1100.0), users], None);
        let seen: Vec<_> = found.iter().map(|of| (of.severity, of.basis.as_str(), of.figure.as_str())).collect();
        let figure = "iops was 1000 I/O per s, but the run is INVALID";
        let unknown = (Severity::Unknown, "a vendor", figure);
        assert_eq!(seen, [unknown, unknown, (Severity::Pass, "", "iops was 1000 I/O per s")]);
    }

    #[test]
    fn a_timespan_without_figures_tells_nothing_and_no_ios_are_a_figure() {
        let requirements = [requirement("iops", Operator::Less, 9.0, "9")];
        let unknown = ["UNKNOWN iops<9: iops was not measured"];
        assert_eq!(lines(&TimeSpanResult::default(), &requirements), unknown);
        assert_eq!(lines(&of_measured(Measured::default()), &requirements), ["PASS iops<9: iops was 0 I/O per s"]);
    }

    #[test]
    fn values_are_in_the_unit_of_the_metric() {
        let requirements = [requirement("mean", Operator::Less, 5e6, "5ms")];
        let findings = evaluate(&TimeSpan::default(), &ran(), &requirements, None);
        assert_eq!((findings[0].value, findings[0].name.as_str()), (Some(2e6), "requirement"));
        assert_eq!((findings[0].source, findings[0].advice.as_str()), (Source::Requirement, ""));
    }

    #[test]
    fn a_latency_above_the_last_band_fails() {
        let judged = |kind: BandKind, medium| {
            let mut result = ran();
            if let Some(measured) = &mut result.measured {
                measured.total.write.latency = Some(LatencyFigures { mean_ns: 7e6, ..LatencyFigures::default() });
            }
            let found = evaluate(&TimeSpan::default(), &result, &[], Some((kind, medium)));
            format!("{} {}: {}", found[0].severity, found[0].subject, found[0].figure)
        };
        assert_eq!(
            judged(BandKind::Log, Medium::Flash),
            "FAIL commit up to 5 ms on flash: commit was 7 ms: impacted (above 5 ms on flash)"
        );
        assert_eq!(
            judged(BandKind::Log, Medium::HardDisk),
            "PASS commit up to 10 ms on a hard disk: commit was 7 ms: some impact (5 to 10 ms on a hard disk)"
        );
        assert_eq!(
            judged(BandKind::Log, Medium::Unknown),
            "UNKNOWN commit up to 10 ms on a hard disk, up to 5 ms on flash: commit was 7 ms: some impact for a hard \
             disk, impacted for flash"
        );
        let unknown =
            evaluate(&TimeSpan::default(), &TimeSpanResult::default(), &[], Some((BandKind::Data, Medium::Flash)));
        assert_eq!(
            (unknown[0].severity, unknown[0].figure.as_str()),
            (Severity::Unknown, "mean latency was not measured")
        );
        assert_eq!(evaluate(&TimeSpan::default(), &ran(), &[], None), []);
    }
}
