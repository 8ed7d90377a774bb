//! `-X`: a profile from a file.

use crate::load::check_outputs;
use crate::output::{say, say_each};
use crate::status::{Status, refuse_profile};
use crate::system_env::SystemEnv;
use cli::{LoadRequest, Loaded};
use model::limits::PROFILE_BYTES_MAX;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads the profile and says what to do with it, or everything that is wrong with it.
pub(crate) fn load(request: LoadRequest) -> Result<Loaded, Status> {
    let name = request.path.display().to_string();
    let bytes = read(&request.path).map_err(|error| {
        say(&format!("ERROR: cannot read the profile '{name}': {error}"));
        Status::Refused
    })?;
    let profile = cli::read_profile(&bytes, &name).map_err(|faults| {
        say_each("ERROR", &faults);
        Status::Refused
    })?;
    if !request.show
        && let Err(reasons) = check_outputs(&request.options, &request.path, "the profile of this run")
    {
        say_each("ERROR", &reasons);
        return Err(Status::Refused);
    }
    request.load(profile, &SystemEnv).map_err(|failure| refuse_profile(&failure))
}

/// Reads at most one byte more than the limit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PROFILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
