//! Arguments of `diskspd compare`.

use super::report::OutputAsked;
use super::{Arguments, TypedArguments};
use crate::request::Environment;
use crate::{file_name, number};
use clap::ArgAction;
use std::path::{Path, PathBuf};

/// Compare saved results: differences and their significance
///
/// Compares results of the same load: the differences with 95 % confidence intervals, and for each whether it is
/// better, worse, equivalent within 5 % or inconclusive. Several results on a side count as repeated runs; a directory means
/// all results in it, as written by repeat.
#[derive(clap::Args)]
#[command(override_usage = "diskspd compare FIRST SECOND [--fail-if FIGURE>+N%] [--output PAGE.html]
       diskspd compare last
       diskspd compare FIRST... --with SECOND... [--fail-if FIGURE>+N%] [--output PAGE.html]
       diskspd compare --baseline ONE --drives N MANY")]
pub(super) struct CompareArguments {
    /// results: JSON from --json, JSON of fio, DiskSpd output from Windows, or a trace of block I/O (trace record, --trace), which is
    /// compared as a load: kinds, sizes, order, rate, depth and latencies. last is the newest of those kept in the directory of
    /// DISKSPD_RESULTS, last~1 the one before, and so on; last alone is compared with last~1
    #[arg(value_name = "RESULT")]
    results: Vec<PathBuf>,
    /// the results that follow are the second side
    #[arg(long, action = ArgAction::Count)]
    with: u8,
    /// FIGURE>+N% or FIGURE<-N%: exit with status 4 if the metric (as of --require: iops, p99, commit.p99, ...) rose
    /// above, or fell below, the first side by more than N % and the change is significant, and with 6 if the results
    /// cannot tell; may be given again
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    fail_if: Vec<ChangeLimit>,
    /// compare even if the loads differ
    #[arg(long)]
    anyway: bool,
    /// write a page with charts too: a single self-contained .html file. An existing file is replaced only if it is empty or a page
    /// of this program
    #[arg(short, long, value_name = "PAGE.html", value_parser = file_name::path_alone(), conflicts_with = "baseline")]
    output: Option<PathBuf>,
    /// let --output replace any regular file
    #[arg(long, requires = "output")]
    replace_output: bool,
    /// show how the result of several drives scales, compared with ONE, the result of a single drive; needs --drives
    #[arg(long, value_name = "ONE", value_parser = file_name::path())]
    baseline: Option<PathBuf>,
    /// number of drives that were measured together
    #[arg(long, value_name = "N", value_parser = number::count::<100_000>)]
    drives: Option<u32>,
}

/// Arguments of `diskspd compare`.
#[derive(Clone, Debug, PartialEq)]
pub enum CompareCommand {
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
        /// `--output`: a page.
        output: Option<OutputAsked>,
    },
    /// Compare the result of several drives with that of one.
    Scaling {
        /// The result of one drive.
        one: PathBuf,
        /// The result of several.
        many: PathBuf,
        /// Number of drives.
        drives: u32,
    },
}

/// A change that is too large.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeLimit {
    /// As typed.
    pub typed: String,
    /// The name of a metric; not checked here.
    pub figure: String,
    /// In percent; negative = the metric must not fall further.
    pub percent: f64,
}

impl ChangeLimit {
    /// True if a change of `percent` is beyond the limit.
    pub fn is_exceeded_by(&self, percent: f64) -> bool {
        if self.percent.is_sign_negative() { percent < self.percent } else { percent > self.percent }
    }

    /// True if a change from `low` to `high` percent may be beyond the limit.
    pub fn may_be_exceeded_by(&self, (low, high): (f64, f64)) -> bool {
        self.is_exceeded_by(low) || self.is_exceeded_by(high)
    }
}

impl CompareCommand {
    /// The paths of all results.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Compare { first, second, .. } => first.iter_mut().chain(second).collect(),
            Self::Scaling { one, many, .. } => vec![one, many],
        }
    }
}

impl Arguments for CompareArguments {
    type Request = CompareCommand;

    fn request(self, typed: &TypedArguments<'_>, _: &dyn Environment) -> Result<CompareCommand, String> {
        let Self { results, fail_if: limits, anyway, output, replace_output: replace, baseline, drives, .. } = self;
        if let Some(path) = output.as_ref().filter(|path| !is_page(path)) {
            return Err(format!(
                "--output '{}': a comparison is a page: give a name that ends with .html",
                path.display()
            ));
        }
        let output = output.map(|path| OutputAsked { path, replace });
        let turn = typed.places("with").first().copied();
        let is_second = |at: usize| turn.is_some_and(|turn| at > turn);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (at, path) in typed.places("results").into_iter().zip(results) {
            if is_second(at) { &mut second } else { &mut first }.push(path);
        }
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
        if turn.is_none() && first.len() == 1 && first[0].as_os_str() == "last" {
            // A single result is compared with the previous one.
            first.insert(0, PathBuf::from("last~1"));
        }
        if turn.is_none() && first.len() == 2 {
            second.extend(first.pop());
        }
        match (first.is_empty() || second.is_empty(), turn.is_some()) {
            (false, _) => Ok(CompareCommand::Compare { first, second, limits, anyway, output }),
            (true, true) => Err("--with needs at least one result on each side".to_owned()),
            (true, false) if first.len() > 2 => {
                Err("more than two results: put --with between the two sides".to_owned())
            }
            (true, false) => Err("two results are needed".to_owned()),
        }
    }
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("html") || suffix.eq_ignore_ascii_case("htm"))
}

/// `p99>+5%`, `iops<-3%`
pub(super) fn limit(value: &str) -> Result<ChangeLimit, String> {
    let wrong = || format!("'{value}': invalid limit (expected: a metric and a change, as in 'p99>+5%' or 'iops<-3%')");
    let (figure, change, sign) = match (value.split_once('>'), value.split_once('<')) {
        (Some((figure, change)), None) => (figure, change.trim_start().strip_prefix('+'), 1.0),
        (None, Some((figure, change))) => (figure, change.trim_start().strip_prefix('-'), -1.0),
        _ => return Err(wrong()),
    };
    let number = change.and_then(|change| change.trim().strip_suffix('%')).map(str::trim_end).ok_or_else(wrong)?;
    let percent: f64 = number.parse().map_err(|_| wrong())?;
    if !(0.0..=10_000.0).contains(&percent) {
        return Err(wrong());
    }
    Ok(ChangeLimit { typed: value.to_owned(), figure: figure.trim().to_owned(), percent: sign * percent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    fn parsed(line: &str) -> Result<CompareCommand, String> {
        match typed("compare", line)? {
            Subcommand::Compare(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    fn sides(first: &[&str], second: &[&str]) -> CompareCommand {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        CompareCommand::Compare {
            first: paths(first),
            second: paths(second),
            limits: Vec::new(),
            anyway: false,
            output: None,
        }
    }

    #[test]
    fn two_results_are_two_sides_and_with_parts_more() {
        assert_eq!(parsed("a b"), Ok(sides(&["a"], &["b"])));
        assert_eq!(parsed("a b --with c"), Ok(sides(&["a", "b"], &["c"])));
        assert_eq!(parsed("a --with b c"), Ok(sides(&["a"], &["b", "c"])));
        assert_eq!(parsed("last"), Ok(sides(&["last~1"], &["last"])));
        assert_eq!(parsed("last~3 last"), Ok(sides(&["last~3"], &["last"])));
        assert_eq!(parsed("a --help"), Err("help".to_owned()));
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
        let spaced = limit(" commit.p99 > +5 % ").expect("blanks do not count");
        assert_eq!((spaced.figure.as_str(), spaced.percent), ("commit.p99", 5.0));
        assert!(limit("p99 > 5%").is_err() && limit("p99<+5%").is_err());
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
            ("a b -o c.txt", "give a name that ends with .html"),
            ("a b --replace-output", "--output"),
            ("--baseline a --drives 2 b -o c.html", "cannot be combined with"),
            ("a b --x", "invalid option '--x'"),
            ("a b --fial-if p99>+5%", "invalid option '--fial-if' (did you mean --fail-if?)"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
