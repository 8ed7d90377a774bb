//! Preparation of targets before a timespan: they are created, reused, or checked again.

use crate::create::{self, Unprepared};
use crate::device_guard::DeviceGuards;
use crate::observer::{Event, Observer};
use crate::written_files::{self, WrittenFiles};
use host::Root;
use hot::fill;
use hot::rng::Rng;
use model::device_guard::FileIdentity;
use model::facts::{FileStamp, Fill};
use model::operation::Operation;
use model::plan::{
    Content, Creation, Expected, Pattern, Plan, Preparation, TargetPlan, TimeSpanPlan, WorkerTarget, WriteSourcePlan,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use sys::file_identity;
use sys::mapping::Mapping;

/// A file that is about to be written to, open for reading.
#[derive(Debug)]
struct InspectedFile {
    file: File,
    /// The targets that are this file.
    targets: Vec<usize>,
}

/// Files that are prepared for the workers.
#[derive(Debug)]
pub(crate) struct Ready {
    made: BTreeSet<FileIdentity>,
    write_sources: Vec<Option<(Arc<Mapping>, u64)>>,
    counters: Vec<Arc<AtomicU64>>,
    devices: Arc<DeviceGuards>,
    pub(crate) root: Root,
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
            root: Root::machine(),
        }
    }

    /// True if this run made the file.
    pub(crate) fn has_created(&self, identity: FileIdentity) -> bool {
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

/// Prepares the timespans of one run; remembers what it made and wrote to.
#[derive(Debug)]
pub(crate) struct Preparer {
    root: Root,
    pub(crate) files: WrittenFiles,
    /// The files that the timespan will write to.
    looks: Vec<InspectedFile>,
    /// Held from before the first write to the end of the run.
    devices: Arc<DeviceGuards>,
    /// When other hosts begin to write, in nanoseconds of the monotonic clock.
    pub(crate) agreed_start_ns: Option<u64>,
}

impl Preparer {
    /// `root`: where the kernel's files are.
    pub(crate) fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            files: WrittenFiles::default(),
            looks: Vec::new(),
            devices: Arc::default(),
            agreed_start_ns: None,
        }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Does what the plan wants before the first timespan. Nothing is written before every target has been checked.
    pub(crate) fn prepare_first(
        &mut self,
        plan: &Plan,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Unprepared> {
        self.devices = Arc::new(DeviceGuards::take(plan, &self.root)?);
        self.check_existing(plan)?;
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

    /// Prepares a timespan, in target order.
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
        self.looks = self.look_at_written(plan)?;
        if plan.cold {
            plan.targets.iter().try_for_each(drop_cached)?;
        }
        let counters = (0..plan.shared_counters).map(|_| Arc::default()).collect();
        let (devices, root) = (Arc::clone(&self.devices), self.root.clone());
        Ok(Ready { made: self.files.created(), write_sources, counters, devices, root })
    }

    /// All files that exist and that the plan makes anew or writes to are still what was checked, and nobody else
    /// has them open.
    fn check_existing(&self, plan: &Plan) -> Result<(), String> {
        let creations = plan
            .precreate
            .iter()
            .chain(plan.time_spans.iter().flat_map(|span| span.targets.iter().map(|target| &target.preparation)));
        let anew = creations.filter_map(|step| match step {
            Preparation::Create(Creation { path, replaces: Some(stamp), .. }) => Some((path, *stamp)),
            _ => None,
        });
        let written = plan.time_spans.iter().flat_map(|span| &span.targets).filter(|target| is_written_file(target));
        let (shared, written): (Vec<&TargetPlan>, Vec<&TargetPlan>) =
            written.partition(|target| target.shared_run.is_some());
        let written = written.into_iter().filter_map(|target| Some((&target.path, checked(target)?)));
        let mut seen = BTreeSet::new();
        for (path, stamp) in anew.chain(written).filter(|(path, _)| seen.insert(*path)) {
            self.files.open_checked(path, Some(stamp))?;
        }
        shared.into_iter().try_for_each(|target| self.look_at(target).map(drop))
    }

    /// Opens a file that is about to be written to for reading, if it is what was checked; other than for
    /// [`WrittenFiles::open_checked`], others may have it open.
    fn look_at(&self, target: &TargetPlan) -> Result<(File, FileStamp), String> {
        let error = |error| format!("cannot check '{}': {error}", target.path.display());
        let file = sys::file::open_to_look(&target.path).map_err(error)?;
        let stamp = self.compare(&file, target)?;
        Ok((file, stamp))
    }

    /// The file of a target is still what was checked.
    fn compare(&self, file: &File, target: &TargetPlan) -> Result<FileStamp, String> {
        match &target.shared_run {
            None => self.files.compare(file, &target.path, checked(target)),
            Some(run) => {
                // Clocks of hosts differ a little.
                let margin_ns = 100_000_000;
                let start_ns = self.agreed_start_ns.unwrap_or(u64::MAX);
                let looked = written_files::compare_shared(file, &target.path, checked(target), run, true);
                if looked.is_ok() || sys::clock::monotonic_ns().saturating_add(margin_ns) < start_ns {
                    return looked;
                }
                written_files::compare_shared(file, &target.path, checked(target), run, false)
            }
        }
    }

    /// Nobody else has the file of a target open, but for other hosts that write to it, too.
    fn check_unused(&self, file: &File, target: &TargetPlan, identity: FileIdentity) -> Result<(), String> {
        let unused = written_files::check_unused(file, &target.path);
        if unused.is_err() && target.shared_run.is_some() {
            let users = host::users_of_shared_file(&self.root, &target.path, identity);
            return check_users(&[(target.path.clone(), identity)], &BTreeMap::from([(identity, users)]));
        }
        unused
    }

    /// Looks at each file that the timespan writes to.
    fn look_at_written(&self, plan: &TimeSpanPlan) -> Result<Vec<InspectedFile>, String> {
        let mut seen: BTreeMap<FileIdentity, usize> = BTreeMap::new();
        let mut looks: Vec<InspectedFile> = Vec::new();
        for (index, target) in plan.targets.iter().enumerate().filter(|(_, target)| is_written_file(target)) {
            let (file, stamp) = self.look_at(target)?;
            if let Some(known) = seen.get(&stamp.identity) {
                // The descriptor is closed here: a second one would look like another user.
                looks[*known].targets.push(index);
                continue;
            }
            self.check_unused(&file, target, stamp.identity)?;
            seen.insert(stamp.identity, looks.len());
            looks.push(InspectedFile { file, targets: vec![index] });
        }
        Ok(looks)
    }

    /// Closes the files that the run wrote to and reports failures.
    pub(crate) fn close_files(&mut self, observer: &mut dyn Observer) {
        self.looks.clear();
        for reason in self.files.close_all() {
            observer.observe(&Event::Warning { message: &reason });
        }
    }

    /// The last look, when all threads are ready and the start event has come: the files are still what was checked,
    /// and nobody who can be seen has opened them while the run waited. Then they are marked as being written to.
    pub(crate) fn begin_writing(&mut self, plan: &TimeSpanPlan, has_waited: bool) -> Result<(), String> {
        let looks = std::mem::take(&mut self.looks);
        let mut files = Vec::with_capacity(looks.len());
        for InspectedFile { file, targets } in &looks {
            let target = &plan.targets[targets[0]];
            let stamp = self.compare(file, target)?;
            files.push((target.path.clone(), stamp.identity));
        }
        if has_waited {
            for (InspectedFile { file, .. }, (path, _)) in looks.iter().zip(&files) {
                still_at_its_place(file, path)?;
            }
            let is_alone = |index: usize| plan.targets[looks[index].targets[0]].shared_run.is_none();
            let (alone, shared): (Vec<_>, Vec<_>) =
                files.iter().cloned().enumerate().partition(|(index, _)| is_alone(*index));
            let alone: Vec<_> = alone.into_iter().map(|(_, file)| file).collect();
            check_users(&alone, &host::users_of_files(&self.root, &alone))?;
            for (_, file) in shared {
                let users = host::users_of_shared_file(&self.root, &file.0, file.1);
                check_users(std::slice::from_ref(&file), &BTreeMap::from([(file.1, users)]))?;
            }
        }
        let mut works = vec![Vec::new(); plan.targets.len()];
        for work in plan.workers.iter().flat_map(|worker| &worker.targets) {
            works[work.target].push(work);
        }
        for InspectedFile { file, targets } in &looks {
            let mut works = targets.iter().flat_map(|target| &works[*target]);
            let verifies = plan.verification.is_some();
            let keeps = |fill, work: &WorkerTarget| preserves(fill, work) && !(verifies && work.does(Operation::Write));
            let after = |fill| if works.all(|work| keeps(fill, work)) { fill } else { Fill::Mixed };
            let target = &plan.targets[targets[0]];
            match &target.shared_run {
                None => self.files.begin(file, &target.path, after)?,
                Some(run) => self.files.begin_shared(file, &target.path, run, after)?,
            }
        }
        Ok(())
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
            Preparation::Create(creation) => create::create(creation, &mut self.files, interrupt, observer)?,
        }
        Ok(())
    }
}

/// Nobody else who can be seen uses these files.
fn check_users(files: &[(PathBuf, FileIdentity)], users: &BTreeMap<FileIdentity, Vec<String>>) -> Result<(), String> {
    let used =
        files.iter().find_map(|(path, identity)| Some((path, users.get(identity).filter(|users| !users.is_empty())?)));
    used.map_or(Ok(()), |(path, users)| {
        let (path, users) = (path.display(), users.join(", "));
        Err(format!("'{path}' was in use ({users}) by the time the start event arrived; the file was not touched"))
    })
}

/// State of a file when it was checked; `None` if the run creates it.
fn checked(target: &TargetPlan) -> Option<FileStamp> {
    match target.expect {
        Expected::File(stamp) => Some(stamp),
        _ => None,
    }
}

fn is_written_file(target: &TargetPlan) -> bool {
    target.open.write && matches!(target.expect, Expected::File(_) | Expected::Prepared)
}

/// A file whose name now leads elsewhere is written to only if it has no name at all.
fn still_at_its_place(look: &File, path: &Path) -> Result<(), String> {
    let error = |error| format!("cannot check '{}': {error}", path.display());
    let own = file_identity::state(look).map_err(error)?;
    if own.links == 0 {
        return Ok(());
    }
    let found = sys::file::open_to_look(path).and_then(|file| file_identity::state(&file)).map_err(error)?;
    if found.is_same_file(&own) {
        return Ok(());
    }
    Err(format!("'{}' is no longer the file that was checked; it was not touched", path.display()))
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
        // Discarded ranges may read as anything.
        _ if work.changes_without_data() || work.pattern.empties_file().is_some() => false,
        _ if !work.does(Operation::Write) => true,
        (Fill::Zero, Content::Zero) | (Fill::Random, Content::RandomEach | Content::Source) => true,
        (Fill::Reducible(filled), Content::Reducible(written)) => filled == written,
        (Fill::Ramp, Content::Ramp) => {
            let area = work.pattern.area();
            // Ranges and thread starts may leave the grid of offsets, but not that of 256 bytes
            // unless they are not multiples of it themselves.
            let start = match &work.pattern {
                Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => *start_bytes,
                Pattern::Random { ranges, .. } | Pattern::Mixed { ranges, .. } => {
                    ranges.iter().fold(0, |bits, range| bits | range.start_bytes)
                }
                Pattern::Append { .. } | Pattern::Interlocked { .. } | Pattern::Recorded { .. } => 0,
            };
            let sizes = work.sizes.iter().flat_map(|sizes| &sizes.sizes);
            let sizes = sizes.fold(0, |bits, size| bits | size.bytes | size.alignment_bytes);
            (work.block_bytes | sizes | area.base_bytes | area.alignment_bytes | start).is_multiple_of(256)
        }
        _ => false,
    }
}

/// Fills the source that writes to a target are taken from.
fn write_source(target: &TargetPlan, rng: &mut Rng) -> Result<Option<(Arc<Mapping>, u64)>, String> {
    let Some(plan) = &target.write_source else { return Ok(None) };
    let no_memory = |error| format!("cannot allocate {} bytes for the write source: {error}", plan.size_bytes);
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
    let file = sys::confinement::open_to_read(path).map_err(error)?;
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
