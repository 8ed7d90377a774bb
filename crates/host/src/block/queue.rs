//! Request queue of a block device.

use super::interrupts;
use crate::root::Root;
use crate::syntax::bracketed;
use model::block_device::{Queue, WriteCache};
use std::path::Path;

/// The queue of the device at `directory`; a partition has none of its own.
pub(crate) fn read(root: &Root, directory: &Path) -> Queue {
    let at = |file: &str| directory.join("queue").join(file);
    let number = |file: &str| root.number(at(file));
    let from_kib = |file: &str| number(file).and_then(|kib| kib.checked_mul(1024));
    let is_missing = |count: &u32| *count == 0;
    let hardware_queues = root.numbered(directory.join("mq"), "").len();
    Queue {
        rotational: root.switch(at("rotational")),
        scheduler: root.word(at("scheduler")).and_then(|names| bracketed(&names).map(str::to_owned)),
        request_count_max: number("nr_requests"),
        device_depth: device_depth(root, directory),
        hardware_queue_count: Some(hardware_queues as u32).filter(|count| !is_missing(count)),
        interrupt_cpus: interrupts::cpus(root, directory, hardware_queues),
        write_cache: root.word(at("write_cache")).and_then(|words| write_cache(&words)),
        fua: root.switch(at("fua")),
        logical_sector_bytes: root.small_number(at("logical_block_size")),
        physical_sector_bytes: root.small_number(at("physical_block_size")),
        io_bytes_min: number("minimum_io_size"),
        io_bytes_optimal: number("optimal_io_size"),
        io_bytes_max: from_kib("max_sectors_kb"),
        read_ahead_bytes: from_kib("read_ahead_kb"),
        write_throttle_latency_us: number("wbt_lat_usec"),
        discard_bytes_max: number("discard_max_bytes"),
        discard_granularity_bytes: number("discard_granularity"),
        write_zeroes_bytes_max: number("write_zeroes_max_bytes"),
        zoned: root.word(at("zoned")),
    }
}

/// SCSI reports it; an `NVMe` controller numbers the entries of its queues from 0.
fn device_depth(root: &Root, directory: &Path) -> Option<u64> {
    let device = directory.join("device");
    root.number(device.join("queue_depth"))
        .or_else(|| root.number(device.join("sqsize")).and_then(|last| last.checked_add(1)))
}

fn write_cache(words: &str) -> Option<WriteCache> {
    [WriteCache::WriteBack, WriteCache::WriteThrough].into_iter().find(|cache| cache.words() == words)
}
