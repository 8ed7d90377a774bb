//! The outputs of live results, opened before the run.

use crate::outputs::{OutputFile, Protected, Replace, inherited};
use live::metrics::{RunMetrics, Server};
use live::stream::Stream;
use model::live::{LiveOptions, StreamTarget};
use render::document::DocumentKind;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Destination of the stream, checked.
pub(crate) enum CheckedStream {
    File(OutputFile),
    Fifo(PathBuf),
    Descriptor(OwnedFd),
    Socket(PathBuf),
}

impl CheckedStream {
    /// Checks that lines can be written there, without touching anything. A descriptor is duplicated at once: the
    /// program opens other files later.
    pub(crate) fn check(target: &StreamTarget, any: bool, protected: &[Protected]) -> Result<Self, String> {
        let replace = Replace { kind: DocumentKind::LiveStream, any };
        let checked = match target {
            StreamTarget::Descriptor(number) => inherited(*number, replace, protected).map(Self::Descriptor),
            StreamTarget::Socket(path) => Ok(Self::Socket(path.clone())),
            StreamTarget::File(path) if is_fifo(path) => Ok(Self::Fifo(path.clone())),
            StreamTarget::File(path) => OutputFile::check(path, replace, protected).map(Self::File),
        };
        checked.map_err(|reason| format!("--live-json '{}': {reason}", shown(target)))
    }

    fn open(self) -> Result<OwnedFd, String> {
        let opened = match self {
            Self::Descriptor(descriptor) => Ok(descriptor),
            Self::Socket(path) => UnixStream::connect(path).map(OwnedFd::from),
            // A FIFO without a reader is refused instead of waited for.
            Self::Fifo(path) => open_fifo(&path),
            Self::File(file) => file.open().map(OwnedFd::from),
        };
        opened.map_err(|error| error.to_string())
    }
}

/// The FIFO may have been replaced by a file.
fn open_fifo(path: &Path) -> io::Result<OwnedFd> {
    let opened = sys::file::open_to_try_writing(path)?;
    let is_fifo = opened.metadata()?.file_type().is_fifo();
    if is_fifo { Ok(opened.into()) } else { Err(io::Error::other("it is no longer a FIFO")) }
}

fn is_fifo(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

fn shown(target: &StreamTarget) -> String {
    match target {
        StreamTarget::File(path) => path.display().to_string(),
        StreamTarget::Descriptor(number) => format!("fd:{number}"),
        StreamTarget::Socket(path) => format!("unix:{}", path.display()),
    }
}

/// All live outputs of a run.
#[derive(Default)]
pub(crate) struct LiveSinks {
    pub(crate) interval_ms: u32,
    pub(crate) stream: Option<Stream>,
    pub(crate) metrics: Option<Server>,
    pub(crate) screen: bool,
}

impl LiveSinks {
    /// Opens the requested outputs. The error describes the failure.
    pub(crate) fn open(options: &LiveOptions, stream: Option<CheckedStream>) -> Result<Self, String> {
        let metrics = options.metrics.map(|address| {
            let metrics =
                RunMetrics { version: model::version::IMPLEMENTATION_VERSION.to_owned(), ..RunMetrics::default() };
            let server = Server::start(address, metrics);
            server.map_err(|error| format!("cannot serve --metrics at {address}: {error}"))
        });
        let name = options.stream.as_ref().map(shown).unwrap_or_default();
        // Last, because the first line empties an existing file, and nothing may fail after that.
        let metrics = metrics.transpose()?;
        let stream = stream
            .map(|stream| Stream::start(stream.open()?).map_err(|error| error.to_string()))
            .transpose()
            .map_err(|error| format!("cannot write to --live-json '{name}': {error}"))?;
        Ok(Self { interval_ms: options.interval_ms, stream, metrics, screen: options.screen })
    }

    /// True if there are no live outputs.
    pub(crate) fn is_empty(&self) -> bool {
        self.stream.is_none() && self.metrics.is_none() && !self.screen
    }
}
