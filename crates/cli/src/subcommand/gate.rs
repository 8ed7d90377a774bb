//! Arguments of `diskspd gate`.

use super::sweep::{RUN, SweepCommand};
use super::{Arguments, Subcommand, TypedArguments};
use crate::request::Environment;
use crate::sweep::{PlannedPoint, Variation, points};
use crate::{file_name, number};
use model::metric::MetricName;
use std::ffi::OsString;
use std::path::PathBuf;

/// Default of `--runs`.
const RUNS: u32 = 3;
/// Upper limit of `--runs`.
const RUNS_MAX: u32 = 20;
/// With `--before-a` and `--before-b`: smaller changes do not count as worse.
const LIMITS: [&str; 3] = ["iops<-2%", "mean>+2%", "p99>+2%"];

/// Compare a run with earlier ones in a folder; fail if it is worse
///
/// Runs a load, keeps the result in FOLDER, and compares it with earlier results there of the same load on the same kind of
/// machine and device. Large changes are decided by one run, smaller ones by further runs of the load. Five earlier
/// results are needed. A run that is worse does not become part of the history.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd gate FOLDER [--metric METRIC] [--runs N] -- <options and targets of the load>
       diskspd gate FOLDER --result FILE
       diskspd gate FOLDER --before-a COMMAND --before-b COMMAND -- <options and targets of the load>
       diskspd gate FOLDER --accept REASON",
    after_help = "Exit status: 0 if it is not worse; 4 if it is; 6 if the runs cannot tell, the history is too short or \
                  the run is invalid; 1 if a run failed."
)]
pub(super) struct GateArguments {
    /// directory of results and their index; it is made if it does not exist
    #[arg(value_name = "FOLDER", required = true, value_parser = file_name::path_alone())]
    folder: PathBuf,
    /// judge this result (JSON) instead of running a load
    #[arg(long, value_name = "FILE", help_heading = RUN, value_parser = file_name::path_alone())]
    #[arg(conflicts_with_all = ["load", "runs", "before_a", "before_b", "accept"])]
    result: Option<PathBuf>,
    /// judge this metric (as of --require: iops, p99, commit.p99, ...) instead of iops, mean and p99; may be given again
    #[arg(long, value_name = "METRIC", help_heading = RUN, value_parser = MetricName::parse)]
    metric: Vec<MetricName>,
    /// runs of the load at most, if the first does not decide (default 3)
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = number::count::<RUNS_MAX>)]
    runs: Option<u32>,
    /// shell command that sets up the old build or setting: compares both sides in pairs, as diskspd ab does, without the
    /// history; needs --before-b
    #[arg(long, value_name = "COMMAND", help_heading = RUN, requires = "before_b", conflicts_with_all = ["runs", "metric"])]
    before_a: Option<String>,
    /// shell command that sets up the new build or setting
    #[arg(long, value_name = "COMMAND", help_heading = RUN, requires = "before_a")]
    before_b: Option<String>,
    /// accept the level of the latest results: the history begins with the runs of the latest gate
    #[arg(long, value_name = "REASON", help_heading = RUN)]
    #[arg(conflicts_with_all = ["load", "runs", "metric", "before_a", "before_b", "summary", "junit"])]
    accept: Option<String>,
    /// write the answer as Markdown; appended if FILE is $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE", help_heading = "Results", value_parser = file_name::path_alone())]
    summary: Option<PathBuf>,
    /// write the answer as JUnit XML, with a test case for each metric
    #[arg(long, value_name = "FILE", help_heading = "Results", value_parser = file_name::path_alone())]
    junit: Option<PathBuf>,
    /// options and targets of the load, as for a run
    #[arg(value_name = "LOAD", last = true)]
    load: Vec<String>,
}

/// The arguments of `diskspd gate`.
#[derive(Clone, Debug, PartialEq)]
pub struct GateCommand {
    /// The directory of results.
    pub folder: PathBuf,
    /// The task.
    pub task: GateTask,
    /// `--metric`; empty = IOPS, and the mean and 99th percentile of the latency that the application waits for.
    pub metrics: Vec<MetricName>,
    /// `--summary`
    pub summary: Option<PathBuf>,
    /// `--junit`
    pub junit: Option<PathBuf>,
}

/// The tasks of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateTask {
    /// Run this load at most `runs` times, and judge.
    Run {
        /// The load, as a sweep of one point.
        points: Vec<PlannedPoint>,
        /// `--runs`
        runs: u32,
    },
    /// `--result`: judge a saved result.
    Judge(PathBuf),
    /// `--before-a`, `--before-b`: compare two sides in pairs.
    Pairs(SweepCommand),
    /// `--accept`: the reason.
    Accept(String),
}

impl Arguments for GateArguments {
    type Request = GateCommand;

    fn request(self, _: &TypedArguments<'_>, environment: &dyn Environment) -> Result<GateCommand, String> {
        let Self { folder, metric: metrics, summary, junit, .. } = self;
        let task = match (self.accept, self.result, self.before_a, self.before_b) {
            (Some(reason), ..) if reason.trim().is_empty() => return Err("--accept: give a reason".to_owned()),
            (Some(reason), ..) => GateTask::Accept(reason),
            (_, Some(file), ..) => GateTask::Judge(file),
            (_, _, Some(a), Some(b)) => GateTask::Pairs(pairs(&[a, b], &with_latencies(self.load), environment)?),
            _ => {
                let points = points(&with_latencies(self.load), &Variation::default(), environment)?;
                GateTask::Run { points, runs: self.runs.unwrap_or(RUNS) }
            }
        };
        if let GateTask::Run { points, .. } = &task {
            check_metrics(&metrics, points)?;
        }
        Ok(GateCommand { folder, task, metrics, summary, junit })
    }
}

/// Adds `-L` to a load, as latencies are judged. An error about a profile (`-X`) does not begin with `-L`.
fn with_latencies(load: Vec<String>) -> Vec<String> {
    let is_set = load.iter().any(|word| word == "-L" || word.starts_with("-X"));
    if load.is_empty() || is_set { load } else { [vec!["-L".to_owned()], load].concat() }
}

fn check_metrics(metrics: &[MetricName], points: &[PlannedPoint]) -> Result<(), String> {
    let Some(span) = points.first().and_then(|point| point.request.profile.time_spans.first()) else { return Ok(()) };
    metrics.iter().try_for_each(|name| name.resolve(span).map(drop).map_err(|reason| format!("--metric: {reason}")))
}

/// The command of `diskspd ab` that gives the answer.
fn pairs(before: &[String; 2], load: &[String], environment: &dyn Environment) -> Result<SweepCommand, String> {
    let limits = LIMITS.map(|limit| format!("--fail-if={limit}"));
    let [a, b] = before;
    let own = [format!("--before-a={a}"), format!("--before-b={b}")].into_iter().chain(limits);
    let words: Vec<OsString> = own.chain(["--".to_owned()]).chain(load.iter().cloned()).map(OsString::from).collect();
    match super::parse("ab", &words, environment) {
        Ok(Some(Subcommand::Ab(command))) => Ok(command),
        Ok(_) => Err("this command line does not start a run".to_owned()),
        Err(failure) => {
            let messages = failure.messages.iter().filter_map(|message| message.strip_prefix("ERROR: "));
            Err(messages.collect::<Vec<_>>().join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::tests::{typed, typed_words};

    fn parse_command(args: &[&str]) -> GateCommand {
        match typed_words("gate", args) {
            Ok(Subcommand::Gate(command)) => command,
            other => panic!("{args:?}: {other:?}"),
        }
    }

    #[test]
    fn each_task_is_read() {
        let GateTask::Run { points, runs } = parse_command(&["f", "--", "-b4K", "a.dat"]).task else { panic!("a run") };
        assert_eq!((points[0].words.join(" "), runs), ("-L -b4K a.dat".to_owned(), 3));
        let named = parse_command(&["f", "--metric=p99", "--metric=iops", "--summary", "s.md", "--", "-L", "a.dat"]);
        assert_eq!((named.metrics.len(), named.summary), (2, Some("s.md".into())));
        assert_eq!(parse_command(&["f", "--result", "r.json"]).task, GateTask::Judge("r.json".into()));
        assert_eq!(parse_command(&["f", "--accept=new disk"]).task, GateTask::Accept("new disk".to_owned()));
        let GateTask::Pairs(SweepCommand::Run { request, .. }) =
            parse_command(&["f", "--before-a=true", "--before-b", "false", "--", "a.dat"]).task
        else {
            panic!("pairs")
        };
        let ab = request.options.ab.expect("sides");
        assert_eq!((ab.before[1].as_deref(), ab.limits.len()), (Some("false"), 3));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "FOLDER"),
            ("f", "the workload is missing"),
            ("f --result r.json -- a", "cannot be combined with"),
            ("f --accept=", "give a reason"),
            ("f --before-a true -- a", "--before-b"),
            ("f --metric p98 -- a", "unknown metric 'p98'"),
            ("f --metric commit.p99 -- a", "the load has no commit.p99"),
            ("f --runs 0 -- a", "--runs '0'"),
            ("f -- -Xa.xml", "an XML profile (-X) cannot be used here"),
        ] {
            let failure = typed("gate", line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
