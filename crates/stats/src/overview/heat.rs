//! Latency over time as a grid of counts.

use hot::buckets;
use model::course::{Section, SectionFigures};
use std::collections::BTreeMap;

/// Rows that a grid has at most; each is a half, a quarter ... of an octave, or one or more.
const ROWS_MAX: usize = 40;
/// Rows in which a latency doubles, at most.
const ROWS_PER_OCTAVE: u32 = 4;

/// Where and when latencies lay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyHeat {
    /// Where the columns begin, and the last ends, in nanoseconds since the start of the measurement.
    pub times_ns: Vec<u64>,
    /// The edges of the rows in nanoseconds of latency, ascending: equally far apart on a logarithmic scale.
    pub latencies_ns: Vec<f64>,
    /// Cells with I/Os.
    pub cells: Vec<HeatCell>,
}

/// I/Os in one column and row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// Its column.
    pub column: usize,
    /// Its row, from the lowest latency up.
    pub row: usize,
    /// I/Os that completed then and took that long.
    pub count: u64,
    /// Their share of the I/Os of the column in percent.
    pub percent: f64,
}

/// Reads and writes together, with at most `columns_max` columns. `None` without latencies.
pub fn latency_heat(sections: &[Section], columns_max: usize) -> Option<LatencyHeat> {
    let sections_each = sections.len().div_ceil(columns_max.max(1)).max(1);
    let columns: Vec<BTreeMap<u32, u64>> = sections.chunks(sections_each).map(counts).collect();
    let lowest_ns = columns.iter().filter_map(|column| column.keys().next()).min().map(|index| low_ns(*index))?;
    let highest_ns = columns.iter().filter_map(|column| column.keys().next_back()).max().map(|index| low_ns(*index))?;
    let scale = Scale::over(lowest_ns, highest_ns);
    let mut times_ns: Vec<u64> = sections.chunks(sections_each).map(|several| several[0].start_ns).collect();
    times_ns.extend(sections.last().map(|section| section.end_ns));
    let mut cells = Vec::new();
    for (column, counts) in columns.iter().enumerate() {
        let all: u64 = counts.values().copied().fold(0, u64::saturating_add);
        let mut rows = BTreeMap::<usize, u64>::new();
        for (index, count) in counts {
            let row = rows.entry(scale.row(low_ns(*index))).or_default();
            *row = row.saturating_add(*count);
        }
        let cell = |(row, count)| HeatCell { column, row, count, percent: count as f64 / all as f64 * 100.0 };
        cells.extend(rows.into_iter().map(cell));
    }
    Some(LatencyHeat { times_ns, latencies_ns: (0..=scale.rows).map(|row| scale.edge_ns(row)).collect(), cells })
}

/// I/Os of some sections by coarse bucket; buckets that do not exist are passed over.
fn counts(sections: &[Section]) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::<u32, u64>::new();
    let sides = sections.iter().flat_map(|section| [&section.read, &section.write]).flatten();
    for (index, count) in sides.flat_map(|side: &SectionFigures| side.histogram.iter()) {
        if (index as usize) < buckets::COARSE_COUNT {
            let sum = counts.entry(index).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    counts
}

/// The lower edge of a coarse bucket, at least 1 ns.
fn low_ns(coarse_index: u32) -> f64 {
    buckets::coarse_lower_edge_ns(coarse_index as usize).max(1) as f64
}

/// Rows on a logarithmic scale.
struct Scale {
    /// How many octaves a row is high.
    octaves_per_row: f64,
    /// The lower edge of the first row, in rows above 1 ns.
    first: f64,
    rows: usize,
}

impl Scale {
    fn over(lowest_ns: f64, highest_ns: f64) -> Self {
        let mut octaves_per_row = 1.0 / f64::from(ROWS_PER_OCTAVE);
        loop {
            let first = (lowest_ns.log2() / octaves_per_row + 1e-9).floor();
            let last = (highest_ns.log2() / octaves_per_row + 1e-9).floor();
            let rows = (last - first) as usize + 1;
            if rows <= ROWS_MAX {
                return Self { octaves_per_row, first, rows };
            }
            octaves_per_row *= 2.0;
        }
    }

    fn row(&self, latency_ns: f64) -> usize {
        (((latency_ns.log2() / self.octaves_per_row + 1e-9).floor() - self.first) as usize).min(self.rows - 1)
    }

    fn edge_ns(&self, row: usize) -> f64 {
        ((self.first + row as f64) * self.octaves_per_row).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::packed_counts::PackedCounts;

    fn section(start_ns: u64, latencies_ns: &[(u64, u64)]) -> Section {
        let counts = latencies_ns.iter().map(|&(ns, count)| (buckets::coarse(buckets::index(ns)) as u32, count));
        let histogram = PackedCounts::pack(counts);
        let read = Some(SectionFigures { histogram, ..SectionFigures::default() });
        Section { start_ns, end_ns: start_ns + 10, read, write: None }
    }

    #[test]
    fn cells_hold_the_ios_of_their_time_and_latency() {
        let sections = [section(0, &[(1024, 3), (4096, 1)]), section(10, &[(4096, 8)])];
        let heat = latency_heat(&sections, 100).expect("there are latencies");
        assert_eq!(heat.times_ns, [0, 10, 20]);
        assert_eq!(heat.latencies_ns.len(), 10, "two octaves in quarters, and the row of 4096");
        assert!((heat.latencies_ns[0] - 1024.0).abs() < 1e-6 && (heat.latencies_ns[8] - 4096.0).abs() < 1e-6);
        let cell = |column, row, count, percent| HeatCell { column, row, count, percent };
        assert_eq!(heat.cells, [cell(0, 0, 3, 75.0), cell(0, 8, 1, 25.0), cell(1, 8, 8, 100.0)]);
        let one = latency_heat(&sections, 1).expect("there are latencies");
        assert_eq!((one.times_ns, one.cells[1].count), (vec![0, 20], 9));
    }

    #[test]
    fn a_wide_range_has_higher_rows() {
        let heat = latency_heat(&[section(0, &[(1, 1), (u64::MAX, 1)])], 100).expect("there are latencies");
        assert!(heat.latencies_ns.len() <= ROWS_MAX + 1 && heat.cells.len() == 2, "{heat:?}");
        assert_eq!(heat.cells[1].row, heat.latencies_ns.len() - 2);
    }

    #[test]
    fn without_latencies_there_is_none() {
        assert_eq!(latency_heat(&[], 10), None);
        assert_eq!(latency_heat(&[Section::default()], 10), None);
    }
}
