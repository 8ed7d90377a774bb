//! `--skew`: how unevenly random I/Os fall on the positions of a target.

use crate::units::Millionths;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `--skew`: a few positions receive most of the random I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skew {
    /// The law.
    pub law: SkewLaw,
    /// `zipf`: the exponent; `pareto`: the share of the positions.
    #[serde(rename = "parameter_millionths")]
    pub parameter: Millionths,
    /// The hottest positions are the first, in order; otherwise they lie anywhere.
    pub is_contiguous: bool,
}

/// How much hotter a position is than the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkewLaw {
    /// The k-th hottest position is hit in proportion to k to the power of minus the parameter.
    Zipf,
    /// The hottest part of the positions, as large as the parameter, receives 1 - parameter of the I/Os, and so on
    /// inside it.
    Pareto,
}

impl SkewLaw {
    const ALL: [Self; 2] = [Self::Zipf, Self::Pareto];

    /// The word in options and output.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Zipf => "zipf",
            Self::Pareto => "pareto",
        }
    }

    /// True if the law may have this parameter.
    fn admits(self, parameter: Millionths) -> bool {
        match self {
            Self::Zipf => (1..=4 * Millionths::ONE.0).contains(&parameter.0),
            Self::Pareto => (1..Millionths::ONE.0 / 2).contains(&parameter.0),
        }
    }
}

/// Values of `--skew`.
const EXPECTED: &str = "zipf:<exponent above 0, up to 4> or pareto:<fraction above 0, below 0.5>, with at most six \
                        decimal places; append ',contiguous' to place the hottest positions next to each other";

impl Skew {
    /// Parses the value of the option: `zipf:1.1`, `pareto:0.2,contiguous`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parse = || {
            let (law, place) = text.split_once(',').unwrap_or((text, "scattered"));
            let (law, parameter) = law.split_once(':')?;
            let law = SkewLaw::ALL.into_iter().find(|known| known.option() == law)?;
            let parameter = Millionths::parse(parameter).filter(|parameter| law.admits(*parameter))?;
            let is_contiguous = match place {
                "contiguous" => true,
                "scattered" => false,
                _ => return None,
            };
            Some(Self { law, parameter, is_contiguous })
        };
        parse().ok_or_else(|| format!("'{text}' is not a skew (expected: {EXPECTED})"))
    }

    /// The fault of a value that was not read by [`parse`](Self::parse), if it has one.
    pub fn fault(self) -> Option<String> {
        (!self.law.admits(self.parameter)).then(|| format!("--skew={self} is out of range (expected: {EXPECTED})"))
    }

    /// Where the hottest positions lie, in a word.
    pub const fn placement(self) -> &'static str {
        if self.is_contiguous { "contiguous" } else { "scattered" }
    }
}

impl fmt::Display for Skew {
    /// As the option takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contiguous = if self.is_contiguous { ",contiguous" } else { "" };
        write!(f, "{}:{}{contiguous}", self.law.option(), self.parameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written() {
        for text in ["zipf:1.1", "zipf:4", "zipf:0.000001", "pareto:0.2", "pareto:0.499999,contiguous"] {
            assert_eq!(Skew::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Skew::parse("zipf:1.10,scattered").unwrap().to_string(), "zipf:1.1");
    }

    #[test]
    fn what_no_law_takes_is_refused() {
        for text in [
            "",
            "zipf",
            "zipf:",
            "zipf:0",
            "zipf:4.000001",
            "zipf:-1",
            "zipf:1e0",
            "zipf:1.0000001",
            "zipf:.5",
            "zipf:1.",
            "zipf:99999999999",
            "pareto:0.5",
            "pareto:0",
            "normal:1",
            "zipf:1,near",
            "zipf:1,contiguous,",
        ] {
            let message = Skew::parse(text).unwrap_err();
            assert!(message.starts_with(&format!("'{text}' is not a skew (expected: zipf:")), "{message}");
        }
        let skew = Skew { law: SkewLaw::Zipf, parameter: Millionths(4_000_001), is_contiguous: false };
        assert!(skew.fault().is_some_and(|fault| fault.starts_with("--skew=zipf:4.000001 ")));
    }
}
