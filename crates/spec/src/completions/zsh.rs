//! Completions for the Z shell.

use super::{Completed, Value, of_command, of_subcommand};
use crate::command::Subcommand;
use std::fmt::Write as _;

const HEAD: &str = "\
#compdef diskspd
# Completions of diskspd for zsh. Made by: diskspd --completions=zsh

_diskspd() {
    local -a names
    local option=''
    # What stands before the value of a long option: in the same word, or the word before.
    if [[ $PREFIX == --*=* ]]; then
        option=${PREFIX%%=*}
        compset -P '*='
    elif (( CURRENT > 2 )) && [[ $words[CURRENT-1] == --* ]]; then
        option=$words[CURRENT-1]
    fi
    local subcommand=''
    (( CURRENT > 2 )) && subcommand=$words[2]
    case $subcommand in
";

const TAIL: &str = "\
    esac
}

# Loaded by hand, or found by compinit in a folder of functions.
if [[ $funcstack[1] == _diskspd ]]; then
    _diskspd \"$@\"
elif (( $+functions[compdef] )); then
    compdef _diskspd diskspd
fi
";

/// The script.
pub(super) fn script() -> String {
    let mut text = HEAD.to_owned();
    for subcommand in Subcommand::ALL {
        let _ = writeln!(text, "    {})", subcommand.name());
        options(&mut text, &of_subcommand(subcommand));
        text.push_str("        ;;\n");
    }
    text.push_str("    *)\n        if (( CURRENT == 2 )); then\n            names=(\n");
    for subcommand in Subcommand::ALL {
        let _ = writeln!(text, "                {}", described(subcommand.name(), subcommand.summary()));
    }
    text.push_str("            )\n            _describe -t commands subcommand names\n        fi\n");
    options(&mut text, &of_command());
    text.push_str("        ;;\n");
    text.push_str(TAIL);
    text
}

fn options(text: &mut String, options: &[Completed]) {
    text.push_str("        case $option in\n");
    for option in options.iter().filter(|option| option.name.starts_with("--")) {
        match &option.value {
            Value::OneOf(words) => {
                let _ = writeln!(text, "        {}) compadd -- {}; return ;;", option.name, words.join(" "));
            }
            Value::File => {
                let _ = writeln!(text, "        {}) _files; return ;;", option.name);
            }
            Value::None | Value::Free => {}
        }
    }
    text.push_str("        esac\n");
    for option in options.iter().filter(|option| !option.name.starts_with("--") && option.value == Value::File) {
        let _ = writeln!(text, "        if compset -P '{}'; then _files; return; fi", option.name);
    }
    text.push_str("        if [[ $PREFIX == -* ]]; then\n            names=(\n");
    for (name, summary) in options.iter().flat_map(typed) {
        let _ = writeln!(text, "                {}", described(&name, &summary));
    }
    text.push_str(
        "            )\n            _describe -o option names\n            return\n        fi\n        _files\n",
    );
}

/// The words of an option: with its value, where that follows without a blank and is one of a few.
fn typed(option: &Completed) -> Vec<(String, String)> {
    match &option.value {
        Value::OneOf(words) if !option.name.starts_with("--") => {
            words.iter().map(|word| (format!("{}{word}", option.name), option.summary.clone())).collect()
        }
        _ => vec![(option.name.clone(), option.summary.clone())],
    }
}

/// `'name:summary'`, in which a colon of the name is no end of it.
fn described(name: &str, summary: &str) -> String {
    let text = format!("{}:{summary}", name.replace(':', "\\:"));
    format!("'{}'", text.replace('\'', "'\\''"))
}
