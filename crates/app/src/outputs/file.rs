//! One output file: checked before the run, written under a temporary name in its directory, and renamed only if
//! nothing has changed there in the meantime.

use super::place::Place;
use super::private::{self, PrivateFile};
use cli::Form;
use model::mark;
use render::document::{DocumentKind, HEAD_BYTES, TEXT_BYTES_MAX, is_text_report};
use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt as _};
use std::path::{Path, PathBuf};
use sys::file_identity::{self, FileState};
use sys::folder::Folder;

/// Maximum number of alternative names tried for a result whose name is taken.
const NAMES_BESIDE_MAX: u32 = 10_000;

/// A file that must not be replaced, and its role in this run.
#[derive(Clone)]
pub(crate) struct Protected {
    pub(crate) path: PathBuf,
    pub(crate) role: &'static str,
}

/// Existing files that may be replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replace {
    /// Documents of this kind.
    pub(crate) kind: DocumentKind,
    /// Any regular file (`--replace-output`).
    pub(crate) any: bool,
}

/// A file that can be written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// As the user typed it.
    name: PathBuf,
    place: Place,
    kind: DocumentKind,
    /// True if only its owner may write to it, regardless of the umask: a later run relies on its contents.
    is_private: bool,
}

impl OutputFile {
    /// Checks that a document can be written there, without touching anything.
    pub(crate) fn check(path: &Path, replace: Replace, protected: &[Protected]) -> Result<Self, String> {
        let place = Place::for_output(path)?;
        for Protected { path, role } in protected {
            // A file that cannot be found cannot be replaced.
            if Place::of_target(path).is_ok_and(|other| other.is(&place)) {
                return Err(format!("the file is {role}"));
            }
        }
        Self::check_place(path.to_owned(), place, replace, "choose another name, or give --replace-output")
    }

    /// The same for a name in one of our directories that is held open: symbolic links are not followed. `path` is the
    /// directory's, `instead` the advice if the name is taken. Only the owner can write to the document.
    pub(crate) fn check_within(
        folder: &Folder,
        path: &Path,
        name: &str,
        replace: Replace,
        instead: &str,
    ) -> Result<Self, String> {
        let place = Place::within(folder, path, name.as_ref()).map_err(|error| error.to_string())?;
        let checked = Self::check_place(path.join(name), place, replace, instead)?;
        Ok(Self { is_private: true, ..checked })
    }

    fn check_place(name: PathBuf, place: Place, replace: Replace, instead: &str) -> Result<Self, String> {
        if let Some(found) = &place.found {
            check_existing(&place, found, replace, instead)?;
        }
        // Not every file system supports files without a name.
        let made = place.folder.create_nameless().or_else(|_| PrivateFile::create(&place.folder)?.file().try_clone());
        made.map_err(|error| format!("cannot create files in {}: {error}", place.folder_path().display()))?;
        Ok(Self { name, place, kind: replace.kind, is_private: false })
    }

    /// As the user typed it.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// True if there was a file when it was checked.
    pub(crate) fn is_there(&self) -> bool {
        self.place.found.is_some()
    }

    /// True if both are the same file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.place.is(&other.place)
    }

    /// Begins lines that are read as they are written. Nothing is touched before the first is written; if there is an
    /// existing file and the first line is a header, before the second is.
    pub(crate) fn begin(self, has_header: bool) -> LineFile {
        let holds = has_header && self.place.found.is_some_and(|found| found.size_bytes > 0);
        LineFile { output: self, file: None, held: Vec::new(), holds }
    }

    /// Opens it for lines of which the first is about to be written: truncates or creates it.
    pub(crate) fn open(&self) -> io::Result<File> {
        let Place { folder, name, found, .. } = &self.place;
        let Some(found) = found else {
            return folder.create_new(name).map_err(taken);
        };
        // Opened first, so that the file checked is the file truncated.
        let file = folder.open_to_write(name)?;
        if !file_identity::state(&file)?.is_unchanged(found) {
            return Err(changed());
        }
        file.set_len(0)?;
        Ok(file)
    }

    /// Appends to the file; others may have appended since it was checked.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<()> {
        let Place { folder, name, found, .. } = &self.place;
        let mut file = match found {
            Some(_) => folder.open_to_write(name)?,
            None => folder.create_new(name).map_err(taken)?,
        };
        if found.is_some_and(|found| !file_identity::state(&file).is_ok_and(|state| state.is_same_file(&found))) {
            return Err(changed());
        }
        // Of two concurrent writers, the later one begins at the end of the other.
        file.lock()?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)
    }

    /// Writes the whole file under a temporary name and renames it. It is written incrementally: that of a long run may
    /// exceed the available memory.
    pub(crate) fn write(&self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.write_beginning(contents).map(drop)
    }

    /// [`write`](Self::write) with an error that names the file.
    pub(crate) fn save(&self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
        self.write(contents).map_err(|error| cannot_write(&self.name, &error))
    }

    /// The same for a file to which further writes follow: it is open after its beginning.
    pub(crate) fn write_beginning(&self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
        const WRITABLE_BY_OTHERS: u32 = 0o022;
        let Place { folder, name, found, .. } = &self.place;
        let mut private = PrivateFile::create(folder)?;
        let made = file_identity::state(private.file())?.permissions;
        let kept = found.map_or(made, |found| found.permissions & 0o777);
        let wanted = if self.is_private { kept & !WRITABLE_BY_OTHERS } else { kept };
        if wanted != made {
            private.file().set_permissions(Permissions::from_mode(wanted))?;
        }
        let file = private.file().try_clone()?;
        let mut buffered = BufWriter::new(private.file());
        contents(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        private.complete(self.kind)?;
        let placed = match (found, folder.find(name)?) {
            (_, None) => private.rename_new(name).map_err(taken),
            (Some(found), Some(_)) => {
                private.take_place_of(name, found).and_then(|is_taken| if is_taken { Ok(()) } else { Err(changed()) })
            }
            (None, Some(_)) => Err(changed()),
        };
        let result = match placed {
            Ok(()) => Ok(file),
            Err(error) => Err(self.beside(&mut private, &error)),
        };
        PrivateFile::remove_leftovers(folder);
        result
    }

    /// Keeps the result under a numbered name next to the requested one; the error names it.
    fn beside(&self, private: &mut PrivateFile<'_>, reason: &io::Error) -> io::Error {
        for number in 1..=NAMES_BESIDE_MAX {
            let mut name = self.place.name.clone();
            name.push(format!(".{number}"));
            match private.rename_new(&name) {
                Ok(()) => {
                    let path = self.place.path.with_file_name(name);
                    return io::Error::other(format!("{reason}; the result is in '{}'", path.display()));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        let path = self.place.path.with_file_name(private.keep());
        io::Error::other(format!("{reason}; the result is in '{}'", path.display()))
    }
}

/// The error for a file that could not be written.
pub(crate) fn cannot_write(name: &Path, reason: &dyn Display) -> String {
    format!("cannot write '{}': {reason}", name.display())
}

/// Writes a document under the first free name in a directory: the stem, or the stem and a number. Never replaces
/// anything.
pub(crate) fn write_new(
    folder: &Path,
    stem: &str,
    form: Form,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    write_new_within(&Folder::open(folder)?, stem, form, contents).map(|name| folder.join(name))
}

/// The same for a directory that is held open; returns the name.
pub(crate) fn write_new_within(
    held: &Folder,
    stem: &str,
    form: Form,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<String> {
    let mut private = PrivateFile::create(held)?;
    let mut buffered = BufWriter::new(private.file());
    contents(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    private.complete(super::kind_of(form))?;
    for number in 1..=NAMES_BESIDE_MAX {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let name = format!("{stem}{number}.{}", form.suffix());
        match private.rename_new(name.as_ref()) {
            Ok(()) => {
                PrivateFile::remove_leftovers(held);
                return Ok(name);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("all names that begin with {stem} are taken; move older results away")))
}

/// Lines written to a file one by one.
pub(crate) struct LineFile {
    output: OutputFile,
    /// Open after the first write.
    file: Option<File>,
    /// The header, until the second line is written.
    held: Vec<u8>,
    /// True while only the header was written, and there is an existing file.
    holds: bool,
}

impl LineFile {
    /// As the user typed its name.
    pub(crate) fn name(&self) -> &Path {
        &self.output.name
    }

    /// True if the existing file is unchanged.
    pub(crate) fn is_untouched(&self) -> bool {
        self.file.is_none() && self.output.is_there()
    }
}

impl Write for LineFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.holds {
            self.held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.output.open()?),
        };
        file.write_all(&std::mem::take(&mut self.held))?;
        file.write(bytes)
    }

    /// The end of a line.
    fn flush(&mut self) -> io::Result<()> {
        self.holds &= self.held.is_empty();
        Ok(())
    }
}

fn taken(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::AlreadyExists { changed() } else { error }
}

fn changed() -> io::Error {
    io::Error::other("the file changed after the run began; it was not overwritten")
}

/// Checks that the existing file may be replaced.
fn check_existing(place: &Place, found: &FileState, replace: Replace, instead: &str) -> Result<(), String> {
    if !found.is_regular {
        return Err(format!("it is {}; results can only be written to regular files", kind_of(&place.path)));
    }
    // A file without write permission is meant to be kept.
    let unwritable = |error: io::Error| format!("the file cannot be replaced: {error}");
    place.folder.open_to_write(&place.name).map_err(unwritable)?;
    let unreadable = |error: io::Error| format!("the existing file cannot be read: {error}: {instead}");
    let file = match place.folder.open_to_look(&place.name) {
        Ok(file) => file,
        Err(_) if replace.any => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    if is_marked(&file) {
        return Err("the file is a target created by diskspd: choose another name".to_owned());
    }
    if replace.any || found.size_bytes == 0 {
        return Ok(());
    }
    let wanted = replace.kind.name();
    match DocumentKind::detect(&beginning(&file).map_err(unreadable)?) {
        Some(kind) if kind == replace.kind => Ok(()),
        Some(kind) => Err(format!("the existing file is {} written by diskspd, not {wanted}: {instead}", kind.name())),
        None if private::is_marked(&file, replace.kind) => Ok(()),
        None => Err(format!("the existing file is not {wanted} written by diskspd: {instead}")),
    }
}

/// True if it has the mark of a target, whatever its contents, or may have it.
pub(super) fn is_marked(file: &File) -> bool {
    match sys::xattr::get(file, mark::ATTRIBUTE) {
        Ok(value) => value.is_some(),
        Err(error) => error.kind() != io::ErrorKind::Unsupported,
    }
}

/// The beginning of a file, long enough to identify it.
pub(super) fn beginning(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    if is_text_report(&bytes) {
        file.take((TEXT_BYTES_MAX - HEAD_BYTES) as u64).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn kind_of(path: &Path) -> &'static str {
    let Ok(kind) = path.symlink_metadata().map(|found| found.file_type()) else { return "not a regular file" };
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}
