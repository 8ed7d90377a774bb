//! Arguments of `diskspd interference`: a sweep over the streams of a load.

use super::sweep::{RUN, SeriesArguments, SweepCommand, SweepOptions};
use super::{Arguments, TypedArguments};
use crate::number;
use crate::request::Environment;
use crate::sweep::streams;
use model::limits::RUNS_MAX;
use model::sweep::Extent;

/// Run each stream of a load alone, then all together
///
/// Runs each stream (--stream) alone, in the order given, then all of them together, and shows for each stream the IOPS
/// and the 99th percentile of its latency alone and together. All runs have the same duration and, within a round, the
/// same seed. Targets are created once, before the first run. Turns on latency measurement, as -L does.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd interference [--rounds N] -- --stream 'NAME: OPTIONS' --stream 'NAME: OPTIONS' [...] \
                      <options and targets of the load>
       diskspd interference --resume DIR",
    after_help = "Exit status: 0; 130 after Ctrl+C, 143 after SIGTERM; 1 if a run failed."
)]
pub(super) struct InterferenceArguments {
    /// number of rounds (default 1), each with every stream alone and all together; the table then has medians
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = number::count::<RUNS_MAX>)]
    rounds: Option<u32>,
    /// shell command to run before each run, for example to drop a server's caches
    #[arg(long, value_name = "COMMAND", help_heading = RUN)]
    before_run: Option<String>,
    #[command(flatten)]
    series: SeriesArguments,
}

impl Arguments for InterferenceArguments {
    type Request = SweepCommand;

    fn request(self, typed: &TypedArguments<'_>, environment: &dyn Environment) -> Result<SweepCommand, String> {
        if let Some(command) = self.series.resumed(typed, &[], environment)? {
            return Ok(command);
        }
        let options = SweepOptions {
            extent: Extent::Streams,
            runs: self.rounds.unwrap_or(1),
            rest: self.series.rest.unwrap_or_default(),
            before_point: self.before_run,
            ..SweepOptions::default()
        };
        let points = streams(&self.series.load(typed), environment)?;
        Ok(self.series.command(points, options, typed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::sweep::SweepRequest;
    use crate::subcommand::tests::typed_words;

    fn parse_request(args: &[&str]) -> SweepRequest {
        match typed_words("interference", args) {
            Ok(Subcommand::Interference(SweepCommand::Run { request, .. })) => *request,
            other => panic!("{args:?}: {other:?}"),
        }
    }

    const LOAD: [&str; 6] = ["--", "-c1M", "--stream", "a: -b8K -r", "--stream=b: -b1M b.dat", "a.dat"];

    #[test]
    fn each_stream_is_run_alone_then_all_together() {
        let request = parse_request(&[&["--rounds=3", "--rest=2s"], &LOAD[..]].concat());
        let lines: Vec<String> = request.points.iter().map(|point| point.words.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "-L -c1M --stream a: -b8K -r a.dat",
                "-L -c1M --stream=b: -b1M b.dat",
                "-L -c1M --stream a: -b8K -r --stream=b: -b1M b.dat a.dat"
            ]
        );
        let named = |point: usize| -> Vec<String> {
            let targets = request.points[point].request.profile.time_spans[0].targets.iter();
            targets
                .filter_map(|target| Some(format!("{} {}", target.stream.as_ref()?, target.path.display())))
                .collect()
        };
        assert_eq!((named(0), named(1)), (vec!["a a.dat".to_owned()], vec!["b b.dat".to_owned()]));
        assert_eq!(named(2), ["a a.dat", "b b.dat"]);
        let values: Vec<&str> = request.points.iter().map(|point| point.point.settings[0].value.as_str()).collect();
        assert_eq!(values, ["a", "b", "a+b"]);
        assert!(request.points.iter().all(|point| point.request.profile.time_spans[0].measure_latency));
        assert_eq!((request.options.runs, request.options.extent), (3, Extent::Streams));
        let words: Vec<&str> = request.words.iter().map(String::as_str).collect();
        assert_eq!(parse_request(&words), request, "its words ask for the same again");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (args, expected) in [
            (&["--", "a.dat"][..], "interference needs two or more streams; give each with --stream"),
            (&["--", "--stream=a: -r", "a.dat"], "interference needs two or more streams"),
            (&["--", "--rate=5", "--stream=a: -r", "--stream=b: -r", "a.dat"], "--rate is shared by all streams"),
            (&["--", "--max-ios=5", "--stream=a: -r", "--stream=b: -r", "a.dat"], "leave out --max-ios"),
            (&["--", "--stream=a: -r", "--stream=b: -q", "a.dat"], "stream 'b': invalid option: '-q'"),
            (&["--rounds=0", "--", "a.dat"], "is not a number from 1 to 1000"),
            (&["a.dat"], "put the workload's options and targets after --"),
        ] {
            let failure = typed_words("interference", args).expect_err(&args.join(" "));
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{args:?}: {failure}");
        }
    }
}
