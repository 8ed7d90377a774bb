//! `--journal`: the directory where the map of verified units is saved, and changes are logged.

use cli::{JournalOption, RunRequest};
use host::Root;
use run::journal;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use verify::log::RUN_FILE_NAME;
use verify::saved::{FILE_NAME, HEAD_BYTES, is_saved_map};

/// Name of the map until it is whole.
const UNFINISHED_NAME: &str = "map.new";

/// A directory that was checked.
pub(crate) struct Journal {
    folder: PathBuf,
}

/// The file under another name, until the map is whole.
pub(crate) struct JournalFile {
    file: File,
    /// Its name until then.
    unfinished: PathBuf,
    folder: PathBuf,
    path: PathBuf,
}

impl Journal {
    /// The directory of a run, if it has one and is to be run.
    ///
    /// # Errors
    ///
    /// Why it cannot take the map.
    pub(crate) fn check(request: &RunRequest) -> Result<Option<Self>, String> {
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
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(format!("--journal='{shown}': not a directory")),
            Err(error) => return Err(format!("--journal='{shown}': {error}; create the directory first")),
        }
        for path in [FILE_NAME, UNFINISHED_NAME].map(|name| folder.join(name)) {
            let shown = path.display();
            if !may_be_replaced(&path).map_err(|error| format!("--journal: cannot read '{shown}': {error}"))? {
                return Err(format!(
                    "--journal: '{shown}' is not a saved map, and is never replaced; give another directory"
                ));
            }
        }
        let unreadable = |error| format!("--journal='{shown}': {error}");
        if let Some(path) = journal::stranger(folder).map_err(unreadable)? {
            let path = path.display();
            return Err(format!(
                "--journal: '{path}' is not a log of diskspd, and is never replaced; give another directory"
            ));
        }
        if journal::is_in_use(folder).map_err(unreadable)? {
            return Err(format!("--journal='{shown}': another run writes its logs there; give another directory"));
        }
        if !may_be_here && let Some((target, device)) = target_beside(folder, request) {
            let target = target.display();
            return Err(format!(
                "--journal='{shown}' is on the storage of '{target}' ({device}), with which the map would be lost: give a \
                 directory on other storage, or --journal-here"
            ));
        }
        Ok(Some(Self { folder: folder.clone() }).filter(|_| !request.options.plan_only))
    }

    /// Makes the file, and removes the map and the logs of an earlier run: this one changes what they are of.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    pub(crate) fn begin(self) -> Result<JournalFile, String> {
        let error = |error: io::Error| format!("cannot write to '{}' (--journal): {error}", self.folder.display());
        let (path, unfinished) = (self.folder.join(FILE_NAME), self.folder.join(UNFINISHED_NAME));
        for path in [&path, &unfinished] {
            if may_be_replaced(path).map_err(error)? {
                match fs::remove_file(path) {
                    Err(failed) if failed.kind() != io::ErrorKind::NotFound => return Err(error(failed)),
                    _ => {}
                }
            }
        }
        journal::remove_logs(&self.folder).map_err(error)?;
        let file = File::options().read(true).write(true).create_new(true).open(&unfinished).map_err(error)?;
        Ok(JournalFile { file, unfinished, path, folder: self.folder })
    }
}

impl JournalFile {
    /// What the run needs of it.
    pub(crate) fn of_run(&self) -> run::journal::Journal<'_> {
        run::journal::Journal { map: &self.file, folder: &self.folder }
    }

    /// Gives the file its name, if there is a map in it, and then removes the logs, which say no more.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn publish(self) -> Result<(), String> {
        let (path, folder) = (&self.path, &self.folder);
        let error = |error: io::Error| format!("cannot save '{}' (--journal): {error}", path.display());
        if self.file.metadata().map_err(error)?.len() == 0 {
            if folder.join(RUN_FILE_NAME).exists() {
                let folder = folder.display();
                return Err(format!(
                    "the logs of the run are kept in '{folder}' (--journal), because it failed: 'diskspd verify' with this \
                     --journal says what is missing"
                ));
            }
            return Err(format!("'{}' (--journal) was not saved: nothing was verified, or it failed", path.display()));
        }
        // It may have come during the run.
        if !may_be_replaced(path).map_err(error)? {
            return Err(format!("'{}' (--journal) is not a saved map, and is never replaced", path.display()));
        }
        fs::rename(&self.unfinished, path).map_err(error)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(error)?;
        journal::remove_logs(folder).map_err(|error| {
            format!("cannot remove the logs of the run in '{}' (--journal): {error}", folder.display())
        })
    }
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        // Gone if the map was whole. Otherwise nothing is in it, and the next run removes it.
        let _ = fs::remove_file(&self.unfinished);
    }
}

/// True if there is nothing, or the map of another run; it is empty if that run was killed.
fn may_be_replaced(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if !found.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head.is_empty() || is_saved_map(&head))
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
    // A file that is still to be made will be where its directory is.
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
