//! The value of `--require`: `p99<10ms`, `iops>=50K`.

use crate::decimal;
use model::metric::{MetricName, MetricUnit};
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use model::requirement::{Operator, Requirement};

/// Larger values are typing errors.
const FIGURE_MAX: f64 = 1e15;

/// A metric, an operator and a bound.
pub(crate) fn parse(text: &str) -> Result<Requirement, String> {
    // An error repeats only a part of a text that is too long.
    let typed = clipped(text.trim(), REPEATED_CHARACTERS_MAX);
    let mut parts =
        Operator::ALL.into_iter().filter_map(|operator| Some((operator, typed.split_once(operator.sign())?)));
    let (operator, (name, bound_text)) = parts
        .next()
        .ok_or_else(|| format!("'{typed}' is not a metric with a bound (expected: as in p99<10ms or iops>=5000)"))?;
    let (name, bound_text) = (MetricName::parse(name.trim_end())?, bound_text.trim_start());
    let bound = bound(&name, bound_text)?;
    Ok(Requirement {
        typed: typed.to_string(),
        name,
        operator,
        bound,
        bound_typed: bound_text.to_owned(),
        basis: String::new(),
    })
}

/// A bound in the unit of its metric.
fn bound(name: &MetricName, text: &str) -> Result<f64, String> {
    let (value, form) = match name.metric.unit() {
        MetricUnit::IosPerSecond => (scaled(text), "a number of I/Os per second, optionally with K or M, as in 50K"),
        MetricUnit::MibPerSecond => (number(text), "a number of MiB/s, as in 500"),
        MetricUnit::Percent => (number(text.strip_suffix('%').unwrap_or(text)), "percent, as in 25%"),
        MetricUnit::Nanoseconds => {
            let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
            let ns = decimal::time_ns(text).ok().filter(|_| has_unit);
            (ns.map(|ns| ns as f64), "a time with its unit, as in 500us, 10ms or 1s")
        }
    };
    value
        .filter(|value| *value <= FIGURE_MAX)
        .ok_or_else(|| format!("'{text}' is not a bound for {name} (expected: {form})"))
}

/// A number with a decimal suffix.
fn scaled(text: &str) -> Option<f64> {
    match text.strip_suffix(['K', 'k']) {
        Some(thousands) => Some(number(thousands)? * 1e3),
        None => match text.strip_suffix('M') {
            Some(millions) => Some(number(millions)? * 1e6),
            None => number(text),
        },
    }
}

/// Digits, and decimals after a point.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && !text.ends_with('.');
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::Metric;

    fn parsed(text: &str) -> Result<(Metric, Operator, f64), String> {
        let requirement = parse(text)?;
        assert_eq!(requirement.typed, text);
        assert_eq!(requirement.name, MetricName::bare(requirement.name.metric));
        Ok((requirement.name.metric, requirement.operator, requirement.bound))
    }

    #[test]
    fn names_have_scopes_and_blanks_around_the_operator_do_not_count() {
        for (text, expected) in [
            ("commit.p99<10ms", "commit.p99<10ms"),
            ("commit.p99 <= 10ms", "commit.p99<=10ms"),
            ("  log:max >\t1ms ", "log:max>1ms"),
            ("read.mib>=5", "read.bandwidth>=5"),
        ] {
            assert_eq!(parse(text).map(|requirement| requirement.to_string()), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn a_bound_is_in_the_unit_of_its_metric() {
        for (text, expected) in [
            ("p99<10ms", (Metric::P99, Operator::Less, 1e7)),
            ("p99.9<=1.5ms", (Metric::P999, Operator::AtMost, 1.5e6)),
            ("max < 1s", (Metric::Max, Operator::Less, 1e9)),
            ("mean<500us", (Metric::Mean, Operator::Less, 5e5)),
            ("iops>5000", (Metric::Iops, Operator::More, 5000.0)),
            ("iops>=1.5M", (Metric::Iops, Operator::AtLeast, 1.5e6)),
            ("iops>50K", (Metric::Iops, Operator::More, 5e4)),
            ("mib>99.5", (Metric::MibPerS, Operator::More, 99.5)),
            ("cpu<25%", (Metric::Cpu, Operator::Less, 25.0)),
            ("cpu<25", (Metric::Cpu, Operator::Less, 25.0)),
        ] {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("", "'' is not a metric with a bound"),
            ("p99", "as in p99<10ms"),
            ("p99=10ms", "as in p99<10ms"),
            ("p98<10ms", "unknown metric 'p98' (expected: iops, bandwidth, mean, p50, p90, p95, p99, p99.9, "),
            ("<10ms", "unknown metric ''"),
            ("p99<10", "'10' is not a bound for p99 (expected: a time with its unit"),
            ("p99<", "'' is not a bound for p99"),
            ("p99<-1ms", "'-1ms' is not a bound"),
            ("p99<>1ms", "'>1ms' is not a bound"),
            ("iops>5G", "'5G' is not a bound for iops"),
            ("iops>inf", "'inf' is not a bound"),
            ("iops>5.", "'5.' is not a bound"),
            ("iops>99999999999999999", "is not a bound"),
            ("mib>5K", "'5K' is not a bound for bandwidth"),
            ("cpu<x%", "'x%' is not a bound for cpu"),
        ] {
            let reason = parsed(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }
}
