//! Signals: the first Ctrl+C ends the run gracefully, the second one the program; SIGUSR1 asks for a
//! line of figures.

use signal_hook::consts::signal::SIGXFSZ;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit status after the second signal: 128 + SIGINT, as shells expect.
const KILLED: i32 = 130;

/// Flags that signals set.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The run shall end.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// A line of live results is requested.
    pub(crate) status_asked: Arc<AtomicBool>,
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
        flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&signals.interrupted))?;
        flag::register(signal, Arc::clone(&signals.interrupted))?;
    }
    // A terminal that is closed sends it twice, by the kernel and by the shell; the report shall be written all the same.
    if !sys::signal::is_ignored(SIGHUP)? {
        flag::register(SIGHUP, Arc::clone(&signals.interrupted))?;
    }
    flag::register(SIGUSR1, Arc::clone(&signals.status_asked))?;
    Ok(signals)
}
