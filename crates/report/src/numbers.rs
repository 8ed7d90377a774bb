//! Number formats that several parts share.

use model::units::Bytes;
pub use model::units::{grouped, latency, significant, trimmed};
use std::fmt::Write as _;

/// A size right-justified in the 9 columns of a distribution line.
pub fn range_bytes(bytes: u64) -> String {
    format!("{:>9}", Bytes(bytes))
}

/// The start of a range; 0 is centred in the number's columns.
pub fn range_start(bytes: u64) -> String {
    if bytes == 0 { "     0   ".to_owned() } else { range_bytes(bytes) }
}

/// Nanoseconds as milliseconds.
pub fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// A change in percent with its sign: `+5.0 %`; a change that rounds to zero has no minus sign.
pub fn change(percent: f64) -> String {
    let text = format!("{percent:+.1} %");
    if text == "-0.0 %" { "+0.0 %".to_owned() } else { text }
}

/// Both ends of the interval of a change.
pub fn interval_of_change((low, high): (f64, f64)) -> String {
    format!("{} to {}", change(low), change(high))
}

/// Three significant digits below 1,000, then all digits in groups of three.
pub fn significant_grouped(value: f64) -> String {
    if value.abs() >= 1000.0 { grouped(value) } else { significant(value) }
}

/// Ascending numbers as ranges: `0-3,7`.
pub fn ranges(numbers: &[u32]) -> String {
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
    fn no_change_has_no_minus_sign() {
        assert_eq!([change(-0.04), change(-0.06), change(4.96)], ["+0.0 %", "-0.1 %", "+5.0 %"]);
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges(&[0, 1]), "0-1");
        assert_eq!(ranges(&[u32::MAX]), "4294967295");
        assert_eq!(ranges(&[]), "");
    }
}
