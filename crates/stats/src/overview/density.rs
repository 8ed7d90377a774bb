//! How latencies are distributed, in bins that are equally wide on a logarithmic scale.

use hot::buckets;

/// Bins in which a latency doubles. Buckets of 8 ns and below would leave empty bins between them.
const BINS_PER_OCTAVE: f64 = 8.0;

/// The I/Os whose latency lies between two edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Lower edge in nanoseconds.
    pub low_ns: f64,
    /// Upper edge.
    pub high_ns: f64,
    /// I/Os.
    pub count: u64,
    /// Their share of all I/Os of the distribution in percent.
    pub percent: f64,
}

/// Bins from the smallest latency to the largest, empty ones between them included; none without buckets
/// (index in `hot::buckets`, count).
pub fn density(counted: &[(u32, u64)]) -> Vec<Bin> {
    let known = || counted.iter().filter(|(index, count)| (*index as usize) < buckets::BUCKET_COUNT && *count > 0);
    let all: u64 = known().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let (Some(first), Some(last)) =
        (known().map(|(index, _)| bin_of(*index)).min(), known().map(|(index, _)| bin_of(*index)).max())
    else {
        return Vec::new();
    };
    let mut counts = vec![0u64; last - first + 1];
    for (index, count) in known() {
        let bin = &mut counts[bin_of(*index) - first];
        *bin = bin.saturating_add(*count);
    }
    let bin = |(offset, count): (usize, u64)| Bin {
        low_ns: edge_ns(first + offset),
        high_ns: edge_ns(first + offset + 1),
        count,
        percent: count as f64 / all as f64 * 100.0,
    };
    counts.into_iter().enumerate().map(bin).collect()
}

/// The bin of a bucket's lower edge. Latencies below 1 ns count as 1 ns.
fn bin_of(index: u32) -> usize {
    let low_ns = buckets::lower_edge_ns(index as usize).max(1);
    ((low_ns as f64).log2() * BINS_PER_OCTAVE + 1e-9) as usize
}

fn edge_ns(bin: usize) -> f64 {
    (bin as f64 / BINS_PER_OCTAVE).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_io_is_in_the_bin_of_its_latency() {
        let bucket = |ns| buckets::index(ns) as u32;
        let bins = density(&[(bucket(1024), 3), (bucket(1025), 1), (bucket(2048), 4)]);
        assert_eq!(bins.len(), 9, "an octave and the first bin of the next");
        assert_eq!((bins[0].count, bins[8].count), (4, 4));
        assert!((bins[0].low_ns - 1024.0).abs() < 1e-6 && (bins[8].low_ns - 2048.0).abs() < 1e-6);
        assert!((bins[0].percent - 50.0).abs() < 1e-9 && bins[3].percent.abs() < 1e-9);
    }

    #[test]
    fn nothing_and_nonsense_have_no_bins() {
        assert_eq!(density(&[]), []);
        assert_eq!(density(&[(u32::MAX, 5), (7, 0)]), []);
        assert_eq!(density(&[(0, 1)]).len(), 1);
    }
}
