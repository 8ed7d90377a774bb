//! Files of other tools given in place of one of ours.

use crate::system_env::SystemEnv;
use cli::Environment as _;
use cli::foreign::{self, Settings, Tool};
use model::profile::Profile;
use plan::{Refusal, RefusalKind};
use serde_json::Value;
use std::path::Path;

/// Key that identifies a JSON document of fio.
const FIO_VERSION: &str = "\"fio version\"";
/// Number of bytes at the start of a file within which that key is searched.
const SIGNATURE_BYTES: usize = 4096;
/// Size limit: job files are smaller than the targets of a load.
const TARGET_BYTES_MAX: usize = 64 << 10;

/// Error for a file of another tool; `None` if it is not one.
pub(crate) fn reason(file: &Path, bytes: &[u8]) -> Option<String> {
    let name = file.display();
    // No job file begins like this, and our results may be large.
    if bytes.trim_ascii_start().starts_with(b"{") {
        let command = command_of_fio(bytes)?;
        return Some(format!("'{name}' is JSON of fio; the nearest command here: {command}"));
    }
    let (tool, command) = foreign::of_job_file(bytes)?;
    Some(format!("'{name}' is a job file of {}; the nearest command here: {command}", tool.name()))
}

/// The same for a file that may not exist.
pub(crate) fn reason_at(file: &Path) -> Option<String> {
    reason(file, &SystemEnv.small_file(file)?)
}

/// The reasons why a profile is refused whose targets are files of other tools; `None` if none are.
pub(crate) fn refusals(profile: &Profile) -> Option<Vec<Refusal>> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        let bytes = SystemEnv.small_file(&target.path).filter(|bytes| bytes.len() <= TARGET_BYTES_MAX);
        let Some(message) = bytes.and_then(|bytes| reason(&target.path, &bytes)) else { continue };
        if refusals.iter().all(|known| known.message != message) {
            refusals.push(Refusal { kind: RefusalKind::Invalid, message });
        }
    }
    (!refusals.is_empty()).then_some(refusals)
}

/// The closest command to the one that made a JSON document of fio; `None` if it is not one.
fn command_of_fio(bytes: &[u8]) -> Option<String> {
    // Most documents are ours, and large ones take long to parse twice.
    let is_fio = bytes.windows(FIO_VERSION.len()).take(SIGNATURE_BYTES).any(|part| part == FIO_VERSION.as_bytes());
    let document: Value = is_fio.then(|| serde_json::from_slice(bytes).ok()).flatten()?;
    let of_job = |options: &Value| -> Settings {
        let pairs = options.as_object().into_iter().flatten();
        pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    };
    let settings = [of_job(&document["global options"]), of_job(&document["jobs"][0]["job options"])].concat();
    Some(foreign::command(Tool::Fio, &settings))
}
