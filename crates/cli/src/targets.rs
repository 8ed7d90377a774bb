//! Targets that are meaningful on Windows only, and arguments that were not meant as targets.

use crate::builder::{Builder, GivenOption};
use crate::options::{self, Kind};
use crate::request::{Environment, ParseFailure};
use model::profile::Profile;
use std::ffi::OsStr;
use std::path::Path;

/// Refuses timespans with more targets than a run may have, before any path is checked.
pub(crate) fn check_number(profile: &Profile) -> Result<(), ParseFailure> {
    let several = profile.time_spans.len() > 1;
    let reasons = profile.time_spans.iter().enumerate().filter_map(|(index, span)| {
        let place = if several { format!("timespan {}: ", index + 1) } else { String::new() };
        Some(format!("ERROR: {place}{}", span.too_many_targets()?))
    });
    let messages: Vec<String> = reasons.collect();
    if messages.is_empty() { Ok(()) } else { Err(ParseFailure { messages, exit_status: 3 }) }
}

/// The reason why a run cannot use this target, if it names a drive of Windows.
pub(crate) fn refusal(target: &OsStr, environment: &dyn Environment) -> Option<String> {
    let text = target.to_string_lossy();
    match text.as_bytes() {
        [b'#', _, ..] => Some(format!(
            "target '{text}' is a Windows physical drive; give a device, such as /dev/sda or /dev/nvme0n1 (for a file \
             of that name, write ./{text})"
        )),
        [letter, b':'] if letter.is_ascii_alphabetic() && !environment.file_exists(Path::new(target)) => Some(format!(
            "target '{text}' is a Windows volume; give a device, such as /dev/sda1, or a file on it (for a new file of \
             that name, write ./{text})"
        )),
        _ if is_windows_path(&text) && !environment.file_exists(Path::new(target)) => Some(format!(
            "target '{text}' is a Windows path; give a file (/mnt/test.dat) or a device (/dev/sdb, /dev/nvme0n1p1; lsblk \
             lists them), or write ./{text} for a file of that name"
        )),
        _ => None,
    }
}

/// `C:\a.dat`, `C:/a.dat`, `\\host\share\a.dat`
fn is_windows_path(text: &str) -> bool {
    match text.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
        [b'\\', b'\\', ..] => true,
        _ => false,
    }
}

/// A hint at the probable meaning of a target that does not exist.
pub(crate) fn warning(target: &OsStr, environment: &dyn Environment) -> Option<String> {
    let option = meant_option(target, environment)?;
    let text = target.to_str()?;
    Some(format!("'{text}' is read as a target because options begin with '-'; did you mean {option}?"))
}

/// The option that `/x` would be on Windows, if it is one that fits and no file of that name exists.
pub(crate) fn meant_option(target: &OsStr, environment: &dyn Environment) -> Option<String> {
    let option = format!("-{}", target.to_str()?.strip_prefix('/')?);
    if environment.file_exists(Path::new(target)) {
        return None;
    }
    let (row, value) = options::find_short(&option)?;
    let mut trial = Builder::default();
    let fits = row.apply(&mut trial, &GivenOption { argument: &option, value, environment }).is_ok()
        && trial.warnings.is_empty()
        && (row.kind != Kind::Flag || value.is_empty());
    fits.then_some(option)
}
