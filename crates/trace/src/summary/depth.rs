//! Outstanding requests over time.

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Outstanding requests that are counted at most.
const DEPTH_MAX: usize = 65_536;

/// Outstanding requests, weighted by time; times without any count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Depth {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u32,
    /// 99th percentile.
    pub p99: u32,
    /// Maximum.
    pub max: u32,
    /// Share of the time without any, from 0 to 1.
    pub idle: f64,
}

#[derive(Debug, Default)]
pub(super) struct DepthCounter {
    completions_ns: BinaryHeap<Reverse<u64>>,
    /// Nanoseconds by depth.
    times_ns: Vec<u64>,
    now_ns: u64,
    requests: u64,
}

impl DepthCounter {
    /// Adds a request; they come in order of their issue.
    pub(super) fn add(&mut self, issue_ns: u64, latency_ns: u64) {
        if self.requests == 0 {
            self.now_ns = issue_ns;
        }
        self.requests += 1;
        self.advance(issue_ns);
        if self.completions_ns.len() < DEPTH_MAX {
            self.completions_ns.push(Reverse(issue_ns.saturating_add(latency_ns)));
        }
    }

    fn advance(&mut self, to_ns: u64) {
        while let Some(&Reverse(completion_ns)) = self.completions_ns.peek()
            && completion_ns <= to_ns
        {
            self.spend(completion_ns);
            self.completions_ns.pop();
        }
        self.spend(to_ns);
    }

    fn spend(&mut self, to_ns: u64) {
        let depth = self.completions_ns.len();
        if depth >= self.times_ns.len() {
            self.times_ns.resize(depth + 1, 0);
        }
        self.times_ns[depth] += to_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(to_ns);
    }

    /// The figures up to the last issue: nothing is known of what would have been issued after it.
    pub(super) fn finish(self) -> Option<Depth> {
        let all: u128 = self.times_ns.iter().map(|&ns| u128::from(ns)).sum();
        if all == 0 {
            return None;
        }
        let weighted: f64 = self.times_ns.iter().enumerate().map(|(depth, &ns)| depth as f64 * ns as f64).sum();
        let percentile = |percent: u128| {
            let mut below = 0;
            let is_reached = |&ns: &u64| {
                below += u128::from(ns);
                below * 100 >= all * percent
            };
            self.times_ns.iter().position(is_reached).unwrap_or(0) as u32
        };
        Some(Depth {
            mean: weighted / all as f64,
            p50: percentile(50),
            p99: percentile(99),
            max: self.times_ns.iter().rposition(|&ns| ns > 0).unwrap_or(0) as u32,
            idle: self.times_ns.first().map_or(0.0, |&ns| ns as f64 / all as f64),
        })
    }
}
