//! Every raw system call, ioctl, mapping and clock read of diskspd, each behind a safe function.
//!
//! Nothing here interprets a profile or decides anything; errors are `std::io::Error` and the caller interprets them.
//! `unsafe` lives here and in `engine` only.

pub mod aio_probe;
pub mod block;
pub mod bpf;
pub mod btrfs;
pub mod cache_lines;
pub mod child;
pub mod clock;
pub mod confinement;
pub mod cpu_latency;
pub mod create;
pub mod descriptor;
pub mod device_mapper;
pub mod direct_io;
pub mod event;
pub mod extents;
pub mod file;
pub mod file_identity;
pub mod file_mapping;
pub mod folder;
pub mod futex;
pub mod io_uring_probe;
pub mod lease;
pub mod limits;
pub mod machine_clock;
pub mod mapping;
pub mod new_file;
pub mod nvme;
pub mod page_cache;
pub mod readiness;
pub mod rw_flags;
pub mod signal;
pub mod terminal;
pub mod thread;
pub mod word_log;
pub mod xattr;
