//! Ctrl+C: the first one ends the run gracefully, the second one the program.

use signal_hook::consts::signal::SIGXFSZ;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit status after the second signal: 128 + SIGINT, as shells expect.
const KILLED: i32 = 130;

/// Sets a flag at the first SIGINT, SIGTERM or SIGHUP; the second ends the process at once.
///
/// # Errors
///
/// If the kernel takes no handler.
pub(crate) fn watch() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Caught, so that a write above the limit on file sizes (ulimit -f) fails instead of killing us
    // with half a file made.
    flag::register(SIGXFSZ, Arc::default())?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
