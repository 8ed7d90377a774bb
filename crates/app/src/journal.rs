//! `--journal`: the directory for the map of verified units and the logs of changes.

use crate::outputs::{Protected, names_in};
use cli::{JournalOption, RunRequest};
use host::Root;
use run::journal;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use sys::file_identity::{self, FileState};
use sys::folder::Folder;
use verify::log::RUN_FILE_NAME;
use verify::saved::{FILE_NAME, HEAD_BYTES, is_saved_map};

/// Name of the map until it is complete.
const UNFINISHED_NAME: &str = "map.new";

/// A directory that was checked.
pub(crate) struct Journal {
    folder: Folder,
    path: PathBuf,
}

/// The file under a temporary name until the map is complete.
pub(crate) struct JournalFile {
    file: File,
    folder: Folder,
    path: PathBuf,
}

impl Journal {
    /// The directory of a run, if the run has one and is not only planned. `files` are those that the run reads, or
    /// writes in addition.
    ///
    /// # Errors
    ///
    /// The reason why the directory cannot take the map.
    pub(crate) fn check(request: &RunRequest, files: &[Protected]) -> Result<Option<Self>, String> {
        let Some(JournalOption { dir, may_be_here }) = &request.options.journal else { return Ok(None) };
        let Some(folder) = dir else { return Err("--journal-here needs --journal=<dir>".to_owned()) };
        let shown = folder.display();
        if !request.profile.time_spans.iter().any(|span| span.verify) {
            return Err("--journal needs --verify: it saves the map of what was written".to_owned());
        }
        let timespans = request.profile.time_spans.len();
        if timespans > 1 {
            return Err(format!(
                "--journal needs a run of one timespan, not of {timespans}: the map and the logs say what one timespan left"
            ));
        }
        let held = match Folder::open(folder) {
            Ok(held) => held,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(format!("--journal='{shown}': not a directory"));
            }
            Err(error) => return Err(format!("--journal='{shown}': {error}; create the directory first")),
        };
        let names = names_in(folder, files.iter().map(|file| file.path.clone()));
        if let Some((path, _)) = names.iter().find(|(_, name)| is_reserved(name)) {
            let role = files.iter().find(|file| file.path == *path).map_or("", |file| file.role);
            return Err(format!(
                "--journal='{shown}': '{}', {role}, has a name reserved for the map and the logs in this directory: give it \
                 another name, or give another directory",
                path.display()
            ));
        }
        check_files(&held, folder)?;
        let unreadable = |error| format!("--journal='{shown}': {error}");
        if journal::is_in_use(&held).map_err(unreadable)? {
            return Err(format!("--journal='{shown}': another run writes its logs there; give another directory"));
        }
        if !may_be_here && let Some((target, device)) = target_beside(folder, request) {
            let target = target.display();
            return Err(format!(
                "--journal='{shown}' is on the storage of '{target}' ({device}), with which the map would be lost: give a \
                 directory on other storage, or --journal-here"
            ));
        }
        Ok(Some(Self { folder: held, path: folder.clone() }).filter(|_| !request.options.plan_only))
    }

    /// Creates the file, and removes the map and the logs of an earlier run, which this one makes obsolete.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be created.
    pub(crate) fn begin(self) -> Result<JournalFile, String> {
        let error = |error: io::Error| format!("cannot write to '{}' (--journal): {error}", self.path.display());
        for name in [FILE_NAME, UNFINISHED_NAME] {
            if let Map::Own(own) = Map::find(&self.folder, name).map_err(error)? {
                self.folder.remove(name.as_ref(), &own).map_err(error)?;
            }
        }
        journal::remove_logs(&self.folder).map_err(error)?;
        let file = self.folder.create_new(UNFINISHED_NAME.as_ref()).map_err(error)?;
        Ok(JournalFile { file, folder: self.folder, path: self.path })
    }
}

impl JournalFile {
    /// The part that the run needs.
    pub(crate) fn of_run(&self) -> run::journal::Journal<'_> {
        run::journal::Journal { map: &self.file, folder: &self.folder, path: &self.path }
    }

    /// Renames the file if it contains a map, and then removes the logs, which the map supersedes.
    ///
    /// # Errors
    ///
    /// The reason why there is no map.
    pub(crate) fn publish(self) -> Result<(), String> {
        let (path, folder) = (self.path.join(FILE_NAME), &self.folder);
        let error = |error: io::Error| format!("cannot save '{}' (--journal): {error}", path.display());
        let own = file_identity::state(&self.file).map_err(error)?;
        if own.size_bytes == 0 {
            if folder.find(RUN_FILE_NAME.as_ref()).is_ok_and(|found| found.is_some()) {
                let folder = self.path.display();
                return Err(format!(
                    "the logs of the run are kept in '{folder}' (--journal), because it failed: 'diskspd verify' with this \
                     --journal says what is missing"
                ));
            }
            return Err(format!("'{}' (--journal) was not saved: nothing was verified, or it failed", path.display()));
        }
        let unfinished = folder.find(UNFINISHED_NAME.as_ref()).map_err(error)?;
        if !unfinished.is_some_and(|found| found.is_same_file(&own)) {
            return Err(error(io::Error::other(format!("'{UNFINISHED_NAME}' there is another file by now"))));
        }
        let renamed = match Map::find(folder, FILE_NAME).map_err(error)? {
            Map::Missing => folder.rename_new(UNFINISHED_NAME.as_ref(), FILE_NAME.as_ref()),
            Map::Own(_) => folder.rename_over(UNFINISHED_NAME.as_ref(), FILE_NAME.as_ref()),
            // It appeared during the run.
            Map::Other => {
                return Err(format!("'{}' (--journal) is not a saved map, and is never replaced", path.display()));
            }
        };
        renamed.and_then(|()| folder.sync()).map_err(error)?;
        journal::remove_logs(folder).map_err(|error| {
            format!("cannot remove the logs of the run in '{}' (--journal): {error}", self.path.display())
        })
    }
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        // Renamed if the map was complete. Otherwise the file is empty, and the next run removes it.
        if let Ok(own) = file_identity::state(&self.file) {
            let _ = self.folder.remove(UNFINISHED_NAME.as_ref(), &own);
        }
    }
}

/// The file with the name of a map.
enum Map {
    Missing,
    /// The map of another run; it is empty if that run was killed.
    Own(FileState),
    /// A file that must not be replaced.
    Other,
}

impl Map {
    fn find(folder: &Folder, name: &str) -> io::Result<Self> {
        match journal::own_file(folder, name.as_ref(), HEAD_BYTES, is_saved_map) {
            Ok(Some(own)) => Ok(Self::Own(own)),
            Ok(None) => Ok(Self::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }
}

/// True for names reserved for the files of a journal.
fn is_reserved(name: &OsStr) -> bool {
    name == FILE_NAME || name == UNFINISHED_NAME || journal::is_reserved(name)
}

/// Refuses a directory in which a reserved name is used by a file that is not of a journal; `path` is its path.
pub(crate) fn check_files(folder: &Folder, path: &Path) -> Result<(), String> {
    for name in [FILE_NAME, UNFINISHED_NAME] {
        let shown = path.join(name);
        let shown = shown.display();
        let found = Map::find(folder, name).map_err(|error| format!("--journal: cannot read '{shown}': {error}"))?;
        if matches!(found, Map::Other) {
            return Err(format!(
                "--journal: '{shown}' is not a saved map, and is never replaced; give another directory"
            ));
        }
    }
    let unreadable = |error| format!("--journal='{}': {error}", path.display());
    match journal::stranger(folder).map_err(unreadable)? {
        Some(name) => Err(format!(
            "--journal: '{}' is not a log of diskspd, and is never replaced; give another directory",
            path.join(name).display()
        )),
        None => Ok(()),
    }
}

/// A target that is on the same device or file system as a directory, and the device's name.
fn target_beside(folder: &Path, request: &RunRequest) -> Option<(PathBuf, String)> {
    let targets: BTreeSet<&PathBuf> = request
        .profile
        .time_spans
        .iter()
        .filter(|span| span.verify)
        .flat_map(|span| &span.targets)
        .map(|target| &target.path)
        .collect();
    // A file that is still to be created will be where its directory is.
    let existing = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        absolute.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/")).to_owned()
    };
    let places: Vec<PathBuf> = targets.iter().map(|path| existing(path)).chain([existing(folder)]).collect();
    let environments = host::target_environment(&Root::machine(), &places);
    let names = |place: &Path| -> BTreeSet<String> {
        let devices = environments.get(place).into_iter().flat_map(|environment| environment.devices());
        devices.flat_map(|device| device.walk()).map(|device| device.name.clone()).collect()
    };
    let file_system = |place: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::metadata(place).ok()?;
        (found.is_file() || found.is_dir()).then(|| found.dev())
    };
    let (own, own_system) = (names(&existing(folder)), file_system(folder));
    targets.into_iter().zip(&places).find_map(|(target, place)| {
        let device = names(place).intersection(&own).next().cloned();
        let is_one = own_system.is_some() && file_system(place) == own_system;
        device.or_else(|| is_one.then(|| "the same file system".to_owned())).map(|device| (target.clone(), device))
    })
}
