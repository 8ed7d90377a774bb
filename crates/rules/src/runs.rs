//! Findings across several runs: repeats of one load, and the points of a sweep.

use crate::rule::{self, Observation, Rule, RuleSet};
use model::doubt::RunWarnings;
use model::finding::{Finding, Severity, Source};
use model::sweep::{Sweep, Visit};
use model::units::counted;
use stats::repeats::{Repeats, repeats};

/// A rule about several runs.
pub type RunsRule = Rule<RunsRules>;

/// The set of rules about several runs.
#[derive(Debug)]
pub struct RunsRules;

impl RuleSet for RunsRules {
    const SOURCE: Source = Source::Runs;
    type Context<'a> = RunsContext<'a>;
    type Documentation = &'static str;
}

/// The runs.
pub struct RunsContext<'a> {
    sweep: &'a Sweep,
    /// `None` if they are not all of the same load.
    repeats: Option<Repeats>,
}

impl RunsContext<'_> {
    /// The repeats, unless they are rounds on the way to a steady state, which change by design.
    fn alike(&self) -> Option<&Repeats> {
        self.repeats.as_ref().filter(|_| self.sweep.steady_state.is_none())
    }
}

/// Every rule, in the order of documentation and findings.
pub const RULES: &[RunsRule] = &[
    RunsRule {
        name: "run-trend",
        severity: Severity::Warn,
        unit: "change per run, in percent",
        computed_from: "repeats of six runs or more: the IOPS rise or fall by 2 % or more from the first run to the \
                        last (Sen's slope), and this trend is significant at 1 % (Mann-Kendall). Not reported with \
                        `--steady`, or where two levels fit the runs better than a trend",
        advice: "the runs did not measure the same state: run until it is steady (--steady), let the target recover \
                 between runs (--rest), or look for what fills up or heats up",
        evaluate: |context| context.alike().and_then(trend).into_iter().collect(),
    },
    RunsRule {
        name: "run-dependence",
        severity: Severity::Warn,
        unit: "von Neumann ratio",
        computed_from: "repeats: the IOPS of consecutive runs are correlated (von Neumann ratio of the ranks, \
                        significant at 1 %; ten runs or more). Not reported with `--steady`, or together with \
                        `run-trend`",
        advice: "something other than the load drifts slowly: spread the runs over a longer period (--rest). The \
                 confidence interval of the median already allows for this correlation",
        evaluate: |context| context.alike().and_then(dependence).into_iter().collect(),
    },
    RunsRule {
        name: "two-levels",
        severity: Severity::Warn,
        unit: "distance between the levels, as a percentage of the lower one",
        computed_from: "repeats of six runs or more: the logarithms of the IOPS form two groups that are at least 2 % \
                        apart, and so narrow that fewer than 2 % of single-level samples would look like this",
        advice: "look for differences between runs: thread placement, CPU frequency, other load",
        evaluate: |context| context.repeats.as_ref().and_then(two_levels).into_iter().collect(),
    },
    RunsRule {
        name: "first-run",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "repeats (four runs or more): the IOPS of the first run lie outside the 99.5 % prediction \
                        interval of the others and differ from their mean by more than 2 %",
        advice: "leave the first run out, or warm up longer (-W): it started in a different state (caches, an idle \
                 device, a new file)",
        evaluate: |context| context.repeats.as_ref().and_then(first_run).into_iter().collect(),
    },
    RunsRule {
        name: "warned-runs",
        severity: Severity::Warn,
        unit: "runs",
        computed_from: "repeats and sweeps: runs whose verdicts have warnings, with the names of the findings. INVALID \
                        if one of the verdicts is INVALID",
        advice: "remove these causes and measure again: they may have caused the differences between the runs",
        evaluate: |context| warned(context.sweep).into_iter().collect(),
    },
];

/// The findings across the runs.
pub fn findings(sweep: &Sweep) -> Vec<Finding> {
    let headlines: Vec<_> = sweep.measured().collect();
    let repeats = if sweep.points.len() == 1 { repeats(&headlines) } else { None };
    rule::evaluate(RULES, &RunsContext { sweep, repeats })
}

fn trend(repeats: &Repeats) -> Option<Observation> {
    let trend = repeats.trend?;
    let went = if trend.percent < 0.0 { "fell" } else { "rose" };
    let figure = format!(
        "IOPS {went} by {:.1} % per run, {:.1} % from the first run to the last",
        trend.percent_per_run.abs(),
        trend.percent.abs()
    );
    Some(Observation::new(figure, trend.percent_per_run))
}

fn dependence(repeats: &Repeats) -> Option<Observation> {
    let dependence = repeats.dependence?;
    let figure = format!(
        "neighbouring runs are alike (von Neumann ratio {:.2}; independent runs have 2): they say as much as {:.0} \
         independent runs",
        dependence.ratio,
        dependence.independent_runs.max(1.0)
    );
    Some(Observation::new(figure, dependence.ratio))
}

fn two_levels(repeats: &Repeats) -> Option<Observation> {
    let levels = repeats.levels?;
    let ((low, low_iops), (high, high_iops)) = (levels.low, levels.high);
    let low = counted(low, "run");
    let figure =
        format!("{low} near {low_iops:.0} IOPS and {high} near {high_iops:.0}: their average describes neither");
    Some(Observation::new(figure, (high_iops / low_iops - 1.0) * 100.0))
}

fn first_run(repeats: &Repeats) -> Option<Observation> {
    let percent = repeats.first_run_percent?;
    let how = if percent < 0.0 { "slower" } else { "faster" };
    Some(Observation::new(format!("the first run is {:.1} % {how} than the others", percent.abs()), percent))
}

fn warned(sweep: &Sweep) -> Option<Observation> {
    // A run for the capacity of a target belongs to no point: its verdict is that of another load.
    let measured = sweep.visits.iter().filter(|visit| visit.is_of_point());
    let doubt = RunWarnings::from_runs(measured.filter_map(Visit::headline))?;
    Some(Observation::new(doubt.to_string(), doubt.warned as f64).with_severity(doubt.worst))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::headline::Headline;
    use model::sweep::SteadyState;
    use model::sweep::{Point, Purpose, VisitOutcome};

    fn runs(headlines: impl IntoIterator<Item = Headline>) -> Sweep {
        let visit = |(run, headline)| {
            let outcome = VisitOutcome::Measured { file: String::new(), headline };
            Visit {
                point: 0,
                run,
                purpose: Purpose::Measure,
                outcome,
                limit: None,
                sustained_iops: None,
                streams: Vec::new(),
            }
        };
        Sweep { points: vec![Point::default()], visits: (0..).zip(headlines).map(visit).collect(), ..Sweep::default() }
    }

    fn of_iops(iops: &[f64]) -> Sweep {
        runs(iops.iter().map(|iops| Headline { iops: *iops, ..Headline::default() }))
    }

    fn found(sweep: &Sweep) -> Vec<String> {
        let line = |finding: Finding| format!("{} {}: {}", finding.severity, finding.name, finding.figure);
        findings(sweep).into_iter().map(line).collect()
    }

    #[test]
    fn a_fall_from_run_to_run_is_told_but_not_on_the_way_to_a_steady_state() {
        let mut falling = of_iops(&[1000.0, 991.0, 979.0, 970.0, 961.0, 949.0, 940.0, 931.0]);
        let expected = "WARN run-trend: IOPS fell by 1.0 % per run, 7.3 % from the first run to the last";
        assert_eq!(found(&falling), [expected]);
        let (is_reached, rounds, missing) = (true, (4, 8), Vec::new());
        let (mean_iops, range_percent, rise_percent) = (950.0, 4.0, 3.0);
        let steady = SteadyState { is_reached, rounds, mean_iops, range_percent, rise_percent, missing };
        falling.steady_state = Some(steady);
        assert_eq!(found(&falling), [""; 0]);
    }

    #[test]
    fn slow_waves_make_neighbours_alike() {
        let wave: Vec<f64> = (0..24).map(|run| 1000.0 + 100.0 * (f64::from(run) / 24.0 * 12.566).sin()).collect();
        let lines = found(&of_iops(&wave));
        let first = lines.first().expect("a finding");
        assert!(
            first.starts_with("WARN run-dependence: neighbouring runs are alike (von Neumann ratio 0."),
            "{lines:?}"
        );
    }

    #[test]
    fn levels_and_a_first_run_that_differs_are_told() {
        let levels = [100.0, 120.0, 101.0, 121.0, 102.0, 122.0, 99.0, 119.0, 100.0, 120.0];
        let expected = "WARN two-levels: 5 runs near 100 IOPS and 5 near 120: their average describes neither";
        assert_eq!(found(&of_iops(&levels)), [expected]);
        let first = [900.0, 1000.0, 1001.0, 999.0, 1002.0];
        let expected = "WARN first-run: the first run is 10.0 % slower than the others";
        assert_eq!(found(&of_iops(&first)), [expected]);
        assert_eq!(found(&of_iops(&first[1..])), [""; 0]);
    }

    #[test]
    fn runs_with_warnings_are_told_with_the_causes() {
        let run = |severity, warnings: &[&str]| {
            let warnings = warnings.iter().map(ToString::to_string).collect();
            Headline { iops: 100.0, severity: Some(severity), warnings, ..Headline::default() }
        };
        let three = [
            run(Severity::Note, &[]),
            run(Severity::Warn, &["steal"]),
            run(Severity::Warn, &["cpu-contention", "steal"]),
        ];
        let expected = "WARN warned-runs: 2 of 3 runs have warnings: steal in 2, cpu-contention in 1";
        assert_eq!(found(&runs(three.clone())), [expected]);
        let with_invalid = three.into_iter().chain([run(Severity::Invalid, &["lost-ios"])]);
        let lines = found(&runs(with_invalid));
        assert!(lines[0].starts_with("INVALID warned-runs: 3 of 4 runs"), "{lines:?}");
    }
}
