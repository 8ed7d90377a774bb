//! `--append`: files that a thread begins anew once they are full.
//!
//! No operation of the thread is under way meanwhile: the file would be truncated below it.

use model::plan::WorkerPlan;
use model::profile::Rotation;
use std::io;
use std::os::fd::OwnedFd;

/// A file that one thread alone appends to.
#[derive(Debug)]
pub(crate) struct Log {
    file: OwnedFd,
    /// Blocks for this many bytes are reserved when it is begun anew.
    reserved_bytes: Option<u64>,
}

impl Log {
    /// Truncates the file to nothing, and reserves its blocks again.
    pub(crate) fn begin_anew(&self) -> io::Result<()> {
        sys::create::empty(&self.file)?;
        self.reserved_bytes.map_or(Ok(()), |bytes| sys::create::reserve(&self.file, bytes))
    }
}

/// The files of a worker that are begun anew when they are full, by the number of the target among its own, whose open
/// targets are `files`; none at all if no target has one.
///
/// # Errors
///
/// The kernel's reason to give no second descriptor.
pub(crate) fn logs(plan: &WorkerPlan, files: &[OwnedFd]) -> io::Result<Box<[Option<Log>]>> {
    if plan.targets.iter().all(|target| target.pattern.empties_file().is_none()) {
        return Ok(Box::default());
    }
    let log = |(target, file): (&model::plan::WorkerTarget, &OwnedFd)| {
        let Some(rotation) = target.pattern.empties_file() else { return Ok(None) };
        let reserved_bytes = (rotation == Rotation::Preallocate).then(|| target.pattern.area().size_bytes);
        Ok(Some(Log { file: file.try_clone()?, reserved_bytes }))
    };
    plan.targets.iter().zip(files).map(log).collect()
}
