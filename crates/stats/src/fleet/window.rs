//! The time in which all hosts measured, and their I/Os in it.

use super::axis::HostAxis;
use model::fleet::CommonWindow;
use model::result::Measured;

/// The common window with the reads and writes in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// Where it begins on the axis.
    pub(super) start_ns: i64,
    pub(super) length_ns: u64,
    uncertainty_ns: Option<u64>,
    pub(super) read: Amounts,
    pub(super) write: Amounts,
    /// I/Os that may be wrongly in it or out of it.
    unsure_ios: f64,
}

/// I/Os and bytes completed in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amounts {
    pub(super) ios: f64,
    pub(super) bytes: f64,
}

impl Window {
    /// `None` if there is no time in which all of them measured.
    pub(super) fn from_hosts(hosts: &[(HostAxis, &Measured)]) -> Option<Self> {
        let start_ns = hosts.iter().map(|(axis, _)| axis.begins_ns).max()?;
        let end_ns = hosts.iter().map(|(axis, _)| axis.ends_ns()).min()?;
        let length_ns = u64::try_from(end_ns.checked_sub(start_ns)?).ok().filter(|length_ns| *length_ns > 0)?;
        // One host's window is its own measurement, whatever its clock.
        let of_clock = |axis: &HostAxis| if hosts.len() > 1 { axis.uncertainty_ns } else { Some(0) };
        let known: Option<Vec<u64>> = hosts.iter().map(|(axis, _)| of_clock(axis)).collect();
        let uncertainty_ns = known.and_then(|known| known.into_iter().max());
        let (mut read, mut write, mut unsure_ios) = (Amounts::default(), Amounts::default(), 0.0);
        for (axis, measured) in hosts {
            let Measured { series, total, elapsed_ns, .. } = *measured;
            let (from_ns, to_ns) = (axis.since_start_ns(start_ns), axis.since_start_ns(end_ns));
            // The end may be set by another host, whose clock is unsure, too.
            let unsure_ns = of_clock(axis).zip(uncertainty_ns).map_or(0, |(own, most)| own.saturating_add(most));
            for (amounts, counts, figures) in
                [(&mut read, &series.read, &total.read), (&mut write, &series.write, &total.write)]
            {
                let course = |cells, total| CumulativeCounts {
                    width_ns: series.width_ns,
                    cells,
                    total,
                    elapsed_ns: *elapsed_ns,
                };
                let (ios, bytes) = (course(&counts.ios, figures.ios), course(&counts.bytes, figures.bytes));
                amounts.ios += ios.before(to_ns) - ios.before(from_ns);
                amounts.bytes += bytes.before(to_ns) - bytes.before(from_ns);
                unsure_ios += ios.unsure(from_ns, unsure_ns) + ios.unsure(to_ns, unsure_ns);
            }
        }
        Some(Self { start_ns, length_ns, uncertainty_ns, read, write, unsure_ios })
    }

    /// The window in the form of results.
    pub(super) fn in_common_window(&self, planned_start_ns: Option<i64>) -> CommonWindow {
        let known = planned_start_ns.filter(|_| self.uncertainty_ns.is_some());
        let (ios, seconds) = (self.read.ios + self.write.ios, self.length_ns as f64 / 1e9);
        // Both ends may be off: so may be the length.
        let of_length = 2.0 * self.uncertainty_ns.unwrap_or(0) as f64 / self.length_ns as f64;
        CommonWindow {
            start_ns: known.map(|planned_ns| self.start_ns.saturating_sub(planned_ns)),
            length_ns: self.length_ns,
            uncertainty_ns: self.uncertainty_ns,
            ios,
            bytes: self.read.bytes + self.write.bytes,
            iops_uncertainty: (self.unsure_ios + ios * of_length) / seconds,
        }
    }
}

/// I/Os or bytes that a host had completed by a time: evenly within each part of its series, and in the rest after the
/// last whole part.
struct CumulativeCounts<'a> {
    width_ns: u64,
    cells: &'a [u64],
    total: u64,
    elapsed_ns: u64,
}

/// A part of a course.
struct Piece {
    /// Completed before it.
    before: u64,
    /// Completed in it.
    count: u64,
    length_ns: u64,
    /// How much of it lies before the time in question, from 0 to 1.
    passed: f64,
}

impl CumulativeCounts<'_> {
    /// The part that a time within the measurement lies in.
    fn piece(&self, at_ns: i64) -> Piece {
        let at_ns = u64::try_from(at_ns).unwrap_or(0).min(self.elapsed_ns);
        let index =
            at_ns.checked_div(self.width_ns).and_then(|index| usize::try_from(index).ok()).unwrap_or(usize::MAX);
        let sum = |cells: &[u64]| cells.iter().copied().fold(0, u64::saturating_add);
        let (before, count, start_ns, length_ns) = if let Some(&count) = self.cells.get(index) {
            (sum(&self.cells[..index]), count, index as u64 * self.width_ns, self.width_ns)
        } else {
            let start_ns = (self.cells.len() as u64).saturating_mul(self.width_ns);
            let before = sum(self.cells).min(self.total);
            (before, self.total - before, start_ns, self.elapsed_ns.saturating_sub(start_ns))
        };
        let passed_ns = at_ns.saturating_sub(start_ns) as f64;
        Piece { before, count, length_ns, passed: if length_ns > 0 { passed_ns / length_ns as f64 } else { 0.0 } }
    }

    /// The amount completed before a time.
    fn before(&self, at_ns: i64) -> f64 {
        let Piece { before, count, passed, .. } = self.piece(at_ns);
        before as f64 + passed * count as f64
    }

    /// How far [`before`](Self::before) may be off if the time is only known to `unsure_ns`: within a part, no time
    /// has more than twice as many as its share, and what then can be on either side is random.
    fn unsure(&self, at_ns: i64, unsure_ns: u64) -> f64 {
        let per_ns = |at_ns: i64| {
            let piece = self.piece(at_ns);
            if piece.length_ns > 0 { piece.count as f64 / piece.length_ns as f64 } else { 0.0 }
        };
        let around = [at_ns.saturating_sub_unsigned(unsure_ns), at_ns, at_ns.saturating_add_unsigned(unsure_ns)];
        let of_clock = 2.0 * unsure_ns as f64 * around.into_iter().map(per_ns).fold(0.0, f64::max);
        let Piece { count, passed, .. } = self.piece(at_ns);
        let expected = of_clock + passed.min(1.0 - passed) * count as f64;
        expected + 3.0 * expected.sqrt()
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the figures compared are exact")]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_series_have_their_share() {
        let course = CumulativeCounts { width_ns: 100, cells: &[10, 30], total: 50, elapsed_ns: 240 };
        let before = |at_ns| course.before(at_ns);
        assert_eq!(
            [-5, 0, 50, 100, 110, 200, 220, 240, 999].map(before),
            [0.0, 0.0, 5.0, 10.0, 13.0, 40.0, 45.0, 50.0, 50.0]
        );
        assert_eq!(course.unsure(100, 0), 0.0);
        assert_eq!(course.unsure(240, 0), 0.0);
        // 3 of 30, and twice the 5 ns of 0.3 per ns.
        let expected: f64 = 3.0 + 2.0 * 5.0 * 0.3;
        assert!((course.unsure(110, 5) - expected - 3.0 * expected.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn without_a_series_the_rate_is_that_of_the_whole() {
        let course = CumulativeCounts { width_ns: 0, cells: &[], total: 50, elapsed_ns: 100 };
        assert_eq!([0, 10, 100].map(|at_ns| course.before(at_ns)), [0.0, 5.0, 50.0]);
    }
}
