//! Quantities with their unit in the type.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number of bytes: a size, a length or an offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB (1024 bytes each).
    pub const fn from_kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn from_mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn from_gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// The plain number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Number and unit as two strings: `("1.25", "MiB")`, for columns that align the number.
    ///
    /// The rule of `DiskSpd` 2.3: the largest unit not above the value, whole multiples as
    /// integers, others with at most two decimals and no trailing zeros.
    pub fn parts(self) -> (String, &'static str) {
        const UNITS: [(&str, u32); 5] = [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (unit, shift) in UNITS {
            let size = 1u64 << shift;
            if self.0 >= size {
                if self.0.is_multiple_of(size) {
                    return ((self.0 / size).to_string(), unit);
                }
                let text = format!("{:.2}", self.0 as f64 / size as f64);
                let text = text.trim_end_matches('0').trim_end_matches('.');
                return (text.to_owned(), unit);
            }
        }
        (self.0.to_string(), "B")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = self.parts();
        f.pad(&format!("{number}{unit}"))
    }
}

/// Bytes as an option takes them: in the largest unit that divides them.
pub fn short_size(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// A share in percent with this number of decimals, rounded down: `100.0` is all of it.
pub fn percent_rounded_down(percent: f64, decimals: u32) -> String {
    let scale = 10_f64.powi(decimals.cast_signed());
    let nearest = (percent * scale).round();
    // The product may be below a number that the decimals can express.
    let scaled = if nearest / scale > percent { nearest - 1.0 } else { nearest };
    format!("{:.*}", decimals as usize, scaled / scale)
}

/// A number and what it counts, in the singular or plural: `1 unit`, `2 flushes`.
pub fn counted<N: fmt::Display + Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    format!("{count} {}", pluralized(count, noun))
}

/// A noun in the number that `count` asks for: `unit`, `flushes`.
pub fn pluralized<N: Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = match noun {
        _ if count == N::from(1) => "",
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("sh") || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{noun}{ending}")
}

/// A whole number with commas between thousands.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < -0.5 { format!("-{text}") } else { text }
}

/// Three significant digits, or all before the point; no zeros at the end.
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size => (2 - size.log10().floor() as i32).clamp(0, 9) as usize,
    };
    trimmed(value, decimals)
}

/// With this number of decimals, without zeros at the end.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A latency in nanoseconds with three significant digits, in the unit that needs no zeros: `43.2 µs`.
pub fn latency(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// A number with six decimals, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Millionths(pub u32);

impl Millionths {
    /// 1.
    pub const ONE: Self = Self(1_000_000);

    /// Digits, or digits, a point and one to six digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').map_or((text, None), |(whole, decimals)| (whole, Some(decimals)));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || decimals.is_some_and(|decimals| !digits(decimals) || decimals.len() > 6) {
            return None;
        }
        let decimals = format!("{:0<6}", decimals.unwrap_or_default());
        let whole = whole.parse::<u32>().ok()?.checked_mul(Self::ONE.0)?;
        Some(Self(whole.checked_add(decimals.parse().ok()?)?))
    }

    /// The number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

impl fmt::Display for Millionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest decimals that are read as the same number.
        write!(f, "{}", self.value())
    }
}

/// Bytes in a MiB.
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Bytes, or bytes per second, as MiB: a change of the exponent, so nothing is rounded.
pub fn mib(bytes: f64) -> f64 {
    bytes / BYTES_PER_MIB
}

/// MiB, or MiB per second, as bytes.
pub fn bytes_of_mib(mib: f64) -> f64 {
    mib * BYTES_PER_MIB
}

/// A point in time as nanoseconds since the Unix epoch, read once at the program's edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(pub i128);

impl UnixTime {
    /// Placeholder for an unknown time, which results of old versions lack. Not a valid calendar date.
    pub const UNKNOWN: Self = Self(i128::MIN);
}

impl Serialize for UnixTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Some(self.0).filter(|_| *self != Self::UNKNOWN).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UnixTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::UNKNOWN, Self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_three_digits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1 µs"),
            (43_210.0, "43.2 µs"),
            (1_000_000.0, "1 ms"),
            (1_234_567.0, "1.23 ms"),
            (30_000_000_000.0, "30 s"),
        ] {
            assert_eq!(latency(ns), text);
        }
    }

    #[test]
    fn only_all_of_it_is_all_of_it() {
        let percent = |part: u64, whole: u64| percent_rounded_down(part as f64 * 100.0 / whole as f64, 1);
        assert_eq!(percent(131_071, 131_072), "99.9");
        assert_eq!(percent((1 << 44) - 1, 1 << 44), "99.9");
        assert_eq!(
            (percent(7, 7), percent(0, 7), percent(1, 2), percent(1, 3)),
            ("100.0".into(), "0.0".into(), "50.0".into(), "33.3".into())
        );
        for thousandth in 0..=1000 {
            let said = format!("{}.{}", thousandth / 10, thousandth % 10);
            assert_eq!(percent(thousandth, 1000), said);
        }
        assert_eq!(percent_rounded_down(4.35, 2), "4.35");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!((counted(1u64, "I/O"), counted(0u32, "I/O")), ("1 I/O".into(), "0 I/Os".into()));
        assert_eq!((counted(1usize, "flush"), counted(2usize, "flush")), ("1 flush".into(), "2 flushes".into()));
        assert_eq!(format!("1,000 {}", pluralized(1000u64, "corrupt unit")), "1,000 corrupt units");
    }

    #[test]
    fn whole_numbers_have_commas() {
        assert_eq!(grouped(-1_234_567.0), "-1,234,567");
        assert_eq!((grouped(999.6), grouped(0.0)), ("1,000".into(), "0".into()));
    }

    #[test]
    fn sizes_print_as_diskspd_2_3_prints_them() {
        for (bytes, text) in [
            (0, "0B"),
            (512, "512B"),
            (1536, "1.5KiB"),
            (65_536, "64KiB"),
            (1_310_720, "1.25MiB"),
            (1_048_575, "1024KiB"),
            ((1 << 30) + 1, "1GiB"),
            (1 << 50, "1PiB"),
            (u64::MAX, "16384PiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
