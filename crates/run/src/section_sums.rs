//! Sections of all workers together, on the control thread.

use crate::recorder::Recorder;
use crate::sections::{SectionPart, SidePart};
use model::operation::ByOperation;
use model::plan::Intervals;
use model::record::{SectionCounts, SectionRecord};

/// The sections of a measurement, as far as they are known.
#[derive(Debug)]
pub(crate) struct SectionSums {
    parts: Intervals,
    sections: Vec<Section>,
}

#[derive(Clone, Debug, Default)]
struct Section {
    /// A worker could not tell it from the one before.
    is_joined: bool,
    /// By operation.
    sides: ByOperation<SectionCounts>,
    /// Response times in an open loop.
    response: SectionCounts,
}

impl SectionSums {
    pub(crate) fn new(parts: Intervals) -> Self {
        Self { parts, sections: Vec::new() }
    }

    /// Adds what a worker has closed.
    pub(crate) fn take_from(&mut self, recorder: &Recorder) {
        while let Some(part) = recorder.take_section() {
            self.add(&part);
        }
    }

    /// Adds what a worker did in a section.
    pub(crate) fn add(&mut self, part: &SectionPart) {
        if part.sides.iter().all(|side| side.tally.count == 0) {
            return;
        }
        let (first, last) = (part.first as usize, part.last as usize);
        if self.sections.len() <= last {
            self.sections.resize_with(last + 1, Section::default);
        }
        for section in &mut self.sections[first + 1..=last] {
            section.is_joined = true;
        }
        for (sum, side) in self.sections[first].sides.0.iter_mut().zip(part.sides.iter()) {
            add(sum, side);
        }
        if let Some(response) = &part.response {
            add(&mut self.sections[first].response, response);
        }
    }

    /// The sections of `elapsed_ns` nanoseconds.
    pub(crate) fn records(mut self, elapsed_ns: u64) -> Vec<SectionRecord> {
        let width_ns = self.parts.width_ns;
        let count = if width_ns == 0 { 0 } else { elapsed_ns.div_ceil(width_ns) };
        self.sections.resize_with(count.min(self.parts.count) as usize, Section::default);
        let mut records: Vec<SectionRecord> = Vec::new();
        for (start_ns, section) in (0..).step_by(width_ns.max(1) as usize).zip(self.sections) {
            let end_ns = (start_ns + width_ns).min(elapsed_ns);
            let ByOperation([read, write, ..]) = section.sides;
            match records.last_mut().filter(|_| section.is_joined) {
                Some(before) => {
                    before.end_ns = end_ns;
                    merge(&mut before.read, &read);
                    merge(&mut before.write, &write);
                    merge(&mut before.response, &section.response);
                }
                None => records.push(SectionRecord { start_ns, end_ns, read, write, response: section.response }),
            }
        }
        records
    }
}

fn add(sum: &mut SectionCounts, side: &SidePart) {
    sum.tally.merge(&side.tally);
    sum.bytes += side.bytes;
    sum.histogram = sum.histogram.plus(side.buckets.iter().copied());
}

fn merge(sum: &mut SectionCounts, other: &SectionCounts) {
    sum.tally.merge(&other.tally);
    sum.bytes += other.bytes;
    sum.histogram = sum.histogram.plus(other.histogram.iter());
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Tally;

    fn part(first: u64, last: u64, bucket: u32) -> SectionPart {
        let tally = Tally { count: 2, sum_ns: 10, min_ns: 5, max_ns: 5, ..Tally::default() };
        let read = SidePart { tally, bytes: 512, buckets: vec![(bucket, 2)] };
        let sides = ByOperation([read, SidePart::default(), SidePart::default(), SidePart::default()]);
        SectionPart { first, last, sides, response: None }
    }

    /// Start, end and buckets of the reads of a section.
    type SectionReads = (u64, u64, Vec<(u32, u64)>);

    fn merged_reads(parts: &[SectionPart], elapsed_ns: u64) -> Vec<SectionReads> {
        let mut sums = SectionSums::new(Intervals { width_ns: 100, count: 10 });
        for part in parts {
            sums.add(part);
        }
        let records = sums.records(elapsed_ns);
        records.iter().map(|one| (one.start_ns, one.end_ns, one.read.histogram.iter().collect())).collect()
    }

    #[test]
    fn workers_add_up_in_any_order() {
        let expected = vec![(0, 100, vec![(3, 2)]), (100, 200, vec![]), (200, 250, vec![(3, 2), (7, 4)])];
        assert_eq!(merged_reads(&[part(0, 0, 3), part(2, 2, 7), part(2, 2, 3), part(2, 2, 7)], 250), expected);
        assert_eq!(merged_reads(&[part(2, 2, 7), part(2, 2, 7), part(0, 0, 3), part(2, 2, 3)], 250), expected);
    }

    #[test]
    fn what_one_worker_could_not_tell_apart_is_one_section() {
        let expected = vec![(0, 100, vec![(1, 2)]), (100, 300, vec![(1, 2), (2, 4)]), (300, 400, vec![(1, 2)])];
        let parts = [part(0, 0, 1), part(1, 1, 1), part(2, 2, 2), part(3, 3, 1), part(1, 2, 2)];
        assert_eq!(merged_reads(&parts, 400), expected);
    }
}
