//! The latency that a band judges.

use model::latency_band::BandKind;
use model::result::{RunResult, TimeSpanResult};

/// The latency of a timespan that bands of this kind judge, in nanoseconds; `None` if it was not measured.
pub fn latency_ns(span_result: &TimeSpanResult, kind: BandKind) -> Option<f64> {
    match kind {
        BandKind::Data => crate::headline(span_result)?.mean_ns,
        BandKind::Log => commit_ns(span_result),
    }
}

/// Mean time of a commit: a write, and its part of the flushes after writes.
fn commit_ns(span_result: &TimeSpanResult) -> Option<f64> {
    let measured = span_result.measured.as_ref()?;
    let writes = &measured.total.write;
    let write_ns = writes.latency.as_ref()?.mean_ns;
    let Some(flushes) = measured.flushes else { return Some(write_ns) };
    // Without a single flush nothing was committed.
    let flush_ns = flushes.latency?.mean_ns;
    // Discards and write-zeroes are flushed, too.
    let changes = writes.ios + measured.operations.iter().map(|of| of.figures.ios).sum::<u64>();
    Some(write_ns + flush_ns * flushes.count as f64 / changes.max(1) as f64)
}

/// True if the kernel reports a disk below the targets as rotational.
pub fn is_rotational(result: &RunResult) -> bool {
    let disks = result.targets.environments.values().flat_map(|environment| environment.disks());
    disks.into_iter().any(|disk| disk.queue.rotational == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures, FlushFigures, LatencyFigures};
    use model::result::Measured;

    #[test]
    fn a_commit_is_a_write_and_its_share_of_the_flushes() {
        let latency = |mean_ns| Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        let write = Figures { ios: 100, latency: latency(2e6), ..Figures::default() };
        let span = |flushes| {
            let total = Directions { write, ..Directions::default() };
            let measured = Measured { total, flushes, ..Measured::default() };
            TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }
        };
        let flushes =
            |count, latency| Some(FlushFigures { after_writes: 1, count, latency, ..FlushFigures::default() });
        assert_eq!(latency_ns(&span(None), BandKind::Log), Some(2e6));
        assert_eq!(latency_ns(&span(flushes(100, latency(3e6))), BandKind::Log), Some(5e6));
        assert_eq!(latency_ns(&span(flushes(25, latency(4e6))), BandKind::Log), Some(3e6));
        assert_eq!(latency_ns(&span(flushes(0, None)), BandKind::Log), None);
        assert_eq!(latency_ns(&TimeSpanResult::default(), BandKind::Log), None);
    }
}
