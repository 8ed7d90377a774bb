//! Subcommands. Each is one struct that clap derives its arguments from: the comments in it are the subcommand's help,
//! man page and completions. Subcommands follow the usual conventions of command lines; loads in them, and everything
//! else, follow `DiskSpd`'s ([`crate::argv`]).
//!
//! To add one: a module here with its struct and its [`Arguments`], a row of `subcommands`, and its name in [`NAMES`].

// Comments of structs are help texts, which have no backquotes.
#![allow(clippy::doc_markdown, rustdoc::invalid_html_tags)]

pub mod ab;
pub mod agent;
pub mod check;
pub mod compare;
pub mod devices;
pub mod explain;
pub mod fleet;
pub mod gate;
pub mod history;
pub mod import;
mod interference;
pub mod monitor;
pub mod preset;
mod refusal;
pub mod repeat;
pub mod report;
pub mod run;
pub mod sweep;
pub mod trace;
pub mod verify;
pub mod verify_cycles;

use crate::foreign;
use crate::request::{Environment, ParseFailure};
pub use crate::subcommand_names::{NAMES, find};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args};
use std::ffi::OsString;

/// Width of a line of help in columns.
const LINE_WIDTH: usize = 100;

/// The argument that holds a load, which follows `--`.
const LOAD: &str = "load";

/// The arguments of a subcommand.
trait Arguments: Args {
    /// The request that they make.
    type Request;

    /// Converts arguments from an unconventional form to the usual one.
    fn in_usual_form(_command: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        Ok(args.to_vec())
    }

    /// The request, or the error in the combination of arguments.
    fn request(self, typed: &TypedArguments<'_>, environment: &dyn Environment) -> Result<Self::Request, String>;
}

/// Declares the subcommands, in the order of help.
macro_rules! subcommands {
    ($($name:literal => $variant:ident($request:ty) from $arguments:ty,)*) => {
        /// A subcommand with its request.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Subcommand {
            $($variant($request),)*
        }

        /// The names of those declared here.
        #[cfg(test)]
        const DECLARED: &[&str] = &[$($name),*];

        fn declared(name: &str) -> Option<clap::Command> {
            match name {
                $($name => Some(<$arguments>::augment_args(clap::Command::new($name))),)*
                _ => None,
            }
        }

        fn read(name: &str, args: &[OsString], environment: &dyn Environment) -> Result<Option<Subcommand>, ParseFailure> {
            match name {
                $($name => Ok(read_arguments::<$arguments>($name, args, environment)?.map(Subcommand::$variant)),)*
                _ => Ok(None),
            }
        }
    };
}

subcommands! {
    "run" => Run(run::RunJobCommand) from run::RunJobArguments,
    "check" => Check(check::CheckRequest) from check::CheckArguments,
    "import" => Import(import::ImportRequest) from import::ImportArguments,
    "preset" => Preset(preset::PresetCommand) from preset::PresetArguments,
    "sweep" => Sweep(sweep::SweepCommand) from sweep::SweepArguments,
    "repeat" => Repeat(sweep::SweepCommand) from repeat::RepeatArguments,
    "ab" => Ab(sweep::SweepCommand) from ab::AbArguments,
    "interference" => Interference(sweep::SweepCommand) from interference::InterferenceArguments,
    "compare" => Compare(compare::CompareCommand) from compare::CompareArguments,
    "gate" => Gate(gate::GateCommand) from gate::GateArguments,
    "history" => History(history::HistoryRequest) from history::HistoryRequest,
    "report" => Report(report::ReportCommand) from report::ReportArguments,
    "monitor" => Monitor(monitor::WatchRequest) from monitor::MonitorArguments,
    "trace" => Trace(trace::TraceCommand) from trace::TraceArguments,
    "devices" => Devices(devices::DevicesRequest) from devices::DevicesRequest,
    "verify" => Verify(verify::VerifyRequest) from verify::VerifyRequest,
    "explain" => Explain(explain::ExplainRequest) from explain::ExplainRequest,
    "agent" => Agent(agent::AgentRequest) from agent::AgentRequest,
    "fleet" => Fleet(fleet::FleetCommand) from fleet::FleetArguments,
}

/// Reads the arguments of a subcommand; `None` = help is requested.
pub(crate) fn parse(
    name: &str,
    args: &[OsString],
    environment: &dyn Environment,
) -> Result<Option<Subcommand>, ParseFailure> {
    read(name, args, environment).map_err(|failure| of_another_tool(name, args, environment).unwrap_or(failure))
}

/// The error for options of another tool among the arguments, unless the subcommand has them itself.
fn of_another_tool(name: &str, args: &[OsString], environment: &dyn Environment) -> Option<ParseFailure> {
    let command = command(name)?;
    let has_load = command.get_arguments().any(|argument| argument.get_id() == LOAD);
    let names = command.get_positionals().filter(|argument| argument.get_id() != LOAD).count();
    // The arguments after -- are not a load of ours, but may be a command.
    let end = args.iter().position(|arg| arg == "--").filter(|_| !has_load).unwrap_or(args.len());
    let sorted = with_load_last(&command, &args[..end], names, |_| true);
    let load = sorted.iter().position(|arg| arg == "--").map(|at| &sorted[at + 1..])?;
    let is_load = |word: &&OsString| has_load || word.as_encoded_bytes().starts_with(b"-");
    let load: Vec<OsString> = load.iter().filter(is_load).cloned().collect();
    foreign::recognise(&load, environment).map(ParseFailure::from)
}

/// The request of the arguments; `None` = help is requested.
fn read_arguments<A: Arguments>(
    name: &str,
    args: &[OsString],
    environment: &dyn Environment,
) -> Result<Option<A::Request>, ParseFailure> {
    let refuse = |reason: String| refusal::failure(name, &reason);
    let Some(command) = command(name) else { return Ok(None) };
    let args = A::in_usual_form(&command, args).map_err(refuse)?;
    let read = command.clone().try_get_matches_from(&args).and_then(|matches| {
        let arguments = A::from_arg_matches(&matches)?;
        Ok((matches, arguments))
    });
    match read {
        Ok((matches, arguments)) => {
            let typed = TypedArguments { command: &command, matches: &matches };
            arguments.request(&typed, environment).map(Some).map_err(refuse)
        }
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => Ok(None),
        Err(error) => Err(refuse(refusal::reason(&error, &command, &args))),
    }
}

/// The arguments of a subcommand as they are declared.
pub(crate) fn command(name: &str) -> Option<clap::Command> {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help("print this help");
    let as_file = format!("To measure a file named {name}, write ./{name}.");
    let command = declared(name)?;
    let notes = command.get_after_help().map_or_else(|| as_file.clone(), |notes| format!("{notes}\n\n{as_file}"));
    let mut command = command
        .bin_name(format!("diskspd {name}"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .arg(help)
        .after_help(notes)
        .help_template("Usage: {usage}\n\n{about}\n\n{all-args}{after-help}\n")
        .term_width(LINE_WIDTH)
        .mut_args(|argument| match argument.get_action() {
            // Repeating a switch has no effect.
            ArgAction::SetTrue => {
                let id = argument.get_id().clone();
                argument.overrides_with(id)
            }
            // The argument after an option is its value, even if it looks like an option.
            action if action.takes_values() && !argument.is_positional() => argument.allow_hyphen_values(true),
            _ => argument,
        });
    command.build();
    Some(command)
}

/// One line for help.
pub fn summary(name: &str) -> String {
    let about = command(name).and_then(|command| command.get_about().map(ToString::to_string)).unwrap_or_default();
    let mut characters = about.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

/// The output of its `--help`.
pub fn help(name: &str) -> Option<String> {
    let command = command(name)?;
    // Help has one form, with the full description.
    let about = command.get_long_about().or(command.get_about()).cloned().unwrap_or_default();
    Some(command.about(about).render_help().to_string())
}

/// Arguments as they were typed.
struct TypedArguments<'a> {
    command: &'a clap::Command,
    matches: &'a ArgMatches,
}

impl TypedArguments<'_> {
    /// The given options, each as one word, except those in `left_out` and the load. Parsed again they have the same
    /// meaning.
    fn options_except(&self, left_out: &[&str]) -> Vec<String> {
        self.options(|id| !left_out.contains(&id))
    }

    /// The options with the selected IDs.
    fn options(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut options: Vec<(usize, String)> = Vec::new();
        for argument in self.command.get_arguments() {
            let (id, Some(long)) = (argument.get_id().as_str(), argument.get_long()) else { continue };
            let is_given = self.matches.value_source(id) == Some(ValueSource::CommandLine);
            if !is_given || !is_wanted(id) {
                continue;
            }
            let indices = self.matches.indices_of(id).into_iter().flatten();
            if argument.get_action().takes_values() {
                let values = self.matches.get_raw(id).into_iter().flatten();
                options.extend(indices.zip(values).map(|(at, value)| (at, format!("--{long}={}", value.display()))));
            } else {
                options.extend(indices.map(|at| (at, format!("--{long}"))));
            }
        }
        options.sort();
        options.into_iter().map(|(_, option)| option).collect()
    }

    /// The first given option under one of these headings of help.
    fn first_under(&self, headings: &[&str]) -> Option<String> {
        let is_given = |argument: &&Arg| {
            argument.get_help_heading().is_some_and(|heading| headings.contains(&heading))
                && self.matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        let option = self.command.get_arguments().find(is_given)?;
        option.get_long().map(|long| format!("--{long}"))
    }

    /// Positions of the values of an argument, in the order of all arguments.
    fn places(&self, id: &str) -> Vec<usize> {
        let is_given = self.matches.value_source(id) == Some(ValueSource::CommandLine);
        self.matches.indices_of(id).filter(|_| is_given).into_iter().flatten().collect()
    }
}

/// Moves a load that need not follow `--` after it, out of the subcommand's own options and its first `name_count`
/// words. `is_own` is true for the names of the subcommand's own options.
fn with_load_last(
    command: &clap::Command,
    args: &[OsString],
    name_count: usize,
    is_own: impl Fn(&str) -> bool,
) -> Vec<OsString> {
    let (mut own, mut load) = (Vec::new(), Vec::new());
    let mut names_left = name_count;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_str().unwrap_or_default();
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let long = name.strip_prefix("--").filter(|name| is_own(name));
        // Among the options of a load, -h is one of them.
        let is_help = text == "-h" && load.is_empty();
        let found = command.get_arguments().find(|known| long.is_some() && known.get_long() == long);
        match found {
            _ if text == "--" => load.extend(rest.by_ref().cloned()),
            Some(option) => {
                own.push(arg.clone());
                if option.get_action().takes_values() && value.is_none() {
                    // The value is missing: nothing is left to be read.
                    let Some(value) = rest.next() else { return own };
                    own.push(value.clone());
                }
            }
            None if is_help => own.push(arg.clone()),
            None if names_left > 0 && load.is_empty() && !text.starts_with('-') => {
                names_left -= 1;
                own.push(arg.clone());
            }
            None => load.push(arg.clone()),
        }
    }
    own.push(OsString::from("--"));
    own.extend(load);
    own
}

#[cfg(test)]
mod tests;
