//! A whole command line: a subcommand, a request for help, or the options of a run.

use crate::argv::{LineCommand, ParsedCommandLine};
use crate::request::{Environment, ParseFailure};
use crate::subcommand::{self, Subcommand};
use crate::{command_line, help};
use std::ffi::OsString;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub enum Command {
    /// `--help`, or `--help OPTION` with an option that [`help::topic`] knows.
    Help(Option<String>),
    /// A first argument that is the name of a subcommand, and the arguments after it.
    Subcommand(Subcommand),
    /// Anything else.
    Line(LineCommand),
}

/// Parses the arguments, without the program's name.
///
/// # Errors
///
/// The first error.
pub fn parse(args: &[OsString], environment: &dyn Environment) -> Result<Command, ParseFailure> {
    if let Some(name) = args.first().and_then(|first| subcommand::find(first)) {
        let subcommand = subcommand::parse(name, &args[1..], environment)?;
        return Ok(subcommand.map_or_else(|| Command::Help(Some(name.to_owned())), Command::Subcommand));
    }
    match args.first() {
        Some(first) if first == "help" => answer_help(&args[1..]),
        _ => match command_line::parse(args, environment)? {
            ParsedCommandLine::Help(words) => answer_help(&words),
            ParsedCommandLine::Line(line) => Ok(Command::Line(line)),
        },
    }
}

/// The help for a word, or for several, such as `raw disk`.
fn answer_help(words: &[OsString]) -> Result<Command, ParseFailure> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let Some((word, more)) = words.split_first() else { return Ok(Command::Help(None)) };
    let more = more.iter().take_while(|word| !word.starts_with('-'));
    let words = std::iter::once(word).chain(more).copied().collect::<Vec<_>>().join(" ");
    // The word after an option may be a target.
    let topic = [words.as_str(), word].into_iter().find(|topic| help::topic(topic).is_some());
    topic.map(|topic| Command::Help(Some(topic.to_owned()))).ok_or_else(|| {
        let near = help::near(&words).join(", ");
        ParseFailure::because(format!("no help for '{words}'; nearest: {near}; --help lists all options"))
    })
}
