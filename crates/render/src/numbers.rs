//! Number formats that several parts share.

use model::units::Bytes;
use std::fmt::Write as _;

/// A size right-justified in the 9 columns of a distribution line.
pub(crate) fn range_bytes(bytes: u64) -> String {
    format!("{:>9}", Bytes(bytes))
}

/// The start of a range; 0 is centred in the number's columns.
pub(crate) fn range_start(bytes: u64) -> String {
    if bytes == 0 { "     0   ".to_owned() } else { range_bytes(bytes) }
}

/// Nanoseconds as milliseconds.
pub(crate) fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// Ascending numbers as ranges: `0-3,7`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        let separator = if text.is_empty() { "" } else { "," };
        let (first, last) = (run[0], run[run.len() - 1]);
        // Writing to a String cannot fail.
        let _ = match run.len() {
            1 => write!(text, "{separator}{first}"),
            _ => write!(text, "{separator}{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_ranges_fill_nine_columns() {
        for (bytes, text) in [(512, "     512B"), (1536, "   1.5KiB"), (10 << 30, "    10GiB"), (0, "       0B")] {
            assert_eq!(range_bytes(bytes), text);
        }
        assert_eq!(range_start(0), "     0   ");
        assert_eq!(range_start(8192), "     8KiB");
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges(&[0, 1]), "0-1");
        assert_eq!(ranges(&[u32::MAX]), "4294967295");
        assert_eq!(ranges(&[]), "");
    }
}
