//! Completions of the command line for shells: views of the table of options and of the subcommands'
//! help texts.

mod bash;
mod fish;
mod zsh;

use crate::command::Subcommand;
use crate::help::parts::{Part, options_of, parts, takes_value};
use crate::options::{self, Kind, OptionRow};

/// A shell that completes words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// The Z shell.
    Zsh,
    /// The friendly interactive shell.
    Fish,
}

impl Shell {
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// The script to be loaded by a shell.
pub fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash::script(),
        Shell::Zsh => zsh::script(),
        Shell::Fish => fish::script(),
    }
}

/// An option of the command or of a subcommand.
struct Completed {
    /// With its dashes.
    name: String,
    /// One line.
    summary: String,
    value: Value,
}

/// What follows an option.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    /// Nothing.
    None,
    /// Nothing, or something that only the user knows.
    Free,
    /// One of these words.
    OneOf(Vec<String>),
    /// The path of a file.
    File,
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
                all.push(Completed { name: row.name.to_owned(), summary: row.short.to_owned(), value: value_of(row) });
            }
        }
    }
    all
}

fn value_of(row: &OptionRow) -> Value {
    if row.name == "--man" {
        return Value::OneOf(Subcommand::ALL.map(|subcommand| subcommand.name().to_owned()).into());
    }
    let grammar = row.value.trim_matches(['=', '[', ']', '(', ')', '<', '>']);
    let words: Vec<&str> = grammar.split('|').collect();
    let are_words = words.len() > 1 && words.iter().all(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_'));
    match (row.kind, row.value) {
        (Kind::Flag, _) => Value::None,
        (_, "<file>" | "=<file>") => Value::File,
        _ if are_words => Value::OneOf(words.into_iter().map(str::to_owned).collect()),
        _ => Value::Free,
    }
}

/// The options of a subcommand.
fn of_subcommand(subcommand: Subcommand) -> Vec<Completed> {
    let mut all = Vec::new();
    for part in parts(subcommand.help()) {
        let Part::Item { term, text } = part else { continue };
        // One line, not a paragraph.
        let summary = text.trim_start_matches(['.', ' ']).split(['.', ';']).next().unwrap_or_default().to_owned();
        let value = match term.rsplit([' ', '=']).next() {
            _ if !takes_value(&term) => Value::None,
            Some("FILE" | "OUT" | "DIR" | "<file>") => Value::File,
            _ => Value::Free,
        };
        for name in options_of(&term) {
            all.push(Completed { name: name.to_owned(), summary: summary.clone(), value: value.clone() });
        }
    }
    all
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
        assert_eq!(value("--json"), Some(Value::File));
        assert_eq!(value("-X"), Some(Value::File));
        assert_eq!(value("-L"), Some(Value::None));
        assert_eq!(value("-Z"), Some(Value::Free));
        assert_eq!(value("-b"), Some(Value::Free));
    }

    #[test]
    fn every_subcommand_has_help_and_what_its_text_lists() {
        for subcommand in Subcommand::ALL {
            let options = of_subcommand(subcommand);
            for name in ["-h", "--help"] {
                assert!(options.iter().any(|option| option.name == name), "{}: {name}", subcommand.name());
            }
        }
        let report = of_subcommand(Subcommand::Report);
        assert!(report.iter().any(|option| option.name == "--output" && option.value == Value::File));
    }

    #[test]
    fn every_script_names_every_option_and_subcommand() {
        for shell in Shell::ALL {
            let script = script(shell);
            for option in of_command() {
                assert!(script.contains(option.name.trim_start_matches('-')), "{}: {}", shell.name(), option.name);
            }
            for subcommand in Subcommand::ALL {
                assert!(script.contains(subcommand.name()), "{}: {}", shell.name(), subcommand.name());
            }
        }
    }
}
