use super::*;
use crate::command::Command;
use crate::request::FakeEnv;

/// Parses a line of arguments; `Err("help")` if help is requested.
pub(super) fn typed(name: &str, line: &str) -> Result<Subcommand, String> {
    typed_words(name, &line.split_whitespace().collect::<Vec<_>>())
}

/// The same with arguments that contain blanks.
pub(super) fn typed_words(name: &str, words: &[&str]) -> Result<Subcommand, String> {
    let words: Vec<OsString> = std::iter::once(&name).chain(words).map(OsString::from).collect();
    match crate::parse(&words, &FakeEnv) {
        Ok(Command::Subcommand(subcommand)) => Ok(subcommand),
        Ok(Command::Help(topic)) if topic.as_deref() == Some(name) => Err("help".to_owned()),
        Ok(other) => panic!("{other:?}"),
        Err(failure) => {
            assert_eq!(failure.exit_status, 3);
            Err(failure.messages.join("\n"))
        }
    }
}

#[test]
fn every_name_is_declared_in_the_order_of_help() {
    assert_eq!(DECLARED, NAMES);
}

#[test]
fn options_of_other_tools_are_recognised_by_every_subcommand() {
    for name in NAMES {
        let refused = typed(name, "--rw=randread").expect_err(name);
        let expected =
            "ERROR: '--rw=randread' is an option of fio; the nearest command here: diskspd -r -b4K -o1 test.dat";
        assert_eq!(refused, expected, "{name}");
    }
    for (name, line, expected) in [
        ("sweep", "--vary o=1,2 --bs=8k -- f", "diskspd -b8K -o1 f"),
        ("ab", "--bs=4k --a -o1 --b -o2 -- -r f", "diskspd -r -b4K f"),
        ("preset", "run --rw=read f", "diskspd -b4K -o1 f"),
        ("compare", "a b --bs=4k", "diskspd -b4K -o1 test.dat"),
    ] {
        let refused = typed(name, line).expect_err(line);
        assert!(refused.ends_with(&format!("the nearest command here: {expected}")), "{name} {line}: {refused}");
    }
    // A misspelt option of ours is reported as such, and a command to be run is not checked.
    for (name, line) in [("sweep", "--vry o=1..4 -- f"), ("monitor", "--hist -- fio --rw=read")] {
        let refused = typed(name, line).expect_err(line);
        assert!(refused.contains("invalid option"), "{name} {line}: {refused}");
    }
}
