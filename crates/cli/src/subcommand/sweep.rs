//! Arguments of `diskspd sweep`, including those common to `diskspd repeat`.

use super::compare::ChangeLimit;
use super::{Arguments, TypedArguments};
use crate::command_line::run_of;
use crate::fleet::{FleetOption, OnArguments};
use crate::request::Environment;
use crate::sweep::{Axis, PlannedPoint, Variation, points};
use crate::{decimal, file_name, number};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::limit::Limit;
use model::limits::RUNS_MAX;
use model::metric::{MetricName, Scope};
use model::sweep::{Extent, Order, Setting};
use std::path::PathBuf;
use std::time::Duration;

/// Run a load once per value of an option; recommend a queue depth
///
/// Runs a load once for each value of an option, prints a line per run, then a table, and recommends a queue depth: the
/// efficient one (the most throughput per latency) and the one that saturates the target.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd sweep --vary OPTION=VALUES [...] -- <options and targets of the load>
       diskspd sweep --resume DIR [--vary OPTION=MORE VALUES]",
    after_help = "Exit status: 0; 130 after Ctrl+C, 143 after SIGTERM; 1 if a point failed."
)]
pub(super) struct SweepArguments {
    /// any option, without its dashes: o=1..16, o=1..256*2, t=1,2,4, b=4K,8K,64K, w=0..100/10, rs=0..100/25,
    /// rate=1000,2000, n=off,on; or pattern=seq,random,interlocked, target=FILE,FILE, targets=1..8 (the first of the load's
    /// targets), on=HOST,HOST. Values with commas in them are separated by semicolons. o=1.. is open: it continues until
    /// throughput no longer grows. Several options make a grid
    #[arg(long, value_name = "OPTION=VALUES", help_heading = VARIED, value_parser = Axis::parse)]
    vary: Vec<Axis>,
    /// all combinations of -t and -o that keep targets x threads x outstanding at N
    #[arg(long, value_name = "N", help_heading = VARIED, value_parser = number::count::<{ u32::MAX }>)]
    total_depth: Option<u32>,
    /// of these combinations, only those with so many threads per target; several numbers are separated by commas
    #[arg(long, value_name = "N", help_heading = VARIED, requires = "total_depth")]
    #[arg(value_delimiter = ',', value_parser = number::count::<{ u32::MAX }>)]
    threads: Vec<u32>,
    /// split the one target into N files, with the same total size and queue depth; several numbers are separated by
    /// commas
    #[arg(long, value_name = "N", help_heading = VARIED, value_delimiter = ',', value_parser = number::count::<1024>)]
    files: Vec<u32>,
    /// METRIC=VALUE: instead of a range, search for the highest --rate at which a latency (mean, p50, p99, p99.9: the
    /// response time; or of a scope of --require, as commit.p99) or the CPU usage (cpu, or io-cpu: without other programs) stays within VALUE, as in
    /// p99=1ms or cpu=25%; may be given again
    #[arg(long, value_name = "LIMIT", help_heading = VARIED, value_parser = limit)]
    #[arg(conflicts_with_all = ["vary", "total_depth", "files", "runs", "order"])]
    limit: Vec<Limit>,
    /// order of the points; abba alternates forward and backward and needs --runs 2 or more
    #[arg(long, value_name = "ORDER", help_heading = RUN, value_parser = order())]
    order: Option<Order>,
    /// runs per point; the median run gives the point's results
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = number::count::<RUNS_MAX>)]
    runs: Option<u32>,
    /// shell command to run before each run, for example to drop a server's caches
    #[arg(long, value_name = "COMMAND", help_heading = RUN)]
    before_point: Option<String>,
    /// measure every point for this short time first
    #[arg(long, value_name = "TIME", help_heading = RUN, value_parser = decimal::whole_seconds)]
    probe: Option<u32>,
    /// then measure the recommended depths and the fastest point again for this long
    #[arg(long, value_name = "TIME", help_heading = RUN, value_parser = decimal::whole_seconds)]
    confirm: Option<u32>,
    /// number of devices below the targets; adds depth and IOPS per device to the results
    #[arg(long, value_name = "N", help_heading = RESULTS, value_parser = number::count::<100_000>)]
    ssds: Option<u32>,
    /// number of copies that the storage keeps of each written block; needs --ssds
    #[arg(long, value_name = "M", help_heading = RESULTS, value_parser = number::count::<100>)]
    copies: Option<u32>,
    #[command(flatten)]
    series: SeriesArguments,
}

const VARIED: &str = "What to vary";
pub(super) const RUN: &str = "How to run";
const HOSTS: &str = "Many hosts";
const RESULTS: &str = "Results";

// Not a doc comment, which would be the text of the subcommand.
// Arguments of every series of runs.
#[derive(clap::Args)]
pub(super) struct SeriesArguments {
    /// pause between runs: 5s, 500ms, 1m
    #[arg(long, value_name = "TIME", help_heading = RUN, value_parser = decimal::duration)]
    pub(super) rest: Option<Duration>,
    #[command(flatten, next_help_heading = HOSTS)]
    on: OnArguments,
    /// directory for the state (sweep.json, repeat.json, ab.json or interference.json), table.csv and every result; must be new or empty (default:
    /// the name of the subcommand with date and time, as in sweep-20260131-093000)
    #[arg(long, value_name = "DIR", help_heading = RESULTS, value_parser = file_name::path_alone())]
    dir: Option<PathBuf>,
    /// check everything, print the command of each run, the time and the bytes, and run nothing
    #[arg(long, help_heading = RESULTS)]
    plan: bool,
    /// also use a directory that is not empty; its state and table.csv are replaced
    #[arg(long, help_heading = RESULTS)]
    replace_output: bool,
    /// continue stopped runs; their other options are read from the directory. A sweep takes more values with --vary
    #[arg(long, value_name = "DIR", help_heading = RESULTS, value_parser = file_name::path_alone())]
    resume: Option<PathBuf>,
    /// with --resume: run the shell command that DIR holds before each run. Without it, the command is shown and nothing
    /// is run
    #[arg(long, help_heading = RESULTS)]
    run_commands: bool,
    /// with --resume: existing files may be overwritten if the saved options have --overwrite. Without it, nothing is run
    #[arg(long, help_heading = RESULTS)]
    overwrite: bool,
    /// with --resume: the block device with this name may be written to if the saved options have --destroy for it; may be
    /// repeated
    #[arg(long, value_name = "ID", help_heading = RESULTS)]
    destroy: Vec<String>,
    /// options and targets of the load, as for a run
    #[arg(value_name = "LOAD", last = true)]
    load: Vec<String>,
}

/// A target if nothing is run.
const ANY: &str = "target";

/// Options for the destination of results, which are not part of the request.
const PLACES: [&str; 7] = ["dir", "replace_output", "resume", "run_commands", "overwrite", "destroy", "plan"];

/// Arguments of `diskspd sweep`, and of `diskspd repeat`, which is a sweep of one point.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepCommand {
    /// A new sweep.
    Run {
        /// The sweep to run.
        request: Box<SweepRequest>,
        /// Directory of its results, if given.
        folder: Option<PathBuf>,
        /// `--replace-output`
        replace_output: bool,
        /// `--plan`
        plan_only: bool,
    },
    /// Continue the sweep in this directory.
    Resume {
        /// The directory.
        folder: PathBuf,
        allowed: Allowed,
        /// `--replace-output`
        replace_output: bool,
        /// `--vary`: more values of the varied option.
        added: Vec<AddedValues>,
    },
}

/// More values of an option that a sweep varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedValues(Axis);

impl AddedValues {
    /// The arguments of a sweep, with these values after the existing ones.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be added.
    pub fn added_to(&self, words: &[String]) -> Result<Vec<String>, String> {
        let Self(more) = self;
        let mut words = words.to_vec();
        let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let varied = |word: &String| word.strip_prefix("--vary=").and_then(|text| Axis::parse(text).ok());
        let saved = words[..own].iter().enumerate().filter_map(|(index, word)| Some((index, varied(word)?)));
        let dashed = Setting::dashed(&more.name);
        let Some((index, mut axis)) = saved.into_iter().find(|(_, axis)| axis.name == more.name) else {
            return Err(format!(
                "--vary: the sweep does not vary {dashed}; only values of what it varies can be added"
            ));
        };
        if axis.is_open || more.is_open {
            return Err(format!("--vary: no values of {dashed} can be added to or with a range that has no end"));
        }
        let new = more.values.iter().filter(|value| !axis.values.contains(value)).cloned().collect::<Vec<_>>();
        if new.is_empty() {
            return Err(format!("--vary: the sweep has all these values of {dashed} already"));
        }
        axis.values.extend(new);
        words[index] = format!("--vary={}", axis.typed());
        Ok(words)
    }
}

/// Permissions of the saved options of a resumed series: the user who resumes it is not necessarily their author.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allowed {
    /// `--run-commands`: run the commands.
    pub run_commands: bool,
    /// `--overwrite`
    pub overwrite: bool,
    /// `--destroy`: names of block devices that may be written to.
    pub destroy: Vec<String>,
    /// `--on` and its related options: the hosts that may be given orders, and the key that may sign them.
    pub on: Option<Box<FleetOption>>,
}

/// A sweep to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRequest {
    /// The words that it was parsed from, without `--dir`; they are parsed again on resuming.
    pub words: Vec<String>,
    /// All points, in the order given.
    pub points: Vec<PlannedPoint>,
    pub options: SweepOptions,
}

/// Options of two sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbOptions {
    /// `--before-a`, `--before-b`
    pub before: [Option<String>; 2],
    /// `--fail-if`
    pub limits: Vec<ChangeLimit>,
    /// The options of each side, as typed; both empty if the sides differ only in the command before each run, or not
    /// at all.
    pub sides: [String; 2],
}

impl AbOptions {
    /// True if the sides do not differ.
    pub fn is_noise_floor(&self) -> bool {
        self.sides[0] == self.sides[1] && self.before[0] == self.before[1]
    }
}

/// Options of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepOptions {
    /// Its extent.
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
    /// Options of the two sides of `diskspd ab`.
    pub ab: Option<Box<AbOptions>>,
}

impl SeriesArguments {
    /// The sweep to be resumed, if any.
    pub(super) fn resumed(
        &self,
        typed: &TypedArguments<'_>,
        added: &[Axis],
        environment: &dyn Environment,
    ) -> Result<Option<SweepCommand>, String> {
        let Some(folder) = self.resume.clone() else {
            return if self.run_commands {
                Err("omit --run-commands: it is only for --resume; without --resume, the commands always run"
                    .to_owned())
            } else if self.overwrite || !self.destroy.is_empty() {
                let option = if self.overwrite { "--overwrite" } else { "--destroy" };
                Err(format!("{option} before '--' is only for --resume; put it behind '--', with the load"))
            } else {
                Ok(None)
            };
        };
        let is_added = |id: &str| id == "vary" && !added.is_empty();
        let others = typed.options(|id| !PLACES.contains(&id) && !OnArguments::is_one(id) && !is_added(id));
        if !others.is_empty() || self.dir.is_some() || !self.load.is_empty() {
            return Err(
                "--resume allows only --run-commands, --overwrite, --destroy, --replace-output, and --on with what \
                 belongs to it; the other options are read from the directory"
                    .to_owned(),
            );
        }
        let Self { run_commands, overwrite, replace_output, .. } = *self;
        let on = match hosts(typed) {
            words if words.is_empty() => None,
            words => run_of(&[words, vec![ANY.to_owned()]].concat(), environment)?.options.fleet,
        };
        let allowed = Allowed { run_commands, overwrite, destroy: self.destroy.clone(), on };
        let added = added.iter().cloned().map(AddedValues).collect();
        Ok(Some(SweepCommand::Resume { folder, allowed, replace_output, added }))
    }

    /// The load that is run, including the hosts that run it.
    pub(super) fn load(&self, typed: &TypedArguments<'_>) -> Vec<String> {
        // The error then refers to the missing load.
        if self.load.is_empty() { Vec::new() } else { [hosts(typed), self.load.clone()].concat() }
    }

    /// The command for runs of these points. Parsed again, its words give the same request.
    pub(super) fn command(
        self,
        points: Vec<PlannedPoint>,
        options: SweepOptions,
        typed: &TypedArguments<'_>,
    ) -> SweepCommand {
        let mut words = typed.options_except(&PLACES);
        words.push("--".to_owned());
        words.extend(self.load.iter().cloned());
        let request = Box::new(SweepRequest { words, points, options });
        let Self { dir: folder, replace_output, plan: plan_only, .. } = self;
        SweepCommand::Run { request, folder, replace_output, plan_only }
    }
}

/// `--on` and its related options, as typed for a run.
fn hosts(typed: &TypedArguments<'_>) -> Vec<String> {
    typed.options(OnArguments::is_one)
}

impl Arguments for SweepArguments {
    type Request = SweepCommand;

    fn request(self, typed: &TypedArguments<'_>, environment: &dyn Environment) -> Result<SweepCommand, String> {
        if let Some(command) = self.series.resumed(typed, &self.vary, environment)? {
            return Ok(command);
        }
        let mut options = SweepOptions {
            limits: self.limit,
            order: self.order.unwrap_or_default(),
            runs: self.runs.unwrap_or(1),
            rest: self.series.rest.unwrap_or_default(),
            before_point: self.before_point,
            probe_s: self.probe,
            confirm_s: self.confirm,
            ssds: self.ssds,
            copies: self.copies,
            ..SweepOptions::default()
        };
        let mut variation =
            Variation { axes: self.vary, total_depth: self.total_depth, threads: self.threads, files: self.files };
        if !options.limits.is_empty() {
            variation.axes.push(Axis::rates());
        }
        options.extent = extent(&variation, &options)?;
        let mut load = self.series.load(typed);
        let mut points = points(&load, &variation, environment)?;
        options.limits = resolved(&options.limits, &points)?;
        if lacks_latencies(&options.limits, &points) {
            load.insert(0, "-L".to_owned());
            points = self::points(&load, &variation, environment)?;
        }
        Ok(self.series.command(points, options, typed))
    }
}

/// The limits of a search by their full names, which depend on the load.
fn resolved(limits: &[Limit], points: &[PlannedPoint]) -> Result<Vec<Limit>, String> {
    let span = points.first().and_then(|point| point.request.profile.time_spans.first());
    let resolve = |limit: &Limit| match span {
        Some(span) => limit.resolve(span).map_err(|reason| format!("--limit: {reason}")),
        None => Ok(vec![*limit]),
    };
    Ok(limits.iter().map(resolve).collect::<Result<Vec<_>, _>>()?.concat())
}

/// True if a limit is on latencies that the load does not measure: only response times are measured without `-L`.
fn lacks_latencies(limits: &[Limit], points: &[PlannedPoint]) -> bool {
    const RESPONSES: [Scope; 3] = [Scope::Response, Scope::ReadResponse, Scope::WriteResponse];
    let is_measured = |point: &PlannedPoint| point.request.profile.time_spans.iter().all(|span| span.measure_latency);
    limits.iter().any(|limit| limit.figure.needs_latency() && !RESPONSES.contains(&limit.scope))
        && !points.iter().all(is_measured)
}

/// The extent of a sweep, if the varied options and the others are compatible.
fn extent(variation: &Variation, options: &SweepOptions) -> Result<Extent, String> {
    let varied =
        variation.axes.len() + usize::from(variation.total_depth.is_some()) + usize::from(!variation.files.is_empty());
    if varied == 0 {
        return Err("nothing to vary: give --vary, --total-depth, --files or --limit".to_owned());
    }
    let is_open = variation.axes.iter().any(|axis| axis.is_open);
    if is_open && varied > 1 {
        return Err("an open-ended range, such as o=1.., must be the only option that is varied".to_owned());
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
        return Err("the values of an open-ended range are run in the given order: omit --order".to_owned());
    }
    if options.confirm_s.is_some() && options.probe_s.is_none() {
        return Err("--confirm can only be used with --probe; without --probe, set the run length with -d".to_owned());
    }
    if options.copies.is_some() && options.ssds.is_none() {
        return Err("--copies needs --ssds".to_owned());
    }
    Ok(if is_open { Extent::UntilFlat } else { Extent::Whole })
}

fn order() -> impl TypedValueParser<Value = Order> {
    PossibleValuesParser::new(["given", "random", "abba"]).map(|name| match name.as_str() {
        "random" => Order::Random,
        "abba" => Order::Abba,
        _ => Order::Given,
    })
}

/// `p99=1ms`, `cpu=25%`
fn limit(value: &str) -> Result<Limit, String> {
    let wrong = || {
        format!(
            "'{value}': invalid limit (expected: mean, p50, p99 or p99.9, also of a scope, cpu or io-cpu with a bound, \
             as in p99=1ms, commit.p99=5ms or cpu=25%)"
        )
    };
    let (name, bound) = value.split_once('=').ok_or_else(wrong)?;
    let (name, bound) = (MetricName::parse(name.trim()).map_err(|_| wrong())?, bound.trim());
    if name.stream.is_some() || !Limit::METRICS.contains(&name.metric) {
        return Err(wrong());
    }
    let MetricName { scope, metric: figure, .. } = name;
    let at_most = match figure {
        figure if figure.is_of_machine() => {
            bound.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?
        }
        _ if bound.ends_with(|last: char| last.is_ascii_digit()) => return Err(wrong()),
        _ => decimal::time_ns(bound)? as f64,
    };
    if at_most > 0.0 && at_most.is_finite() { Ok(Limit { figure, scope, at_most }) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;
    use model::metric::Metric;

    fn parsed(line: &str) -> Result<SweepCommand, String> {
        match typed("sweep", line)? {
            Subcommand::Sweep(request) => Ok(request),
            other => panic!("{other:?}"),
        }
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
            ab: None,
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
        let words = request.words.join(" ");
        let again = SweepCommand::Run { request, folder: None, replace_output: false, plan_only: false };
        assert_eq!(parsed(&words), Ok(again), "its words say all of it");
    }

    #[test]
    fn hosts_are_those_of_each_run() {
        let on = "--on=nats://bus:4222/h*,db --key=fleet.key --no-tls";
        let sweep = request(&format!("{on} --vary o=1,2 -- -b4K /a/{{host}}"));
        assert_eq!(sweep.points[1].words.join(" "), format!("-o2 {on} -b4K /a/{{host}}"));
        let option = sweep.points[0].request.options.fleet.clone().expect("hosts");
        assert_eq!((option.server.as_str(), option.hosts.len(), option.access.no_tls), ("nats://bus:4222", 2, true));
        assert_eq!(request(&sweep.words.join(" ")), sweep);
        // After -- they are options of the load.
        let behind = request(&format!("--vary o=1,2 -- {on} -b4K /a/{{host}}"));
        assert_eq!(behind.points, sweep.points);
        let Ok(SweepCommand::Resume { allowed, .. }) = parsed(&format!("--resume d {on}")) else { panic!() };
        assert_eq!(allowed.on, Some(option));
    }

    #[test]
    fn an_open_range_is_known() {
        assert_eq!(request("--vary o=1.. -- a.dat").options.extent, Extent::UntilFlat);
        let resume = |allowed, replace_output| {
            Ok(SweepCommand::Resume { folder: "dir".into(), allowed, replace_output, added: Vec::new() })
        };
        assert_eq!(parsed("--resume dir"), resume(Allowed::default(), false));
        let destroy = vec!["a".to_owned(), "b".to_owned()];
        let allowed = Allowed { run_commands: true, overwrite: true, destroy, on: None };
        assert_eq!(
            parsed("--run-commands --overwrite --destroy=a --destroy b --resume dir --replace-output"),
            resume(allowed, true)
        );
        assert_eq!(parsed("--vary o=1 --help"), Err("help".to_owned()));
    }

    #[test]
    fn limits_make_a_search_over_rates() {
        let request = request("--limit p99=1ms --limit cpu=25% --probe 5s -- -o8 a.dat");
        let limits = [(Metric::P99, Scope::Response, 1e6), (Metric::Cpu, Scope::All, 25.0)];
        assert_eq!(request.options.limits, limits.map(|(figure, scope, at_most)| Limit { figure, scope, at_most }));
        let of_commits = self::request("--limit p99=1ms --limit commit.p99=2ms -- -w50 --fsync-every=1 a.dat");
        let scopes = of_commits.options.limits.iter().map(|limit| limit.scope);
        // Reads must not hide commits.
        assert_eq!(scopes.collect::<Vec<_>>(), [Scope::ReadResponse, Scope::WriteResponse, Scope::Commit]);
        // Without -L, the search used to end at its first rate: it had no value for the limit.
        let is_measured = |words: &str| self::request(words).points[0].request.profile.time_spans[0].measure_latency;
        assert!(is_measured("--limit read.p99=1ms -- -w50 -o8 a.dat"));
        assert!(!is_measured("--limit p99=1ms -- -w50 -o8 a.dat"), "it is a response time");
        let rates: Vec<u32> = request
            .points
            .iter()
            .map(|point| point.request.profile.time_spans[0].rate_iops.unwrap().least_iops())
            .collect();
        assert!(rates[0] == 1 && rates.is_sorted() && rates.len() > 500 && *rates.last().unwrap() > 90_000_000);
        assert!(rates.windows(2).all(|pair| pair[1] - pair[0] <= 1 + pair[0] / 49), "steps of 2 %");
    }

    #[test]
    fn values_are_added_to_what_a_sweep_varies() {
        let words = ["--vary=b=4K,8K", "--vary=o=1..12", "--", "-o1", "a"].map(str::to_owned);
        let added = |text: &str| AddedValues(Axis::parse(text).unwrap()).added_to(&words);
        let expected = "--vary=b=4K,8K --vary=o=1,2,3,4,5,6,7,8,9,10,11,12,13,14 -- -o1 a";
        assert_eq!(added("o=12..14").unwrap().join(" "), expected);
        for (text, reason) in
            [("t=2", "does not vary -t"), ("o=3..5", "has all these values of -o already"), ("o=13..", "no end")]
        {
            assert!(added(text).is_err_and(|found| found.contains(reason)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("-- a.dat", "nothing to vary"),
            ("--limit p99=1 -- a", "as in p99=1ms"),
            ("--limit iops=1 -- a", "as in p99=1ms"),
            ("--limit commit.iops=1 -- a", "as in p99=1ms"),
            ("--limit flush.p99=1ms -- -w100 a", "the load has no flush.p99: it needs flushes"),
            ("--limit cpu=0% -- a", "as in p99=1ms"),
            ("--limit io-cpu=25 -- a", "as in p99=1ms"),
            ("--limit p99=1ms --vary o=1..2 -- a", "cannot be combined with"),
            ("--vary o=1..4", "the workload is missing; put its options and targets after --"),
            ("--vary o=1..4 a.dat", "'a.dat': put the workload's options and targets after --"),
            ("--vary o=1..4 -r -- a", "invalid option '-r'; put the workload's options after --"),
            ("--runs 2 --runs 3 --vary o=1 -- a", "--runs was already given"),
            ("--vary o=1..4 --run 3 -- a", "invalid option '--run' (did you mean --runs?)"),
            ("--vary o=1..4 --runs 0 -- a", "--runs '0' is not a number from 1 to 1000"),
            ("--vary o=1..4 --rest x -- a", "--rest 'x'"),
            ("--vary o=1..4 --order aba -- a", "given, random, abba"),
            ("--vary o=1..4 --order abba -- a", "--runs 2 or more"),
            ("--vary o=1.. --vary t=1,2 -- a", "must be the only option that is varied"),
            ("--vary o=1.. --order random -- a", "omit --order"),
            ("--vary o=1 --vary o=2 -- a", "-o is varied twice"),
            ("--vary t=1 --total-depth 8 -- a", "-t is varied twice"),
            ("--vary o=1 --confirm 9 -- a", "--confirm can only be used with --probe"),
            ("--vary o=1 --copies 2 -- a", "--copies needs --ssds"),
            ("--vary o=1 --on nats://bus/h -- --on=nats://bus/i a", "--on"),
            ("--total-depth 12 --threads 5 -- a", "--threads 5: the queue depth 12 of each target cannot be divided"),
            ("--threads 5 --vary o=1 -- a", "--total-depth"),
            ("--vary targets=1..3 -- a b", "targets=3: the load has only 2 targets"),
            ("--on h1 --vary on=h1,h2 -- /a", "--on is given, so hosts are the same for all runs"),
            ("--vary json=x,y -- a", "omit --json: the results are written to --dir"),
            ("--vary o=1 --on ftp://bus/h -- a", "unknown scheme"),
            ("--outptu o=1 -- a", "invalid option '--outptu'; put the workload's options after --"),
            ("--resume x --vary o=1 -- a", "--resume allows only --run-commands"),
            ("--resume x --vary o=1 --runs 2", "--resume allows only --run-commands"),
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
