//! The slowest I/Os by the stall that they waited in.

use model::operation::Operation;
use model::record::SlowIo;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Slow I/Os that were all outstanding at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the first of them began, in nanoseconds since the start of the measurement; below 0 if before it.
    pub began_at_ns: i128,
    /// When the last of them ended.
    pub ended_at_ns: u64,
    /// The longest latency among them, in nanoseconds.
    pub longest_ns: u64,
    /// Reads.
    pub reads: usize,
    /// Writes.
    pub writes: usize,
    /// Discards and write-zeroes.
    pub without_data: usize,
    /// Numbers of the threads that waited.
    pub threads: BTreeSet<u32>,
    /// Indexes of the targets that were waited for.
    pub targets: BTreeSet<usize>,
}

impl Stall {
    /// All of them.
    pub fn ios(&self) -> usize {
        self.reads + self.writes + self.without_data
    }

    fn from_ios(ios: &[&SlowIo]) -> Option<Self> {
        let count_of = |operation| ios.iter().filter(|io| io.operation() == operation).count();
        let (reads, writes) = (count_of(Operation::Read), count_of(Operation::Write));
        Some(Self {
            began_at_ns: ios.iter().map(|io| began_at_ns(io)).min()?,
            ended_at_ns: ios.iter().map(|io| io.ended_at_ns).max()?,
            longest_ns: ios.iter().map(|io| io.latency_ns).max()?,
            reads,
            writes,
            without_data: ios.len() - reads - writes,
            threads: ios.iter().map(|io| io.thread).collect(),
            targets: ios.iter().map(|io| io.target).collect(),
        })
    }
}

/// Groups I/Os that were outstanding together at one moment: first those of the moment with most of them, then the same
/// with the others; the stall with the longest latency first. An I/O that waited alone is a stall of one.
pub fn stalls(ios: &[SlowIo]) -> Vec<Stall> {
    let mut left: Vec<&SlowIo> = ios.iter().collect();
    let mut stalls = Vec::new();
    // The number of I/Os outstanding is largest when one of them has just begun; of equal ones, the first.
    let outstanding = |at_ns: i128, ios: &[&SlowIo]| ios.iter().filter(|io| is_outstanding(io, at_ns)).count();
    let preferred = |at_ns: &i128, ios: &[&SlowIo]| (outstanding(*at_ns, ios), Reverse(*at_ns));
    while let Some(at_ns) = left.iter().map(|io| began_at_ns(io)).max_by_key(|at_ns| preferred(at_ns, &left)) {
        let (together, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|io| is_outstanding(io, at_ns));
        stalls.extend(Stall::from_ios(&together));
        left = others;
    }
    stalls.sort_by_key(|stall| Reverse(stall.longest_ns));
    stalls
}

fn is_outstanding(io: &SlowIo, at_ns: i128) -> bool {
    // One without a latency, too, when it began.
    began_at_ns(io) == at_ns || (began_at_ns(io)..i128::from(io.ended_at_ns)).contains(&at_ns)
}

fn began_at_ns(io: &SlowIo) -> i128 {
    i128::from(io.ended_at_ns) - i128::from(io.latency_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(began_at_ns: u64, ended_at_ns: u64, thread: u32) -> SlowIo {
        SlowIo {
            ended_at_ns,
            latency_ns: ended_at_ns - began_at_ns,
            thread,
            target: 0,
            is_write: thread == 1,
            operation: None,
            offset_bytes: 0,
            size_bytes: 4096,
        }
    }

    #[test]
    fn ios_that_waited_together_are_one_stall() {
        let found = stalls(&[io(100, 900, 0), io(110, 905, 1), io(800, 899, 0), io(899, 950, 0)]);
        assert_eq!(found.len(), 2, "the last began when another had ended: {found:?}");
        let Stall { began_at_ns, ended_at_ns, longest_ns, reads, writes, threads, .. } = &found[0];
        assert_eq!((*began_at_ns, *ended_at_ns, *longest_ns, *reads, *writes), (100, 905, 800, 2, 1));
        assert_eq!(threads.iter().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!((found[1].ios(), found[1].longest_ns), (1, 51));
    }

    #[test]
    fn a_queue_that_is_always_full_is_no_single_stall() {
        let ios: Vec<SlowIo> = (0..50).map(|k| io(k * 10, k * 10 + 25, 0)).collect();
        let found = stalls(&ios);
        assert!(found.len() > 10 && found.iter().all(|stall| stall.ended_at_ns - stall.longest_ns < 1000));
        assert_eq!(found.iter().map(Stall::ios).sum::<usize>(), 50);
    }

    #[test]
    fn an_io_may_have_begun_before_the_measurement() {
        let early = SlowIo { latency_ns: 500, ..io(0, 100, 0) };
        assert_eq!(stalls(&[early])[0].began_at_ns, -400);
        assert_eq!(stalls(&[]), []);
    }
}
