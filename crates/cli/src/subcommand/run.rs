//! Arguments of `diskspd run`.

use super::{Arguments, TypedArguments, with_load_last};
use crate::request::Environment;
use std::ffi::OsString;
use std::path::PathBuf;

/// Run a job file
///
/// Runs the load of a job file: targets, timespans and requirements in TOML. diskspd -Rptoml prints any command line as a
/// job file, and diskspd -Xprofile.xml -Rptoml converts a profile from Windows.
///
/// A job file describes a load and what it must achieve. It never grants permissions or names outputs: --overwrite,
/// --destroy, --json and the like are typed with each run.
#[derive(clap::Args)]
#[command(override_usage = "diskspd run JOB.toml [options] [<target>...]")]
pub(super) struct RunJobArguments {
    /// the job file; an XML profile works too
    #[arg(value_name = "JOB")]
    path: PathBuf,
    /// options that may be used with a profile (-d, -W, -C, -z, -v, -R and all that begin with --), and the targets for
    /// the paths *1, *2, ... of the job
    #[arg(value_name = "OPTIONS", last = true)]
    load: Vec<OsString>,
}

/// Arguments of `diskspd run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunJobCommand {
    /// The job file.
    pub path: PathBuf,
    /// Options and targets.
    pub words: Vec<OsString>,
}

impl Arguments for RunJobArguments {
    type Request = RunJobCommand;

    fn in_usual_form(command: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        Ok(with_load_last(command, args, 1, |_| true))
    }

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<RunJobCommand, String> {
        Ok(RunJobCommand { path: self.path, words: self.load })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    #[test]
    fn options_and_targets_follow_the_file() {
        for (line, path, words) in [
            ("job.toml", "job.toml", &[][..]),
            ("job.toml -d3 --json r.json a b", "job.toml", &["-d3", "--json", "r.json", "a", "b"]),
            ("job.toml -- -d3 a", "job.toml", &["-d3", "a"]),
        ] {
            let Ok(Subcommand::Run(command)) = typed("run", line) else { panic!("{line}") };
            assert_eq!(command.path, PathBuf::from(path));
            assert_eq!(command.words, words, "{line}");
        }
        assert!(typed("run", "").expect_err("no file").contains("JOB is missing"));
        assert_eq!(typed("run", "--help"), Err("help".to_owned()));
    }
}
