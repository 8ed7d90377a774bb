//! The file format `.iotrace`: docs/formats/iotrace.md has its fields.
//!
//! Blocks of at most [`BLOCK_EVENTS`] requests, each with a checksum, the names that are new in it, and its requests in
//! columns. Within a block nothing depends on an earlier one but the names, so that a reader may begin at any block of
//! the index, which has all names. The index is at the end; a trace without one was not finished, and can still be read.

mod block;
mod columns;
mod index;
mod reader;
mod varint;
mod writer;

pub use index::{Index, IndexedBlock, read_index};
pub use reader::Reader;
pub use writer::Writer;

pub use model::trace::TRACE_MAGIC as MAGIC;

use crate::event::Device;

/// Version of the format.
pub const VERSION: u16 = 1;

/// Requests of a block at most.
pub const BLOCK_EVENTS: usize = 4096;

/// Bytes of the content of a block, of the header and of the index at most: a damaged length allocates no more.
const CONTENT_BYTES_MAX: u32 = 64 << 20;

/// Tag of a block of requests.
const EVENTS_TAG: [u8; 4] = *b"EVTS";
/// Tag of the index.
const INDEX_TAG: [u8; 4] = *b"INDX";
/// Last bytes of a trace.
const END_MAGIC: [u8; 8] = *b"iotrend\n";
/// Bytes of the end: the place of the index, and [`END_MAGIC`].
const END_BYTES: u64 = 16;

/// Properties of a trace that are known before its first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Time of the first request in nanoseconds since 1970 (UTC), if known.
    pub begin_unix_ns: Option<u64>,
    /// The program that wrote the trace, with its version.
    pub program: String,
    /// Devices that are known; others follow with their first request.
    pub devices: Vec<Device>,
}

/// Reasons for which a trace cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(#[from] std::io::Error),
    /// It begins otherwise.
    #[error("not an .iotrace file: wrong magic number")]
    Magic,
    /// Of a newer program.
    #[error(".iotrace version {0} is not supported (expected: {VERSION})")]
    Version(u16),
    /// The header is damaged.
    #[error("the header is damaged or incomplete")]
    Header,
    /// There is no index.
    #[error("no index at the end: the trace was not finished or is damaged")]
    Index,
}
