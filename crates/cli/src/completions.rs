//! Completions of the command line for shells, generated from the table of options and the declarations of subcommands.

mod bash;
mod fish;
mod zsh;

use crate::help;
use crate::options::{self, Kind, OptionRow};
use crate::preset::BUILTIN;
use crate::shell::Shell;
use crate::subcommand;
use clap::{Arg, ValueHint};
use model::counter_object::CounterObject;

/// The script to be loaded by a shell; `findings` are the names that can be explained.
pub fn script(shell: Shell, findings: &[&str]) -> String {
    match shell {
        Shell::Bash => bash::script(findings),
        Shell::Zsh => zsh::script(findings),
        Shell::Fish => fish::script(findings),
    }
}

/// An option of the command or of a subcommand.
struct Completed {
    /// With its dashes.
    name: String,
    /// One line.
    summary: String,
    value: Value,
    /// True if its value may be the next argument.
    is_value_apart: bool,
}

impl Completed {
    /// The words to complete: with its value, if that follows without a blank and is one of a few.
    fn words(&self) -> Vec<String> {
        match &self.value {
            Value::OneOf(words) if !self.is_value_apart => {
                words.iter().map(|word| format!("{}{word}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        }
    }
}

/// The value of an option, or an argument of a subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    /// No value.
    None,
    /// No value, or one that only the user knows.
    Free,
    /// One of these words.
    OneOf(Vec<String>),
    /// The path of a file.
    File,
    /// The path of a block device.
    Device,
    /// The name of a performance counter.
    Counter,
}

/// The options of the command, by name: rows that share one are one.
fn of_command() -> Vec<Completed> {
    let mut all: Vec<Completed> = Vec::new();
    for row in options::all() {
        match all.iter_mut().find(|other| other.name == row.name) {
            Some(other) => {
                other.summary = format!("{}; {}", other.summary, row.short);
                other.value = Value::Free;
            }
            None => {
                all.push(Completed {
                    name: row.name.to_owned(),
                    summary: row.short.to_owned(),
                    value: value_of(row),
                    is_value_apart: row.is_long(),
                });
            }
        }
    }
    all
}

fn value_of(row: &OptionRow) -> Value {
    let one_of = |words: Vec<&str>| Value::OneOf(words.into_iter().map(str::to_owned).collect());
    match row.name {
        "--man" => return one_of(subcommand::NAMES.to_vec()),
        "--help" => return one_of(help::words()),
        _ => (),
    }
    // Letters that can be combined.
    if let Some(letters) = row.value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
        && letters.chars().all(|c| c.is_ascii_alphabetic())
    {
        return Value::OneOf(letters.chars().map(String::from).collect());
    }
    let grammar = row.value.trim_matches(['=', '[', ']', '(', ')', '<', '>']);
    let words: Vec<&str> = grammar.split('|').collect();
    let are_words = words.len() > 1 && words.iter().all(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_'));
    match (row.kind, row.value) {
        (Kind::Flag | Kind::AttachedValue, _) => Value::None,
        (_, "<file>" | "=<file>") => Value::File,
        _ if are_words => one_of(words),
        _ => Value::Free,
    }
}

/// The arguments of a subcommand.
struct Arguments {
    options: Vec<Completed>,
    /// The kinds of its positional arguments, in order; the last applies to all that follow.
    words: Vec<Value>,
}

impl Arguments {
    /// The arms of a shell's `case` over the number of preceding words; `offer` returns the command for a value.
    fn cases(&self, offer: impl Fn(&Value) -> String) -> String {
        let case = |(index, value): (usize, &Value)| {
            let place = if index + 1 < self.words.len() { index.to_string() } else { "*".to_owned() };
            format!("        {place}) {} ;;\n", offer(value))
        };
        self.words.iter().enumerate().map(case).collect()
    }
}

fn of_subcommand(name: &str, findings: &[&str]) -> Arguments {
    let mut of = Arguments { options: Vec::new(), words: Vec::new() };
    let Some(declared) = subcommand::command(name) else { return of };
    for argument in declared.get_arguments() {
        let value = value_of_argument(argument, findings);
        if argument.is_positional() {
            of.words.push(value);
            continue;
        }
        // One line, not a paragraph.
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let summary = help.split(". ").next().and_then(|sentence| sentence.split(';').next()).unwrap_or_default();
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        for name in short.into_iter().chain(long) {
            let (summary, value) = (summary.to_owned(), value.clone());
            of.options.push(Completed { name, summary, value, is_value_apart: true });
        }
    }
    of
}

/// The kind of an argument's value, from its declared type or its name in help.
fn value_of_argument(argument: &Arg, findings: &[&str]) -> Value {
    if !argument.get_action().takes_values() {
        return Value::None;
    }
    let words: Vec<String> = argument.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    let name = argument.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
    match (name, argument.get_value_hint()) {
        (Some("DEVICE"), _) => Value::Device,
        (Some("COUNTERS"), _) => Value::Counter,
        (Some("FINDING"), _) => Value::OneOf(findings.iter().map(|&name| name.to_owned()).collect()),
        (Some("PRESET"), _) => Value::OneOf(BUILTIN.iter().map(|preset| preset.name.to_owned()).collect()),
        _ if !words.is_empty() => Value::OneOf(words),
        (Some("LOAD"), _) | (_, ValueHint::AnyPath) => Value::File,
        _ => Value::Free,
    }
}

/// All performance counters.
fn counters() -> impl Iterator<Item = String> {
    let counter_paths =
        |object: CounterObject| object.counters().into_iter().map(move |counter| object.path("*", counter));
    CounterObject::ALL.into_iter().flat_map(counter_paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_table() {
        let value = |name: &str| of_command().into_iter().find(|option| option.name == name).map(|option| option.value);
        let words = |words: &[&str]| Some(Value::OneOf(words.iter().map(|word| (*word).to_owned()).collect()));
        assert_eq!(value("--engine"), words(&["io_uring", "aio", "sync", "mmap", "null"]));
        assert_eq!(value("-R"), words(&["text", "xml"]));
        assert_eq!(value("-S"), words(&["b", "h", "m", "r", "u", "w", "y", "Y"]));
        let Some(Value::OneOf(help)) = value("--help") else { panic!("words") };
        assert!(["iodepth", "sweep", "rate", "qos"].iter().all(|word| help.iter().any(|known| known == word)));
        assert_eq!(value("--json"), Some(Value::File));
        assert_eq!(value("-X"), Some(Value::File));
        assert_eq!(value("-L"), Some(Value::None));
        assert_eq!(value("-Z"), Some(Value::Free));
        assert_eq!(value("-b"), Some(Value::Free));
    }

    #[test]
    fn arguments_of_subcommands_are_those_declared() {
        for name in subcommand::NAMES {
            let options = of_subcommand(name, &[]).options;
            assert!(["-h", "--help"].iter().all(|help| options.iter().any(|option| option.name == *help)), "{name}");
        }
        let value = |subcommand, name: &str| {
            of_subcommand(subcommand, &[])
                .options
                .into_iter()
                .find(|option| option.name == name)
                .map(|option| option.value)
        };
        assert_eq!(value("report", "--output"), Some(Value::File));
        assert_eq!(value("report", "--slowest"), Some(Value::None));
        assert_eq!(value("report", "--from"), Some(Value::Free));
        assert_eq!(value("devices", "--mark-scratch"), Some(Value::Device));
        assert_eq!(value("monitor", "-c"), Some(Value::Counter));
        assert_eq!(value("check", "--for"), Some(Value::OneOf(vec!["sql".to_owned()])));
        assert_eq!(of_subcommand("monitor", &[]).words, [Value::Device]);
        assert_eq!(of_subcommand("explain", &["stall"]).words, [Value::OneOf(vec!["stall".to_owned()])]);
        let [Value::OneOf(actions), Value::OneOf(presets), Value::File] = &of_subcommand("preset", &[]).words[..]
        else {
            panic!("an action, a preset, a load");
        };
        assert_eq!(actions, &["list", "show", "run"]);
        assert!(presets.iter().any(|name| name == "oltp") && presets.len() == BUILTIN.len());
    }

    #[test]
    fn every_script_names_every_option_and_subcommand() {
        for shell in Shell::ALL {
            let script = script(shell, &[]);
            for option in of_command() {
                assert!(script.contains(option.name.trim_start_matches('-')), "{}: {}", shell.name(), option.name);
            }
            for name in subcommand::NAMES {
                assert!(script.contains(name), "{}: {name}", shell.name());
            }
        }
    }
}
