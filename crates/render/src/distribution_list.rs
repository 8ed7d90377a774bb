//! Effective distributions: the actual targets of random I/Os.

use crate::foreign;
use model::plan::EffectiveDistribution;
use model::result::{DistributionUse, DistributionUser};
use report::numbers::{range_bytes, range_start};
use std::fmt::Write as _;
use std::io::{self, Write};

/// All lists, beginning with an empty line; empty if no distribution was used.
pub(crate) fn block(out: &mut dyn Write, uses: &[DistributionUse]) -> io::Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nEffective IO Distributions")?;
    writeln!(out, "{}", "-".repeat(26))?;
    for DistributionUse { distribution, users } in uses {
        for DistributionUser { path, threads } in users {
            write!(out, "target: ")?;
            foreign::write_path(out, path)?;
            writeln!(out, " [thread:{}]", thread_list(threads))?;
        }
        ranges(out, distribution)?;
    }
    Ok(())
}

fn ranges(out: &mut dyn Write, distribution: &EffectiveDistribution) -> io::Result<()> {
    for range in &distribution.ranges {
        let share = if distribution.io_span < 100 {
            let relative = 100.0 * f64::from(range.io_percent) / f64::from(distribution.io_span.max(1));
            format!("    {relative:.1}%")
        } else {
            format!("   {:3}%", range.io_percent)
        };
        let start = range_start(range.start_bytes);
        let end = range_bytes(range.start_bytes.saturating_add(range.length_bytes));
        writeln!(out, "{share} of IO => [{start} - {end})")?;
    }
    Ok(())
}

/// Each item preceded by a blank; three or more numbers in a row are a range.
fn thread_list(threads: &[u32]) -> String {
    let mut text = String::new();
    for run in threads.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        // Writing to a String cannot fail.
        let _ = match run {
            [one] => write!(text, " {one}"),
            [one, two] => write!(text, " {one} {two}"),
            [first, .., last] => write!(text, " {first} - {last}"),
            [] => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_threads_in_a_row_are_a_range() {
        for (threads, text) in [
            (&[0][..], " 0"),
            (&[0, 1], " 0 1"),
            (&[0, 2], " 0 2"),
            (&[0, 1, 2, 4], " 0 - 2 4"),
            (&[0, 1, 3, 4, 5, 6, 9], " 0 1 3 - 6 9"),
        ] {
            assert_eq!(thread_list(threads), text);
        }
    }
}
