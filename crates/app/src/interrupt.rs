//! Signals: the first Ctrl+C ends the run gracefully, the second one the program; SIGUSR1 asks for a
//! line of figures.

use crate::status::{Status, fail};
use signal_hook::consts::signal::SIGXFSZ;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Flags that signals set.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The run shall end.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// The number of the latest of those signals; 0 = none.
    received: Arc<AtomicUsize>,
    /// A line of live results is requested.
    pub(crate) status_asked: Arc<AtomicBool>,
}

impl Signals {
    /// A signal sets the flag, and is kept.
    fn end_on(&self, signal: i32) -> io::Result<()> {
        flag::register_usize(signal, Arc::clone(&self.received), signal as usize)?;
        flag::register(signal, Arc::clone(&self.interrupted)).map(drop)
    }

    /// The status of what ended before anything was measured; `None` if it was no signal that ended it.
    pub(crate) fn status_without_results(&self) -> Option<Status> {
        let signal = self.received.load(Relaxed);
        (signal > 0).then_some(Status::Signal(signal as u8))
    }
}

/// Sets a flag at the first SIGINT, SIGTERM or SIGHUP; a SIGINT or SIGTERM after that ends the process at once.
/// SIGUSR1 sets another. A SIGHUP that is ignored stays so: that is what `nohup` is for.
///
/// # Errors
///
/// If the kernel takes no handler.
pub(crate) fn watch() -> io::Result<Signals> {
    let signals = Signals::default();
    // Caught, so that a write above the limit on file sizes (ulimit -f) fails instead of killing us
    // with half a file made.
    flag::register(SIGXFSZ, Arc::default())?;
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first one set.
        let status = i32::from(Status::Signal(signal as u8).code());
        flag::register_conditional_shutdown(signal, status, Arc::clone(&signals.interrupted))?;
        signals.end_on(signal)?;
    }
    // A terminal that is closed sends it twice, by the kernel and by the shell; the report shall be written all the same.
    if !sys::signal::is_ignored(SIGHUP)? {
        signals.end_on(SIGHUP)?;
    }
    flag::register(SIGUSR1, Arc::clone(&signals.status_asked))?;
    Ok(signals)
}

/// As [`watch`], with sleeps that signals end; says why if it cannot be.
pub(crate) fn watch_for_load() -> Result<Signals, Status> {
    let signals = sys::thread::prepare_wake().and_then(|()| watch());
    signals.map_err(|error| fail(&format!("cannot handle signals: {error}")))
}
