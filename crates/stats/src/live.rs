//! Figures of a run while it lasts: counts since the last sample, and so far.

use crate::latency::percentiles_of;
use crate::rate::per_second;
use hot::buckets::{COARSE_COUNT, coarse_upper_edge_ns};
use model::live::{
    LiveCounts, LiveFigures, LiveInterval, LiveLatency, LiveLoad, LivePhase, LiveRow, LiveSide, LiveTally, LiveTimes,
};

/// Median, 99th and 99.9th percentile in parts per billion.
const RANKS_PPB: [u64; 3] = [500_000_000, 990_000_000, 999_000_000];

/// Result of a sample of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSample {
    /// The figures since the last sample, and so far.
    pub interval: LiveInterval,
    /// Counts since the last sample, by target: reads, then writes.
    pub targets: Vec<[LiveTally; 2]>,
    /// Commits since then, of all targets.
    pub commit: LiveTally,
    /// The same of responses.
    pub response: LiveTally,
}

/// Follows one timespan from sample to sample.
#[derive(Debug, Default)]
pub struct Follower {
    targets: usize,
    /// The rows are those of hosts, not of threads on targets.
    are_hosts: bool,
    phase: LivePhase,
    elapsed_ns: u64,
    before: Groups,
}

impl Follower {
    /// Before the first sample of a timespan with this number of targets.
    pub fn new(targets: usize) -> Self {
        Self { targets, ..Self::default() }
    }

    /// Before the first sample of a timespan of this number of hosts: each has a row, with its number as that of the
    /// target.
    pub fn of_hosts(hosts: usize) -> Self {
        Self { are_hosts: true, ..Self::new(hosts) }
    }

    /// Counts since the last sample in the same phase, or since the phase began.
    pub fn sample(&mut self, counts: &LiveCounts) -> LiveSample {
        if counts.phase != self.phase {
            *self = Self { phase: counts.phase, are_hosts: self.are_hosts, ..Self::new(self.targets) };
        }
        let now = Groups::from_rows(&counts.rows, self.targets);
        let interval_ns = counts.elapsed_ns.saturating_sub(self.elapsed_ns);
        let since = now.since(&self.before);
        let interval = LiveInterval {
            phase: counts.phase,
            elapsed_ns: counts.elapsed_ns,
            left_ns: counts.left_ns,
            interval_ns,
            interval: self.figures(&since, interval_ns),
            so_far: self.figures(&now, counts.elapsed_ns),
        };
        self.before = now;
        self.elapsed_ns = counts.elapsed_ns;
        let [.., commit, response] = since.total;
        let targets = since.targets.into_iter().map(|[read, write, ..]| [read, write]).collect();
        LiveSample { interval, targets, commit, response }
    }

    fn figures(&self, groups: &Groups, length_ns: u64) -> LiveFigures {
        let figures = groups.figures(length_ns);
        if self.are_hosts {
            LiveFigures { hosts: figures.targets, targets: Vec::new(), threads: Vec::new(), ..figures }
        } else {
            figures
        }
    }
}

/// The counts of all threads on all targets in one row.
pub fn summed(counts: &LiveCounts) -> LiveCounts {
    let mut table = vec![0; COARSE_COUNT];
    let [read, write, commit, response] = sides(&counts.rows.iter().collect::<Vec<_>>(), &mut table);
    LiveCounts { rows: vec![LiveRow { read, write, commit, response, ..LiveRow::default() }], ..*counts }
}

/// Counts, grouped as they are shown.
#[derive(Clone, Debug, Default)]
struct Groups {
    total: Sides,
    targets: Vec<Sides>,
    threads: Vec<Sides>,
}

/// Reads, writes, commits and responses.
type Sides = [LiveTally; 4];

/// Those of these rows together; see [`together`].
fn sides(rows: &[&LiveRow], table: &mut [u64]) -> Sides {
    let of: [fn(&LiveRow) -> &LiveTally; 4] =
        [|row| &row.read, |row| &row.write, |row| &row.commit, |row| &row.response];
    of.map(|of| together(rows.iter().map(|row| of(row)), table))
}

impl Groups {
    fn from_rows(rows: &[LiveRow], targets: usize) -> Self {
        let mut by_target = vec![Vec::new(); targets];
        for row in rows {
            if let Some(rows) = by_target.get_mut(row.target) {
                rows.push(row);
            }
        }
        let mut table = vec![0; COARSE_COUNT];
        let mut sides = |rows: &[&LiveRow]| sides(rows, &mut table);
        Self {
            total: sides(&rows.iter().collect::<Vec<_>>()),
            targets: by_target.iter().map(|rows| sides(rows)).collect(),
            // The rows of a thread follow each other.
            threads: rows
                .chunk_by(|one, next| one.thread == next.thread)
                .map(|rows| sides(&rows.iter().collect::<Vec<_>>()))
                .collect(),
        }
    }

    fn since(&self, before: &Self) -> Self {
        let none = Sides::default();
        let sides = |now: &Sides, before: &Sides| [0, 1, 2, 3].map(|side| difference(&now[side], &before[side]));
        let each = |now: &[Sides], before: &[Sides]| {
            let earlier = before.iter().chain(std::iter::repeat(&none));
            now.iter().zip(earlier).map(|(now, before)| sides(now, before)).collect()
        };
        Self {
            total: sides(&self.total, &before.total),
            targets: each(&self.targets, &before.targets),
            threads: each(&self.threads, &before.threads),
        }
    }

    fn figures(&self, length_ns: u64) -> LiveFigures {
        let loads = |all: &[Sides]| -> Vec<LiveLoad> { all.iter().map(|sides| load(sides, length_ns)).collect() };
        let without_commits = |load: LiveLoad| LiveLoad { commit: None, ..load };
        LiveFigures {
            total: load(&self.total, length_ns),
            targets: loads(&self.targets).into_iter().map(without_commits).collect(),
            threads: loads(&self.threads),
            hosts: Vec::new(),
        }
    }
}

/// All of them as one; `table` has a place for every bucket and is all zeros before and after.
fn together<'a>(tallies: impl Iterator<Item = &'a LiveTally>, table: &mut [u64]) -> LiveTally {
    let mut all = LiveTally::default();
    for tally in tallies {
        // Counts of other hosts may be anything.
        all.ios = all.ios.saturating_add(tally.ios);
        all.bytes = all.bytes.saturating_add(tally.bytes);
        all.latency_sum_ns = all.latency_sum_ns.wrapping_add(tally.latency_sum_ns);
        all.latency_max_ns = all.latency_max_ns.max(tally.latency_max_ns);
        for &(index, count) in &tally.buckets {
            if let Some(cell) = table.get_mut(index as usize) {
                *cell = cell.saturating_add(count);
            }
        }
    }
    let filled = table.iter_mut().enumerate().filter(|(_, count)| **count > 0);
    all.buckets = filled.map(|(index, count)| (index as u32, std::mem::take(count))).collect();
    all
}

/// Counts since `before`. The largest latency of all is the bound of those since.
fn difference(now: &LiveTally, before: &LiveTally) -> LiveTally {
    let mut earlier = before.buckets.iter().copied().peekable();
    let since = |&(index, count): &(u32, u64)| {
        while earlier.next_if(|&(other, _)| other < index).is_some() {}
        let known = earlier.next_if(|&(other, _)| other == index).map_or(0, |(_, count)| count);
        Some((index, count.saturating_sub(known))).filter(|&(_, count)| count > 0)
    };
    LiveTally {
        ios: now.ios.saturating_sub(before.ios),
        bytes: now.bytes.saturating_sub(before.bytes),
        latency_sum_ns: now.latency_sum_ns.wrapping_sub(before.latency_sum_ns),
        latency_max_ns: now.latency_max_ns,
        buckets: now.buckets.iter().filter_map(since).collect(),
    }
}

fn load([read, write, commit, response]: &Sides, length_ns: u64) -> LiveLoad {
    let mut table = vec![0; COARSE_COUNT];
    let total = together([read, write].into_iter(), &mut table);
    let [read, write, total] = [read, write, &total].map(|tally| side(tally, length_ns));
    let [commit, response] = [commit, response].map(|tally| times(tally, length_ns));
    LiveLoad { read, write, total, commit, response }
}

fn times(tally: &LiveTally, length_ns: u64) -> Option<LiveTimes> {
    (tally.ios > 0).then(|| LiveTimes {
        count: tally.ios,
        per_s: per_second(tally.ios, length_ns),
        mean_ns: tally.latency_sum_ns as f64 / tally.ios as f64,
        latency: latency(tally),
    })
}

fn side(tally: &LiveTally, length_ns: u64) -> LiveSide {
    LiveSide {
        ios: tally.ios,
        bytes: tally.bytes,
        iops: per_second(tally.ios, length_ns),
        bytes_per_s: per_second(tally.bytes, length_ns),
        latency_mean_ns: (tally.ios > 0).then(|| tally.latency_sum_ns as f64 / tally.ios as f64),
        latency: latency(tally),
    }
}

fn latency(tally: &LiveTally) -> Option<LiveLatency> {
    let &(highest, _) = tally.buckets.last()?;
    let max_ns = coarse_edge_ns(highest).min(tally.latency_max_ns.max(1));
    let found = percentiles_of(&tally.buckets, coarse_edge_ns, (0, max_ns), RANKS_PPB);
    let at = |index: usize| found.get(index).map_or(0, |percentile| percentile.value_ns);
    Some(LiveLatency { p50_ns: at(0), p99_ns: at(1), p999_ns: at(2), max_ns })
}

fn coarse_edge_ns(index: u32) -> u64 {
    coarse_upper_edge_ns((index as usize).min(COARSE_COUNT - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::buckets::{coarse, index};
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn tally(latencies_ns: &[u64]) -> LiveTally {
        let mut table = vec![0; COARSE_COUNT];
        let one = |&ns: &u64| LiveTally {
            ios: 1,
            bytes: 4096,
            latency_sum_ns: ns,
            latency_max_ns: ns,
            buckets: vec![(coarse(index(ns)) as u32, 1)],
        };
        let each: Vec<LiveTally> = latencies_ns.iter().map(one).collect();
        together(each.iter(), &mut table)
    }

    fn counts(elapsed_s: u64, rows: &[(u32, usize, &[u64])]) -> LiveCounts {
        let row = |&(thread, target, reads): &(u32, usize, &[u64])| LiveRow {
            thread,
            target,
            read: tally(reads),
            ..LiveRow::default()
        };
        LiveCounts {
            phase: LivePhase::Measurement,
            elapsed_ns: elapsed_s * SECOND_NS,
            left_ns: 0,
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn an_interval_is_what_came_since_the_last_look() {
        let mut follower = Follower::new(2);
        let first = follower.sample(&counts(1, &[(0, 0, &[100_000; 4]), (1, 1, &[300_000])])).interval;
        assert_eq!(first.interval, first.so_far);
        assert_eq!((first.so_far.total.read.ios, first.so_far.targets[1].read.ios), (5, 1));
        let longer = [vec![100_000; 4], vec![900_000; 2]].concat();
        let LiveSample { interval: second, targets, .. } =
            follower.sample(&counts(3, &[(0, 0, &longer), (1, 1, &[300_000])]));
        assert_eq!(targets[0][0].buckets, tally(&[900_000; 2]).buckets);
        assert_eq!((second.interval_ns, second.interval.total.total.ios), (2 * SECOND_NS, 2));
        assert!((second.interval.total.total.iops - 1.0).abs() < 1e-9);
        assert_eq!(second.interval.total.read.latency_mean_ns, Some(900_000.0));
        assert_eq!(second.interval.threads[1], load(&Sides::default(), SECOND_NS));
        let latency = second.interval.targets[0].total.latency.expect("there are I/Os");
        assert_eq!((latency.p50_ns, latency.max_ns), (900_000, 900_000), "clipped to the largest there was");
        assert_eq!(second.so_far.total.read.ios, 7);
    }

    #[test]
    fn hosts_are_shown_in_place_of_targets_and_threads() {
        let of_host = |reads: &[u64]| summed(&counts(1, &[(0, 0, reads), (1, 1, &[700_000])])).rows.remove(0);
        let mut both = counts(1, &[]);
        both.rows = vec![of_host(&[500_000; 2]), LiveRow { target: 1, ..of_host(&[500_000; 5]) }];
        let seen = Follower::of_hosts(2).sample(&both);
        let LiveFigures { total, targets, threads, hosts } = seen.interval.interval;
        assert_eq!((total.read.ios, targets.len(), threads.len()), (9, 0, 0));
        assert_eq!(hosts.iter().map(|host| host.read.ios).collect::<Vec<_>>(), [3, 6]);
        assert_eq!(total.read.latency.map(|latency| latency.max_ns), Some(700_000));
        assert_eq!(seen.targets[1][0].ios, 6);
    }

    #[test]
    fn commits_and_responses_are_shown_beside_the_ios_alone() {
        let mut follower = Follower::new(2);
        let mut first = counts(1, &[(0, 0, &[100_000]), (0, 1, &[100_000])]);
        (first.rows[0].commit, first.rows[1].response) = (tally(&[9_000_000; 3]), tally(&[200_000; 2]));
        let LiveSample { interval, commit: commits, response: responses, .. } = follower.sample(&first);
        let figures = &interval.interval;
        let commit = figures.total.commit.clone().expect("commits");
        assert!(commit.count == 3 && (commit.mean_ns - 9_000_000.0).abs() < 1e-9, "{commit:?}");
        assert!(commit.latency.is_some_and(|latency| latency.p99_ns == 9_000_000));
        assert_eq!(figures.threads[0].commit, Some(commit));
        assert!(figures.targets.iter().all(|load| load.commit.is_none()), "a flush is one of the thread");
        assert_eq!(figures.targets[1].response.as_ref().map(|response| response.count), Some(2));
        assert_eq!((commits.ios, responses.ios), (3, 2), "of all targets");
        let mut both = counts(1, &[]);
        both.rows = vec![summed(&first).rows.remove(0)];
        let seen = Follower::of_hosts(1).sample(&both).interval.interval.total;
        assert_eq!((seen.commit.map(|of| of.count), seen.response.map(|of| of.count)), (Some(3), Some(2)));
        let second = LiveCounts { elapsed_ns: 2 * SECOND_NS, ..first };
        assert_eq!(follower.sample(&second).interval.interval.total.commit, None, "none ended since");
    }

    #[test]
    fn a_phase_begins_from_nothing_and_a_warm_up_has_means_only() {
        let mut follower = Follower::new(1);
        let mut warm_up = counts(5, &[(0, 0, &[1000; 9])]);
        warm_up.phase = LivePhase::WarmUp;
        warm_up.rows[0].read.buckets.clear();
        let warm = follower.sample(&warm_up).interval;
        assert_eq!((warm.interval.total.read.ios, warm.interval.total.read.latency), (9, None));
        assert_eq!(warm.interval.total.read.latency_mean_ns, Some(1000.0));
        let measured = follower.sample(&counts(1, &[(0, 0, &[500; 3])])).interval;
        assert_eq!((measured.interval_ns, measured.interval.total.read.ios), (SECOND_NS, 3));
    }

    proptest! {
        #[test]
        fn intervals_add_up_to_what_there_was_so_far(looks in prop::collection::vec(prop::collection::vec(1u64..1 << 40, 0..20), 1..8)) {
            let mut follower = Follower::new(1);
            let (mut all, mut ios, mut bytes) = (Vec::new(), 0, 0);
            for (second, more) in (1..).zip(&looks) {
                all.extend(more);
                let seen = follower.sample(&counts(second, &[(0, 0, &all)])).interval;
                ios += seen.interval.total.total.ios;
                bytes += seen.interval.total.total.bytes;
                prop_assert_eq!(seen.interval.total.read.ios, more.len() as u64);
                prop_assert_eq!((ios, bytes), (seen.so_far.total.total.ios, seen.so_far.total.total.bytes));
                if let Some(latency) = seen.interval.total.read.latency {
                    let largest = *more.iter().max().expect("there is one") as f64;
                    prop_assert!((latency.max_ns as f64 - largest).abs() <= 8.0 + largest / 100.0);
                    prop_assert!(latency.p50_ns <= latency.p99_ns && latency.p999_ns <= latency.max_ns);
                }
            }
        }
    }
}
