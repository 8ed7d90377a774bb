//! What `diskspd verify` found, as text and JSON.

use model::corruption::CorruptionClass as Class;
use model::printable::printable;
use model::units::Bytes;
use model::verification::{ExpectedContent, UnitWrite};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use verify::check::Verdict;
use verify::unit::Header;

/// Corrupt units that are kept of each target.
const KEPT_MAX: usize = 100;

/// Corrupt units that are printed of each target.
const SHOWN_MAX: usize = 10;

/// What came out for all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// All that could be checked is right.
    Good,
    /// Anything is corrupt.
    Corrupt,
    /// Nothing is corrupt; on a target nothing could be checked, or it was not read to its end.
    CannotTell,
}

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct VerifyReport {
    experimental: bool,
    pub(super) outcome: Outcome,
    targets: Vec<TargetReport>,
}

/// What was found on a target.
#[derive(Debug, Serialize)]
pub(super) struct TargetReport {
    #[serde(with = "model::path")]
    path: PathBuf,
    size_bytes: u64,
    /// Less than the size if it was interrupted.
    read_bytes: u64,
    /// Reads that failed; their blocks were read one by one, and those that failed again are corrupt units.
    failed_reads: u64,
    pub(super) past_page_cache: bool,
    /// False: units were only compared with themselves.
    pub(super) compared_with_map: bool,
    /// Of the saved map.
    pub(super) run: Option<String>,
    pub(super) unit_bytes: Option<u64>,
    /// Units of the target; null without a map.
    pub(super) units: Option<u64>,
    /// Units of which the map knows what they must hold.
    pub(super) known_units: Option<u64>,
    /// Units with a header.
    found_units: u64,
    checked_units: u64,
    unchecked_units: u64,
    /// Of the target's bytes.
    checked_percent: f64,
    corrupt_units: u64,
    corrupt_by_class: BTreeMap<&'static str, u64>,
    /// The first 100 in the order of their offsets.
    first: Vec<CorruptUnit>,
}

/// A corrupt unit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CorruptUnit {
    pub(super) offset_bytes: u64,
    pub(super) class: Class,
    pub(super) expected: ExpectedUnit,
    /// What its header says; null = it has none.
    pub(super) found: Option<FoundUnit>,
    /// Its first 64 bytes in hexadecimal.
    pub(super) first_bytes: String,
    /// A second read returned what was expected.
    pub(super) second_read_is_right: Option<bool>,
    pub(super) error: Option<String>,
}

/// What a unit must hold.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExpectedUnit {
    /// A unit of this place with a right checksum.
    Itself,
    #[serde(untagged)]
    Content(ExpectedContent),
}

/// What a header says.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FoundUnit {
    is_intact: bool,
    run: String,
    /// Null without a map.
    is_of_run: Option<bool>,
    #[serde(flatten)]
    write: UnitWrite,
}

impl FoundUnit {
    pub(super) fn of(header: &Header, is_intact: bool, run: Option<u64>) -> Self {
        Self {
            is_intact,
            run: format!("{:016x}", header.run),
            is_of_run: run.map(|run| run == header.run),
            write: header.as_write(),
        }
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) read_bytes: u64,
    pub(super) failed_reads: u64,
    pub(super) found_units: u64,
    checked_units: u64,
    unchecked_units: u64,
    checked_bytes: u64,
    by_class: BTreeMap<Class, u64>,
    first: Vec<CorruptUnit>,
}

impl Progress {
    pub(super) fn of_read(read_bytes: u64) -> Self {
        Self { read_bytes, ..Self::default() }
    }

    pub(super) fn count(&mut self, verdict: Verdict, unit_bytes: u64) {
        if verdict == Verdict::NotCheckable {
            self.unchecked_units += 1;
        } else {
            self.checked_units += 1;
            self.checked_bytes += unit_bytes;
        }
    }

    pub(super) fn wrong(&mut self, unit: CorruptUnit) {
        *self.by_class.entry(unit.class).or_default() += 1;
        self.first.push(unit);
        self.keep_first();
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.read_bytes += other.read_bytes;
        self.failed_reads += other.failed_reads;
        self.found_units += other.found_units;
        self.checked_units += other.checked_units;
        self.unchecked_units += other.unchecked_units;
        self.checked_bytes += other.checked_bytes;
        for (class, units) in other.by_class {
            *self.by_class.entry(class).or_default() += units;
        }
        self.first.extend(other.first);
        self.keep_first();
    }

    fn keep_first(&mut self) {
        if self.first.len() > KEPT_MAX {
            self.first.sort_by_key(|unit| unit.offset_bytes);
            self.first.truncate(KEPT_MAX);
        }
    }
}

impl TargetReport {
    pub(super) fn new(path: PathBuf, size_bytes: u64, progress: Progress) -> Self {
        let Progress {
            read_bytes,
            failed_reads,
            found_units,
            checked_units,
            unchecked_units,
            checked_bytes,
            by_class,
            mut first,
        } = progress;
        first.sort_by_key(|unit| unit.offset_bytes);
        Self {
            path,
            size_bytes,
            read_bytes,
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
            checked_percent: if size_bytes > 0 { checked_bytes as f64 * 100.0 / size_bytes as f64 } else { 0.0 },
            corrupt_units: by_class.values().sum(),
            corrupt_by_class: by_class.iter().map(|(class, units)| (class.name(), *units)).collect(),
            first,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("'{}', {}", printable(&self.path.to_string_lossy()), Bytes(self.size_bytes));
        let mut line = |words: &str| {
            text.push_str("\n  ");
            text.push_str(words);
        };
        line(if self.compared_with_map {
            "compared with:  the map of the run (--journal)"
        } else {
            "compared with:  each unit itself (place, run, checksum): a write that is missing as a whole is not found"
        });
        if !self.past_page_cache {
            line("NOTE: read through the page cache, because the file system has no direct I/O");
        }
        if self.failed_reads > 0 {
            line(&format!("NOTE: {} reads failed; blocks that failed again are unreadable units", self.failed_reads));
        }
        if self.read_bytes < self.size_bytes {
            line(&format!("NOTE: interrupted after {}", Bytes(self.read_bytes)));
        }
        match (self.known_units, self.units) {
            (Some(known), Some(units)) => line(&format!("known:          {known} of {units} units")),
            _ => line(&format!("known:          {} units with a header", self.found_units)),
        }
        line(&format!("checked:        {} units, {:.1} % of the target", self.checked_units, self.checked_percent));
        line(&format!("not checkable:  {} units", self.unchecked_units));
        line(&format!("corrupt:        {} units", self.corrupt_units));
        for class in Class::ALL {
            if let Some(units) = self.corrupt_by_class.get(class.name()) {
                line(&format!("  {units} {}: {}", class.name(), class.words()));
            }
        }
        for unit in self.first.iter().take(SHOWN_MAX) {
            unit.lines().iter().for_each(|words| line(words));
        }
        let left = self.first.len().saturating_sub(SHOWN_MAX);
        if left > 0 {
            line(&format!("{left} more corrupt units are in the JSON report (--json)"));
        }
        text.push('\n');
        text
    }
}

impl CorruptUnit {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} at offset {}", self.class.name(), self.offset_bytes)];
        if let Some(error) = &self.error {
            lines.push(format!("  error:     {error}"));
            return lines;
        }
        lines.push(format!(
            "  expected:  {}",
            match self.expected {
                ExpectedUnit::Content(content) => content.words(),
                ExpectedUnit::Itself => "a unit of this place with a right checksum".to_owned(),
            }
        ));
        lines.push(self.found.as_ref().map_or_else(|| "  found:     no header".to_owned(), FoundUnit::line));
        lines.push(format!("  first 64:  {}", self.first_bytes));
        match self.second_read_is_right {
            Some(true) => lines.push("  read again: the right data".to_owned()),
            Some(false) => lines.push("  read again: still wrong".to_owned()),
            None => {}
        }
        lines
    }
}

impl FoundUnit {
    fn line(&self) -> String {
        let damaged = if self.is_intact { "" } else { ", with a wrong checksum" };
        format!("  found:     {}{damaged}", self.write.words(Some(&self.run)))
    }
}

impl VerifyReport {
    pub(super) fn new(targets: Vec<TargetReport>) -> Self {
        let cannot_tell = |target: &TargetReport| target.checked_units == 0 || target.read_bytes < target.size_bytes;
        let outcome = if targets.iter().any(|target| target.corrupt_units > 0) {
            Outcome::Corrupt
        } else if targets.iter().any(cannot_tell) {
            Outcome::CannotTell
        } else {
            Outcome::Good
        };
        Self { experimental: true, outcome, targets }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for target in &self.targets {
            text.push_str(&target.text());
        }
        let words = match self.outcome {
            Outcome::Good => "no corruption found in what could be checked",
            Outcome::Corrupt => "CORRUPT: rule out other writers, then keep the report and the data for the vendor",
            Outcome::CannotTell if self.targets.iter().any(|target| target.read_bytes < target.size_bytes) => {
                "incomplete: no corruption found until the interruption"
            }
            Outcome::CannotTell => "nothing could be checked on a target: was it written with --verify?",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "Verification (experimental): {words}");
        text
    }
}
