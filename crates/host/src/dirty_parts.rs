//! What the page cache still has to write of files and devices.

use model::kernel_counters::DirtyMemory;
use std::ops::Range;
use std::path::Path;

/// That of parts of what is at these paths, all together. `None` if there are none, or the kernel does not
/// tell it of each.
pub fn dirty_parts<'a>(parts: impl IntoIterator<Item = (&'a Path, Range<u64>)>) -> Option<DirtyMemory> {
    let dirty = |(path, part): (&Path, Range<u64>)| {
        let file = sys::file::open_to_look(path).ok()?;
        let unwritten = sys::page_cache::unwritten(&file, &part).ok()?;
        Some(DirtyMemory { dirty_bytes: unwritten.dirty_bytes, writeback_bytes: unwritten.writeback_bytes })
    };
    let parts: Vec<DirtyMemory> = parts.into_iter().map(dirty).collect::<Option<_>>()?;
    parts.into_iter().reduce(|a, b| DirtyMemory {
        dirty_bytes: a.dirty_bytes.saturating_add(b.dirty_bytes),
        writeback_bytes: a.writeback_bytes.saturating_add(b.writeback_bytes),
    })
}
