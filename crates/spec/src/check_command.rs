//! Arguments of `diskspd check`.

use crate::command::ParseFailure;
use crate::{file_name, size};
use lexopt::prelude::*;
use model::check::Workload;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Output of `diskspd check --help`.
pub const HELP: &str = "\
Usage: diskspd check [-c<size>] [--for sql] [--json FILE] TARGET...

Checks before a run for conditions that would prevent it or bias its results: free space, health of
drives and file systems, background work, other users, power saving, limits, schedulers, alignment, paths.
Observes for two seconds and writes nothing to the targets.

  TARGET          a file, existing or to be created, or a block device
  -c<size>[KMGT]  size with which the run will create each file
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

/// Parses the arguments of `diskspd check`.
pub fn parse(args: &[OsString]) -> Result<CheckCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd check --help")))
}

fn read(args: &[OsString]) -> Result<CheckCommand, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut request = CheckRequest::default();
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(CheckCommand::Help),
            Short('c') => request.create_bytes = Some(size_of(&value(&mut parser)?)?),
            Long("for") => request.workload = workload(&value(&mut parser)?)?,
            Long("json") => request.json = Some(file_name::path("--json", value(&mut parser)?)?),
            Long("replace-output") => request.replace_output = true,
            Value(path) => request.targets.push(PathBuf::from(path)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if request.targets.is_empty() {
        return Err("no target given".to_owned());
    }
    Ok(CheckCommand::Check(request))
}

fn value(parser: &mut lexopt::Parser) -> Result<OsString, String> {
    parser.value().map_err(|error| error.to_string())
}

fn size_of(value: &OsStr) -> Result<u64, String> {
    let wrong = |reason: String| format!("-c '{}': {reason}", value.display());
    let text = value.to_str().ok_or_else(|| wrong("not valid UTF-8".to_owned()))?;
    if text.ends_with(['b', 'B']) {
        return Err(wrong("a size in blocks (b) is not possible here; give it in bytes, K, M, G or T".to_owned()));
    }
    size::parse(text, 1).map_err(|fault| wrong(fault.to_string()))
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

    fn parsed(line: &str) -> Result<CheckCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map_err(|failure| failure.messages.join("\n"))
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
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "no target given"),
            ("a --for oracle", "--for 'oracle': unknown workload (supported: sql)"),
            ("a -c1x", "-c '1x'"),
            ("a -c8b", "a size in blocks (b) is not possible"),
            ("a --jason x", "invalid option '--jason'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
