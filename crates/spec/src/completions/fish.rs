//! Completions for fish.

use super::{Completed, Value, of_command, of_subcommand};
use crate::command::Subcommand;
use std::fmt::Write as _;

const HEAD: &str = "\
# Completions of diskspd for fish. Made by: diskspd --completions=fish

complete -c diskspd -e
";

/// The script.
pub(super) fn script() -> String {
    let mut text = HEAD.to_owned();
    let names = Subcommand::ALL.map(Subcommand::name).join(" ");
    let first = "test (count (commandline -opc)) -eq 1";
    let none = format!("not contains -- (commandline -opc)[2] {names}");
    for subcommand in Subcommand::ALL {
        let summary = quoted(subcommand.summary());
        let _ = writeln!(text, "complete -c diskspd -n '{first}' -a {} -d {summary}", subcommand.name());
    }
    for option in of_command() {
        line(&mut text, &none, &option);
    }
    for subcommand in Subcommand::ALL {
        let condition = format!("contains -- {} (commandline -opc)[2]", subcommand.name());
        for option in of_subcommand(subcommand) {
            line(&mut text, &condition, &option);
        }
    }
    text
}

fn line(text: &mut String, condition: &str, option: &Completed) {
    let name = &option.name;
    let name = match (name.strip_prefix("--"), name.trim_start_matches('-')) {
        (Some(long), _) => format!("-l {long}"),
        (None, letter) if letter.chars().count() == 1 => format!("-s {}", quoted(letter)),
        (None, letters) => format!("-o {letters}"),
    };
    let value = match &option.value {
        Value::None => String::new(),
        Value::Free => " -x".to_owned(),
        Value::OneOf(words) => format!(" -x -a {}", quoted(&words.join(" "))),
        Value::File => " -r -F".to_owned(),
    };
    let _ = writeln!(text, "complete -c diskspd -n '{condition}' {name}{value} -d {}", quoted(&option.summary));
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
