//! Arguments of `diskspd ab`: a sweep of two points in pairs.

use super::compare::{ChangeLimit, limit};
use super::sweep::{AbOptions, RUN, SeriesArguments, SweepCommand, SweepOptions};
use super::{Arguments, TypedArguments};
use crate::file_name;
use crate::request::Environment;
use crate::sweep::{Axis, PlannedPoint, Side, Variation, points, sides};
use model::limits::RUNS_MAX;
use model::metric::{Metric, MetricName, Scope};
use model::sweep::{Extent, Setting};

/// Maximum number of pairs unless given: the last test.
const PAIRS: u32 = 20;
/// Minimum number of pairs: fewer have no useful interval.
const PAIRS_MIN: u32 = 3;
/// Default of `--margin`.
const MARGIN: f64 = 0.02;
/// Metrics that are judged.
const FIGURES: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];

/// Compare two loads in interleaved pairs of runs
///
/// Runs two loads in pairs, in random order within each pair, so that slow changes of the device affect both sides alike.
/// Continues until IOPS, mean latency and 99th percentile each differ significantly or are equivalent, tested after 6, 10,
/// 14 and 20 pairs. If nothing says how the sides differ, they are alike: the pairs then show the noise floor, the smallest difference that can be found on this machine.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd ab --vary OPTION=A,B -- <options and targets of the load>
       diskspd ab --a OPTIONS --b OPTIONS -- <options and targets of the load>
       diskspd ab --target-a FILE --target-b FILE -- <options of the load>
       diskspd ab --before-a COMMAND --before-b COMMAND -- <options and targets of the load>
       diskspd ab -- <options and targets of the load>
       diskspd ab --resume DIR",
    after_help = "Exit status: 0; 130 after Ctrl+C, 143 after SIGTERM; 4 if a --fail-if limit is \
                  exceeded; 6 if the pairs cannot tell; 1 if a run failed."
)]
pub(super) struct AbArguments {
    /// an option, without its dashes, with its two values: o=4,8
    #[arg(long, value_name = "OPTION=A,B", help_heading = SIDES, value_parser = two_values)]
    #[arg(conflicts_with_all = ["a", "b", "target_a", "target_b", "on_a", "on_b"])]
    vary: Option<Axis>,
    /// options of side A, added to those of the load: --a '-o4'
    #[arg(long, value_name = "OPTIONS", help_heading = SIDES)]
    a: Option<String>,
    /// options of side B: --b '-o8 -t2'
    #[arg(long, value_name = "OPTIONS", help_heading = SIDES)]
    b: Option<String>,
    /// the target of side A: one storage against another; give --target-b too, and no target behind --
    #[arg(long, value_name = "FILE", help_heading = SIDES, requires = "target_b", value_parser = file_name::target)]
    target_a: Option<String>,
    /// the target of side B
    #[arg(long, value_name = "FILE", help_heading = SIDES, requires = "target_a", value_parser = file_name::target)]
    target_b: Option<String>,
    /// the hosts of side A, as with --on: one host, or cluster, against another
    #[arg(long, value_name = "HOSTS", help_heading = SIDES, requires = "on_b")]
    on_a: Option<String>,
    /// the hosts of side B
    #[arg(long, value_name = "HOSTS", help_heading = SIDES, requires = "on_a")]
    on_b: Option<String>,
    /// shell command to run before each run of side A, for example to set an I/O scheduler
    #[arg(long, value_name = "COMMAND", help_heading = SIDES)]
    before_a: Option<String>,
    /// the same for side B
    #[arg(long, value_name = "COMMAND", help_heading = SIDES)]
    before_b: Option<String>,
    /// run exactly N pairs, at least 3, and test once, after the last
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = pairs)]
    pairs: Option<u32>,
    /// sides that differ by less are equivalent (default 2%)
    #[arg(long, value_name = "SHARE%", help_heading = RUN, value_parser = margin)]
    margin: Option<f64>,
    /// METRIC>+N% or METRIC<-N%: exit with status 4 if iops, mean or p99 of B (latencies: what the application waits for, as
    /// commit.p99 with flushes) rose above, or fell below, A by more than N % and the change is significant, and with 6 if
    /// the pairs cannot tell; may be given again
    #[arg(long, value_name = "LIMIT", help_heading = RUN, value_parser = judged_limit)]
    fail_if: Vec<ChangeLimit>,
    #[command(flatten)]
    series: SeriesArguments,
}

const SIDES: &str = "What differs";

impl Arguments for AbArguments {
    type Request = SweepCommand;

    fn request(self, typed: &TypedArguments<'_>, environment: &dyn Environment) -> Result<SweepCommand, String> {
        if let Some(command) = self.series.resumed(typed, &[], environment)? {
            return Ok(command);
        }
        let load = self.series.load(typed);
        let a = Side { options: self.a.unwrap_or_default(), target: self.target_a, on: self.on_a };
        let b = Side { options: self.b.unwrap_or_default(), target: self.target_b, on: self.on_b };
        let (points, sides) = if let Some(axis) = self.vary {
            let points = points(&load, &Variation { axes: vec![axis], ..Variation::default() }, environment)?;
            let shown = |point: &PlannedPoint| Setting::typed_all(&point.point.settings);
            let sides = [shown(&points[0]), shown(&points[1])];
            (points, sides)
        } else {
            let shown = [a.shown(), b.shown()];
            (sides(&load, &[a, b], environment)?, shown)
        };
        check_limits(&self.fail_if, &points)?;
        let ab = AbOptions { before: [self.before_a, self.before_b], limits: self.fail_if, sides };
        let options = SweepOptions {
            extent: Extent::Pairs { is_fixed: self.pairs.is_some(), margin: self.margin.unwrap_or(MARGIN) },
            runs: self.pairs.unwrap_or(PAIRS),
            rest: self.series.rest.unwrap_or_default(),
            ab: Some(Box::new(ab)),
            ..SweepOptions::default()
        };
        Ok(self.series.command(points, options, typed))
    }
}

fn two_values(value: &str) -> Result<Axis, String> {
    let axis = Axis::parse(value)?;
    if axis.is_open || axis.values.len() != 2 {
        return Err(format!("'{value}': exactly two values are needed, as in o=4,8"));
    }
    Ok(axis)
}

fn pairs(value: &str) -> Result<u32, String> {
    match value.parse() {
        Ok(pairs) if (PAIRS_MIN..=RUNS_MAX).contains(&pairs) => Ok(pairs),
        _ => Err(format!("'{value}' is not a number from {PAIRS_MIN} to {RUNS_MAX}")),
    }
}

/// `2%`
fn margin(value: &str) -> Result<f64, String> {
    let percent: Option<f64> = value.strip_suffix('%').and_then(|number| number.parse().ok());
    match percent.filter(|percent| (0.01..=100.0).contains(percent)) {
        Some(percent) => Ok(percent / 100.0),
        None => Err(format!("'{value}': invalid (expected: a percentage, as in 2%)")),
    }
}

fn judged_limit(value: &str) -> Result<ChangeLimit, String> {
    let limit = limit(value)?;
    let name = MetricName::parse(&limit.figure).map_err(|reason| format!("'{value}': {reason}"))?;
    if FIGURES.contains(&name.metric) && name.stream.is_none() {
        return Ok(limit);
    }
    Err(format!("'{value}': ab does not judge '{name}' (expected: iops, mean, p99, or mean or p99 of a scope)"))
}

/// Refuses limits on metrics that pairs of these loads do not judge: latencies are those that the application waits
/// for.
fn check_limits(limits: &[ChangeLimit], points: &[PlannedPoint]) -> Result<(), String> {
    let spans = points.iter().filter_map(|point| point.request.profile.time_spans.first());
    let waited_for: Vec<Vec<Scope>> = spans.map(Scope::waited_for).collect();
    let Some(scopes) = waited_for.first() else { return Ok(()) };
    for ChangeLimit { typed, figure, .. } in limits {
        let MetricName { scope, metric, .. } = MetricName::parse(figure)?;
        let refused = |reason: &str| Err(format!("--fail-if '{typed}': {reason}"));
        match metric.needs_latency() {
            false if scope != Scope::All => {
                return refused("ab judges the iops of all reads and writes (expected: iops)");
            }
            true if waited_for.iter().any(|of_side| of_side != scopes) => {
                return refused(
                    "the application waits for different latencies on the two sides, which are not compared (expected: iops)",
                );
            }
            true if scope != Scope::All && !scopes.contains(&scope) => {
                let names = scopes.iter().flat_map(|scope| {
                    [Metric::Mean, Metric::P99]
                        .map(|metric| MetricName { stream: None, scope: *scope, metric }.to_string())
                });
                let names = names.collect::<Vec<_>>().join(", ");
                return refused(&format!("ab judges what the application waits for (expected: {names})"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::sweep::SweepRequest;
    use crate::subcommand::tests::{typed, typed_words};

    fn parse_request(args: &[&str]) -> SweepRequest {
        match typed_words("ab", args) {
            Ok(Subcommand::Ab(SweepCommand::Run { request, .. })) => *request,
            other => panic!("{args:?}: {other:?}"),
        }
    }

    #[test]
    fn sides_come_from_two_values_from_options_from_commands_or_are_alike() {
        let lines = |request: &SweepRequest| -> Vec<String> {
            request.points.iter().map(|point| point.words.join(" ")).collect()
        };
        let varied = parse_request(&["--vary", "o=4,8", "--", "-b4K", "a.dat"]);
        assert_eq!(lines(&varied), ["-o4 -b4K a.dat", "-o8 -b4K a.dat"]);
        let ab = varied.options.ab.clone().expect("sides");
        assert_eq!((ab.sides.clone(), ab.is_noise_floor()), (["-o4".to_owned(), "-o8".to_owned()], false));
        assert_eq!(varied.options.extent, Extent::Pairs { is_fixed: false, margin: 0.02 });
        assert_eq!(varied.options.runs, 20);
        let options =
            parse_request(&["--a", "-o4", "--b=-o8 -t2", "--pairs=7", "--margin", "5%", "--", "-o1", "a.dat"]);
        assert_eq!(lines(&options), ["-o4 a.dat", "-o8 -t2 a.dat"]);
        assert_eq!(options.options.extent, Extent::Pairs { is_fixed: true, margin: 0.05 });
        assert_eq!(options.options.runs, 7);
        let targets = parse_request(&["--target-a", "/a/t", "--target-b", "/b/t", "--b=-o2", "--", "-c1M"]);
        assert_eq!(lines(&targets), ["-c1M /a/t", "-o2 -c1M /b/t"]);
        assert_eq!(targets.options.ab.expect("sides").sides, ["target=/a/t", "-o2 target=/b/t"]);
        let hosts = parse_request(&["--on-a=h1", "--on-b=h2,h3", "--", "/t"]);
        assert_eq!(lines(&hosts), ["--on=h1 /t", "--on=h2,h3 /t"]);
        let commands = parse_request(&["--before-a=true", "--before-b=false", "--fail-if=p99>+5%", "--", "a.dat"]);
        let ab = commands.options.ab.clone().expect("sides");
        assert_eq!((ab.before[1].as_deref(), ab.is_noise_floor(), ab.limits.len()), (Some("false"), false, 1));
        assert!(parse_request(&["--", "a.dat"]).options.ab.expect("sides").is_noise_floor());
        assert_eq!(typed("ab", "--help"), Err("help".to_owned()));
    }

    #[test]
    fn its_words_ask_for_the_same_again() {
        let request = parse_request(&["--a", "-o4", "--b=-o8 -t2", "--rest", "2s", "--dir", "d", "--", "a.dat"]);
        let words: Vec<&str> = request.words.iter().map(String::as_str).collect();
        assert_eq!(words, ["--a=-o4", "--b=-o8 -t2", "--rest=2s", "--", "a.dat"]);
        assert_eq!(parse_request(&words), request);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "the workload is missing"),
            ("--vary o=1..3 -- a", "exactly two values"),
            ("--vary o=1,2 --a -t2 -- a", "cannot be combined with"),
            ("--pairs 2 -- a", "not a number from 3 to 1000"),
            ("--margin 2 -- a", "as in 2%"),
            ("--fail-if cpu>+5% -- a", "ab does not judge 'cpu' (expected: iops, mean, p99"),
            ("--fail-if p98>+5% -- a", "unknown metric 'p98'"),
            ("--fail-if p99 -- a", "as in 'p99>+5%'"),
            ("--fail-if write.iops>+5% -- -w100 a", "(expected: iops)"),
            ("--fail-if write.p99>+5% -- -w100 --fsync-every=1 a", "(expected: commit.mean, commit.p99)"),
            ("--fail-if commit.p99>+5% -- -w100 a", "(expected: mean, p99)"),
            ("--b=--fsync-every=1 --fail-if p99>+5% -- -w100 a", "waits for different latencies"),
            ("--a -q -- a", "side A: "),
            ("--b other.dat -- a", "only options can differ; put the targets after --, or give --target-a"),
            ("--target-a x -- -b4K", "--target-b"),
            ("--target-a x --target-b y -- a", "'a': the targets are those of --target-a and --target-b"),
            ("--target-a -x --target-b y -- -b4K", "write './-x'"),
            ("--target-a x --target-b y --vary o=1,2 -- -b4K", "cannot be combined with"),
            ("--run-commands -- a", "omit --run-commands"),
            ("--resume d --pairs 3", "allows only --run-commands"),
            ("a.dat", "put the workload's options and targets after --"),
        ] {
            let failure = typed("ab", line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
