//! `--rate` and `--rate-process`: when the I/Os of an open loop are meant to start.

use crate::units::Millionths;
use serde::{Deserialize, Serialize};
use std::fmt;

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// `--rate`: intended I/Os per second of all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OfferedRate {
    /// The same all the time.
    Steady(u32),
    /// Changes linearly over the measured time; during the warm-up it is the first, during the cool-down the last.
    Ramp {
        /// At the start of the measurement.
        from_iops: u32,
        /// At its end.
        to_iops: u32,
    },
}

impl Default for OfferedRate {
    fn default() -> Self {
        Self::Steady(0)
    }
}

impl From<u32> for OfferedRate {
    fn from(iops: u32) -> Self {
        Self::Steady(iops)
    }
}

impl OfferedRate {
    /// Parses the value of `--rate`: `5000`, `1000..50000`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let iops = |text: &str| {
            let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|iops| is_digits && *iops > 0)
        };
        let rate = match text.split_once("..") {
            None => iops(text).map(Self::Steady),
            Some((from, to)) => iops(from).zip(iops(to)).map(|(from_iops, to_iops)| Self::Ramp { from_iops, to_iops }),
        };
        rate.ok_or_else(|| {
            format!(
                "'{text}' is not a rate (expected: <IOPS>, or <IOPS>..<IOPS> to change it over the measured time, each a \
                 whole number from 1 to {})",
                u32::MAX
            )
        })
    }

    /// The mean over the measured time.
    pub fn mean_iops(self) -> f64 {
        match self {
            Self::Steady(iops) => f64::from(iops),
            Self::Ramp { from_iops, to_iops } => f64::midpoint(f64::from(from_iops), f64::from(to_iops)),
        }
    }

    /// The lowest rate, which may not be 0.
    pub fn least_iops(self) -> u32 {
        match self {
            Self::Steady(iops) => iops,
            Self::Ramp { from_iops, to_iops } => from_iops.min(to_iops),
        }
    }

    /// True if it changes over the measured time.
    pub const fn is_ramp(self) -> bool {
        matches!(self, Self::Ramp { .. })
    }
}

impl fmt::Display for OfferedRate {
    /// As the option takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady(iops) => write!(f, "{iops}"),
            Self::Ramp { from_iops, to_iops } => write!(f, "{from_iops}..{to_iops}"),
        }
    }
}

/// `--rate-process`: how the intended starts of an open loop follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateProcess {
    /// At even distances.
    #[default]
    Constant,
    /// Independently of each other: gaps are exponentially distributed.
    Poisson,
    /// At even distances, but by turns faster and slower.
    Bursts(RateBursts),
    /// At the times of a trace that is replayed; not a value of the option.
    Trace,
}

/// A higher rate by turns with a lower one. The first burst of the measurement begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateBursts {
    /// How long a burst is, in nanoseconds.
    pub on_ns: u64,
    /// How long it is from its end to the next burst.
    pub off_ns: u64,
    /// The rate in a burst, in parts of the mean rate. Between bursts, the rate is what keeps the mean.
    #[serde(rename = "factor_millionths")]
    pub factor: Millionths,
}

/// Values of `--rate-process`.
const EXPECTED: &str = "constant, poisson or bursts:<on>,<off>,<factor>, as in bursts:100ms,900ms,5";

impl RateProcess {
    /// Parses the value of the option.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "constant" => Ok(Self::Constant),
            None if text == "poisson" => Ok(Self::Poisson),
            Some(("bursts", bursts)) => RateBursts::parse(bursts).map(Self::Bursts),
            _ => Err(format!("unknown value '{text}' (expected: {EXPECTED})")),
        }
    }

    /// The fault of a value that was not read by [`parse`](Self::parse), if it has one.
    pub fn fault(self) -> Option<String> {
        match self {
            Self::Constant | Self::Poisson | Self::Trace => None,
            Self::Bursts(bursts) => bursts.fault(),
        }
    }
}

impl fmt::Display for RateProcess {
    /// As the option takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Trace => f.write_str("trace"),
            Self::Bursts(RateBursts { on_ns, off_ns, factor }) => {
                write!(f, "bursts:{},{},{factor}", duration(*on_ns), duration(*off_ns))
            }
        }
    }
}

impl RateBursts {
    /// The longest part of a cycle.
    const LONGEST_NS: u64 = 3600 * NS_PER_S;

    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let mut next = || parts.next().unwrap_or_default();
        let (on_ns, off_ns, factor) = (parse_duration(next()), parse_duration(next()), Millionths::parse(next()));
        let (Some(on_ns), Some(off_ns), Some(factor), None) = (on_ns, off_ns, factor, parts.next()) else {
            return Err(format!("'{text}' does not describe bursts (expected: {EXPECTED}; durations in us, ms or s)"));
        };
        let bursts = Self { on_ns, off_ns, factor };
        bursts.fault().map_or(Ok(bursts), Err)
    }

    fn fault(self) -> Option<String> {
        let Self { on_ns, off_ns, factor } = self;
        if [on_ns, off_ns].into_iter().any(|part| part == 0 || part > Self::LONGEST_NS) {
            return Some(
                "bursts and the time between them must be 1us to 3600s each (--rate-process=bursts)".to_owned(),
            );
        }
        let most = self.factor_max();
        (factor <= Millionths::ONE || u128::from(factor.0) > most).then(|| {
            format!(
                "the factor {factor} is not possible: with bursts of {} and {} between them, it must be above 1 and at \
                 most {}, at which nothing is started between bursts (--rate-process=bursts)",
                duration(on_ns),
                duration(off_ns),
                most as f64 / 1e6
            )
        })
    }

    /// The factor at which all I/Os are in bursts, in millionths, rounded down.
    fn factor_max(self) -> u128 {
        let Self { on_ns, off_ns, .. } = self;
        (u128::from(on_ns) + u128::from(off_ns)) * u128::from(Millionths::ONE.0) / u128::from(on_ns)
    }

    /// The rate in a burst and between bursts, in parts of the mean.
    pub fn factors(self) -> (f64, f64) {
        if u128::from(self.factor.0) == self.factor_max() {
            // Also if the number of decimals does not suffice.
            return ((self.on_ns + self.off_ns) as f64 / self.on_ns as f64, 0.0);
        }
        let (on, off, factor) = (self.on_ns as f64, self.off_ns as f64, self.factor.value());
        (factor, (on + off - factor * on) / off)
    }
}

/// `100ms`, `2s`, `50us`.
fn parse_duration(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => NS_PER_US,
        "ms" => NS_PER_MS,
        "s" => NS_PER_S,
        _ => return None,
    };
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_digits)?.checked_mul(unit)
}

/// In the largest unit that holds it whole.
fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 2] = [(NS_PER_S, "s"), (NS_PER_MS, "ms")];
    let whole = UNITS.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{}us", ns / NS_PER_US), |(unit, name)| format!("{}{name}", ns / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for text in ["1", "5000", "1000..50000", "4294967295..1"] {
            assert_eq!(OfferedRate::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "0", "-1", "+1", "1..", "..5", "0..5", "5..0", "1...5", "1..2..3", "4294967296", "1k"] {
            let message = OfferedRate::parse(text).unwrap_err();
            assert!(message.contains(&format!("'{text}'")) && message.contains("1 to 4294967295"), "{message}");
        }
        assert!((OfferedRate::parse("1000..50000").unwrap().mean_iops() - 25_500.0).abs() < 1e-9);
        let (steady, ramp) = (OfferedRate::Steady(7), OfferedRate::Ramp { from_iops: 9, to_iops: 8 });
        assert_eq!((steady.least_iops(), ramp.least_iops()), (7, 8));
        // Results of earlier versions have a number.
        assert_eq!(serde_json::to_string(&steady).unwrap(), "7");
        assert_eq!(serde_json::from_str::<OfferedRate>("7").unwrap(), steady);
        assert_eq!(serde_json::from_str::<OfferedRate>(&serde_json::to_string(&ramp).unwrap()).unwrap(), ramp);
    }

    #[test]
    fn processes_are_read_as_they_are_written() {
        for text in ["constant", "poisson", "bursts:100ms,900ms,5", "bursts:1s,2s,3", "bursts:50us,1500us,1.5"] {
            assert_eq!(RateProcess::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(RateProcess::parse("bursts:1000ms,2000ms,3.0").unwrap().to_string(), "bursts:1s,2s,3");
        for text in ["", "uniform", "bursts", "burst:1s,1s,2"] {
            assert!(RateProcess::parse(text).unwrap_err().contains("unknown value"), "{text}");
        }
        for text in ["bursts:", "bursts:1s,1s", "bursts:1s,1s,2,3", "bursts:1,1,2", "bursts:1s,1m,2", "bursts:-1s,1s,2"]
        {
            assert!(RateProcess::parse(text).unwrap_err().contains("does not describe bursts"), "{text}");
        }
    }

    #[test]
    fn bursts_that_cannot_keep_the_mean_are_refused() {
        let fault = |text: &str| RateProcess::parse(text).unwrap_err();
        assert!(fault("bursts:100ms,900ms,10.1").contains("above 1 and at most 10, at which"));
        assert!(fault("bursts:100ms,900ms,1").contains("factor 1 is not possible"));
        assert!(fault("bursts:0ms,900ms,2").contains("1us to 3600s"));
        assert!(fault("bursts:1s,3601s,2").contains("1us to 3600s"));
        let factors = |text: &str| match RateProcess::parse(text) {
            Ok(RateProcess::Bursts(bursts)) => bursts.factors(),
            other => panic!("{other:?}"),
        };
        assert_eq!(factors("bursts:100ms,900ms,10"), (10.0, 0.0));
        // A third has no decimals that suffice.
        assert_eq!(factors("bursts:3s,7s,3.333333"), (10.0 / 3.0, 0.0));
        let (on, off) = factors("bursts:100ms,900ms,5");
        assert!((on * 0.1 + off * 0.9 - 1.0).abs() < 1e-12, "{on} {off}");
    }
}
