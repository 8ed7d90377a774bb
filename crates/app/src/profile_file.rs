//! `-X` and `diskspd run`: a profile from a file.

use crate::fio_job;
use crate::foreign_file;
use crate::output::{say, say_each};
use crate::request_checks::check_outputs;
use crate::status::{Status, refuse_each, refuse_profile, refuse_with};
use crate::system_env::SystemEnv;
use crate::text_file::read;
use cli::{Job, LoadRequest, LoadedProfile};
use model::requirement::Requirement;

/// Reads the profile and the action for it, or all errors in it.
pub(crate) fn load(request: LoadRequest) -> Result<LoadedProfile, Status> {
    let name = request.path.display().to_string();
    let (noun, role) =
        if request.is_job { ("job", "the job of this run") } else { ("profile", "the profile of this run") };
    let bytes =
        read(&request.path).map_err(|error| refuse_with(&format!("cannot read the {noun} '{name}': {error}")))?;
    let Job { profile, requirements } = job_of(&request, &bytes, &name)?;
    let request = request.with_requirements(requirements);
    if !request.show
        && let Err(reasons) = check_outputs(&request.options, &request.path, role)
    {
        return Err(refuse_each(&reasons));
    }
    request.load(profile, &SystemEnv).map_err(|failure| refuse_profile(&failure))
}

/// Parses a file: TOML, XML or a fio job for `diskspd run`, XML for `-X`.
fn job_of(request: &LoadRequest, bytes: &[u8], name: &str) -> Result<Job<Requirement>, Status> {
    let refused = |()| Status::Refused;
    if request.is_job && cli::fio::is_job_file(bytes) {
        return fio_job::job(bytes, &request.path);
    }
    if let Some(reason) = foreign_file::reason(&request.path, bytes) {
        return Err(refuse_with(&reason));
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
