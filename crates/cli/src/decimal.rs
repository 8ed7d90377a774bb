//! Decimal numbers stored exactly, as whole numbers of a smaller unit: times, percentiles.

use std::time::Duration;

const NS_PER_S: u64 = 1_000_000_000;

/// Units of time and their nanoseconds; those that end in `s` before `s` itself.
const TIME_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", NS_PER_S),
    ("m", 60 * NS_PER_S),
    ("min", 60 * NS_PER_S),
    ("h", 3600 * NS_PER_S),
];

/// A length of time in nanoseconds: `30s`, `1.5m`, `250ms`; without a unit it is seconds.
pub(crate) fn time_ns(text: &str) -> Result<u64, String> {
    let fault = || format!("'{text}' is not a time (expected: a number with ns, us, ms, s, m or h, as in 30s or 1.5m)");
    let unit = TIME_UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (number, unit_ns) = unit.map_or((text, NS_PER_S), |(unit, ns)| (&text[..text.len() - unit.len()], *ns));
    scaled(number, unit_ns).ok_or_else(fault)
}

/// The same as a duration.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    time_ns(text).map(Duration::from_nanos)
}

/// A length of whole seconds, at least one.
pub(crate) fn whole_seconds(text: &str) -> Result<u32, String> {
    let length = duration(text)?;
    match u32::try_from(length.as_secs()) {
        Ok(seconds) if seconds > 0 && length.subsec_nanos() == 0 => Ok(seconds),
        _ => Err(format!("'{text}' is not a whole number of seconds, 1 or more")),
    }
}

/// A percentile's rank in parts per billion: `99.9` is 999,000,000.
pub(crate) fn rank_ppb(text: &str) -> Result<u64, String> {
    let fault = || format!("'{text}' is not a percentile (expected: 0 to 100 with at most 7 decimals, as in 99.9)");
    scaled(text, 10_000_000).filter(|&ppb| ppb <= 1_000_000_000).ok_or_else(fault)
}

/// A decimal number times `unit`, if that is a whole number.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{decimals}");
    if whole.is_empty() || text.ends_with('.') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<u128>().ok()?.checked_mul(u128::from(unit))?;
    let divisor = 10u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    number.is_multiple_of(divisor).then(|| u64::try_from(number / divisor).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [
            ("30s", 30 * NS_PER_S),
            ("30", 30 * NS_PER_S),
            ("0", 0),
            ("1.5m", 90 * NS_PER_S),
            ("5min", 300 * NS_PER_S),
            ("2h", 7200 * NS_PER_S),
            ("250ms", NS_PER_S / 4),
            ("0.000000001", 1),
            ("7us", 7000),
            ("9ns", 9),
        ] {
            assert_eq!(time_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "s", "-1s", "1.", ".5", "1.2.3", "0.5ns", "1 s", "1d", "99999999999h", "\u{661}"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
        assert_eq!(whole_seconds("2m"), Ok(120));
        assert!(whole_seconds("0").is_err() && whole_seconds("1500ms").is_err() && whole_seconds("9999999h").is_err());
    }

    #[test]
    fn ranks_are_exact() {
        let ranks = [("50", 500_000_000), ("99.9", 999_000_000), ("99.9999999", 999_999_999), ("100", 1_000_000_000)];
        for (text, ppb) in ranks {
            assert_eq!(rank_ppb(text), Ok(ppb), "{text}");
        }
        for text in ["", "101", "100.1", "99.99999999", "p99", "-1", "9e1"] {
            assert!(rank_ppb(text).is_err(), "{text}");
        }
    }
}
