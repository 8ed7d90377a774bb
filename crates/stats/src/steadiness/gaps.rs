//! Times without a single completion.

use model::change::CompletionGap;

/// The shortest gap that counts.
const GAP_MIN_NS: u64 = 500_000_000;
/// From here on a gap is long.
const LONG_NS: u64 = 1_000_000_000;
/// I/Os that the rest of the series leads to expect in a long gap, at least: a slow target is no stalled one.
const EXPECTED_MIN: f64 = 10.0;
/// The same in a shorter gap: at random times, none of 20 I/Os completes once in 5e8 times.
const EXPECTED_IN_SHORT_MIN: f64 = 20.0;

/// The gaps of a series, in the order of time.
pub(crate) fn gaps(ios: &[f64], cell_ns: u64) -> Vec<CompletionGap> {
    let mut gaps: Vec<CompletionGap> = Vec::new();
    let mut begin = 0;
    for run in ios.chunk_by(|a, b| (*a == 0.0) == (*b == 0.0)) {
        let end = begin + run.len();
        let gap = CompletionGap { start_ns: begin as u64 * cell_ns, end_ns: end as u64 * cell_ns };
        // Without a warm-up, the first I/Os of a deep queue are still on their way.
        let min_ns = if begin == 0 { LONG_NS } else { GAP_MIN_NS };
        if run[0] == 0.0 && gap.length_ns() >= min_ns {
            gaps.push(gap);
        }
        begin = end;
    }
    let (all, whole_ns) = (ios.iter().sum::<f64>(), ios.len() as u64 * cell_ns);
    gaps.retain(|gap| {
        let rest_ns = whole_ns.saturating_sub(gap.length_ns()) as f64;
        let expected_min = if gap.length_ns() >= LONG_NS { EXPECTED_MIN } else { EXPECTED_IN_SHORT_MIN };
        all * gap.length_ns() as f64 >= expected_min * rest_ns && all > 0.0
    });
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL_NS: u64 = 100_000_000;

    fn found(cells: &[f64]) -> Vec<(u64, u64)> {
        gaps(cells, CELL_NS).into_iter().map(|gap| (gap.start_ns / CELL_NS, gap.length_ns() / CELL_NS)).collect()
    }

    #[test]
    fn half_a_second_without_completions_is_a_gap_and_a_second_at_the_start() {
        let with_gaps = |first: usize, ios: f64| {
            let mut cells = vec![ios; 100];
            cells[..first].fill(0.0);
            cells[40..44].fill(0.0);
            cells[50..59].fill(0.0);
            cells[75..].fill(0.0);
            found(&cells)
        };
        assert_eq!(with_gaps(9, 8.0), [(50, 9), (75, 25)], "400 ms are none");
        assert_eq!(with_gaps(10, 8.0), [(0, 10), (50, 9), (75, 25)]);
        assert_eq!(with_gaps(0, 2.0), [(75, 25)], "too few I/Os to tell for less than a second");
    }

    #[test]
    fn a_slow_target_has_no_gaps() {
        // An I/O every 1.5 s: each gap is as long as the I/O.
        let slow: Vec<f64> = (0..300).map(|cell| if cell % 15 == 0 { 1.0 } else { 0.0 }).collect();
        assert_eq!(found(&slow), []);
        assert_eq!(found(&[0.0; 100]), [], "nothing completed at all");
        assert_eq!(found(&[]), []);
    }
}
