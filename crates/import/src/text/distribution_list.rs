//! Effective distributions.

use super::lines::{Line, Lines, between};
use crate::distributions::{Distributions, effective};
use crate::{ReadError, number};
use model::limits::THREADS_MAX;
use std::path::PathBuf;

/// Reads the lists below their title, up to an empty line.
pub(super) fn read(lines: &mut Lines<'_>, distributions: &mut Distributions) -> Result<(), ReadError> {
    let mut users: Vec<(PathBuf, Vec<u32>)> = Vec::new();
    let mut ranges: Vec<Range> = Vec::new();
    while let Some(line) = lines.peek() {
        let content = line.content();
        if content.is_empty() {
            break;
        }
        lines.take();
        if let Some(user) = between(content, "target: ", "]") {
            if !ranges.is_empty() {
                add(distributions, &mut users, &mut ranges).map_err(|reason| line.error(content, reason))?;
            }
            users.push(self::user(line, user)?);
        } else if let Some((share, range)) = content.split_once("% of IO => [") {
            ranges.push(self::range(line, share, range)?);
        }
    }
    add(distributions, &mut users, &mut ranges).map_err(|reason| lines.error_here(&reason))
}

/// One range. The share is relative to a truncated list if it has a decimal.
struct Range {
    share_percent: f64,
    is_relative: bool,
    start_bytes: u64,
    length_bytes: u64,
}

/// `a.dat [thread: 0 - 2 4`
fn user(line: Line<'_>, text: &str) -> Result<(PathBuf, Vec<u32>), ReadError> {
    let Some((path, list)) = text.rsplit_once(" [thread:") else {
        return Err(line.error(text, "expected a list of threads: '[thread: 0 1]'"));
    };
    let mut threads: Vec<u32> = Vec::new();
    let mut words = list.split_whitespace();
    while let Some(word) = words.next() {
        let is_range = word == "-";
        let number = if is_range { words.next().unwrap_or_default() } else { word };
        let thread: u32 = line.parse(number, number::whole)?;
        if thread > THREADS_MAX {
            return Err(line.error(number, format!("a run has at most {THREADS_MAX} threads")));
        }
        match threads.last() {
            Some(&first) if is_range => threads.extend(first.saturating_add(1)..=thread),
            _ => threads.push(thread),
        }
        if threads.len() > 2 * THREADS_MAX as usize {
            return Err(line.error(number, format!("a run has at most {THREADS_MAX} threads")));
        }
    }
    // 2.2 prints a lone thread twice.
    threads.dedup();
    Ok((path.into(), threads))
}

fn range(line: Line<'_>, share: &str, range: &str) -> Result<Range, ReadError> {
    let Some((start, end)) = range.strip_suffix(')').and_then(|range| range.split_once(" - ")) else {
        return Err(line.error(range, "the range has no end"));
    };
    let start_bytes = line.parse(start, number::size_bytes)?;
    let end_bytes: u64 = line.parse(end, number::size_bytes)?;
    Ok(Range {
        share_percent: line.parse(share, number::real)?.unwrap_or(0.0),
        is_relative: share.contains('.'),
        start_bytes,
        length_bytes: end_bytes.saturating_sub(start_bytes),
    })
}

/// Adds a list with its users, and begins a new one.
fn add(
    distributions: &mut Distributions,
    users: &mut Vec<(PathBuf, Vec<u32>)>,
    ranges: &mut Vec<Range>,
) -> Result<(), String> {
    let shares = shares(ranges);
    let in_bytes = ranges.iter().zip(shares).map(|(range, share)| (share, range.start_bytes, range.length_bytes));
    let distribution = effective(&in_bytes.collect::<Vec<_>>());
    ranges.clear();
    users.drain(..).try_for_each(|(path, threads)| distributions.add(&distribution, &path, &threads))
}

/// Whole shares. Relative ones are those of the shortest list that prints the same.
fn shares(ranges: &[Range]) -> Vec<u32> {
    let rounded = |span: u32| -> Vec<u32> {
        ranges.iter().map(|range| (range.share_percent * f64::from(span) / 100.0).round() as u32).collect()
    };
    let prints_alike = |span: &u32, shares: &[u32]| {
        let alike = |(range, &share): (&Range, &u32)| {
            (100.0 * f64::from(share) / f64::from(*span) - range.share_percent).abs() <= 0.050_001
        };
        shares.iter().copied().fold(0, u32::saturating_add) == *span && ranges.iter().zip(shares).all(alike)
    };
    if ranges.iter().any(|range| range.is_relative) {
        let fitting = (1..100u32).map(|span| (span, rounded(span))).find(|(span, shares)| prints_alike(span, shares));
        if let Some((_, shares)) = fitting {
            return shares;
        }
    }
    rounded(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_shares_become_whole_ones_that_print_the_same() {
        let range = |share_percent| Range { share_percent, is_relative: true, start_bytes: 0, length_bytes: 0 };
        assert_eq!(shares(&[range(16.7), range(33.3), range(50.0)]), [1, 2, 3]);
        assert_eq!(shares(&[range(52.6), range(47.4)]), [10, 9]);
        let whole = |share_percent| Range { is_relative: false, ..range(share_percent) };
        assert_eq!(shares(&[whole(90.0), whole(10.0)]), [90, 10]);
    }
}
