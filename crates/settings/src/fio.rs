//! Values of fio's options, for its jobs and for the jobs that its results name: numbers, sizes and times as fio reads them.
//!
//! An error is the reason for the user.

use model::engine_kind::EngineKind;

/// A size, or a share of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Bytes(u64),
    Percent(u32),
}

/// The I/O pattern of `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    pub is_random: bool,
    pub reads: bool,
    pub writes: bool,
    pub trims: bool,
    /// After a colon: the bytes between two I/Os, or I/Os at one random place.
    pub hole: Option<&'a str>,
}

/// The value of `rw`; `None` = it has no counterpart.
pub fn pattern(text: &str) -> Option<Pattern<'_>> {
    let (kind, hole) = text.split_once(':').map_or((text, None), |(kind, hole)| (kind, Some(hole)));
    let (is_random, kind) = match kind.strip_prefix("rand") {
        Some(kind) => (true, kind),
        None if kind == "readwrite" => (false, "rw"),
        None => (false, kind),
    };
    let (reads, writes, trims) = match kind {
        "read" => (true, false, false),
        "write" => (false, true, false),
        "rw" => (true, true, false),
        "trim" => (false, false, true),
        _ => return None,
    };
    Some(Pattern { is_random, reads, writes, trims, hole })
}

/// The engine that makes the same system calls as fio's.
pub fn engine(name: &str) -> Option<EngineKind> {
    Some(match name {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => EngineKind::Synchronous,
        "libaio" => EngineKind::LinuxAio,
        "io_uring" => EngineKind::IoUring,
        "mmap" => EngineKind::MemoryMapped,
        "null" => EngineKind::Null,
        _ => return None,
    })
}

/// A whole number, decimal or with `0x`.
pub fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is not a whole number"))
}

/// A number that fits into 32 bits.
pub fn count(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|_| format!("{} is too large", text.trim()))
}

/// A whole percentage.
pub fn percent(text: &str) -> Result<u32, String> {
    let digits = text.trim().trim_end_matches('%');
    // Distributions may have decimals, which our percentages do not have.
    let whole = digits
        .split_once('.')
        .map_or(digits, |(whole, decimals)| if decimals.bytes().all(|digit| digit == b'0') { whole } else { digits });
    let percent = count(whole).map_err(|_| format!("'{}' is not a whole percentage", text.trim()))?;
    if percent > 100 { Err(format!("{percent} % is more than 100 %")) } else { Ok(percent) }
}

/// Digits, and the unit after them in lower case.
fn split(text: &str) -> (&str, String) {
    let text = text.trim();
    let is_hex = text.len() > 2 && text.as_bytes()[0] == b'0' && matches!(text.as_bytes()[1], b'x' | b'X');
    let is_digit = |c: char| c.is_ascii_digit() || (is_hex && (c.is_ascii_hexdigit() || matches!(c, 'x' | 'X')));
    let (digits, unit) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
    (digits, unit.trim().to_ascii_lowercase())
}

/// A size in bytes. With fio's default `kb_base=1024`, `k`, `kb` and `ki` are 1,024 and `kib` is 1,000; with
/// `kb_base=1000` the other way round (fio 3.33, and its manual).
pub fn size(text: &str, kb_base: u64) -> Result<u64, String> {
    let (digits, unit) = split(text);
    let fault = || format!("'{}' is not a size", text.trim());
    let (letter, rest) = unit.split_at(usize::from(unit.starts_with(|c: char| c.is_ascii())));
    let base = match rest {
        "" | "b" | "i" => kb_base,
        "ib" => 2024 - kb_base,
        _ => return Err(fault()),
    };
    let power = match letter {
        "" => 0,
        "b" if rest.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(fault()),
    };
    let digits = number(digits).map_err(|_| fault())?;
    digits.checked_mul(base.pow(power)).ok_or_else(|| format!("{} is too large", text.trim()))
}

/// A size, or a percentage of the target.
pub fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    if text.trim().ends_with('%') { percent(text).map(Amount::Percent) } else { size(text, kb_base).map(Amount::Bytes) }
}

/// A time in microseconds; `unit_us` is that of a number alone.
pub fn time_us(text: &str, unit_us: u64) -> Result<u64, String> {
    let (digits, unit) = split(text);
    let fault = || format!("'{}' is not a time", text.trim());
    let factor = match unit.as_str() {
        "" => unit_us,
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "s" | "sec" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" | "hour" => 3_600_000_000,
        "d" | "day" => 86_400_000_000,
        _ => return Err(fault()),
    };
    number(digits).map_err(|_| fault())?.checked_mul(factor).ok_or_else(|| format!("{} is too large", text.trim()))
}

/// A time in whole seconds, as our durations are; a number alone is in seconds.
pub fn seconds(text: &str) -> Result<u32, String> {
    let us = time_us(text, 1_000_000)?;
    if !us.is_multiple_of(1_000_000) {
        return Err("durations here are whole seconds".to_owned());
    }
    u32::try_from(us / 1_000_000).map_err(|_| format!("{} is too long", text.trim()))
}

/// The values of reads, writes and trims: `4k,8k` is 4k for reads and 8k for the others.
pub fn of_directions<T: Clone>(
    text: &str,
    default: &T,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<[T; 3], String> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("more than three values: for reads, writes and trims".to_owned());
    }
    let value = |index: usize| match parts.get(index).or(parts.last()) {
        Some(part) if !part.trim().is_empty() => parse(part),
        _ => Ok(default.clone()),
    };
    Ok([value(0)?, value(1)?, value(2)?])
}

/// A switch: an option without a value is on.
pub fn switch(value: Option<&str>) -> Result<bool, String> {
    match value.map(str::trim) {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(format!("'{other}' is neither 0 nor 1")),
    }
}

/// Names separated by colons; a backslash escapes a colon.
pub fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ':' => names.push(std::mem::take(&mut name)),
            '\\' => name.extend(rest.next_if_eq(&':').or(Some(c))),
            _ => name.push(c),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_fio() {
        for (text, by_1024, by_1000) in [
            ("4096", 4096, 4096),
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4Ki", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("0x1000", 4096, 4096),
            ("2m", 2 << 20, 2_000_000),
            ("3G", 3 << 30, 3_000_000_000),
            ("512b", 512, 512),
        ] {
            assert_eq!((size(text, 1024), size(text, 1000)), (Ok(by_1024), Ok(by_1000)), "{text}");
        }
        for text in ["", "k", "4x", "4kk", "-1", "99999999p", "4 %", "1.5k", "0x", "4\u{e9}", "8z"] {
            assert!(size(text, 1024).is_err(), "{text}");
        }
        assert_eq!(amount("25%", 1024), Ok(Amount::Percent(25)));
        assert!(amount("101%", 1024).is_err());
    }

    #[test]
    fn times_and_switches_are_those_of_fio() {
        for (text, expected) in [("5", 5), ("2m", 120), ("1h", 3600), ("3000ms", 3), ("1d", 86400)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["500ms", "5y", "", "99999999999999999999", "10000000d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(time_us("20ms", 1), Ok(20_000));
        assert_eq!((switch(None), switch(Some("0")), switch(Some(" 1"))), (Ok(true), Ok(false), Ok(true)));
        assert!(switch(Some("yes")).is_err());
    }

    #[test]
    fn lists_are_split_as_fio_splits_them() {
        let sizes = |text| of_directions(text, &7, |part| size(part, 1024));
        assert_eq!(sizes("1"), Ok([1, 1, 1]));
        assert_eq!(sizes("1,2"), Ok([1, 2, 2]));
        assert_eq!(sizes(",2,3"), Ok([7, 2, 3]));
        assert!(sizes("1,2,3,4").is_err() && sizes("1,x").is_err());
        assert_eq!(names(r"/dev/sda:/dev/by-path/pci\:00:"), ["/dev/sda", "/dev/by-path/pci:00"]);
        assert!(names("").is_empty());
    }
}
