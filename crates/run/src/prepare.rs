//! What happens to targets before a timespan: they are made, reused, or looked at once more.

use crate::create;
use crate::device_guard::DeviceGuards;
use crate::observer::{Event, Observer};
use hot::fill;
use hot::rng::Rng;
use model::facts::{FileIdentity, Fill};
use model::mark::{self, Mark};
use model::plan::{
    Content, Expected, Pattern, Plan, Preparation, TargetPlan, TimeSpanPlan, WorkerTarget, WriteSourcePlan,
};
use model::record::{Outcome, TimeSpanRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use sys::mapping::Mapping;

/// What workers find prepared.
#[derive(Debug)]
pub(crate) struct Ready {
    made: BTreeSet<FileIdentity>,
    write_sources: Vec<Option<(Arc<Mapping>, u64)>>,
    counters: Vec<Arc<AtomicU64>>,
    devices: Arc<DeviceGuards>,
}

impl Ready {
    /// Nothing was made, nothing is shared.
    #[cfg(test)]
    pub(crate) fn untouched(targets: usize) -> Self {
        Self {
            made: BTreeSet::new(),
            write_sources: vec![None; targets],
            counters: Vec::new(),
            devices: Arc::default(),
        }
    }

    /// True if this run made the file.
    pub(crate) fn made(&self, identity: FileIdentity) -> bool {
        self.made.contains(&identity)
    }

    /// The target's `-Z<size>` source and the distance between the pieces taken from it.
    pub(crate) fn write_source(&self, target: usize) -> Option<(&Arc<Mapping>, u64)> {
        self.write_sources[target].as_ref().map(|(memory, step)| (memory, *step))
    }

    /// Where a target is opened that is guarded as a block device.
    pub(crate) fn guarded(&self, expect: &Expected) -> Option<PathBuf> {
        match expect {
            Expected::Block { device, .. } => self.devices.path(*device),
            _ => None,
        }
    }

    pub(crate) fn counters(&self) -> &[Arc<AtomicU64>] {
        &self.counters
    }
}

/// Why a timespan was not prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unprepared {
    /// Ctrl+C, which is no failure.
    Interrupted,
    /// A sentence with the reason.
    Failed(String),
}

impl From<String> for Unprepared {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl Unprepared {
    /// The timespan that did not come to be.
    pub(crate) fn record(self, observer: &mut dyn Observer) -> TimeSpanRecord {
        let outcome = match self {
            Self::Interrupted => {
                observer.observe(&Event::Interrupted);
                Outcome::Stopped
            }
            Self::Failed(reason) => Outcome::Failed { errors: vec![reason] },
        };
        TimeSpanRecord { outcome, ..TimeSpanRecord::default() }
    }
}

/// Prepares the timespans of one run; remembers what it made.
#[derive(Debug, Default)]
pub(crate) struct Preparer {
    made: BTreeMap<PathBuf, FileIdentity>,
    /// Held from before the first write to the end of the run.
    devices: Arc<DeviceGuards>,
}

impl Preparer {
    /// The files that were made, by the path that they were made under.
    pub(crate) fn made(&self) -> &BTreeMap<PathBuf, FileIdentity> {
        &self.made
    }

    /// What the plan wants before the first timespan.
    pub(crate) fn prepare_first(
        &mut self,
        plan: &Plan,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Unprepared> {
        self.devices = Arc::new(DeviceGuards::take(plan)?);
        self.make(&plan.precreate, interrupt, observer)
    }

    /// Makes what is to be made, in this order.
    pub(crate) fn make<'a>(
        &mut self,
        steps: impl IntoIterator<Item = &'a Preparation>,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Unprepared> {
        steps.into_iter().try_for_each(|step| self.carry_out(step, interrupt, observer))
    }

    /// What a timespan needs, in target order.
    pub(crate) fn prepare(
        &mut self,
        plan: &TimeSpanPlan,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Ready, Unprepared> {
        let mut rng = Rng::new(0);
        let sources = plan.targets.iter().map(|target| write_source(target, &mut rng));
        let write_sources = sources.collect::<Result<_, _>>()?;
        self.make(plan.targets.iter().map(|target| &target.preparation), interrupt, observer)?;
        let made: BTreeSet<FileIdentity> = self.made.values().copied().collect();
        for (index, _) in plan.targets.iter().enumerate().filter(|(_, target)| target.open.write) {
            before_writing(plan, index, &made)?;
        }
        if plan.cold {
            plan.targets.iter().try_for_each(drop_cached)?;
        }
        let counters = (0..plan.shared_counters).map(|_| Arc::default()).collect();
        Ok(Ready { made, write_sources, counters, devices: Arc::clone(&self.devices) })
    }

    fn carry_out(
        &mut self,
        step: &Preparation,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Unprepared> {
        match step {
            Preparation::Keep | Preparation::MadeBefore => {}
            Preparation::Reuse { path } => observer.observe(&Event::Reusing { path }),
            Preparation::Create(creation) => {
                let identity = create::create(creation, self.made.get(&creation.path).copied(), interrupt, observer)?;
                self.made.insert(creation.path.clone(), identity);
            }
        }
        Ok(())
    }
}

/// A file is about to be written to: it is still free, and its mark will still be true.
fn before_writing(plan: &TimeSpanPlan, index: usize, made: &BTreeSet<FileIdentity>) -> Result<(), String> {
    let target = &plan.targets[index];
    let name = target.path.display();
    if !matches!(target.expect, Expected::File(_) | Expected::Prepared) {
        return Ok(());
    }
    let error = |error| format!("cannot look at '{name}': {error}");
    let file = sys::file::open_to_look(&target.path).map_err(error)?;
    let status = file.metadata().map_err(error)?;
    let found = FileIdentity { device: status.dev(), inode: status.ino() };
    let expected = match target.expect {
        Expected::File(identity) => identity == found,
        _ => made.contains(&found),
    };
    if !expected {
        return Err(format!("'{name}' is no longer the file that was checked; it was not touched"));
    }
    create::check_unused(&file, &target.path)?;
    let mark = sys::xattr::get(&file, mark::ATTRIBUTE).ok().flatten();
    let mark = mark.and_then(|value| String::from_utf8(value).ok()).and_then(|text| text.parse::<Mark>().ok());
    let Some(mark) = mark.filter(|mark| mark.fill != Fill::Mixed) else { return Ok(()) };
    let work = plan.workers.iter().flat_map(|worker| &worker.targets).filter(|work| work.target == index);
    if work.clone().all(|work| preserves(mark.fill, work)) {
        return Ok(());
    }
    let error = |error| format!("cannot mark '{name}' as written over: {error}");
    create::set_mark(&file, Mark { fill: Fill::Mixed, ..mark }).map_err(error)
}

/// Writes a target's dirty pages and drops its clean ones (`--cold`).
fn drop_cached(target: &TargetPlan) -> Result<(), String> {
    let error = |error| format!("cannot drop the cached pages of '{}': {error}", target.path.display());
    if target.expect == Expected::Character {
        return Ok(());
    }
    let file = sys::file::open_to_look(&target.path).map_err(error)?;
    file.sync_data().and_then(|()| sys::create::drop_cached(&file)).map_err(error)
}

/// True if the writes leave a file with this content as it is, or as good.
fn preserves(fill: Fill, work: &WorkerTarget) -> bool {
    match (fill, work.content) {
        _ if work.write_percent == 0 => true,
        (Fill::Zero, Content::Zero) | (Fill::Random, Content::RandomEach | Content::Source) => true,
        (Fill::Ramp, Content::Ramp) => {
            let (Pattern::Sequential { area, .. }
            | Pattern::Interlocked { area, .. }
            | Pattern::Parallel { area, .. }
            | Pattern::Random { area, .. }
            | Pattern::Mixed { area, .. }) = &work.pattern;
            // Ranges and thread starts may leave the grid of offsets, but not that of 256 bytes
            // unless they are not multiples of it themselves.
            let start = match &work.pattern {
                Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => *start_bytes,
                Pattern::Random { ranges, .. } | Pattern::Mixed { ranges, .. } => {
                    ranges.iter().fold(0, |bits, range| bits | range.start_bytes)
                }
                Pattern::Interlocked { .. } => 0,
            };
            (work.block_bytes | area.base_bytes | area.alignment_bytes | start).is_multiple_of(256)
        }
        _ => false,
    }
}

/// Fills the source that writes to a target are taken from.
fn write_source(target: &TargetPlan, rng: &mut Rng) -> Result<Option<(Arc<Mapping>, u64)>, String> {
    let Some(plan) = &target.write_source else { return Ok(None) };
    let no_memory = |error| format!("cannot get {} bytes for the write source: {error}", plan.size_bytes);
    let mut memory = Mapping::new(plan.size_bytes, 0).map_err(no_memory)?;
    match &plan.file {
        None => memory.fill(0, plan.size_bytes, |part, _| fill::random(part, rng)),
        Some(_) => fill_from_file(plan, &mut memory)?,
    }
    Ok(Some((Arc::new(memory), plan.step_bytes.max(1))))
}

/// The file's first bytes, repeated from its start if it is shorter than the source.
fn fill_from_file(plan: &WriteSourcePlan, memory: &mut Mapping) -> Result<(), String> {
    let Some(path) = &plan.file else { return Ok(()) };
    let error = |error| format!("cannot read the write source '{}': {error}", path.display());
    let file = std::fs::File::open(path).map_err(error)?;
    let mut content = Vec::new();
    file.take(plan.size_bytes).read_to_end(&mut content).map_err(error)?;
    if content.is_empty() {
        return Err(format!("the write source '{}' is empty", path.display()));
    }
    let mut bytes = content.iter().copied().cycle();
    memory.fill(0, plan.size_bytes, |part, _| {
        for byte in part {
            // A cycle over a non-empty list never ends.
            *byte = bytes.next().unwrap_or_default();
        }
    });
    Ok(())
}
