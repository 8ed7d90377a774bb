//! Results saved in the user's directory (`DISKSPD_RESULTS`), each under a unique name, and available as `last`,
//! `last~1` and so on.

use crate::outputs::{write_document, write_new};
use cli::{Form, RunRequest};
use host::Root;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::profile::Profile;
use model::result::RunResult;
use model::units::Bytes;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Environment variable with the directory.
const VARIABLE: &str = "DISKSPD_RESULTS";
/// Alias of the newest result there.
const LAST: &str = "last";
/// Format of a run's start time in UTC, so that names sort by age.
const DATE: &str = "%Y%m%dT%H%M%S%.3fZ";
/// Larger than most results.
const ROOM_BYTES: usize = 256 << 10;
/// Length of such a date in characters.
const DATE_LENGTH: usize = 20;
/// Longest label in a name, in characters.
const LABEL_MAX: usize = 80;

/// The directory, checked, and the suffix of the name of this run's result.
pub(crate) struct KeptResults {
    folder: PathBuf,
    label: String,
}

impl KeptResults {
    /// The directory from the environment, if set; it must be able to store a result of this run.
    pub(crate) fn check(request: &RunRequest) -> Result<Option<Self>, String> {
        let Some(folder) = folder().filter(|_| !request.options.plan_only) else { return Ok(None) };
        let refused = |reason: String| format!("{VARIABLE} '{}': {reason}", folder.display());
        match fs::metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(refused("it is not a directory".to_owned())),
            Err(error) => return Err(refused(format!("{error}; create the directory, or unset {VARIABLE}"))),
        }
        // Nothing is left behind: the file has no name.
        let mut file =
            tempfile::tempfile_in(&folder).map_err(|error| refused(format!("cannot create files in it: {error}")))?;
        file.write_all(" ".repeat(ROOM_BYTES).as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|error| refused(format!("no room for a result ({}): {error}", Bytes(ROOM_BYTES as u64))))?;
        if let Some(device) = target_below(&folder, &request.profile) {
            return Err(refused(format!("it lies on {device}, a target of this run; choose another directory")));
        }
        Ok(Some(Self { label: label_of(request), folder }))
    }

    /// Writes a result there; returns its path.
    pub(crate) fn keep(&self, result: &RunResult) -> Result<PathBuf, String> {
        let stem = format!("{}{}", date_of(result), self.label);
        write_new(&self.folder, &stem, Form::Json, |out| write_document(Form::Json, result, out))
            .map_err(|error| format!("cannot keep the result in {VARIABLE} '{}': {error}", self.folder.display()))
    }
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

pub(crate) fn date_of(result: &RunResult) -> String {
    let started = Timestamp::from_nanosecond(result.started_at.0).unwrap_or_else(|_| Timestamp::now());
    started.to_zoned(TimeZone::UTC).strftime(DATE).to_string()
}

/// The values of the run's labels, else the name of the load, in characters that need no quotes.
fn label_of(request: &RunRequest) -> String {
    let options = &request.options;
    let preset = options.preset.as_ref().map(|preset| preset.name.clone());
    let parts: Vec<String> = if options.labels.is_empty() {
        let source = || Some(options.source.as_ref()?.file_stem()?.to_string_lossy().into_owned());
        preset.or_else(source).into_iter().collect()
    } else {
        options.labels.iter().map(|(_, value)| value.clone()).collect()
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    let parts = parts.iter().filter(|part| !part.is_empty());
    let label: String = parts.flat_map(|part| std::iter::once('-').chain(part.chars().map(plain))).collect();
    label.chars().take(LABEL_MAX).collect()
}

/// A target that contains a directory, as messages name it.
fn target_below(folder: &Path, profile: &Profile) -> Option<String> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets).map(|target| target.path.clone());
    let paths: Vec<PathBuf> = targets.chain([folder.to_owned()]).collect();
    let mut environments = host::target_environment(&Root::machine(), &paths);
    let below: Vec<String> = environments
        .remove(folder)
        .iter()
        .flat_map(|environment| environment.devices())
        .flat_map(|device| device.walk())
        .map(|device| device.name.clone())
        .collect();
    // A device has no mount; it is its own first device.
    let devices = environments.values().filter(|environment| environment.mount.is_none());
    let mut names = devices.filter_map(|environment| environment.devices().first().map(|device| device.name.clone()));
    names.find(|name| below.contains(name)).map(|name| format!("/dev/{name}"))
}

/// Resolves the path of a subcommand: `last` and `last~N` are saved results, all others are paths.
pub(crate) fn resolve(path: &mut PathBuf) -> Result<(), String> {
    let Some(back) = path.to_str().and_then(steps_back) else { return Ok(()) };
    let Some(folder) = folder() else {
        return Err(format!(
            "'{}': {VARIABLE} is not set; it names the directory in which runs keep their results (for a file of that \
             name, write ./{})",
            path.display(),
            path.display()
        ));
    };
    let kept = kept_in(&folder).map_err(|error| format!("{VARIABLE} '{}': {error}", folder.display()))?;
    let count = kept.len();
    let place = count.checked_sub(1).and_then(|newest| newest.checked_sub(back));
    let Some(found) = place.and_then(|place| kept.into_iter().nth(place)) else {
        return Err(format!(
            "'{}' does not exist; the number of results in {VARIABLE} '{}' is {count}",
            path.display(),
            folder.display()
        ));
    };
    *path = found;
    Ok(())
}

/// Number of results to go back: `last` is 0, `last~1` is 1.
fn steps_back(text: &str) -> Option<usize> {
    match text.strip_prefix(LAST)? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// The results in a directory that this program saved there, oldest first.
fn kept_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_json = path.extension().is_some_and(|suffix| suffix == "json");
        if is_json && is_dated(name) && path.is_file() {
            // Of those that began in the same millisecond, the one written later is newer.
            let written = path.metadata().and_then(|found| found.modified()).ok();
            kept.push((name[..DATE_LENGTH].to_owned(), written, path));
        }
    }
    kept.sort();
    Ok(kept.into_iter().map(|(_, _, path)| path).collect())
}

/// True if a name begins with a date in this program's format.
pub(crate) fn is_dated(name: &str) -> bool {
    let pattern = b"00000000T000000.000Z";
    let bytes = name.as_bytes();
    bytes.len() > DATE_LENGTH
        && pattern.iter().zip(bytes).all(|(expected, found)| match expected {
            b'0' => found.is_ascii_digit(),
            other => other == found,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::UnixTime;

    #[test]
    fn a_name_begins_with_the_moment_and_sorts_by_it() {
        let result = RunResult { started_at: UnixTime(1_700_000_000_123_000_000), ..RunResult::default() };
        let date = date_of(&result);
        assert_eq!(date, "20231114T221320.123Z");
        assert!(date.len() == DATE_LENGTH && is_dated(&format!("{date}.json")));
        for other in ["result.json", "20231114T221320Z.json", "2023", "20231114T221320.12xZ.json"] {
            assert!(!is_dated(other), "{other}");
        }
    }

    #[test]
    fn last_has_steps() {
        for (text, expected) in
            [("last", Some(0)), ("last~1", Some(1)), ("last~x", None), ("last1", None), ("./last", None), ("a", None)]
        {
            assert_eq!(steps_back(text), expected, "{text}");
        }
    }
}
