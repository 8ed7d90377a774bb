//! Lengths of time: a number with ms, s, m or h; s where there is none.

use std::time::Duration;

/// A length of time.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let (digits, unit) = crate::number::split_digits(text);
    let unit_ms = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("'{text}' is not a duration (for example 500ms, 20s, 5m, 1h)")),
    };
    let length = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms));
    length
        .map(Duration::from_millis)
        .ok_or_else(|| format!("'{text}' is not a duration (for example 500ms, 20s, 5m, 1h)"))
}

/// A length of whole seconds, at least one.
pub(crate) fn whole_seconds(text: &str) -> Result<u32, String> {
    let length = parse(text)?;
    match u32::try_from(length.as_secs()) {
        Ok(seconds) if seconds > 0 && length.subsec_nanos() == 0 => Ok(seconds),
        _ => Err(format!("'{text}' is not a whole number of seconds, 1 or more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        for (text, milliseconds) in
            [("500ms", 500), ("20", 20_000), ("20s", 20_000), ("5m", 300_000), ("1h", 3_600_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "1d", "99999999999999999999s", "18446744073709551615h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(whole_seconds("2m"), Ok(120));
        assert!(whole_seconds("0").is_err() && whole_seconds("1500ms").is_err() && whole_seconds("9999999h").is_err());
    }
}
