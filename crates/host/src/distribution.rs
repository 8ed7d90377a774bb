//! The distribution's name.

use crate::root::Root;

/// `PRETTY_NAME` of os-release, else its `NAME`.
pub(crate) fn name(root: &Root) -> Option<String> {
    let text = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))?;
    ["PRETTY_NAME", "NAME"].iter().find_map(|key| assigned(&text, key)).filter(|name| !name.is_empty())
}

/// The value of the last line `key=value`, without the quotes of a shell.
fn assigned(text: &str, key: &str) -> Option<String> {
    let value = |line: &str| line.trim().strip_prefix(key)?.strip_prefix('=').map(unquoted);
    text.lines().rev().find_map(value)
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    if let Some(inner) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.to_owned();
    }
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let mut plain = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_those_of_a_shell() {
        let text = "NAME=Plain\nPRETTY_NAME=\"A \\\"quoted\\\" \\$name\"\nOTHER_NAME=x\n";
        assert_eq!(assigned(text, "PRETTY_NAME").as_deref(), Some("A \"quoted\" $name"));
        assert_eq!(assigned(text, "NAME").as_deref(), Some("Plain"));
        assert_eq!(assigned("PRETTY_NAME='A \\ name'", "PRETTY_NAME").as_deref(), Some("A \\ name"));
        assert_eq!(assigned(text, "ID"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = unquoted(&text);
        }
    }
}
