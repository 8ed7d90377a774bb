//! Counters of caches below file systems.

use crate::block::place;
use crate::root::Root;
use model::kernel_counters::{CacheCounters, ZFS_CACHE};
use std::collections::BTreeMap;
use std::path::Path;

/// Counters of ZFS's cache, where the module is loaded.
const ARC: &str = "/proc/spl/kstat/zfs/arcstats";

/// Counters of ZFS, and of those `devices` that are caches.
pub(crate) fn read<'a>(root: &Root, devices: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, CacheCounters> {
    let zfs = root.text(ARC).and_then(|text| arc(&text)).map(|counters| (ZFS_CACHE.to_owned(), counters));
    let of_device = |name: &str| {
        let directory = place::directory(root, name)?;
        let counters = match name {
            name if name.starts_with("bcache") => bcache(root, &directory),
            name if name.starts_with("dm-") => dm_cache(root, &directory),
            _ => None,
        };
        Some((name.to_owned(), counters?))
    };
    zfs.into_iter().chain(devices.into_iter().filter_map(of_device)).collect()
}

/// The lines `name type value` of data, without those of metadata. Prefetched data comes from the disks too, and is a
/// hit when it is demanded.
fn arc(text: &str) -> Option<CacheCounters> {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        line.split_whitespace().nth(2)?.parse::<u64>().ok()
    };
    let ahead = value("prefetch_data_misses").unwrap_or(0);
    Some(CacheCounters {
        read_hits: value("demand_data_hits")?,
        read_misses: value("demand_data_misses")?.saturating_add(ahead),
        ..CacheCounters::default()
    })
}

/// Counters of reads only.
fn bcache(root: &Root, directory: &Path) -> Option<CacheCounters> {
    let number = |file: &str| root.number(directory.join("bcache/stats_total").join(file));
    let bypassed = number("cache_bypass_hits").zip(number("cache_bypass_misses"));
    Some(CacheCounters {
        read_hits: number("cache_hits")?,
        read_misses: number("cache_misses")?,
        bypassed_reads: bypassed.map(|(hits, misses)| hits.saturating_add(misses)),
        ..CacheCounters::default()
    })
}

fn dm_cache(root: &Root, directory: &Path) -> Option<CacheCounters> {
    let number = place::number(root, directory)?;
    let status = sys::device_mapper::status(number.major, number.minor).ok()?;
    status.iter().find_map(|target| match target.kind.as_str() {
        "cache" => dm_cache_status(&target.parameters),
        "writecache" => dm_writecache_status(&target.parameters),
        _ => None,
    })
}

/// The status of a `cache` target: sizes of metadata, a pair of used and all; the same of the cache; then hits and
/// misses of reads, and of writes (Documentation/admin-guide/device-mapper/cache.rst). It is a single word if the cache
/// has failed.
fn dm_cache_status(parameters: &str) -> Option<CacheCounters> {
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse().ok();
    Some(CacheCounters {
        read_hits: number(4)?,
        read_misses: number(5)?,
        write_hits: number(6),
        write_misses: number(7),
        bypassed_reads: None,
    })
}

/// The status of a `writecache` target, from Linux 5.15: errors and three numbers of blocks; then the blocks read, and
/// those of them that were cached (Documentation/admin-guide/device-mapper/writecache.rst).
fn dm_writecache_status(parameters: &str) -> Option<CacheCounters> {
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let read_hits = number(5)?;
    Some(CacheCounters { read_hits, read_misses: number(4)?.saturating_sub(read_hits), ..CacheCounters::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_dm_cache_has_hits_and_misses() {
        let status = "8 72/1024 128 4521/81920 2301 977 115 88 0 4521 31 1 writethrough 2 migration_threshold 2048 \
                      smq 0 rw - ";
        let counted = CacheCounters {
            read_hits: 2301,
            read_misses: 977,
            write_hits: Some(115),
            write_misses: Some(88),
            bypassed_reads: None,
        };
        assert_eq!(dm_cache_status(status), Some(counted));
        for status in ["Fail", "Error", "", "8 72/1024 128 4521/81920 2301"] {
            assert_eq!(dm_cache_status(status), None, "{status:?}");
        }
    }

    #[test]
    fn the_state_of_a_dm_writecache_has_hits_since_linux_5_15() {
        let counted = CacheCounters { read_hits: 300, read_misses: 700, ..CacheCounters::default() };
        assert_eq!(dm_writecache_status("0 4000 3000 0 1000 300 50 1 2 3 47 0 9 0"), Some(counted));
        assert_eq!(dm_writecache_status("0 4000 3000 0"), None);
    }
}
