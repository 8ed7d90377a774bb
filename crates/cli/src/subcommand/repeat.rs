//! Arguments of `diskspd repeat`: a sweep of one point.

use super::sweep::{RUN, SeriesArguments, SweepCommand, SweepOptions};
use super::{Arguments, TypedArguments};
use crate::number;
use crate::request::Environment;
use crate::sweep::{PlannedPoint, Variation, points};
use crate::words::row_of;
use model::limits::RUNS_MAX;
use model::metric::{Metric, MetricName, Scope};
use model::sweep::Extent;

/// Default number of runs.
const RUNS: u32 = 10;
/// Default maximum of runs with `--until`.
const RUNS_UNTIL: u32 = 64;

/// Default maximum of rounds with `--steady`, from the SNIA specification.
const ROUNDS_STEADY: u32 = 25;
/// Defaults of a round unless the load sets them: a minute, without a warm-up.
const ROUND: [&str; 2] = ["-d60", "-W0"];

/// Metrics of `--until`.
const UNTIL_FIGURES: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];

/// Run the same load several times, and report mean, median and spread
///
/// Runs the same load several times, prints a line per run, then mean, median and spread, and reports whether the runs
/// have a trend, depend on each other, fall into two levels, or the first run differs from the others.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd repeat [--runs N] [--until FIGURE=SHARE%] -- <options and targets of the load>
       diskspd repeat --resume DIR",
    after_help = "Exit status: 0; 130 after Ctrl+C, 143 after SIGTERM; 1 if a run failed."
)]
pub(super) struct RepeatArguments {
    /// number of runs (default 10)
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = number::count::<RUNS_MAX>)]
    runs: Option<u32>,
    /// run until the average over all runs of iops, or of mean or p99 latency (commit.p99), is known to within this share, as in --until
    /// iops=1%. Tested after 8, 16, 32 ... runs; the interval is widened to allow for repeated testing. --runs is then the
    /// maximum (default 64)
    #[arg(long, value_name = "FIGURE=SHARE%", help_heading = RUN, value_parser = until)]
    until: Option<Extent>,
    /// run rounds of 60 s (-d of the load, if given) until the last five meet the SNIA steady state criteria: range at most
    /// 20 % of the mean, slope excursion at most 10 %. --runs is the maximum (default 25)
    #[arg(long, help_heading = RUN, conflicts_with = "until")]
    steady: bool,
    /// first write every target twice, sequentially, with random data
    #[arg(long, help_heading = RUN)]
    precondition: bool,
    /// state in the report of --steady that the devices were purged beforehand
    #[arg(long, help_heading = RUN)]
    purged: bool,
    /// rated lifetime writes of the device, as in 600T: shows the share that --precondition uses
    #[arg(long, value_name = "SIZE", help_heading = RUN, value_parser = endurance)]
    endurance: Option<u64>,
    /// shell command to run before each run
    #[arg(long, value_name = "COMMAND", help_heading = RUN)]
    before_run: Option<String>,
    #[command(flatten)]
    series: SeriesArguments,
}

impl Arguments for RepeatArguments {
    type Request = SweepCommand;

    fn request(self, typed: &TypedArguments<'_>, environment: &dyn Environment) -> Result<SweepCommand, String> {
        if let Some(command) = self.series.resumed(typed, &[], environment)? {
            return Ok(command);
        }
        let extent = if self.steady { Extent::UntilSteady } else { self.until.unwrap_or_default() };
        let runs = self.runs.unwrap_or(match extent {
            Extent::Whole => RUNS,
            Extent::UntilSteady => ROUNDS_STEADY,
            _ => RUNS_UNTIL,
        });
        if self.purged && !self.steady {
            return Err("--purged needs --steady: only the report of --steady states whether the devices were \
                        purged"
                .to_owned());
        }
        if self.endurance.is_some() && !self.precondition {
            return Err("--endurance needs --precondition".to_owned());
        }
        let options = SweepOptions {
            extent,
            runs,
            rest: self.series.rest.unwrap_or_default(),
            before_point: self.before_run,
            precondition: self.precondition,
            is_purged: self.purged,
            endurance_bytes: self.endurance,
            ..SweepOptions::default()
        };
        let round = if self.steady { &ROUND[..] } else { &[] };
        let load = with_defaults(round, &self.series.load(typed));
        let points = points(&load, &Variation::default(), environment)?;
        let options = SweepOptions { extent: resolved(extent, &points)?, ..options };
        Ok(self.series.command(points, options, typed))
    }
}

/// `--until` with the full name of its metric, which depends on the load.
fn resolved(extent: Extent, points: &[PlannedPoint]) -> Result<Extent, String> {
    let span = points.first().and_then(|point| point.request.profile.time_spans.first());
    let (Extent::UntilSure { scope, figure, share }, Some(span)) = (extent, span) else { return Ok(extent) };
    if !figure.needs_latency() {
        return Ok(extent);
    }
    let waited_for = Scope::waited_for(span);
    let name = |scope| MetricName { stream: None, scope, metric: figure };
    let scope = match waited_for.as_slice() {
        [only] if scope == Scope::All => *only,
        _ if scope == Scope::All || waited_for.contains(&scope) => scope,
        _ => {
            let names: Vec<String> = waited_for.iter().map(|scope| name(*scope).to_string()).collect();
            return Err(match name(scope).resolve(span) {
                Err(reason) => format!("--until: {reason}"),
                Ok(_) => {
                    format!("--until: the application waits for {}, not for {}", names.join(" and "), name(scope))
                }
            });
        }
    };
    Ok(Extent::UntilSure { scope, figure, share })
}

/// A load with options that it does not have.
fn with_defaults(defaults: &[&str], load: &[String]) -> Vec<String> {
    let is_said = |default: &str| {
        let name = row_of(default).map(|row| row.name);
        load.iter().any(|word| row_of(word).map(|row| row.name) == name)
    };
    let missing = defaults.iter().filter(|default| !is_said(default));
    missing.map(|&default| default.to_owned()).chain(load.iter().cloned()).collect()
}

fn endurance(value: &str) -> Result<u64, String> {
    let bytes = crate::size::parse(value, 1).map_err(|fault| format!("'{value}': {fault}"))?;
    if bytes == 0 { Err("'0': must be above 0".to_owned()) } else { Ok(bytes) }
}

fn until(value: &str) -> Result<Extent, String> {
    let wrong =
        || format!("'{value}': invalid (expected: a metric and a percentage, as in iops=1%, mean=2% or commit.p99=5%)");
    let (name, share) = value.split_once('=').ok_or_else(wrong)?;
    let is_kept = |name: &MetricName| name.stream.is_none() && UNTIL_FIGURES.contains(&name.metric);
    let MetricName { scope, metric: figure, .. } =
        MetricName::parse(name.trim()).ok().filter(is_kept).ok_or_else(wrong)?;
    if !figure.needs_latency() && scope != Scope::All {
        return Err(wrong());
    }
    let percent: f64 = share.trim().strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    if !(0.01..=100.0).contains(&percent) {
        return Err(wrong());
    }
    Ok(Extent::UntilSure { scope, figure, share: percent / 100.0 })
}

#[cfg(test)]
mod tests {
    use super::super::sweep::Allowed;
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;
    use std::time::Duration;

    fn parsed(line: &str) -> Result<SweepCommand, String> {
        match typed("repeat", line)? {
            Subcommand::Repeat(request) => Ok(request),
            other => panic!("{other:?}"),
        }
    }

    fn options(line: &str) -> SweepOptions {
        match parsed(line) {
            Ok(SweepCommand::Run { request, .. }) => request.options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn runs_and_when_to_stop_are_read() {
        assert_eq!(options("-- a.dat").runs, 10);
        assert_eq!(options("--runs 3 --rest 2s -- a.dat").rest, Duration::from_secs(2));
        let until = options("--until p99=2.5% -- a.dat");
        let expected = |scope| Extent::UntilSure { scope, figure: Metric::P99, share: 0.025 };
        assert_eq!((until.extent, until.runs), (expected(Scope::All), 64));
        let flushing = "-w100 --fdatasync-every=1 a.dat";
        for name in ["p99", "commit.p99"] {
            let until = options(&format!("--until {name}=2.5% -- {flushing}"));
            assert_eq!(until.extent, expected(Scope::Commit), "{name}");
        }
        for (line, reason) in [
            (format!("--until write.p99=1% -- {flushing}"), "the application waits for commit.p99, not for write.p99"),
            ("--until commit.p99=1% -- a.dat".to_owned(), "the load has no commit.p99"),
            ("--until read.iops=1% -- a.dat".to_owned(), "invalid (expected: a metric"),
        ] {
            let refused = parsed(&line).expect_err(&line);
            assert!(refused.contains(reason), "{line}: {refused}");
        }
        assert_eq!(options("--until iops=1% --runs 20 -- a.dat").runs, 20);
        assert_eq!(parsed("--help"), Err("help".to_owned()));
        let resume = |run_commands, replace_output| {
            let allowed = Allowed { run_commands, ..Allowed::default() };
            Ok(SweepCommand::Resume { folder: "d".into(), allowed, replace_output, added: Vec::new() })
        };
        assert_eq!(parsed("--resume d"), resume(false, false));
        assert_eq!(parsed("--resume d --run-commands --replace-output"), resume(true, true));
    }

    #[test]
    fn rounds_last_a_minute_unless_the_load_says_otherwise() {
        let request = |line: &str| match parsed(line) {
            Ok(SweepCommand::Run { request, .. }) => request,
            other => panic!("{line}: {other:?}"),
        };
        let times = |line: &str| {
            let request = request(line);
            let span = &request.points[0].request.profile.time_spans[0];
            (span.duration_s, span.warm_up_s, request.options.runs)
        };
        assert_eq!(times("--steady -- -b4K a.dat"), (60, 0, 25));
        assert_eq!(times("--steady --runs 9 -- -d5 -W2 -b4K a.dat"), (5, 2, 9));
        let seen = request("--steady --precondition --purged --endurance 600T --dir x -- a.dat");
        assert!(seen.options.precondition && seen.options.is_purged);
        assert_eq!(seen.options.endurance_bytes, Some(600 << 40));
        assert_eq!(seen.words.join(" "), "--steady --precondition --purged --endurance=600T -- a.dat");
    }

    #[test]
    fn its_words_ask_for_the_same_again() {
        let Ok(SweepCommand::Run { request, folder, .. }) = parsed("--runs 3 --dir d --until=p99=2% -- -r a.dat")
        else {
            panic!("it is a repeat");
        };
        assert_eq!(
            (request.words.join(" "), folder),
            ("--runs=3 --until=p99=2% -- -r a.dat".to_owned(), Some("d".into()))
        );
        let Ok(SweepCommand::Run { request: again, .. }) = parsed(&request.words.join(" ")) else {
            panic!("they can be read");
        };
        assert_eq!(again, request);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "the workload is missing; put its options and targets after --"),
            ("--purged -- a", "--purged needs --steady"),
            ("--endurance 1T -- a", "--endurance needs --precondition"),
            ("--precondition --endurance 1X -- a", "--endurance '1X'"),
            ("--resume d --runs 3", "allows only --run-commands"),
            ("--run-commands -- a", "omit --run-commands"),
            ("--dir= -- a", "--dir '': a file name is missing"),
            ("--runs 0 -- a", "--runs '0'"),
            ("--until iops -- a", "--until 'iops'"),
            ("--until iops=1 -- a", "as in iops=1%"),
            ("--until iops=0% -- a", "as in iops=1%"),
            ("--until x=1% -- a", "as in iops=1%"),
            ("a.dat", "'a.dat': put the workload's options and targets after --"),
            ("--vary o=1 -- a", "invalid option '--vary'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
