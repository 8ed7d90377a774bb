//! A command line without a subcommand; options of other tools get a hint.

use crate::argv::{self, LineCommand, ParsedCommandLine};
use crate::foreign;
use crate::request::{Environment, LoadRequest, ParseFailure, RunRequest};
use crate::subcommand_names::{self, NAMES};
use model::shell;
use settings::suggest::near;
use std::ffi::{OsStr, OsString};
use std::path::Path;

const NO_RUN: &str = "this command line does not start a run";

/// Parses the arguments, without the program's name.
pub(crate) fn parse(args: &[OsString], environment: &dyn Environment) -> Result<ParsedCommandLine, ParseFailure> {
    let Some(first) = args.first() else {
        return Ok(ParsedCommandLine::Line(LineCommand::UsageWithoutArguments));
    };
    let is_option = first.as_encoded_bytes().starts_with(b"-");
    if !is_option && !environment.file_exists(Path::new(first)) {
        if let Some(failure) = counter_program(first, &args[1..]) {
            return Err(failure);
        }
        let found = foreign::recognise(args, environment);
        if let Some(found) = found.filter(|found| first == found.argument.as_str()) {
            return Err(found.into());
        }
        if let Some(failure) = misspelt_subcommand(first, args.len()) {
            return Err(failure);
        }
    }
    argv::parse(args, environment).map_err(|failure| hint(args, failure, environment))
}

/// Reads the options and targets given with a job file: those permitted with `-X`.
///
/// # Errors
///
/// The first error.
pub fn parse_job(
    path: &Path,
    args: &[impl AsRef<OsStr>],
    environment: &dyn Environment,
) -> Result<LoadRequest, ParseFailure> {
    let args: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
    argv::parse_beside_job(path, &args, environment).map_err(|failure| hint(&args, failure, environment))
}

/// Reads a command line that must be a run.
pub(crate) fn run_of(words: &[impl AsRef<OsStr>], environment: &dyn Environment) -> Result<RunRequest, String> {
    let words: Vec<OsString> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    if words.first().is_some_and(|first| first == "help" || subcommand_names::find(first).is_some()) {
        return Err(NO_RUN.to_owned());
    }
    match parse(&words, environment) {
        Ok(ParsedCommandLine::Line(LineCommand::Run(request))) => Ok(request),
        Ok(ParsedCommandLine::Line(LineCommand::LoadProfile(_))) => {
            Err("an XML profile (-X) cannot be used here; give the options on the command line".to_owned())
        }
        Ok(ParsedCommandLine::Line(LineCommand::UsageWithoutArguments)) => {
            Err("the workload is missing; put its options and targets after --".to_owned())
        }
        Ok(_) => Err(NO_RUN.to_owned()),
        Err(failure) => {
            let messages = failure.messages.iter().filter_map(|message| message.strip_prefix("ERROR: "));
            Err(messages.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The failure, or the command here that is closest to one of another tool.
fn hint(args: &[OsString], failure: ParseFailure, environment: &dyn Environment) -> ParseFailure {
    foreign::recognise(args, environment).map_or(failure, ParseFailure::from)
}

/// A hint for the programs of Windows and Linux that `monitor` replaces, with the rest of the arguments.
fn counter_program(name: &OsStr, args: &[OsString]) -> Option<ParseFailure> {
    let name = ["typeperf", "perfmon", "logman", "iostat"].into_iter().find(|known| name == *known)?;
    let typed = args.iter().map(|arg| shell::quoted(&arg.to_string_lossy()).into_owned());
    let typed: Vec<String> = typed.take_while(|_| name == "typeperf").collect();
    let command = ["diskspd monitor".to_owned()].into_iter().chain(typed).collect::<Vec<_>>().join(" ");
    let more = if name == "typeperf" { "" } else { " (--record FILE keeps it; diskspd report FILE shows charts)" };
    Some(ParseFailure::because(format!("'{name}' is another program; the same here: {command}{more}")))
}

/// The error for a first argument that resembles a subcommand, and is not a file. A target could only be an existing
/// file.
fn misspelt_subcommand(first: &OsStr, count: usize) -> Option<ParseFailure> {
    let word = first.to_str().filter(|word| word.len() > 3)?;
    let meant = near(word, NAMES.iter().copied()).into_iter().next().filter(|_| count > 1)?;
    Some(ParseFailure::because(format!(
        "'{word}' is neither a subcommand nor a file; did you mean the subcommand {meant}?"
    )))
}
