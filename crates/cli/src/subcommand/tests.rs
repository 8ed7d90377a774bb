use super::*;
use crate::request::FakeEnv;

/// A line of arguments, read; `Err("help")` where it asks for help.
pub(super) fn typed(name: &str, line: &str) -> Result<Subcommand, String> {
    typed_words(name, &line.split_whitespace().collect::<Vec<_>>())
}

/// Arguments that hold blanks.
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
