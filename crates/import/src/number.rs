//! Numbers and times as results print them.

use jiff::civil::DateTime;
use model::printable::clipped;
use model::units::UnixTime;
use std::str::FromStr;

/// A whole number.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten().ok_or_else(|| format!("'{}' is not a whole number", shown(text)))
}

/// A non-negative number. `None` for the output of C libraries for a division by zero.
pub(super) fn real(text: &str) -> Result<Option<f64>, String> {
    let text = text.trim();
    let word = text.trim_start_matches('-').to_ascii_lowercase();
    if word.starts_with("nan") || word.starts_with("inf") || word.contains('#') {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: Option<f64> = is_plain.then(|| text.parse().ok()).flatten();
    value.filter(|value| value.is_finite()).map(Some).ok_or_else(|| format!("'{}' is not a number", shown(text)))
}

/// Milliseconds as nanoseconds.
pub(super) fn ns(ms: f64) -> f64 {
    ms * 1e6
}

/// Milliseconds as whole nanoseconds.
pub(super) fn whole_ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Seconds as whole nanoseconds.
pub(super) fn seconds_as_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// `2025/03/14 09:26:53 UTC`
pub(super) fn start_time(text: &str) -> Option<UnixTime> {
    let time = DateTime::strptime("%Y/%m/%d %H:%M:%S UTC", text.trim()).ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(UnixTime(zoned.timestamp().as_nanosecond()))
}

/// A percentile's rank, from percent: `99.9`.
pub(super) fn rank_ppb(percent: &str) -> Result<u64, String> {
    const DECIMALS: usize = 7;
    let wrong = || format!("'{}' is not a percentile from 0 to 100", shown(percent));
    let (units, decimals) = percent.trim().split_once('.').unwrap_or((percent.trim(), ""));
    if decimals.len() > DECIMALS || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let units: u64 = whole(units).map_err(|_| wrong())?;
    let decimals: u64 = format!("{decimals:0<DECIMALS$}").parse().map_err(|_| wrong())?;
    let rank_ppb = units.checked_mul(10_000_000).and_then(|ppb| ppb.checked_add(decimals)).ok_or_else(wrong)?;
    if rank_ppb <= 1_000_000_000 { Ok(rank_ppb) } else { Err(wrong()) }
}

/// A size with or without unit: `8MiB`, `1.50GiB`, `512B`, `65536`, and `10GB` of the oldest
/// versions, which are binary too.
pub(super) fn size_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("'{}' is not a size", shown(text));
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" | "KB" => 10,
        "MiB" | "MB" => 20,
        "GiB" | "GB" => 30,
        "TiB" | "TB" => 40,
        "PiB" | "PB" => 50,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = whole::<u64>(number) {
        return whole.checked_mul(1 << shift).ok_or_else(wrong);
    }
    let real = real(number).ok().flatten().ok_or_else(wrong)?;
    Ok((real * (1u64 << shift) as f64).round() as u64)
}

/// An input for a message, shortened if it is long.
pub(super) fn shown(text: &str) -> String {
    clipped(text, 60).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits() {
        assert_eq!(whole::<u32>(" 42 "), Ok(42));
        for text in ["", "-1", "+1", "4294967296", "1.0", "0x1"] {
            assert!(whole::<u32>(text).is_err(), "{text}");
        }
        assert_eq!(real("0.404"), Ok(Some(0.404)));
        for text in ["-nan(ind)", "nan", "-1.#IND", "1.#INF", "inf"] {
            assert_eq!(real(text), Ok(None), "{text}");
        }
        for text in ["", "-1", "1e3", "1,5", "..", "a"] {
            assert!(real(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranks_are_exact() {
        for (text, ppb) in
            [("0", 0), ("25", 250_000_000), ("99.9", 999_000_000), ("99.9999999", 999_999_999), ("100", 1_000_000_000)]
        {
            assert_eq!(rank_ppb(text), Ok(ppb));
        }
        for text in ["", "100.1", "1.00000001", "99.9x", "-1", "."] {
            assert!(rank_ppb(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_of_every_version() {
        for (text, bytes) in [
            ("512", 512),
            ("512B", 512),
            ("8MiB", 8 << 20),
            ("1.50GiB", 3 << 29),
            ("1.60MiB", 1_677_722),
            ("10GB", 10 << 30),
            ("16384PiB", 0),
        ] {
            if bytes == 0 {
                assert!(size_bytes(text).is_err(), "{text}");
            } else {
                assert_eq!(size_bytes(text), Ok(bytes), "{text}");
            }
        }
        assert!(size_bytes("1.5.5KiB").is_err() && size_bytes("KiB").is_err() && size_bytes("1XB").is_err());
    }
}
