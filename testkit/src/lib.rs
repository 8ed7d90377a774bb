//! A hermetic environment for tests that drive the built program: a separate directory, cleared environment, captured
//! streams, a time limit on every program.
//!
//! ```text
//! let place = testkit::workplace!();
//! let run = place.diskspd("-c1M -d1 -W0 new.dat").run();
//! run.expect_status(0);
//! ```
//!
//! Tests that a machine cannot run are skipped with a reason that cargo shows: [`skip!`].

#![allow(clippy::missing_panics_doc)] // In a test, to panic is to fail.
#![allow(clippy::must_use_candidate)]

mod block_server;
mod coarse_times;
mod confined;
mod corrupt_data;
mod corrupting;
mod device_write;
mod faulty;
mod figures;
mod file_write;
mod fuse;
mod holder;
mod huge_pages;
mod kernel_log;
mod machine;
mod metronome;
mod process;
mod random;
mod service;
mod snapshot;
mod trace;
mod volatile;
mod volatile_disk;
mod workplace;

pub use block_server::BlockServer;
pub use coarse_times::{CoarseTimes, Renames};
pub use confined::{Argument, Cgroup, Denied, io_uring};
pub use corrupt_data::{Corruption, Injected, Occasion, SECTOR_BYTES, WrongSector};
pub use corrupting::Corrupting;
pub use faulty::{Call, Faulty, IoRange, SlowRead};
pub use figures::{Report, Row, Table};
pub use holder::Holder;
pub use huge_pages::HugePages;
pub use kernel_log::KernelLog;
pub use machine::{
    LoopDevice, Mounted, Partition, Swap, Zram, claimed, is_root, memory_events, nobody_can_run, processes_of, tool,
    unless_swapping,
};
pub use metronome::{Metronome, unless_paused};
pub use process::{Finished, KernelIo, OpenMode, Program, Running, no_child, spawned};
pub use random::Random;
pub use service::Service;
pub use snapshot::Snapshot;
pub use trace::TracedIo;
pub use volatile::Volatile;
pub use volatile_disk::{AfterCut, Flushing};
pub use workplace::Workplace;

use std::fmt;
use std::io::Write;

/// A separate [`Workplace`] for the program of the crate under test.
#[macro_export]
macro_rules! workplace {
    () => {
        $crate::Workplace::new(env!("CARGO_BIN_EXE_diskspd"), env!("CARGO_TARGET_TMPDIR"))
    };
}

/// Ends a test that this machine cannot run, and prints the reason.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => {{
        $crate::say_skipped(format_args!($($reason)*));
        return;
    }};
}

/// The value, or the test is skipped with the error as the reason.
#[macro_export]
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(reason) => $crate::skip!("{reason}"),
        }
    };
}

/// Reports that the current test was skipped, past the capture of passing tests' output.
pub fn say_skipped(reason: fmt::Arguments<'_>) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // `eprintln!` would be captured; a lost line does not fail the test. One write: parts would mix with those of others.
    let line = format!("SKIPPED {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
