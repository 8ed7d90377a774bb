//! Loads of several hosts, of which everything is known: every I/O, and the true differences of the clocks.

use super::*;
use crate::latency::MergedLatencies;
use crate::simulation::exponential;
use crate::{Input, RunContext, summarise};
use hot::rng::Rng;
use model::facts::SystemFacts;
use model::figures::{Directions, IntervalFigures, LatencyDistribution};
use model::finding::{Finding, Severity, Source};
use model::packed_counts::PackedCounts;
use model::plan::{Intervals, Plan, TargetPlan, TimeSpanPlan};
use model::profile::Target;
use model::record::{
    IntervalRecord, Outcome, Record, RowRecord, SectionCounts, SectionRecord, SeriesCell, SeriesRecord, SlowIo, Tally,
    ThreadRecord, TimeSpanRecord,
};
use model::topology::{Cpu, Topology};
use model::verdict::Verdict;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const CELL_NS: u64 = 100 * MS;
const BLOCK_BYTES: u64 = 4096;

/// An I/O, by the true time of its completion on the axis.
#[derive(Clone, Copy, Debug)]
struct Io {
    done_ns: u64,
    latency_ns: u64,
    is_write: bool,
}

/// A host that measures a second or more.
#[derive(Clone, Debug)]
struct Host {
    name: &'static str,
    /// True start of its measurement on the axis.
    begins_ns: u64,
    /// By its own clock.
    elapsed_ns: u64,
    /// Lead of its clock over the axis when the measurement begins.
    offset_ns: i64,
    drift_ppb: i64,
    /// Error of the measured offset, and its bound.
    error_ns: i64,
    uncertainty_ns: u64,
    threads: u32,
    /// While it measures.
    ios: Vec<Io>,
}

impl Host {
    fn new(name: &'static str, begins_ns: u64, elapsed_ns: u64) -> Self {
        Self {
            name,
            begins_ns,
            elapsed_ns,
            offset_ns: 0,
            drift_ppb: 0,
            error_ns: 0,
            uncertainty_ns: 50_000,
            threads: 1,
            ios: Vec::new(),
        }
    }

    /// Its own time since its start, of a true time.
    fn own_ns(&self, axis_ns: u64) -> u64 {
        let since_ns = i128::from(axis_ns) - i128::from(self.begins_ns);
        u64::try_from(since_ns + since_ns * i128::from(self.drift_ppb) / 1_000_000_000).expect("it measures")
    }

    /// The true end of its measurement.
    fn ends_ns(&self) -> u64 {
        let drift_ns = i128::from(self.elapsed_ns) * i128::from(self.drift_ppb) / 1_000_000_000;
        self.begins_ns + u64::try_from(i128::from(self.elapsed_ns) - drift_ns).expect("a small drift")
    }

    /// I/Os at random times, this many per second on average.
    fn with_random_ios(mut self, per_s: f64, rng: &mut Rng) -> Self {
        let mut at_ns = self.begins_ns as f64;
        loop {
            at_ns += exponential(rng) / per_s * 1e9;
            if at_ns as u64 >= self.ends_ns() {
                return self;
            }
            let latency_ns = (exponential(rng) * 300_000.0) as u64 + 20_000;
            self.ios.push(Io { done_ns: at_ns as u64, latency_ns, is_write: rng.next_u64().is_multiple_of(3) });
        }
    }

    /// A read in the middle of every part of this length.
    fn with_regular_ios(mut self, every_ns: u64) -> Self {
        let times = (0..self.elapsed_ns / every_ns).map(|index| self.begins_ns + index * every_ns + every_ns / 2);
        self.ios = times.map(|done_ns| Io { done_ns, latency_ns: MS, is_write: false }).collect();
        self
    }

    fn path(&self) -> String {
        format!("/mnt/{}.dat", self.name)
    }

    /// Result of a run on this host.
    fn result(&self) -> RunResult {
        let target = Target { threads: self.threads, ..Target::new(self.path()) };
        let span = TimeSpan {
            duration_s: (self.elapsed_ns / S) as u32,
            measure_latency: true,
            calculate_iops_std_dev: true,
            targets: vec![target],
            ..TimeSpan::default()
        };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        let target = TargetPlan {
            path: self.path().into(),
            stream: None,
            size_bytes: 1 << 30,
            preparation: model::plan::Preparation::Keep,
            expect: model::plan::Expected::Prepared,
            open: model::plan::OpenPlan::default(),
            write_source: None,
            shared_run: None,
        };
        let plan = TimeSpanPlan {
            targets: vec![target],
            measure_latency: true,
            duration_ns: self.elapsed_ns,
            intervals: Some(Intervals { width_ns: S, count: self.elapsed_ns / S }),
            ..TimeSpanPlan::default()
        };
        let plan = Plan { time_spans: vec![plan], ..Plan::default() };
        let cpu = |id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true };
        let system = SystemFacts {
            computer_name: self.name.to_owned(),
            kernel_release: "6.1".to_owned(),
            topology: Topology { cpus: (0..4).map(cpu).collect(), possible_cpus: 4, caches: Vec::new() },
            ..SystemFacts::default()
        };
        let record = Record { time_spans: vec![self.record()], ..Record::default() };
        let context = RunContext { command_line: format!("diskspd {}", self.path()), ..RunContext::default() };
        summarise(Input { context, profile: &profile, system: &system, plan: Some(&plan), record: &record })
    }

    fn record(&self) -> TimeSpanRecord {
        let mut rows: Vec<RowRecord> =
            (0..self.threads).map(|thread| RowRecord { thread, ..RowRecord::default() }).collect();
        let mut buckets = vec![[BTreeMap::<u32, u64>::new(), BTreeMap::new()]; rows.len()];
        let mut cells = vec![SeriesCell::default(); (self.elapsed_ns / CELL_NS) as usize];
        let mut intervals = BTreeMap::<(u32, u64), [Tally; 2]>::new();
        let mut threads: Vec<ThreadRecord> =
            (0..self.threads).map(|thread| ThreadRecord { thread, submits: 7, ..ThreadRecord::default() }).collect();
        for (number, io) in self.ios.iter().enumerate() {
            let Io { latency_ns, is_write, .. } = *io;
            let (index, side, own_ns) = (number % rows.len(), usize::from(is_write), self.own_ns(io.done_ns));
            let row = &mut rows[index];
            let record = if is_write { &mut row.write } else { &mut row.read };
            record.tally.merge(&one(latency_ns));
            record.bytes += BLOCK_BYTES;
            *buckets[index][side].entry(hot::buckets::index(latency_ns) as u32).or_default() += 1;
            if let Some(cell) = cells.get_mut((own_ns / CELL_NS) as usize) {
                let counts = if is_write { &mut cell.write } else { &mut cell.read };
                counts.ios += 1;
                counts.bytes += BLOCK_BYTES;
                counts.latency_sum_ns += latency_ns;
            }
            intervals.entry((row.thread, own_ns / S)).or_default()[side].merge(&one(latency_ns));
            let slow = SlowIo { ended_at_ns: own_ns, latency_ns, thread: row.thread, is_write, ..SlowIo::default() };
            threads[index].slowest.push(slow);
        }
        for (row, [read, write]) in rows.iter_mut().zip(buckets) {
            row.read.buckets = read.into_iter().collect();
            row.write.buckets = write.into_iter().collect();
            let own = intervals.iter().filter(|((thread, _), _)| *thread == row.thread);
            let interval = |((_, index), [read, write]): (&(u32, u64), &[Tally; 2])| IntervalRecord {
                index: *index,
                read: *read,
                write: *write,
            };
            row.intervals = own.map(interval).collect();
        }
        TimeSpanRecord {
            outcome: Outcome::Completed,
            elapsed_ns: self.elapsed_ns,
            threads,
            rows,
            series: SeriesRecord { width_ns: CELL_NS, cells },
            sections: self.sections(),
            ..TimeSpanRecord::default()
        }
    }

    /// A section for each second, and for the rest.
    fn sections(&self) -> Vec<SectionRecord> {
        let section = |index: u64| {
            let start_ns = index * S;
            let end_ns = (start_ns + S).min(self.elapsed_ns);
            let side = |is_write: bool| {
                let (mut tally, mut counts) = (Tally::default(), BTreeMap::<u32, u64>::new());
                let is_in = |io: &&Io| io.is_write == is_write && (start_ns..end_ns).contains(&self.own_ns(io.done_ns));
                for io in self.ios.iter().filter(is_in) {
                    tally.merge(&one(io.latency_ns));
                    *counts.entry(hot::buckets::coarse(hot::buckets::index(io.latency_ns)) as u32).or_default() += 1;
                }
                SectionCounts { bytes: tally.count * BLOCK_BYTES, tally, histogram: PackedCounts::pack(counts) }
            };
            SectionRecord { start_ns, end_ns, read: side(false), write: side(true), response: SectionCounts::default() }
        };
        (0..self.elapsed_ns.div_ceil(S)).map(section).collect()
    }

    fn timing(&self) -> HostTiming {
        let own = |axis_ns: u64| axis_ns.checked_add_signed(self.offset_ns).expect("clocks are positive");
        let measured_from_ns = own(self.begins_ns);
        HostTiming {
            planned_start_ns: own(10 * S),
            started_ns: own(self.begins_ns),
            measured_from_ns: Some(measured_from_ns),
            measured_to_ns: Some(measured_from_ns + self.elapsed_ns),
        }
    }

    fn sent(&self, index: usize) -> HostResult {
        self.sent_as(index, self.result())
    }

    fn sent_as(&self, index: usize, result: RunResult) -> HostResult {
        let clock = ClockOffset {
            offset_ns: self.offset_ns + self.error_ns,
            uncertainty_ns: self.uncertainty_ns,
            drift_ppb: Some(self.drift_ppb),
            round_trip_ns: 2 * self.uncertainty_ns,
        };
        let outcome = HostOutcome::Finished { result: Box::new(result), timing: self.timing() };
        HostResult { name: self.name.to_owned(), index, outcome, clock }
    }
}

fn one(latency_ns: u64) -> Tally {
    let square = latency_ns as f64 * latency_ns as f64;
    Tally { count: 1, sum_ns: u128::from(latency_ns), sum_squares_ns2: square, min_ns: latency_ns, max_ns: latency_ns }
}

fn merged(hosts: &[Host]) -> RunResult {
    merge(hosts.iter().enumerate().map(|(index, host)| host.sent(index)).collect())
}

fn measured(result: &RunResult) -> &Measured {
    result.time_spans[0].measured.as_ref().expect("the hosts measured")
}

fn fleet_span(result: &RunResult) -> &FleetTimeSpan {
    &result.fleet.as_ref().expect("several hosts").time_spans[0]
}

fn lost(name: &str, index: usize) -> HostResult {
    let outcome = HostOutcome::Lost("no heartbeat for 10 s".to_owned());
    HostResult { name: name.to_owned(), index, outcome, clock: ClockOffset::default() }
}

/// Three hosts whose clocks differ by hours and drift, and which begin at slightly different times.
fn three(rng: &mut Rng) -> Vec<Host> {
    let mut random = |most: u64| rng.next_u64() % most;
    let host = |name, late_ns: u64, offset_ns, drift_ppb, error_ns, elapsed_ns| Host {
        offset_ns,
        drift_ppb,
        error_ns,
        threads: 2,
        ..Host::new(name, 15 * S + late_ns, elapsed_ns)
    };
    let hours = 3600 * S.cast_signed();
    let error = |random: u64| random.cast_signed() - 50_000;
    let hosts = [
        host("h1", random(5 * MS), 7 * hours, 40_000, error(random(100_001)), 3 * S + random(9 * MS)),
        host("h2", random(5 * MS), -4_000_000_000, -60_000, error(random(100_001)), 3 * S + random(9 * MS)),
        host("h3", random(40 * MS), 0, 0, error(random(100_001)), 3 * S + random(9 * MS)),
    ];
    let rates = [4000.0, 900.0, 70.0];
    hosts.into_iter().zip(rates).map(|(host, per_s)| host.with_random_ios(per_s, rng)).collect()
}

fn histogram<'a>(ios: impl Iterator<Item = &'a Io>) -> LatencyDistribution {
    let mut all = MergedLatencies::default();
    for io in ios {
        all.add(&one(io.latency_ns), &[(hot::buckets::index(io.latency_ns) as u32, 1)]);
    }
    all.distribution().expect("there are I/Os")
}

#[test]
fn merged_percentiles_are_those_of_one_histogram_over_all_ios() {
    let mut rng = Rng::new(25);
    for _ in 0..20 {
        let hosts = three(&mut rng);
        let result = merged(&hosts);
        let latency = measured(&result).total_latency.as_ref().expect("latencies were measured");
        let ios = || hosts.iter().flat_map(|host| &host.ios);
        for (merged, one) in [
            (&latency.total, histogram(ios())),
            (&latency.read, histogram(ios().filter(|io| !io.is_write))),
            (&latency.write, histogram(ios().filter(|io| io.is_write))),
        ] {
            let merged = merged.as_ref().expect("there are I/Os");
            assert_eq!((merged.count, &merged.buckets), (one.count, &one.buckets));
            assert_eq!((&merged.percentiles, merged.distinct_values), (&one.percentiles, one.distinct_values));
            assert_eq!((merged.figures.min_ns, merged.figures.max_ns), (one.figures.min_ns, one.figures.max_ns));
            let close = |a: f64, b: f64| (a - b).abs() <= b * 1e-6;
            assert!(close(merged.figures.mean_ns, one.figures.mean_ns), "{:?} {:?}", merged.figures, one.figures);
            assert!(close(merged.figures.std_dev_ns, one.figures.std_dev_ns), "{:?} {:?}", merged.figures, one.figures);
        }
        let total = measured(&result).total.total;
        assert_eq!((total.ios, total.bytes), (ios().count() as u64, ios().count() as u64 * BLOCK_BYTES));
    }
}

proptest! {
    #[test]
    fn distributions_of_hosts_add_up_to_that_of_all_ios(hosts in prop::collection::vec(prop::collection::vec(1u64..1 << 40, 0..60), 1..6)) {
        let ios: Vec<Vec<Io>> = hosts
            .iter()
            .map(|host| host.iter().map(|&latency_ns| Io { done_ns: 0, latency_ns, is_write: false }).collect())
            .collect();
        let own: Vec<LatencyDistribution> = ios.iter().filter(|ios| !ios.is_empty()).map(|ios| histogram(ios.iter())).collect();
        let Some(merged) = super::measured::distribution(own.iter()) else {
            prop_assert!(own.is_empty());
            return Ok(());
        };
        let one = histogram(ios.iter().flatten());
        prop_assert_eq!((merged.count, merged.distinct_values), (one.count, one.distinct_values));
        prop_assert_eq!((merged.buckets, merged.percentiles), (one.buckets, one.percentiles));
        prop_assert_eq!((merged.figures.min_ns, merged.figures.max_ns), (one.figures.min_ns, one.figures.max_ns));
        prop_assert!((merged.figures.mean_ns - one.figures.mean_ns).abs() <= 1e-9 * one.figures.mean_ns);
    }
}

#[test]
fn hosts_whose_times_are_unknown_are_taken_to_have_measured_together() {
    let hosts =
        [Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS), Host::new("h2", 18 * S, 2 * S).with_regular_ios(MS)];
    let unknown = |(index, host): (usize, &Host)| {
        let outcome = HostOutcome::Finished { result: Box::new(host.result()), timing: HostTiming::default() };
        HostResult { outcome, ..host.sent(index) }
    };
    let result = merge(hosts.iter().enumerate().map(unknown).collect());
    let window = fleet_span(&result).window.expect("they measured");
    assert_eq!((window.start_ns, window.length_ns, window.uncertainty_ns), (None, 2 * S, None));
    assert!((measured(&result).total.total.iops - 2000.0).abs() < 1e-9, "{:?}", measured(&result).total);
    let fleet = result.fleet.as_ref().expect("several hosts");
    assert!(fleet.hosts.iter().all(|host| host.start_late_ns.is_none() && host.done_ns.is_none()), "{:?}", fleet.hosts);
}

#[test]
fn later_timespans_have_times_of_their_own() {
    let host = Host { offset_ns: 5 * S.cast_signed(), drift_ppb: 100_000, ..Host::new("h1", 15 * S, 2 * S) };
    let hosts = [host.with_regular_ios(MS), Host::new("h2", 15 * S, 2 * S).with_regular_ios(MS)];
    // The second timespan begins 1000 s after the first, in which the first host's clock gains 100 ms.
    let two = |(index, host): (usize, &Host)| {
        let mut result = host.result();
        let mut later = result.time_spans[0].clone();
        let gained_ns = u64::from(index == 0) * 100 * MS;
        let from_ns = host.timing().measured_from_ns.map(|ns| ns + 1000 * S + gained_ns);
        later.timing = Some(HostTiming { measured_from_ns: from_ns, ..host.timing() });
        result.time_spans.push(later);
        result.profile.time_spans.push(result.profile.time_spans[0].clone());
        host.sent_as(index, result)
    };
    let result = merge(hosts.iter().enumerate().map(two).collect());
    let fleet = result.fleet.as_ref().expect("several hosts");
    let starts: Vec<_> = fleet.time_spans.iter().map(|span| span.window.and_then(|window| window.start_ns)).collect();
    let apart = starts[0].zip(starts[1]).map(|(first, second)| second - first);
    assert!(apart.is_some_and(|ns| ns.abs_diff(1000 * S.cast_signed()) < MS / 50), "{starts:?}");
    assert_eq!(result.totals.map(|totals| totals.figures.total.ios), Some(8000));
}

#[test]
fn the_window_has_the_ios_that_all_hosts_completed_in_it() {
    let mut rng = Rng::new(26);
    let (mut largest, mut allowed) = (0.0f64, 0.0f64);
    for round in 0..100 {
        let hosts = three(&mut rng);
        let begins_ns = hosts.iter().map(|host| host.begins_ns).max().expect("three");
        let ends_ns = hosts.iter().map(Host::ends_ns).min().expect("three");
        let inside = |io: &&Io| (begins_ns..ends_ns).contains(&io.done_ns);
        let counted = hosts.iter().flat_map(|host| &host.ios).filter(inside).count() as f64;
        let length_s = (ends_ns - begins_ns) as f64 / 1e9;
        let result = merged(&hosts);
        let window = fleet_span(&result).window.expect("they measured together");
        let (found, figures) = (measured(&result), measured(&result).total.total);
        let error = (figures.iops - counted / length_s).abs();
        assert!(error <= window.iops_uncertainty, "round {round}: {error} {window:?}");
        assert!(window.iops_uncertainty < 0.05 * figures.iops, "round {round}: {window:?}");
        assert!((figures.bytes_per_s / figures.iops - BLOCK_BYTES as f64).abs() < 1e-6);
        assert_eq!((window.uncertainty_ns, window.length_ns), (Some(50_000), found.elapsed_ns));
        let length_error_ns = window.length_ns.abs_diff(ends_ns - begins_ns);
        assert!(length_error_ns <= 2 * 50_000 + 10, "round {round}: {length_error_ns} ns");
        let start_error_ns = window.start_ns.expect("it is known").abs_diff((begins_ns - 10 * S).cast_signed());
        assert!(start_error_ns <= 2 * 50_000 + 10, "round {round}: {start_error_ns} ns");
        (largest, allowed) = (largest.max(error / figures.iops), allowed.max(window.iops_uncertainty / figures.iops));
    }
    println!("largest error {:.3} %, largest uncertainty {:.3} %", 100.0 * largest, 100.0 * allowed);
}

#[test]
fn drift_moves_the_end_of_a_long_measurement() {
    // 100 ppm of 1000 s are 100 ms.
    let fast = Host { drift_ppb: 100_000, ..Host::new("fast", 15 * S, 1000 * S) }.with_regular_ios(S);
    let exact = Host::new("exact", 15 * S, 1000 * S).with_regular_ios(S);
    let window = fleet_span(&merged(&[fast, exact])).window.expect("they measured together");
    assert_eq!(window.length_ns, 1000 * S - 100 * MS);
}

#[test]
fn parts_of_the_measurement_are_put_in_their_places() {
    // The second host begins 2 s later, by a clock that is an hour behind.
    let early = Host::new("h1", 15 * S, 10 * S).with_regular_ios(10 * MS);
    let late = Host { offset_ns: -10 * S.cast_signed(), ..Host::new("h2", 17 * S, 10 * S) };
    let mut late = late.with_regular_ios(100 * MS);
    late.ios.retain(|io| io.done_ns < 18 * S);
    let result = merged(&[early, late]);
    let found = measured(&result);
    assert_eq!(
        (found.elapsed_ns, fleet_span(&result).window.expect("8 s").start_ns),
        (8 * S, Some(7 * S.cast_signed()))
    );
    let ios: Vec<u64> = found.intervals.iter().map(|interval| interval.total.ios).collect();
    assert_eq!(ios, [110, 100, 100, 100, 100, 100, 100, 100]);
    let series: Vec<u64> = found.series.read.ios.chunks(10).map(|cells| cells.iter().sum()).collect();
    assert_eq!((series, found.series.read.ios.len()), (ios.clone(), 80));
    let sections: Vec<u64> =
        found.sections.iter().map(|section| section.read.as_ref().map_or(0, |of| of.ios)).collect();
    assert_eq!(sections, ios);
    assert!(found.sections.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "without gaps");
    let row = |index: usize| {
        found.rows[index].intervals.iter().map(|of: &Directions<IntervalFigures>| of.total.ios).collect::<Vec<_>>()
    };
    assert_eq!((row(0), row(1)), (vec![100; 8], vec![10, 0, 0, 0, 0, 0, 0, 0]));
    // Sums are of everything, rates of the window.
    assert_eq!(found.total.total.ios, 1010);
    assert!((found.total.total.iops - 810.0 / 8.0).abs() < 1e-9, "{:?}", found.total.total);
    let begins: Vec<_> = fleet_span(&result).hosts.iter().map(|host| host.begins_ns).collect();
    assert_eq!(begins, [Some(-2 * S.cast_signed()), Some(0)]);
    let slowest = found.slowest.iter().map(|io| io.ended_at_ns).min().expect("there are I/Os");
    assert_eq!(slowest, 0, "what was before the window is at its start");
}

#[test]
fn rows_of_all_hosts_are_numbered_through_and_named() {
    let hosts = three(&mut Rng::new(27));
    let result = merged(&hosts);
    let found = measured(&result);
    let row = |row: &model::result::Row| (row.thread, row.target, row.path.display().to_string());
    let expected = |thread, target, name: &str| (thread, target, format!("{name}:/mnt/{name}.dat"));
    assert_eq!(
        found.rows.iter().map(row).collect::<Vec<_>>(),
        [
            expected(0, 0, "h1"),
            expected(1, 0, "h1"),
            expected(2, 1, "h2"),
            expected(3, 1, "h2"),
            expected(4, 2, "h3"),
            expected(5, 2, "h3")
        ]
    );
    let targets = &result.profile.time_spans[0].targets;
    assert_eq!(targets[1].path, Path::new("h2:/mnt/h2.dat"));
    assert_eq!(
        (targets.len(), found.thread_count),
        (3, hosts.iter().map(|host| host.threads).sum::<u32>().min(found.thread_count))
    );
    let submissions = found.submissions.as_ref().expect("they are known");
    assert_eq!(submissions.threads.iter().map(|of| of.thread).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    let paths: Vec<_> = found.target_latencies.iter().map(|of| of.path.display().to_string()).collect();
    assert_eq!(paths, ["h1:/mnt/h1.dat", "h2:/mnt/h2.dat", "h3:/mnt/h3.dat"]);
    let rows: u64 = found.rows.iter().map(|row| row.figures.total.ios).sum();
    assert_eq!(rows, found.total.total.ios);
    assert_eq!(result.system.computer_name, "h1, h2, h3");
    let fleet = result.fleet.as_ref().expect("several hosts");
    let cpus: Vec<_> = fleet.hosts.iter().filter_map(|host| Some(host.system.as_ref()?.cpu_count)).collect();
    assert_eq!(cpus, [4, 4, 4]);
    assert_eq!(result.totals.map(|totals| totals.figures), Some(found.total));
}

#[test]
fn starts_and_ends_are_on_the_common_axis() {
    let hour = 3600 * S.cast_signed();
    let first = Host { offset_ns: hour, ..Host::new("h1", 15 * S, 2 * S) }.with_regular_ios(MS);
    let second = Host::new("h2", 15 * S + 300_000, 2 * S).with_regular_ios(MS);
    let result = merged(&[first, second]);
    let fleet = result.fleet.as_ref().expect("several hosts");
    let told: Vec<_> = fleet.hosts.iter().map(|host| (host.start_late_ns, host.start_skew_ns, host.done_ns)).collect();
    let (five, seven) = (5 * S.cast_signed(), 7 * S.cast_signed());
    assert_eq!(
        told,
        [(Some(five), Some(0), Some(seven)), (Some(five + 300_000), Some(300_000), Some(seven + 300_000))]
    );
    assert_eq!((fleet.planned_start_ns, fleet.start_skew_ns), (10 * S.cast_signed(), Some(300_000)));
    assert_eq!((fleet.first_done_ns, fleet.last_done_ns), (Some(seven), Some(seven + 300_000)));
}

#[test]
fn one_host_has_its_own_figures() {
    let host = Host { offset_ns: 5, ..Host::new("h1", 15 * S, 20 * S) }.with_random_ios(500.0, &mut Rng::new(28));
    let (own, result) = (host.result(), merged(std::slice::from_ref(&host)));
    let (own, found) = (measured(&own), measured(&result));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
    assert!(close(found.total.total.iops, own.total.total.iops), "{:?} {:?}", found.total, own.total);
    assert_eq!((found.elapsed_ns, &found.series), (own.elapsed_ns, &own.series));
    let ios = |of: &Measured| of.intervals.iter().map(|interval| interval.total.ios).collect::<Vec<_>>();
    assert_eq!((ios(found), found.sections.len()), (ios(own), own.sections.len()));
    let percentiles = |of: &Measured| {
        let latency = of.total_latency.as_ref().expect("latencies were measured");
        latency.total.as_ref().map(|total| (total.percentiles.clone(), total.buckets.clone()))
    };
    assert!(percentiles(found) == percentiles(own), "percentiles differ");
    assert_eq!(found.total.total.iops_std_dev.map(f64::round), own.total.total.iops_std_dev.map(f64::round));
    let total = found.confidence.as_ref().and_then(|of| of.total.as_ref());
    assert!(total.is_some_and(|total| !total.percentiles.is_empty()));
    assert_eq!((&found.confidence, &found.steadiness.iops), (&own.confidence, &own.steadiness.iops));
    let window = fleet_span(&result).window.expect("it measured");
    assert_eq!((window.uncertainty_ns, window.iops_uncertainty.round()), (Some(0), 0.0));
}

#[test]
fn a_host_that_failed_makes_the_load_failed_and_a_lost_one_leaves_the_figures() {
    let host = Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS);
    let failed = HostOutcome::Failed(vec!["no space left".to_owned()]);
    let failed = HostResult { name: "h2".to_owned(), index: 1, outcome: failed, clock: ClockOffset::default() };
    let result = merge(vec![lost("h3", 2), failed.clone(), host.sent(0)]);
    let span_result = &result.time_spans[0];
    assert_eq!((span_result.outcome, &span_result.errors), (Ending::Failed, &vec!["h2: no space left".to_owned()]));
    let fleet = result.fleet.as_ref().expect("several hosts");
    assert_eq!(fleet.names().collect::<Vec<_>>(), ["h1", "h2", "h3"]);
    assert_eq!(fleet.without_result().count(), 2);
    let result = merge(vec![host.sent(0), lost("h3", 2)]);
    assert_eq!((result.time_spans[0].outcome, measured(&result).is_partial), (Ending::Completed, true));
    assert_eq!((measured(&result).total.total.ios, &result.errors), (2000, &Vec::new()));
    let nothing = merge(vec![failed, lost("h3", 2)]);
    assert_eq!(
        (nothing.time_spans.len(), &nothing.errors),
        (0, &vec!["h2: no space left".to_owned(), "h3: lost (no heartbeat for 10 s)".to_owned()])
    );
    let mut stopped = host.result();
    stopped.time_spans[0].outcome = Ending::Stopped;
    let result = merge(vec![host.sent(0), host.sent_as(1, stopped)]);
    assert_eq!(result.time_spans[0].outcome, Ending::Stopped);
}

#[test]
fn results_of_other_timespans_are_not_merged() {
    let host = Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS);
    let mut two = host.result();
    two.time_spans.push(TimeSpanResult::default());
    let other = HostResult { name: "h2".to_owned(), ..host.sent_as(1, two) };
    let result = merge(vec![host.sent(0), other]);
    let expected = "the results cannot be merged: h1 has 1 timespan and h2 has 2";
    assert_eq!((result.errors, result.time_spans.len()), (vec![expected.to_owned()], 0));
}

#[test]
fn measurements_without_a_common_time_have_no_window() {
    let first = Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS);
    let second = Host::new("h2", 18 * S, 2 * S).with_regular_ios(MS);
    let result = merged(&[first, second]);
    assert_eq!(fleet_span(&result).window, None);
    let found = measured(&result);
    assert_eq!((found.total.total.ios, found.series.read.ios.len()), (4000, 0));
    assert!(found.intervals.is_empty() && found.sections.is_empty());
    assert!((found.total.total.iops - 2000.0).abs() < 1e-9, "{:?}", found.total);
}

#[test]
fn hosts_keep_their_own_verdicts_and_figures() {
    let host = Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS);
    let finding = Finding {
        name: "steal".to_owned(),
        severity: Severity::Warn,
        subject: String::new(),
        figure: "9 % steal time".to_owned(),
        value: Some(9.0),
        advice: String::new(),
        basis: String::new(),
        source: Source::Verdict,
    };
    let mut judged = host.result();
    judged.time_spans[0].verdict = Some(Verdict { findings: vec![finding] });
    let result = merge(vec![host.sent_as(0, judged)]);
    let of_host = &fleet_span(&result).hosts[0];
    assert_eq!(of_host.verdict.as_ref().and_then(Verdict::severity), Some(Severity::Warn));
    let headline = of_host.headline.as_ref().expect("it measured");
    assert_eq!(
        (headline.ios, of_host.read_ios, of_host.bytes, headline.warnings.len()),
        (2000, 2000, 2000 * BLOCK_BYTES, 1)
    );
    assert_eq!((of_host.series.width_ns, of_host.series.ios.len()), (CELL_NS, 20));
    assert_eq!(result.time_spans[0].verdict, None, "the merged result is yet to be judged");
}

#[test]
fn timespans_that_were_runs_of_their_own_are_one_result() {
    let host = Host::new("h1", 15 * S, 2 * S).with_regular_ios(MS);
    let both = merge(vec![host.sent(0), HostResult { name: "h2".to_owned(), ..host.sent(1) }]);
    let one = merge(vec![host.sent(0), lost("h2", 1)]);
    let profile = host.result().profile;
    let joined = join(vec![both, one], &[&profile, &profile, &profile]);
    let outcomes: Vec<Ending> = joined.time_spans.iter().map(|span| span.outcome).collect();
    assert_eq!(outcomes, [Ending::Completed, Ending::Completed, Ending::NotRun]);
    assert_eq!(joined.profile.time_spans.len(), 3);
    let totals = joined.totals.expect("there are figures");
    assert_eq!((totals.elapsed_ns, totals.figures.total.ios), (4 * S, 6000));
    let fleet = joined.fleet.expect("hosts");
    assert_eq!(fleet.time_spans.iter().map(|span| span.hosts.len()).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(fleet.without_result().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["h2"]);
    assert_eq!(join(Vec::new(), &[&profile]), RunResult::default());
}
