//! Figures with their units, short enough for axes and tiles.

pub use crate::numbers::{change, grouped, interval_of_change, latency, significant, significant_grouped, trimmed};
use model::units::Bytes;

/// The dimension of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// I/Os per second.
    Iops,
    /// MiB per second.
    MibPerS,
    /// Latency in nanoseconds.
    LatencyNs,
    /// Seconds since the start of the measurement.
    TimeS,
    /// A number of things.
    Count,
    /// Percent.
    Percent,
    /// Percent more or less.
    Change,
    /// A percentile by its nines: 2 is the 99th.
    Nines,
}

impl Quantity {
    /// Its name in attributes of a page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::MibPerS => "mib",
            Self::LatencyNs => "latency",
            Self::TimeS => "time",
            Self::Count => "count",
            Self::Percent => "percent",
            Self::Change => "change",
            Self::Nines => "nines",
        }
    }

    /// A value with no more digits than are significant.
    pub fn value(self, value: f64) -> String {
        match self {
            Self::Iops if value < 100.0 => format!("{} IOPS", significant(value)),
            Self::Iops => format!("{} IOPS", grouped(value)),
            Self::MibPerS => format!("{} MiB/s", significant_grouped(value)),
            Self::LatencyNs => latency(value),
            Self::TimeS => format!("{} s", trimmed(value, 3)),
            Self::Count => grouped(value),
            Self::Percent => format!("{} %", significant(value)),
            Self::Change => change(value),
            Self::Nines => format!("{}th", trimmed((1.0 - 10f64.powf(-value)) * 100.0, 7)),
        }
    }

    /// A tick label of an axis with this step.
    pub fn tick(self, value: f64, step: f64) -> String {
        let decimals = decimals_of(step);
        match self {
            Self::Iops | Self::Count | Self::MibPerS | Self::Nines if step >= 1000.0 => thousands(value),
            Self::Iops | Self::Count | Self::MibPerS | Self::Nines => trimmed(value, decimals),
            Self::LatencyNs => latency(value),
            Self::TimeS => time(value),
            Self::Percent => format!("{} %", trimmed(value, decimals)),
            Self::Change if value == 0.0 => "0 %".to_owned(),
            Self::Change => format!("{}{} %", if value > 0.0 { "+" } else { "" }, trimmed(value, decimals)),
        }
    }
}

/// `23.54 GiB`
pub fn size(bytes: u64) -> String {
    spaced(&Bytes(bytes).to_string())
}

/// Words of the text report with a space before each binary unit, as on pages.
pub fn spaced(words: &str) -> String {
    let mut text = String::with_capacity(words.len() + 4);
    for (index, character) in words.char_indices() {
        let rest = &words[index..];
        let is_unit = ["KiB", "MiB", "GiB", "TiB", "PiB"].iter().any(|unit| rest.starts_with(unit));
        if is_unit && text.ends_with(|before: char| before.is_ascii_digit()) {
            text.push(' ');
        }
        text.push(character);
    }
    text
}

/// `12k`, `1.5M`
fn thousands(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => return trimmed(value, 2),
    };
    format!("{}{unit}", trimmed(value, 2))
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{} h", trimmed(s / 3600.0, 2)),
        s if s >= 180.0 => format!("{} min", trimmed(s / 60.0, 1)),
        s => format!("{} s", trimmed(s, 3)),
    }
}

fn decimals_of(step: f64) -> usize {
    if step >= 1.0 || step <= 0.0 { 0 } else { (-step.log10().floor()).min(9.0) as usize }
}

/// `1,414 to 44,426 IOPS`, `180 µs to 5.63 ms`, or one of them if they are the same.
pub fn range(low: &str, high: &str) -> String {
    if low == high {
        return high.to_owned();
    }
    let unit = high.rsplit(' ').next().unwrap_or_default();
    let low = low.strip_suffix(unit).map_or(low, str::trim_end);
    format!("{low} to {high}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_space_before_the_unit() {
        assert_eq!((size(64 << 20), size(25_275_760_640)), ("64 MiB".to_owned(), "23.54 GiB".to_owned()));
        assert_eq!(spaced("vda 100 % (64MiB in 1 extent)"), "vda 100 % (64 MiB in 1 extent)");
        assert_eq!((spaced("aMiB 5 MiB"), size(512)), ("aMiB 5 MiB".to_owned(), Bytes(512).to_string()));
    }

    #[test]
    fn ranges_have_one_unit_if_both_ends_have_it() {
        assert_eq!(range("1,414 IOPS", "44,426 IOPS"), "1,414 to 44,426 IOPS");
        assert_eq!((range("180 µs", "5.63 ms"), range("3 %", "3 %")), ("180 µs to 5.63 ms".into(), "3 %".into()));
    }

    #[test]
    fn values_and_ticks_are_short() {
        assert_eq!(Quantity::Iops.value(52_287.4), "52,287 IOPS");
        assert_eq!(Quantity::Iops.value(4.256), "4.26 IOPS");
        assert_eq!(Quantity::MibPerS.value(1_204.6), "1,205 MiB/s");
        assert_eq!(Quantity::Change.value(-3.25), "-3.2 %");
        assert_eq!(
            (Quantity::Iops.tick(15_000.0, 5_000.0), Quantity::Iops.tick(800.0, 200.0)),
            ("15k".into(), "800".into())
        );
        assert_eq!(Quantity::Iops.tick(2_500_000.0, 500_000.0), "2.5M");
        assert_eq!(Quantity::MibPerS.tick(0.25, 0.05), "0.25");
        assert_eq!(
            (Quantity::TimeS.tick(120.0, 20.0), Quantity::TimeS.tick(600.0, 60.0)),
            ("120 s".into(), "10 min".into())
        );
        assert_eq!(
            (Quantity::Change.tick(-20.0, 10.0), Quantity::Change.tick(5.0, 5.0)),
            ("-20 %".into(), "+5 %".into())
        );
    }
}
