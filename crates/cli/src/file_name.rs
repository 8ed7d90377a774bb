//! Names of files and directories as values of options.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Refuses a name that is more likely an option whose own value was forgotten; `-` alone is no such name.
pub(crate) fn not_an_option(option: &str, value: &OsStr) -> Result<(), String> {
    if value.len() > 1 && value.as_encoded_bytes().starts_with(b"-") {
        let shown = value.display();
        return Err(format!("{option} '{shown}': looks like an option; for a file of that name, write './{shown}'"));
    }
    Ok(())
}

/// The value of an option that takes a file; `-` alone is left to the option.
pub(crate) fn path(option: &str, value: OsString) -> Result<PathBuf, String> {
    not_an_option(option, &value)?;
    if value.is_empty() {
        return Err(format!("{option} '': a file name is missing"));
    }
    Ok(PathBuf::from(value))
}

/// The value of an option that takes a file or directory, and knows no stdin and no stdout.
pub(crate) fn path_alone(option: &str, value: OsString) -> Result<PathBuf, String> {
    if value == "-" {
        return Err(format!(
            "{option} '-': a file name is needed, not stdin or stdout; for a file named '-', write './-'"
        ));
    }
    path(option, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_options_are_refused() {
        for (value, expected) in [
            ("-d1", "--dir '-d1': looks like an option; for a file of that name, write './-d1'"),
            ("--", "write './--'"),
            ("", "--dir '': a file name is missing"),
            ("-", "'./-'"),
        ] {
            let reason = path_alone("--dir", value.into()).expect_err(value);
            assert!(reason.contains(expected), "{value}: {reason}");
        }
        for value in ["./-d1", "a-b", "d"] {
            assert_eq!(path_alone("--dir", value.into()), Ok(value.into()));
        }
        assert_eq!(path("--json", "-".into()), Ok("-".into()));
    }
}
