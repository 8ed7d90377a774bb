//! Location of a file on the devices below it: its extents, mapped layer by layer.

mod offsets;
mod ranges;

use crate::block::place;
use crate::mounts::{self, Mount};
use crate::resolve;
use crate::root::Root;
use model::block_device::{BlockDevice, DeviceKind, DeviceNumber, MediaType, Raid};
use model::environment::{Backing, TargetEnvironment};
use model::placement::{DevicePlace, DeviceShare, Placement, UnknownPlace};
pub use offsets::{device_places, device_places_from};
pub use ranges::FileExtent;
use ranges::{Mapped, Part, SECTOR_BYTES, Sorted, bytes_in, inside};
use std::cell::OnceCell;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use sys::btrfs::{Chunk, ChunkLayout};
use sys::device_mapper::MappedTarget;

/// The maximum number of extents: more take too long to map.
const EXTENTS_MAX: usize = 1 << 20;
/// The maximum number of layers below a file, through loop devices on files.
const DEPTH_MAX: usize = 32;

/// The chunks of a btrfs, and the names of its devices by their numbers in it.
pub type BtrfsChunks = (Vec<Chunk>, Vec<(u64, String)>);

/// Sources other than /proc and /sys.
pub trait PlacementSource {
    /// The extents of a file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or the file system does not report them.
    fn extents(&self, path: &Path) -> io::Result<Vec<FileExtent>>;

    /// The table of a device-mapper device.
    ///
    /// # Errors
    ///
    /// If it cannot be queried; that needs root.
    fn table(&self, number: DeviceNumber) -> io::Result<Vec<MappedTarget>>;

    /// The chunks of the btrfs of a file, and the names of its devices by their numbers in it.
    ///
    /// # Errors
    ///
    /// If they cannot be read; that needs root.
    fn chunks(&self, path: &Path) -> io::Result<BtrfsChunks>;
}

/// The kernel of this machine.
struct Kernel<'a>(&'a Root);

impl PlacementSource for Kernel<'_> {
    fn extents(&self, path: &Path) -> io::Result<Vec<FileExtent>> {
        let file = sys::file::open_to_look(&self.0.path(path))?;
        let mut extents = Vec::new();
        sys::extents::for_each_as_is(&file, |extent| {
            extents.push(FileExtent {
                offset_bytes: extent.start_bytes,
                length_bytes: extent.length_bytes,
                place_bytes: extent.place_bytes,
                is_encoded: extent.is_encoded,
            });
            if extents.len() > EXTENTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if extents.len() > EXTENTS_MAX {
            return Err(io::Error::other(format!("more than {EXTENTS_MAX} extents")));
        }
        Ok(extents)
    }

    fn table(&self, number: DeviceNumber) -> io::Result<Vec<MappedTarget>> {
        sys::device_mapper::table(number.major, number.minor)
    }

    fn chunks(&self, path: &Path) -> io::Result<BtrfsChunks> {
        let file = sys::file::open_to_look(&self.0.path(path))?;
        let chunks = sys::btrfs::chunks(&file)?;
        let mut names: Vec<(u64, String)> = Vec::new();
        for (id, _) in chunks.iter().flat_map(|chunk| &chunk.stripes) {
            if names.iter().all(|(known, _)| known != id)
                && let Some(name) = place::by_path(self.0, &sys::btrfs::device_path(&file, *id)?)
            {
                names.push((*id, name));
            }
        }
        Ok((chunks, names))
    }
}

/// Location of the regular file at `path`, which is on `environment`; `None` if it is no regular file, or is on no
/// block devices.
pub fn placement(root: &Root, path: &Path, environment: &TargetEnvironment) -> Option<Placement> {
    let path = resolve::to_open(root, path);
    let is_file = std::fs::metadata(root.path(&path)).is_ok_and(|found| found.is_file());
    is_file.then(|| placement_from(root, &Kernel(root), &path, environment)).flatten()
}

/// The same from another `source`.
pub fn placement_from(
    root: &Root,
    source: &dyn PlacementSource,
    path: &Path,
    environment: &TargetEnvironment,
) -> Option<Placement> {
    let mount = environment.mount.as_ref()?;
    let devices = environment.devices();
    if devices.is_empty() {
        return None;
    }
    let mounts = OnceCell::new();
    let mut walk = Walk { root, source, mounts: &mounts, found: Placement::default(), places: Vec::new() };
    let holder = Holder {
        file_system: &mount.file_system,
        devices,
        is_plain: matches!(environment.backing, Backing::Devices(_)),
    };
    match source.extents(path) {
        Ok(extents) => {
            walk.found.extents = extents.len() as u64;
            let whole = 0..u64::MAX;
            let (bytes, ranges) = inside(&extents, std::slice::from_ref(&whole));
            walk.found.placed_bytes = bytes;
            walk.found.encoded_bytes = ranges::encoded_bytes(&extents);
            walk.file(path, &holder, Part { bytes, ranges: Some(ranges), is_even: false }, 0);
        }
        Err(error) => walk.unknown("", 0, &why(&error)),
    }
    Some(walk.found)
}

/// The file system of a file.
struct Holder<'a> {
    file_system: &'a str,
    devices: Vec<&'a BlockDevice>,
    /// False if the file is on another file system, whose addresses are not those of the devices.
    is_plain: bool,
}

/// The reason why something is unknown, in a few words.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "needs root".to_owned(),
        io::ErrorKind::Unsupported => "the file system does not report extents".to_owned(),
        // The device mapper's control node is missing, or a file system without extents (ENOTTY).
        _ if error.raw_os_error() == Some(25) => "the file system does not report extents".to_owned(),
        _ => error.to_string(),
    }
}

struct Walk<'a> {
    root: &'a Root,
    source: &'a dyn PlacementSource,
    /// Read when a loop device needs them: a run on many files would otherwise read them for each.
    mounts: &'a OnceCell<Vec<Mount>>,
    found: Placement,
    /// Offsets of the bytes on each device, where known.
    places: Vec<DevicePlace>,
}

impl Walk<'_> {
    /// Maps pieces of a file, by their addresses in the file system, to its devices.
    fn file(&mut self, path: &Path, holder: &Holder<'_>, part: Part, depth: usize) {
        if part.bytes == 0 {
            return;
        }
        let Some(ranges) = part.ranges.as_deref() else {
            // The place in the file is unknown; on one device it does not matter.
            match holder.devices.as_slice() {
                [only] => self.device(only, Part { ranges: None, ..part }, depth),
                _ => self.unknown("", part.bytes, "the offset in the backing file is unknown"),
            }
            return;
        };
        if holder.file_system == "btrfs" && holder.is_plain {
            match self.source.chunks(path) {
                Ok((chunks, names)) => return self.btrfs(holder, &chunks, &names, ranges, depth),
                Err(error) if holder.devices.len() > 1 => return self.unknown("", part.bytes, &why(&error)),
                Err(_) => {}
            }
        }
        let is_address = holder.is_plain && !matches!(holder.file_system, "btrfs" | "bcachefs");
        match holder.devices.as_slice() {
            [only] => self.device(only, Part { ranges: part.ranges.filter(|_| is_address), ..part }, depth),
            _ => self.unknown("", part.bytes, "the file system does not report which of its devices holds the data"),
        }
    }

    fn btrfs(
        &mut self,
        holder: &Holder<'_>,
        chunks: &[Chunk],
        names: &[(u64, String)],
        ranges: &[Range<u64>],
        depth: usize,
    ) {
        let mut parts: Vec<(u64, Part)> = Vec::new();
        let mut add = |device: u64, bytes: u64, range: Option<Range<u64>>| {
            let at = parts.iter().position(|(known, _)| *known == device).unwrap_or_else(|| {
                parts.push((device, Part { bytes: 0, ranges: Some(Vec::new()), is_even: false }));
                parts.len() - 1
            });
            parts[at].1.add(bytes, range);
        };
        let ranges = Sorted::new(ranges);
        for chunk in chunks {
            let addresses = chunk.start_bytes..chunk.start_bytes.saturating_add(chunk.length_bytes);
            for range in ranges.within(&addresses) {
                let bytes = range.end - range.start;
                match chunk.layout {
                    ChunkLayout::Copies => {
                        // Two copies on one device count as one part of it.
                        let mut seen = Vec::new();
                        for (device, offset) in chunk.stripes.iter().filter(|(device, _)| {
                            let is_first = !seen.contains(device);
                            seen.push(*device);
                            is_first
                        }) {
                            let start = offset.saturating_add(range.start - addresses.start);
                            add(*device, bytes, Some(start..start.saturating_add(bytes)));
                        }
                    }
                    ChunkLayout::Spread { copies } => {
                        let count = chunk.stripes.len().max(1) as u64;
                        chunk.stripes.iter().for_each(|(device, _)| add(*device, bytes * copies / count, None));
                    }
                }
            }
        }
        for (id, part) in parts {
            let name = names.iter().find(|(known, _)| *known == id).map(|(_, name)| name.as_str());
            match holder.devices.iter().find(|device| Some(device.name.as_str()) == name) {
                Some(device) => self.device(device, part, depth),
                None => self.unknown("", part.bytes, &format!("device {id} of the btrfs file system is missing")),
            }
        }
    }

    /// Counts a part of the file on a device and on those below it.
    fn device(&mut self, device: &BlockDevice, part: Part, depth: usize) {
        if part.bytes == 0 {
            return;
        }
        let is_disk = device.is_disk();
        self.share(device, &part, is_disk);
        if is_disk {
            return;
        }
        if depth >= DEPTH_MAX {
            return self.unknown(&device.name, part.bytes, "too many stacked devices");
        }
        match &device.kind {
            DeviceKind::Partition { .. } => {
                let directory = place::directory(self.root, &device.name);
                let start = directory.and_then(|directory| self.root.number(directory.join("start")));
                let part = start.map_or_else(|| part.clone().anywhere(), |start| part.moved(start * SECTOR_BYTES));
                self.all_below(device, &part, depth);
            }
            DeviceKind::Mapper { .. } => self.mapper(device, part, depth),
            DeviceKind::Raid(raid) => self.raid(device, raid, part, depth),
            DeviceKind::Loop { file: Some(file), offset_bytes, .. } => {
                self.loop_device(device, Path::new(file), offset_bytes.unwrap_or(0), &part, depth);
            }
            DeviceKind::Bcache { .. } => {
                self.cached(device, part, depth, |below| below.role.as_deref() != Some("cache"));
            }
            _ => self.all_below(device, &part, depth),
        }
    }

    /// Maps a part to the one device below; with several its device is unknown.
    fn all_below(&mut self, device: &BlockDevice, part: &Part, depth: usize) {
        match device.below.as_slice() {
            [only] => self.device(only, part.clone(), depth + 1),
            _ => self.unknown(&device.name, part.bytes, "it is unknown which of its members holds the data"),
        }
    }

    /// Maps a part to the backing device of a cache, which has room for all blocks.
    fn cached(&mut self, device: &BlockDevice, part: Part, depth: usize, is_backing: impl Fn(&BlockDevice) -> bool) {
        let part = part.anywhere();
        let (backing, caches): (Vec<&BlockDevice>, Vec<_>) = device.below.iter().partition(|below| is_backing(below));
        for below in backing {
            self.device(below, part.clone(), depth + 1);
        }
        if !caches.is_empty() {
            self.unknown(&device.name, 0, "its cache may hold copies");
        }
    }

    fn mapper(&mut self, device: &BlockDevice, part: Part, depth: usize) {
        let table = device.number.ok_or_else(|| io::Error::other("it has no device number"));
        let table = match table.and_then(|number| self.source.table(number)) {
            Ok(table) => table,
            Err(_) if device.below.len() == 1 => return self.all_below(device, &part.anywhere(), depth),
            Err(error) => return self.unknown(&device.name, part.bytes, &why(&error)),
        };
        if let Some(origin) = ranges::cached_origin(&table) {
            return self.cached(device, part, depth, |below| below.number == Some(origin));
        }
        match ranges::mapped(&table, &part) {
            Mapped::Parts(parts) => {
                for (number, part) in parts {
                    if let Some(below) = device.below.iter().find(|below| below.number == Some(number)) {
                        self.device(below, part, depth + 1);
                    } else {
                        let reason = format!("device {}:{} is not in /sys", number.major, number.minor);
                        self.unknown(&device.name, part.bytes, &reason);
                    }
                }
            }
            // Thin volumes, snapshots and the like map blocks dynamically.
            Mapped::Unknown => self.all_below(device, &part.anywhere(), depth),
        }
    }

    fn raid(&mut self, device: &BlockDevice, raid: &Raid, part: Part, depth: usize) {
        let is_idle = |below: &&BlockDevice| matches!(below.role.as_deref(), Some("spare" | "faulty" | "journal"));
        let members: Vec<&BlockDevice> = device.below.iter().filter(|below| !is_idle(below)).collect();
        let count = raid.disk_count.map_or(members.len() as u64, u64::from).max(1);
        let level = raid.level.as_deref().unwrap_or_default();
        let of_member = match level {
            "raid1" => part.clone().anywhere(),
            "raid0" | "raid4" | "raid5" | "raid6" => part.clone().evenly(1, count),
            "raid10" => part.clone().evenly(self.copies(device), count),
            _ => return self.all_below(device, &part.anywhere(), depth),
        };
        for member in members {
            self.device(member, of_member.clone(), depth + 1);
        }
    }

    /// Number of copies in a RAID 10: near ones in the lowest byte of its layout, far ones in the next.
    fn copies(&self, device: &BlockDevice) -> u64 {
        let directory = place::directory(self.root, &device.name);
        let layout = directory.and_then(|directory| self.root.number(directory.join("md/layout"))).unwrap_or(0x102);
        (layout & 0xff).max(1) * ((layout >> 8) & 0xff).max(1)
    }

    fn loop_device(&mut self, device: &BlockDevice, file: &Path, offset_bytes: u64, part: &Part, depth: usize) {
        let (root, mounts) = (self.root, self.mounts);
        let mounts = mounts.get_or_init(|| mounts::read(root));
        let mount = root.real(file).and_then(|place| mounts::holding(mounts, &place));
        let holder = Holder {
            file_system: mount.map_or("", |mount| &mount.file_system),
            devices: device.below.iter().collect(),
            is_plain: mount.is_some_and(|mount| mount.file_system != "overlay"),
        };
        let part = part.moved(offset_bytes);
        let Some(wanted) = &part.ranges else { return self.file(file, &holder, part, depth + 1) };
        match self.source.extents(file) {
            Ok(extents) => {
                let (bytes, ranges) = inside(&extents, wanted);
                self.file(file, &holder, Part { bytes, ranges: Some(ranges), ..part.clone() }, depth + 1);
                let nowhere = bytes_in(wanted).saturating_sub(bytes);
                if nowhere > 0 {
                    self.unknown(&device.name, nowhere, "not allocated in its backing file");
                }
            }
            Err(_) if holder.devices.len() == 1 => self.file(file, &holder, part.anywhere(), depth + 1),
            Err(error) => self.unknown(&device.name, part.bytes, &why(&error)),
        }
    }

    fn share(&mut self, device: &BlockDevice, part: &Part, is_disk: bool) {
        if let (Some([first, ..]), false) = (part.ranges.as_deref(), part.is_even) {
            self.places.push(DevicePlace { device: device.name.clone(), offset_bytes: first.start, is_disk });
        }
        if let Some(known) = self.found.shares.iter_mut().find(|share| share.device == device.name) {
            known.bytes = known.bytes.saturating_add(part.bytes);
            known.is_even |= part.is_even;
            return;
        }
        let media = if is_disk { device.media_type() } else { MediaType::Unknown };
        let (device, bytes, is_even) = (device.name.clone(), part.bytes, part.is_even);
        self.found.shares.push(DeviceShare { device, bytes, is_even, is_disk, media });
    }

    fn unknown(&mut self, below: &str, bytes: u64, reason: &str) {
        let is_same = |known: &&mut UnknownPlace| known.below == below && known.reason == reason;
        match self.found.unknown.iter_mut().find(is_same) {
            Some(known) => known.bytes = known.bytes.saturating_add(bytes),
            None => {
                self.found.unknown.push(UnknownPlace { below: below.to_owned(), bytes, reason: reason.to_owned() });
            }
        }
    }
}
