//! Latencies and rates of real runs against a file system that records its service times.
//!
//! All bounds are exact, on a busy machine too. A read is submitted before it arrives and completes after it is
//! answered, so it takes at least the time between. In a closed loop of depth N the next read starts after one
//! completed, and the j-th completion was before the (j + N)-th arrival: the file system's times also bound ours from
//! above.

use serde_json::Value;
use std::time::{Duration, Instant};
use testkit::{Faulty, SlowRead, or_skip, workplace};

const SERVICE: Duration = Duration::from_millis(10);

/// Arrival and reply times of reads, each ascending, in ns since the program was started.
struct Served {
    arrived_ns: Vec<f64>,
    answered_ns: Vec<f64>,
    /// Time when the program had ended.
    end_ns: f64,
    depth: usize,
}

impl Served {
    fn from_reads(reads: &[SlowRead], began: Instant, depth: usize) -> Self {
        let ascending = |time: fn(&SlowRead) -> Instant| {
            let mut times_ns: Vec<f64> = reads.iter().map(|read| (time(read) - began).as_nanos() as f64).collect();
            times_ns.sort_by(f64::total_cmp);
            times_ns
        };
        let (arrived_ns, answered_ns) = (ascending(|read| read.arrived), ascending(|read| read.answered));
        Self { arrived_ns, answered_ns, end_ns: began.elapsed().as_nanos() as f64, depth }
    }

    /// Latest time of the j-th completion.
    fn latest_return_ns(&self, j: usize) -> f64 {
        self.arrived_ns.get(j + self.depth).copied().unwrap_or(self.end_ns)
    }

    /// Earliest time of the k-th start.
    fn earliest_start_ns(&self, k: usize) -> f64 {
        k.checked_sub(self.depth).map_or(0.0, |back| self.answered_ns[back])
    }

    fn mean_bounds_ns(&self) -> [f64; 2] {
        let count = self.arrived_ns.len();
        let served_ns: f64 = (0..count).map(|i| self.answered_ns[i] - self.arrived_ns[i]).sum();
        let longest_ns: f64 = (0..count).map(|i| self.latest_return_ns(i) - self.earliest_start_ns(i)).sum();
        [served_ns / count as f64, longest_ns / count as f64]
    }

    /// At depth 1 each read has bounds, so percentiles have.
    fn percentile_bounds_ns(&self, rank_ppb: u64) -> [f64; 2] {
        let count = self.arrived_ns.len();
        let ranked = |time_ns: &dyn Fn(usize) -> f64| {
            let mut times_ns: Vec<f64> = (0..count).map(time_ns).collect();
            times_ns.sort_by(f64::total_cmp);
            times_ns[(rank_ppb * count as u64).div_ceil(1_000_000_000).max(1) as usize - 1]
        };
        let shortest_ns = ranked(&|i| self.answered_ns[i] - self.arrived_ns[i]);
        [shortest_ns, ranked(&|i| self.latest_return_ns(i) - self.earliest_start_ns(i))]
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn figures_lie_between_the_times_of_the_file_system() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "slow"));
    faulty.slow_down_all(SERVICE);
    for (depth, count) in [(1, 200), (8, 1200)] {
        let words = format!("-d60 -W0 -C0 -b4K -r -Su -L --max-ios={count} --json r.json -t1 -o{depth}");
        let began = Instant::now();
        let run = place.diskspd(&words).arg(&faulty.file).run();
        run.expect_status(0);
        let served = Served::from_reads(&faulty.take_slow_reads(), began, depth);
        assert_eq!(served.arrived_ns.len(), count, "{run}");
        let document: Value = place.json("r.json");
        let measured = &document["time_spans"][0]["measured"];

        // As many in parallel as requested, never more.
        let is_full = |k: usize| served.arrived_ns[k + depth - 1] < served.answered_ns[k];
        assert!((0..=count - depth).any(is_full), "{depth}");
        let never_more = |k: usize| served.arrived_ns[k] >= served.earliest_start_ns(k);
        assert!((0..count).all(never_more), "{depth}");

        let latency = &measured["total_latency"]["total"];
        let mean_ns = number(&latency["figures"]["mean_ns"]);
        let [low_ns, high_ns] = served.mean_bounds_ns();
        assert!((low_ns..=high_ns).contains(&mean_ns), "depth {depth}: mean {mean_ns}, {low_ns} to {high_ns}");
        assert!(number(&latency["figures"]["min_ns"]) >= SERVICE.as_nanos() as f64, "{run}");

        for percentile in latency["percentiles"].as_array().expect("a list") {
            let rank_ppb = percentile["rank_ppb"].as_u64().expect("a rank");
            let value_ns = number(&percentile["value_ns"]);
            let [low_ns, high_ns] = if depth == 1 {
                served.percentile_bounds_ns(rank_ppb)
            } else {
                [SERVICE.as_nanos() as f64, f64::INFINITY]
            };
            // The upper edge of a bucket, which is a 1024th wide.
            let high_ns = high_ns * (1.0 + 1.0 / 1024.0) + 1.0;
            assert!((low_ns..=high_ns).contains(&value_ns), "{rank_ppb}: {value_ns}, {low_ns} to {high_ns}");
        }

        // From before the first arrival until after the last reply, and within the life of the program.
        let iops = number(&measured["total"]["total"]["iops"]);
        let shortest_s = (served.answered_ns[count - 1] - served.arrived_ns[0]) / 1e9;
        let [low, high] = [served.end_ns / 1e9, shortest_s].map(|seconds| count as f64 / seconds);
        assert!((low..=high).contains(&iops), "depth {depth}: {iops} IOPS, {low} to {high}");
        assert!(iops <= depth as f64 / SERVICE.as_secs_f64(), "depth {depth}: {iops} IOPS");
    }
}
