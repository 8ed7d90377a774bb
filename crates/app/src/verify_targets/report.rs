//! Findings of `diskspd verify`, as text and JSON.

use crate::corrupt_unit::{self, keep};
use crate::target_reading::{ChunkFindings, OTHER_TARGET, OTHER_TARGET_OUTCOME, THROUGH_CACHE};
use jiff::Timestamp;
use model::corruption::CorruptionClass as Class;
use model::units::{Bytes, counted, percent_rounded_down};
use model::verification::{ExpectedContent, Outcome, UnitWrite};
use render::document::VERIFY_SCHEMA;
use report::{CorruptUnitText, Report, VerifiedTarget};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use verify::check::Verdict;
use verify::coverage::Coverage;
use verify::later::LaterRuns;
use verify::run_number;
use verify::unit::Header;

/// Maximum number of torn units printed per target.
const TORN_SHOWN_MAX: usize = 10;

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct VerifyReport {
    schema: &'static str,
    experimental: bool,
    pub(super) outcome: Outcome,
    pub(super) targets: Vec<TargetReport>,
}

/// Findings on a target.
#[derive(Debug, Serialize)]
pub(super) struct TargetReport {
    #[serde(with = "model::path")]
    path: PathBuf,
    size_bytes: u64,
    /// Offset of the first read (`--from`).
    pub(super) from_bytes: u64,
    /// Less than the rest of the size if it was interrupted, or became shorter.
    read_bytes: u64,
    /// Offset at which to continue (`--from`) after an interruption; null = it was read to the end.
    pub(super) resume_bytes: Option<u64>,
    /// The reason why it could not be read; null = it could.
    error: Option<String>,
    /// Reads that failed; their blocks were read one by one, and those that failed again are corrupt units.
    failed_reads: u64,
    pub(super) past_page_cache: bool,
    /// False: units were only compared with their own headers.
    pub(super) compared_with_map: bool,
    /// The run of the saved map.
    pub(super) run: Option<String>,
    pub(super) unit_bytes: Option<u64>,
    /// Units of the target; null without a map.
    pub(super) units: Option<u64>,
    /// Units whose expected contents are in the map.
    pub(super) known_units: Option<u64>,
    /// Units with a header.
    found_units: u64,
    checked_units: u64,
    unchecked_units: u64,
    /// Units without a map that have sectors of several writes, or that a copy into a mapping left: the effect of a
    /// killed run or a power cut. They are not checked.
    unfinished_units: u64,
    /// The first 100 of these.
    unfinished: Vec<CorruptUnit>,
    /// Units at another place than their headers name, of runs most of whose units are: written to another target, such
    /// as a file on this device. They are not checked.
    displaced_units: u64,
    /// Without a map: units that runs wrote, that are missing, and that are more than later runs can have overwritten.
    pub(super) missing_units: u64,
    /// Without a map: bytes that belong to no unit, where units may have been. 0 if all units of all runs are present.
    pub(super) unknown_bytes: u64,
    /// The latest run that wrote to the target after that of the map; null = none did in the range with contents known
    /// from the map, or there is no map.
    later_run: Option<LaterRun>,
    /// Nanoseconds from the saving of the map to the last change of the file; null = it was not changed.
    pub(super) changed_after_ns: Option<u64>,
    /// False: the target cannot be identified as that of the run of the map, and no unit of that run is on it. Then
    /// only unreadable bytes count as corrupt.
    is_target_of_run: bool,
    /// Percentage of the target's bytes.
    checked_percent: f64,
    corrupt_units: u64,
    corrupt_by_class: BTreeMap<&'static str, u64>,
    /// The first 100, by offset.
    first: Vec<CorruptUnit>,
}

/// A run that began after that of the map.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LaterRun {
    run: String,
    /// Time when it began, in milliseconds since 1970.
    started_unix_ms: u64,
    /// Units of all later runs.
    units: u64,
    /// Units that differ from the map, and are not corrupt for that reason.
    differing_units: u64,
}

pub(super) type CorruptUnit = corrupt_unit::CorruptUnit<Comparison>;

/// Expected and found contents.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) expected: ExpectedUnit,
    /// Contents of its header; null = it has none.
    pub(super) found: Option<FoundUnit>,
}

/// Expected contents of a unit.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExpectedUnit {
    /// A unit of this place with a right checksum.
    Itself,
    #[serde(untagged)]
    Content(ExpectedContent),
}

/// Contents of a header.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FoundUnit {
    is_intact: bool,
    #[serde(skip)]
    run_number: u64,
    run: String,
    /// Null without a map.
    is_of_run: Option<bool>,
    #[serde(flatten)]
    write: UnitWrite,
}

impl FoundUnit {
    pub(super) fn from_header(header: &Header, is_intact: bool, run: Option<u64>) -> Self {
        Self {
            is_intact,
            run_number: header.run,
            run: format!("{:016x}", header.run),
            is_of_run: run.map(|run| run == header.run),
            write: header.as_write(),
        }
    }
}

/// Findings so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) read_bytes: u64,
    pub(super) failed_reads: u64,
    pub(super) found_units: u64,
    checked_units: u64,
    unchecked_units: u64,
    checked_bytes: u64,
    by_class: BTreeMap<Class, u64>,
    bytes_by_class: BTreeMap<Class, u64>,
    first: Vec<CorruptUnit>,
    unfinished_units: u64,
    unfinished: Vec<CorruptUnit>,
    /// Without a map: the places of the units of each run.
    places: BTreeMap<u64, Places>,
    /// Without a map.
    pub(super) coverage: Coverage,
    /// Later runs than that of the map.
    pub(super) later: LaterRuns,
    /// Units that differ from the map because of those.
    differing_units: u64,
    is_other_target: bool,
    error: Option<String>,
}

/// Places of the units of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    right: u64,
    misdirected: u64,
    duplicated: u64,
}

impl ChunkFindings for Progress {
    fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    fn merge(&mut self, other: Self) {
        self.read_bytes += other.read_bytes;
        self.failed_reads += other.failed_reads;
        self.found_units += other.found_units;
        self.checked_units += other.checked_units;
        self.unchecked_units += other.unchecked_units;
        self.checked_bytes += other.checked_bytes;
        for (class, units) in other.by_class {
            *self.by_class.entry(class).or_default() += units;
        }
        for (class, bytes) in other.bytes_by_class {
            *self.bytes_by_class.entry(class).or_default() += bytes;
        }
        other.first.into_iter().for_each(|unit| keep(&mut self.first, unit));
        self.unfinished_units += other.unfinished_units;
        other.unfinished.into_iter().for_each(|unit| keep(&mut self.unfinished, unit));
        for (run, places) in other.places {
            let sum = self.places.entry(run).or_default();
            sum.right += places.right;
            sum.misdirected += places.misdirected;
            sum.duplicated += places.duplicated;
        }
        self.coverage.merge(other.coverage);
        self.later.merge(other.later);
        self.differing_units += other.differing_units;
        self.error = self.error.take().or(other.error);
    }
}

impl Progress {
    pub(super) fn of_read(read_bytes: u64, tags: &[u64]) -> Self {
        Self { read_bytes, later: LaterRuns::new(tags), ..Self::default() }
    }

    /// Handles a target that cannot be identified as that of the run: if no unit of the run is on it, only unreadable
    /// bytes count as corrupt.
    pub(super) fn absolve_other_target(&mut self) {
        self.is_other_target = self.found_units == 0;
        if !self.is_other_target {
            return;
        }
        for class in Class::ALL.into_iter().filter(|class| *class != Class::Unreadable) {
            self.absolve(class, self.by_class.get(&class).copied().unwrap_or(0));
        }
        self.first.retain(|unit| unit.class == Class::Unreadable);
    }

    /// Counts units in holes, whose contents are unknown, and which were not read.
    pub(super) fn skip(&mut self, bytes: u64, units: u64) {
        self.read_bytes += bytes;
        self.unchecked_units += units;
    }

    pub(super) fn count(&mut self, verdict: Verdict, unit_bytes: u64) {
        if matches!(verdict, Verdict::Right | Verdict::Wrong(_)) {
            self.checked_units += 1;
            self.checked_bytes += unit_bytes;
        } else {
            self.unchecked_units += 1;
        }
    }

    /// Counts this many bytes as unreadable; those beyond the end of a file that became shorter are not an error.
    pub(super) fn not_read(&mut self, bytes: u64, error: &io::Error) {
        self.read_bytes -= bytes;
        if error.kind() != io::ErrorKind::UnexpectedEof {
            self.error.get_or_insert_with(|| error.to_string());
        }
    }

    pub(super) fn at_its_place(&mut self, run: u64) {
        self.places.entry(run).or_default().right += 1;
    }

    pub(super) fn elsewhere(&mut self, run: u64, class: Class) {
        let places = self.places.entry(run).or_default();
        *if class == Class::Duplicated { &mut places.duplicated } else { &mut places.misdirected } += 1;
    }

    /// Counts a unit of a later run where the map has other contents or is too small.
    pub(super) fn differs(&mut self) {
        self.differing_units += 1;
        self.unchecked_units += 1;
    }

    pub(super) fn unfinished(&mut self, unit: CorruptUnit) {
        self.unfinished_units += 1;
        keep(&mut self.unfinished, unit);
    }

    pub(super) fn wrong(&mut self, unit: CorruptUnit) {
        *self.by_class.entry(unit.class).or_default() += 1;
        *self.bytes_by_class.entry(unit.class).or_default() += unit.unit_bytes;
        keep(&mut self.first, unit);
    }

    /// Withdraws findings about `units` units of a class; returns how many.
    fn absolve(&mut self, class: Class, units: u64) -> u64 {
        let all = self.by_class.remove(&class).unwrap_or(0);
        let left = all.saturating_sub(units);
        if left > 0 {
            self.by_class.insert(class, left);
        }
        // Units of one class have the same size, but for those of several runs.
        let bytes = self.bytes_by_class.get(&class).map_or(0, |bytes| bytes / all.max(1) * units);
        self.checked_bytes = self.checked_bytes.saturating_sub(bytes);
        self.checked_units -= units;
        self.unchecked_units += units;
        units
    }

    /// Withdraws units of another target: a run that has most of its units elsewhere did not write to this one.
    fn absolve_displaced(&mut self) -> u64 {
        let is_displaced = |places: &Places| places.misdirected + places.duplicated > places.right;
        let displaced: BTreeMap<u64, Places> = self
            .places
            .iter()
            .filter(|(_, places)| is_displaced(places))
            .map(|(run, places)| (*run, *places))
            .collect();
        let is_accused = |unit: &CorruptUnit| {
            let is_elsewhere = matches!(unit.class, Class::Misdirected | Class::Duplicated);
            !is_elsewhere || unit.details.found.as_ref().is_none_or(|found| !displaced.contains_key(&found.run_number))
        };
        self.first.retain(is_accused);
        displaced.values().fold(0, |sum, places| {
            sum + self.absolve(Class::Misdirected, places.misdirected)
                + self.absolve(Class::Duplicated, places.duplicated)
        })
    }

    /// Withdraws differences from the map of a run where a later run wrote.
    fn absolve_changed(&mut self) -> Option<LaterRun> {
        let later = std::mem::take(&mut self.later).finish()?;
        let mut differing_units = self.differing_units;
        for (class, units) in later.by_class(&self.by_class) {
            differing_units += self.absolve(class, units);
        }
        self.first.retain(|unit| later.is_wrong_still(unit.offset_bytes, unit.class, &self.by_class));
        (later.units > 0 && differing_units > 0).then(|| LaterRun {
            run: format!("{:016x}", later.run),
            started_unix_ms: run_number::started_ms(later.run),
            units: later.units,
            differing_units,
        })
    }
}

impl TargetReport {
    pub(super) fn new(path: PathBuf, size_bytes: u64, mut progress: Progress) -> Self {
        let (displaced_units, later_run) = (progress.absolve_displaced(), progress.absolve_changed());
        let Progress {
            read_bytes,
            failed_reads,
            found_units,
            checked_units,
            unchecked_units,
            checked_bytes,
            by_class,
            first,
            unfinished_units,
            unfinished,
            error,
            is_other_target,
            ..
        } = progress;
        Self {
            path,
            size_bytes,
            from_bytes: 0,
            read_bytes,
            resume_bytes: None,
            error,
            failed_reads,
            past_page_cache: true,
            compared_with_map: false,
            run: None,
            unit_bytes: None,
            units: None,
            known_units: None,
            found_units,
            checked_units,
            unchecked_units,
            unfinished_units,
            unfinished,
            displaced_units,
            missing_units: 0,
            unknown_bytes: 0,
            later_run,
            changed_after_ns: None,
            is_target_of_run: !is_other_target,
            checked_percent: if size_bytes > 0 { checked_bytes as f64 * 100.0 / size_bytes as f64 } else { 0.0 },
            corrupt_units: by_class.values().sum(),
            corrupt_by_class: by_class.iter().map(|(class, units)| (class.name(), *units)).collect(),
            first,
        }
    }

    /// A target that could not be opened for reading.
    pub(super) fn not_read(path: PathBuf, size_bytes: u64, error: &io::Error) -> Self {
        Self { error: Some(error.to_string()), ..Self::new(path, size_bytes, Progress::default()) }
    }

    /// Its path, and the first corrupt units.
    pub(super) fn wrong_units(&mut self) -> (&Path, &mut [CorruptUnit]) {
        (&self.path, &mut self.first)
    }

    /// True if it was not read to its end.
    fn is_incomplete(&self) -> bool {
        self.read_bytes < self.size_bytes - self.from_bytes
    }

    /// True if data written with `--verify` may be missing.
    fn has_gaps(&self) -> bool {
        self.missing_units > 0 || self.unknown_bytes > 0
    }

    /// The target and its error.
    pub(super) fn failure(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(format!("cannot read '{}': {error}", self.path.display()))
    }

    /// Further notes on the reading.
    fn notes(&self) -> Vec<String> {
        let is_incomplete = self.is_incomplete() || self.resume_bytes.is_some();
        let read = is_incomplete.then(|| {
            let resume = self.resume_bytes.map(|resume| format!("; to go on there, add --from {resume}"));
            let read = Bytes(self.read_bytes);
            format!("{read} were read: interrupted, or not readable to the end{}", resume.unwrap_or_default())
        });
        let failed_reads = (self.failed_reads > 0).then(|| {
            format!("{} failed; blocks that failed again are unreadable units", counted(self.failed_reads, "read"))
        });
        let changed = self.changed_after_ns.map(|changed_ns| {
            let seconds = changed_ns as f64 / 1e9;
            format!("changed until {seconds:.1} s after the map was saved: rule out other writers")
        });
        let later = self.later_run.as_ref().map(|later| {
            let LaterRun { run, units, differing_units, .. } = later;
            format!(
                "a later run (--verify) wrote to it: {run}, begun {}; of later runs: {}; not as in the map, but not counted as \
                 corrupt: {}: use the map of that run, or none",
                later.began(),
                counted(*units, "unit"),
                counted(*differing_units, "unit")
            )
        });
        let notes = [
            self.error.as_ref().map(|error| format!("it could not be read: {error}")),
            (!self.is_target_of_run).then(|| OTHER_TARGET.to_owned()),
            (!self.past_page_cache).then(|| THROUGH_CACHE.to_owned()),
            failed_reads,
            (self.from_bytes > 0).then(|| format!("read from offset {} on (--from)", self.from_bytes)),
            read,
            changed,
            later,
        ];
        notes.into_iter().flatten().collect()
    }

    /// Numbers of units that were checked, and of those that were not.
    fn counts(&self) -> Vec<(&'static str, String)> {
        let known = match (self.known_units, self.units) {
            (Some(known), Some(units)) => format!("{known} of {}", counted(units, "unit")),
            _ => format!("{} with a header", counted(self.found_units, "unit")),
        };
        let percent = percent_rounded_down(self.checked_percent, 1);
        let checked = format!("{}, {percent} % of the target", counted(self.checked_units, "unit"));
        let unchecked = counted(self.unchecked_units, "unit");
        let mut counts = vec![("known", known), ("checked", checked), ("not checkable", unchecked)];
        let mut add = |name, units: u64, words: &str| {
            if units > 0 {
                counts.push((name, format!("{} {words}", counted(units, "unit"))));
            }
        };
        add("displaced", self.displaced_units, "of runs on another target, such as a file on this device: not checked");
        add("missing", self.missing_units, "that runs wrote and no later run (--verify) overwrote");
        add(
            "torn",
            self.unfinished_units,
            "of several writes. A write that was under way when a run was killed or the power was cut leaves this: without a \
             map it is no proof of corruption",
        );
        let torn = self.unfinished.iter().take(TORN_SHOWN_MAX);
        counts.extend(torn.map(|unit| ("torn", format!("at offset {}", unit.offset_bytes))));
        if self.unknown_bytes > 0 {
            let unknown = format!("{} without a unit, where units may be missing", Bytes(self.unknown_bytes));
            counts.push(("unknown", unknown));
        }
        counts
    }

    fn verified(&self) -> VerifiedTarget<'_> {
        VerifiedTarget {
            path: &self.path,
            size_bytes: self.size_bytes,
            compared_with: if self.compared_with_map {
                "the map of the run (--journal)"
            } else {
                "each unit itself (place, run, checksum): a write that is missing as a whole is not found"
            },
            notes: self.notes(),
            counts: self.counts(),
            corrupt_units: self.corrupt_units,
            by_class: &self.corrupt_by_class,
            class_words: Class::words,
            order: None,
            first: self.first.iter().map(CorruptUnit::text).collect(),
        }
    }
}

impl LaterRun {
    /// Its start time in UTC.
    fn began(&self) -> String {
        let time = i64::try_from(self.started_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        time.map_or_else(|| "at an unknown time".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
    }
}

impl CorruptUnit {
    fn text(&self) -> CorruptUnitText<'_> {
        let expected = match self.details.expected {
            ExpectedUnit::Content(content) => content.words(),
            ExpectedUnit::Itself => "a unit of this place with a right checksum".to_owned(),
        };
        self.text_with(Some(("expected", expected)), self.details.found.as_ref().map(FoundUnit::words))
    }
}

impl FoundUnit {
    fn words(&self) -> String {
        let damaged = if self.is_intact { "" } else { ", with a wrong checksum" };
        format!("{}{damaged}", self.write.words(Some(&self.run)))
    }
}

impl VerifyReport {
    pub(super) fn new(targets: Vec<TargetReport>) -> Self {
        let cannot_tell = |target: &TargetReport| {
            target.checked_units == 0
                || target.is_incomplete()
                || target.unfinished_units > 0
                || target.later_run.is_some()
                || target.has_gaps()
                || !target.is_target_of_run
        };
        let outcome = if targets.iter().any(|target| target.corrupt_units > 0) {
            Outcome::Corrupt
        } else if targets.iter().any(|target| target.error.is_some()) {
            Outcome::Failed
        } else if targets.iter().any(cannot_tell) {
            Outcome::CannotTell
        } else {
            Outcome::Good
        };
        Self { schema: VERIFY_SCHEMA, experimental: true, outcome, targets }
    }

    pub(super) fn report(&self) -> Report {
        let any = |of: fn(&TargetReport) -> bool| self.targets.iter().any(of);
        let words = match self.outcome {
            Outcome::Good => "no corruption found in what could be checked",
            Outcome::Corrupt => "CORRUPT: rule out other writers, then keep the report and the data for the vendor",
            Outcome::Failed => "failed: no corruption found in what was read",
            Outcome::CannotTell if any(TargetReport::is_incomplete) => {
                "incomplete: no corruption found in what was read"
            }
            Outcome::CannotTell if any(|target| !target.is_target_of_run) => OTHER_TARGET_OUTCOME,
            Outcome::CannotTell if any(|target| target.later_run.is_some()) => {
                "unknown: a later run wrote to a target after its map was saved"
            }
            Outcome::CannotTell if any(|target| target.unfinished_units > 0) => {
                "unknown: torn units, as a killed run or a power cut leaves them; no corruption found"
            }
            Outcome::CannotTell if any(TargetReport::has_gaps) => {
                "unknown: units may be missing; no corruption found in what could be checked"
            }
            Outcome::CannotTell => "nothing could be checked on a target: was it written with --verify?",
        };
        let targets = self.targets.iter().map(TargetReport::verified).collect();
        report::verification(Vec::new(), targets, format!("Verification (experimental): {words}"))
    }
}
