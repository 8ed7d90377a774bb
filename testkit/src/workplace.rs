//! A separate directory on the file system of the build.

use crate::process::{Program, no_child};
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The directory of a test's files and programs; removed at its end.
#[derive(Debug)]
pub struct Workplace {
    program: PathBuf,
    folder: TempDir,
}

impl Workplace {
    /// A new empty directory below `parent`, for runs of `program`, or of the one named by the variable
    /// `DISKSPD_TEST_PROGRAM`: an optimised build. Use [`workplace!`](macro@crate::workplace).
    pub fn new(program: &str, parent: &str) -> Self {
        let program = std::env::var_os("DISKSPD_TEST_PROGRAM").map_or_else(|| program.into(), PathBuf::from);
        fs::create_dir_all(parent).expect("the build's folder for temporary files can be made");
        let folder =
            tempfile::Builder::new().prefix("e2e-").tempdir_in(parent).expect("a temporary folder can be made");
        // Other users are involved in some tests.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own folder");
        Self { program, folder }
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The content of a file in the directory.
    pub fn content(&self, name: &str) -> Vec<u8> {
        let _no_child = no_child();
        fs::read(self.path(name)).expect("the file can be read")
    }

    /// The JSON in a file in the directory.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_slice(&self.content(name)).expect("it is JSON of this kind")
    }

    /// The first timespan of a result in the directory.
    pub fn span_result(&self, name: &str) -> Value {
        self.json::<Value>(name)["time_spans"][0].take()
    }

    /// The measured part of the first timespan of a result in the directory.
    pub fn measured(&self, name: &str) -> Value {
        self.span_result(name)["measured"].take()
    }

    /// A path inside the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file not created by the program.
    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        let _no_child = no_child();
        fs::write(&path, content).expect("the file fits");
        path
    }

    /// Creates a sparse file.
    pub fn sparse(&self, name: &str, size_bytes: u64) -> std::io::Result<PathBuf> {
        let path = self.path(name);
        fs::File::create(&path)?.set_len(size_bytes)?;
        Ok(path)
    }

    /// Creates a FIFO with the minimum capacity, and opens it for reading and writing.
    pub fn small_fifo(&self, name: &str) -> Result<fs::File, String> {
        let path = self.path(name);
        let made = self.tool("mkfifo").arg(&path).run();
        if made.code() != Some(0) {
            return Err(format!("not possible here: mkfifo: {}", made.stderr.trim()));
        }
        let fifo = fs::File::options().read(true).write(true).open(&path).expect("our own FIFO");
        rustix::pipe::fcntl_setpipe_size(&fifo, 4096).expect("our own FIFO");
        Ok(fifo)
    }

    /// Has the program create a file, like `made("a.dat", "-c1M -Z")`.
    pub fn create_file(&self, name: &str, creation: &str) -> PathBuf {
        self.briefly(creation).args("-b512 -o1 -g1i").arg(name).run_until_measuring().expect_status(0);
        self.path(name)
    }

    /// A run that is ended once its measurement has begun: with its preparation, but without its duration.
    pub fn briefly(&self, words: &str) -> Program {
        self.diskspd("-d600 -W0 -v").args(words)
    }

    /// A run of some hundred I/Os, however long they take; a minute at most.
    pub fn short_run(&self, words: &str) -> Program {
        self.diskspd("-d60 -W0 --max-ios=500").args(words)
    }

    /// The program with these arguments, in the directory, in a cleared environment.
    pub fn diskspd(&self, words: &str) -> Program {
        self.tool(&self.program).args(words)
    }

    /// Any other program in the same environment.
    pub fn tool(&self, program: impl AsRef<Path>) -> Program {
        Program::new(program.as_ref(), self.folder.path())
    }

    /// The error if direct I/O is unsupported here.
    pub fn direct_io(&self) -> Result<(), String> {
        let path = self.file(".direct", &[0; 4096]);
        let opened = rustix::fs::open(&path, OFlags::RDONLY | OFlags::DIRECT, Mode::empty());
        // Only for tidiness: the directory is removed with the test.
        let _ = fs::remove_file(&path);
        opened.map(drop).map_err(|error| format!("the file system of the build refuses O_DIRECT: {error}"))
    }

    /// The error if the file system has no extended attributes: files created here have no mark.
    pub fn attributes(&self) -> Result<(), String> {
        let path = self.file(".attributes", b"");
        let set = rustix::fs::setxattr(&path, "user.diskspd-test", b"1", rustix::fs::XattrFlags::empty());
        let _ = fs::remove_file(&path);
        set.map_err(|error| format!("the file system of the build keeps no user attributes: {error}"))
    }

    /// The mark on a file.
    pub fn mark(&self, path: &Path) -> Option<String> {
        let mut value = [0; 256];
        let length = rustix::fs::getxattr(path, "user.diskspd", &mut value[..]).ok()?;
        Some(String::from_utf8_lossy(&value[..length]).into_owned())
    }
}
