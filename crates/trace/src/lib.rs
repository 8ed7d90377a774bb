//! Traces of block I/O: what an application asked of its disks, request by request.
//!
//! `readers` turn traces of other tools into [`event::Event`]s in order of their issue, [`mod@format`] is the program's own
//! file format, [`summary`] computes the figures of a trace, [`fit`] finds the load of this program that comes closest,
//! and [`replay`] gives the requests to be issued again.
//! All of them stream: memory does not grow with the length of a trace, unless a comment names the bound.
//!
//! Pure: bytes come in through `Read`, go out through `Write`. Damage is data, never an error: a trace is used up to it.

pub mod account;
pub mod event;
pub mod figures;
pub mod fit;
pub mod format;
mod job;
pub mod readers;
pub mod reorder;
pub mod replay;
pub mod simulate;
pub mod summary;
