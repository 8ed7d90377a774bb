//! Arguments of `diskspd check`.

use super::{Arguments, TypedArguments, with_load_last};
use crate::command_line::run_of;
use crate::decimal;
use crate::file_name;
use crate::number;
use crate::request::{Environment, RunRequest};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::check::Workload;
use model::profile::{Target, TimeSpan};
use model::units::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Minimum window: a scheduled job could still start within a shorter load.
const WINDOW_MIN: Duration = Duration::from_hours(1);

/// Check for conditions that would prevent or bias a run
///
/// Checks before a run for conditions that would prevent it or bias its results: free space, health of drives and file
/// systems, background work, other users, power saving, limits, schedulers, alignment, paths. Observes for two seconds
/// and writes nothing to the targets.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd check [--for sql] [--for-duration TIME] [--copies N] [--json FILE] <options and targets of the load>
       diskspd check [--for sql] [--for-duration TIME] [--copies N] [--json FILE] -- <options and targets of the load>",
    after_help = "Exit status: 0 = no check failed (warnings are possible); 4 = a check failed; 3 = command line not valid."
)]
pub(super) struct CheckArguments {
    /// the load, as for a run: files, existing or to be created with -c<size>, and block devices. After --, --json is an
    /// option of the load
    #[arg(value_name = "LOAD", last = true)]
    load: Vec<OsString>,
    /// also check the storage requirements of SQL Server on Linux
    #[arg(long = "for", value_name = "WORKLOAD", value_parser = workload())]
    workload: Option<Workload>,
    /// warn of scheduled jobs (systemd timers, cron) that are due within this time, as in 6h (default: the length of the
    /// load, at least 1h)
    #[arg(long, value_name = "TIME", value_parser = decimal::whole_seconds)]
    for_duration: Option<u32>,
    /// number of copies of each file that the free space must hold, where a mirrored or thin storage counts every copy
    #[arg(long, value_name = "N", value_parser = number::count::<100>)]
    copies: Option<u32>,
    /// also write the findings as JSON to this file ('-' writes them to stdout in place of the table). An existing file
    /// is replaced only if it is empty or an earlier report of check
    #[arg(long, value_name = "FILE", value_parser = file_name::path())]
    json: Option<PathBuf>,
    /// let --json replace any regular file
    #[arg(long)]
    replace_output: bool,
}

/// Targets and purpose of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRequest {
    /// At least one.
    pub targets: Vec<PathBuf>,
    /// `-c`, in bytes.
    pub create_bytes: Option<u64>,
    /// `--copies`, at least 1.
    pub copies: u32,
    /// The load, if it has `--expect`.
    pub expected: Option<Box<RunRequest>>,
    /// `--for`
    pub workload: Workload,
    /// `--for-duration`, or the length of the load, at least an hour.
    pub window: Duration,
    /// `--json`; `-` means stdout.
    pub json: Option<PathBuf>,
    /// `--replace-output`
    pub replace_output: bool,
}

impl Arguments for CheckArguments {
    type Request = CheckRequest;

    fn in_usual_form(command: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        Ok(with_load_last(command, args, 0, |_| true))
    }

    fn request(self, _: &TypedArguments<'_>, environment: &dyn Environment) -> Result<CheckRequest, String> {
        if self.load.is_empty() {
            return Err("no target given".to_owned());
        }
        // Here, options may follow targets.
        let is_option = |word: &OsString| {
            let word = word.as_encoded_bytes();
            word.starts_with(b"-") && !word.starts_with(b"--")
        };
        let (mut load, others): (Vec<_>, Vec<_>) = self.load.into_iter().partition(is_option);
        load.extend(others);
        let load = run_of(&load, environment)?;
        let expected = load.options.criteria.stated.is_some().then(|| Box::new(load.clone()));
        let spans = load.profile.time_spans;
        let length_s: u64 = spans.iter().map(length_s).sum();
        let targets: Vec<Target> = spans.into_iter().flat_map(|span| span.targets).collect();
        Ok(CheckRequest {
            create_bytes: targets.iter().find_map(created_bytes),
            targets: targets.into_iter().map(|target| target.path).collect(),
            copies: self.copies.unwrap_or(1),
            expected,
            workload: self.workload.unwrap_or_default(),
            window: self.for_duration.map_or(Duration::from_secs(length_s).max(WINDOW_MIN), seconds),
            json: self.json,
            replace_output: self.replace_output,
        })
    }
}

fn workload() -> impl TypedValueParser<Value = Workload> {
    PossibleValuesParser::new(["sql"]).map(|_| Workload::Sql)
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

/// Time from the start of the threads to the end of the load, in seconds.
fn length_s(span: &TimeSpan) -> u64 {
    [span.warm_up_s, span.duration_s, span.cool_down_s].into_iter().map(u64::from).sum()
}

fn created_bytes(target: &Target) -> Option<u64> {
    target.create_size.map(Bytes::get).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    fn parsed(line: &str) -> Result<CheckRequest, String> {
        match typed("check", line)? {
            Subcommand::Check(request) => Ok(request),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn targets_size_workload_and_file_are_read() {
        let default = CheckRequest { window: WINDOW_MIN, copies: 1, ..CheckRequest::default() };
        let plain = CheckRequest { targets: vec!["a".into(), "/dev/sdb".into()], ..default.clone() };
        assert_eq!(parsed("a /dev/sdb"), Ok(plain));
        let all = CheckRequest {
            targets: vec!["a".into()],
            create_bytes: Some(64 << 30),
            copies: 3,
            expected: None,
            workload: Workload::Sql,
            window: Duration::from_hours(6),
            json: Some("c.json".into()),
            replace_output: true,
        };
        assert_eq!(parsed("-c64G a --for=sql --for-duration 6h --copies 3 --replace-output --json c.json"), Ok(all));
        assert_eq!(parsed("a --help"), Err("help".to_owned()));
        for line in
            ["-c64G -t8 f", "f -c64G", "-- -c64G -t8 --json x.json f", "-b8K -c8388608b f", "--rate 500 -c64G f"]
        {
            let loaded = CheckRequest { targets: vec!["f".into()], create_bytes: Some(64 << 30), ..default.clone() };
            assert_eq!(parsed(line), Ok(loaded), "{line}");
        }
        let window_s = |line: &str| parsed(line).map(|request| request.window.as_secs());
        assert_eq!(window_s("-d7200 -W60 -C5 a"), Ok(7265));
        assert_eq!(window_s("--for-duration 10m -d7200 a"), Ok(600));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "no target given"),
            ("a --for oracle", "--for 'oracle': unknown value (expected: sql)"),
            ("a --for-duration 0", "'0' is not a whole number of seconds, 1 or more"),
            ("a -c1x", "'-c1x': invalid size"),
            ("--jason a", "'--jason'"),
            ("a --json", "option '--json': the value is missing"),
            ("-Xp.xml", "an XML profile (-X) cannot be used here"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
