//! Distributions of random I/Os: the lists of `-rdpct` and `-rdabs`.

use crate::number::split_digits;
use crate::size;
use model::profile::{Distribution, DistributionRange};

/// Reads `pct` or `abs` and its list, and adds the range that `DiskSpd` adds for the remaining percentage of I/Os.
pub(crate) fn parse(text: &str, block_bytes: u64) -> Result<Distribution, String> {
    let text = text.trim_end();
    if let Some(list) = text.strip_prefix("pct") {
        let mut distribution = Distribution::Percent(parse_list(list.trim_start(), percent_of_target)?);
        distribution.complete();
        return Ok(distribution);
    }
    if let Some(list) = text.strip_prefix("abs") {
        let ranges = parse_list(list.trim_start(), |text| bytes_of_target(text, block_bytes))?;
        let mut distribution = Distribution::Absolute(ranges);
        distribution.complete();
        return Ok(distribution);
    }
    Err("invalid distribution (expected: -rdpct<IO%>/<target%>:... or -rdabs<IO%>/<size>:..., as in -rdpct90/10)"
        .to_owned())
}

fn parse_list(
    list: &str,
    length: impl Fn(&str) -> Result<(u64, &str), String>,
) -> Result<Vec<DistributionRange>, String> {
    let mut ranges = Vec::new();
    let mut rest = list;
    loop {
        let (digits, behind) = split_digits(rest);
        let io_percent = percent(digits, 0, "the percentage of I/Os")?;
        let Some(behind) = behind.strip_prefix('/') else {
            return Err(format!("expected '/' and a length after the I/O percentage {digits}"));
        };
        let (length, behind) = length(behind)?;
        ranges.push(DistributionRange { io_percent, length });
        if behind.is_empty() {
            return Ok(ranges);
        }
        rest = behind
            .strip_prefix(':')
            .ok_or_else(|| format!("unexpected '{behind}' after a range; separate ranges with ':'"))?;
    }
}

fn percent(digits: &str, min: u32, what: &str) -> Result<u32, String> {
    let fault = || {
        let found = if digits.is_empty() { "missing".to_owned() } else { format!("'{digits}'") };
        format!("{what} must be a number from {min} to 100; it is {found}")
    };
    digits.parse().ok().filter(|value| (min..=100).contains(value)).ok_or_else(fault)
}

fn percent_of_target(text: &str) -> Result<(u64, &str), String> {
    let (digits, rest) = split_digits(text);
    Ok((u64::from(percent(digits, 1, "the percentage of the target")?), rest))
}

fn bytes_of_target(text: &str, block_bytes: u64) -> Result<(u64, &str), String> {
    let (bytes, rest) = size::leading(text, block_bytes).map_err(|fault| format!("invalid length: {fault}"))?;
    if bytes == 0 { Err("the length of a range must be above 0".to_owned()) } else { Ok((bytes, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<(u32, u64)> {
        let distribution = parse(text, 4096).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        distribution.ranges().iter().map(|range| (range.io_percent, range.length)).collect()
    }

    #[test]
    fn percent_lists_are_completed_to_the_whole_target() {
        assert_eq!(list("pct10/10:10/10:0/10"), [(10, 10), (10, 10), (0, 10), (80, 70)]);
        assert_eq!(list("pct90/10"), [(90, 10), (10, 90)]);
        assert_eq!(list("pct100/50"), [(100, 50)], "used up: left for validation to refuse");
        assert_eq!(list("pct10/50:10/50"), [(10, 50), (10, 50)]);
        assert_eq!(list("pct60/60:20/60"), [(60, 60), (20, 60)]);
    }

    #[test]
    fn absolute_lists_are_completed_to_the_end() {
        assert_eq!(list("abs10/1G:10/1G:0/100G"), [(10, 1 << 30), (10, 1 << 30), (0, 100 << 30), (80, 0)]);
        assert_eq!(list("abs90/16b"), [(90, 65_536), (10, 0)]);
        assert_eq!(list("abs100/1G"), [(100, 1 << 30)]);
    }

    #[test]
    fn faulty_lists_are_refused() {
        for text in [
            "",
            "foo",
            "PCT90/10",
            "pct",
            "pctx",
            "pct10",
            "pct10/",
            "pct10/10:",
            "pct10/10,5/5",
            "pct101/10",
            "pct10/0",
            "pct10/101",
            "pct-1/10",
            "pct1.5/10",
            "pct4294967396/10",
            "pct10/10x",
            "abs",
            "abs10/0",
            "abs10/1P",
            "abs10/",
            "abs90/10G:",
            "abs101/1G",
            "abs10/1GB",
            "abs10/1G/5",
        ] {
            assert!(parse(text, 4096).is_err(), "{text}");
        }
    }
}
