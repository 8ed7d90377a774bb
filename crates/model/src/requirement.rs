//! Absolute acceptance criteria of a run (`--require`).

use crate::metric::MetricName;
use crate::profile::{Profile, TimeSpan};
use std::fmt;

/// A bound that a metric must keep in every timespan.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// As it was typed: `p99 < 10ms`.
    pub typed: String,
    /// The bounded metric.
    pub name: MetricName,
    /// How a value is compared with the bound.
    pub operator: Operator,
    /// In the metric's unit.
    pub bound: f64,
    /// The bound as it was typed: `10ms`.
    pub bound_typed: String,
    /// Where the bound comes from, as a preset states it; empty = the user's own.
    pub basis: String,
}

// The bound is a number, which equals itself.
impl Eq for Requirement {}

impl Requirement {
    /// The bounds that it stands for in a load, whose names state their I/Os.
    ///
    /// # Errors
    ///
    /// A sentence with the requirement of the metric that the load does not meet.
    pub fn resolve(&self, span: &TimeSpan) -> Result<Vec<Self>, String> {
        let names = self.name.resolve(span)?;
        Ok(names.into_iter().map(|name| Self { name, ..self.clone() }).collect())
    }

    /// The error if a load of a profile does not have its metric.
    pub fn refusal(&self, profile: &Profile) -> Option<String> {
        let reason = profile.time_spans.iter().find_map(|span| self.name.resolve(span).err())?;
        let place = if self.basis.is_empty() { "--require" } else { "[[require]] of the preset:" };
        Some(format!("{place} '{}': {reason}", self.typed))
    }

    /// True if a value of the metric keeps it.
    pub fn is_met_by(&self, value: f64) -> bool {
        match self.operator {
            Operator::Less => value < self.bound,
            Operator::AtMost => value <= self.bound,
            Operator::More => value > self.bound,
            Operator::AtLeast => value >= self.bound,
        }
    }
}

impl fmt::Display for Requirement {
    /// `commit.p99<10ms`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name, self.operator.sign(), self.bound_typed)
    }
}

/// How a value and a bound are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// All, those first that begin like a shorter one.
    pub const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Less, Self::More];

    /// As it is typed.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;

    #[test]
    fn the_bound_itself_is_met_by_at_most_and_at_least() {
        let met = |operator, value| {
            let (typed, bound_typed, basis) = (String::new(), String::new(), String::new());
            let name = MetricName::bare(Metric::P99);
            Requirement { typed, name, operator, bound: 10.0, bound_typed, basis }.is_met_by(value)
        };
        let around = |operator| [9.9, 10.0, 10.1].map(|value| met(operator, value));
        assert_eq!(around(Operator::Less), [true, false, false]);
        assert_eq!(around(Operator::AtMost), [true, true, false]);
        assert_eq!(around(Operator::More), [false, false, true]);
        assert_eq!(around(Operator::AtLeast), [false, true, true]);
    }
}
