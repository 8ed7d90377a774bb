//! Arguments of `diskspd sweep`.

use super::axis::Axis;
use super::points::{PlannedPoint, Variation, points};
use crate::command::{Environment, ParseFailure};
use crate::{decimal, duration, file_name};
use lexopt::prelude::*;
use model::limit::{Limit, LimitFigure};
use model::limits::RUNS_MAX;
use model::sweep::{Extent, Order};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Output of `diskspd sweep --help`.
pub const HELP: &str = "\
Usage: diskspd sweep --vary OPTION=VALUES [...] -- <options and targets of the load>
       diskspd sweep --resume DIR

Runs a load once for each value of an option, prints a line per run, then a table, and recommends a queue
depth: the efficient one (the most throughput per latency) and the one that saturates the target.

What to vary (several options make a grid):
      --vary OPTION=VALUES
               any option, without its dashes: o=1..16, o=1..256*2, t=1,2,4, b=4K,8K,64K, w=0..100/10,
               rate=1000,2000. o=1.. is open: it continues until throughput no longer grows
      --total-depth N
               all combinations of -t and -o that keep targets x threads x outstanding at N
      --files N,N,...
               split the one target into N files, with the same total size and queue depth

      --limit FIGURE=VALUE
               instead of a range, search for the highest --rate at which the response time (mean, p50, p99,
               p99.9) or the CPU usage stays within VALUE, as in p99=1ms or cpu=25%; may be given again

How to run:
      --order given|random|abba
               order of the points; abba alternates forward and backward and needs --runs 2 or more
      --runs N
               runs per point; the median run gives the point's results
      --rest TIME
               pause between runs: 5s, 500ms, 1m
      --before-point COMMAND
               shell command to run before each run, for example to drop a server's caches
      --probe TIME
               measure every point for this short time first
      --confirm TIME
               then measure the recommended depths and the fastest point again for this long

Results:
      --ssds N, --copies M
               devices below the targets, and copies of each written block: shows depth and IOPS per device
      --dir DIR
               directory for sweep.json, table.csv and every result; must be new or empty (default:
               sweep-YYYYMMDD-HHMMSS)
      --replace-output
               also use a directory that is not empty; its sweep.json and table.csv are replaced
      --resume DIR
               continue a stopped sweep
      --run-commands
               with --resume: run the --before-point command stored in DIR. Without it, the command is
               shown and nothing is run
  -h, --help   print this help

Exit status: 0, also after Ctrl+C once a point was measured (130 before); 1 if a point failed.

To measure a file named sweep, write ./sweep.
";

/// Error for `--run-commands` with a new sweep.
pub(super) const RUN_COMMANDS_ALONE: &str = "omit --run-commands: it is only for --resume; without --resume, the \
                                             commands always run";

/// What follows `diskspd sweep`, and `diskspd repeat`, which is a sweep of one point.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepCommand {
    /// Print the help of the subcommand.
    Help,
    /// A new sweep.
    Run {
        /// What to run.
        request: Box<SweepRequest>,
        /// Directory of its results, if given.
        folder: Option<PathBuf>,
        /// `--replace-output`
        replace_output: bool,
    },
    /// Go on with the sweep in this directory.
    Resume {
        /// The directory.
        folder: PathBuf,
        /// `--run-commands`: run the command that it keeps before each run.
        run_commands: bool,
        /// `--replace-output`
        replace_output: bool,
    },
}

/// A sweep to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRequest {
    /// The words that it was read from, without `--dir`; who goes on with it reads them again.
    pub words: Vec<String>,
    /// All points, in the order given.
    pub points: Vec<PlannedPoint>,
    pub options: SweepOptions,
}

/// How a sweep is run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepOptions {
    /// How far it goes.
    pub extent: Extent,
    /// `--limit`; the points are rising rates.
    pub limits: Vec<Limit>,
    /// `--order`
    pub order: Order,
    /// `--runs`, at least 1.
    pub runs: u32,
    /// `--rest`
    pub rest: Duration,
    /// `--before-point`
    pub before_point: Option<String>,
    /// `--probe` in seconds.
    pub probe_s: Option<u32>,
    /// `--confirm` in seconds.
    pub confirm_s: Option<u32>,
    /// `--precondition`
    pub precondition: bool,
    /// `--purged`
    pub is_purged: bool,
    /// `--endurance` in bytes.
    pub endurance_bytes: Option<u64>,
    /// `--ssds`
    pub ssds: Option<u32>,
    /// `--copies`
    pub copies: Option<u32>,
}

/// Parses the arguments of `diskspd sweep`.
pub fn parse(args: &[OsString], environment: &dyn Environment) -> Result<SweepCommand, ParseFailure> {
    read(args, environment).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd sweep --help")))
}

#[derive(Default)]
struct Words {
    /// As typed, without where results go.
    kept: Vec<String>,
    variation: Variation,
    options: SweepOptions,
    folder: Option<PathBuf>,
    resume: Option<PathBuf>,
    replace_output: bool,
    run_commands: bool,
}

fn read(args: &[OsString], environment: &dyn Environment) -> Result<SweepCommand, String> {
    let (own, load) = split_load(args)?;
    let mut words = Words { options: SweepOptions { runs: 1, ..SweepOptions::default() }, ..Words::default() };
    let mut parser = lexopt::Parser::from_args(own);
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(SweepCommand::Help),
            Long(name) => {
                let name = name.to_owned();
                words.take(&name, &mut parser)?;
            }
            other => return Err(misplaced(other)),
        }
    }
    if let Some(folder) = words.resume {
        if !words.kept.is_empty() || words.folder.is_some() || own.len() != args.len() {
            return Err(
                "--resume allows only --run-commands and --replace-output; the other options are read from the \
                 directory"
                    .to_owned(),
            );
        }
        let (run_commands, replace_output) = (words.run_commands, words.replace_output);
        return Ok(SweepCommand::Resume { folder, run_commands, replace_output });
    }
    if words.run_commands {
        return Err(RUN_COMMANDS_ALONE.to_owned());
    }
    let replace_output = words.replace_output;
    let request = words.finish(&load, environment)?;
    Ok(SweepCommand::Run { folder: request.1, request: Box::new(request.0), replace_output })
}

impl Words {
    fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), String> {
        let value = |parser: &mut lexopt::Parser| parser.value().map_err(|error| error.to_string());
        match name {
            "dir" => self.folder = Some(file_name::path_alone("--dir", value(parser)?)?),
            "resume" => self.resume = Some(file_name::path_alone("--resume", value(parser)?)?),
            "replace-output" => self.replace_output = true,
            "run-commands" => self.run_commands = true,
            _ => {
                let known = [
                    "vary",
                    "total-depth",
                    "files",
                    "limit",
                    "order",
                    "runs",
                    "rest",
                    "before-point",
                    "probe",
                    "confirm",
                    "ssds",
                    "copies",
                ];
                if !known.contains(&name) {
                    return Err(format!("invalid option '--{name}'"));
                }
                let value = text(&value(parser)?)?;
                self.kept.push(format!("--{name}={value}"));
                self.set(name, &value).map_err(|reason| format!("--{name} {reason}"))?;
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let options = &mut self.options;
        match name {
            "vary" => self.variation.axes.push(Axis::parse(value)?),
            "total-depth" => self.variation.total_depth = Some(count(value, u32::MAX)?),
            "files" => self.variation.files = value.split(',').map(|n| count(n, 1024)).collect::<Result<_, _>>()?,
            "limit" => options.limits.push(limit(value)?),
            "runs" => options.runs = count(value, RUNS_MAX)?,
            "rest" => options.rest = duration::parse(value)?,
            "before-point" => options.before_point = Some(value.to_owned()),
            "probe" => options.probe_s = Some(duration::whole_seconds(value)?),
            "confirm" => options.confirm_s = Some(duration::whole_seconds(value)?),
            "ssds" => options.ssds = Some(count(value, 100_000)?),
            "copies" => options.copies = Some(count(value, 100)?),
            _ => {
                options.order = match value {
                    "given" => Order::Given,
                    "random" => Order::Random,
                    "abba" => Order::Abba,
                    _ => return Err(format!("'{value}': unknown order (expected: given, random, abba)")),
                }
            }
        }
        Ok(())
    }

    fn finish(self, load: &[String], environment: &dyn Environment) -> Result<(SweepRequest, Option<PathBuf>), String> {
        let Self { mut kept, mut variation, mut options, folder, .. } = self;
        let varied = variation.axes.len()
            + usize::from(variation.total_depth.is_some())
            + usize::from(!variation.files.is_empty());
        if !options.limits.is_empty() {
            if varied > 0 || options.runs > 1 || options.order != Order::Given {
                return Err(
                    "--limit cannot be combined with --vary, --total-depth, --files, --runs or --order".to_owned()
                );
            }
            variation.axes.push(Axis::rates());
        } else if varied == 0 {
            return Err("nothing to vary: give --vary, --total-depth, --files or --limit".to_owned());
        }
        let is_open = variation.axes.iter().any(|axis| axis.is_open);
        options.extent = if is_open { Extent::UntilFlat } else { Extent::Whole };
        if is_open && varied > 1 {
            return Err("an open-ended range must be the only variation".to_owned());
        }
        for (index, axis) in variation.axes.iter().enumerate() {
            let is_divided = variation.total_depth.is_some() && ["t", "o"].contains(&axis.name.as_str());
            if is_divided || variation.axes[..index].iter().any(|other| other.name == axis.name) {
                return Err(format!("-{} is varied twice", axis.name));
            }
        }
        if options.order == Order::Abba && options.runs < 2 {
            return Err("--order abba needs --runs 2 or more".to_owned());
        }
        if is_open && options.order != Order::Given {
            return Err("an open-ended range needs --order given".to_owned());
        }
        if options.confirm_s.is_some() && options.probe_s.is_none() {
            return Err(
                "--confirm can only be used with --probe; without --probe, set the run length with -d".to_owned()
            );
        }
        if options.copies.is_some() && options.ssds.is_none() {
            return Err("--copies needs --ssds".to_owned());
        }
        let points = points(load, &variation, environment)?;
        kept.push("--".to_owned());
        kept.extend(load.iter().cloned());
        Ok((SweepRequest { words: kept, points, options }, folder))
    }
}

/// `p99=1ms`, `cpu=25%`
fn limit(value: &str) -> Result<Limit, String> {
    let wrong = || {
        format!(
            "'{value}': invalid limit (expected: mean, p50, p99, p99.9 or cpu with a bound, as in p99=1ms or \
                    cpu=25%)"
        )
    };
    let (name, bound) = value.split_once('=').ok_or_else(wrong)?;
    let figure = LimitFigure::from_name(name).ok_or_else(wrong)?;
    let at_most = match figure {
        LimitFigure::Cpu => bound.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?,
        _ if bound.ends_with(|last: char| last.is_ascii_digit()) => return Err(wrong()),
        _ => decimal::time_ns(bound)? as f64,
    };
    if at_most > 0.0 && at_most.is_finite() { Ok(Limit { figure, at_most }) } else { Err(wrong()) }
}

/// The arguments of the subcommand, and those of the load after `--`.
pub(super) fn split_load(args: &[OsString]) -> Result<(&[OsString], Vec<String>), String> {
    let split = args.iter().position(|word| word == "--").unwrap_or(args.len());
    let (own, load) = args.split_at(split);
    let load: Result<Vec<String>, String> = load.iter().skip(1).map(text).collect();
    Ok((own, load?))
}

/// The error for an argument that the subcommand does not know.
pub(super) fn misplaced(word: lexopt::Arg<'_>) -> String {
    match word {
        Value(value) => format!("'{}': put the workload's options and targets after --", value.display()),
        option => option.unexpected().to_string() + "; put the workload's options after --",
    }
}

pub(super) fn text(word: &OsString) -> Result<String, String> {
    // The words are kept in sweep.json.
    word.to_str().map(str::to_owned).ok_or_else(|| format!("'{}' is not valid UTF-8", word.display()))
}

pub(super) fn count(value: &str, largest: u32) -> Result<u32, String> {
    match value.parse::<u32>() {
        Ok(count) if (1..=largest).contains(&count) => Ok(count),
        _ => Err(format!("'{value}' is not a number from 1 to {largest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::FakeEnv;

    fn parsed(line: &str) -> Result<SweepCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args, &FakeEnv).map_err(|failure| failure.messages.join("\n"))
    }

    fn request(line: &str) -> SweepRequest {
        match parsed(line) {
            Ok(SweepCommand::Run { request, .. }) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_are_told_from_the_load() {
        let line = "--vary o=1..4 --runs 3 --rest=5s --order abba --probe 20s --confirm 5m --ssds 8 --copies 2 \
                    --dir here -- -c1M -r -L a.dat";
        let options = SweepOptions {
            limits: Vec::new(),
            precondition: false,
            is_purged: false,
            endurance_bytes: None,
            extent: Extent::Whole,
            order: Order::Abba,
            runs: 3,
            rest: Duration::from_secs(5),
            before_point: None,
            probe_s: Some(20),
            confirm_s: Some(300),
            ssds: Some(8),
            copies: Some(2),
        };
        let Ok(SweepCommand::Run { request, folder, .. }) = parsed(line) else { panic!() };
        assert_eq!((request.options.clone(), folder), (options, Some("here".into())));
        assert_eq!(request.points.len(), 4);
        let words: Vec<OsString> = request.words.iter().map(OsString::from).collect();
        let again = SweepCommand::Run { request, folder: None, replace_output: false };
        assert_eq!(parse(&words, &FakeEnv), Ok(again), "its words say all of it");
    }

    #[test]
    fn an_open_range_is_known() {
        assert_eq!(request("--vary o=1.. -- a.dat").options.extent, Extent::UntilFlat);
        let resume = |run_commands, replace_output| {
            Ok(SweepCommand::Resume { folder: "dir".into(), run_commands, replace_output })
        };
        assert_eq!(parsed("--resume dir"), resume(false, false));
        assert_eq!(parsed("--run-commands --resume dir --replace-output"), resume(true, true));
        assert_eq!(parsed("--vary o=1 --help"), Ok(SweepCommand::Help));
    }

    #[test]
    fn limits_make_a_search_over_rates() {
        let request = request("--limit p99=1ms --limit cpu=25% --probe 5s -- -o8 a.dat");
        let limits = [(LimitFigure::P99, 1e6), (LimitFigure::Cpu, 25.0)];
        assert_eq!(request.options.limits, limits.map(|(figure, at_most)| Limit { figure, at_most }));
        let rates: Vec<u32> =
            request.points.iter().map(|point| point.request.profile.time_spans[0].rate_iops.unwrap()).collect();
        assert!(rates[0] == 1 && rates.is_sorted() && rates.len() > 500 && *rates.last().unwrap() > 90_000_000);
        assert!(rates.windows(2).all(|pair| pair[1] - pair[0] <= 1 + pair[0] / 49), "steps of 2 %");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("-- a.dat", "nothing to vary"),
            ("--limit p99=1 -- a", "as in p99=1ms"),
            ("--limit iops=1 -- a", "as in p99=1ms"),
            ("--limit cpu=0% -- a", "as in p99=1ms"),
            ("--limit p99=1ms --vary o=1..2 -- a", "--limit cannot be combined with --vary"),
            ("--vary o=1..4", "the workload is missing; put its options and targets after --"),
            ("--vary o=1..4 a.dat", "'a.dat': put the workload's options and targets after --"),
            ("--vary o=1..4 -r -- a", "'-r'; put the workload's options after --"),
            ("--vary o=1..4 --runs 0 -- a", "--runs '0' is not a number from 1 to 1000"),
            ("--vary o=1..4 --rest x -- a", "--rest 'x'"),
            ("--vary o=1..4 --order aba -- a", "given, random, abba"),
            ("--vary o=1..4 --order abba -- a", "--runs 2 or more"),
            ("--vary o=1.. --vary t=1,2 -- a", "must be the only variation"),
            ("--vary o=1.. --order random -- a", "needs --order given"),
            ("--vary o=1 --vary o=2 -- a", "-o is varied twice"),
            ("--vary t=1 --total-depth 8 -- a", "-t is varied twice"),
            ("--vary o=1 --confirm 9 -- a", "--confirm can only be used with --probe"),
            ("--vary o=1 --copies 2 -- a", "--copies needs --ssds"),
            ("--outptu o=1 -- a", "invalid option '--outptu'"),
            ("--resume x --vary o=1 -- a", "--resume allows only --run-commands"),
            ("--run-commands --vary o=1 -- a", "omit --run-commands"),
            ("--dir= --vary o=1 -- a", "--dir '': a file name is missing"),
            ("--dir -x --vary o=1 -- a", "write './-x'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
            assert!(failure.ends_with("; see diskspd sweep --help"), "{line}: {failure}");
        }
    }
}
