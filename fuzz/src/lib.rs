//! Readers of foreign bytes: each function takes any bytes and must not panic.
//!
//! The fuzzer calls them, and a test of `app` with the bytes of the corpus, so they hold whether or not
//! somebody fuzzes.

mod machine;
mod order;
mod readers;
mod trace;

pub use machine::machine;
pub use order::order;
pub use readers::{
    command_line, decoded_result, fio_job, job, page, planned, preset, profile, recording, result, size, subcommand,
    sweep,
};
pub use trace::trace;

/// A reader that is tried.
pub type Target = fn(&[u8]);

/// All, by the names of their corpora and of the programs in `targets`.
pub const TARGETS: [(&str, Target); 16] = [
    ("command_line", command_line),
    ("decoded_result", decoded_result),
    ("fio_job", fio_job),
    ("job", job),
    ("machine", machine),
    ("order", order),
    ("page", page),
    ("planned", planned),
    ("preset", preset),
    ("profile", profile),
    ("recording", recording),
    ("result", result),
    ("size", size),
    ("subcommand", subcommand),
    ("sweep", sweep),
    ("trace", trace),
];
