//! The words behind `diskspd repeat`: a sweep of one point.

use super::command::{
    RUN_COMMANDS_ALONE, SweepCommand, SweepOptions, SweepRequest, count, misplaced, split_load, text,
};
use super::points::{Variation, points};
use crate::command::{ParseFailure, Surroundings};
use crate::words::row_of;
use crate::{duration, file_name};
use lexopt::prelude::*;
use model::headline::Figure;
use model::limits::RUNS_MAX;
use model::sweep::Extent;
use std::ffi::OsString;

/// Runs if nothing else is said.
const RUNS: u32 = 10;
/// Runs of `--until` if no other limit is said.
const RUNS_UNTIL: u32 = 64;

/// Rounds of `--steady` if no other limit is said, as SNIA has it.
const ROUNDS_STEADY: u32 = 25;
/// What a round is, as far as the load does not say: a minute, without a warm-up.
const ROUND: [&str; 2] = ["-d60", "-W0"];

/// Figures of `--until`.
const UNTIL_FIGURES: [Figure; 3] = [Figure::Iops, Figure::MeanLatency, Figure::P99];

/// What `diskspd repeat --help` prints.
pub const REPEAT_HELP: &str = "\
Usage: diskspd repeat [--runs N] [--until FIGURE=SHARE%] -- <options and targets of the load>

Runs the same load again and again, prints a line per run, then their average, median and spread, and says
whether the runs sit on two levels, or the first differs from the others.

      --runs N
               runs; 10 if not given
      --until FIGURE=SHARE%
               until the mean of iops, mean or p99 (latency) is known to within this share, as in
               --until iops=1%; judged after 8, 16, 32 ... runs, each time with a wider interval, as one
               looks several times. --runs is the limit then, 64 if not given
      --steady
               rounds of 60 s (-d of the load, if given) until the last five agree as SNIA asks: range at most
               20 % of the mean, rise at most 10 %. --runs is the limit, 25 if not given
      --precondition
               first write every target twice, in sequence, with random data
      --purged
               the devices were purged before; says so in the report of --steady
      --endurance SIZE
               what the device may be written in its life, as in 600T: shows the share that --precondition takes
      --rest TIME
               between runs: 5s, 500ms, 1m
      --before-run COMMAND
               run by the shell before each run
      --dir DIR
               where repeat.json, table.csv and every result go, a new or an empty directory;
               repeat-YYYYMMDD-HHMMSS if not given
      --replace-output
               also into a directory that is not empty: its repeat.json and table.csv are replaced
      --resume DIR
               go on where runs stopped
      --run-commands
               with --resume: run the command of --before-run that DIR keeps. Without it the command is
               shown and nothing is run
  -h, --help   this text

Ends with 0, also after Ctrl+C; with 1 if a run failed.

A file called repeat is measured as ./repeat.
";

/// Reads the words behind `diskspd repeat`.
pub fn parse_repeat(args: &[OsString], surroundings: &dyn Surroundings) -> Result<SweepCommand, ParseFailure> {
    read(args, surroundings)
        .map_err(|reason| ParseFailure::because(format!("{reason}; diskspd repeat --help tells more")))
}

fn read(args: &[OsString], surroundings: &dyn Surroundings) -> Result<SweepCommand, String> {
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
            return Err("--resume stands alone, or with --run-commands: the runs know what they were asked".to_owned());
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
        return Err("--purged is said in the report of --steady".to_owned());
    }
    if options.endurance_bytes.is_some() && !options.precondition {
        return Err("--endurance shows the share that --precondition takes".to_owned());
    }
    let round = if options.extent == Extent::UntilSteady { &ROUND[..] } else { &[] };
    let points = points(&with_defaults(round, &load), &Variation::default(), surroundings)?;
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
    if bytes == 0 { Err("--endurance 0: a device can be written more".to_owned()) } else { Ok(bytes) }
}

fn until(value: &str) -> Result<Extent, String> {
    let wrong = || format!("--until '{value}': it takes a figure and a share, as in iops=1%, mean=2% or p99=5%");
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
    use crate::command::Nothing;
    use std::time::Duration;

    fn parsed(line: &str) -> Result<SweepCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse_repeat(&args, &Nothing).map_err(|failure| failure.messages.join("\n"))
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
        let said = request("--steady --precondition --purged --endurance 600T --dir x -- a.dat");
        assert!(said.options.precondition && said.options.is_purged);
        assert_eq!(said.options.endurance_bytes, Some(600 << 40));
        assert_eq!(said.words.join(" "), "--steady --precondition --purged --endurance=600T -- a.dat");
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
            ("", "the load is missing behind --"),
            ("--purged -- a", "the report of --steady"),
            ("--endurance 1T -- a", "--precondition takes"),
            ("--precondition --endurance 1X -- a", "--endurance '1X'"),
            ("--resume d --runs 3", "stands alone"),
            ("--run-commands -- a", "--run-commands is for --resume"),
            ("--dir= -- a", "--dir '': the name of a file is missing"),
            ("--runs 0 -- a", "--runs '0'"),
            ("--until iops -- a", "--until 'iops'"),
            ("--until iops=1 -- a", "as in iops=1%"),
            ("--until iops=0% -- a", "as in iops=1%"),
            ("--until x=1% -- a", "as in iops=1%"),
            ("a.dat", "'a.dat': the options and targets of the load stand behind --"),
            ("--vary o=1 -- a", "invalid option '--vary'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
