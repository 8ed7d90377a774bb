//! The logs of a run with `--verify` and `--journal`: for each thread, which changes and flushes began and how they ended.
//!
//! A thread stores its records in memory that it shares with the file of its log. A thread of their own makes room ahead
//! of them and makes them durable, so that no worker waits for the storage of the logs.

use crate::journal::{self, Journal};
use crate::phase::Stop;
use model::plan::{TimeSpanPlan, WorkerTarget};
use model::profile::FlushMode;
use std::fs::File;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::file_identity::{self, FileState};
use sys::folder::Folder;
use sys::word_log::{self, LogExtender, LogWriter};
use verify::log::{self, Change, Encoder, Flush, Kind, LoggedTarget, RUN_FILE_NAME, RunFile};
use verify::saved::SavedTarget;

/// How often room is made.
const EXTEND: Duration = Duration::from_millis(5);

/// How often records are made durable: each time that room was made this many times.
const SYNC_TIMES: u32 = 20;

/// The logs of a timespan.
#[derive(Debug)]
pub(crate) struct RunLog {
    folder: Folder,
    /// Of the directory.
    path: PathBuf,
    /// By thread; taken by the threads.
    writers: Mutex<Vec<Option<ThreadLog>>>,
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Nothing was written yet that the logs are needed for.
    is_unused: AtomicBool,
    /// Locked, so that others see that the run goes on.
    _run_file: File,
}

/// Files that were just made, which are removed if not all can be.
struct Unfinished<'a> {
    folder: &'a Folder,
    names: Vec<(String, FileState)>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        for (name, state) in &self.names {
            // Whatever is left is recognised and replaced later, but for what has no head yet.
            let _ = self.folder.remove(name.as_ref(), state);
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    error: Mutex<Option<String>>,
}

/// The log of one thread.
#[derive(Debug)]
pub(crate) struct ThreadLog {
    writer: LogWriter,
    encoder: Encoder,
    has_ended: bool,
}

impl RunLog {
    /// Makes the logs in a directory, in place of those of an earlier run, and what was done to the targets so far durable.
    ///
    /// # Errors
    ///
    /// A sentence for the user.
    pub(crate) fn begin(journal: Journal<'_>, run: &RunFile, stop: &Arc<Stop>) -> Result<Self, String> {
        let Journal { folder, path, .. } = journal;
        let error = |what: &str, error: io::Error| format!("{what} '{}' (--journal): {error}", path.display());
        if journal::is_in_use(folder).map_err(|reason| error("cannot check", reason))? {
            return Err(format!("another run writes its logs to '{}' (--journal)", path.display()));
        }
        journal::remove_logs(folder).map_err(|reason| error("cannot remove the logs of the last run in", reason))?;
        let cannot_make = |reason| error("cannot make the logs in", reason);
        let mut unfinished = Unfinished { folder, names: Vec::new() };
        let mut create = |name: &str| {
            let file = folder.create_new(name.as_ref())?;
            unfinished.names.push((name.to_owned(), file_identity::state(&file)?));
            io::Result::Ok(file)
        };
        let (mut writers, mut extenders) = (Vec::new(), Vec::new());
        for thread in 0..run.threads {
            let file = create(&log::log_name(thread)).map_err(cannot_make)?;
            let (writer, extender) = word_log::create(file, &log::head(run.run, thread)).map_err(cannot_make)?;
            extender.sync().map_err(cannot_make)?;
            writers.push(Some(ThreadLog { writer, encoder: Encoder::new(run.run, thread), has_ended: false }));
            extenders.push(extender);
        }
        let mut run_file = create(RUN_FILE_NAME).map_err(cannot_make)?;
        run_file.lock().map_err(cannot_make)?;
        run_file.write_all(&run.to_bytes()).and_then(|()| run_file.sync_all()).map_err(cannot_make)?;
        folder.sync().map_err(cannot_make)?;
        let shared: Arc<Shared> = Arc::default();
        let keep = {
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(stop));
            move || keep(extenders, &shared, &stop)
        };
        let own_folder = folder.try_clone().map_err(cannot_make)?;
        let keeper = std::thread::Builder::new().name("journal".to_owned()).spawn(keep).map_err(cannot_make)?;
        unfinished.names.clear();
        Ok(Self {
            folder: own_folder,
            path: path.to_owned(),
            writers: Mutex::new(writers),
            shared,
            keeper: Mutex::new(Some(keeper)),
            is_unused: AtomicBool::new(true),
            _run_file: run_file,
        })
    }

    /// The log of a thread, once.
    pub(crate) fn take(&self, thread: u32) -> Option<ThreadLog> {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.get_mut(thread as usize).and_then(Option::take)
    }

    /// The load begins: from now on the logs stay, until the run has ended well.
    pub(crate) fn keep(&self) {
        self.is_unused.store(false, SeqCst);
    }

    /// Nothing more is logged. Why something could not be.
    pub(crate) fn end(&self) -> Option<String> {
        self.shared.is_over.store(true, SeqCst);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.thread().unpark();
            // A panic was already printed.
            let _ = keeper.join();
        }
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        error.map(|error| format!("cannot write the logs in '{}' (--journal): {error}", self.path.display()))
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        self.end();
        if self.is_unused.load(SeqCst) {
            // Whatever is left is recognised and replaced later.
            let _ = journal::remove_logs(&self.folder);
        }
    }
}

/// Makes room in logs and makes them durable, until the run is over.
fn keep(mut extenders: Vec<LogExtender>, shared: &Shared, stop: &Stop) {
    let mut times = 0;
    loop {
        let is_over = shared.is_over.load(SeqCst);
        times += 1;
        let syncs = is_over || times % SYNC_TIMES == 0;
        for extender in &mut extenders {
            let extended = if is_over { Ok(()) } else { extender.extend() };
            let done = extended.and_then(|()| if syncs { extender.sync() } else { Ok(()) });
            let done = done.and_then(|()| if extender.is_broken() { Err(broken()) } else { Ok(()) });
            if let Err(error) = done {
                // Best effort: the file itself may be what fails.
                let _ = extender.mark_incomplete();
                let mut kept = shared.error.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.is_none() {
                    *kept = Some(error.to_string());
                    stop.fail(sys::clock::monotonic_ns());
                }
            }
        }
        if is_over {
            return;
        }
        std::thread::park_timeout(EXTEND);
    }
}

fn broken() -> io::Error {
    io::Error::other("a log was truncated, or its storage failed")
}

impl ThreadLog {
    /// A change is about to be submitted.
    #[inline]
    pub(crate) fn begin(&mut self, request: u32, change: &Change) {
        self.push(&self.encoder.begin(request, change));
    }

    /// A change came back; `count` was read after that, `None` if it failed.
    #[inline]
    pub(crate) fn end(&mut self, request: u32, ticket: u64, count: Option<u64>) {
        self.push(&[self.encoder.end(request, ticket, count)]);
    }

    /// A flush is about to be submitted.
    pub(crate) fn begin_flush(&mut self, flush: &Flush) {
        self.push(&self.encoder.begin_flush(flush));
    }

    /// The flush came back.
    pub(crate) fn end_flush(&mut self, is_durable: bool) {
        self.push(&[self.encoder.end_flush(is_durable)]);
    }

    /// A file is about to be emptied.
    pub(crate) fn begin_emptying(&mut self, flush: &Flush) {
        self.push(&self.encoder.begin_emptying(flush));
    }

    #[inline]
    fn push(&mut self, words: &[u64]) {
        if !self.writer.push(words) {
            self.wait_and_push(words);
        }
    }

    /// The storage of the logs is slower than the load.
    #[cold]
    fn wait_and_push(&mut self, words: &[u64]) {
        while !self.has_ended && !self.writer.push(words) {
            if self.writer.is_broken() {
                self.writer.push_last(self.encoder.ends_early());
                self.has_ended = true;
                return;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// The work of all threads on a distinct target; `same` has the number of the distinct one for each target.
pub(crate) fn works<'a>(
    plan: &'a TimeSpanPlan,
    same: &'a [u32],
    number: u32,
) -> impl Iterator<Item = &'a WorkerTarget> {
    let all = plan.workers.iter().flat_map(|worker| &worker.targets);
    all.filter(move |work| same[work.target] == number)
}

/// True if a distinct target is discarded, zeroed or emptied in part.
pub(crate) fn is_erased(plan: &TimeSpanPlan, same: &[u32], number: u32) -> bool {
    works(plan, same, number).any(|work| work.changes_without_data() || work.pattern.empties_file().is_some())
}

/// The targets of a plan as the logs list them; `saved` are the distinct ones by their numbers.
pub(crate) fn logged_targets(plan: &TimeSpanPlan, saved: Vec<SavedTarget>, same: &[u32]) -> Vec<LoggedTarget> {
    let logged = |target: SavedTarget| {
        let paths = plan.targets.iter().zip(same).filter(|(_, number)| **number == target.target);
        LoggedTarget {
            is_erased: is_erased(plan, same, target.target),
            discards_to_zeros: target.identity.0 != 0,
            is_direct: paths.map(|(target, _)| target).all(|target| target.open.direct && keeps_sectors(&target.path)),
            target,
        }
    };
    saved.into_iter().map(logged).collect()
}

/// True if direct I/O is never made through the page cache, where parts of sectors may be replaced while they are
/// written.
fn keeps_sectors(path: &Path) -> bool {
    const EXT: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    const F2FS: u64 = 0xF2F5_2010;
    let Ok(file) = sys::file::open_to_look(path) else { return false };
    let is_device = file.metadata().is_ok_and(|found| found.file_type().is_block_device());
    is_device || sys::file::file_system(&file).is_ok_and(|found| [EXT, XFS, F2FS].contains(&found.magic))
}

/// The kind of a thread's writes to a target: durable once they have completed, or once a flush has.
pub(crate) fn kind_of_writes(plan: &TimeSpanPlan, work: &WorkerTarget) -> Kind {
    let is_through = match work.mapped {
        Some(mapped) => mapped.flush == Some(FlushMode::ViewOfFile) && !mapped.non_temporal,
        None => plan.targets[work.target].open.write_through,
    };
    if is_through { Kind::WriteThrough } else { Kind::Write }
}

/// Makes a target durable as it is, with its name.
pub(crate) fn sync_target(path: &Path) -> Result<(), String> {
    let error = |error| format!("cannot flush '{}' (--journal): {error}", path.display());
    let file = sys::file::open_to_look(path).map_err(error)?;
    file.sync_all().map_err(error)?;
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    if let Some(folder) = folder.filter(|_| file.metadata().is_ok_and(|found| found.is_file())) {
        // Its name may be another one's to keep, as on a file system of the network.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}
