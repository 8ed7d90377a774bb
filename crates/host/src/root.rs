//! The root directory of /sys and /proc.

use crate::syntax;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Directory of the CPUs.
pub(crate) const CPU_DIRECTORY: &str = "/sys/devices/system/cpu";

/// Directory of `cpu`.
pub(crate) fn cpu_directory(cpu: u32) -> String {
    format!("{CPU_DIRECTORY}/cpu{cpu}")
}

/// The maximum number of bytes read of one file: kernel files are small, and a recorded one may be anything.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The root of a machine's description: `/`, or a recorded tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    directory: PathBuf,
}

impl Default for Root {
    fn default() -> Self {
        Self::machine()
    }
}

impl Root {
    /// This machine.
    pub fn machine() -> Self {
        Self::recorded("/")
    }

    /// A tree with copies of the kernel's files.
    pub fn recorded(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Path of the file that is at `path`, absolute on the machine.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The machine's name for `place`, a path below this directory without symbolic links.
    pub(crate) fn on_machine(&self, place: &Path) -> Option<PathBuf> {
        let directory = fs::canonicalize(&self.directory).ok()?;
        Some(Path::new("/").join(place.strip_prefix(directory).ok()?))
    }

    /// The target of `path` through symbolic links, as a path of the machine; `None` if it does not exist, or is
    /// outside of a recorded tree.
    pub(crate) fn real(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        self.on_machine(&fs::canonicalize(self.path(path)).ok()?)
    }

    /// True if `path` exists, after symbolic links.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// The file's content. `None` if it cannot be read.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(path)).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The file's content; bytes that are not UTF-8 are replaced. `None` if it cannot be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// The file's content without surrounding blanks, line ends and NULs; `None` if the rest is empty.
    pub(crate) fn word(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path)?;
        let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// The file's content as a decimal number.
    pub(crate) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.word(path)?.parse().ok()
    }

    /// The same, if it fits into 32 bits.
    pub(crate) fn small_number(&self, path: impl AsRef<Path>) -> Option<u32> {
        self.word(path)?.parse().ok()
    }

    /// The file's content as a switch: 0 or 1.
    pub(crate) fn switch(&self, path: impl AsRef<Path>) -> Option<bool> {
        match self.word(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The file's content as a list of CPUs.
    pub(crate) fn cpu_list(&self, path: impl AsRef<Path>) -> Option<Vec<u32>> {
        syntax::cpu_list(&self.text(path)?)
    }

    /// Names in a directory that are `prefix` and a decimal number, as those numbers, ascending.
    pub(crate) fn numbered(&self, directory: impl AsRef<Path>, prefix: &str) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Vec::new() };
        let mut numbers: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Names in a directory, sorted; those that are not UTF-8, which no kernel creates, are left out.
    pub(crate) fn names(&self, directory: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}
