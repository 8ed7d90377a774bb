//! Results against the stated limits of the storage.

mod ceilings;
mod course;

use crate::rule::{self, Observation, Rule, RuleSet};
use ceilings::Load;
use course::Rates;
use model::expectation::{Ceiling, Expectation, StatedLimits};
use model::finding::{Finding, Severity, Source};
use model::plan::TimeSpanPlan;
use model::profile::{Target, Throughput, TimeSpan};
use model::result::{Measured, RunResult};

/// A share above this is more than rounding, in percent.
const ABOVE_PERCENT: f64 = 100.5;

/// The rules, in the order of documentation and findings.
const SUBJECTS: &[&[ExpectationRule]] = &[RULES, course::RULES];

const RULES: &[ExpectationRule] = &[ExpectationRule {
    name: "above-ceiling",
    severity: Severity::Warn,
    unit: "percent",
    computed_from: "the run reached more than 100.5 % of a limit. The advice names the likely causes for this limit, \
                    such as a cache, burst credit, several ports or a wrong limit. If the limit is an estimate, this \
                    is a NOTE",
    advice: "possible causes: a cache in this machine, the controller or the drive (use a larger target, -Sh or a longer -d), or a \
             wrong limit",
    evaluate: |context| context.ceilings.iter().filter_map(above).collect(),
}];

/// A rule about results and rated limits.
pub type ExpectationRule = Rule<ExpectationRules>;

/// The set of rules about rated limits.
#[derive(Debug)]
pub struct ExpectationRules;

impl RuleSet for ExpectationRules {
    const SOURCE: Source = Source::Expectation;
    type Context<'a> = CeilingContext<'a>;
    type Documentation = &'static str;
}

/// A timespan's results against its limits.
pub struct CeilingContext<'a> {
    ceilings: &'a [Ceiling],
    /// The ceiling with the least headroom.
    binding: &'a Ceiling,
    /// Rates over time of the quantity that it limits; `None` if there are too few, or if the load's pacing decides
    /// them and not the device.
    rates: Option<Rates>,
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static ExpectationRule> {
    SUBJECTS.iter().copied().flatten()
}

/// Sets the expectation of every measured timespan: its results against the stated limits.
pub fn judge(result: &mut RunResult, stated: &StatedLimits) {
    for (span, span_result) in result.profile.time_spans.iter().zip(&mut result.time_spans) {
        span_result.expectation = span_result.measured.as_ref().and_then(|measured| evaluate(span, measured, stated));
    }
}

/// The limits of a timespan before it runs, for its mix of I/Os at one per second; the one that binds is the
/// limit that the load meets first.
pub fn planned(span: &TimeSpan, plan: &TimeSpanPlan, stated: &StatedLimits) -> Option<Expectation> {
    let ceilings = ceilings::compute(stated, &Load::planned(plan));
    let binding = binding(&ceilings, is_random(span))?.name.clone();
    Some(Expectation { binding, ceilings, findings: Vec::new() })
}

fn is_random(span: &TimeSpan) -> bool {
    span.targets.iter().any(|target| target.random_percent > 0)
}

fn evaluate(span: &TimeSpan, measured: &Measured, stated: &StatedLimits) -> Option<Expectation> {
    let load = Load::from_measured(measured);
    let ceilings = ceilings::compute(stated, &load);
    let binding = binding(&ceilings, is_random(span))?;
    let rates = if is_paced(span) { None } else { course::rates(&measured.series, binding.unit) };
    let findings: Vec<Finding> = rule::evaluate(rules(), &CeilingContext { ceilings: &ceilings, binding, rates });
    Some(Expectation { binding: binding.name.clone(), findings, ceilings: ceilings.clone() })
}

fn is_paced(span: &TimeSpan) -> bool {
    let pauses = |target: &Target| target.think_time_ms.is_some() || target.throughput != Throughput::Unlimited;
    span.rate_iops.is_some() || span.targets.iter().any(pauses)
}

/// The ceiling with the least headroom. An estimate for small random writes binds no sequential load.
fn binding(ceilings: &[Ceiling], is_random: bool) -> Option<&Ceiling> {
    let applies = |ceiling: &&Ceiling| is_random || !ceiling.is_estimate;
    let highest = |ceilings: &mut dyn Iterator<Item = &Ceiling>| -> Option<String> {
        ceilings.max_by(|a, b| a.share_percent.total_cmp(&b.share_percent)).map(|ceiling| ceiling.name.clone())
    };
    let name = highest(&mut ceilings.iter().filter(applies)).or_else(|| highest(&mut ceilings.iter()))?;
    ceilings.iter().find(|ceiling| ceiling.name == name)
}

/// A result above a limit has a reason.
fn above(ceiling: &Ceiling) -> Option<Observation> {
    if ceiling.share_percent <= ABOVE_PERCENT {
        return None;
    }
    let figure = format!("{:.1} % of {}", ceiling.share_percent, ceiling.name);
    let observation = Observation::new(figure, ceiling.share_percent).with_subject(&ceiling.name);
    Some(match ceiling.name.as_str() {
        name if name.starts_with("vm-") || name.starts_with("volume-") => observation
            .with_advice("possible causes: burst credit (use it up with a longer -d), a host cache, or a wrong limit"),
        "hba" => observation.with_advice(
            "possible causes: uncounted ports or lanes (give them as in hba=12Gx4), a cache in front of the HBA, or a \
             wrong limit",
        ),
        _ if ceiling.is_estimate => observation.with_severity(Severity::Note).with_advice(
            "the estimate assumes small random writes that are not coalesced: a controller cache or full-stripe \
             writes do better",
        ),
        _ => observation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::course::{Series, SeriesCounts};
    use model::expectation::CeilingUnit;
    use model::figures::{Directions, Figures};

    fn measured(read_iops: f64, write_iops: f64) -> Measured {
        let figures = |iops: f64| Figures { iops, bytes_per_s: iops * 8192.0, ..Figures::default() };
        let total =
            Directions { read: figures(read_iops), write: figures(write_iops), total: figures(read_iops + write_iops) };
        Measured { total, ..Measured::default() }
    }

    fn span(random_percent: u32) -> TimeSpan {
        TimeSpan { targets: vec![Target { random_percent, ..Target::new("a.dat") }], ..TimeSpan::default() }
    }

    #[test]
    fn the_ceiling_with_the_least_room_binds() {
        let stated =
            StatedLimits { vm_iops: Some(1920), hba_bytes_per_s: Some(1_200_000_000), ..StatedLimits::default() };
        let found = evaluate(&span(0), &measured(1440.0, 0.0), &stated).expect("ceilings");
        assert_eq!(found.binding, "vm-iops");
        let shares: Vec<(&str, f64)> =
            found.ceilings.iter().map(|ceiling| (ceiling.name.as_str(), ceiling.share_percent)).collect();
        // 1440 of 1920 is three quarters; 1440 x 8 KiB are 11.79648 MB/s of 1200.
        assert_eq!(shares[0], ("vm-iops", 75.0));
        assert!((shares[1].1 - 0.983_04).abs() < 1e-9, "{shares:?}");
        assert!(found.findings.is_empty());
        assert_eq!(evaluate(&span(0), &measured(1.0, 0.0), &StatedLimits::default()), None);
    }

    #[test]
    fn a_load_that_limits_itself_is_not_called_capped() {
        let ios = vec![100; 100];
        let counts = SeriesCounts { bytes: ios.clone(), ios, latency_sum_ns: Vec::new() };
        let none = SeriesCounts { ios: vec![0; 100], bytes: vec![0; 100], latency_sum_ns: Vec::new() };
        let series = Series { width_ns: 100_000_000, read: counts, write: none };
        let measured = Measured { series, ..measured(1000.0, 0.0) };
        let stated = StatedLimits { vm_iops: Some(1000), ..StatedLimits::default() };
        let names = |span: &TimeSpan| {
            let found = evaluate(span, &measured, &stated).expect("ceilings");
            found.findings.into_iter().map(|finding| finding.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&span(100)), ["flat-cap"]);
        let both = StatedLimits { vm_iops: Some(4000), volume_iops: Some(1000), ..StatedLimits::default() };
        let found = evaluate(&span(100), &measured, &both).expect("ceilings");
        assert_eq!(found.binding, "volume-iops");
        assert!(found.findings[0].figure.contains("volume-iops"), "{:?}", found.findings);
        assert_eq!(names(&TimeSpan { rate_iops: Some(1000.into()), ..span(100) }), [""; 0]);
    }

    #[test]
    fn an_estimate_for_random_writes_binds_no_sequential_load() {
        let stated = StatedLimits {
            raid: Some(model::expectation::RaidLevel::Five),
            drives: Some(3),
            drive_write_bytes_per_s: Some(450_000_000),
            ..StatedLimits::default()
        };
        // 400 MB/s of writes: more than 3 x 450 / 4 = 337.5, less than 2 x 450 = 900.
        let measured = measured(0.0, 400e6 / 8192.0);
        let sequential = evaluate(&span(0), &measured, &stated).expect("ceilings");
        assert_eq!(sequential.binding, "full-stripe-writes");
        let random = evaluate(&span(100), &measured, &stated).expect("ceilings");
        assert_eq!(random.binding, "small-random-writes");
        let finding = &random.findings[0];
        assert_eq!((finding.name.as_str(), finding.severity), ("above-ceiling", Severity::Note));
        assert!(finding.figure.starts_with("118.5 % of small-random-writes"), "{finding:?}");
    }

    #[test]
    fn more_than_there_can_be_is_explained_by_what_the_ceiling_is() {
        let stated = StatedLimits { vm_iops: Some(1000), drive_iops: Some(800), ..StatedLimits::default() };
        let found = evaluate(&span(100), &measured(1600.0, 0.0), &stated).expect("ceilings");
        let advice = |name: &str| {
            let figure = format!(" % of {name}");
            let finding = found.findings.iter().find(|finding| finding.figure.ends_with(&figure));
            finding.expect("it is above").advice.clone()
        };
        assert!(advice("vm-iops").contains("burst credit"));
        assert!(advice("drive-iops").contains("cache"));
        assert_eq!(found.binding, "drive-iops");
        let unit = found.ceilings.iter().map(|ceiling| ceiling.unit).collect::<Vec<_>>();
        assert_eq!(unit, [CeilingUnit::IosPerSecond; 2]);
    }
}
