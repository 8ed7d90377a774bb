//! Names of files and directories as values of options.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Refuses a name that is more likely an option whose own value is missing; `-` alone is permitted.
pub(crate) fn not_an_option(value: &OsStr) -> Result<(), String> {
    if value.len() > 1 && value.as_encoded_bytes().starts_with(b"-") {
        let shown = value.display();
        return Err(format!("'{shown}': looks like an option; for a file of that name, write './{shown}'"));
    }
    Ok(())
}

/// Reads the value of a subcommand's option that takes a file; `-` alone is left to the option.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(checked)
}

/// Reads the value of a subcommand's option that takes a file or directory, but neither stdin nor stdout.
pub(crate) fn path_alone() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|value| {
        if value == "-" {
            return Err("'-': a file name is needed, not stdin or stdout; for a file named '-', write './-'".to_owned());
        }
        checked(value)
    })
}

/// Reads the name of a target.
pub(crate) fn target(value: &str) -> Result<String, String> {
    checked(value.into())?;
    Ok(value.to_owned())
}

fn checked(value: OsString) -> Result<PathBuf, String> {
    not_an_option(&value)?;
    if value.is_empty() {
        return Err("'': a file name is missing".to_owned());
    }
    Ok(PathBuf::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_options_are_refused() {
        for (value, expected) in [
            ("-d1", "'-d1': looks like an option; for a file of that name, write './-d1'"),
            ("--", "write './--'"),
            ("", "'': a file name is missing"),
        ] {
            let reason = checked(value.into()).expect_err(value);
            assert!(reason.contains(expected), "{value}: {reason}");
        }
        for value in ["./-d1", "a-b", "d", "-"] {
            assert_eq!(checked(value.into()), Ok(value.into()));
        }
    }
}
