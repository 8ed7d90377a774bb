//! Whole numbers as `DiskSpd` reads them.

/// The number at the start of `text` as C's `atoi` reads it (blanks, a sign, digits; none = 0) and
/// the rest of the text. A number outside ±(2^32 - 1) is a fault, never wrapped.
pub(crate) fn leading(text: &str) -> Result<(i64, &str), String> {
    let unsigned = text.trim_start();
    let (negative, digits) = match unsigned.as_bytes().first() {
        Some(b'-') => (true, &unsigned[1..]),
        Some(b'+') => (false, &unsigned[1..]),
        _ => (false, unsigned),
    };
    let (digits, rest) = split_digits(digits);
    let too_large = || format!("the number {digits} is too large; the largest is {}", u32::MAX);
    let magnitude = if digits.is_empty() { 0 } else { digits.parse::<u32>().map_err(|_| too_large())? };
    let number = i64::from(magnitude);
    let rest = if digits.is_empty() { text } else { rest };
    Ok((if negative { -number } else { number }, rest))
}

/// A count: 1 to `MAX`.
pub(crate) fn count<const MAX: u32>(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count) if (1..=MAX).contains(&count) => Ok(count),
        _ => Err(format!("'{text}' is not a number from 1 to {MAX}")),
    }
}

/// Splits off the ASCII digits at the start.
pub(crate) fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// A seed: a whole 32-bit number and nothing else; a negative one counts down from 2^32.
pub(crate) fn seed(text: &str) -> Result<u32, String> {
    let fault = || format!("the random seed must be a 32-bit whole number (0 to {}), not '{text}'", u32::MAX);
    let trimmed = text.trim();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(fault());
    }
    let seed: u32 = digits.parse().map_err(|_| fault())?;
    Ok(if negative { seed.wrapping_neg() } else { seed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_at_the_first_other_character() {
        for (text, number, rest) in [
            ("10", 10, ""),
            ("10s", 10, "s"),
            (" 8", 8, ""),
            ("+5", 5, ""),
            ("-5", -5, ""),
            ("", 0, ""),
            ("x", 0, "x"),
            ("-", 0, "-"),
            ("007", 7, ""),
            ("4294967295", 4_294_967_295, ""),
            ("50%", 50, "%"),
        ] {
            assert_eq!(leading(text), Ok((number, rest)), "{text}");
        }
    }

    #[test]
    fn numbers_too_large_are_refused_not_wrapped() {
        for text in ["4294967296", "-4294967296", "99999999999999999999999"] {
            assert!(leading(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seeds_are_whole_32_bit_numbers() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("4294967295"), Ok(u32::MAX));
        assert_eq!(seed("-1"), Ok(u32::MAX));
        for text in ["1x", "0x10", "x", "4294967296", "-", "--1", ""] {
            assert!(seed(text).is_err(), "{text}");
        }
    }
}
