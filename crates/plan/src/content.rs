//! Content of writes and of created files.

use crate::alignment::Alignment;
use model::facts::Fill;
use model::operation::Operation;
use model::plan::{Content, WriteSourcePlan};
use model::profile::{Target, TimeSpan};

/// Pieces of a `-Z<size>` source start at multiples of this if the cache is off, as in `DiskSpd`.
const DIRECT_SOURCE_STEP_BYTES: u64 = 512;

/// Content of writes: `-Z<size>` before `-Z` before `-Zr` before the pattern; reducible data excludes the others.
pub(crate) fn content(time_span: &TimeSpan, target: &Target) -> Content {
    if let Some(reduction) = target.reduction() {
        Content::Reducible(reduction)
    } else if target.write_source.is_some() {
        Content::Source
    } else if target.zero_write_buffers {
        Content::Zero
    } else if time_span.random_write_data {
        Content::RandomEach
    } else if time_span.verify {
        Content::Verified
    } else {
        Content::Ramp
    }
}

/// Content of a target after the threads' I/Os.
pub(crate) fn left(time_span: &TimeSpan, target: &Target) -> Fill {
    let shares = target.shares();
    let is_verified = time_span.verify && shares.does(Operation::Write);
    if is_verified || shares.does(Operation::Discard) || shares.does(Operation::WriteZeroes) {
        Fill::Mixed
    } else {
        fill(time_span, target)
    }
}

/// Initial content of a created file: like the later writes to it.
pub(crate) fn fill(time_span: &TimeSpan, target: &Target) -> Fill {
    match content(time_span, target) {
        Content::Source | Content::RandomEach => Fill::Random,
        Content::Zero => Fill::Zero,
        Content::Ramp | Content::Verified => Fill::Ramp,
        Content::Reducible(reduction) => Fill::Reducible(reduction),
    }
}

/// The source buffer of `-Z<size>`, if any I/O will use it.
pub(crate) fn write_source(target: &Target, direct: Option<Alignment>) -> Option<WriteSourcePlan> {
    let source = target.write_source.as_ref().filter(|_| target.shares().does(Operation::Write))?;
    let step_bytes = direct.map_or(1, |needed| DIRECT_SOURCE_STEP_BYTES.max(needed.memory_bytes));
    Some(WriteSourcePlan { size_bytes: source.size.get(), file: source.file.clone(), step_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Reduction, WriteSource};
    use model::units::Bytes;

    #[test]
    fn the_first_setting_in_the_order_of_precedence_wins() {
        let source = Some(WriteSource { size: Bytes(1 << 20), file: None });
        for (with_source, zero, random, expected, filled) in [
            (true, true, true, Content::Source, Fill::Random),
            (true, false, false, Content::Source, Fill::Random),
            (false, true, true, Content::Zero, Fill::Zero),
            (false, true, false, Content::Zero, Fill::Zero),
            (false, false, true, Content::RandomEach, Fill::Random),
            (false, false, false, Content::Ramp, Fill::Ramp),
        ] {
            let time_span = TimeSpan { random_write_data: random, ..TimeSpan::default() };
            let mut target = Target::new("a");
            target.zero_write_buffers = zero;
            target.write_source = source.clone().filter(|_| with_source);
            assert_eq!(content(&time_span, &target), expected);
            assert_eq!(fill(&time_span, &target), filled);
        }
    }

    #[test]
    fn what_reduces_is_created_as_it_is_written() {
        let mut target = Target::new("a");
        target.dedupe_percent = Some(30);
        let reduction = Reduction { dedupe_percent: 30, ..Reduction::NONE };
        assert_eq!(content(&TimeSpan::default(), &target), Content::Reducible(reduction));
        assert_eq!(fill(&TimeSpan::default(), &target), Fill::Reducible(reduction));
    }

    #[test]
    fn pieces_of_a_source_start_where_direct_io_allows_it() {
        let mut target = Target::new("a");
        target.write_source = Some(WriteSource { size: Bytes(1 << 20), file: None });
        assert_eq!(write_source(&target, None), None, "nothing is written");
        target.write_percent = 1;
        let step = |direct| write_source(&target, direct).map(|source| source.step_bytes);
        assert_eq!(step(None), Some(1));
        assert_eq!(step(Some(Alignment { memory_bytes: 4, offset_bytes: 512 })), Some(512));
        assert_eq!(step(Some(Alignment { memory_bytes: 4096, offset_bytes: 4096 })), Some(4096));
    }
}
