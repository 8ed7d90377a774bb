//! Sizes: digits and at most one of the letters K, M, G, T, B.

use crate::number::split_digits;
use settings::short_size;
use std::fmt;

/// The reason why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeFault {
    /// It does not start with a digit.
    NoDigits,
    /// The letter after the digits is not a unit.
    UnknownUnit(char),
    /// Text follows a complete size.
    TrailingText(String),
    /// It does not fit into 64 bits.
    TooLarge(String),
    /// Its unit or fraction is written differently.
    Suggested(String),
}

impl fmt::Display for SizeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDigits => f.write_str("a size must start with a digit, as in 4096, 64K or 2b"),
            Self::UnknownUnit(unit) => write!(
                f,
                "'{unit}' is not a size unit (expected: K (KiB), M (MiB), G (GiB), T (TiB) or B (blocks of -b))"
            ),
            Self::TrailingText(text) => write!(f, "unexpected '{text}' after the size"),
            Self::Suggested(size) => write!(f, "sizes are whole numbers with at most one letter; write {size}"),
            Self::TooLarge(size) => write!(f, "the size {size} is too large; it must fit into 64 bits"),
        }
    }
}

/// A whole text as a size in bytes; `block_bytes` is the unit `b`. Trailing blanks are ignored.
pub fn parse(text: &str, block_bytes: u64) -> Result<u64, SizeFault> {
    if let Some(size) = suggested(text.trim()) {
        return Err(SizeFault::Suggested(size));
    }
    let (size, rest) = leading(text.trim_end(), block_bytes)?;
    if rest.is_empty() { Ok(size) } else { Err(SizeFault::TrailingText(rest.to_owned())) }
}

/// The correct form of a size like `8KB`, `64KiB` or `1.5G`.
fn suggested(text: &str) -> Option<String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let letter = unit.chars().next()?.to_ascii_uppercase();
    let shift = [('K', 10), ('M', 20), ('G', 30), ('T', 40)].into_iter().find(|(known, _)| *known == letter)?.1;
    if !matches!(unit[1..].to_ascii_lowercase().as_str(), "" | "b" | "ib") {
        return None;
    }
    let Some((whole, fraction)) = number.split_once('.') else {
        let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return (is_whole && unit.len() > 1).then(|| format!("{number}{letter}"));
    };
    let (digits, places) = (format!("{whole}{fraction}"), u32::try_from(fraction.len()).ok()?);
    if whole.is_empty() || fraction.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scaled = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    // Whole bytes.
    Some(short_size(scaled / 10_u64.checked_pow(places)?))
}

/// `100M/s` as bytes per second; `None` if the text is not a rate in bytes.
pub(crate) fn per_second(text: &str) -> Option<Result<u64, String>> {
    let size = text.trim_end().strip_suffix("/s")?;
    if size.ends_with(['b', 'B']) {
        return Some(Err(format!(
            "'{text}' is not a rate in bytes per second (expected: a size and /s, as in 100M/s)"
        )));
    }
    Some(parse(size, 1).map_err(|fault| fault.to_string()))
}

/// The size at the start of `text`, and the rest of the text.
pub fn leading(text: &str, block_bytes: u64) -> Result<(u64, &str), SizeFault> {
    let (digits, rest) = split_digits(text);
    if digits.is_empty() {
        return Err(SizeFault::NoDigits);
    }
    let (unit_bytes, unit_length) = match rest.bytes().next().map(|byte| byte.to_ascii_uppercase()) {
        Some(b'K') => (1 << 10, 1),
        Some(b'M') => (1 << 20, 1),
        Some(b'G') => (1 << 30, 1),
        Some(b'T') => (1 << 40, 1),
        Some(b'B') => (block_bytes, 1),
        // Separators after a size; any other character was meant as a unit.
        None | Some(b':' | b'/' | b',') => (1, 0),
        Some(_) => return Err(SizeFault::UnknownUnit(rest.chars().next().unwrap_or_default())),
    };
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_bytes));
    let end = digits.len() + unit_length;
    let size = size.ok_or_else(|| SizeFault::TooLarge(text[..end].to_owned()))?;
    Ok((size, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK: u64 = 65_536;

    #[test]
    fn units_are_powers_of_1024_and_the_block() {
        for (text, size) in [
            ("0", 0),
            ("1", 1),
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("1m", 1 << 20),
            ("1G", 1 << 30),
            ("2t", 2 << 40),
            ("3B", 196_608),
            ("3b", 196_608),
            ("18446744073709551615", u64::MAX),
            ("18014398509481983K", 18_014_398_509_481_983 * 1024),
            ("16777215T", 16_777_215 << 40),
            ("0000000000000000000000001", 1),
            ("64K ", 65_536),
        ] {
            assert_eq!(parse(text, BLOCK), Ok(size), "{text}");
        }
    }

    #[test]
    fn faults_are_told_apart() {
        for text in ["", "K", "-1", "+1", " 1", ".5", "０"] {
            assert_eq!(parse(text, BLOCK), Err(SizeFault::NoDigits), "{text}");
        }
        for (text, unit) in
            [("10a", 'a'), ("1.5", '.'), ("1.G", '.'), ("30 K", ' '), ("4P", 'P'), ("1e6", 'e'), ("1é", 'é')]
        {
            assert_eq!(parse(text, BLOCK), Err(SizeFault::UnknownUnit(unit)), "{text}");
        }
        for (text, size) in [("30KB", "30K"), ("64KiB", "64K"), ("1gb", "1G"), ("1.5G", "1536M"), ("0.3KiB", "307")] {
            assert_eq!(parse(text, BLOCK), Err(SizeFault::Suggested(size.to_owned())), "{text}");
        }
        for (text, rest) in [("30KX", "X"), ("1G1", "1"), ("1:2", ":2"), ("4k,", ",")] {
            assert_eq!(parse(text, BLOCK), Err(SizeFault::TrailingText(rest.to_owned())), "{text}");
        }
        for text in [
            "18446744073709551616",
            "18014398509481984K",
            "17592186044416M",
            "17179869184G",
            "16777216T",
            "99999999999999999999999999999999",
            "281474976710656b",
        ] {
            assert_eq!(parse(text, BLOCK), Err(SizeFault::TooLarge(text.to_owned())), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_size_is_its_number_times_its_unit(number: u64, unit in 0_usize..6, block in 1_u64..1 << 32) {
            let (letter, bytes) =
                [("", 1), ("k", 1 << 10), ("M", 1 << 20), ("g", 1 << 30), ("T", 1 << 40), ("b", block)][unit];
            let exact = u128::from(number) * u128::from(bytes);
            let parsed = parse(&format!("{number}{letter}"), block).ok().map(u128::from);
            prop_assert_eq!(parsed, (exact <= u128::from(u64::MAX)).then_some(exact));
        }

        #[test]
        fn no_text_is_too_strange(text in any::<String>()) {
            if let Ok((_, rest)) = leading(&text, BLOCK) {
                prop_assert!(text.ends_with(rest));
            }
        }
    }
}
