//! `--version`: the program, how it was built, and what of the kernel it can use here.

use crate::feature;
use host::Root;
use model::facts::IoUring;
use std::fmt::Write as _;

/// What is printed.
pub(crate) fn text() -> String {
    let mut text = cli::help::version();
    let (commit, profile, target) = (env!("DISKSPD_COMMIT"), env!("DISKSPD_PROFILE"), env!("DISKSPD_TARGET"));
    let _ = writeln!(text, "commit: {commit}");
    let lacks = feature::absent().map_or_else(String::new, |names| format!(", without {names}"));
    let _ = writeln!(text, "build:  {profile}, {target}{lacks}");
    let system = host::system(&Root::machine());
    let release = if system.kernel_release.is_empty() { "unknown release" } else { &system.kernel_release };
    let _ = writeln!(text, "kernel: {release}");
    let rings = match &system.io_uring {
        IoUring::Available => "yes".to_owned(),
        IoUring::Unavailable { cause } => format!("no: {cause}"),
    };
    let aio = match sys::aio_probe::probe() {
        Ok(()) => "yes".to_owned(),
        Err(error) => format!("no: io_setup: {error}"),
    };
    let write_back = if system.cache_line_write_back { "yes" } else { "no" };
    for (feature, found) in
        [("io_uring", rings.as_str()), ("Linux AIO", &aio), ("write-back of cache lines (-Nn, -Ni)", write_back)]
    {
        let _ = writeln!(text, "        {feature}: {found}");
    }
    text
}
