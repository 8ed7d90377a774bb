//! The directory of a gate: a file for each result, and an index that can be rebuilt from them.

use super::fingerprint::fingerprint;
use crate::kept_results::{date_of, is_dated};
use crate::output::say;
use crate::outputs::{OutputFile, Protected, Replace, write_document, write_new_within};
use crate::saved_results::result_in;
use cli::Form;
use model::gate::{GATE_SCHEMA, GateEntry};
use model::result::RunResult;
use model::units::counted;
use render::document::{DocumentKind, HEAD_BYTES};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use sys::folder::Folder;

const INDEX_FILE: &str = "index.jsonl";
/// Locked while the index is read and replaced.
const LOCK_FILE: &str = "index.lock";
/// More than the size of any index.
const INDEX_BYTES_MAX: u64 = 1 << 30;
const INSTEAD: &str = "move it away, and the index is made again from the results";

/// The files that other documents of a gate must not replace.
pub(super) fn own_files(folder: &Path) -> [Protected; 2] {
    [INDEX_FILE, LOCK_FILE].map(|name| Protected { path: folder.join(name), role: "a file of the gate" })
}

/// The directory, held open.
pub(super) struct GateFolder {
    path: PathBuf,
    held: Folder,
}

/// The entries, locked against changes by others.
pub(super) struct Index<'a> {
    folder: &'a GateFolder,
    /// In the order of recording.
    pub(super) entries: Vec<GateEntry>,
    /// Releases the lock when closed.
    _lock: File,
}

impl GateFolder {
    /// Creates it unless it exists. Other users may not write to a new one, regardless of the umask.
    pub(super) fn make(path: &Path) -> Result<Self, String> {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
        made.map_err(|error| format!("cannot create '{}': {error}", path.display()))?;
        Self::open(path)
    }

    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let held = Folder::open(path).map_err(|error| format!("'{}': {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), held })
    }

    fn of_file(&self, name: &str, error: impl std::fmt::Display) -> String {
        format!("'{}': {error}", self.path.join(name).display())
    }

    /// Waits until no other gate changes the index, and reads it.
    pub(super) fn lock(&self) -> Result<Index<'_>, String> {
        let lock = self.lock_file().and_then(|file| file.lock().map(|()| file));
        let lock = lock.map_err(|error| self.of_file(LOCK_FILE, error))?;
        let (entries, is_changed) = self.read()?;
        let index = Index { folder: self, entries, _lock: lock };
        if is_changed {
            index.save()?;
        }
        Ok(index)
    }

    fn lock_file(&self) -> io::Result<File> {
        match self.held.create_new(LOCK_FILE.as_ref()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let file = self.held.open_to_write(LOCK_FILE.as_ref())?;
                let is_regular = file.metadata()?.is_file();
                if is_regular { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
            }
            made => made,
        }
    }

    /// The entries whose results exist, and true if the index differs: lines were lost or damaged.
    pub(super) fn read(&self) -> Result<(Vec<GateEntry>, bool), String> {
        let bytes = match self.contents(INDEX_FILE, INDEX_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(self.of_file(INDEX_FILE, error)),
        };
        if !bytes.is_empty()
            && DocumentKind::detect(&bytes[..bytes.len().min(HEAD_BYTES)]) != Some(DocumentKind::GateIndex)
        {
            let reason = format!("not an index written by this version of diskspd: {INSTEAD}");
            return Err(self.of_file(INDEX_FILE, reason));
        }
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let parsed = lines.iter().filter_map(|line| serde_json::from_slice::<GateEntry>(line).ok());
        let mut known = BTreeSet::new();
        // A result counts only once.
        let is_first = |entry: &GateEntry| entry.file.as_ref().is_none_or(|name| known.insert(name.clone()));
        let mut entries: Vec<GateEntry> = parsed.filter(|entry| entry.schema == GATE_SCHEMA).filter(is_first).collect();
        let broken = lines.len() - entries.len();
        let there = self.results()?;
        entries.retain(|entry| entry.file.as_ref().is_none_or(|name| there.contains(name)));
        let mut added = 0;
        for name in there.difference(&known) {
            match self.result(name) {
                Ok(result) => {
                    let lost = entry(name, &result);
                    let is_earlier = |of: &GateEntry| of.at_unix_ns.0 <= lost.at_unix_ns.0;
                    let place = entries.iter().rposition(is_earlier).map_or(0, |earlier| earlier + 1);
                    entries.insert(place, lost);
                    added += 1;
                }
                Err(reason) => say(&format!("WARNING: {reason}")),
            }
        }
        if broken + added > 0 {
            say(&format!(
                "WARNING: '{}' was incomplete: {} unreadable or double, {} added from their files (without the answers of their \
                 gates)",
                self.path.join(INDEX_FILE).display(),
                counted(broken, "line"),
                counted(added, "result")
            ));
        }
        Ok((entries, broken + added > 0))
    }

    /// The names of the results in it.
    pub(super) fn results(&self) -> Result<BTreeSet<String>, String> {
        let names = self.held.names("").map_err(|error| format!("'{}': {error}", self.path.display()))?;
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let is_result = |name: &String| {
            let is_file = || self.held.find(name.as_ref()).is_ok_and(|found| found.is_some_and(|of| of.is_regular));
            is_dated(name) && Path::new(name).extension() == Some(OsStr::new("json")) && is_file()
        };
        Ok(names.filter(is_result).collect())
    }

    pub(super) fn result(&self, name: &str) -> Result<RunResult, String> {
        let bytes = self.contents(name, import::json::BYTES_MAX as u64 + 1);
        result_in(&self.path.join(name), &bytes.map_err(|error| self.of_file(name, error))?)
    }

    /// The contents of a regular file; symbolic links are not followed.
    fn contents(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.held.open_to_look(name.as_ref())?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Index<'_> {
    /// Writes a result under a unique name, and adds it; returns its entry.
    pub(super) fn record(&mut self, result: &RunResult) -> Result<GateEntry, String> {
        let folder = self.folder;
        let stem = date_of(result);
        let written = write_new_within(&folder.held, &stem, Form::Json, |out| write_document(Form::Json, result, out));
        let name = written.map_err(|error| format!("cannot write to '{}': {error}", folder.path.display()))?;
        let added = entry(&name, result);
        self.entries.push(added.clone());
        self.save()?;
        Ok(added)
    }

    /// Replaces the index file atomically.
    pub(super) fn save(&self) -> Result<(), String> {
        let replace = Replace { kind: DocumentKind::GateIndex, any: false };
        let GateFolder { path, held } = self.folder;
        let written = OutputFile::check_within(held, path, INDEX_FILE, replace, INSTEAD).and_then(|file| {
            let lines = |out: &mut dyn io::Write| {
                self.entries.iter().try_for_each(|entry| {
                    serde_json::to_writer(&mut *out, entry)?;
                    writeln!(out)
                })
            };
            file.write(lines).map_err(|error| error.to_string())
        });
        written.map_err(|reason| self.folder.of_file(INDEX_FILE, reason))
    }
}

/// The entry of a result that no gate has judged.
pub(super) fn entry(name: &str, result: &RunResult) -> GateEntry {
    let span = result.profile.time_spans.first().zip(result.time_spans.first());
    GateEntry {
        schema: GATE_SCHEMA.to_owned(),
        file: Some(name.to_owned()),
        at_unix_ns: result.started_at,
        labels: result.labels.clone(),
        fingerprint: fingerprint(result),
        verdict: span.and_then(|(_, of)| Some(of.verdict.as_ref()?.level().word().to_owned())),
        metrics: span.map(|(span, of)| stats::metrics::all(span, of)).unwrap_or_default(),
        ..GateEntry::default()
    }
}
