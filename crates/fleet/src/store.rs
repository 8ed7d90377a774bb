//! Results that an agent keeps on its disk until a controller has fetched them.

use crate::FleetError;
use crate::load::Finished;
use crate::message::{Kept, Part};
use crate::name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::printable::clipped_error;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time that a result is kept if it is not fetched.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
/// The maximum number of kept results; the oldest are removed.
const MAX_KEPT: usize = 256;
/// The maximum sizes in bytes of a compressed result, and of an uncompressed one: a hostile agent takes no more of a
/// controller's memory. A result of a day has some megabytes.
pub(crate) const MAX_COMPRESSED: u64 = 32 << 20;
const MAX_DOCUMENT: u64 = 128 << 20;
const ENDING: &str = ".json.gz";
/// Time limit for writing a result.
const HALF_FOR: Duration = Duration::from_hours(1);
/// Prefix of the names of unfinished files.
const HALF: &str = ".diskspd-result-";

/// A folder of results, one file `RUN-AGENT.json.gz` for each run: agents of one machine may share the folder.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// Suffix of the names of its files.
    ending: String,
}

/// A result that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) run: String,
    pub(crate) total: u64,
    pub(crate) sha256: String,
}

impl Store {
    /// Opens the folder, which is created (mode 0700) if it is missing, and removes results that are too old.
    pub(crate) fn open(folder: &Path, agent: &str) -> Result<Self, FleetError> {
        let cannot = |error| FleetError::Usage(format!("cannot use {} for results: {error}", folder.display()));
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        }
        let mode = fs::metadata(folder).map_err(cannot)?.permissions().mode();
        if mode & 0o022 != 0 {
            return Err(FleetError::Usage(format!(
                "{} is writable by others (mode {:o}): results could be replaced; chmod 700 it",
                folder.display(),
                mode & 0o7777
            )));
        }
        tempfile::NamedTempFile::new_in(folder).map_err(cannot)?; // fails now, not after a load of hours
        let store = Self { folder: folder.to_owned(), ending: format!("-{agent}{ENDING}") };
        store.remove_halves();
        store.remove_old(SystemTime::now());
        Ok(store)
    }

    /// Removes unfinished files of killed agents. Recent ones may belong to another agent with the same folder.
    fn remove_halves(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_half = entry.file_name().to_str().is_some_and(|name| name.starts_with(HALF));
            let metadata = entry.metadata().ok().filter(|metadata| is_half && metadata.is_file());
            let age = metadata.and_then(|metadata| metadata.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > HALF_FOR) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}{}", self.ending))
    }

    /// Writes the result of a run.
    pub(crate) fn keep(&self, run: &str, finished: &Finished) -> Result<Stored, String> {
        let cannot = |error: std::io::Error| format!("cannot keep the result in {}: {error}", self.folder.display());
        if !name::is_id(run) {
            return Err(format!("'{}' is not the name of a run", run.escape_debug()));
        }
        if finished.result.len() as u64 > MAX_DOCUMENT / 2 {
            return Err(too_large()); // quotes in it are written as two characters
        }
        self.remove_old(SystemTime::now());
        let mut file = tempfile::Builder::new()
            .prefix(HALF)
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.folder)
            .map_err(cannot)?;
        let mut gzip = GzEncoder::new(file.as_file_mut(), Compression::default());
        serde_json::to_writer(std::io::BufWriter::new(&mut gzip), finished).map_err(|error| cannot(error.into()))?;
        gzip.finish().map_err(cannot)?;
        file.as_file().sync_all().map_err(cannot)?;
        let file = file.persist(self.path(run)).map_err(|error| cannot(error.error))?;
        Self::describe(run, &file).map_err(cannot)
    }

    /// The kept result of a run.
    pub(crate) fn find(&self, run: &str) -> Option<Stored> {
        let file = self.open_file(run)?;
        Self::describe(run, &file).ok()
    }

    fn open_file(&self, run: &str) -> Option<File> {
        if !name::is_id(run) {
            return None;
        }
        let options = &mut File::options();
        let file = options.read(true).custom_flags(NO_FOLLOW).open(self.path(run)).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() <= MAX_COMPRESSED).then_some(file)
    }

    /// Length and hash of a file.
    fn describe(run: &str, file: &File) -> std::io::Result<Stored> {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        loop {
            let read = file.read_at(&mut buffer, total)?;
            if read == 0 {
                return Ok(Stored { run: run.to_owned(), total, sha256: name::hex(&hash.finalize()) });
            }
            hash.update(&buffer[..read]);
            total += read as u64;
        }
    }

    /// At most `most` bytes of a result from an offset.
    pub(crate) fn part(&self, stored: &Stored, offset: u64, most: usize) -> Result<Part, String> {
        let file = self.open_file(&stored.run).ok_or("the result is no longer kept")?;
        let length = stored.total.saturating_sub(offset).min(most as u64) as usize;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).map_err(|error| format!("cannot read the result: {error}"))?;
        Ok(Part { offset, total: stored.total, sha256: stored.sha256.clone(), bytes: BASE64.encode(bytes) })
    }

    /// All kept results, the oldest first.
    pub(crate) fn list(&self) -> Vec<Kept> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut kept: Vec<Kept> = entries
            .filter_map(|entry| {
                let file_name = entry.file_name();
                let run = file_name.to_str()?.strip_suffix(&self.ending).filter(|run| name::is_id(run))?;
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
                Some(Kept { run: run.to_owned(), bytes: metadata.len(), written_unix_ms: written.as_millis() as u64 })
            })
            .collect();
        kept.sort_by(|one, other| (one.written_unix_ms, &one.run).cmp(&(other.written_unix_ms, &other.run)));
        kept
    }

    /// Removes the fetched result of a run.
    pub(crate) fn remove(&self, run: &str) {
        if name::is_id(run) {
            let _ = fs::remove_file(self.path(run));
        }
    }

    fn remove_old(&self, now: SystemTime) {
        let oldest = now.checked_sub(KEPT_FOR).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let oldest_ms = oldest.map_or(0, |since| since.as_millis() as u64);
        let kept = self.list();
        let too_many = kept.len().saturating_sub(MAX_KEPT);
        for (index, result) in kept.iter().enumerate() {
            if index < too_many || result.written_unix_ms < oldest_ms {
                self.remove(&result.run);
            }
        }
    }
}

/// `O_NOFOLLOW`: a link in the folder is not followed.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// The SHA-256 of bytes, as hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    name::hex(&Sha256::digest(bytes))
}

pub(crate) fn too_large() -> String {
    "the result is larger than 64 MiB, or 32 MiB when compressed".into()
}

/// The bytes of a part.
pub(crate) fn decoded(part: &Part) -> Result<Vec<u8>, String> {
    BASE64.decode(&part.bytes).map_err(|_| "a part of the result is not Base64".to_owned())
}

/// Unpacks the bytes of a kept result, whose unpacked size is not trusted.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Finished, String> {
    unpacked_within(bytes, MAX_DOCUMENT)
}

fn unpacked_within(bytes: &[u8], most: u64) -> Result<Finished, String> {
    let mut text = Vec::new();
    let read = GzDecoder::new(bytes).take(most + 1).read_to_end(&mut text);
    read.map_err(|error| format!("the result cannot be unpacked: {error}"))?;
    if text.len() as u64 > most {
        return Err(too_large());
    }
    serde_json::from_slice(&text)
        .map_err(|error| format!("the result is not the JSON of a result: {}", clipped_error(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host_timing::HostTiming;
    use serde_json::json;
    use std::io::Write;

    const RUN: &str = "00112233445566778899aabbccddeeff";

    fn finished(text: &str) -> Finished {
        Finished {
            result: json!({ "text": text }).to_string(),
            timing: HostTiming { started_ns: 7, ..HostTiming::default() },
        }
    }

    fn fetched(store: &Store, stored: &Stored, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < stored.total {
            let part = store.part(stored, bytes.len() as u64, most).unwrap();
            assert_eq!((part.total, &part.sha256), (stored.total, &stored.sha256));
            bytes.extend(decoded(&part).unwrap());
        }
        bytes
    }

    #[test]
    fn a_result_comes_back_in_parts_with_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("made"), "h1").unwrap();
        let result = finished(&(0..10_000).map(|number| number.to_string()).collect::<String>());
        let stored = store.keep(RUN, &result).unwrap();
        assert_eq!(store.find(RUN).as_ref(), Some(&stored));
        let bytes = fetched(&store, &stored, 1000);
        assert!(bytes.len() > 3000, "{}", bytes.len());
        assert_eq!(sha256(&bytes), stored.sha256);
        assert_eq!(unpacked(&bytes).unwrap(), result);
        assert_eq!(store.list()[0].run, RUN);
        let mode = fs::metadata(store.path(RUN)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(store.part(&stored, stored.total + 5, 10).unwrap().bytes.is_empty());
        store.remove(RUN);
        assert!(store.list().is_empty() && store.find(RUN).is_none());
    }

    #[test]
    fn names_that_are_no_runs_reach_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("x.json.gz");
        fs::write(&outside, "other").unwrap();
        let store = Store::open(&folder.path().join("results"), "h1").unwrap();
        for name in ["../x", "x", "", &"A".repeat(32)] {
            assert!(store.find(name).is_none() && store.keep(name, &finished("")).is_err(), "{name}");
            store.remove(name);
        }
        assert_eq!(fs::read(&outside).unwrap(), b"other");
        std::os::unix::fs::symlink(&outside, store.path(RUN)).unwrap();
        assert!(store.find(RUN).is_none() && store.list().is_empty());
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Store::open(folder.path(), "h1").unwrap_err().to_string().contains("writable by others"));
    }

    #[test]
    fn old_results_go_after_a_week() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), "h1").unwrap();
        store.keep(RUN, &finished("")).unwrap();
        store.remove_old(SystemTime::now() + KEPT_FOR / 2);
        assert_eq!(store.list().len(), 1);
        store.remove_old(SystemTime::now() + KEPT_FOR + Duration::from_mins(1));
        assert!(store.list().is_empty());
    }

    #[test]
    fn what_is_not_a_result_is_an_error() {
        assert!(unpacked(b"x").is_err());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"{}").unwrap();
        assert!(unpacked(&gzip.finish().unwrap()).unwrap_err().contains("not the JSON"));
    }
    #[test]
    fn a_result_that_grows_when_it_is_unpacked_is_refused() {
        let finished = finished(&"x".repeat(100_000));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut gzip, &finished).unwrap();
        let bytes = gzip.finish().unwrap();
        assert!(bytes.len() < 1000);
        assert!(unpacked_within(&bytes, 50_000).unwrap_err().contains("larger than"));
        assert_eq!(unpacked_within(&bytes, 200_000).unwrap(), finished);
    }

    #[test]
    fn what_a_killed_agent_left_half_written_goes() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new, other] = [".diskspd-result-a", ".diskspd-result-b", "c"].map(|name| folder.path().join(name));
        for path in [&old, &new, &other] {
            fs::write(path, "half").unwrap();
        }
        let before = SystemTime::now() - 2 * HALF_FOR;
        for path in [&old, &other] {
            File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
        }
        Store::open(folder.path(), "h1").unwrap();
        assert!(!old.exists() && new.exists() && other.exists());
    }
    #[test]
    fn agents_with_one_folder_keep_results_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let stores = ["h1", "1", "x-h1"].map(|name| Store::open(folder.path(), name).unwrap());
        for (index, store) in stores.iter().enumerate() {
            store.keep(RUN, &finished(&index.to_string())).unwrap();
        }
        for (index, store) in stores.iter().enumerate() {
            let kept = store.find(RUN).unwrap();
            assert_eq!(unpacked(&fetched(store, &kept, 1000)).unwrap(), finished(&index.to_string()));
            assert_eq!(store.list().len(), 1);
            store.remove(RUN);
            assert!(store.list().is_empty());
        }
    }
}
