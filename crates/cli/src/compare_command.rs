//! Arguments of `diskspd compare`.

use crate::command::ParseFailure;
use crate::file_name;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Output of `diskspd compare --help`.
pub const HELP: &str = "\
Usage: diskspd compare FIRST SECOND [--fail-if FIGURE>+N%]
       diskspd compare FIRST... --with SECOND... [--fail-if FIGURE>+N%]
       diskspd compare --baseline ONE --drives N MANY

Compares results of the same load: the differences with 95 % intervals, and for each whether it is better,
worse, no difference or inconclusive. Several results on a side count as repeated runs; a directory means
all results in it, as written by repeat.

  FIRST, SECOND   results: JSON from --json, or DiskSpd output from Windows
      --with      the results that follow are the second side
      --fail-if FIGURE>+N%, FIGURE<-N%
                  exit with status 4 if the metric (iops, mib, mean, p50, p99, p99.9, cpu) rose above, or
                  fell below, the first side by more than N % and the change is significant, and with 6
                  if the results cannot tell; may be given again
      --anyway    compare even if the loads differ
      --baseline ONE --drives N
                  how MANY, measured on N drives, scales relative to ONE, measured on one drive
  -h, --help      print this help

To measure a file named compare, write ./compare.
";

/// What follows `diskspd compare`.
#[derive(Clone, Debug, PartialEq)]
pub enum CompareCommand {
    /// Print [`HELP`].
    Help,
    /// Compare two sides.
    Compare {
        /// Files and directories of the first.
        first: Vec<PathBuf>,
        /// Of the second.
        second: Vec<PathBuf>,
        /// `--fail-if`
        limits: Vec<ChangeLimit>,
        /// `--anyway`
        anyway: bool,
    },
    /// How well many drives do beside one.
    Scaling {
        /// The result of one drive.
        one: PathBuf,
        /// The result of several.
        many: PathBuf,
        /// How many.
        drives: u32,
    },
}

/// A change that is too large.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeLimit {
    /// As typed.
    pub typed: String,
    /// The name of a figure; not checked here.
    pub figure: String,
    /// In percent; negative = the figure may not fall further.
    pub percent: f64,
}

/// Parses the arguments of `diskspd compare`.
pub fn parse(args: &[OsString]) -> Result<CompareCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd compare --help")))
}

fn read(args: &[OsString]) -> Result<CompareCommand, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut sides, mut is_second) = ([Vec::new(), Vec::new()], false);
    let (mut limits, mut anyway, mut baseline, mut drives) = (Vec::new(), false, None, None);
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(CompareCommand::Help),
            Long("with") => is_second = true,
            Long("anyway") => anyway = true,
            Long("baseline") => {
                let value = parser.value().map_err(|error| error.to_string())?;
                baseline = Some(file_name::path("--baseline", value)?);
            }
            Long("drives") => drives = Some(number_of_drives(&parser.value().map_err(|error| error.to_string())?)?),
            Long("fail-if") => limits.push(limit(&parser.value().map_err(|error| error.to_string())?)?),
            Value(path) => sides[usize::from(is_second)].push(PathBuf::from(path)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    let [mut first, mut second] = sides;
    match (baseline, drives) {
        (None, None) => {}
        (Some(one), Some(drives)) => {
            return match (first.pop(), first.is_empty() && second.is_empty()) {
                (Some(many), true) => Ok(CompareCommand::Scaling { one, many, drives }),
                _ => Err("--baseline needs exactly one other result".to_owned()),
            };
        }
        _ => return Err("--baseline and --drives must be given together".to_owned()),
    }
    if !is_second && first.len() == 2 {
        second.extend(first.pop());
    }
    match (first.is_empty() || second.is_empty(), is_second) {
        (false, _) => Ok(CompareCommand::Compare { first, second, limits, anyway }),
        (true, true) => Err("--with needs at least one result on each side".to_owned()),
        (true, false) if first.len() > 2 => Err("more than two results: put --with between the two sides".to_owned()),
        (true, false) => Err("two results are needed".to_owned()),
    }
}

fn number_of_drives(value: &OsString) -> Result<u32, String> {
    let number = value.to_str().and_then(|text| text.parse().ok()).filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| format!("--drives '{}' is not a number from 1 to 100000", value.display()))
}

/// `p99>+5%`, `iops<-3%`
fn limit(value: &OsString) -> Result<ChangeLimit, String> {
    let wrong = || {
        format!(
            "--fail-if '{}': invalid limit (expected: a metric and a change, as in 'p99>+5%' or 'iops<-3%')",
            value.display()
        )
    };
    let typed = value.to_str().ok_or_else(wrong)?;
    let (at, sign) = match (typed.find(">+"), typed.find("<-")) {
        (Some(at), None) => (at, 1.0),
        (None, Some(at)) => (at, -1.0),
        _ => return Err(wrong()),
    };
    let percent: f64 = typed[at + 2..].strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    if !(0.0..=10_000.0).contains(&percent) {
        return Err(wrong());
    }
    Ok(ChangeLimit { typed: typed.to_owned(), figure: typed[..at].to_owned(), percent: sign * percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CompareCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map_err(|failure| failure.messages.join("\n"))
    }

    fn sides(first: &[&str], second: &[&str]) -> CompareCommand {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        CompareCommand::Compare { first: paths(first), second: paths(second), limits: Vec::new(), anyway: false }
    }

    #[test]
    fn two_results_are_two_sides_and_with_parts_more() {
        assert_eq!(parsed("a b"), Ok(sides(&["a"], &["b"])));
        assert_eq!(parsed("a b --with c"), Ok(sides(&["a", "b"], &["c"])));
        assert_eq!(parsed("a --with b c"), Ok(sides(&["a"], &["b", "c"])));
        assert_eq!(parsed("a --help"), Ok(CompareCommand::Help));
        let scaling = CompareCommand::Scaling { one: "a".into(), many: "b".into(), drives: 8 };
        assert_eq!(parsed("--baseline a --drives 8 b"), Ok(scaling));
    }

    #[test]
    fn limits_have_a_figure_a_direction_and_a_share() {
        let Ok(CompareCommand::Compare { limits, anyway, .. }) =
            parsed("a b --anyway --fail-if p99>+5% --fail-if=iops<-2.5%")
        else {
            panic!()
        };
        let read: Vec<_> = limits.iter().map(|limit| (limit.figure.as_str(), limit.percent)).collect();
        assert_eq!((read, anyway), (vec![("p99", 5.0), ("iops", -2.5)], true));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "two results are needed"),
            ("a", "two results are needed"),
            ("a b c", "put --with between"),
            ("a --with", "--with needs at least one result on each side"),
            ("a b --fail-if p99", "as in 'p99>+5%'"),
            ("a b --fail-if p99>5%", "as in 'p99>+5%'"),
            ("a b --fail-if p99>+x%", "as in 'p99>+5%'"),
            ("--baseline a b", "must be given together"),
            ("--baseline a --drives 2", "one other result"),
            ("--baseline a --drives 2 b c", "one other result"),
            ("--baseline a --drives 0 b", "--drives '0'"),
            ("a b --x", "invalid option '--x'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
