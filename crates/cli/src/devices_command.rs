//! Arguments of `diskspd devices`.

use crate::command::ParseFailure;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Output of `diskspd devices --help`.
pub const HELP: &str = "\
Usage: diskspd devices [--all] [--json]
       diskspd devices --mark-scratch=<device> ...

Lists the block devices of this machine: size, model, identity, type, mount points and users. Opens no
device.

With --mark-scratch, adds a device to this machine's list of scratch disks, /etc/diskspd/scratch. The
device must be empty and not in use. Tests may write to it without --destroy as long as it has no
partition table, file system or other signature. Needs root.

  -a, --all    also list devices without a medium, such as free loop devices
      --json   print JSON instead of a table: an array with one object per device
      --mark-scratch=<device>
               add this device to the list; may be given again
  -h, --help   print this help

To measure a file named devices, write ./devices.
";

/// What follows `diskspd devices`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevicesCommand {
    /// Print [`HELP`].
    Help,
    /// List the devices.
    List {
        /// Those without a medium too.
        all: bool,
        /// As JSON.
        json: bool,
    },
    /// Add devices to the list of scratch disks.
    MarkScratch {
        /// Their paths, at least one.
        devices: Vec<PathBuf>,
    },
}

/// Parses the arguments of `diskspd devices`.
pub fn parse(args: &[OsString]) -> Result<DevicesCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd devices --help")))
}

fn read(args: &[OsString]) -> Result<DevicesCommand, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut all, mut json) = (false, false);
    let mut devices = Vec::new();
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(DevicesCommand::Help),
            Short('a') | Long("all") => all = true,
            Long("json") => json = true,
            Long("mark-scratch") => devices.push(PathBuf::from(parser.value().map_err(|error| error.to_string())?)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    match (devices.is_empty(), all || json) {
        (true, _) => Ok(DevicesCommand::List { all, json }),
        (false, false) => Ok(DevicesCommand::MarkScratch { devices }),
        (false, true) => Err("--mark-scratch cannot be combined with --all or --json".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<DevicesCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map_err(|failure| failure.messages.join("\n"))
    }

    #[test]
    fn words_are_read() {
        assert_eq!(parsed(""), Ok(DevicesCommand::List { all: false, json: false }));
        assert_eq!(parsed("--json -a"), Ok(DevicesCommand::List { all: true, json: true }));
        assert_eq!(parsed("--json -h"), Ok(DevicesCommand::Help));
        let marked = DevicesCommand::MarkScratch { devices: vec!["/dev/sdb".into(), "c".into()] };
        assert_eq!(parsed("--mark-scratch=/dev/sdb --mark-scratch c"), Ok(marked));
        for line in ["--json --mark-scratch=a", "--mark-scratch", "sda", "--jason", "--json=x"] {
            assert!(parsed(line).is_err_and(|message| message.contains("diskspd devices --help")), "{line}");
        }
    }
}
