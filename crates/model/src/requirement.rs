//! Absolute acceptance criteria of a run (`--require`).

use crate::metric::Metric;

/// A bound that a metric must keep in every timespan, over reads and writes together.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// As it was typed: `p99<10ms`.
    pub typed: String,
    /// What is bounded.
    pub metric: Metric,
    /// How.
    pub operator: Operator,
    /// In the metric's unit.
    pub bound: f64,
}

// The bound is a number, which equals itself.
impl Eq for Requirement {}

impl Requirement {
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

    #[test]
    fn the_bound_itself_is_met_by_at_most_and_at_least() {
        let met = |operator, value| {
            Requirement { typed: String::new(), metric: Metric::P99, operator, bound: 10.0 }.is_met_by(value)
        };
        let around = |operator| [9.9, 10.0, 10.1].map(|value| met(operator, value));
        assert_eq!(around(Operator::Less), [true, false, false]);
        assert_eq!(around(Operator::AtMost), [true, true, false]);
        assert_eq!(around(Operator::More), [false, false, true]);
        assert_eq!(around(Operator::AtLeast), [false, true, true]);
    }
}
