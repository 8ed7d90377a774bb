//! `-X` and `diskspd run`: a profile from a file.

use crate::fio_job;
use crate::foreign_file;
use crate::load::check_outputs;
use crate::output::{say, say_each};
use crate::status::{Status, refuse_profile};
use crate::system_env::SystemEnv;
use cli::{Job, LoadRequest, Loaded};
use model::limits::PROFILE_BYTES_MAX;
use model::requirement::Requirement;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads the profile and says what to do with it, or everything that is wrong with it.
pub(crate) fn load(request: LoadRequest) -> Result<Loaded, Status> {
    let name = request.path.display().to_string();
    let (noun, role) =
        if request.is_job { ("job", "the job of this run") } else { ("profile", "the profile of this run") };
    let bytes = read(&request.path).map_err(|error| {
        say(&format!("ERROR: cannot read the {noun} '{name}': {error}"));
        Status::Refused
    })?;
    let Job { profile, requirements } = job_of(&request, &bytes, &name)?;
    let request = request.with_requirements(requirements);
    if !request.show
        && let Err(reasons) = check_outputs(&request.options, &request.path, role)
    {
        say_each("ERROR", &reasons);
        return Err(Status::Refused);
    }
    request.load(profile, &SystemEnv).map_err(|failure| refuse_profile(&failure))
}

/// Reads a file: TOML, XML or a job of fio for `diskspd run`, XML for `-X`.
fn job_of(request: &LoadRequest, bytes: &[u8], name: &str) -> Result<Job<Requirement>, Status> {
    let refused = |()| Status::Refused;
    if request.is_job && cli::fio::is_job_file(bytes) {
        return fio_job::job(bytes, &request.path);
    }
    if let Some(reason) = foreign_file::reason(&request.path, bytes) {
        say(&format!("ERROR: {reason}"));
        return Err(Status::Refused);
    }
    if request.is_job && cli::is_job(bytes) {
        return cli::read_job(bytes, name).map_err(|faults| say_each("ERROR", &faults)).map_err(refused);
    }
    if bytes.starts_with(format!("form = \"{}\"", cli::JOB_FORM).as_bytes()) {
        say(&format!("ERROR: -X '{name}': this is a job file, not an XML profile; run it with diskspd run {name}"));
        return Err(Status::Refused);
    }
    let profile = cli::read_profile(bytes, name).map_err(|faults| say_each("ERROR", &faults)).map_err(refused)?;
    Ok(Job { profile, requirements: Vec::new() })
}

/// Reads at most one byte more than the limit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    content(File::open(path)?)
}

/// The same of an open file.
pub(crate) fn content(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(PROFILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What [`read`] returned as text, or why it is none: `not valid UTF-8`.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > PROFILE_BYTES_MAX {
        return Err(format!("larger than {PROFILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())
}
