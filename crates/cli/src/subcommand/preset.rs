//! Arguments of `diskspd preset`.

use super::{Arguments, TypedArguments, with_load_last};
use crate::preset::{GivenCounts, PresetRequest, SeriesChoices};
use crate::request::Environment;
use crate::{file_name, number};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run predefined loads: databases, VMs, AI training, desktops
///
/// Named loads: the I/O patterns of SQL Server, PostgreSQL, RocksDB, Kafka, AI training, virtual machines and desktop
/// benchmarks.
#[derive(clap::Args)]
#[command(override_usage = "diskspd preset list
       diskspd preset show PRESET [--xml|--toml] [--maxdop N] [--sockets N] [--numa N]
       diskspd preset run PRESET [--maxdop N] [--sockets N] [--numa N] [options of a load] <target>...
       diskspd preset run PRESET [--dir DIR] [--quick] [--plan] [--resume] ... (a preset of several series)")]
pub(super) struct PresetArguments {
    /// list: list the presets, one per line. show: show a preset as command lines. run: run its loads one after another
    /// on the targets; options given here override the preset, as in diskspd preset run sql-log -c8G -d30 test.dat.
    /// Several loads end with a summary table; -Rtext prints every report too
    #[arg(value_name = "ACTION", required = true, value_parser = action())]
    action: Action,
    /// a preset from the list, or the path of a TOML file (with a slash, or ending in .toml)
    #[arg(value_name = "PRESET")]
    name: Option<String>,
    /// options and targets of the load, as for a run
    #[arg(value_name = "LOAD", last = true)]
    load: Vec<String>,
    /// number of threads, for loads whose thread count follows the degree of parallelism or the number of CPUs
    #[arg(long, value_name = "N", value_parser = number::count::<{ u32::MAX }>)]
    maxdop: Option<u32>,
    /// number of processor sockets, for loads with a thread for each (default: those of this machine)
    #[arg(long, value_name = "N", value_parser = number::count::<{ u32::MAX }>)]
    sockets: Option<u32>,
    /// number of NUMA nodes, for loads with a thread for each (default: those of this machine)
    #[arg(long, value_name = "N", value_parser = number::count::<{ u32::MAX }>)]
    numa: Option<u32>,
    /// with a preset of several series: directory for their directories; must be new or empty (default: the name of the
    /// preset)
    #[arg(long, value_name = "DIR", help_heading = SERIES, value_parser = file_name::path_alone())]
    dir: Option<PathBuf>,
    /// go on with series that were stopped, in --dir; the other options must be as before
    #[arg(long, help_heading = SERIES)]
    resume: bool,
    /// check everything, print the command of each run, the time and the bytes, and run nothing
    #[arg(long, help_heading = SERIES)]
    plan: bool,
    /// make runs so short that all series take about ten minutes: a first look
    #[arg(long, help_heading = SERIES)]
    quick: bool,
    /// a file on one of the disks below the target, with which the target is compared
    #[arg(long, value_name = "FILE", help_heading = SERIES)]
    against: Option<String>,
    /// number of devices below the targets; adds depth and IOPS per device to sweeps
    #[arg(long, value_name = "N", help_heading = SERIES, value_parser = number::count::<100_000>)]
    ssds: Option<u32>,
    /// number of copies that the storage keeps of each written block; needs --ssds
    #[arg(long, value_name = "M", help_heading = SERIES, requires = "ssds", value_parser = number::count::<100>)]
    copies: Option<u32>,
    /// with show: print a profile for -X
    #[arg(long)]
    xml: bool,
    /// with show: print a preset file to edit
    #[arg(long, conflicts_with = "xml")]
    toml: bool,
}

const SERIES: &str = "Presets of several series";

/// The action on presets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    List,
    Show,
    Run,
}

fn action() -> impl TypedValueParser<Value = Action> {
    PossibleValuesParser::new(["list", "show", "run"]).map(|name| match name.as_str() {
        "list" => Action::List,
        "show" => Action::Show,
        _ => Action::Run,
    })
}

/// Arguments of `diskspd preset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetCommand {
    /// List names and titles.
    List,
    /// Show the contents of a preset.
    Show(PresetRequest, PresetForm),
    /// Run it.
    Run(PresetRequest),
}

/// Forms of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresetForm {
    /// Command lines, as far as they can express it.
    CommandLines,
    /// A profile for `-X`.
    Xml,
    /// Its own file.
    Toml,
}

impl Arguments for PresetArguments {
    type Request = PresetCommand;

    fn in_usual_form(command: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        let is_run = args.first().is_some_and(|action| action == "run");
        // A load also has --xml.
        Ok(with_load_last(command, args, 2, |option| !is_run || !["xml", "toml"].contains(&option)))
    }

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<PresetCommand, String> {
        let Self { action, name, load, xml, toml, .. } = self;
        let counts = GivenCounts { max_degree: self.maxdop, sockets: self.sockets, nodes: self.numa };
        let devices = [("ssds", self.ssds), ("copies", self.copies)];
        let devices = devices.into_iter().filter_map(|(name, count)| Some(format!("--{name}={}", count?)));
        let choices = SeriesChoices {
            folder: self.dir,
            resume: self.resume,
            plan_only: self.plan,
            is_quick: self.quick,
            against: self.against,
            devices: devices.collect(),
        };
        if action == Action::List {
            return match name.or(load.into_iter().next()) {
                None => Ok(PresetCommand::List),
                Some(word) => Err(format!("unexpected '{word}': list takes no arguments")),
            };
        }
        let name = name.ok_or_else(|| match load.first() {
            Some(word) => format!("found '{word}' instead of a preset name"),
            None => "the preset name is missing".to_owned(),
        })?;
        let request = PresetRequest { name, counts, words: load, choices };
        match (action, request.words.first()) {
            (Action::Run, None) => Err(format!("preset '{}': no target given", request.name)),
            (Action::Run, Some(_)) => Ok(PresetCommand::Run(request)),
            (_, Some(word)) => Err(format!("unexpected '{word}': show takes no workload options or targets")),
            _ if toml => Ok(PresetCommand::Show(request, PresetForm::Toml)),
            _ if xml => Ok(PresetCommand::Show(request, PresetForm::Xml)),
            _ => Ok(PresetCommand::Show(request, PresetForm::CommandLines)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    fn parsed(line: &str) -> Result<PresetCommand, String> {
        match typed("preset", line)? {
            Subcommand::Preset(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_degrees_and_words_are_told_apart() {
        let request = |max_degree, words: &[&str]| PresetRequest {
            name: "oltp".into(),
            counts: GivenCounts { max_degree, ..GivenCounts::default() },
            words: words.iter().map(|&word| word.into()).collect(),
            choices: SeriesChoices::default(),
        };
        assert_eq!(parsed("list"), Ok(PresetCommand::List));
        assert_eq!(parsed("--help"), Err("help".to_owned()));
        assert_eq!(parsed("run --help"), Err("help".to_owned()));
        assert_eq!(
            parsed("run oltp --xml=r.xml a.dat"),
            Ok(PresetCommand::Run(request(None, &["--xml=r.xml", "a.dat"])))
        );
        assert_eq!(parsed("run oltp -d3 a.dat"), Ok(PresetCommand::Run(request(None, &["-d3", "a.dat"]))));
        assert_eq!(parsed("run --maxdop 4 oltp a"), Ok(PresetCommand::Run(request(Some(4), &["a"]))));
        assert_eq!(parsed("run oltp --maxdop=4 a"), Ok(PresetCommand::Run(request(Some(4), &["a"]))));
        let counts = GivenCounts { max_degree: None, sockets: Some(2), nodes: Some(3) };
        let of_machine = PresetRequest { counts, ..request(None, &["a"]) };
        assert_eq!(parsed("run oltp --sockets 2 --numa=3 a"), Ok(PresetCommand::Run(of_machine)));
        assert_eq!(parsed("show oltp --xml"), Ok(PresetCommand::Show(request(None, &[]), PresetForm::Xml)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "ACTION is missing (expected: list, show, run)"),
            ("fly", "ACTION 'fly': unknown value (expected: list, show, run)"),
            ("list oltp", "takes no arguments"),
            ("run", "the preset name is missing"),
            ("run -d3 oltp a", "found '-d3' instead"),
            ("run oltp", "preset 'oltp': no target given"),
            ("run oltp --maxdop", "option '--maxdop': the value is missing"),
            ("run oltp --maxdop 0 a", "--maxdop '0' is not a number from 1"),
            ("show oltp a.dat", "unexpected 'a.dat'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
