//! Latencies as the block layer sees them: two programs in the kernel time each request from its issue to its
//! completion and count it in a bucket, by disk and direction.
//!
//! A request is identified by its disk and first sector. Of two with the same that are in flight at once, which only
//! reads of one place can be, the later one counts.

mod program;
mod text;

pub use text::table;

use host::{Root, tracepoint};
use std::collections::BTreeMap;
use std::io;
use sys::bpf::{Attached, HashTable, attach};

/// Requests in flight at a time that are tracked.
const REQUESTS_MAX: u32 = 65_536;
/// Pairs of a disk and a bucket with any requests.
const BUCKETS_MAX: u32 = 65_536;

/// Both keys are two words of 32 bits and more: disk and sector, disk and bucket.
const REQUEST_KEY_BYTES: usize = 16;
const BUCKET_KEY_BYTES: usize = 8;

/// Requests in each bucket, by the bucket's number.
pub type Counts = BTreeMap<u32, u64>;

/// Requests of one disk since the watch began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskLatencies {
    /// Reads.
    pub reads: Counts,
    /// Writes.
    pub writes: Counts,
}

impl DiskLatencies {
    /// Requests since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = |now: &Counts, before: &Counts| -> Counts {
            let since = |(&bucket, &count): (&u32, &u64)| {
                (bucket, count.saturating_sub(before.get(&bucket).copied().unwrap_or(0)))
            };
            now.iter().map(since).filter(|&(_, count)| count > 0).collect()
        };
        Self { reads: difference(&self.reads, &before.reads), writes: difference(&self.writes, &before.writes) }
    }
}

/// The attached programs.
#[derive(Debug)]
pub struct BlockLatencyWatch {
    _programs: [Attached; 2],
    _requests: HashTable<REQUEST_KEY_BYTES>,
    buckets: HashTable<BUCKET_KEY_BYTES>,
}

impl BlockLatencyWatch {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// A sentence that names the missing privilege or feature.
    pub fn begin(root: &Root) -> Result<Self, String> {
        let (issue, complete) =
            (tracepoint(root, "block/block_rq_issue")?, tracepoint(root, "block/block_rq_complete")?);
        sys::limits::lift_lock_limit();
        let requests = HashTable::create(REQUESTS_MAX).map_err(|error| refused(&error))?;
        let buckets = HashTable::create(BUCKETS_MAX).map_err(|error| refused(&error))?;
        let begin = program::at_issue(&issue, requests.number())?;
        let end = program::at_completion(&complete, requests.number(), buckets.number())?;
        // The later end first: a request whose issue was not seen is skipped.
        let end = attach(&end, complete.id).map_err(|error| refused(&error))?;
        let begin = attach(&begin, issue.id).map_err(|error| refused(&error))?;
        Ok(Self { _programs: [begin, end], _requests: requests, buckets })
    }

    /// Requests since the watch began, by the disks' numbers: major, minor.
    ///
    /// # Errors
    ///
    /// Those of bpf(2).
    pub fn read(&self) -> io::Result<BTreeMap<(u32, u32), DiskLatencies>> {
        let mut disks: BTreeMap<(u32, u32), DiskLatencies> = BTreeMap::new();
        for (key, count) in self.buckets.entries()? {
            let word = |at: usize| u32::from_ne_bytes([key[at], key[at + 1], key[at + 2], key[at + 3]]);
            let (number, bucket) = (program::disk(word(0)), word(4));
            let disk = disks.entry(number).or_default();
            let side = if program::is_write(bucket) { &mut disk.writes } else { &mut disk.reads };
            side.insert(program::bucket(bucket), count);
        }
        Ok(disks)
    }
}

pub(crate) fn refused(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("cannot attach eBPF programs to tracepoints: {error} (needs root, or CAP_BPF and CAP_PERFMON)")
        }
        _ => format!("the kernel refused the eBPF programs for its tracepoints: {error}"),
    }
}

/// The largest latency of a bucket in nanoseconds. Four buckets have the width of a power of two together, so each is at
/// most a quarter wider than the one before; the smallest is below 8 ns.
pub const fn upper_edge_ns(bucket: u32) -> u64 {
    let (power, quarter) = (bucket / 4, bucket % 4);
    if power < 2 {
        return 3;
    }
    if power >= 63 && quarter == 3 {
        return u64::MAX;
    }
    (1u64 << power) + ((quarter as u64 + 1) << (power - 2)) - 1
}

/// The smallest latency of a bucket in nanoseconds.
pub const fn lower_edge_ns(bucket: u32) -> u64 {
    if bucket <= 8 { 0 } else { upper_edge_ns(bucket - 1) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range_without_gaps() {
        assert_eq!((lower_edge_ns(8), upper_edge_ns(8)), (0, 4));
        for bucket in 9..256 {
            assert_eq!(lower_edge_ns(bucket), upper_edge_ns(bucket - 1) + 1, "at {bucket}");
            assert!(upper_edge_ns(bucket) > lower_edge_ns(bucket) || bucket < 12, "at {bucket}");
        }
        assert_eq!(upper_edge_ns(255), u64::MAX);
    }

    #[test]
    fn what_is_missing_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = BlockLatencyWatch::begin(&Root::recorded(folder.path())).expect_err("there is no tracefs");
        assert!(missing.contains("mount -t tracefs"), "{missing}");
        assert!(refused(&io::Error::from_raw_os_error(1)).contains("CAP_BPF"));
    }

    #[test]
    fn the_kernel_takes_the_programs_where_it_may() {
        match BlockLatencyWatch::begin(&Root::machine()) {
            Ok(watch) => drop(watch.read().expect("the table can be read")),
            Err(reason) => testkit::skip!("no eBPF here: {reason}"),
        }
    }
}
