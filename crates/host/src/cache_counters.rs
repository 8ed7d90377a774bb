//! What caches below file systems count themselves.

use crate::block::place;
use crate::root::Root;
use model::kernel_counters::{CacheCounters, ZFS_CACHE};
use std::collections::BTreeMap;
use std::path::Path;

/// Counters of ZFS's cache, where the module is loaded.
const ARC: &str = "/proc/spl/kstat/zfs/arcstats";

/// Those of ZFS, and of `devices` that are caches.
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

/// The lines `name type value` of data, without those of metadata. What is read ahead comes from the disks
/// too, and is a hit when it is asked for.
fn arc(text: &str) -> Option<CacheCounters> {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        line.split_whitespace().nth(2)?.parse::<u64>().ok()
    };
    let ahead = value("prefetch_data_misses").unwrap_or(0);
    Some(CacheCounters {
        read_hits: value("demand_data_hits")?,
        read_misses: value("demand_data_misses")?.saturating_add(ahead),
    })
}

/// Of reads alone, those past the cache not included.
fn bcache(root: &Root, directory: &Path) -> Option<CacheCounters> {
    let number = |file: &str| root.number(directory.join("bcache/stats_total").join(file));
    Some(CacheCounters { read_hits: number("cache_hits")?, read_misses: number("cache_misses")? })
}

fn dm_cache(root: &Root, directory: &Path) -> Option<CacheCounters> {
    let number = place::number(root, directory)?;
    let status = sys::device_mapper::status(number.major, number.minor).ok()?;
    status.iter().find(|target| target.kind == "cache").and_then(|target| dm_cache_status(&target.parameters))
}

/// The state of a `cache` target: sizes of metadata, a pair of used and all; the same of the cache; then
/// hits and misses of reads (Documentation/admin-guide/device-mapper/cache.rst). It is but a word where the
/// cache has failed.
fn dm_cache_status(parameters: &str) -> Option<CacheCounters> {
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse().ok();
    Some(CacheCounters { read_hits: number(4)?, read_misses: number(5)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_dm_cache_has_hits_and_misses() {
        let status = "8 72/1024 128 4521/81920 2301 977 115 88 0 4521 31 1 writethrough 2 migration_threshold 2048 \
                      smq 0 rw - ";
        assert_eq!(dm_cache_status(status), Some(CacheCounters { read_hits: 2301, read_misses: 977 }));
        for status in ["Fail", "Error", "", "8 72/1024 128 4521/81920 2301"] {
            assert_eq!(dm_cache_status(status), None, "{status:?}");
        }
    }
}
