//! Searches on queues of known law, on virtual time. `cargo test -p stats --lib limit::tests -- --ignored --nocapture`
//! runs 200 searches on each.

use super::{Observation, Search, SearchStep};
use crate::simulation::{exponential, normal, uniform};
use hot::rng::Rng;
use model::limit::{Limit, LimitFound, LimitSample};
use model::metric::{Metric, Scope};

const WARM_UP_S: f64 = 5.0;
const PROBE_S: f64 = 10.0;
const CONFIRM_S: f64 = 30.0;
/// I/Os outstanding at most.
const DEPTH: usize = 64;

/// A first-come-first-served queue with Poisson arrivals and the limit of the 99th percentile of its response times.
#[derive(Clone, Debug)]
struct Law {
    name: &'static str,
    servers: usize,
    service_s: f64,
    is_exponential: bool,
    /// Starts after which the rate falls to the second number, and how they come back.
    bucket: Option<(f64, f64)>,
    /// Seconds from stall to stall, and their length.
    stalls: Option<(f64, f64)>,
    /// Standard deviation of the service time from run to run, as a share.
    noise: f64,
    at_most_s: f64,
}

const PLAIN: Law = Law {
    name: "",
    servers: 1,
    service_s: 1.0 / 770.0,
    is_exponential: true,
    bucket: None,
    stalls: None,
    noise: 0.0,
    at_most_s: 0.02,
};

fn laws() -> [Law; 4] {
    [
        Law { name: "M/M/1", ..PLAIN },
        Law { name: "M/D/1", is_exponential: false, at_most_s: 0.01, ..PLAIN },
        Law { name: "token bucket", service_s: 0.001, is_exponential: false, bucket: Some((5000.0, 500.0)), ..PLAIN },
        Law {
            name: "M/M/4 with stalls",
            servers: 4,
            service_s: 0.004,
            stalls: Some((60.0, 0.2)),
            noise: 0.05,
            at_most_s: 0.05,
            ..PLAIN
        },
    ]
}

/// A law at work: the state that lasts from one run to the next.
struct Machine<'a> {
    law: &'a Law,
    rng: Rng,
    now_s: f64,
    tokens: f64,
    tokens_at_s: f64,
}

impl<'a> Machine<'a> {
    fn new(law: &'a Law, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let now_s = 60.0 * uniform(&mut rng);
        let tokens = law.bucket.map_or(0.0, |(size, _)| size);
        Self { law, rng, now_s, tokens, tokens_at_s: now_s }
    }

    /// When a start that a server could make at `at_s` really happens.
    fn allowed(&mut self, at_s: f64) -> f64 {
        let mut at_s = at_s;
        if let Some((period_s, length_s)) = self.law.stalls {
            let phase_s = at_s.rem_euclid(period_s);
            at_s += (length_s - phase_s).max(0.0);
        }
        if let Some((size, per_s)) = self.law.bucket {
            self.tokens = (self.tokens + (at_s - self.tokens_at_s).max(0.0) * per_s).min(size);
            let wait_s = ((1.0 - self.tokens) / per_s).max(0.0);
            at_s += wait_s;
            self.tokens = (self.tokens + wait_s * per_s - 1.0).max(0.0);
            self.tokens_at_s = self.tokens_at_s.max(at_s);
        }
        at_s
    }

    /// An open loop at a rate; the I/Os that completed in the last third per second.
    fn run(&mut self, rate: f64, measured_s: f64) -> (LimitSample, f64) {
        let service_s = self.law.service_s * (self.law.noise * normal(&mut self.rng)).exp();
        let start_s = self.now_s + WARM_UP_S;
        let end_s = start_s + measured_s;
        let mut free_s = vec![self.now_s; self.law.servers];
        let (mut arrival_s, mut completed, mut beyond, mut late, mut intended, mut last) =
            (self.now_s, 0u64, 0u64, 0u64, 0u64, 0u64);
        loop {
            arrival_s += exponential(&mut self.rng) / rate;
            if arrival_s >= end_s {
                break;
            }
            let server = (0..free_s.len()).min_by(|&a, &b| free_s[a].total_cmp(&free_s[b])).expect("a server");
            let begin_s = arrival_s.max(free_s[server]);
            if begin_s >= end_s {
                intended += u64::from(arrival_s >= start_s);
                late += 1;
                continue;
            }
            let begin_s = self.allowed(begin_s);
            let time_s = if self.law.is_exponential { service_s * exponential(&mut self.rng) } else { service_s };
            free_s[server] = begin_s + time_s;
            intended += u64::from(arrival_s >= start_s);
            if free_s[server] >= end_s {
                late += 1;
            } else if free_s[server] >= start_s {
                completed += 1;
                beyond += u64::from(free_s[server] - arrival_s > self.law.at_most_s);
                last += u64::from(free_s[server] >= end_s - measured_s / 3.0);
            }
        }
        self.now_s = end_s + 0.5 + uniform(&mut self.rng);
        let backlog = late.saturating_sub(DEPTH as u64);
        let used = (beyond + backlog) as f64 / (completed + backlog).max(1) as f64 / 0.01;
        let is_short = backlog as f64 > 0.02 * intended as f64;
        (LimitSample { used, intended_starts: intended, is_short }, last as f64 / (measured_s / 3.0))
    }
}

fn rates() -> Vec<f64> {
    let mut rates = vec![50.0_f64];
    while rates[rates.len() - 1] < 2000.0 {
        rates.push((rates[rates.len() - 1] * 1.02).floor().max(rates[rates.len() - 1] + 1.0));
    }
    rates
}

/// The answer of a search whose runs give `sample`, by rate and by true for confirming ones, and the number of runs.
fn searched(rates: &[f64], mut sample: impl FnMut(f64, bool) -> LimitSample) -> (LimitFound, usize) {
    let mut search = Search::new(rates);
    let mut runs = 0;
    loop {
        let (point, is_confirming) = match search.due() {
            SearchStep::Probe(point) => (point, false),
            SearchStep::Confirm(point) => (point, true),
            SearchStep::End(found) => return (found, runs),
        };
        let sample = sample(rates[point], is_confirming);
        search.observe(Observation { point, is_confirming, sample });
        runs += 1;
    }
}

/// The answer, and the runs that it took.
fn search(law: &Law, seed: u64) -> (LimitFound, Vec<f64>, usize) {
    let mut machine = Machine::new(law, seed);
    let (_, capacity) = machine.run(20.0 * law.servers as f64 / law.service_s, CONFIRM_S);
    let rates: Vec<f64> = rates().into_iter().filter(|rate| *rate <= capacity).collect();
    let (found, runs) = searched(&rates, |rate, is_confirming| {
        let measured_s = if is_confirming { CONFIRM_S } else { PROBE_S.max(1000.0 / rate).min(CONFIRM_S) };
        machine.run(rate, measured_s).0
    });
    // With the run that measured the capacity.
    (found, rates, runs + 1)
}

/// The highest rate that keeps the limit in steady state, from runs of this many I/Os.
fn truth(law: &Law, ios: f64) -> f64 {
    if let Some((_, sustained)) = law.bucket {
        return sustained;
    }
    // Between runs the service time differs; its mean counts.
    let steady = Law { noise: 0.0, ..law.clone() };
    let (mut low, mut high) = (50.0, law.servers as f64 / law.service_s);
    for seed in 0..9 {
        let middle = f64::midpoint(low, high);
        let (sample, _) = Machine::new(&steady, seed).run(middle, ios / middle);
        if sample.used <= 1.0 && !sample.is_short { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[derive(Debug)]
struct Outcome {
    confirmed: usize,
    wrong: usize,
    /// Searches that ended with the figure not depending on the rate.
    noise: usize,
    runs: usize,
}

fn outcome(law: &Law, searches: u64, truth: f64) -> Outcome {
    let mut outcome = Outcome { confirmed: 0, wrong: 0, noise: 0, runs: 0 };
    for seed in 0..searches {
        let (found, rates, runs) = search(law, 1000 + seed);
        outcome.runs += runs;
        outcome.noise += usize::from(found.noise.is_some());
        if found.is_confirmed {
            let rate = found.holds.map_or(0.0, |point| rates[point]);
            outcome.confirmed += 1;
            outcome.wrong += usize::from((rate / truth - 1.0).abs() > 0.1);
        }
    }
    outcome.runs /= searches as usize;
    outcome
}

#[test]
#[ignore = "a study of minutes"]
fn two_hundred_searches_of_each_law() {
    println!(
        "| law | truth | confirmed | of these off by more than 10 % | noise decides | runs |\n|---|---|---|---|---|---|"
    );
    for law in laws() {
        let truth = truth(&law, 1e7);
        let found = outcome(&law, 200, truth);
        let Outcome { confirmed, wrong, noise, runs } = found;
        println!("| {} | {truth:.0} | {confirmed} of 200 | {wrong} | {noise} | {runs} |", law.name);
        assert!(wrong * 20 < confirmed.max(20), "{}: {found:?}", law.name);
        assert!(confirmed >= 160 || !["M/M/1", "M/D/1"].contains(&law.name), "{}: {found:?}", law.name);
    }
}

#[test]
fn most_searches_are_confirmed_and_right() {
    let [law, ..] = laws();
    // Of M/M/1 the share beyond is exp(-(capacity - rate) x limit).
    let truth = 770.0 - 100f64.ln() / law.at_most_s;
    let found = outcome(&law, 20, truth);
    assert!(found.confirmed >= 17 && found.wrong == 0, "{found:?}");
}

/// The figure of every rate is a coin toss: the rate does not matter.
#[test]
fn a_figure_that_does_not_depend_on_the_rate_is_said_to_be_noise() {
    let rates: Vec<f64> = (0..200).map(|index| 100.0 * 1.02f64.powi(index)).collect();
    let (mut confirmed, mut noise) = (0, 0);
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let (found, _) = searched(&rates, |_, _| {
            let used = (0.5 * normal(&mut rng)).exp();
            LimitSample { used, intended_starts: 10_000, is_short: false }
        });
        confirmed += u32::from(found.is_confirmed);
        if let Some(range) = found.noise {
            noise += 1;
            assert!(rates[range.last] >= 1.5 * rates[range.first], "{found:?}");
        }
    }
    assert!(confirmed <= 5 && noise >= 35, "{confirmed} confirmed, {noise} noise");
}

/// Rates far below are met by all runs, and those around the limit by some: the figure depends on the rate.
#[test]
fn mixed_runs_near_the_limit_alone_are_no_noise() {
    let rates: Vec<f64> = (0..200).map(|index| 100.0 * 1.02f64.powi(index)).collect();
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let (found, _) = searched(&rates, |rate, _| {
            let used = (4.0 * (rate / 1000.0).ln() + 0.5 * normal(&mut rng)).exp();
            LimitSample { used, intended_starts: 10_000, is_short: false }
        });
        if let Some(range) = found.noise {
            assert!(rates[range.first] > 500.0 && rates[range.last] < 2000.0, "{seed}: {found:?}");
        }
    }
}

/// Whatever the result of a run, a search ends, and at rates that it has.
#[test]
fn all_and_none_can_be_the_answer() {
    let rates: Vec<f64> = (0..60).map(|index| 100.0 * 1.02f64.powi(index)).collect();
    for (used, holds, fails) in [(0.01, Some(59), None), (9.0, None, Some(0))] {
        let (found, _) = searched(&rates, |_, _| LimitSample { used, intended_starts: 1000, is_short: false });
        assert_eq!((found.holds, found.fails, found.is_confirmed), (holds, fails, true));
    }
}

/// One run beside a stall does not send the search down for good.
#[test]
fn a_run_that_was_disturbed_is_outvoted() {
    let rates: Vec<f64> = (0..200).map(|index| 100.0 * 1.02f64.powi(index)).collect();
    let truth = 2500.0;
    let mut is_first = true;
    let (found, runs) = searched(&rates, |rate, _| {
        let is_disturbed = std::mem::take(&mut is_first);
        let used = if is_disturbed { 20.0 } else { (10.0 * (rate / truth).ln()).exp() };
        LimitSample { used, intended_starts: rate as u64 * 10, is_short: false }
    });
    let rate = rates[found.holds.expect("a rate")];
    assert!(found.is_confirmed && (rate / truth - 1.0).abs() < 0.1, "{rate} after {runs} runs");
}

#[test]
fn a_sample_is_the_share_beyond_each_limit_as_a_multiple_of_what_may_be() {
    use model::figures::{Directions, FlushFigures, LatencyDistribution, LatencyFigures};
    use model::result::{LoadLoop, Measured, OpenLoop, TimeSpanResult};
    let response = LatencyDistribution {
        count: 1000,
        figures: LatencyFigures { mean_ns: 300_000.0, ..LatencyFigures::default() },
        buckets: vec![(hot::buckets::index(100_000) as u32, 980), (hot::buckets::index(5_000_000) as u32, 20)],
        ..LatencyDistribution::default()
    };
    let result = |backlog| {
        let open = OpenLoop {
            intended_starts: 1000 + backlog,
            backlog,
            response_time: Directions { total: Some(response.clone()), ..Directions::default() },
            ..OpenLoop::default()
        };
        let measured = Measured { load_loop: Some(LoadLoop::Open(Box::new(open))), ..Measured::default() };
        TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }
    };
    let limit = |figure, at_most| Limit { figure, scope: Scope::Response, at_most };
    let used = |backlog, limits: &[Limit]| super::sample(&result(backlog), limits).expect("it is measured");
    let p99 = limit(Metric::P99, 1e6);
    assert!((used(0, &[p99]).used - 2.0).abs() < 1e-9);
    assert!((used(0, &[limit(Metric::Mean, 1e6)]).used - 0.3).abs() < 1e-9);
    assert!((used(0, &[limit(Metric::Mean, 1e6), p99]).used - 2.0).abs() < 1e-9, "the worst counts");
    let of_commits = Limit { scope: Scope::Commit, ..p99 };
    assert_eq!(super::sample(&result(0), &[of_commits]), None, "there are none");
    let mut flushed = result(500);
    if let Some(measured) = &mut flushed.measured {
        measured.flushes = Some(FlushFigures::default());
        measured.commit_latency = Some(LatencyDistribution {
            count: 10,
            buckets: vec![(hot::buckets::index(5_000_000) as u32, 10)],
            ..LatencyDistribution::default()
        });
    }
    let sample = super::sample(&flushed, &[of_commits]).expect("it has commits");
    assert!((sample.used - 100.0).abs() < 1e-9, "starts that were not made are no commits");
    let short = used(1000, &[p99]);
    assert!((short.used - 51.0).abs() < 1e-9 && short.is_short);
    assert!(!used(10, &[p99]).is_short);
    assert_eq!(super::sample(&result(0), &[]), None);
    assert_eq!(super::sample(&TimeSpanResult::default(), &[p99]), None);
    assert!((super::seconds_min(&[limit(Metric::P999, 1e6), p99], 500.0) - 20.0).abs() < 1e-9);
}
