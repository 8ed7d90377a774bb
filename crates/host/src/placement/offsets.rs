//! Offsets of pieces of a target on the devices below it.

use super::ranges::{FileExtent, Part, inside};
use super::{BtrfsChunks, Holder, Kernel, PlacementSource, Walk};
use crate::resolve;
use crate::root::Root;
use model::block_device::DeviceNumber;
use model::environment::{Backing, TargetEnvironment};
use model::placement::{DevicePlace, Placement};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use sys::device_mapper::MappedTarget;

/// Offset of each piece of the file or block device at `path` on the devices in `environment`, upper layers first.
/// Devices on which that is unknown are left out, as are pieces that are compressed or encrypted.
pub fn device_places(
    root: &Root,
    path: &Path,
    environment: &TargetEnvironment,
    pieces: &[Range<u64>],
) -> Vec<Vec<DevicePlace>> {
    let path = resolve::to_open(root, path);
    let is_file = std::fs::metadata(root.path(&path)).is_ok_and(|found| found.is_file());
    device_places_from(root, &Kernel(root), &path, is_file, environment, pieces)
}

/// The same from another `source`.
pub fn device_places_from(
    root: &Root,
    source: &dyn PlacementSource,
    path: &Path,
    is_file: bool,
    environment: &TargetEnvironment,
    pieces: &[Range<u64>],
) -> Vec<Vec<DevicePlace>> {
    let source = CachedSource { source, extents: RefCell::default(), chunks: RefCell::default() };
    let mounts = OnceCell::new();
    let mut extents = if is_file { source.extents(path).unwrap_or_default() } else { Vec::new() };
    extents.retain(|extent| !extent.is_encoded);
    let place = |piece: &Range<u64>| {
        let mut walk = Walk { root, source: &source, mounts: &mounts, found: Placement::default(), places: Vec::new() };
        let devices = environment.devices();
        match (is_file, environment.mount.as_ref()) {
            (true, Some(mount)) => {
                let (bytes, ranges) = inside(&extents, std::slice::from_ref(piece));
                let is_plain = matches!(environment.backing, Backing::Devices(_));
                let holder = Holder { file_system: &mount.file_system, devices, is_plain };
                walk.file(path, &holder, Part { bytes, ranges: Some(ranges), is_even: false }, 0);
            }
            (true, None) => {}
            (false, _) => {
                if let [only] = devices.as_slice() {
                    let ranges = Some(vec![piece.clone()]);
                    walk.device(only, Part { bytes: piece.end - piece.start, ranges, is_even: false }, 0);
                }
            }
        }
        walk.places
    };
    pieces.iter().map(place).collect()
}

/// A source that queries the facts for many pieces once.
struct CachedSource<'a> {
    source: &'a dyn PlacementSource,
    /// `None` = there was an error.
    extents: RefCell<BTreeMap<PathBuf, Option<Vec<FileExtent>>>>,
    chunks: RefCell<BTreeMap<PathBuf, Option<BtrfsChunks>>>,
}

fn unknown() -> io::Error {
    io::Error::other("it is unknown")
}

impl PlacementSource for CachedSource<'_> {
    fn extents(&self, path: &Path) -> io::Result<Vec<FileExtent>> {
        let mut known = self.extents.borrow_mut();
        let extents = known.entry(path.to_owned()).or_insert_with(|| self.source.extents(path).ok());
        extents.clone().ok_or_else(unknown)
    }

    fn table(&self, number: DeviceNumber) -> io::Result<Vec<MappedTarget>> {
        self.source.table(number)
    }

    fn chunks(&self, path: &Path) -> io::Result<BtrfsChunks> {
        let mut known = self.chunks.borrow_mut();
        let chunks = known.entry(path.to_owned()).or_insert_with(|| self.source.chunks(path).ok());
        chunks.clone().ok_or_else(unknown)
    }
}
