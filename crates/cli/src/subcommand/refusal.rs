//! Rejected arguments of a subcommand: clap's errors in the form of all other messages.

use super::LOAD;
use crate::request::ParseFailure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::ffi::OsString;

/// A failure with one reason, and a reference to the help.
pub(super) fn failure(subcommand: &str, reason: &str) -> ParseFailure {
    let hint = format!("see diskspd {subcommand} --help");
    // After several lines the hint is on a separate line.
    let joint = if reason.contains('\n') { "\n" } else { "; " };
    ParseFailure::because(format!("{}{joint}{hint}", reason.trim_end_matches('\n')))
}

/// The reason why clap rejects these arguments.
pub(super) fn reason(error: &clap::Error, command: &clap::Command, args: &[OsString]) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let list = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![name(text)],
        Some(ContextValue::Strings(texts)) => texts.iter().map(|text| name(text)).collect(),
        _ => Vec::new(),
    };
    let argument = name(text(ContextKind::InvalidArg));
    let value = text(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            if argument.starts_with('-') { format!("{argument} {reason}") } else { reason }
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("option '{argument}': the value is missing"),
        ErrorKind::InvalidValue => {
            format!("{argument} '{value}': unknown value (expected: {})", list(ContextKind::ValidValue).join(", "))
        }
        ErrorKind::TooManyValues => format!("option '{argument}={value}': {argument} takes no value"),
        ErrorKind::ArgumentConflict => match list(ContextKind::PriorArg) {
            prior if prior.contains(&argument) => format!("{argument} was already given"),
            prior if prior.is_empty() => format!("{argument} cannot be combined with other options"),
            prior => format!("{argument} cannot be combined with {}", prior.join(", ")),
        },
        ErrorKind::MissingRequiredArgument => {
            let missing = list(ContextKind::InvalidArg).join(", ");
            let words = command.get_positionals().find(|known| name(&known.to_string()) == missing);
            let words: Vec<String> = words.map(words_of).unwrap_or_default();
            if words.is_empty() {
                format!("{missing} is missing")
            } else {
                format!("{missing} is missing (expected: {})", words.join(", "))
            }
        }
        ErrorKind::UnknownArgument => {
            let nearest = text(ContextKind::SuggestedArg);
            let meant = if nearest.is_empty() { String::new() } else { format!(" (did you mean {}?)", name(nearest)) };
            let has_load = command.get_arguments().any(|argument| argument.get_id() == LOAD);
            match (argument.starts_with('-'), has_load) {
                (true, true) => format!("invalid option '{argument}'{meant}; put the workload's options after --"),
                (true, false) => format!("invalid option '{argument}'{meant}"),
                (false, true) => format!("'{argument}': put the workload's options and targets after --"),
                (false, false) => format!("unexpected argument '{argument}'"),
            }
        }
        ErrorKind::InvalidUtf8 => {
            let odd = args.iter().find(|arg| arg.to_str().is_none());
            format!("'{}' is not valid UTF-8", odd.map_or_else(String::new, |odd| odd.display().to_string()))
        }
        _ => error.to_string(),
    }
}

/// The permitted values of an argument; none = any.
fn words_of(argument: &clap::Arg) -> Vec<String> {
    argument.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect()
}

/// The name of an argument as typed: `--output` of `--output <OUT>`, `FILE` of `[FILE]...`.
fn name(shown: &str) -> String {
    let word = if shown.starts_with('-') { shown.split([' ', '=']).next().unwrap_or(shown) } else { shown };
    if !shown.starts_with(['<', '[']) {
        return word.to_owned();
    }
    word.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}
