//! `diskspd import fio` and `diskspd run JOB.fio`: translates fio jobs.

use crate::output::{print, say};
use crate::outputs::{OutputFile, Protected, Replace};
use crate::status::{Status, fail, printed, refuse_each, refuse_with};
use crate::system_env::SystemEnv;
use cli::fio::{Import, JOB_BYTES_MAX, Level, Surroundings, read_file, read_words};
use cli::subcommand::import::{ImportForm, ImportRequest, ImportSource};
use cli::{Job, write_job, write_profile};
use model::printable::printable;
use model::profile::ResultFormat;
use model::requirement::Requirement;
use model::validate::{Purpose, validate};
use render::document::DocumentKind;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path};
use sys::folder::Folder;

/// Runs `diskspd import`.
pub(crate) fn import(request: &ImportRequest) -> Status {
    let translated = match &request.source {
        ImportSource::File(path) => text_at(path).and_then(|text| read(&text, path, &request.sections, request.env)),
        ImportSource::Words(words) => with_surroundings(Path::new("."), request.env, |surroundings| {
            read_words(words, &request.sections, surroundings)
        }),
    };
    let import = match translated {
        Ok(import) => import,
        Err(reason) => return refuse_with(&reason),
    };
    if import.is_refused() {
        let shown = printed(print(format!("{}\n{}", import.summary(), import.table()).as_bytes()), Status::Refused);
        say("ERROR: the job cannot be run as it is: see 'refused' above");
        return shown;
    }
    let mut text = String::new();
    match &request.output {
        None => import.commands().iter().for_each(|command| {
            // Writing to a string does not fail, here and below.
            let _ = writeln!(text, "{command}");
        }),
        Some((path, form)) => match write(&import, path, *form, request) {
            Ok(()) => {
                let _ = writeln!(text, "Wrote {}; to run it: diskspd run {0}", printable(&path.display().to_string()));
            }
            Err(status) => return status,
        },
    }
    let _ = write!(text, "\n{}\n{}", import.summary(), import.table());
    printed(print(text.as_bytes()), Status::Done)
}

/// The load of a job file for `diskspd run`; differences from fio are printed to stderr.
pub(crate) fn job(bytes: &[u8], path: &Path) -> Result<Job<Requirement>, Status> {
    let import = text_of(bytes).and_then(|text| read(text, path, &[], false)).map_err(|reason| refuse_with(&reason))?;
    let rows = |level| import.rows.iter().filter(move |row| row.level == level);
    if import.is_refused() {
        rows(Level::Refused).for_each(|row| say(&format!("ERROR: {}: {}", row.option, row.says)));
        say(&format!("ERROR: '{}' cannot be run as it is; diskspd import fio shows all options", path.display()));
        return Err(Status::Refused);
    }
    for row in rows(Level::Approximate) {
        say(&format!("NOTE: fio's {}: {}", row.option, row.says));
    }
    import.job(&SystemEnv).map_err(|reason| refuse_with(&reason))
}

fn text_at(path: &Path) -> Result<String, String> {
    let named = |reason: String| format!("'{}': {reason}", path.display());
    let file = File::open(path).map_err(|error| named(error.to_string()))?;
    content(file).map_err(named)
}

fn content(file: File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(JOB_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    text_of(&bytes).map(str::to_owned)
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    if bytes.len() > JOB_BYTES_MAX {
        return Err(format!("larger than {JOB_BYTES_MAX} bytes"));
    }
    std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())
}

fn read(text: &str, path: &Path, sections: &[String], env: bool) -> Result<Import, String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    with_surroundings(folder, env, |surroundings| read_file(text, &path.display().to_string(), sections, surroundings))
}

fn with_surroundings<T>(folder: &Path, env: bool, then: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let variable = |name: &str| match std::env::var(name) {
        _ if !env => Err(format!("${{{name}}} is a variable of the environment, which only --env reads")),
        Ok(value) => Ok(value),
        Err(_) => Err(format!("${{{name}}} is not set in the environment")),
    };
    let include = |name: &str| included(folder, name).map_err(|reason| format!("include '{name}': {reason}"));
    let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    then(&Surroundings { variable: &variable, include: &include, bytes_of: &bytes_of, cpus })
}

/// Size of a regular file or block device in bytes. Neither is opened.
fn bytes_of(path: &str) -> Option<u64> {
    let found = std::fs::metadata(path).ok()?;
    if found.is_file() {
        return Some(found.len());
    }
    if !found.file_type().is_block_device() {
        return None;
    }
    let (major, minor) = sys::file::major_minor(found.rdev());
    let sectors = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    // The kernel counts 512-byte sectors here, regardless of the device's sector size.
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// The text of a file below a directory. Symbolic links are not followed, so that a third-party job can only read files
/// that came with it.
fn included(folder: &Path, name: &str) -> Result<String, String> {
    let parts: Option<Vec<&OsStr>> = Path::new(name)
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| if let Component::Normal(part) = part { Some(part) } else { None })
        .collect();
    let Some((file, folders)) = parts.as_deref().and_then(<[_]>::split_last) else {
        return Err("only files below the directory of the job are read".to_owned());
    };
    let open = || -> std::io::Result<File> {
        let mut at = Folder::open(folder)?;
        for part in folders {
            at = at.open_folder(part)?;
        }
        at.open_to_look(file)
    };
    let file = open().map_err(|error| error.to_string())?;
    // Reading a pipe may never end.
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err("not a regular file".to_owned());
    }
    content(file)
}

/// Writes the job in the requested form.
fn write(import: &Import, path: &Path, form: ImportForm, request: &ImportRequest) -> Result<(), Status> {
    let job = import.job(&SystemEnv).map_err(|reason| refuse_with(&reason))?;
    let findings = validate(&job.profile, Purpose::Show);
    if !findings.errors.is_empty() {
        return Err(refuse_each(&findings.errors));
    }
    let text = match form {
        ImportForm::Job => write_job(&job.profile, &import.requirements),
        ImportForm::Profile => write_profile(&job.profile, ResultFormat::Xml),
    };
    if form == ImportForm::Profile && !import.requirements.is_empty() {
        say(&format!(
            "WARNING: a profile has no requirements; give --require '{}'",
            import.requirements.join("' --require '")
        ));
    }
    let source = match &request.source {
        ImportSource::File(path) => vec![Protected { path: path.clone(), role: "the job that is translated" }],
        ImportSource::Words(_) => Vec::new(),
    };
    let replace = Replace { kind: DocumentKind::Job, any: request.replace };
    let output = OutputFile::check(path, replace, &source)
        .map_err(|reason| refuse_with(&format!("--output '{}': {reason}", path.display())))?;
    output.save(|out| out.write_all(text.as_bytes())).map_err(|reason| fail(&reason))
}
