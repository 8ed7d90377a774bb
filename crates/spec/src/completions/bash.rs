//! Completions for Bash, without the package bash-completion.

use super::{Completed, Value, of_command, of_subcommand};
use crate::command::Subcommand;
use std::fmt::Write as _;

const HEAD: &str = "\
# Completions of diskspd for bash. Made by: diskspd --completions=bash

# Offers the words that begin as what is typed.
_diskspd_words() {
    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")
}

# Offers files, behind what the option and its value share a word with.
_diskspd_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -P \"$2\" -- \"$1\")
}

_diskspd() {
    local word=\"${COMP_WORDS[COMP_CWORD]}\" option='' value=''
    # Bash parts words at '='.
    if [ \"$word\" = '=' ]; then
        option=\"${COMP_WORDS[COMP_CWORD-1]}\"
    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = '=' ]; then
        option=\"${COMP_WORDS[COMP_CWORD-2]}\" value=\"$word\"
    elif [ \"$COMP_CWORD\" -gt 1 ] && [[ \"$word\" != -* ]]; then
        option=\"${COMP_WORDS[COMP_CWORD-1]}\" value=\"$word\"
    fi
    local subcommand=\"${COMP_WORDS[1]}\"
    [ \"$COMP_CWORD\" -eq 1 ] && subcommand=''
    case \"$subcommand\" in
";

/// The script.
pub(super) fn script() -> String {
    let mut text = HEAD.to_owned();
    for subcommand in Subcommand::ALL {
        let _ = writeln!(text, "    {})", subcommand.name());
        options(&mut text, &of_subcommand(subcommand), "");
        text.push_str("        ;;\n");
    }
    text.push_str("    *)\n");
    let names = Subcommand::ALL.map(Subcommand::name).join(" ");
    options(&mut text, &of_command(), &names);
    text.push_str("        ;;\n    esac\n}\n\ncomplete -F _diskspd diskspd\n");
    text
}

/// Values first, then names, then files.
fn options(text: &mut String, options: &[Completed], first_words: &str) {
    text.push_str("        case \"$option\" in\n");
    for option in options.iter().filter(|option| option.name.starts_with("--")) {
        match &option.value {
            Value::OneOf(words) => {
                let _ = writeln!(
                    text,
                    "        {}) _diskspd_words '{}' \"$value\"; return ;;",
                    option.name,
                    words.join(" ")
                );
            }
            Value::File => {
                let _ = writeln!(text, "        {}) _diskspd_files \"$value\" ''; return ;;", option.name);
            }
            Value::None | Value::Free => {}
        }
    }
    text.push_str("        esac\n        case \"$word\" in\n");
    for option in options.iter().filter(|option| !option.name.starts_with("--") && option.value == Value::File) {
        let name = &option.name;
        let _ = writeln!(text, "        {name}*) _diskspd_files \"${{word#{name}}}\" '{name}'; return ;;");
    }
    let words: Vec<String> = options.iter().flat_map(typed).collect();
    let _ = writeln!(text, "        -*) _diskspd_words '{}' \"$word\"; return ;;\n        esac", words.join(" "));
    text.push_str("        _diskspd_files \"$word\" ''\n");
    if !first_words.is_empty() {
        let _ = writeln!(
            text,
            "        [ \"$COMP_CWORD\" -eq 1 ] &&\n            mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -W '{first_words}' -- \"$word\")"
        );
    }
}

/// The words of an option: with its value, where that follows without a blank and is one of a few.
fn typed(option: &Completed) -> Vec<String> {
    match &option.value {
        Value::OneOf(words) if !option.name.starts_with("--") => {
            words.iter().map(|word| format!("{}{word}", option.name)).collect()
        }
        _ => vec![option.name.clone()],
    }
}
