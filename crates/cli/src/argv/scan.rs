//! The first pass: options, our own options, targets.

use super::LineCommand;
use crate::builder::{Builder, GivenOption};
use crate::options::{self, Kind, OptionRow, Repeat};
use crate::request::{Environment, Overrides, ParseFailure, RunOptions};
use crate::shell::Shell;
use crate::typed_stream::TypedStream;
use crate::{file_name, subcommand_names, targets};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Dashes that word processors substitute for a hyphen: en dash, em dash, minus sign.
const TYPOGRAPHIC_DASHES: [char; 3] = ['\u{2013}', '\u{2014}', '\u{2212}'];

/// The result of the first pass.
pub(super) enum ScanResult {
    /// `--help`, with the words after it.
    Help(Vec<OsString>),
    /// `--version` and similar: the other arguments are ignored.
    Answer(LineCommand),
    Line(Line),
}

/// The arguments, sorted by kind.
#[derive(Default)]
pub(super) struct Line {
    pub(super) short: Vec<ShortOption>,
    pub(super) options: RunOptions,
    /// Settings of the profile by our own options.
    pub(super) overrides: Overrides,
    /// `--stream`.
    pub(super) streams: Vec<TypedStream>,
    pub(super) targets: Vec<OsString>,
    pub(super) warnings: Vec<String>,
    /// Options of ours that must not be given again.
    given_once: BTreeSet<&'static str>,
}

/// An option that begins with one dash.
pub(super) struct ShortOption {
    /// Exactly as typed.
    pub(super) argument: String,
    /// Its row and its value, if there is such an option.
    pub(super) found: Option<(&'static OptionRow, String)>,
}

impl ShortOption {
    pub(super) fn row(&self) -> Option<&'static OptionRow> {
        self.found.as_ref().map(|(row, _)| *row)
    }
}

/// An argument that is an option.
struct Dashed {
    typed: String,
    /// The same with a plain dash.
    plain: String,
}

/// Sorts the arguments by kind.
pub(super) fn scan(args: &[OsString], environment: &dyn Environment) -> Result<ScanResult, ParseFailure> {
    let mut line = Line::default();
    let mut rest = args.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            line.targets.extend(rest.cloned());
            break;
        }
        let Some(dashed) = as_option(argument, environment)? else {
            line.targets.push(argument.clone());
            continue;
        };
        if let Some(first_target) = line.targets.first() {
            return Err(out_of_place(&dashed, first_target, environment));
        }
        if dashed.plain != dashed.typed && dashed.plain != "-?" {
            line.warnings.push(format!(
                "'{}' begins with a typographic dash; the argument is read as {} (for a file of that name, write ./{})",
                dashed.typed, dashed.plain, dashed.typed
            ));
        }
        if !dashed.plain.starts_with("--") {
            let found = options::find_short(&dashed.plain).map(|(row, value)| (row, value.to_owned()));
            if let Some((row, value)) = &found
                && value.is_empty()
                && !row.value.is_empty()
            {
                refuse_separate_value(&dashed.typed, rest.as_slice().first(), environment)?;
            }
            line.short.push(ShortOption { argument: dashed.typed, found });
            continue;
        }
        let (name, value) = match dashed.plain.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (dashed.plain.as_str(), None),
        };
        let Some(row) = options::find_long(name) else { return Err(super::unknown(&dashed.typed)) };
        let value = match (row.kind, value) {
            (Kind::Flag, Some(_)) => {
                return Err(ParseFailure::because(format!("option '{}': {name} takes no value", dashed.typed)));
            }
            (Kind::Flag | Kind::AttachedValue, None) => None,
            (_, Some(value)) => Some(value),
            (kind, None) => {
                let next = rest.next().map(|next| text_value(name, next)).transpose()?;
                if kind == Kind::Value && next.is_none() {
                    return Err(ParseFailure::because(format!("option '{name}': the value is missing")));
                }
                next
            }
        };
        if row.takes_file() {
            let value = value.as_deref().unwrap_or_default();
            file_name::not_an_option(OsStr::new(value))
                .map_err(|reason| ParseFailure::because(format!("{name} {reason}")))?;
        }
        match name {
            "--help" => {
                let words = value.into_iter().map(OsString::from).chain(rest.cloned());
                return Ok(ScanResult::Help(words.collect()));
            }
            "--man" => return answer_man(value.as_deref()),
            "--completions" => return answer_completions(&value.unwrap_or_default()),
            "--version" => return Ok(ScanResult::Answer(LineCommand::Version)),
            _ => apply_own(row, &dashed.typed, value.as_deref().unwrap_or_default(), &mut line, environment)?,
        }
    }
    Ok(ScanResult::Line(line))
}

/// Refuses a number separated from its option: without a value some options have another meaning, and the number would
/// be a target.
fn refuse_separate_value(
    option: &str,
    next: Option<&OsString>,
    environment: &dyn Environment,
) -> Result<(), ParseFailure> {
    let Some(value) = next.and_then(|next| next.to_str()) else { return Ok(()) };
    let is_number = value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_digit() || "kKmMgGtTbBihs.".contains(c));
    if !is_number || environment.file_exists(Path::new(value)) {
        return Ok(());
    }
    Err(ParseFailure::because(format!(
        "'{option} {value}': write {option}{value}, without a space between option and value (for a file of that name, \
         write ./{value})"
    )))
}

/// The argument after a long option. It must be UTF-8: a lossy conversion would give another value.
fn text_value(name: &str, value: &OsStr) -> Result<String, ParseFailure> {
    value.to_str().map(str::to_owned).ok_or_else(|| {
        ParseFailure::because(format!("option '{name}': the value '{}' is not valid UTF-8", value.display()))
    })
}

fn answer_man(name: Option<&str>) -> Result<ScanResult, ParseFailure> {
    let Some(name) = name else { return Ok(ScanResult::Answer(LineCommand::Man(None))) };
    let found = subcommand_names::find(OsStr::new(name)).ok_or_else(|| {
        let all = subcommand_names::NAMES.join(", ");
        ParseFailure::because(format!("no man page for '{name}' (expected: {all}; --man alone is the page of diskspd)"))
    })?;
    Ok(ScanResult::Answer(LineCommand::Man(Some(found))))
}

fn answer_completions(shell: &str) -> Result<ScanResult, ParseFailure> {
    let found = Shell::ALL.into_iter().find(|known| known.name() == shell);
    let all = Shell::ALL.map(Shell::name).join(", ");
    let found = found
        .ok_or_else(|| ParseFailure::because(format!("no completions for the shell '{shell}' (expected: {all})")))?;
    Ok(ScanResult::Answer(LineCommand::Completions(found)))
}

fn apply_own(
    row: &'static OptionRow,
    argument: &str,
    value: &str,
    line: &mut Line,
    environment: &dyn Environment,
) -> Result<(), ParseFailure> {
    if row.repeat == Repeat::Error && !line.given_once.insert(row.name) {
        return Err(ParseFailure::because(format!("option '{argument}': {} was already given", row.name)));
    }
    let mut builder = Builder {
        options: std::mem::take(&mut line.options),
        overrides: std::mem::take(&mut line.overrides),
        streams: std::mem::take(&mut line.streams),
        ..Builder::default()
    };
    row.apply(&mut builder, &GivenOption { argument, value, environment })
        .map_err(|fault| ParseFailure::because(format!("option '{argument}': {fault}")))?;
    line.options = builder.options;
    line.overrides = builder.overrides;
    line.streams = builder.streams;
    line.warnings.append(&mut builder.warnings);
    Ok(())
}

/// The argument as an option, if it is one.
fn as_option(argument: &OsStr, environment: &dyn Environment) -> Result<Option<Dashed>, ParseFailure> {
    let Some(text) = argument.to_str() else {
        if argument.as_encoded_bytes().starts_with(b"-") {
            let shown = argument.to_string_lossy();
            return Err(ParseFailure::because(format!(
                "option '{shown}' is not valid UTF-8 (for a file of that name, write ./{shown})"
            )));
        }
        return Ok(None);
    };
    let plain = if text.starts_with('-') {
        text.to_owned()
    } else if text == "/?" {
        "-?".to_owned()
    } else if let Some(behind) = text.strip_prefix(TYPOGRAPHIC_DASHES)
        && !environment.file_exists(Path::new(argument))
    {
        // Word processors replace two hyphens by one long dash.
        let long = format!("--{behind}");
        if options::find_long(long.split('=').next().unwrap_or_default()).is_some() {
            long
        } else {
            format!("-{behind}")
        }
    } else {
        return Ok(None);
    };
    Ok(Some(Dashed { typed: text.to_owned(), plain }))
}

fn out_of_place(option: &Dashed, first_target: &OsStr, environment: &dyn Environment) -> ParseFailure {
    let hint = match targets::meant_option(first_target, environment) {
        Some(meant) => {
            let shown = first_target.to_string_lossy();
            format!("; '{shown}' is read as a target because options begin with '-'; did you mean {meant}?")
        }
        None => format!("; the first target is '{}'", first_target.to_string_lossy()),
    };
    ParseFailure::because(format!("parameters ({}) must come before targets on the command line{hint}", option.typed))
}
