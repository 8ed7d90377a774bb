//! Arguments of `diskspd repeat`: a sweep of one point.

use super::command::{
    RUN_COMMANDS_ALONE, SweepCommand, SweepOptions, SweepRequest, count, misplaced, split_load, text,
};
use super::points::{Variation, points};
use crate::command::{Environment, ParseFailure};
use crate::words::row_of;
use crate::{duration, file_name};
use lexopt::prelude::*;
use model::headline::Figure;
use model::limits::RUNS_MAX;
use model::sweep::Extent;
use std::ffi::OsString;

/// Default number of runs.
const RUNS: u32 = 10;
/// Default maximum of runs with `--until`.
const RUNS_UNTIL: u32 = 64;

/// Default maximum of rounds with `--steady`, from the SNIA specification.
const ROUNDS_STEADY: u32 = 25;
/// Defaults of a round unless the load sets them: a minute, without a warm-up.
const ROUND: [&str; 2] = ["-d60", "-W0"];

/// Figures of `--until`.
const UNTIL_FIGURES: [Figure; 3] = [Figure::Iops, Figure::MeanLatency, Figure::P99];

/// Output of `diskspd repeat --help`.
pub const REPEAT_HELP: &str = "\
Usage: diskspd repeat [--runs N] [--until FIGURE=SHARE%] -- <options and targets of the load>

Runs the same load several times, prints a line per run, then mean, median and spread, and reports whether
the runs fall into two levels or the first run differs from the others.

      --runs N
               number of runs (default 10)
      --until FIGURE=SHARE%
               run until the average over all runs of iops, or of mean or p99 latency, is known to within this
               share, as in --until iops=1%. Tested after 8, 16, 32 ... runs; the interval is widened to allow
               for repeated testing. --runs is then the maximum (default 64)
      --steady
               run rounds of 60 s (-d of the load, if given) until the last five meet the SNIA steady state
               criteria: range at most 20 % of the mean, slope excursion at most 10 %. --runs is the
               maximum (default 25)
      --precondition
               first write every target twice, sequentially, with random data
      --purged
               state in the report of --steady that the devices were purged beforehand
      --endurance SIZE
               rated lifetime writes of the device, as in 600T: shows the share that --precondition uses
      --rest TIME
               pause between runs: 5s, 500ms, 1m
      --before-run COMMAND
               shell command to run before each run
      --dir DIR
               directory for repeat.json, table.csv and every result; must be new or empty (default:
               repeat-YYYYMMDD-HHMMSS)
      --replace-output
               also use a directory that is not empty; its repeat.json and table.csv are replaced
      --resume DIR
               continue stopped runs
      --run-commands
               with --resume: run the --before-run command stored in DIR. Without it, the command is shown
               and nothing is run
  -h, --help   print this help

Exit status: 0, also after Ctrl+C once a run completed (130 before); 1 if a run failed.

To measure a file named repeat, write ./repeat.
";

/// Parses the arguments of `diskspd repeat`.
pub fn parse_repeat(args: &[OsString], environment: &dyn Environment) -> Result<SweepCommand, ParseFailure> {
    read(args, environment).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd repeat --help")))
}

const RESUME_ALONE: &str =
    "--resume allows only --run-commands and --replace-output; the other options are read from the directory";

fn read(args: &[OsString], environment: &dyn Environment) -> Result<SweepCommand, String> {
    let (own, load) = split_load(args)?;
    let mut options = SweepOptions::default();
    let (mut runs, mut folder, mut resumed) = (None, None, None);
    let (mut replace_output, mut run_commands) = (false, false);
    // Where results go is no part of what was asked for.
    let mut words: Vec<String> = Vec::new();
    let mut parser = lexopt::Parser::from_args(own);
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(SweepCommand::Help),
            Long("resume") => {
                let path = parser.value().map_err(|error| error.to_string())?;
                resumed = Some(file_name::path_alone("--resume", path)?);
            }
            Long("replace-output") => replace_output = true,
            Long("run-commands") => run_commands = true,
            Long(name @ ("steady" | "precondition" | "purged")) => {
                words.push(format!("--{name}"));
                match name {
                    "steady" => options.extent = Extent::UntilSteady,
                    "precondition" => options.precondition = true,
                    _ => options.is_purged = true,
                }
            }
            Long("dir") => {
                let path = parser.value().map_err(|error| error.to_string())?;
                folder = Some(file_name::path_alone("--dir", path)?);
            }
            Long(name) if ["runs", "until", "rest", "before-run", "endurance"].contains(&name) => {
                let name = name.to_owned();
                let value = text(&parser.value().map_err(|error| error.to_string())?)?;
                words.push(format!("--{name}={value}"));
                let of_option = |reason| format!("--{name} {reason}");
                match name.as_str() {
                    "runs" => runs = Some(count(&value, RUNS_MAX).map_err(of_option)?),
                    "until" => options.extent = until(&value)?,
                    "endurance" => options.endurance_bytes = Some(endurance(&value)?),
                    "rest" => options.rest = duration::parse(&value).map_err(of_option)?,
                    _ => options.before_point = Some(value),
                }
            }
            other => return Err(misplaced(other)),
        }
    }
    if let Some(path) = resumed {
        if !words.is_empty() || runs.is_some() || folder.is_some() || own.len() != args.len() {
            return Err(RESUME_ALONE.to_owned());
        }
        return Ok(SweepCommand::Resume { folder: path, run_commands, replace_output });
    }
    if run_commands {
        return Err(RUN_COMMANDS_ALONE.to_owned());
    }
    options.runs = runs.unwrap_or(match options.extent {
        Extent::Whole => RUNS,
        Extent::UntilSteady => ROUNDS_STEADY,
        _ => RUNS_UNTIL,
    });
    if options.is_purged && options.extent != Extent::UntilSteady {
        return Err("--purged needs --steady: only its report records the purge".to_owned());
    }
    if options.endurance_bytes.is_some() && !options.precondition {
        return Err("--endurance needs --precondition".to_owned());
    }
    let round = if options.extent == Extent::UntilSteady { &ROUND[..] } else { &[] };
    let points = points(&with_defaults(round, &load), &Variation::default(), environment)?;
    words.push("--".to_owned());
    words.extend(load);
    Ok(SweepCommand::Run { request: Box::new(SweepRequest { words, points, options }), folder, replace_output })
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
    let bytes = crate::size::parse(value, 1).map_err(|fault| format!("--endurance '{value}': {fault}"))?;
    if bytes == 0 { Err("--endurance '0': must be above 0".to_owned()) } else { Ok(bytes) }
}

fn until(value: &str) -> Result<Extent, String> {
    let wrong = || {
        format!(
            "--until '{value}': invalid (expected: a metric and a percentage, as in iops=1%, mean=2% \
                            or p99=5%)"
        )
    };
    let (name, share) = value.split_once('=').ok_or_else(wrong)?;
    let figure = Figure::from_name(name).filter(|figure| UNTIL_FIGURES.contains(figure)).ok_or_else(wrong)?;
    let percent: f64 = share.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    if !(0.01..=100.0).contains(&percent) {
        return Err(wrong());
    }
    Ok(Extent::UntilSure { figure, share: percent / 100.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::FakeEnv;
    use std::time::Duration;

    fn parsed(line: &str) -> Result<SweepCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse_repeat(&args, &FakeEnv).map_err(|failure| failure.messages.join("\n"))
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
        assert_eq!((until.extent, until.runs), (Extent::UntilSure { figure: Figure::P99, share: 0.025 }, 64));
        assert_eq!(options("--until iops=1% --runs 20 -- a.dat").runs, 20);
        assert_eq!(parsed("--help"), Ok(SweepCommand::Help));
        let resume = |run_commands, replace_output| {
            Ok(SweepCommand::Resume { folder: "d".into(), run_commands, replace_output })
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
