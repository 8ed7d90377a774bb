//! CPU times over the measurement, read by the control thread about once per second.

use model::record::{CpuSample, CpuTimes};

/// Interval of the readings of a short run.
const EVERY_NS: u64 = 1_000_000_000;
/// Readings that are kept; of more, every other one is dropped.
const SAMPLES_MAX: usize = 600;

/// The readings so far.
#[derive(Debug)]
pub(crate) struct CpuCourse {
    samples: Vec<CpuSample>,
    /// The last reading, of each CPU.
    last: Vec<CpuTimes>,
    every_ns: u64,
}

impl CpuCourse {
    /// The measurement begins with these times.
    pub(crate) fn begin(times: &[CpuTimes]) -> Self {
        Self { samples: vec![CpuSample::default()], last: times.to_vec(), every_ns: EVERY_NS }
    }

    /// True if it is time for the next reading; `at_ns` counts from the beginning.
    pub(crate) fn is_due(&self, at_ns: u64) -> bool {
        self.samples.last().is_none_or(|last| at_ns >= last.at_ns + self.every_ns)
    }

    /// The times now.
    pub(crate) fn add(&mut self, at_ns: u64, times: &[CpuTimes]) {
        let mut sample = CpuSample { at_ns, ..self.samples.last().copied().unwrap_or_default() };
        // CPU by CPU: one that comes or goes takes no part.
        for spent in CpuTimes::spent(&self.last, times) {
            sample.user += spent.user;
            sample.kernel += spent.kernel;
            sample.idle += spent.idle;
            sample.steal += spent.steal;
        }
        self.last = times.to_vec();
        self.samples.push(sample);
        if self.samples.len() > SAMPLES_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_ns *= 2;
        }
    }

    /// The measurement ends with these times. A short rest belongs to the part before it: few ticks tell no shares.
    pub(crate) fn end(mut self, at_ns: u64, times: &[CpuTimes]) -> Vec<CpuSample> {
        self.add(at_ns, times);
        if let [_, .., last, _] = &self.samples[..]
            && at_ns.saturating_sub(last.at_ns) < self.every_ns / 2
        {
            self.samples.remove(self.samples.len() - 2);
        }
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cpu: u32, user: u64, idle: u64) -> CpuTimes {
        CpuTimes { cpu, user, idle, ..CpuTimes::default() }
    }

    #[test]
    fn parts_are_seconds_and_a_short_rest_is_none() {
        let mut course = CpuCourse::begin(&[times(0, 100, 0), times(1, 0, 0)]);
        assert!(!course.is_due(EVERY_NS - 1) && course.is_due(EVERY_NS));
        course.add(EVERY_NS, &[times(0, 150, 50), times(1, 0, 100)]);
        // A CPU that goes offline takes nothing back.
        course.add(2 * EVERY_NS, &[times(0, 250, 50)]);
        let found = course.end(2 * EVERY_NS + 30_000_000, &[times(0, 253, 50)]);
        let seen: Vec<(u64, u64, u64)> = found.iter().map(|sample| (sample.at_ns, sample.user, sample.idle)).collect();
        assert_eq!(seen, [(0, 0, 0), (EVERY_NS, 50, 150), (2 * EVERY_NS + 30_000_000, 153, 150)]);
    }

    #[test]
    fn a_run_that_ends_at_once_has_one_part() {
        let found = CpuCourse::begin(&[times(0, 0, 0)]).end(300_000_000, &[times(0, 30, 0)]);
        assert_eq!((found.len(), found[1].at_ns, found[1].user), (2, 300_000_000, 30));
    }

    #[test]
    fn long_runs_have_wider_parts() {
        let mut course = CpuCourse::begin(&[times(0, 0, 0)]);
        for second in 1..=2000u64 {
            let at_ns = second * EVERY_NS;
            if course.is_due(at_ns) {
                course.add(at_ns, &[times(0, second * 100, 0)]);
            }
        }
        let found = course.end(2001 * EVERY_NS, &[times(0, 200_100, 0)]);
        assert!((SAMPLES_MAX / 2 - 1..=SAMPLES_MAX).contains(&found.len()), "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns), "in order");
        assert!(found.iter().all(|sample| sample.user * EVERY_NS == sample.at_ns * 100), "nothing is lost");
    }
}
