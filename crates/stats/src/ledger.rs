//! Bytes requested against bytes that reached storage.
//!
//! Every bound is one from above: bytes that cannot be distinguished from those of this run count as its own. A
//! shortfall is therefore at least as large as it seems; mirrors, parity, read-ahead and metadata add bytes and hide
//! some of it.

use model::block_device::{BlockDevice, DeviceKind, MapperMaker};
use model::engine_kind::EngineKind;
use model::environment::{Backing, MEMORY_FILE_SYSTEMS, TargetEnvironment};
use model::facts::TargetKind;
use model::kernel_counters::{KernelCounters, KernelCountersAround, ShareCounters};
use model::ledger::{Account, CacheUse, Ledger, Level};
use model::operation::Operation;
use model::plan::{OpenPlan, TargetWork, TimeSpanPlan};
use model::profile::Profile;
use model::result::{Measured, Row, TimeSpanResult};
use model::targets_found::TargetsFound;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// File systems whose reads and writes are those of the device, byte by byte: no compression, no copies, no checksums
/// that are stored elsewhere.
pub const PLAIN_FILE_SYSTEMS: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "vfat"];

const BTRFS: &str = "btrfs";

/// Bytes of a file that a byte of btrfs on a device may carry: its extents of 128 KiB compress to 4 KiB at best.
const BTRFS_DENSITY: u64 = 32;

/// The level between this process and storage: bytes that the kernel fetched for it, and that it was left to write.
pub const KERNEL: &str = "kernel";

/// The data that a ledger is computed from.
#[derive(Clone, Copy, Debug)]
pub struct LedgerSources<'a> {
    /// The timespan, with its rows and the kernel's counters.
    pub span_result: &'a TimeSpanResult,
    /// How targets were opened.
    pub plan: &'a TimeSpanPlan,
    /// The storage below them.
    pub environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// Those whose bytes are on the device as they are: see [`uncompressed`].
    pub uncompressed: &'a BTreeSet<&'a Path>,
    /// Release of the kernel as in `uname -r`; empty = unknown.
    pub kernel_release: &'a str,
}

/// Files on btrfs of which nothing is compressed on the device: it was not before the run, and the run does not write to
/// them.
pub fn uncompressed<'a>(profile: &Profile, found: &'a TargetsFound) -> BTreeSet<&'a Path> {
    let is_plain = |kind: &TargetKind| match kind {
        TargetKind::Regular(facts) => facts.encoded_bytes == Some(0) && facts.file_system.name == BTRFS,
        _ => false,
    };
    let plain = found.facts.iter().filter(|(_, facts)| is_plain(&facts.kind)).map(|(path, _)| path.as_path());
    let mut plain: BTreeSet<&Path> = plain.collect();
    if !plain.is_empty() {
        let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
        for target in targets.filter(|target| target.writes()) {
            plain.remove(target.path.as_path());
        }
    }
    plain
}

/// The ledger of a timespan; `None` if nothing was measured, or the counters were not read.
pub fn ledger(sources: &LedgerSources<'_>) -> Option<Ledger> {
    let measured = sources.span_result.measured.as_ref()?;
    let around = sources.span_result.kernel_counters.as_ref()?;
    let counted = around.after.since(&around.before);
    let transfers = transfers(sources, measured, &counted);
    let books = Books { sources, around, counted, transfers };
    Some(Ledger { accounts: books.accounts(), levels: books.levels() })
}

/// Bytes of one row in one direction.
struct Transfer<'a> {
    operation: Operation,
    cache_use: CacheUse,
    storage: Storage<'a>,
    row: &'a Row,
    bytes: u64,
}

/// Where the bytes of a row go.
#[derive(Clone)]
enum Storage<'a> {
    /// To devices, through a file system of which one byte at a device may carry this many; `None` = unknown.
    Devices { devices: Vec<&'a BlockDevice>, density: Option<u64>, is_overlay: bool },
    /// To a server whose bytes are counted.
    Share(ShareCounters),
    /// They stay in memory.
    Memory(String),
    /// To where nothing is counted.
    Uncounted(String),
}

impl Storage<'_> {
    fn name(&self) -> String {
        match self {
            Self::Devices { devices, .. } => names(devices.iter().map(|device| device.name.as_str())),
            Self::Share(share) => share.source.clone(),
            Self::Memory(name) | Self::Uncounted(name) => name.clone(),
        }
    }

    /// Bytes of a file that one byte at the device may carry; `None` = unknown, or no devices.
    const fn density(&self) -> Option<u64> {
        match self {
            Self::Devices { density, .. } => *density,
            _ => None,
        }
    }

    /// True if the kernel counts for the process the bytes that it fetches from there, and those that it is left to
    /// write.
    const fn is_counted_for_process(&self) -> bool {
        self.density().is_some()
    }
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(" + ")
}

fn transfers<'a>(sources: &LedgerSources<'a>, measured: &'a Measured, counted: &KernelCounters) -> Vec<Transfer<'a>> {
    let work = sources.plan.target_work();
    let mut all = Vec::new();
    for row in &measured.rows {
        if sources.span_result.engines.get(row.target) == Some(&EngineKind::Null) {
            continue;
        }
        let open = sources.plan.targets.get(row.target).map(|target| target.open).unwrap_or_default();
        let is_plain = sources.uncompressed.contains(row.path.as_path());
        let storage = storage(sources.environments.get(&row.path), is_plain, counted);
        for (operation, bytes) in
            [(Operation::Read, row.figures.read.bytes), (Operation::Write, row.figures.write.bytes)]
        {
            if bytes > 0 {
                let cache_use = cache_use(operation, open, &work, row.target);
                all.push(Transfer { operation, cache_use, storage: storage.clone(), row, bytes });
            }
        }
    }
    all
}

fn cache_use(operation: Operation, open: OpenPlan, work: &TargetWork<'_>, target: usize) -> CacheUse {
    let is_mapped = work.workers_on(target).any(|work| work.mapped.is_some());
    match operation {
        _ if is_mapped => CacheUse::Cached,
        _ if open.direct => CacheUse::Direct,
        Operation::Write if open.write_through => CacheUse::WriteThrough,
        _ => CacheUse::Cached,
    }
}

/// The storage below a target; `is_plain`: none of it is compressed there.
fn storage<'a>(environment: Option<&'a TargetEnvironment>, is_plain: bool, counted: &KernelCounters) -> Storage<'a> {
    let Some(environment) = environment else { return Storage::Uncounted("unknown storage".to_owned()) };
    let mount = environment.mount.as_ref();
    let file_system = mount.map_or("", |mount| mount.file_system.as_str());
    let devices = environment.devices();
    match &environment.backing {
        Backing::Memory => Storage::Memory(file_system.to_owned()),
        Backing::Devices(_) => Storage::Devices {
            density: match mount {
                Some(mount) if !(is_plain && mount.file_system == BTRFS) => density(&mount.file_system),
                _ => Some(1),
            },
            devices,
            is_overlay: false,
        },
        Backing::Overlay { file_system: below, on, .. } => match on.as_ref() {
            Backing::Memory => Storage::Memory(format!("overlay on {}", below.as_deref().unwrap_or("memory"))),
            _ if devices.is_empty() => Storage::Uncounted(file_system.to_owned()),
            _ => Storage::Devices { density: below.as_deref().and_then(density), devices, is_overlay: true },
        },
        Backing::Remote { address } => {
            let share = mount.and_then(|mount| counted.shares.iter().find(|share| share.mount_point == mount.point));
            share.map_or_else(|| Storage::Uncounted(address.clone()), |share| Storage::Share(share.clone()))
        }
        Backing::Unknown | Backing::Process | Backing::Zfs(_) => Storage::Uncounted(file_system.to_owned()),
    }
}

/// Bytes of a file that one byte at the device may carry; `None` = unknown.
fn density(file_system: &str) -> Option<u64> {
    match file_system {
        BTRFS => Some(BTRFS_DENSITY),
        plain => PLAIN_FILE_SYSTEMS.contains(&plain).then_some(1),
    }
}

/// The bytes that a level can have passed on, at most.
#[derive(Clone, Debug, PartialEq)]
struct Bound {
    /// `None` = not counted.
    bytes: Option<u64>,
    level: String,
    /// True if everything below was counted, too.
    is_complete: bool,
    without_others: bool,
}

impl Bound {
    fn unknown() -> Self {
        Self { bytes: None, level: String::new(), is_complete: false, without_others: false }
    }

    /// Nothing leaves memory.
    const fn memory(level: String) -> Self {
        Self { bytes: Some(0), level, is_complete: true, without_others: true }
    }

    /// The smaller one.
    fn or_less(self, other: Self) -> Self {
        match (self.bytes, other.bytes) {
            (Some(bytes), Some(least)) if bytes <= least => self,
            (Some(_), None) => self,
            _ => other,
        }
    }
}

/// All data that accounts are computed from.
struct Books<'a> {
    sources: &'a LedgerSources<'a>,
    around: &'a KernelCountersAround,
    /// Counts between the two readings.
    counted: KernelCounters,
    transfers: Vec<Transfer<'a>>,
}

impl Books<'_> {
    fn accounts(&self) -> Vec<Account> {
        let mut groups: BTreeMap<(Operation, CacheUse, String), Vec<&Transfer<'_>>> = BTreeMap::new();
        for transfer in &self.transfers {
            let key = (transfer.operation, transfer.cache_use, transfer.storage.name());
            groups.entry(key).or_default().push(transfer);
        }
        groups.into_iter().map(|(key, transfers)| self.account(key, &transfers)).collect()
    }

    fn account(
        &self,
        (operation, cache_use, storage): (Operation, CacheUse, String),
        transfers: &[&Transfer<'_>],
    ) -> Account {
        let leaves_dirty = operation == Operation::Write && cache_use == CacheUse::Cached;
        let asked_bytes = transfers.iter().fold(0, |sum: u64, transfer| sum.saturating_add(transfer.bytes));
        let Bound { bytes, level, is_complete, without_others } = match &transfers[0].storage {
            Storage::Memory(name) => Bound::memory(name.clone()),
            Storage::Uncounted(_) => Bound::unknown(),
            Storage::Share(share) => Bound {
                bytes: Some(if operation == Operation::Read { share.read.bytes } else { share.write.bytes }),
                level: share.source.clone(),
                is_complete: true,
                without_others: false,
            },
            Storage::Devices { devices, .. } => {
                let densities = transfers.iter().map(|transfer| transfer.storage.density());
                let density = densities.reduce(|a, b| Some(a?.max(b?))).flatten();
                let below = self.below_all(devices, operation).scaled(density);
                self.of_process(operation, cache_use, transfers).scaled(density).or_less_kept(below)
            }
        };
        let reached_bytes = bytes.map(|bytes| bytes.min(asked_bytes));
        Account {
            operation,
            cache_use,
            storage,
            targets: transfers
                .iter()
                .map(|transfer| transfer.row.target)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            asked_bytes,
            reached_bytes,
            reached_percent: reached_bytes.map(|bytes| bytes as f64 * 100.0 / asked_bytes as f64),
            level,
            is_complete,
            without_others,
            dirty_left_bytes: self
                .dirty_ends()
                .map(|(before, after)| after.saturating_sub(before))
                .filter(|_| leaves_dirty),
        }
    }

    /// Bytes that the kernel fetched for this process, or was left to write by it, without those that are known to be
    /// of other accounts.
    fn of_process(&self, operation: Operation, cache_use: CacheUse, transfers: &[&Transfer<'_>]) -> Bound {
        if !transfers.iter().all(|transfer| transfer.storage.is_counted_for_process()) || !self.counts_ring_threads() {
            return Bound::unknown();
        }
        let direct = self.bytes_of(|transfer| {
            // Of compressed data fewer bytes are counted.
            let is_counted = transfer.storage.density() == Some(1);
            transfer.operation == operation && transfer.cache_use == CacheUse::Direct && is_counted
        });
        let process = self.counted.process;
        let bytes = match (operation, cache_use) {
            (Operation::Read, CacheUse::Direct) => process.map(|process| process.storage_read_bytes),
            (Operation::Read, _) => process.map(|process| process.storage_read_bytes.saturating_sub(direct)),
            // Counted when it is submitted: does not show where it arrived.
            (_, CacheUse::Direct) => None,
            // Data that was written again before it left memory was counted once.
            (_, CacheUse::WriteThrough) => process.map(|process| process.storage_write_bytes.saturating_sub(direct)),
            (_, CacheUse::Cached) => {
                let all = self.bytes_of(|transfer| transfer.operation == operation);
                let given = process.map_or(all, |process| process.storage_write_bytes).saturating_sub(direct);
                let (before, after) = self.dirty_ends().unwrap_or_default();
                Some(given.saturating_add(before).saturating_sub(after))
            }
        };
        Bound { bytes, level: KERNEL.to_owned(), is_complete: false, without_others: true }
    }

    fn bytes_of(&self, is_wanted: impl Fn(&Transfer<'_>) -> bool) -> u64 {
        let wanted = self.transfers.iter().filter(|transfer| is_wanted(transfer));
        wanted.fold(0, |sum, transfer| sum.saturating_add(transfer.bytes))
    }

    /// Threads of rings are counted as those of the process since Linux 5.12.
    fn counts_ring_threads(&self) -> bool {
        let mut numbers = self.sources.kernel_release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        let version = (numbers.next().and_then(Result::ok), numbers.next().and_then(Result::ok));
        let uses_rings = self.sources.span_result.engines.contains(&EngineKind::IoUring);
        !uses_rings || !matches!(version, (Some(major), Some(minor)) if (major, minor) < (5, 12))
    }

    /// Data that memory held of the targets at both ends; that of the whole machine where the kernel does not report it,
    /// and unknown of an overlay, whose pages are those of the file below it.
    fn dirty_ends(&self) -> Option<(u64, u64)> {
        let is_overlay =
            |transfer: &Transfer<'_>| matches!(transfer.storage, Storage::Devices { is_overlay: true, .. });
        let KernelCountersAround { before, after } = self.around;
        let of_targets = before.dirty_of_targets.zip(after.dirty_of_targets);
        let of_machine = before.dirty.zip(after.dirty);
        let (before, after) = of_targets.or(of_machine).filter(|_| !self.transfers.iter().any(is_overlay))?;
        Some((before.total_bytes(), after.total_bytes()))
    }

    /// Bytes that all of these devices passed on.
    fn below_all(&self, devices: &[&BlockDevice], operation: Operation) -> Bound {
        let bounds: Vec<Bound> = devices.iter().map(|device| self.below(device, operation)).collect();
        sum(&bounds)
    }

    /// Bytes that a device and those below it passed on: of levels that follow each other the fewest bytes count, of
    /// devices side by side their sum.
    fn below(&self, device: &BlockDevice, operation: Operation) -> Bound {
        let own = self.of_device(device, operation);
        let (density, is_end) = match &device.kind {
            DeviceKind::Zram { .. } | DeviceKind::Ram => return Bound::memory(format!("a disk below {}", device.name)),
            DeviceKind::Loop { file_system: Some(name), .. } if MEMORY_FILE_SYSTEMS.contains(&name.as_str()) => {
                return Bound::memory(format!("a disk below {}", device.name));
            }
            DeviceKind::Loop { file_system, .. } => (file_system.as_deref().and_then(density), false),
            // It writes less than it is given.
            DeviceKind::Mapper { maker: Some(MapperMaker::Other(maker)), .. } if maker == "vdo" => (None, false),
            DeviceKind::ZfsVolume | DeviceKind::Mapper { .. } | DeviceKind::Raid(_) | DeviceKind::Partition { .. } => {
                (Some(1), false)
            }
            _ => (Some(1), true),
        };
        if device.below.is_empty() {
            return Bound { is_complete: is_end && own.bytes.is_some(), ..own };
        }
        let devices: Vec<&BlockDevice> = device.below.iter().collect();
        own.or_less_kept(self.below_all(&devices, operation).scaled(density))
    }

    /// Bytes that the device itself counted, without those that others are known to have read from it.
    fn of_device(&self, device: &BlockDevice, operation: Operation) -> Bound {
        let level = device.name.clone();
        let since_boot = self.around.after.devices.get(&device.name);
        // Some drivers of devices that consist of others count nothing.
        let is_made_of_others =
            matches!(device.kind, DeviceKind::Mapper { .. } | DeviceKind::Raid(_) | DeviceKind::NvmeMultipath { .. });
        let counts = !is_made_of_others
            || since_boot.is_some_and(|counters| counters.read.bytes > 0 || counters.write.bytes > 0);
        let Some(counters) = self.counted.devices.get(&device.name).filter(|_| counts) else {
            return Bound { level, ..Bound::unknown() };
        };
        let others = self.other_read_bytes(&device.name).filter(|_| operation == Operation::Read);
        let bytes = if operation == Operation::Read { counters.read.bytes } else { counters.write.bytes };
        let bytes = Some(bytes.saturating_sub(others.unwrap_or(0)));
        Bound { bytes, level, is_complete: false, without_others: others.is_some() }
    }

    /// Bytes that other programs read from the one disk of the run, at least; `None` = unknown.
    fn other_read_bytes(&self, device: &str) -> Option<u64> {
        let others = self.counted.others.as_ref()?;
        let all =
            || self.sources.environments.values().flat_map(TargetEnvironment::devices).flat_map(BlockDevice::walk);
        let ends: BTreeSet<&str> =
            all().filter(|device| device.below.is_empty()).map(|device| device.name.as_str()).collect();
        if ends.len() != 1 || !ends.contains(device) {
            return None;
        }
        // Others may have read from the same loop device as this run, and from its cache.
        let loops: BTreeSet<&str> = all()
            .filter(|device| matches!(device.kind, DeviceKind::Loop { .. }))
            .map(|device| device.name.as_str())
            .collect();
        let of_loops = loops.iter().filter_map(|name| self.counted.devices.get(*name));
        let own = self.bytes_of(|transfer| transfer.operation == Operation::Read);
        let by_loops =
            of_loops.fold(0, |sum: u64, counters| sum.saturating_add(counters.read.bytes.saturating_sub(own)));
        Some(others.least_read_bytes().saturating_sub(by_loops))
    }

    fn levels(&self) -> Vec<Level> {
        let asked = |operation| self.bytes_of(|transfer| transfer.operation == operation);
        let level = |name: &str, kind: String, read_bytes, write_bytes| Level {
            name: name.to_owned(),
            kind,
            read_bytes,
            write_bytes,
            ..Level::default()
        };
        let word = |word: &str| word.to_owned();
        let mut levels = vec![level("diskspd", word("program"), asked(Operation::Read), asked(Operation::Write))];
        if let Some(process) = self.counted.process {
            let kernel = level(KERNEL, word("kernel"), process.storage_read_bytes, process.storage_write_bytes);
            levels.push(Level {
                dirty_left_bytes: self
                    .around
                    .after
                    .dirty_of_targets
                    .map(model::kernel_counters::DirtyMemory::total_bytes),
                ..kernel
            });
        }
        let shares = self.counted.shares.iter();
        levels.extend(shares.map(|share| level(&share.source, word("share"), share.read.bytes, share.write.bytes)));
        levels.extend(self.devices().into_iter().filter_map(|device| {
            let counters = self.counted.devices.get(&device.name)?;
            let others = self.other_read_bytes(&device.name);
            Some(Level {
                other_read_bytes: others,
                other_write_bytes: others.and(self.counted.others.as_ref().map(|others| others.write_bytes)),
                ..level(&device.name, device.kind.word(), counters.read.bytes, counters.write.bytes)
            })
        }));
        levels
    }

    /// Those below the targets, each once, the upper ones first.
    fn devices(&self) -> Vec<&BlockDevice> {
        let mut seen = BTreeSet::new();
        let mut devices: Vec<(usize, &BlockDevice)> = Vec::new();
        let mut level: Vec<&BlockDevice> =
            self.sources.environments.values().flat_map(TargetEnvironment::devices).collect();
        let mut depth = 0;
        while !level.is_empty() {
            devices
                .extend(level.iter().filter(|device| seen.insert(device.name.as_str())).map(|device| (depth, *device)));
            level = level.into_iter().flat_map(|device| &device.below).collect();
            depth += 1;
        }
        devices.into_iter().map(|(_, device)| device).collect()
    }
}

impl Bound {
    /// In bytes of the file, of which one byte may carry several.
    fn scaled(self, density: Option<u64>) -> Self {
        let Some(density) = density else { return Self::unknown() };
        Self { bytes: self.bytes.map(|bytes| bytes.saturating_mul(density)), ..self }
    }

    /// The smaller one; complete if the one below is.
    fn or_less_kept(self, below: Self) -> Self {
        let is_complete = below.is_complete;
        Self { is_complete, ..self.or_less(below) }
    }
}

/// Devices side by side.
fn sum(bounds: &[Bound]) -> Bound {
    if let [only] = bounds {
        return only.clone();
    }
    let bytes = bounds.iter().map(|bound| bound.bytes).try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)));
    Bound {
        bytes: bytes.filter(|_| !bounds.is_empty()),
        level: names(bounds.iter().map(|bound| bound.level.as_str())),
        is_complete: bounds.iter().all(|bound| bound.is_complete),
        without_others: bounds.iter().all(|bound| bound.without_others),
    }
}

#[cfg(test)]
mod tests;
