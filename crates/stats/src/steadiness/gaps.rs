//! Times without a single completion.

use model::change::CompletionGap;

/// The shortest gap that counts.
const GAP_MIN_NS: u64 = 1_000_000_000;
/// I/Os that the rest of the series leads to expect in a gap, at least: a slow target is no stalled one.
const EXPECTED_MIN: f64 = 10.0;

/// The gaps of a series, in the order of time.
pub(crate) fn gaps(ios: &[f64], cell_ns: u64) -> Vec<CompletionGap> {
    let mut gaps: Vec<CompletionGap> = Vec::new();
    let mut begin = 0;
    for run in ios.chunk_by(|a, b| (*a == 0.0) == (*b == 0.0)) {
        let end = begin + run.len();
        let gap = CompletionGap { start_ns: begin as u64 * cell_ns, end_ns: end as u64 * cell_ns };
        if run[0] == 0.0 && gap.length_ns() >= GAP_MIN_NS {
            gaps.push(gap);
        }
        begin = end;
    }
    let (all, whole_ns) = (ios.iter().sum::<f64>(), ios.len() as u64 * cell_ns);
    gaps.retain(|gap| {
        let rest_ns = whole_ns.saturating_sub(gap.length_ns()) as f64;
        all * gap.length_ns() as f64 >= EXPECTED_MIN * rest_ns && all > 0.0
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
    fn a_second_without_completions_is_a_gap_wherever_it_lies() {
        let mut cells = vec![5.0; 100];
        cells[..10].fill(0.0);
        cells[40..49].fill(0.0);
        cells[75..].fill(0.0);
        assert_eq!(found(&cells), [(0, 10), (75, 25)], "900 ms are none");
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
