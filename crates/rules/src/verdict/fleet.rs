//! Loads of several hosts (`--on`): lost hosts, stragglers, start skew.

use super::{RuleContext, VerdictRule, WORTH_A_WARNING};
use crate::rule::{Observation, percent};
use model::finding::{Finding, Severity};
use model::fleet::{CommonWindow, Fleet, FleetHost, FleetTimeSpan, HostEnding, HostTimeSpan, few_names};
use model::limits::SERIES_WIDTH_NS;
use model::units::latency;
use std::collections::BTreeMap;

/// Fewer hosts have no majority.
const HOSTS_MIN: usize = 3;

/// Bound of the modified z-score for outliers: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993).
const OUTLIER: f64 = 3.5;

/// Factor from the standard deviation of normal values to their median absolute deviation.
const MAD_PER_DEVIATION: f64 = 0.6745;

/// Least deviation of the I/Os per second of a host from the median, as a share of it: among nearly equal hosts, the
/// score alone finds irrelevant differences.
const IOPS_APART: f64 = 0.1;

/// The same for the 99th percentile, which varies more between equal hosts.
const P99_APART: f64 = 0.5;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "lost-host",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "hosts of the fleet that no longer answered (--on). The results are those of the other hosts",
        advice: "find out why the host no longer answers, fetch its own result with 'diskspd fleet collect', and run the \
                 load again on all hosts",
        evaluate: |context| {
            let lost = |host: &FleetHost| match &host.ending {
                HostEnding::Lost { reason } => {
                    let figure = format!("{} was lost ({reason}): the results are those of the other hosts", host.name);
                    Some(Observation::new(figure, 1.0).with_subject(&host.name))
                }
                HostEnding::Finished | HostEnding::Failed { .. } => None,
            };
            context.result.fleet.iter().flat_map(|fleet| &fleet.hosts).filter_map(lost).collect()
        },
    },
    VerdictRule {
        name: "shared-machine",
        severity: Severity::Note,
        unit: "count",
        computed_from: "hosts with a result (--on) whose agents run on one machine: their kernels have the same boot ID",
        advice: "run one agent on each machine, or read the result as that of fewer machines",
        evaluate: |context| shared_machines(context),
    },
    VerdictRule {
        name: "host-verdict",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "findings of each host's own verdict (--on) that are warnings or worse, with the same severity: the \
                        number of hosts that have it. Findings that the merged results have too are left out",
        advice: "see the host's own findings in the JSON result (fleet)",
        evaluate: |context| host_verdicts(context),
    },
    VerdictRule {
        name: "start-skew",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "time between the starts and the ends of the hosts' measurements, and from the first host's to the \
                        last host's first I/O if that is longer than the warm-up (--on), if one of them exceeds 2 % of the \
                        time in which all hosts measured: the rest is in no rate. INVALID if there is no such time",
        advice: "measure longer (-d), or find out why a host started late: its load and clock are in the table of hosts",
        evaluate: |context| skew(context).into_iter().collect(),
    },
    VerdictRule {
        name: "clock-unknown",
        severity: Severity::Warn,
        unit: "seconds",
        computed_from: "uncertainty of a host's clock offset plus its drift over half the measurement (--on), if it exceeds \
                        half the width of an interval (-D), or 50 ms without -D; NOTE if nothing is known of when the \
                        measurements began",
        advice: "use wider intervals (-D), or a network with shorter round trips between controller and host",
        evaluate: |context| unknown_clocks(context),
    },
    VerdictRule {
        name: "straggler",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "hosts, of at least 3, whose IOPS differ by more than 10 % from the median of all hosts, or whose \
                        99th percentile exceeds the median by more than 50 %, and whose modified z-score (0.6745 times the \
                        difference, divided by the median absolute deviation) exceeds 3.5 (Iglewicz and Hoaglin, 1993)",
        advice: "compare this host's network, storage path and verdict with those of the other hosts, or leave it out",
        evaluate: |context| stragglers(context),
    },
];

/// The hosts of a timespan.
struct Hosts<'a> {
    fleet: &'a Fleet,
    time_span: &'a FleetTimeSpan,
    is_first: bool,
}

fn hosts<'a>(context: &RuleContext<'a>) -> Option<Hosts<'a>> {
    let fleet = context.result.fleet.as_ref()?;
    Some(Hosts { fleet, time_span: fleet.time_spans.get(context.index)?, is_first: context.index == 0 })
}

fn shared_machines(context: &RuleContext<'_>) -> Vec<Observation> {
    let mut machines = BTreeMap::<&str, Vec<&str>>::new();
    let hosts = context.result.fleet.iter().flat_map(|fleet| &fleet.hosts);
    for host in hosts.filter(|host| host.ending == HostEnding::Finished && !host.boot_id.is_empty()) {
        machines.entry(&host.boot_id).or_default().push(&host.name);
    }
    let observation = |names: &Vec<&str>| {
        let figure = format!("{} are one machine: they share its CPUs, memory and network", few_names(names));
        Observation::new(figure, names.len() as f64).with_subject(names[0])
    };
    machines.values().filter(|names| names.len() > 1).map(observation).collect()
}

fn host_verdicts(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(Hosts { time_span, .. }) = hosts(context) else { return Vec::new() };
    let mut found: BTreeMap<(&str, Severity), Vec<(&str, &Finding)>> = BTreeMap::new();
    for host in &time_span.hosts {
        let findings = host.verdict.iter().flat_map(|verdict| &verdict.findings);
        for finding in findings.filter(|finding| finding.severity >= Severity::Warn) {
            let same = found.entry((&finding.name, finding.severity)).or_default();
            // Several targets of one host count once.
            if same.last().is_none_or(|(last, _)| *last != host.host) {
                same.push((&host.host, finding));
            }
        }
    }
    let observation = |((name, severity), of): ((&str, Severity), Vec<(&str, &Finding)>)| {
        let (first, finding) = *of.first()?;
        let hosts: Vec<&str> = of.iter().map(|(host, _)| *host).collect();
        let figure = match hosts.len() {
            1 => format!("{first}: {name}: {}", finding.figure),
            count => format!("{count} hosts ({}): {name}; {first}: {}", few_names(&hosts), finding.figure),
        };
        Some(Observation::new(figure, hosts.len() as f64).with_subject(first).with_severity(severity))
    };
    found.into_iter().filter(|((name, _), _)| !is_found_in_all(context, name)).filter_map(observation).collect()
}

/// True if a rule has a finding on the merged results.
fn is_found_in_all(context: &RuleContext<'_>, name: &str) -> bool {
    let is_own = |name: &str| RULES.iter().any(|rule| rule.name == name);
    super::rules().any(|rule| rule.name == name && !is_own(name) && !rule.findings(context).is_empty())
}

fn skew(context: &RuleContext<'_>) -> Option<Observation> {
    let Hosts { fleet, time_span, is_first } = hosts(context)?;
    let measured: Vec<&HostTimeSpan> = time_span.hosts.iter().filter(|host| host.elapsed_ns > 0).collect();
    let several = measured.len() > 1;
    let Some(CommonWindow { length_ns, .. }) = time_span.window else {
        let figure = "there is no time in which all hosts measured: rates are those of no common time";
        return several.then(|| Observation::without_value(figure).with_severity(Severity::Invalid));
    };
    let apart = |values: &[(i128, &str)]| {
        let (first, last) = (values.iter().min()?, values.iter().max()?);
        Some((u64::try_from(last.0 - first.0).unwrap_or(u64::MAX), first.1.to_owned(), last.1.to_owned()))
    };
    let begins: Vec<(i128, &str)> =
        measured.iter().filter_map(|host| Some((i128::from(host.begins_ns?), &*host.host))).collect();
    let ends: Vec<(i128, &str)> = measured
        .iter()
        .filter_map(|host| Some((i128::from(host.begins_ns?) + i128::from(host.elapsed_ns), &*host.host)))
        .collect();
    let starts: Vec<(i128, &str)> = fleet
        .hosts
        .iter()
        .filter(|_| is_first)
        .filter_map(|host| Some((i128::from(host.start_late_ns?), &*host.name)))
        .collect();
    let warm_up_ns = u64::from(context.span.warm_up_s) * 1_000_000_000;
    let found = [
        // The warm-up covers differences at the start.
        ("first I/O", apart(&starts).filter(|(apart_ns, ..)| *apart_ns > warm_up_ns)),
        ("start of the measurement", apart(&begins)),
        ("end of the measurement", apart(&ends)),
    ];
    let known = found.into_iter().filter_map(|(what, apart)| Some((what, apart?)));
    let (what, (apart_ns, first, last)) = known.max_by_key(|(_, (apart_ns, ..))| *apart_ns)?;
    let share = apart_ns as f64 / length_ns as f64;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let figure = format!(
        "the {what} of {last} came {:.3} s after that of {first}, {} of the {:.1} s in which all hosts measured",
        seconds(apart_ns),
        percent(share),
        seconds(length_ns)
    );
    (several && share > WORTH_A_WARNING).then(|| Observation::new(figure, share * 100.0))
}

fn unknown_clocks(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(Hosts { fleet, time_span, .. }) = hosts(context) else { return Vec::new() };
    let measured: Vec<&HostTimeSpan> = time_span.hosts.iter().filter(|host| host.elapsed_ns > 0).collect();
    // One host needs no common axis.
    if measured.len() < 2 {
        return Vec::new();
    }
    if time_span.window.is_some_and(|window| window.uncertainty_ns.is_none()) {
        let figure = "it is not known when the hosts' measurements began: they are taken to have begun together";
        return vec![Observation::without_value(figure).with_severity(Severity::Note)];
    }
    let has_intervals = context.span.calculate_iops_std_dev && context.span.interval_ms > 0;
    let width_ns = if has_intervals { u64::from(context.span.interval_ms) * 1_000_000 } else { SERIES_WIDTH_NS };
    let unknown = |host: &&HostTimeSpan| {
        let clock = fleet.hosts.iter().find(|of| of.name == host.host)?.clock;
        let drift_ns = clock.drift_ppb.unwrap_or(0).unsigned_abs() as f64 * host.elapsed_ns as f64 / 2e9;
        let unsure_ns = clock.uncertainty_ns as f64 + drift_ns;
        let figure = format!(
            "the clock of {} is known to {}, too little for intervals of {}",
            host.host,
            latency(unsure_ns),
            latency(width_ns as f64)
        );
        (unsure_ns > width_ns as f64 / 2.0).then(|| Observation::new(figure, unsure_ns / 1e9).with_subject(&host.host))
    };
    measured.iter().filter_map(unknown).collect()
}

fn stragglers(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(Hosts { time_span, .. }) = hosts(context) else { return Vec::new() };
    let iops = |host: &HostTimeSpan| Some(host.headline.as_ref()?.iops);
    let p99 = |host: &HostTimeSpan| Some(host.headline.as_ref()?.p99_ns? as f64);
    let (rates, percentiles) = (Spread::from_hosts(&time_span.hosts, iops), Spread::from_hosts(&time_span.hosts, p99));
    let straggler = |host: &HostTimeSpan| {
        let name = &host.host;
        let rate = rates.as_ref().zip(iops(host)).and_then(|(spread, iops)| {
            let apart = spread.outlier(iops).filter(|apart| apart.abs() > IOPS_APART)?;
            let side = if apart < 0.0 { "below" } else { "above" };
            let figure = format!(
                "{name} has {iops:.0} IOPS, {} {side} the median of {} hosts ({:.0})",
                percent(apart.abs()),
                spread.count,
                spread.median
            );
            Some(Observation::new(figure, apart * 100.0).with_subject(name))
        });
        let latency = || {
            let (spread, p99_ns) = percentiles.as_ref().zip(p99(host))?;
            let apart = spread.outlier(p99_ns).filter(|apart| *apart > P99_APART)?;
            let figure = format!(
                "the 99th percentile of {name} is {}, {} above the median of {} hosts ({})",
                latency(p99_ns),
                percent(apart),
                spread.count,
                latency(spread.median)
            );
            Some(Observation::new(figure, apart * 100.0).with_subject(name))
        };
        rate.or_else(latency)
    };
    time_span.hosts.iter().filter_map(straggler).collect()
}

/// Median and spread of a figure of several hosts.
struct Spread {
    count: usize,
    median: f64,
    /// Median absolute deviation.
    deviation: f64,
}

impl Spread {
    /// `None` if it is known for too few hosts.
    fn from_hosts(hosts: &[HostTimeSpan], figure: impl Fn(&HostTimeSpan) -> Option<f64>) -> Option<Self> {
        let values: Vec<f64> = hosts.iter().filter_map(figure).collect();
        if values.len() < HOSTS_MIN {
            return None;
        }
        let median = median(values.clone());
        let deviation = self::median(values.iter().map(|value| (value - median).abs()).collect());
        (median > 0.0).then_some(Self { count: values.len(), median, deviation })
    }

    /// Distance of an outlier from the median, as a share of it; `None` = no outlier.
    fn outlier(&self, value: f64) -> Option<f64> {
        let apart = value - self.median;
        (MAD_PER_DEVIATION * apart.abs() > OUTLIER * self.deviation).then(|| apart / self.median)
    }
}

/// The median of at least one value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use model::finding::Source;
    use model::fleet::ClockOffset;
    use model::headline::Headline;
    use model::verdict::Verdict;

    const S: u64 = 1_000_000_000;

    /// Hosts that measured 100 s, with their IOPS and their 99th percentile in microseconds.
    fn fleet(hosts: &[(f64, u64)]) -> CaseResult {
        let mut built = CaseResult::sound();
        let name = |index: usize| format!("h{}", index + 1);
        let host = |index: usize| FleetHost {
            name: name(index),
            index,
            start_late_ns: Some(0),
            clock: ClockOffset { uncertainty_ns: 50_000, round_trip_ns: 100_000, ..ClockOffset::default() },
            ..FleetHost::default()
        };
        let host_span = |(index, (iops, p99_us)): (usize, &(f64, u64))| HostTimeSpan {
            host: name(index),
            elapsed_ns: 100 * S,
            begins_ns: Some(0),
            headline: Some(Headline { iops: *iops, p99_ns: Some(p99_us * 1000), ..Headline::default() }),
            verdict: Some(Verdict::default()),
            ..HostTimeSpan::default()
        };
        let window = CommonWindow { length_ns: 100 * S, uncertainty_ns: Some(50_000), ..CommonWindow::default() };
        built.result.fleet = Some(Fleet {
            hosts: (0..hosts.len()).map(host).collect(),
            time_spans: vec![FleetTimeSpan {
                window: Some(window),
                hosts: hosts.iter().enumerate().map(host_span).collect(),
            }],
            ..Fleet::default()
        });
        built
    }

    fn alike() -> CaseResult {
        fleet(&[(1000.0, 900), (1010.0, 950), (990.0, 910)])
    }

    fn fleet_mut(built: &mut CaseResult) -> &mut Fleet {
        built.result.fleet.as_mut().expect("several hosts")
    }

    fn host(built: &mut CaseResult, index: usize) -> &mut HostTimeSpan {
        &mut fleet_mut(built).time_spans[0].hosts[index]
    }

    fn finding(name: &str, severity: Severity, figure: &str) -> Finding {
        Finding {
            name: name.to_owned(),
            severity,
            subject: String::new(),
            figure: figure.to_owned(),
            value: None,
            advice: String::new(),
            basis: String::new(),
            source: Source::Verdict,
        }
    }

    #[test]
    fn hosts_that_are_alike_and_one_machine_have_no_findings() {
        assert_eq!(alike().found(RULES), [""; 0]);
        assert_eq!(CaseResult::sound().found(RULES), [""; 0]);
    }

    // Shows verdict: lost-host
    #[test]
    fn a_lost_host_makes_the_result_invalid() {
        let mut built = alike();
        fleet_mut(&mut built).hosts.push(FleetHost {
            name: "h4".to_owned(),
            ending: HostEnding::Lost { reason: "no heartbeat for 10 s".to_owned() },
            ..FleetHost::default()
        });
        let expected =
            "INVALID lost-host: h4 was lost (no heartbeat for 10 s): the results are those of the other hosts";
        assert_eq!(built.found(RULES), [expected]);
        let mut failed = alike();
        fleet_mut(&mut failed).hosts[0].ending = HostEnding::Failed { reasons: vec!["no space".to_owned()] };
        assert_eq!(failed.found(RULES), [""; 0]);
    }

    // Shows verdict: shared-machine
    #[test]
    fn agents_with_one_boot_id_are_one_machine() {
        let mut built = alike();
        let mut boot = |index: usize, id: &str| fleet_mut(&mut built).hosts[index].boot_id = id.to_owned();
        boot(0, "a");
        boot(1, "b");
        boot(2, "a");
        let expected = "NOTE shared-machine: h1, h3 are one machine: they share its CPUs, memory and network";
        assert_eq!(built.found(RULES), [expected]);
        fleet_mut(&mut built).hosts[2].ending = HostEnding::Failed { reasons: vec!["no space".to_owned()] };
        assert_eq!(built.found(RULES), [""; 0], "one of them did nothing");
    }

    // Shows verdict: straggler
    #[test]
    fn a_host_far_from_the_median_is_a_straggler() {
        let found = |hosts: &[(f64, u64)]| fleet(hosts).found(RULES);
        assert_eq!(
            found(&[(1000.0, 900), (800.0, 2000), (1010.0, 910)]),
            ["WARN straggler: h2 has 800 IOPS, 20.0 % below the median of 3 hosts (1000)"]
        );
        assert_eq!(
            found(&[(1000.0, 900), (990.0, 2000), (1010.0, 910)]),
            ["WARN straggler: the 99th percentile of h2 is 2 ms, 119.8 % above the median of 3 hosts (910 µs)"]
        );
        assert_eq!(found(&[(1000.0, 900), (920.0, 900), (1000.0, 900)]), [""; 0], "an outlier that matters to nobody");
        assert_eq!(found(&[(1000.0, 900), (800.0, 900), (1200.0, 900)]), [""; 0], "they all differ");
        assert_eq!(found(&[(1000.0, 900), (200.0, 9000)]), [""; 0], "two have no majority");
        assert_eq!(found(&[(1000.0, 900), (1000.0, 100), (1000.0, 900)]), [""; 0], "it is faster");
    }

    // Shows verdict: start-skew
    #[test]
    fn hosts_that_start_apart_are_found_if_it_matters_for_the_measured_time() {
        let mut built = alike();
        fleet_mut(&mut built).hosts[1].start_late_ns = Some(1_900_000_000);
        assert_eq!(built.found(RULES), [""; 0]);
        fleet_mut(&mut built).hosts[1].start_late_ns = Some(3_000_000_000);
        assert_eq!(built.found(RULES), [""; 0], "the warm-up is longer");
        built.result.profile.time_spans[0].warm_up_s = 0;
        let first_io = "WARN start-skew: the first I/O of h2 came 3.000 s after that of h1, 3.0 % of the 100.0 s in which all \
                        hosts measured";
        assert_eq!(built.found(RULES), [first_io]);
        host(&mut built, 2).begins_ns = Some(-5 * S.cast_signed());
        let found = built.found(RULES);
        assert!(
            found[0].contains("the end of the measurement of h2 came 5.000 s after that of h3")
                || found[0].contains("the start of the measurement of h2 came 5.000 s after that of h3"),
            "{found:?}"
        );
        fleet_mut(&mut built).time_spans[0].window = None;
        let none =
            "INVALID start-skew: there is no time in which all hosts measured: rates are those of no common time";
        assert_eq!(built.found(RULES), [none]);
    }

    // Shows verdict: host-verdict
    #[test]
    fn findings_of_hosts_are_those_of_the_whole() {
        let mut built = alike();
        let steal = || finding("steal", Severity::Warn, "9 % steal time");
        host(&mut built, 0).verdict =
            Some(Verdict { findings: vec![finding("small", Severity::Note, "a note"), steal()] });
        assert_eq!(built.found(RULES), ["WARN host-verdict: h1: steal: 9 % steal time"]);
        host(&mut built, 2).verdict = Some(Verdict { findings: vec![steal(), steal()] });
        assert_eq!(built.found(RULES), ["WARN host-verdict: 2 hosts (h1, h3): steal; h1: 9 % steal time"]);
        let wrong = finding("wrong-clock", Severity::Invalid, "the clock drifted");
        host(&mut built, 1).verdict = Some(Verdict { findings: vec![wrong] });
        assert!(built.found(RULES).contains(&"INVALID host-verdict: h2: wrong-clock: the clock drifted".to_owned()));
    }

    #[test]
    fn what_the_merged_results_have_too_is_not_repeated() {
        let mut built = alike();
        built.measured().elapsed_ns = S;
        let short = finding("short-run", Severity::Warn, "measured for 1 s");
        host(&mut built, 0).verdict = Some(Verdict { findings: vec![short] });
        super::super::judge(&mut built.result);
        let verdict = built.result.time_spans[0].verdict.clone().expect("there are figures");
        let names: Vec<&str> = verdict.findings.iter().map(|finding| finding.name.as_str()).collect();
        assert!(names.contains(&"short-run") && !names.contains(&"host-verdict"), "{names:?}");
    }

    // Shows verdict: clock-unknown
    #[test]
    fn clocks_must_be_known_well_enough_for_the_intervals() {
        let mut built = alike();
        fleet_mut(&mut built).hosts[1].clock.uncertainty_ns = 60_000_000;
        let expected = "WARN clock-unknown: the clock of h2 is known to 60 ms, too little for intervals of 100 ms";
        assert_eq!(built.found(RULES), [expected]);
        built.result.profile.time_spans[0].calculate_iops_std_dev = true;
        assert_eq!(built.found(RULES), [""; 0], "intervals of a second");
        // 9000 ppm of 50 s are 450 ms.
        fleet_mut(&mut built).hosts[1].clock.drift_ppb = Some(9_000_000);
        assert_eq!(built.found(RULES).len(), 1);
        fleet_mut(&mut built).time_spans[0].window.as_mut().expect("a window").uncertainty_ns = None;
        let unknown = "NOTE clock-unknown: it is not known when the hosts' measurements began: they are taken to have begun \
                       together";
        assert_eq!(built.found(RULES), [unknown]);
    }
}
