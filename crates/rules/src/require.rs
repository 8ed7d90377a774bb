//! Whether a run meets its acceptance criteria (`--require`).

use crate::rule::{self, Observation, Rule, RuleSet};
use model::finding::{Finding, Severity, Source};
use model::requirement::Requirement;
use model::result::{RunResult, TimeSpanResult};

const RULES: &[RequirementRule] = &[RequirementRule {
    name: "requirement",
    severity: Severity::Fail,
    unit: "the unit of the metric: I/Os per second, MiB/s, nanoseconds or percent",
    computed_from: "the metric for reads and writes together, over the whole timespan",
    advice: "the verdict may name a cause other than the storage",
    evaluate: |context| context.requirements.iter().map(|requirement| observed(context, requirement)).collect(),
}];

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
    span_result: &'a TimeSpanResult,
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static RequirementRule> {
    RULES.iter()
}

/// Puts into every timespan what became of each requirement, in the order given.
pub fn judge(result: &mut RunResult, requirements: &[Requirement]) {
    for span_result in &mut result.time_spans {
        let findings = of(span_result, requirements);
        span_result.requirements = findings;
    }
}

fn of(span_result: &TimeSpanResult, requirements: &[Requirement]) -> Vec<Finding> {
    rule::evaluate(rules(), &RequirementContext { requirements, span_result })
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
        of(span_result, requirements).into_iter().map(line).collect()
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
        let findings = of(&ran(), &requirements);
        assert_eq!((findings[0].value, findings[0].name.as_str()), (Some(2e6), "requirement"));
        assert_eq!((findings[0].source, findings[0].advice.as_str()), (Source::Requirement, ""));
    }
}
