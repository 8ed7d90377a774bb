//! `-X`: a profile from a file.

use crate::output::say;
use crate::status::{Status, refuse};
use crate::surroundings::Here;
use model::limits::PROFILE_BYTES_MAX;
use spec::{LoadRequest, Loaded};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads the profile and says what to do with it, or everything that is wrong with it.
pub(crate) fn load(request: LoadRequest) -> Result<Loaded, Status> {
    let name = request.path.display().to_string();
    let bytes = read(&request.path).map_err(|error| {
        say(&format!("ERROR: cannot read the profile '{name}': {error}"));
        Status::Invalid
    })?;
    let profile = spec::read_profile(&bytes, &name).map_err(|faults| {
        faults.iter().for_each(|fault| say(&format!("ERROR: {fault}")));
        Status::Invalid
    })?;
    request.load(profile, &Here).map_err(|failure| refuse(&failure))
}

/// Not more than shows that it is too much.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PROFILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
