//! The values in a profile: texts to numbers, switches, masks and words. A fault names the expected form and the text
//! found.

use super::fault::quoted;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The text without surrounding XML white space.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// `true`, `false` in any case (scripts write `True`), `1` or `0`.
pub(crate) fn flag(text: &str) -> Result<bool, String> {
    match trimmed(text) {
        "1" => Ok(true),
        "0" => Ok(false),
        word if word.eq_ignore_ascii_case("true") => Ok(true),
        word if word.eq_ignore_ascii_case("false") => Ok(false),
        word => Err(format!("expected true or false, found {}", found(word))),
    }
}

/// A whole number of decimal digits.
pub(crate) fn number<N>(text: &str, range: &RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display,
{
    let text = trimmed(text);
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_digits && range.contains(&number) => Ok(number),
        _ => {
            let begins_with_digits = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
            // 8192.5 and 1e3 have no unit.
            let has_unit = begins_with_digits && !is_digits && text.parse::<f64>().is_err();
            let hint = if has_unit { "; write the number without a unit" } else { "" };
            Err(format!(
                "expected a whole number from {} to {}, found {}{hint}",
                range.start(),
                range.end(),
                found(text)
            ))
        }
    }
}

/// CPUs of a group, one per bit: hexadecimal after `0x`, octal after `0`, otherwise decimal.
pub(crate) fn mask(text: &str) -> Result<u64, String> {
    let text = trimmed(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(format!(
            "expected a CPU mask such as 0xf (hexadecimal after 0x, octal after 0, otherwise decimal), found {}",
            found(text)
        ));
    }
    u64::from_str_radix(digits, radix).map_err(|_| format!("the mask {} has more than 64 bits", quoted(text)))
}

/// The fault of a text that is none of these words.
pub(crate) fn expected_word(text: &str, words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.collect();
    let (last, others) = words.split_last().map_or(("nothing", &[][..]), |(last, others)| (*last, others));
    let choice = if others.is_empty() { last.to_owned() } else { format!("{} or {last}", others.join(", ")) };
    format!("expected {choice}, found {}", found(text))
}

/// One of these words.
pub(crate) fn word<W: Copy>(text: &str, words: &[(&'static str, W)]) -> Result<W, String> {
    let text = trimmed(text);
    let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    known.ok_or_else(|| expected_word(text, words.iter().map(|(word, _)| *word)))
}

/// The number of a template target, if the path is one: `*` and a number above 0.
pub fn template(path: &str) -> Result<Option<u32>, String> {
    let Some(digits) = path.strip_prefix('*') else { return Ok(None) };
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(number) if is_digits && number > 0 => Ok(Some(number)),
        _ => Err(format!(
            "a path that begins with * must be a template: * and a number from 1 to {}, such as *1; found {}",
            u32::MAX,
            quoted(path)
        )),
    }
}

fn found(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_words_or_digits() {
        for (text, expected) in [("true", true), (" TRUE\n", true), ("True", true), ("1", true), ("0", false)] {
            assert_eq!(flag(text), Ok(expected), "{text}");
        }
        assert_eq!(flag("False"), Ok(false));
        for text in ["", "yes", "01", "tru", "true false", "\u{a0}true"] {
            assert!(flag(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_digits_within_bounds() {
        assert_eq!(number(" 007\t", &(0..=7_u32)), Ok(7));
        assert_eq!(number("18446744073709551615", &(0..=u64::MAX)), Ok(u64::MAX));
        assert_eq!(number("4294967295", &(0..=u32::MAX)), Ok(u32::MAX));
        for text in ["", "+1", "-1", "1.0", "0x1", "4k", "8", "18446744073709551616", "1 2", "\u{661}"] {
            assert!(number(text, &(0..=7_u64)).is_err(), "{text}");
        }
        assert_eq!(
            number("4k", &(1..=9_u32)).unwrap_err(),
            "expected a whole number from 1 to 9, found '4k'; write the number without a unit"
        );
        assert_eq!(number("1.5", &(1..=9_u32)).unwrap_err(), "expected a whole number from 1 to 9, found '1.5'");
        assert_eq!(number("", &(1..=9_u32)).unwrap_err(), "expected a whole number from 1 to 9, found nothing");
    }

    #[test]
    fn masks_have_three_bases_and_64_bits() {
        for (text, expected) in [
            ("0x10", 16),
            ("0X1f", 31),
            ("16", 16),
            ("020", 16),
            (" 16", 16),
            ("0", 0),
            ("0x0", 0),
            ("00", 0),
            ("18446744073709551615", u64::MAX),
            ("0xffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(mask(text), Ok(expected), "{text}");
        }
        for text in ["", "0x", "-1", "+1", "08", "0x1g", "1f", "f", "0x+1", "1 2"] {
            assert!(mask(text).unwrap_err().contains("expected a CPU mask"), "{text}");
        }
        for text in ["18446744073709551616", "0x10000000000000000", "02000000000000000000000"] {
            assert!(mask(text).unwrap_err().contains("more than 64 bits"), "{text}");
        }
    }

    #[test]
    fn templates_are_an_asterisk_and_a_number() {
        assert_eq!(template("file"), Ok(None));
        assert_eq!(template("a*1"), Ok(None));
        assert_eq!(template("*1"), Ok(Some(1)));
        assert_eq!(template("*10"), Ok(Some(10)));
        for path in ["*", "*foo", "*1foo", "**1", "*-1", "*+1", "*0", "*4294967296", "* 1"] {
            assert!(template(path).is_err(), "{path}");
        }
    }
}
