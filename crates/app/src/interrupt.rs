//! Signals: the first Ctrl+C ends the run gracefully, the second one the program; SIGUSR1 requests a status line.

use crate::status::{Status, fail};
use signal_hook::consts::signal::SIGXFSZ;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::low_level::signal_name;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, LazyLock};

/// The number of the latest signal that ends a run; 0 = none.
static RECEIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The cause of an interruption: Ctrl+C, in DiskSpd's wording, or the name of another signal.
pub(crate) fn cause() -> &'static str {
    let signal = i32::try_from(RECEIVED.load(Relaxed)).unwrap_or(SIGINT);
    if signal == SIGINT { CTRL_C } else { signal_name(signal).unwrap_or(CTRL_C) }
}

const CTRL_C: &str = "Ctrl-C";

/// The exit status if a signal ended the program before anything was measured; `None` without a signal.
pub(crate) fn status_without_results() -> Option<Status> {
    let signal = RECEIVED.load(Relaxed);
    (signal > 0).then_some(Status::Signal(signal as u8))
}

/// Flags that signals set.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The run shall end.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// A line of live results is requested.
    pub(crate) status_asked: Arc<AtomicBool>,
}

impl Signals {
    /// Registers a signal that sets the flag and is remembered.
    fn end_on(&self, signal: i32) -> io::Result<()> {
        flag::register_usize(signal, Arc::clone(&RECEIVED), signal as usize)?;
        flag::register(signal, Arc::clone(&self.interrupted)).map(drop)
    }
}

/// Sets a flag at the first SIGINT, SIGTERM or SIGHUP; a SIGINT or SIGTERM after that ends the process at once. SIGUSR1
/// sets another. A SIGHUP that is ignored remains ignored, as `nohup` requires.
///
/// # Errors
///
/// If the kernel rejects the handler.
pub(crate) fn watch() -> io::Result<Signals> {
    let signals = Signals::default();
    // Caught, so that a write above the limit on file sizes (ulimit -f) fails instead of killing the process with a
    // file half created.
    flag::register(SIGXFSZ, Arc::default())?;
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first one set.
        let status = i32::from(Status::Signal(signal as u8).code());
        flag::register_conditional_shutdown(signal, status, Arc::clone(&signals.interrupted))?;
        signals.end_on(signal)?;
    }
    // A closed terminal sends it twice, through the kernel and the shell; the report must be written all the same.
    if !sys::signal::is_ignored(SIGHUP)? {
        signals.end_on(SIGHUP)?;
    }
    flag::register(SIGUSR1, Arc::clone(&signals.status_asked))?;
    Ok(signals)
}

/// As [`watch`], with sleeps that signals interrupt; prints the error if that fails.
pub(crate) fn watch_for_load() -> Result<Signals, Status> {
    let signals = sys::thread::prepare_wake().and_then(|()| watch());
    signals.map_err(|error| fail(&format!("cannot handle signals: {error}")))
}
