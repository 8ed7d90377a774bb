//! Names of agents, and their subjects.

use crate::FleetError;

/// The maximum number of characters in a name.
const MAX_LENGTH: usize = 63;
/// The first part of all subjects; its number changes with the meaning of the messages.
const PREFIX: &str = "diskspd.v1";

/// The hello subject that all agents answer.
pub(crate) fn hello_to_all() -> String {
    format!("{PREFIX}.hello")
}

/// True for a name that an agent may have: letters, digits, `.`, `_` and `-`, 1 to 63 of them, the first of them no dot
/// and no dash.
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-'])
}

/// The name, or the reason why it is invalid.
pub fn checked(name: &str) -> Result<&str, FleetError> {
    if is_name(name) {
        return Ok(name);
    }
    let shown: String = name.chars().take(MAX_LENGTH).collect();
    Err(FleetError::Usage(format!(
        "'{}' is not a name of an agent (expected: 1 to {MAX_LENGTH} letters, digits, dots, dashes and underscores, the \
         first no dot or dash)",
        shown.escape_debug()
    )))
}

/// True if the name matches the pattern, in which `*` stands for any characters, also none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return false };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A name as one token of a subject: the lower-case hexadecimal digits of its bytes. A dot in a name would make two
/// tokens.
pub(crate) fn token(name: &str) -> String {
    hex(name.as_bytes())
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // to a string, which cannot fail
        text
    })
}

/// True for 32 lower-case hexadecimal digits: the names of runs and of instances of agents, and challenges.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A new name of a run: 16 random bytes as hexadecimal digits.
///
/// # Errors
///
/// If the kernel has no random numbers.
pub fn new_id() -> Result<String, FleetError> {
    let mut bytes = [0_u8; 16];
    crate::key::fill_random(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Subject of an agent's orders with this verb; `*` = all of them.
pub(crate) fn order_subject(agent: &str, verb: &str) -> String {
    format!("{PREFIX}.agent.{}.{verb}", token(agent))
}

/// Subject of hellos to one agent. Not below its orders, for which others need no permission.
pub(crate) fn hello_subject(agent: &str) -> String {
    format!("{PREFIX}.hello.{}", token(agent))
}

/// False for the subjects of agents, runs and the server: a request for an answer there would make its receiver mistake
/// it for another kind of message.
pub(crate) fn may_be_answered(subject: &str) -> bool {
    let first = subject.split('.').next().unwrap_or_default();
    first != "diskspd" && !first.starts_with('$')
}

/// Subject of the heartbeats of an agent in a run.
pub(crate) fn heartbeat_subject(run: &str, agent: &str) -> String {
    format!("{PREFIX}.run.{run}.{}.heartbeat", token(agent))
}

/// Subject of the heartbeats of all agents of a run.
pub(crate) fn heartbeats_of(run: &str) -> String {
    format!("{PREFIX}.run.{run}.*.heartbeat")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_have_letters_digits_dots_dashes_and_underscores() {
        for name in ["h1", "a", "web-1.example.org", "_x", "9", &"n".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "-x", ".x", "a b", "a/b", "a*", "ü", "a\n", "a>", &"n".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("h1", "h1", true),
            ("h1", "h10", false),
            ("h*", "h10", true),
            ("*", "h10", true),
            ("h*0", "h0", true),
            ("h*0", "h", false),
            ("a*a", "a", false),
            ("*b*", "abc", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_name_is_one_token_of_a_subject() {
        assert_eq!(order_subject("a.b", "plan"), "diskspd.v1.agent.612e62.plan");
        assert_eq!(heartbeat_subject("00", "a"), "diskspd.v1.run.00.61.heartbeat");
    }

    proptest! {
        #[test]
        fn what_matches_a_pattern_is_found_by_removing_characters(name in "[a-c]{0,6}", from in 0_usize..7, to in 0_usize..7) {
            let (from, to) = (from.min(to).min(name.len()), from.max(to).min(name.len()));
            let pattern = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(matches(&pattern, &name));
        }

        #[test]
        fn no_text_makes_two_tokens(name in ".{0,20}") {
            prop_assert!(!token(&name).contains(['.', '*', '>', ' ']));
        }
    }
}
