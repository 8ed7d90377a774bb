//! Files with results: checked before anything else is touched, written under another name, and
//! renamed when they are complete.

use model::profile::ResultFormat;
use model::result::RunResult;
use spec::{Form, Outputs};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Folders whose files are the kernel's.
const KERNEL_FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A file that may not be replaced, and what it is to this run.
pub(crate) struct Protected {
    pub(crate) path: PathBuf,
    pub(crate) role: &'static str,
}

/// What goes to stdout.
#[derive(Clone, Copy)]
enum OnStdout {
    /// The whole result.
    Document(Form),
    /// The table of a preset's loads.
    PresetTable,
}

/// Where results go, checked.
pub(crate) struct Destinations {
    on_stdout: OnStdout,
    files: Vec<(Form, OutputFile)>,
}

impl Destinations {
    /// Checks every file; all that is wrong with them, if anything. `format` is what goes to stdout
    /// if nothing else does.
    pub(crate) fn check(outputs: &Outputs, format: ResultFormat, protected: &[Protected]) -> Result<Self, Vec<String>> {
        let mut files: Vec<(Form, OutputFile)> = Vec::new();
        let mut errors = Vec::new();
        for (form, path) in outputs.files() {
            let checked = OutputFile::check(path, protected).and_then(|file| {
                match files.iter().find(|(_, other)| other.place.is(&file.place)) {
                    Some((other, _)) => Err(format!("{} goes there already", other.option())),
                    None => Ok(file),
                }
            });
            match checked {
                Ok(file) => files.push((form, file)),
                Err(reason) => errors.push(format!("{} '{}': {reason}", form.option(), path.display())),
            }
        }
        let on_stdout = OnStdout::Document(outputs.on_stdout().unwrap_or(Form::from(format)));
        if errors.is_empty() { Ok(Self { on_stdout, files }) } else { Err(errors) }
    }

    /// With the table of a preset's loads on stdout, unless another document was to go there.
    pub(crate) fn brief(self, outputs: &Outputs) -> Self {
        if outputs.on_stdout().is_some() { self } else { Self { on_stdout: OnStdout::PresetTable, ..self } }
    }

    /// Writes a result everywhere: to stdout, then to the files. The first error counts, and does
    /// not keep the rest from being written.
    pub(crate) fn write(&self, result: &RunResult) -> Result<(), String> {
        let bytes = match self.on_stdout {
            OnStdout::Document(form) => document(form, result),
            OnStdout::PresetTable => {
                let mut bytes = Vec::new();
                report::preset::table(result, &mut bytes).map(|()| bytes)
            }
        };
        let printed = bytes.and_then(|bytes| crate::output::print(&bytes));
        let mut outcome = printed.map_err(|error| format!("cannot write to stdout: {error}"));
        for (form, file) in &self.files {
            let written = file.write(|out| write_document(*form, result, out));
            outcome = outcome.and(
                written.map_err(|error| format!("cannot write {} '{}': {error}", form.option(), file.name.display())),
            );
        }
        outcome
    }
}

/// A result in one form.
pub(crate) fn document(form: Form, result: &RunResult) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_document(form, result, &mut bytes)?;
    Ok(bytes)
}

/// Writes a result in one form.
pub(crate) fn write_document(form: Form, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => report::text(result, out),
        Form::Xml => {
            let profile = spec::write_profile(&result.profile, ResultFormat::Xml);
            report::xml(result, &profile, out)
        }
        Form::Json => report::json::write(result, out),
        Form::Csv => report::csv(result, out),
    }
}

/// A file that can be written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// As the user wrote it.
    name: PathBuf,
    place: Place,
}

impl OutputFile {
    /// Finds out whether a result can go there, without touching anything.
    pub(crate) fn check(path: &Path, protected: &[Protected]) -> Result<Self, String> {
        let place = Place::find(path)?;
        if let Some(found) = &place.found {
            let kind = found.file_type();
            if !kind.is_file() {
                return Err(format!("it is {}; results go to regular files", kind_of(found)));
            }
            // Whoever took the right to write away wanted to keep it.
            OpenOptions::new()
                .write(true)
                .open(&place.path)
                .map_err(|error| format!("it cannot be replaced: {error}"))?;
        }
        for Protected { path, role } in protected {
            // What cannot be found cannot be replaced.
            if Place::find(path).is_ok_and(|other| other.is(&place)) {
                return Err(format!("it is {role}"));
            }
        }
        let folder = place.folder();
        tempfile::tempfile_in(folder)
            .map_err(|error| format!("nothing can be written in {}: {error}", folder.display()))?;
        Ok(Self { name: path.to_owned(), place })
    }

    /// Empties it, or makes it, for lines that somebody reads as they are written.
    pub(crate) fn begin(&self) -> Result<File, String> {
        File::create(&self.place.path).map_err(|error| format!("cannot write '{}': {error}", self.name.display()))
    }

    /// As the user wrote it.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Writes the whole file under another name and renames it. It is written as it is made: that of a
    /// long run may be larger than the memory there is.
    pub(crate) fn write(&self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        // As for any new file, the umask takes away what it takes away.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".diskspd-").permissions(Permissions::from_mode(0o666));
        let mut file = builder.tempfile_in(self.place.folder())?;
        if let Some(found) = &self.place.found {
            file.as_file().set_permissions(found.permissions())?;
        }
        let mut buffered = BufWriter::new(&mut file);
        contents(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        file.as_file().sync_all()?;
        file.persist(&self.place.path).map(|_: File| ()).map_err(|error| error.error)
    }
}

/// Where a path leads after all symbolic links, and what is there.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    found: Option<Metadata>,
}

impl Place {
    fn find(path: &Path) -> Result<Self, String> {
        not_the_kernels(&std::path::absolute(path).map_err(|error| error.to_string())?)?;
        match fs::canonicalize(path) {
            Ok(path) => {
                not_the_kernels(&path)?;
                let found = fs::metadata(&path).map_err(|error| error.to_string())?;
                Ok(Self { path, found: Some(found) })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::missing(path),
            Err(error) => Err(error.to_string()),
        }
    }

    fn missing(path: &Path) -> Result<Self, String> {
        if path.symlink_metadata().is_ok() {
            return Err("it is a symbolic link that leads nowhere".to_owned());
        }
        let Some(name) = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/")) else {
            return Err("it is the name of a directory".to_owned());
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder =
            fs::canonicalize(folder).map_err(|error| format!("the directory '{}': {error}", folder.display()))?;
        Ok(Self { path: folder.join(OsString::from(name)), found: None })
    }

    /// True if both are one file, hard links included.
    fn is(&self, other: &Self) -> bool {
        let identity = |found: &Metadata| (found.dev(), found.ino());
        let is_linked = |(ours, theirs)| identity(ours) == identity(theirs);
        self.path == other.path || self.found.as_ref().zip(other.found.as_ref()).is_some_and(is_linked)
    }

    fn folder(&self) -> &Path {
        // A file is in a directory, and all links are resolved.
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

fn not_the_kernels(path: &Path) -> Result<(), String> {
    match KERNEL_FOLDERS.iter().find(|folder| path.starts_with(folder)) {
        Some(folder) => Err(format!("it is in {folder}; results go to regular files, or with - to stdout")),
        None => Ok(()),
    }
}

fn kind_of(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refusal(path: &Path, protected: &[Protected]) -> String {
        OutputFile::check(path, protected).expect_err("it must be refused")
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let file = OutputFile::check(&path, &[]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a check leaves nothing behind");
        file.write(|out| out.write_all(b"one")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        OutputFile::check(&link, &[]).unwrap().write(|out| out.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two", "links are followed");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_place_for_results_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(at("nowhere"), at("dangling")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        fs::write(at("file"), "").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (path, expected) in [
            (folder.path().to_owned(), "it is a directory"),
            (at("new/"), "the name of a directory"),
            (at("missing/file"), "missing': No such file"),
            (at("file/below"), "Not a directory"),
            (at("dangling"), "leads nowhere"),
            (at("null"), "it is in /dev"),
            (at("socket"), "it is a socket"),
            ("/dev/stdout".into(), "it is in /dev"),
            ("/proc/self/fd/1".into(), "it is in /proc"),
        ] {
            let reason = refusal(&path, &[]);
            assert!(reason.contains(expected), "{}: {reason}", path.display());
        }
    }

    #[test]
    fn a_file_of_the_run_is_refused_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("target"), "data").unwrap();
        fs::hard_link(at("target"), at("hard")).unwrap();
        symlink(at("target"), at("soft")).unwrap();
        let protected = ["target", "to be made"].map(|name| Protected { path: at(name), role: "a target of this run" });
        for name in ["target", "hard", "soft", "./target", "to be made"] {
            assert_eq!(refusal(&at(name), &protected), "it is a target of this run", "{name}");
        }
        assert!(OutputFile::check(&at("other"), &protected).is_ok());
    }
}
