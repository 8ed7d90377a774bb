//! Names of subcommands, which distinguish such a command line from one that starts a run.

use std::ffi::OsStr;

/// The names, in the order of help.
pub const NAMES: &[&str] = &[
    "run",
    "check",
    "import",
    "preset",
    "sweep",
    "repeat",
    "ab",
    "interference",
    "compare",
    "gate",
    "history",
    "report",
    "monitor",
    "trace",
    "devices",
    "verify",
    "explain",
    "agent",
    "fleet",
];

/// The subcommand with exactly this name; a file of that name is written `./name`.
pub fn find(name: &OsStr) -> Option<&'static str> {
    NAMES.iter().copied().find(|known| name == *known)
}
