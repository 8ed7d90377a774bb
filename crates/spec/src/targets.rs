//! Targets that make sense on Windows only, and arguments that were not meant as targets.

use crate::builder::{Builder, Given};
use crate::command::Surroundings;
use crate::options::{self, Kind};
use std::ffi::OsStr;
use std::path::Path;

/// Why a run cannot use this target, if it names a drive of Windows.
pub(crate) fn refusal(target: &OsStr, surroundings: &dyn Surroundings) -> Option<String> {
    let text = target.to_string_lossy();
    match text.as_bytes() {
        [b'#', _, ..] => Some(format!(
            "target '{text}' names a physical drive as on Windows; give its device, such as /dev/sda or /dev/nvme0n1 \
             (a file of that name is ./{text})"
        )),
        [letter, b':'] if letter.is_ascii_alphabetic() && !surroundings.file_exists(Path::new(target)) => {
            Some(format!(
                "target '{text}' names a volume as on Windows; give its device, such as /dev/sda1, or a file on it \
             (a new file of that name is ./{text})"
            ))
        }
        _ => None,
    }
}

/// What a target was probably meant to be, where it does not exist.
pub(crate) fn warning(target: &OsStr, surroundings: &dyn Surroundings) -> Option<String> {
    let text = target.to_str()?;
    if surroundings.file_exists(Path::new(target)) {
        return None;
    }
    if let Some(option) = meant_option(target, surroundings) {
        return Some(format!("'{text}' is taken for a target; options begin with '-': did you mean {option}?"));
    }
    windows_path(target)
}

/// What a path of Windows means here, if the target looks like one.
pub(crate) fn windows_path(target: &OsStr) -> Option<String> {
    let text = target.to_str()?;
    let is_windows_path = match text.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
        [b'\\', b'\\', ..] => true,
        _ => false,
    };
    is_windows_path.then(|| {
        format!("'{text}' looks like a path of Windows; here it is the name of a file in the current directory")
    })
}

/// The option that `/x` would be on Windows, if it is one that fits and no file of that name exists.
pub(crate) fn meant_option(target: &OsStr, surroundings: &dyn Surroundings) -> Option<String> {
    let option = format!("-{}", target.to_str()?.strip_prefix('/')?);
    if surroundings.file_exists(Path::new(target)) {
        return None;
    }
    let (row, value) = options::find_short(&option)?;
    let mut trial = Builder::default();
    let fits = (row.apply)(&mut trial, &Given { argument: &option, value, surroundings }).is_ok()
        && trial.warnings.is_empty()
        && (row.kind != Kind::Flag || value.is_empty());
    fits.then_some(option)
}
