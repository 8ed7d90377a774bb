//! Requests over time.

use model::operation::Operation;
use serde::Serialize;

/// Intervals at most; then two become one.
const INTERVALS_MAX: usize = 512;

/// Length of an interval at first, in nanoseconds.
const FIRST_WIDTH_NS: u64 = 1_000_000;

/// Reads and writes in intervals of equal length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Course {
    /// Length of an interval.
    pub interval_ns: u64,
    /// Reads and writes of each interval, by time of issue from the first request on.
    pub requests: Vec<[u64; 2]>,
}

impl Default for Course {
    fn default() -> Self {
        Self { interval_ns: FIRST_WIDTH_NS, requests: Vec::new() }
    }
}

impl Course {
    /// Adds an operation, `since_ns` after the first request.
    pub(super) fn add(&mut self, since_ns: u64, operation: Operation) {
        if !operation.transfers_data() {
            return;
        }
        while since_ns / self.interval_ns >= INTERVALS_MAX as u64 {
            self.interval_ns = self.interval_ns.saturating_mul(2);
            self.requests = self.requests.chunks(2).map(sum).collect();
        }
        let index = (since_ns / self.interval_ns) as usize;
        if index >= self.requests.len() {
            self.requests.resize(index + 1, [0; 2]);
        }
        self.requests[index][operation.index()] += 1;
    }
}

fn sum(intervals: &[[u64; 2]]) -> [u64; 2] {
    intervals.iter().fold([0; 2], |sum, interval| [sum[0] + interval[0], sum[1] + interval[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_become_longer_and_keep_their_requests() {
        let mut course = Course::default();
        for ms in 0..10_000 {
            course.add(ms * 1_000_000, if ms % 4 == 0 { Operation::Write } else { Operation::Read });
        }
        assert_eq!(course.interval_ns, 32_000_000);
        assert_eq!((course.requests.len(), course.requests[1]), (313, [24, 8]));
        assert_eq!(sum(&course.requests), [7500, 2500]);
    }
}
