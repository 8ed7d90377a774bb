//! Completeness of the data of runs on a target, where no map has the expected content of each place.
//!
//! Each unit holds the number of units of the target that its run had written by then. If fewer are present, the rest
//! was overwritten by a later run, or is lost. Its place in the target is not known.

use crate::check::is_zero;
use crate::run_number::is_later;
use crate::unit::{Erases, Header};
use std::collections::BTreeMap;

/// The units of runs on a target, and the bytes that belong to none.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By run, number of the target in it, and size of a unit.
    written: BTreeMap<(u64, u32, u16), RunUnits>,
    zero_bytes: u64,
    strange_bytes: u64,
}

/// The units of one run.
#[derive(Clone, Copy, Debug, Default)]
struct RunUnits {
    /// Intact units at their places.
    there: u64,
    /// The units that the run had written at the last of these; 0 = unknown.
    counted: u64,
    erases: bool,
}

/// Data that is missing on a target, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Units that runs wrote, that are missing, and that are more than later runs can have overwritten.
    pub missing_units: u64,
    /// Bytes without units where units may have been.
    pub unknown_bytes: u64,
}

impl Coverage {
    /// Counts an intact unit at its place.
    pub fn note_unit(&mut self, header: &Header) {
        let found = self.written.entry((header.run, header.target, header.unit_bytes)).or_default();
        found.there += 1;
        found.counted = found.counted.max(header.written_units);
        found.erases |= header.traits.erases != Erases::Never;
    }

    /// Counts bytes that belong to no intact unit at its place.
    pub fn note_rest(&mut self, bytes: &[u8]) {
        let rest = if is_zero(bytes) { &mut self.zero_bytes } else { &mut self.strange_bytes };
        *rest += bytes.len() as u64;
    }

    /// Adds the coverage of another part of the target.
    pub fn merge(&mut self, other: Self) {
        for (key, found) in other.written {
            let sum = self.written.entry(key).or_default();
            sum.there += found.there;
            sum.counted = sum.counted.max(found.counted);
            sum.erases |= found.erases;
        }
        self.zero_bytes += other.zero_bytes;
        self.strange_bytes += other.strange_bytes;
    }

    /// The gaps. In part of a target, the expected number of units is not known.
    pub fn gaps(&self, is_whole: bool) -> Gaps {
        let mut gaps = Gaps::default();
        let mut is_complete = is_whole;
        for (&(run, _, unit_bytes), found) in &self.written {
            let missing = found.counted.saturating_sub(found.there);
            is_complete &= missing == 0 && found.counted > 0;
            let later = || self.written.iter().filter(|((later, ..), _)| is_later(*later, run));
            // A smaller unit is enough to overwrite a larger one.
            let units = |bytes: u16| u64::from(bytes.max(unit_bytes) / unit_bytes.max(1));
            let overwritten: u64 = later().map(|((.., bytes), found)| units(*bytes) * found.there).sum();
            if is_whole && !later().any(|(_, found)| found.erases) {
                gaps.missing_units += missing.saturating_sub(overwritten);
            }
        }
        if !is_complete {
            let may_be_zero = self.written.values().any(|found| found.erases);
            gaps.unknown_bytes = self.strange_bytes + if may_be_zero { 0 } else { self.zero_bytes };
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Traits;
    use crate::unit::fixture::{RUN, header};

    const LATER: u64 = RUN + (5 << 20);

    /// A target with these runs: number, units present, units that the last of them counts, what it erases.
    fn target(runs: &[(u64, u64, u64, Erases)], rest: &[u8]) -> Coverage {
        let mut coverage = Coverage::default();
        for &(run, there, written, erases) in runs {
            for unit in 0..there {
                let traits = Traits { erases, ..Traits::default() };
                let written_units = written.saturating_sub(there - 1 - unit);
                let mut part = Coverage::default();
                part.note_unit(&Header { run, traits, written_units, ..header(unit, 1) });
                coverage.merge(part);
            }
        }
        coverage.note_rest(rest);
        coverage
    }

    fn gaps(missing_units: u64, unknown_bytes: u64) -> Gaps {
        Gaps { missing_units, unknown_bytes }
    }

    #[test]
    fn what_a_run_wrote_is_there_or_missing() {
        let never = Erases::Never;
        assert_eq!(target(&[(RUN, 8, 8, never)], &[7; 512]).gaps(true), gaps(0, 0), "the rest was never written");
        assert_eq!(target(&[(RUN, 7, 8, never)], &[]).gaps(true), gaps(1, 0));
        assert_eq!(target(&[(RUN, 7, 8, never)], &[0; 512]).gaps(true), gaps(1, 512));
        // In part of a target, nothing can be counted.
        assert_eq!(target(&[(RUN, 7, 8, never)], &[]).gaps(false), gaps(0, 0));
        assert_eq!(target(&[(RUN, 8, 8, never)], &[7; 512]).gaps(false), gaps(0, 512));
    }

    #[test]
    fn later_runs_may_have_overwritten_as_much_as_is_there_of_them() {
        let never = Erases::Never;
        let both = |later, rest: &[u8]| target(&[(RUN, 4, 8, never), (LATER, later, later, never)], rest).gaps(true);
        assert_eq!((both(4, &[]), both(5, &[]), both(3, &[])), (gaps(0, 0), gaps(0, 0), gaps(1, 0)));
        assert_eq!(both(4, &[7; 512]), gaps(0, 512), "it may have written elsewhere");
        let earlier = target(&[(LATER, 4, 8, never), (RUN, 4, 4, never)], &[]);
        assert_eq!(earlier.gaps(true), gaps(4, 0));
    }

    #[test]
    fn a_run_that_erases_does_not_count_and_leaves_zeros() {
        let erasing = |rest: &[u8]| target(&[(RUN, 4, 0, Erases::ToZeros)], rest).gaps(true);
        assert_eq!((erasing(&[0; 512]), erasing(&[7; 512])), (gaps(0, 0), gaps(0, 512)));
        let later = target(&[(RUN, 4, 8, Erases::Never), (LATER, 1, 0, Erases::ToZeros)], &[0; 512]);
        assert_eq!(later.gaps(true), gaps(0, 0));
        let uncounted = target(&[(RUN, 4, 0, Erases::Never)], &[0; 512]);
        assert_eq!(uncounted.gaps(true), gaps(0, 512));
    }
}
