//! The directory of a sweep: `sweep.json`, `table.csv` and a file for each run.

use crate::output::write_json;
use crate::outputs::{
    OutputFile, Protected, Replace, cannot_write, is_below_target, is_folder_of_target, names_in, write_document,
};
use cli::Form;
use cli::subcommand::sweep::SweepRequest;
use flate2::Crc;
use jiff::Zoned;
use model::result::RunResult;
use model::shell;
use model::sweep::{Purpose, SeriesKind, Sweep};
use model::version::IMPLEMENTATION_VERSION;
use render::document::DocumentKind;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use sys::file_identity::{self, FileState};
use sys::folder::Folder as HeldFolder;

const TABLE_FILE: &str = "table.csv";
const PRECONDITION_FILE: &str = "precondition.json";
/// Prefix of the names of its runs' results.
const RUN_PREFIX: &str = "point-";

/// Advice if a reserved name is in use.
const INSTEAD: &str = "give another --dir, or --replace-output";

/// True if a file of a series' directory is not the result of one of its runs.
pub(crate) fn is_no_run(file: &Path) -> bool {
    let own = SeriesKind::ALL.map(SeriesKind::file);
    own.iter().map(String::as_str).chain([PRECONDITION_FILE]).any(|name| file.ends_with(name))
}

/// The name of a directory if the user chose none.
fn default_folder(kind: SeriesKind) -> PathBuf {
    PathBuf::from(format!("{}-{}", kind.name(), Zoned::now().strftime("%Y%m%d-%H%M%S")))
}

/// Directory of the results of a sweep.
pub(crate) struct Folder {
    path: PathBuf,
    /// The open directory, once it exists: files are written in it even if its path changes.
    held: Option<HeldFolder>,
    kind: SeriesKind,
    /// `--replace-output`
    replace_output: bool,
    /// True while there is an earlier record that is to be replaced.
    has_earlier: Cell<bool>,
    /// True if the user did not choose it.
    is_unasked: bool,
}

/// This program: its version, and a checksum of its executable, if readable.
pub(crate) fn program() -> String {
    let checksum = std::env::current_exe().and_then(|path| checksum(&path));
    match checksum {
        Ok((sum, bytes)) => format!("diskspd {IMPLEMENTATION_VERSION}, CRC-32 {sum:08x} of {bytes} bytes"),
        Err(_) => format!("diskspd {IMPLEMENTATION_VERSION}"),
    }
}

fn checksum(path: &Path) -> io::Result<(u32, u32)> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut crc = Crc::new();
    loop {
        let part = file.fill_buf()?;
        let length = part.len();
        if length == 0 {
            return Ok((crc.sum(), crc.amount()));
        }
        crc.update(part);
        file.consume(length);
    }
}

/// Changes since the sweep was started, if any.
pub(crate) fn difference(sweep: &Sweep, request: &SweepRequest) -> Option<String> {
    let program = program();
    if sweep.program != program {
        return Some(format!("the earlier runs were made with {}, but this is {program}", sweep.program));
    }
    if !sweep.points.iter().eq(request.points.iter().map(|planned| &planned.point)) {
        return Some("the stored points do not match the stored command line".to_owned());
    }
    None
}

/// The sweep or repeat in `text`, the contents of `file`.
pub(crate) fn read(text: &[u8], file: &Path, kind: SeriesKind) -> Result<Sweep, String> {
    let at = |reason: String| format!("'{}': {reason}", file.display());
    let mut sweep = import::json::read_sweep(text).map_err(|reason| at(format!("not a {}: {reason}", kind.name())))?;
    // Older documents have none.
    sweep.findings = rules::runs::findings(&sweep);
    Ok(sweep)
}

/// The reason why a sweep cannot be resumed.
pub(crate) enum ResumeError {
    /// It cannot be read.
    Unreadable(String),
    /// Another user may have written the command line in it.
    Untrusted(String),
}

/// Checks that only this user, and root, can have written the file.
fn check_owner(path: &Path, state: &FileState) -> Result<(), ResumeError> {
    let user = sys::folder::user();
    if state.is_private_to(user) {
        return Ok(());
    }
    let shown = path.display();
    Err(ResumeError::Untrusted(if state.owner == user {
        format!(
            "--resume: '{shown}' can be written to by others (mode {:04o}), who may have changed the command line that it \
             keeps: check that, then take the permission away (chmod go-w {})",
            state.permissions,
            shell::quoted(&path.to_string_lossy())
        )
    } else {
        format!(
            "--resume: '{shown}' belongs to another user (ID {}), whose command line would be run with your permissions: \
             have that user resume it, or start a series of your own",
            state.owner
        )
    }))
}

impl Folder {
    /// A directory for a new sweep, which is created later: there must be none, or an empty one, unless its contents
    /// may be replaced.
    pub(crate) fn check(path: PathBuf, kind: SeriesKind, replace_output: bool) -> Result<Self, String> {
        let shown = path.display();
        let held = match HeldFolder::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(|error| format!("--dir '{shown}': {error}"))?),
        };
        let has_earlier = path.join(kind.file()).symlink_metadata().is_ok();
        match fs::read_dir(&path).map(Iterator::count) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("--dir '{shown}': {error}")),
            Ok(0) => {}
            Ok(_) if replace_output => {}
            Ok(_) if has_earlier => {
                let name = kind.name();
                let article = if name.starts_with(['a', 'i']) { "an" } else { "a" };
                return Err(format!(
                    "--dir '{shown}' already holds {article} {name}; --resume {} continues it, --replace-output replaces \
                     it",
                    shell::quoted(&path.to_string_lossy())
                ));
            }
            Ok(_) => {
                return Err(format!(
                    "--dir '{shown}': the directory is not empty: choose another name, or give --replace-output"
                ));
            }
        }
        let folder = Self { path, held, kind, replace_output, has_earlier: Cell::new(has_earlier), is_unasked: false };
        folder.check_files()?;
        Ok(folder)
    }

    /// A new directory that the user did not choose.
    pub(crate) fn unasked(kind: SeriesKind) -> Result<Self, String> {
        Self::check(default_folder(kind), kind, false).map(|folder| Self { is_unasked: true, ..folder })
    }

    /// Removes a directory that the user did not choose if no run of the sweep was kept; true if it was removed.
    pub(crate) fn remove_if_useless(&self, sweep: &Sweep) -> bool {
        let own = [self.kind.file(), TABLE_FILE.to_owned()];
        let is_own = |entry: io::Result<fs::DirEntry>| {
            entry.is_ok_and(|entry| own.iter().any(|name| entry.file_name() == name.as_str()))
        };
        let has_more = || fs::read_dir(&self.path).map_or(true, |mut entries| !entries.all(is_own));
        if !self.is_unasked || !sweep.visits.is_empty() || has_more() {
            return false;
        }
        let remove = |held: &HeldFolder, name: &str| match held.find(name.as_ref()) {
            Ok(Some(found)) => held.remove(name.as_ref(), &found).is_ok(),
            found => found.is_ok(),
        };
        let is_empty = self.held.as_ref().is_some_and(|held| own.iter().all(|name| remove(held, name)));
        is_empty && fs::remove_dir(&self.path).is_ok()
    }

    /// Checks that its own files can be written, before anything is run. Files that do not exist can.
    fn check_files(&self) -> Result<(), String> {
        for (name, document) in
            [(self.kind.file().as_str(), DocumentKind::Sweep), (TABLE_FILE, DocumentKind::SweepTable)]
        {
            let Some(held) = &self.held else { return Ok(()) };
            if held.find(name.as_ref()).is_ok_and(|found| found.is_some()) {
                let replace = Replace { kind: document, any: self.replace_output };
                OutputFile::check_within(held, &self.path, name, replace, INSTEAD)
                    .map_err(|reason| format!("'{}': {reason}", self.path.join(name).display()))?;
            }
        }
        Ok(())
    }

    /// Errors about files of the load that have, or would get, reserved names.
    pub(crate) fn misplaced(&self, files: impl Iterator<Item = Protected>) -> Vec<String> {
        let own = SeriesKind::ALL.map(SeriesKind::file);
        let is_own = |name: &OsStr| {
            let name = name.to_string_lossy();
            own.iter().any(|own| *own == name)
                || [TABLE_FILE, PRECONDITION_FILE].contains(&&*name)
                || (name.starts_with(RUN_PREFIX) && name.ends_with(".json"))
        };
        let mut files: Vec<Protected> = files.collect();
        files.dedup_by(|one, other| one.path == other.path);
        if let Some(file) = files.iter().find(|file| is_folder_of_target(&self.path, &file.path)) {
            return vec![format!("--dir '{}' is {}: give another directory", self.path.display(), file.role)];
        }
        if let Some(file) = files.iter().find(|file| is_below_target(&self.path, &file.path)) {
            let (folder, target) = (self.path.display(), file.path.display());
            return vec![format!("--dir '{folder}' lies in '{target}', {}: give another directory", file.role)];
        }
        let named = files.iter().flat_map(|file| names_in(&self.path, std::iter::once(file.path.clone())));
        let named: BTreeMap<PathBuf, OsString> = named.filter(|(_, name)| is_own(name)).collect();
        let reason = |path: &PathBuf| {
            format!(
                "--dir '{}': '{}' has a name reserved for the result files in this directory",
                self.path.display(),
                path.display()
            )
        };
        named.keys().map(reason).collect()
    }

    /// The directory of a sweep that was begun, and the sweep, whose command line is to be run again: only this user,
    /// and root, may have written it.
    pub(crate) fn open(path: PathBuf, kind: SeriesKind, replace_output: bool) -> Result<(Self, Sweep), ResumeError> {
        let file = path.join(kind.file());
        let unreadable =
            |error: io::Error| ResumeError::Unreadable(format!("cannot read '{}': {error}", file.display()));
        let held = HeldFolder::open(&path).map_err(unreadable)?;
        check_owner(&path, &held.state().map_err(unreadable)?)?;
        if held.find(kind.file().as_ref()).map_err(unreadable)?.is_some_and(|found| !found.is_regular) {
            let reason = format!("--resume: '{}' is not a regular file; links are not followed", file.display());
            return Err(ResumeError::Untrusted(reason));
        }
        let mut saved = held.open_to_look(kind.file().as_ref()).map_err(unreadable)?;
        check_owner(&file, &file_identity::state(&saved).map_err(unreadable)?)?;
        let mut text = Vec::new();
        saved.read_to_end(&mut text).map_err(unreadable)?;
        let sweep = read(&text, &file, kind).map_err(ResumeError::Unreadable)?;
        let folder =
            Self { path, held: Some(held), kind, replace_output, has_earlier: Cell::new(false), is_unasked: false };
        folder.check_files().map_err(ResumeError::Unreadable)?;
        Ok((folder, sweep))
    }

    pub(crate) fn kind(&self) -> SeriesKind {
        self.kind
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates it unless it exists. Other users may not write to a new one, regardless of the umask.
    pub(crate) fn make(&mut self) -> Result<(), String> {
        if self.held.is_none() {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(&self.path);
            let held = made.and_then(|()| HeldFolder::open(&self.path));
            self.held = Some(held.map_err(|error| format!("cannot create '{}': {error}", self.path.display()))?);
        }
        Ok(())
    }

    fn held(&self) -> Result<&HeldFolder, String> {
        self.held.as_ref().ok_or_else(|| format!("'{}' does not exist", self.path.display()))
    }

    /// Saves a result under the next free number; that of preconditioning, which is not a run, under a separate name.
    pub(crate) fn keep(&self, result: &RunResult, purpose: Purpose) -> Result<String, String> {
        if purpose == Purpose::Precondition {
            self.write(PRECONDITION_FILE, DocumentKind::ResultJson, |out| write_document(Form::Json, result, out))?;
            return Ok(PRECONDITION_FILE.to_owned());
        }
        let mut number = 1;
        let name = loop {
            let name = format!("{RUN_PREFIX}{number:04}.json");
            let found = self.held()?.find(name.as_ref());
            if found.map_err(|error| cannot_write(&self.path.join(&name), &error))?.is_none() {
                break name;
            }
            number += 1;
        };
        self.write(&name, DocumentKind::ResultJson, |out| write_document(Form::Json, result, out))?;
        Ok(name)
    }

    /// Saves the progress of a sweep. An earlier record remains until there are results.
    pub(crate) fn save(&self, sweep: &Sweep) -> Result<(), String> {
        if self.has_earlier.get() && sweep.measured().next().is_none() {
            return Ok(());
        }
        self.has_earlier.set(false);
        self.write(&self.kind.file(), DocumentKind::Sweep, |out| write_json(sweep, out))?;
        self.write(TABLE_FILE, DocumentKind::SweepTable, |out| render::sweep_csv(sweep, out))
    }

    fn write(
        &self,
        name: &str,
        kind: DocumentKind,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), String> {
        let replace = Replace { kind, any: self.replace_output };
        let written = OutputFile::check_within(self.held()?, &self.path, name, replace, INSTEAD)
            .and_then(|file| file.write(contents).map_err(|e| e.to_string()));
        written.map_err(|reason| cannot_write(&self.path.join(name), &reason))
    }
}
