//! Files with results: checked before anything else is touched, and replaced only by results.

mod descriptor;
mod file;
mod place;
mod private;

pub(crate) use descriptor::{inherited, misdirected_report};
pub(crate) use file::{LineFile, OutputFile, Protected, Replace, cannot_write, write_new, write_new_within};

use crate::meaning::meaning;
use crate::output::say;
use cli::{Form, Outputs, ShortReport};
use model::profile::ResultFormat;
use model::result::{Measured, RunResult};
use place::Place;
pub(crate) use place::future_path;
use render::Detail;
use render::document::DocumentKind;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sys::folder::Folder;

/// The output on stdout.
#[derive(Clone, Copy)]
enum OnStdout {
    /// The whole result.
    Document(Form),
    /// Less than a report.
    Part(ShortReport),
}

/// Checked destinations of results.
pub(crate) struct Destinations {
    on_stdout: OnStdout,
    files: Vec<(Form, OutputFile)>,
}

impl Destinations {
    /// Checks every file; the errors name everything that is wrong with them. `format` is written to stdout if nothing
    /// else is, `any` is `--replace-output`.
    pub(crate) fn check(
        outputs: &Outputs,
        format: ResultFormat,
        any: bool,
        protected: &[Protected],
    ) -> Result<Self, Vec<String>> {
        let mut files: Vec<(Form, OutputFile)> = Vec::new();
        let mut errors = Vec::new();
        for (form, path) in outputs.files() {
            let replace = Replace { kind: kind_of(form), any };
            let checked = OutputFile::check(path, replace, protected).and_then(|file| {
                match files.iter().find(|(_, other)| other.is(&file)) {
                    Some((other, _)) => Err(format!("already used by {}", other.option())),
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

    /// With less than a report on stdout, unless another document was requested there.
    pub(crate) fn with(self, form: ShortReport, outputs: &Outputs) -> Self {
        if outputs.on_stdout().is_some() { self } else { Self { on_stdout: OnStdout::Part(form), ..self } }
    }

    /// Writes a result to all destinations: to stdout, then to the files. The first error is returned, and does not
    /// prevent the rest from being written. Existing files are replaced only by measurements. A run that was not begun
    /// writes nothing meant for a reader.
    pub(crate) fn write(&self, result: &RunResult, is_begun: bool) -> Result<(), String> {
        let bytes = match self.on_stdout {
            OnStdout::Document(Form::Text) | OnStdout::Part(_) if !is_begun => Ok(Vec::new()),
            OnStdout::Document(form) => document(form, result),
            OnStdout::Part(ShortReport::Loads) => written(|out| render::preset_table(result, out)),
            OnStdout::Part(ShortReport::Brief) => written(|out| render::brief(result, out)),
        };
        let printed = bytes.and_then(|bytes| crate::output::print(&bytes));
        let printed = printed.map_err(|error| format!("cannot write to stdout: {error}"));
        printed.and(self.write_files(result))
    }

    /// Writes a result to the files alone.
    fn write_files(&self, result: &RunResult) -> Result<(), String> {
        let mut outcome = Ok(());
        let has_figures = has_figures(result);
        for (form, file) in &self.files {
            if file.is_there() && !has_figures {
                say(&format!(
                    "WARNING: {} '{}': this run has no results; the existing file is unchanged",
                    form.option(),
                    file.name().display()
                ));
                continue;
            }
            let written = file.write(|out| write_document(*form, result, out));
            outcome = outcome.and(
                written.map_err(|error| format!("cannot write {} '{}': {error}", form.option(), file.name().display())),
            );
        }
        outcome
    }
}

/// The kind of document that a form of results produces.
pub(crate) const fn kind_of(form: Form) -> DocumentKind {
    match form {
        Form::Text => DocumentKind::ResultText,
        Form::Xml => DocumentKind::ResultXml,
        Form::Json => DocumentKind::ResultJson,
        Form::Csv => DocumentKind::ResultCsv,
        Form::Fio => DocumentKind::FioJson,
    }
}

/// True if anything was measured. A run whose first I/O failed measured nothing.
pub(crate) fn has_figures(result: &RunResult) -> bool {
    let counted = |measured: &Measured| measured.total.total.ios > 0;
    result
        .time_spans
        .iter()
        .any(|span| span.measured.as_ref().is_some_and(|measured| span.errors.is_empty() || counted(measured)))
}

/// True if a target that does not exist yet would be created where this directory is to be.
pub(crate) fn is_folder_of_target(folder: &Path, target: &Path) -> bool {
    let (Ok(folder), Ok(target)) = (Place::of_target(folder), Place::of_target(target)) else { return false };
    folder.is(&target)
}

/// True if a directory that does not exist yet would be created below a target that does not exist yet either.
pub(crate) fn is_below_target(folder: &Path, target: &Path) -> bool {
    let (Some(folder), Some(target)) = (future_path(folder), future_path(target)) else { return false };
    folder != target && folder.starts_with(target)
}

/// Files that are, or will be, directly in a directory, each with its name there.
pub(crate) fn names_in(folder: &Path, paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, std::ffi::OsString)> {
    let Ok(state) = Folder::open(folder).and_then(|folder| folder.state()) else {
        // It is still to be created, and so may be the directories of the files.
        let Some(folder) = future_path(folder) else { return Vec::new() };
        let futures = paths.filter_map(|path| Some((future_path(&path)?, path)));
        let inside = futures.filter(|(future, _)| future.parent() == Some(&folder));
        return inside.filter_map(|(future, path)| Some((path, future.file_name()?.to_owned()))).collect();
    };
    let places = paths.filter_map(|path| Some((Place::of_target(&path).ok()?, path)));
    places.filter(|(place, _)| place.is_in(&state)).map(|(place, path)| (path, place.name)).collect()
}

/// A result in one form.
pub(crate) fn document(form: Form, result: &RunResult) -> io::Result<Vec<u8>> {
    written(|out| write_document(form, result, out))
}

/// The bytes that a function writes.
pub(crate) fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(bytes)
}

/// Writes a result in one form.
pub(crate) fn write_document(form: Form, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => render::text(result, Detail::from_profile(&result.profile), out),
        Form::Xml => {
            let profile = cli::write_profile(&result.profile, ResultFormat::Xml);
            render::xml(result, &profile, out)
        }
        Form::Json => render::json::write(result, meaning, out),
        Form::Csv => render::csv(result, out),
        Form::Fio => render::fio(result, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    const ANY: Replace = Replace { kind: DocumentKind::ResultJson, any: true };

    fn refusal(path: &Path, protected: &[Protected]) -> String {
        OutputFile::check(path, ANY, protected).expect_err("it must be refused")
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let file = OutputFile::check(&path, ANY, &[]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a check leaves nothing behind");
        file.write(|out| out.write_all(b"one")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        OutputFile::check(&link, ANY, &[]).unwrap().write(|out| out.write_all(b"two")).unwrap();
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
            (at("new/"), "a directory name"),
            (at("missing/file"), "missing': No such file"),
            (at("file/below"), "Not a directory"),
            (at("dangling"), "a dangling symbolic link"),
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
            assert_eq!(refusal(&at(name), &protected), "the file is a target of this run", "{name}");
        }
        assert!(OutputFile::check(&at("other"), ANY, &protected).is_ok());
    }

    #[test]
    fn what_came_meanwhile_stays_and_the_result_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for existed in [false, true] {
            if existed {
                fs::write(at("r"), "").unwrap();
            }
            let file = OutputFile::check(&at("r"), ANY, &[]).unwrap();
            fs::write(at("theirs"), "theirs").unwrap();
            fs::rename(at("theirs"), at("r")).unwrap();
            let error = file.write(|out| out.write_all(b"ours")).unwrap_err().to_string();
            assert!(error.contains("/r.1'"), "{error}");
            assert!(file.open().is_err());
            assert_eq!((fs::read(at("r")).unwrap(), fs::read(at("r.1")).unwrap()), (b"theirs".into(), b"ours".into()));
            fs::remove_file(at("r")).unwrap();
            fs::remove_file(at("r.1")).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn lines_leave_what_is_there_until_one_has_figures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for (before, has_header, after_one) in [
            (Some("old"), true, "old"),
            (Some("old"), false, "one\n"),
            (Some(""), true, "one\n"),
            (None, true, "one\n"),
        ] {
            let _ = fs::remove_file(&path);
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let mut lines = OutputFile::check(&path, ANY, &[]).unwrap().begin(has_header);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
            writeln!(lines, "one").unwrap();
            lines.flush().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after_one, "{before:?}");
            assert_eq!(lines.is_untouched(), after_one == "old");
            writeln!(lines, "two").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        }
    }
}
