//! Figures against laws that are known exactly: mean, percentiles and rate may be off by their sampling
//! error, and by what the test's clock takes for a look.
//!
//! Four standard errors: of 100,000 correct tests one fails for its seed, which stays the same.

use super::context;
use super::pacing::{MS, S, US, ios, open_loop, paced, rate, run_skipping};
use super::simulated::{Law, Service};
use crate::setup::Context;
use model::plan::{Pace, TimeSpanPlan};
use model::record::{DirectionRecord, RowRecord, Tally, TimesRecord};
use std::collections::BTreeMap;

/// A look at the clock.
const STEP_NS: u64 = 10;
/// Looks that may lie in the time of an I/O.
const LOOKS: u64 = 4;

/// A run on time that goes at once to the next start or the next end: nothing happens between.
fn run(context: &Context, service: Service) -> RowRecord {
    run_skipping(context, service, STEP_NS, |worker| {
        let start_ns = worker.work[0].pacer.due_ns();
        worker.engine.first_end_ns().map_or(start_ns, |end_ns| end_ns.min(start_ns))
    })
}

/// Latencies of reads and writes together.
struct Latencies {
    tally: Tally,
    buckets: BTreeMap<u32, u64>,
}

impl Latencies {
    fn service(row: &RowRecord) -> Self {
        let part = |record: &DirectionRecord| (record.tally, record.buckets.clone());
        Self::together([part(&row.read), part(&row.write)])
    }

    fn response(row: &RowRecord) -> Self {
        let part = |record: &TimesRecord| (record.tally, record.buckets.clone());
        let open = open_loop(row);
        Self::together([part(&open.read), part(&open.write)])
    }

    fn together(parts: [(Tally, Vec<(u32, u64)>); 2]) -> Self {
        let mut all = Self { tally: Tally::default(), buckets: BTreeMap::new() };
        for (tally, buckets) in parts {
            all.tally.merge(&tally);
            for (index, count) in buckets {
                *all.buckets.entry(index).or_default() += count;
            }
        }
        all
    }

    fn count(&self) -> f64 {
        self.tally.count as f64
    }

    fn mean_ns(&self) -> f64 {
        self.tally.sum_ns as f64 / self.count()
    }

    /// The smallest upper edge at or below which lies that share.
    fn percentile_ns(&self, share: f64) -> f64 {
        let mut at_or_below = 0;
        let mut buckets = self.buckets.iter();
        let bucket = buckets.find(|&(_, &count)| {
            at_or_below += count;
            at_or_below as f64 >= share * self.count()
        });
        hot::buckets::upper_edge_ns(*bucket.expect("there are I/Os").0 as usize) as f64
    }

    /// A clock that takes time and buckets that are a 1024th wide may add to the mean, never take away.
    fn expect_mean(&self, truth_ns: f64, error_ns: f64) {
        let seen_ns = self.mean_ns();
        let (low, high) = (truth_ns - error_ns, truth_ns + error_ns + (LOOKS * STEP_NS) as f64);
        assert!((low..=high).contains(&seen_ns), "mean {seen_ns}, law: {truth_ns} ± {error_ns}");
    }

    fn expect_percentile(&self, share: f64, truth_ns: f64, error_ns: f64) {
        let seen_ns = self.percentile_ns(share);
        let added_ns = (LOOKS * STEP_NS) as f64 + (truth_ns + error_ns) / 1000.0;
        let (low, high) = (truth_ns - error_ns - 1.0, truth_ns + error_ns + added_ns);
        assert!((low..=high).contains(&seen_ns), "{share}: {seen_ns}, law: {truth_ns} ± {error_ns}");
    }

    /// The quantiles of an exponential law: -m ln(1 - p). The error of a quantile of n values is
    /// sqrt(p (1 - p) / n) / f (David & Nagaraja, Order Statistics, 10.2), here m sqrt(p / (1 - p) / n);
    /// `dependence` multiplies it where neighbours depend on each other.
    fn expect_exponential(&self, mean_ns: f64, dependence: f64) {
        for share in [0.25f64, 0.5, 0.9, 0.99, 0.999] {
            let error_ns = 4.0 * dependence * mean_ns * (share / (1.0 - share) / self.count()).sqrt();
            self.expect_percentile(share, -mean_ns * (1.0 - share).ln(), error_ns);
        }
    }
}

#[test]
fn a_fixed_service_time() {
    for slots in [1, 8] {
        let context = context(paced(Pace::Unlimited, slots, S));
        let row = run(&context, Service::parallel(Law::Fixed { ns: 100 * US }));
        let latencies = Latencies::service(&row);
        latencies.expect_mean(1e5, 0.0);
        for share in [0.01, 0.5, 0.99, 1.0] {
            latencies.expect_percentile(share, 1e5, 0.0);
        }
        // A turn of all slots takes the service and the looks.
        let expected = f64::from(slots) * 1e4;
        assert!((expected * 0.9995..=expected).contains(&latencies.count()), "{}", latencies.count());
    }
}

#[test]
fn an_exponential_service_time() {
    for slots in [1, 8] {
        let context = context(paced(Pace::Unlimited, slots, 4 * S));
        let row = run(&context, Service::parallel(Law::Exponential { mean_ns: 100 * US }));
        let latencies = Latencies::service(&row);
        let error_ns = 4.0 * 1e5 / latencies.count().sqrt();
        latencies.expect_mean(1e5, error_ns);
        latencies.expect_exponential(1e5, 1.0);
        // Little: requests = rate x time.
        let requests = latencies.count() / 4.0 * latencies.mean_ns() / 1e9;
        assert!((requests / f64::from(slots) - 1.0).abs() < 0.001, "{requests} of {slots}");
    }
}

#[test]
fn two_service_times() {
    let law = Law::TwoPoint { fast_ns: 100 * US, slow_ns: 10 * MS, one_in: 50 };
    let row = run(&context(paced(Pace::Unlimited, 4, 20 * S)), Service::parallel(law));
    let latencies = Latencies::service(&row);
    // A fiftieth is slow; the deviation of a choice is sqrt(p (1 - p)) of the difference.
    let share_error = 4.0 * (0.02 * 0.98 / latencies.count()).sqrt();
    latencies.expect_mean(1e5 + 0.02 * 9.9e6, share_error * 9.9e6);
    assert!(share_error < 0.01, "{share_error}");
    for (share, truth_ns) in [(0.5, 1e5), (0.97, 1e5), (0.99, 1e7), (0.999, 1e7)] {
        latencies.expect_percentile(share, truth_ns, 0.0);
    }
}

/// Half a second of every five.
#[test]
fn a_stall_that_comes_again_and_again() {
    let stalling = || Service {
        stall_ns: 501 * MS..1001 * MS,
        stall_period_ns: Some(5 * S),
        ..Service::parallel(Law::Fixed { ns: MS })
    };
    // A closed loop of depth 4 waits with four requests in each of ten stalls: 40 I/Os of 180,000.
    let closed = run(&context(paced(Pace::Unlimited, 4, 50 * S)), stalling());
    let service = Latencies::service(&closed);
    let slow: u64 = service.buckets.range(hot::buckets::index(2 * MS) as u32..).map(|(_, &count)| count).sum();
    assert_eq!(slow, 40);
    service.expect_percentile(0.999, 1e6, 0.0);
    assert!(service.tally.max_ns.abs_diff(500 * MS) <= MS + LOOKS * STEP_NS, "{}", service.tally.max_ns);

    // An open loop sees it all: of each 5,000 starts the 500 in a stall wait for its end, 250 ms on
    // average, so the mean is 1 ms + 25 ms and the worst tenth are spread evenly over the stall.
    let open = run(&context(paced(rate(1000), 600, 50 * S)), stalling());
    assert_eq!((open_loop(&open).delayed_by_depth, open_loop(&open).backlog), (0, 0));
    let response = Latencies::response(&open);
    // Starts are a millisecond apart: a stall has one more or less, of 500 ms at most.
    let grid_ns = 1e6;
    response.expect_mean(1e6 + 0.1 * 250e6, 0.1 * grid_ns);
    response.expect_percentile(0.85, 1e6, 0.0);
    response.expect_percentile(0.95, 1e6 + 250e6, 2.0 * grid_ns);
    response.expect_percentile(0.99, 1e6 + 450e6, 2.0 * grid_ns);
}

/// One server that takes 100 µs: 10,000 I/Os per second, whatever the depth.
#[test]
fn a_limit_of_ios_per_second() {
    for slots in [1u32, 8, 64] {
        let service = Service { servers: Some(1), ..Service::parallel(Law::Fixed { ns: 100 * US }) };
        // Requests of the first turn do not wait for all others.
        let plan = TimeSpanPlan { warm_up_ns: 10 * MS, ..paced(Pace::Unlimited, slots, 2 * S) };
        let row = run(&context(plan), service);
        let latencies = Latencies::service(&row);
        assert!((19_980.0..=20_000.0).contains(&latencies.count()), "{}", latencies.count());
        let truth_ns = f64::from(slots) * 1e5;
        // Looks put the server out of step by no more than themselves per request.
        latencies.expect_mean(truth_ns, truth_ns * 1e-3);
        latencies.expect_percentile(0.5, truth_ns, truth_ns * 1e-3);
        latencies.expect_percentile(0.99, truth_ns, truth_ns * 1e-3);
    }
}

/// M/M/1 at half load: response times are exponential with mean 1 / (mu - lambda), 200 µs here.
///
/// They depend on each other: the variance of the mean of n waiting times is
/// rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4 / mu^2 / n (Blomqvist 1967; Whitt, Planning queueing
/// simulations, Management Science 35, 1989), 29 / mu^2 / n at half load, against 4 / mu^2 / n if they were
/// independent: errors are 2.7 times as large.
#[test]
fn random_starts_at_one_server_with_random_times() {
    let pace = Pace::Poisson { mean_numerator: 200 * US, mean_denominator: 1 };
    let service = Service { servers: Some(1), ..Service::parallel(Law::Exponential { mean_ns: 100 * US }) };
    let row = run(&context(paced(pace, 128, 40 * S)), service);
    assert_eq!(open_loop(&row).delayed_by_depth, 0, "2^-128 of the starts would find 128 before them");
    let response = Latencies::response(&row);
    response.expect_mean(2e5, 4.0 * 1e5 * (29.0 / response.count()).sqrt());
    response.expect_exponential(2e5, 2.7);
    let expected = 200_000.0f64;
    assert!((ios(&row) as f64 - expected).abs() <= 4.0 * expected.sqrt(), "{}", ios(&row));
}

/// M/D/1: the mean response time is s + rho s / 2 (1 - rho) (Pollaczek & Khinchine), 150 µs at half load and
/// 217 µs at seven tenths. Its error is below that of M/M/1.
#[test]
fn random_starts_at_one_server_with_a_fixed_time() {
    for (per_ms, rho) in [(5, 0.5f64), (7, 0.7)] {
        let pace = Pace::Poisson { mean_numerator: MS, mean_denominator: per_ms };
        let service = Service { servers: Some(1), ..Service::parallel(Law::Fixed { ns: 100 * US }) };
        let row = run(&context(paced(pace, 128, 20 * S)), service);
        let response = Latencies::response(&row);
        let truth_ns = 1e5 + 1e5 * rho / (2.0 * (1.0 - rho));
        let variance = rho * (2.0 + 5.0 * rho - 4.0 * rho * rho + rho.powi(3)) / (1.0 - rho).powi(4);
        response.expect_mean(truth_ns, 4.0 * 1e5 * (variance / response.count()).sqrt());
        // Who finds the server free, 1 - rho of all, waits for nothing.
        response.expect_percentile((1.0 - rho) * 0.95, 1e5, 0.0);
    }
}
