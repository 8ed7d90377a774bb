//! Checks of a list of random ranges (`-rd`).

use crate::profile::{Distribution, DistributionRange, Target};
use crate::units::counted;

/// The first fault of the list, if it has one.
pub(super) fn fault(distribution: &Distribution, target: &Target) -> Option<String> {
    match distribution {
        Distribution::Percent(ranges) => percent_fault(ranges),
        Distribution::Absolute(ranges) => absolute_fault(ranges, target.block_size.get()),
    }
}

/// The fault of a list in percent of the target (`-rdpct`), which must cover it exactly.
fn percent_fault(ranges: &[DistributionRange]) -> Option<String> {
    let (mut io_sum, mut target_sum) = (0_u64, 0_u64);
    for range in ranges {
        let too_much = io_fault(io_sum, range);
        if too_much.is_some() {
            return too_much;
        }
        io_sum += u64::from(range.io_percent);
        if range.length > 100 - target_sum {
            return Some(format!(
                "invalid distribution (-rdpct): the ranges exceed 100% of the target ({target_sum}% so far, plus this \
                 range of {}%)",
                range.length
            ));
        }
        target_sum += range.length;
        if target_sum == 100 && io_sum < 100 {
            return Some(format!(
                "invalid distribution (-rdpct): the ranges cover the whole target but leave {}% of the I/Os unassigned",
                100 - io_sum
            ));
        }
    }
    (target_sum != 100).then(|| {
        format!(
            "invalid distribution (-rdpct): the ranges cover {target_sum}% of the target; they must cover exactly 100%"
        )
    })
}

/// The fault of a list in bytes (`-rdabs`).
fn absolute_fault(ranges: &[DistributionRange], block_bytes: u64) -> Option<String> {
    let mut io_sum = 0;
    for (index, range) in ranges.iter().enumerate() {
        let is_last = index + 1 == ranges.len();
        if range.length == 0 && !is_last {
            return Some(
                "invalid distribution (-rdabs): only the last range may have length 0, meaning the rest of the target"
                    .to_owned(),
            );
        }
        if range.length > 0 && range.length < block_bytes {
            return Some(format!(
                "invalid distribution (-rdabs): a range of {} is smaller than the block size (-b) of {block_bytes}",
                counted(range.length, "byte")
            ));
        }
        let too_much = io_fault(io_sum, range);
        if too_much.is_some() {
            return too_much;
        }
        io_sum += u64::from(range.io_percent);
    }
    None
}

fn io_fault(io_sum: u64, range: &DistributionRange) -> Option<String> {
    (u64::from(range.io_percent) > 100 - io_sum).then(|| {
        format!(
            "invalid distribution (-rd): the ranges exceed 100% of the I/Os ({io_sum}% so far, plus this range with \
             {}%)",
            range.io_percent
        )
    })
}
