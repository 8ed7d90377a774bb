//! Arguments of `diskspd check`.

use crate::command::{Command, Environment, ParseFailure};
use crate::{argv, file_name};
use model::check::Workload;
use model::profile::Target;
use model::units::Bytes;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Output of `diskspd check --help`.
pub const HELP: &str = "\
Usage: diskspd check [--for sql] [--json FILE] <options and targets of the load>
       diskspd check [--for sql] [--json FILE] -- <options and targets of the load>

Checks before a run for conditions that would prevent it or bias its results: free space, health of
drives and file systems, background work, other users, power saving, limits, schedulers, alignment, paths.
Observes for two seconds and writes nothing to the targets.

  The load is as for a run: files, existing or to be created with -c<size>, and block devices. After --,
  --json is an option of the load.

      --for sql   also check the storage requirements of SQL Server on Linux
      --json FILE
                  also write the findings as JSON; - = stdout, instead of the table. An existing file is
                  replaced only if it is empty or an earlier report of check
      --replace-output
                  let --json replace any regular file
  -h, --help      print this help

Exit status: 0 = no check failed (warnings are possible); 4 = a check failed; 3 = command line not valid.
To measure a file named check, write ./check.
";

/// What follows `diskspd check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckCommand {
    /// Print [`HELP`].
    Help,
    /// Check targets.
    Check(CheckRequest),
}

/// What to check, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRequest {
    /// At least one.
    pub targets: Vec<PathBuf>,
    /// `-c`, in bytes.
    pub create_bytes: Option<u64>,
    /// `--for`
    pub workload: Workload,
    /// `--json`; `-` = stdout.
    pub json: Option<PathBuf>,
    /// `--replace-output`
    pub replace_output: bool,
}

/// Parses the arguments of `diskspd check`: its own options, and a load with its targets as a run has them.
pub fn parse(args: &[OsString], environment: &dyn Environment) -> Result<CheckCommand, ParseFailure> {
    let wrong = |reason| ParseFailure::because(format!("{reason}; see diskspd check --help"));
    let (mut request, load) = match own_options(args).map_err(wrong)? {
        Own::Help => return Ok(CheckCommand::Help),
        Own::Request(request, load) => (request, load),
    };
    let command = argv::parse(&load, environment).map_err(|mut failure| {
        failure.messages.push("see diskspd check --help".to_owned());
        failure
    });
    let targets = match command? {
        Command::Run(run) => run.profile.time_spans.into_iter().flat_map(|span| span.targets).collect(),
        Command::UsageWithoutArguments => Vec::new(),
        _ => return Err(wrong("give the options and targets of a load".to_owned())),
    };
    if targets.is_empty() {
        return Err(wrong("no target given".to_owned()));
    }
    request.create_bytes = targets.iter().find_map(created_bytes);
    request.targets = targets.into_iter().map(|target| target.path).collect();
    Ok(CheckCommand::Check(request))
}

/// What the options of check itself say, and the arguments of the load.
enum Own {
    Help,
    Request(CheckRequest, Vec<OsString>),
}

fn own_options(args: &[OsString]) -> Result<Own, String> {
    let mut request = CheckRequest::default();
    // In a load, options come first.
    let (mut options, mut others) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(OsString::from(value))));
        let mut value =
            || value.clone().or_else(|| args.next().cloned()).ok_or_else(|| format!("{name} needs a value"));
        match name {
            "-h" | "--help" => return Ok(Own::Help),
            "--for" => request.workload = workload(&value()?)?,
            "--json" => request.json = Some(file_name::path("--json", value()?)?),
            "--replace-output" => request.replace_output = true,
            // What follows is as a run has it.
            "--" => others.extend(args.by_ref().cloned()),
            _ if text.starts_with('-') && !text.starts_with("--") => options.push(arg.clone()),
            _ => others.push(arg.clone()),
        }
    }
    options.extend(others);
    Ok(Own::Request(request, options))
}

fn created_bytes(target: &Target) -> Option<u64> {
    target.create_size.map(Bytes::get).filter(|bytes| *bytes > 0)
}

fn workload(value: &OsStr) -> Result<Workload, String> {
    if value == "sql" {
        Ok(Workload::Sql)
    } else {
        Err(format!("--for '{}': unknown workload (supported: sql)", value.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::FakeEnv;

    fn parsed(line: &str) -> Result<CheckCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args, &FakeEnv).map_err(|failure| failure.messages.join("\n"))
    }

    #[test]
    fn targets_size_workload_and_file_are_read() {
        let plain = CheckRequest { targets: vec!["a".into(), "/dev/sdb".into()], ..CheckRequest::default() };
        assert_eq!(parsed("a /dev/sdb"), Ok(CheckCommand::Check(plain)));
        let all = CheckRequest {
            targets: vec!["a".into()],
            create_bytes: Some(64 << 30),
            workload: Workload::Sql,
            json: Some("c.json".into()),
            replace_output: true,
        };
        assert_eq!(parsed("-c64G a --for=sql --replace-output --json c.json"), Ok(CheckCommand::Check(all)));
        assert_eq!(parsed("a -h"), Ok(CheckCommand::Help));
        for line in
            ["-c64G -t8 f", "f -c64G", "-- -c64G -t8 --json x.json f", "-b8K -c8388608b f", "--rate 500 -c64G f"]
        {
            let loaded =
                CheckRequest { targets: vec!["f".into()], create_bytes: Some(64 << 30), ..CheckRequest::default() };
            assert_eq!(parsed(line), Ok(CheckCommand::Check(loaded)), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "no target given"),
            ("a --for oracle", "--for 'oracle': unknown workload (supported: sql)"),
            ("a -c1x", "'-c1x': invalid size"),
            ("--jason a", "'--jason'"),
            ("a --json", "--json needs a value"),
            ("-Xp.xml", "give the options and targets of a load"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
