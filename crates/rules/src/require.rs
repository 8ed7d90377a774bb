//! Whether a run meets its acceptance criteria (`--require`).

use crate::rule::{self, Observation, Rule, RuleSet};
use model::finding::{Finding, Severity, Source};
use model::latency_band::{BandKind, LatencyBands, Medium};
use model::requirement::Requirement;
use model::result::{RunResult, TimeSpanResult};
use stats::latency_band::Judgement;

const RULES: &[RequirementRule] = &[
    RequirementRule {
        name: "requirement",
        severity: Severity::Fail,
        unit: "the unit of the metric: I/Os per second, MiB/s, nanoseconds or percent",
        computed_from: "the metric for reads and writes together, over the whole timespan",
        advice: "the verdict may name a cause other than the storage",
        evaluate: |context| context.requirements.iter().map(|requirement| observed(context, requirement)).collect(),
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

/// What these rules share.
#[derive(Debug)]
pub struct RequirementRules;

impl RuleSet for RequirementRules {
    const SOURCE: Source = Source::Requirement;
    type Context<'a> = RequirementContext<'a>;
    type Documentation = &'static str;
}

/// A timespan and what is required of it.
#[derive(Debug)]
pub struct RequirementContext<'a> {
    requirements: &'a [Requirement],
    /// What is judged in bands, and for which medium.
    band: Option<(BandKind, Medium)>,
    span_result: &'a TimeSpanResult,
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static RequirementRule> {
    RULES.iter()
}

/// Puts into every timespan what became of each requirement, in the order given, and of the bands of each timespan.
pub fn judge(result: &mut RunResult, requirements: &[Requirement], bands: &[Option<BandKind>]) {
    let medium = stats::latency_band::medium(result);
    for (index, span_result) in result.time_spans.iter_mut().enumerate() {
        let kind = bands.get(index).copied().flatten();
        let band = kind.map(|kind| (kind, medium));
        span_result.requirements = of(span_result, requirements, band);
    }
}

fn of(span_result: &TimeSpanResult, requirements: &[Requirement], band: Option<(BandKind, Medium)>) -> Vec<Finding> {
    rule::evaluate(rules(), &RequirementContext { requirements, band, span_result })
}

fn in_band(context: &RequirementContext<'_>, kind: BandKind, medium: Medium) -> Observation {
    let limits: Vec<String> = kind.bands(medium).iter().map(|bands: &LatencyBands| bands.upper_limit()).collect();
    let subject = format!("{} {}", kind.figure(), limits.join(", "));
    let observation = match stats::latency_band::judge(context.span_result, kind, medium) {
        Some(Judgement { latency_ns, severity, words }) => {
            let figure = format!("{} was {:.3} ms: {words}", kind.figure(), latency_ns / 1e6);
            Observation::new(figure, latency_ns).with_severity(severity)
        }
        None => {
            Observation::without_value(format!("{} was not measured", kind.figure())).with_severity(Severity::Unknown)
        }
    };
    observation.of(&subject)
}

fn observed(context: &RequirementContext<'_>, requirement: &Requirement) -> Observation {
    let metric = requirement.metric;
    let summary = context.span_result.summary.as_ref();
    let measured = context.span_result.measured.as_ref();
    let cpu_percent = measured.map(|measured| measured.cpu_average.usage_percent);
    let value = summary.and_then(|summary| metric.of(&summary.total, cpu_percent));
    let observation = if let Some(value) = value {
        let figure = format!("{} was {}", metric.name(), metric.unit().shown(value));
        let is_met = requirement.is_met_by(value);
        Observation::new(figure, value).with_severity(if is_met { Severity::Pass } else { Severity::Fail })
    } else {
        let figure = format!("{} was not measured", metric.name());
        Observation::without_value(figure).with_severity(Severity::Unknown)
    };
    observation.of(&requirement.typed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures, LatencyFigures};
    use model::metric::Metric;
    use model::requirement::Operator;
    use model::result::{CpuUsage, Measured};

    fn requirement(typed: &str, metric: Metric, operator: Operator, bound: f64) -> Requirement {
        Requirement { typed: typed.to_owned(), metric, operator, bound }
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
        of(span_result, requirements, None).into_iter().map(line).collect()
    }

    #[test]
    fn each_requirement_passes_fails_or_cannot_be_told() {
        let requirements = [
            requirement("iops>=1000", Metric::Iops, Operator::AtLeast, 1000.0),
            requirement("mean<2ms", Metric::Mean, Operator::Less, 2e6),
            requirement("p99<1ms", Metric::P99, Operator::Less, 1e6),
            requirement("cpu<=12.5%", Metric::Cpu, Operator::AtMost, 12.5),
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

    #[test]
    fn a_timespan_without_figures_tells_nothing_and_no_ios_are_a_figure() {
        let requirements = [requirement("iops<9", Metric::Iops, Operator::Less, 9.0)];
        let unknown = ["UNKNOWN iops<9: iops was not measured"];
        assert_eq!(lines(&TimeSpanResult::default(), &requirements), unknown);
        assert_eq!(lines(&of_measured(Measured::default()), &requirements), ["PASS iops<9: iops was 0 I/O per s"]);
    }

    #[test]
    fn values_are_in_the_unit_of_the_metric() {
        let requirements = [requirement("mean<5ms", Metric::Mean, Operator::Less, 5e6)];
        let findings = of(&ran(), &requirements, None);
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
            let found = of(&result, &[], Some((kind, medium)));
            format!("{} {}: {}", found[0].severity, found[0].subject, found[0].figure)
        };
        assert_eq!(
            judged(BandKind::Log, Medium::Flash),
            "FAIL commit up to 5 ms on flash: commit was 7.000 ms: impacted (above 5 ms on flash)"
        );
        assert_eq!(
            judged(BandKind::Log, Medium::HardDisk),
            "PASS commit up to 10 ms on a hard disk: commit was 7.000 ms: some impact (5 to 10 ms on a hard disk)"
        );
        assert_eq!(
            judged(BandKind::Log, Medium::Unknown),
            "UNKNOWN commit up to 10 ms on a hard disk, up to 5 ms on flash: commit was 7.000 ms: some impact for a hard \
             disk, impacted for flash"
        );
        let unknown = of(&TimeSpanResult::default(), &[], Some((BandKind::Data, Medium::Flash)));
        assert_eq!(
            (unknown[0].severity, unknown[0].figure.as_str()),
            (Severity::Unknown, "mean latency was not measured")
        );
        assert_eq!(of(&ran(), &[], None), []);
    }
}
