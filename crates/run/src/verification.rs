//! `--verify`: what all threads of a timespan share, and what they found.

use crate::clock::RunClock;
use crate::journal::Journal;
use crate::phase::Stop;
use crate::run_log::{self, RunLog};
use engine::target::{self, Opened};
use host::{DirectReader, Root};
use hot::clock::Clock;
use hot::counters::Counter;
use model::corruption::CorruptionClass as Class;
use model::placement::DevicePlace;
use model::plan::{Preparation, TimeSpanPlan};
use model::verification::{
    CorruptUnit, CorruptUnits, ExpectedContent, SecondRead, UnitHeader, VerificationFigures, VerificationPlan,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, fence};
use std::sync::{Arc, Mutex, PoisonError};
use verify::check::{Expected, Verdict, check_unit};
use verify::classify::{self, AROUND_BYTES, Evidence};
use verify::log::{self, RunFile};
use verify::map::{GenerationMap, MapEntry};
use verify::run_number;
use verify::saved::{self, SavedTarget};
use verify::target::{TargetCounters, VerifiedTarget};
use verify::unit::{Erases, Header, Pool, Traits, UNITS_MAX, UnitSize, first_bytes, is_intact, tag};

/// Corrupt units that are reported one by one.
const REPORTED_MAX: usize = 100;

/// Corrupt units that are told apart; more are counted each time they are read.
const DISTINCT_MAX: usize = 100_000;

/// Units of a run that is verified.
#[derive(Debug)]
pub(crate) struct Verification {
    plan: VerificationPlan,
    /// Number of the run, in each unit that it writes.
    run: u64,
    /// Times of writes count from here.
    pub(crate) origin_ns: u64,
    pub(crate) pool: Pool,
    /// Changes and flushes that began: the ticket of the next one.
    tickets: AtomicU64,
    /// `--journal`.
    pub(crate) log: Option<RunLog>,
    /// By target of the plan; several are one if they are the same file or device.
    targets: Box<[Arc<VerifiedTarget>]>,
    paths: Box<[PathBuf]>,
    is_written: Box<[bool]>,
    sizes_bytes: Box<[u64]>,
    /// As in a saved map.
    identities: Box<[(u64, u64)]>,
    /// Lasting names of each target.
    names: Box<[Vec<String>]>,
    /// Which start of the machine it is.
    boot: String,
    /// By worker.
    cells: Box<[Cells]>,
    found: Mutex<VerifiedUnits>,
    stop: Arc<Stop>,
    /// Corrupt units at which the run was ended; 0 = it was not.
    ended_by: AtomicU64,
}

/// Counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    pub(crate) checked: Counter,
    pub(crate) unchecked: Counter,
    /// I/Os that waited for units.
    pub(crate) waiting: Counter,
    /// Reads that failed because the storage could not return the data.
    pub(crate) unreadable: Counter,
}

#[derive(Debug, Default)]
struct VerifiedUnits {
    units: [u64; Class::ALL.len()],
    first: Vec<CorruptUnit>,
    /// Target, unit, and what it must hold.
    seen: BTreeSet<(u32, u64, ExpectedContent)>,
}

/// A unit that is not what it must be.
pub(crate) struct Corrupt<'a> {
    /// Index of the target in the plan.
    pub(crate) target: usize,
    pub(crate) unit: u64,
    /// The data that was read; `None` = the read failed.
    pub(crate) bytes: Option<&'a [u8]>,
    pub(crate) class: Class,
    pub(crate) expected: Expected,
    /// Its entry before the read.
    pub(crate) noted: MapEntry,
    /// Thread that read it.
    pub(crate) thread: u32,
    pub(crate) now_ns: u64,
}

impl Verification {
    /// The maps of a timespan, all unknown; `None` without `--verify`.
    ///
    /// # Errors
    ///
    /// If a target cannot be identified, or the logs of the journal cannot be made.
    pub(crate) fn new(
        plan: &TimeSpanPlan,
        stop: &Arc<Stop>,
        clock: RunClock,
        (journal, root): (Option<Journal<'_>>, &Root),
    ) -> Result<Option<Self>, String> {
        let Some(settings) = &plan.verification else { return Ok(None) };
        let Some(unit) = UnitSize::new(u64::from(settings.unit_bytes)) else { return Ok(None) };
        let started_ms = u64::try_from(sys::clock::realtime_ns() / 1_000_000).unwrap_or_default();
        let run = run_number::number(started_ms, RandomState::new().build_hasher().finish());
        let mut opened: Vec<Opened> = Vec::new();
        let mut names: Vec<Vec<String>> = Vec::new();
        // The number of the first target that is the same file or device.
        let mut same: Vec<u32> = Vec::new();
        for (number, target) in (0..).zip(&plan.targets) {
            let error = |error| format!("cannot check '{}': {error}", target.path.display());
            let file = sys::file::open_to_look(&target.path).map_err(error)?;
            let found = target::identify(&file).map_err(error)?;
            names.push(host::lasting_names(root, &file));
            same.push(opened.iter().position(|other| is_same(*other, found)).map_or(number, |twin| twin as u32));
            opened.push(found);
        }
        let mut targets: Vec<Arc<VerifiedTarget>> = Vec::new();
        for (number, target) in (0..).zip(&plan.targets) {
            let (index, twin) = (number as usize, same[number as usize]);
            if twin != number {
                targets.push(Arc::clone(&targets[twin as usize]));
                continue;
            }
            let units = target.size_bytes.div_ceil(unit.bytes());
            let cells = sys::mapping::untouched_cells(GenerationMap::cell_count(units, settings.target_map_bytes_max));
            let discards_to_zeros = matches!(opened[index], Opened::File { .. });
            let mut paths = plan.targets.iter().zip(&same).filter(|(_, twin)| **twin == number);
            let traits = Traits {
                tag: names[index].first().map_or(0, |name| tag(name)),
                is_mapped: run_log::works(plan, &same, number).any(|work| work.mapped.is_some()),
                is_refilled: paths.any(|(target, _)| matches!(target.preparation, Preparation::Create(_))),
                erases: match run_log::is_erased(plan, &same, number) {
                    false => Erases::Never,
                    true if discards_to_zeros => Erases::ToZeros,
                    true => Erases::ToAnything,
                },
            };
            targets.push(Arc::new(VerifiedTarget {
                run,
                target: number,
                unit,
                map: GenerationMap::new(cells, units),
                discards_to_zeros,
                traits,
                counters: TargetCounters::default(),
            }));
        }
        let mut verification = Self {
            plan: settings.clone(),
            run,
            origin_ns: clock.now_ns(),
            pool: Pool::new(run),
            tickets: AtomicU64::new(1),
            log: None,
            targets: targets.into(),
            paths: plan.targets.iter().map(|target| target.path.clone()).collect(),
            is_written: plan.targets.iter().map(|target| target.open.write).collect(),
            names: names.into(),
            boot: host::boot_id(root),
            identities: opened.iter().map(|opened| opened.numbers()).collect(),
            sizes_bytes: plan.targets.iter().map(|target| target.size_bytes).collect(),
            cells: plan.workers.iter().map(|_| Cells::default()).collect(),
            found: Mutex::default(),
            stop: Arc::clone(stop),
            ended_by: AtomicU64::new(0),
        };
        if let Some(journal) = journal {
            verification.log = Some(verification.begin_log(plan, journal, stop)?);
        }
        Ok(Some(verification))
    }

    fn begin_log(&self, plan: &TimeSpanPlan, journal: Journal<'_>, stop: &Arc<Stop>) -> Result<RunLog, String> {
        let requests = plan.workers.iter().map(|worker| worker.slots).max().unwrap_or(0);
        let units = self.targets.iter().map(|target| target.map.units()).max().unwrap_or(0);
        if requests > log::REQUESTS_MAX || units > UNITS_MAX || self.targets.len() > log::TARGETS_MAX {
            return Err("--journal: too many requests, targets, or units of a target to be logged".to_owned());
        }
        let same: Vec<u32> = self.targets.iter().map(|target| target.target).collect();
        let targets = run_log::logged_targets(plan, self.saved().map(|(saved, _)| saved).collect(), &same);
        for (target, _) in plan.targets.iter().zip(&same).filter(|(target, _)| target.open.write) {
            run_log::sync_target(&target.path)?;
        }
        let run = RunFile {
            run: self.run,
            threads: plan.workers.len() as u32,
            boot: self.boot.clone(),
            mount: journal.folder.mount().unwrap_or(0),
            targets,
        };
        RunLog::begin(journal, &run, stop)
    }

    /// A new ticket for a change or flush that is about to begin, after its units were claimed.
    #[inline]
    pub(crate) fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, SeqCst)
    }

    /// The next ticket, read after an I/O came back: each change that has this ticket or a larger one began later.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        fence(SeqCst);
        self.tickets.load(SeqCst)
    }

    /// The targets that were written to.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().zip(&self.is_written).filter(|(_, is_written)| **is_written).map(|(path, _)| path.as_path())
    }

    /// Size of a target now: a file that is appended to may be shorter than the plan allows.
    fn present_bytes(&self, index: usize) -> u64 {
        let planned = self.sizes_bytes[index];
        match std::fs::metadata(&self.paths[index]) {
            Ok(found) if found.is_file() => planned.min(found.len()),
            _ => planned,
        }
    }

    /// The distinct targets, as they are saved.
    fn saved(&self) -> impl Iterator<Item = (SavedTarget, &GenerationMap)> {
        let distinct = self.targets.iter().enumerate().filter(|(index, target)| target.target as usize == *index);
        distinct.map(|(index, target)| {
            let saved = SavedTarget {
                target: target.target,
                path: self.paths[index].as_os_str().as_encoded_bytes().to_vec(),
                names: self.names[index].clone(),
                identity: self.identities[index],
                size_bytes: self.sizes_bytes[index],
                unit_bytes: self.plan.unit_bytes,
                is_exact: target.map.is_exact(),
            };
            (saved, &target.map)
        })
    }

    pub(crate) fn unit(&self) -> UnitSize {
        self.targets[0].unit
    }

    /// A target, by its index in the plan.
    #[inline]
    pub(crate) fn target(&self, index: usize) -> &VerifiedTarget {
        &self.targets[index]
    }

    pub(crate) fn cells(&self, worker: u32) -> &Cells {
        &self.cells[worker as usize]
    }

    /// Corrupt units that ended the run.
    pub(crate) fn ended_by(&self) -> Option<u64> {
        Some(self.ended_by.load(Relaxed)).filter(|&units| units > 0)
    }

    /// Results of the verification; `places` looks up pieces of a target on the devices below it.
    pub(crate) fn figures(
        &self,
        places: impl Fn(&Path, &[Range<u64>]) -> Vec<Vec<DevicePlace>>,
    ) -> VerificationFigures {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |cell: fn(&Cells) -> &Counter| self.cells.iter().map(|cells| cell(cells).get()).sum::<u64>();
        let (checked_units, unchecked_units) = (sum(|cells| &cells.checked), sum(|cells| &cells.unchecked));
        let corrupt = Class::ALL.into_iter().zip(found.units).filter(|(_, units)| *units > 0);
        VerificationFigures {
            unit_bytes: self.plan.unit_bytes,
            is_exact: self.plan.is_exact,
            checked_units,
            unchecked_units,
            unchecked_percent: None,
            unreadable_ios: sum(|cells| &cells.unreadable),
            waiting_ios: sum(|cells| &cells.waiting),
            corrupt: corrupt.map(|(class, units)| CorruptUnits { class, units }).collect(),
            first: self.with_places(&found.first, places),
        }
    }

    fn with_places(
        &self,
        units: &[CorruptUnit],
        places: impl Fn(&Path, &[Range<u64>]) -> Vec<Vec<DevicePlace>>,
    ) -> Vec<CorruptUnit> {
        let mut units = units.to_vec();
        for path in &self.paths {
            let mut of_target: Vec<&mut CorruptUnit> =
                units.iter_mut().filter(|unit| unit.path == *path && unit.places.is_empty()).collect();
            let unit_bytes = u64::from(self.plan.unit_bytes);
            let pieces: Vec<Range<u64>> =
                of_target.iter().map(|unit| unit.offset_bytes..unit.offset_bytes + unit_bytes).collect();
            if !pieces.is_empty() {
                of_target.iter_mut().zip(places(path, &pieces)).for_each(|(unit, places)| unit.places = places);
            }
        }
        units
    }

    /// A unit is corrupt: reads more to find out how, and keeps it.
    #[cold]
    pub(crate) fn keep(&self, corrupt: &Corrupt<'_>) {
        let target = &self.targets[corrupt.target];
        let content = match corrupt.expected {
            Expected::State(state) => state.into(),
            Expected::Itself => ExpectedContent::Unknown,
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = found.seen.len() >= DISTINCT_MAX || found.seen.insert((target.target, corrupt.unit, content));
        if !is_new {
            return;
        }
        let is_reported = found.first.len() < REPORTED_MAX;
        let again = if is_reported { self.read_again(corrupt) } else { RereadUnit::default() };
        let class = corrupt.bytes.map_or(corrupt.class, |bytes| again.class(bytes, target, corrupt));
        let place = Class::ALL.iter().position(|other| *other == class).unwrap_or_default();
        found.units[place] += 1;
        let units: u64 = found.units.iter().sum();
        if is_reported {
            found.first.push(CorruptUnit {
                path: self.paths[corrupt.target].clone(),
                offset_bytes: corrupt.unit * target.unit.bytes(),
                class,
                at_ns: corrupt.now_ns.saturating_sub(self.origin_ns),
                thread: corrupt.thread,
                expected: content,
                found: corrupt.bytes.and_then(|bytes| self.described(bytes)),
                first_bytes: corrupt.bytes.map(first_bytes).unwrap_or_default(),
                second_read: again.second(target, corrupt),
                places: Vec::new(),
                kernel_messages: Vec::new(),
            });
        }
        if self.plan.stop_after.is_some_and(|most| units >= most) && self.ended_by.load(Relaxed) == 0 {
            self.ended_by.store(units, Relaxed);
            self.stop.request(sys::clock::monotonic_ns());
        }
    }

    /// Saves the maps in a file, in place of those of an earlier timespan. After an error the file is empty.
    pub(crate) fn save(&self, mut file: &File) -> io::Result<()> {
        let mut targets: Vec<_> = self.saved().collect();
        for (saved, _) in &mut targets {
            saved.size_bytes = self.present_bytes(saved.target as usize);
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        let mut buffered = BufWriter::new(file);
        let written = saved::write(&mut buffered, self.run, &self.boot, &targets).and_then(|()| buffered.flush());
        drop(buffered);
        let written = written.and_then(|()| file.sync_all());
        if written.is_err() {
            // The first error is the one that counts.
            let _ = file.set_len(0);
        }
        written
    }

    fn described(&self, bytes: &[u8]) -> Option<UnitHeader> {
        let header = Header::read(bytes)?;
        Some(UnitHeader {
            is_intact: is_intact(bytes),
            is_of_this_run: header.run == self.run,
            write: header.as_write(),
        })
    }

    /// Reads a unit again with those around it, and the place that it belongs to.
    fn read_again(&self, corrupt: &Corrupt<'_>) -> RereadUnit {
        let target = &self.targets[corrupt.target];
        let (unit_bytes, size_bytes) = (target.unit.bytes(), self.sizes_bytes[corrupt.target]);
        let at = corrupt.unit * unit_bytes;
        let start = at.saturating_sub(AROUND_BYTES);
        let end = (at + unit_bytes + AROUND_BYTES).min(size_bytes);
        let around = self.read(corrupt.target, start..end).ok();
        let failed = around.is_none();
        // Whoever writes to the unit meanwhile takes it.
        let around = around.filter(|_| target.map.note(corrupt.unit) == corrupt.noted);
        let home = corrupt.bytes.and_then(classify::home).and_then(|place| {
            let index = self.targets.iter().position(|other| place.run == self.run && other.target == place.target)?;
            let at = place.unit.checked_mul(unit_bytes).filter(|at| at + unit_bytes <= self.sizes_bytes[index])?;
            self.read(index, at..at + unit_bytes).ok()
        });
        RereadUnit {
            around,
            around_offset: start,
            before: (at - start) as usize,
            unit_bytes: unit_bytes as usize,
            home,
            failed,
        }
    }

    /// Reads part of a target, past the page cache where that is possible.
    fn read(&self, index: usize, part: Range<u64>) -> io::Result<Vec<u8>> {
        let length = (part.end - part.start) as usize;
        let mut reader = DirectReader::where_possible(&self.paths[index], length)?;
        Ok(reader.read_range(part.start, length)?.to_vec())
    }
}

/// Data read again after a unit turned out to be corrupt.
#[derive(Default)]
struct RereadUnit {
    /// `None` if it failed, or if the unit changed meanwhile.
    around: Option<Vec<u8>>,
    around_offset: u64,
    /// Bytes of `around` before the unit.
    before: usize,
    unit_bytes: usize,
    /// The place that the unit belongs to.
    home: Option<Vec<u8>>,
    failed: bool,
}

impl RereadUnit {
    fn unit(&self) -> Option<&[u8]> {
        self.around.as_ref()?.get(self.before..self.before + self.unit_bytes)
    }

    fn class(&self, bytes: &[u8], target: &VerifiedTarget, corrupt: &Corrupt<'_>) -> Class {
        let around: Vec<&[u8]> = match &self.around {
            Some(around) => around.chunks_exact(self.unit_bytes).collect(),
            None => Vec::new(),
        };
        let evidence = Evidence {
            again: self.unit(),
            home: self.home.as_deref(),
            around: &around,
            around_offset: self.around_offset,
        };
        classify::classify(bytes, &target.place(corrupt.unit), corrupt.expected, corrupt.class, evidence)
    }

    fn second(&self, target: &VerifiedTarget, corrupt: &Corrupt<'_>) -> Option<SecondRead> {
        if self.failed {
            return Some(SecondRead::Failed);
        }
        let again = self.unit()?;
        let verdict = check_unit(again, &target.place(corrupt.unit), corrupt.expected, u64::MAX);
        Some(match verdict {
            Verdict::Right => SecondRead::Right,
            _ if corrupt.bytes == Some(again) => SecondRead::Same,
            _ => SecondRead::Other,
        })
    }
}

fn is_same(one: Opened, other: Opened) -> bool {
    match (one, other) {
        (Opened::File { identity: one, .. }, Opened::File { identity: other, .. }) => one == other,
        (one, other) => one == other,
    }
}
