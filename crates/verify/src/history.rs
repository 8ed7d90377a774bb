//! Expected content of a target after a power cut, from the logs of its run, and the verdict on a unit that was read
//! back.
//!
//! A change is *durable* if it completed and a flush that began later completed too, or if it was written through.
//! Durable data must be present, unless a later change began: that one may be present instead, or in part. For each
//! unit only the largest tickets count, so the logs of the threads need no order.

use crate::check::{self, Mixture, Place};
use crate::log::{Change, Entry, Kind, LoggedTarget, Tickets};
use crate::run_number::is_later;
use crate::unit::{Header, UnitSize, is_intact};
use crate::unit_ranges::{RANGE_BYTES, RangeCollector, UnitRanges};
use model::corruption::CorruptionClass as Class;
use std::io;
use std::ops::Range;

/// Content of a unit after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitContent {
    /// The data of a write.
    Data,
    /// Zeros.
    Zeros,
    /// Anything: discarded data on a device.
    Anything,
}

/// A change, and the content after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its ticket.
    pub ticket: u64,
    /// The content after it, certain or possible.
    pub left: UnitContent,
}

/// The logged history of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitHistory {
    /// The last change that began.
    pub begun: Option<Point>,
    /// The last that completed.
    pub completed: Option<Point>,
    /// The last that is durable, and when it began in microseconds since the run began.
    pub durable: Option<(Point, u64)>,
    /// The last that began and wrote no data.
    pub erased: Option<Point>,
}

/// Verdict on a unit that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCut {
    /// The last write that completed, or a later one.
    Right,
    /// A durable write; later writes that completed were not flushed, and are lost. That is allowed.
    Unflushed,
    /// In part the result of a change that was not durable. That is allowed.
    Torn,
    /// No verdict is possible.
    NotCheckable,
    /// A durable change is lost, or the data is wrong in a way that a power cut does not explain.
    Wrong(Class),
}

const BEGUN: usize = 0;
const COMPLETED: usize = 1;
const DURABLE: usize = 2;
const DURABLE_US: usize = 3;
const ERASED: usize = 4;
const CELLS: usize = 5;

/// Memory of a unit.
const UNIT_BYTES: u64 = (CELLS * size_of::<u64>()) as u64;

/// The logged history of a target.
#[derive(Debug)]
pub struct TargetHistory {
    /// The target.
    pub logged: LoggedTarget,
    run: u64,
    unit: UnitSize,
    units: u64,
    /// Units for which changes began, until all are known.
    collected: RangeCollector,
    /// Changes that began, and their units.
    begun: (u64, u64),
    /// Units for which changes began.
    changed: UnitRanges,
    /// History of each of these units.
    cells: Vec<u64>,
    /// The largest ticket of a flush that completed.
    flushed: Option<u64>,
    /// Ticket of the last truncation of the file; 0 = none.
    emptied: u64,
}

/// The history in all logs of a run.
#[derive(Debug)]
pub struct History {
    /// Number of the run.
    pub run: u64,
    /// Its targets.
    pub targets: Vec<TargetHistory>,
    /// The last records of a log may be missing.
    pub ends_early: bool,
    /// Changes that began.
    pub changes: u64,
    /// Flushes that completed.
    pub flushes: u64,
    /// Tickets of all logs.
    tickets: Tickets,
    memory_bytes_max: u64,
    /// The history needs more than `memory_bytes_max`.
    is_too_large: bool,
}

impl History {
    /// An empty history; `None` if a target has an invalid unit size. The history of units takes at most
    /// `memory_bytes_max` bytes of memory.
    pub fn new(run: u64, targets: &[LoggedTarget], memory_bytes_max: u64) -> Option<Self> {
        let target = |logged: &LoggedTarget| {
            let unit = UnitSize::new(logged.target.unit_bytes.into())?;
            Some(TargetHistory {
                logged: logged.clone(),
                run,
                unit,
                units: logged.target.size_bytes.div_ceil(unit.bytes()),
                collected: RangeCollector::default(),
                begun: (0, 0),
                changed: UnitRanges::default(),
                cells: Vec::new(),
                flushed: None,
                emptied: 0,
            })
        };
        let targets = targets.iter().map(target).collect::<Option<_>>()?;
        Some(Self {
            run,
            targets,
            ends_early: false,
            changes: 0,
            flushes: 0,
            tickets: Tickets::default(),
            memory_bytes_max,
            is_too_large: false,
        })
    }

    /// Allocates the history of units: to be called once all logs were read for the first time.
    ///
    /// # Errors
    ///
    /// Bytes of memory that are needed, at most, if these are more than allowed or available.
    pub fn begin_changes(&mut self) -> Result<(), u64> {
        if self.is_too_large {
            let most = |target: &TargetHistory| {
                let (changes, units) = target.begun;
                bytes_of(changes.min(target.units), units.min(target.units))
            };
            return Err(self.targets.iter().map(most).fold(0, u64::saturating_add));
        }
        for target in &mut self.targets {
            target.changed = std::mem::take(&mut target.collected).finish();
        }
        let needed: u64 =
            self.targets.iter().map(|target| target.changed.bytes() + target.changed.units() * UNIT_BYTES).sum();
        if needed > self.memory_bytes_max {
            return Err(needed);
        }
        for target in &mut self.targets {
            let cells = usize::try_from(target.changed.units()).ok().and_then(|units| units.checked_mul(CELLS));
            let cells = cells.ok_or(needed)?;
            target.cells.try_reserve_exact(cells).map_err(|_| needed)?;
            target.cells.resize(cells, 0);
        }
        Ok(())
    }

    /// Adds the units of a change, unless there are too many already.
    fn collect(&mut self, change: &Change) {
        let is_too_large = self.is_too_large;
        let Some(target) = self.target(change.target) else { return };
        let units = target.range(change);
        target.begun.0 += 1;
        target.begun.1 = target.begun.1.saturating_add(units.end - units.start);
        if is_too_large || !target.collected.add(units) {
            return;
        }
        let known = |target: &TargetHistory| {
            let (ranges, units) = target.collected.merged();
            bytes_of(ranges, units)
        };
        if self.targets.iter().map(known).sum::<u64>() > self.memory_bytes_max {
            self.is_too_large = true;
            self.targets.iter_mut().for_each(|target| target.collected.clear());
        }
    }

    fn target(&mut self, number: u32) -> Option<&mut TargetHistory> {
        self.targets.iter_mut().find(|target| target.logged.target.target == number)
    }

    /// Adds the flushes of a log, and the units of its changes: of all logs first, then [the
    /// changes](Self::take_changes) of all.
    ///
    /// # Errors
    ///
    /// Those of `next`.
    pub fn take_flushes(&mut self, mut next: impl FnMut() -> io::Result<Option<Entry>>) -> io::Result<()> {
        while let Some(entry) = next()? {
            match entry {
                Entry::Flushed(flush) => {
                    self.flushes += 1;
                    if let Some(target) = self.target(flush.target) {
                        target.flushed = target.flushed.max(Some(flush.ticket));
                    }
                }
                Entry::Emptied(flush) => {
                    if let Some(target) = self.target(flush.target) {
                        target.emptied = target.emptied.max(flush.ticket);
                    }
                }
                Entry::Began(change) => self.collect(&change),
                Entry::Completed(..) | Entry::Failed(_) => {}
            }
        }
        Ok(())
    }

    /// Adds the tickets of a log that was read to its end, once.
    pub fn take_tickets(&mut self, of_log: Tickets) {
        let Tickets { count, last } = self.tickets;
        self.tickets = Tickets { count: count + of_log.count, last: last.max(of_log.last) };
    }

    /// Number of records missing from the logs, of changes and flushes that began before the last known one. Each
    /// thread may have been ended between its last ticket and the record of it.
    pub fn missing(&self, threads: u32) -> u64 {
        self.tickets.last.saturating_sub(self.tickets.count).saturating_sub(threads.into())
    }

    /// Adds the changes of a log, after [`begin_changes`](Self::begin_changes).
    ///
    /// # Errors
    ///
    /// Those of `next`.
    pub fn take_changes(&mut self, mut next: impl FnMut() -> io::Result<Option<Entry>>) -> io::Result<()> {
        while let Some(entry) = next()? {
            match entry {
                Entry::Began(change) => {
                    self.changes += 1;
                    if let Some(target) = self.target(change.target) {
                        target.began(&change);
                    }
                }
                Entry::Completed(change, count) => {
                    if let Some(target) = self.target(change.target) {
                        target.completed(&change, count);
                    }
                }
                Entry::Failed(_) | Entry::Flushed(_) | Entry::Emptied(_) => {}
            }
        }
        Ok(())
    }
}

fn bytes_of(ranges: u64, units: u64) -> u64 {
    ranges.saturating_mul(RANGE_BYTES).saturating_add(units.saturating_mul(UNIT_BYTES))
}

/// Packs a ticket and the content after its change into one cell; later changes have larger values.
fn cell(point: Point) -> u64 {
    let left = match point.left {
        UnitContent::Data => 1,
        UnitContent::Zeros => 2,
        UnitContent::Anything => 3,
    };
    point.ticket << 2 | left
}

fn point(cell: u64) -> Option<Point> {
    let left = match cell & 3 {
        1 => UnitContent::Data,
        2 => UnitContent::Zeros,
        3 => UnitContent::Anything,
        _ => return None,
    };
    Some(Point { ticket: cell >> 2, left })
}

impl TargetHistory {
    /// Number of the run.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// Size of its units.
    pub fn unit(&self) -> UnitSize {
        self.unit
    }

    /// Number of its units.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Units for which a change of the run began.
    pub fn changed(&self) -> &UnitRanges {
        &self.changed
    }

    /// Number of units with a durable write or durable zeros.
    pub fn durable(&self) -> u64 {
        self.cells.chunks_exact(CELLS).filter(|cells| self.of_cells(cells).durable.is_some()).count() as u64
    }

    /// True if a change that completed when the count was this is durable.
    pub fn is_flushed(&self, kind: Kind, count: u64) -> bool {
        kind == Kind::WriteThrough || self.flushed.is_some_and(|flushed| flushed >= count)
    }

    fn left(&self, kind: Kind) -> UnitContent {
        match kind {
            Kind::Write | Kind::WriteThrough => UnitContent::Data,
            Kind::Zeroes => UnitContent::Zeros,
            Kind::Discard if self.logged.discards_to_zeros => UnitContent::Zeros,
            Kind::Discard => UnitContent::Anything,
        }
    }

    /// Its units, clipped to the target.
    fn range(&self, change: &Change) -> Range<u64> {
        let end = change.first.saturating_add(change.length.into()).min(self.units);
        change.first.min(end)..end
    }

    fn cells_of(&mut self, change: &Change) -> impl Iterator<Item = &mut [u64]> {
        let units = self.range(change);
        // All are in one range, unless the log changed since it was read first.
        let first = self.changed.place(units.start).map_or(self.cells.len(), |place| place * CELLS);
        let end = first.saturating_add((units.end - units.start) as usize * CELLS).min(self.cells.len());
        self.cells[first..end].chunks_exact_mut(CELLS)
    }

    fn began(&mut self, change: &Change) {
        let begun = cell(Point { ticket: change.ticket, left: self.left(change.kind) });
        for cells in self.cells_of(change) {
            cells[BEGUN] = cells[BEGUN].max(begun);
            if !change.kind.is_write() {
                cells[ERASED] = cells[ERASED].max(begun);
            }
        }
    }

    fn completed(&mut self, change: &Change, count: u64) {
        let completed = cell(Point { ticket: change.ticket, left: self.left(change.kind) });
        let is_durable = self.is_flushed(change.kind, count);
        for cells in self.cells_of(change) {
            cells[COMPLETED] = cells[COMPLETED].max(completed);
            if is_durable && completed > cells[DURABLE] {
                (cells[DURABLE], cells[DURABLE_US]) = (completed, change.time_us);
            }
        }
    }

    /// The history of a unit.
    pub fn unit_history(&self, unit: u64) -> UnitHistory {
        let at = self.changed.place(unit).map(|place| place * CELLS);
        at.and_then(|at| self.cells.get(at..at + CELLS)).map_or_else(UnitHistory::default, |cells| self.of_cells(cells))
    }

    fn of_cells(&self, cells: &[u64]) -> UnitHistory {
        // Data from before the file was emptied may be present or not.
        let emptied = Point { ticket: self.emptied, left: UnitContent::Zeros };
        let is_after = |point: &Point| point.ticket > self.emptied;
        let or_emptied = |cell: u64| {
            let point = point(cell).filter(is_after);
            point.or((self.emptied > 0 && cells[BEGUN] != 0).then_some(emptied))
        };
        UnitHistory {
            begun: or_emptied(cells[BEGUN]),
            completed: point(cells[COMPLETED]).filter(is_after),
            durable: point(cells[DURABLE])
                .filter(|point| is_after(point) && point.left != UnitContent::Anything)
                .map(|point| (point, cells[DURABLE_US])),
            erased: or_emptied(cells[ERASED]),
        }
    }

    fn place(&self, unit: u64) -> Place {
        Place { run: self.run, target: self.logged.target.target, unit }
    }

    /// True if a unit belongs to a later write than its logs contain, whole or in part: a change is logged before it is
    /// submitted, so the logs have lost records.
    ///
    /// # Panics
    ///
    /// If it is shorter than a sector.
    pub fn is_ahead(&self, unit: u64, bytes: &[u8]) -> bool {
        let (history, place) = (self.unit_history(unit), self.place(unit));
        let begun = history.begun.map_or(0, |begun| begun.ticket);
        let header = Header::read(bytes).filter(|header| place.is_of(header));
        if let Some(header) = header.filter(|_| is_intact(bytes)) {
            return header.sequence > begun;
        }
        // The time of the last change is known if it is durable. If it is not, the unit may be torn anyway.
        let begun_us = match (history.begun, history.durable) {
            (None, _) => None,
            (Some(_), Some((durable, time_us))) if durable.ticket == begun => Some(time_us),
            _ => return false,
        };
        let in_header = header.filter(|header| header.sequence > begun && !check::is_header_rotten(bytes, &place));
        in_header.map(|header| header.generation.time_us()).max(check::marked_us(bytes, &place)) > begun_us
    }

    /// The verdict on a unit that was read; `ends_early` as in [`History`].
    ///
    /// # Panics
    ///
    /// If it is shorter than a sector.
    pub fn check(&self, unit: u64, bytes: &[u8], ends_early: bool) -> AfterCut {
        let (history, place) = (self.unit_history(unit), self.place(unit));
        let said = self.compare(&history, &place, bytes, ends_early);
        match said {
            // A discard or a truncation that is missing from the log may have come later.
            AfterCut::Wrong(Class::Lost | Class::Torn | Class::Zeros | Class::Foreign)
                if ends_early && self.logged.is_erased && self.may_be_erased(bytes) =>
            {
                AfterCut::NotCheckable
            }
            said => said,
        }
    }

    /// True if a change without data may have left this content.
    fn may_be_erased(&self, bytes: &[u8]) -> bool {
        !self.logged.discards_to_zeros || bytes.chunks(512).any(check::is_zero)
    }

    fn compare(&self, history: &UnitHistory, place: &Place, bytes: &[u8], ends_early: bool) -> AfterCut {
        let durable = history.durable.map(|(point, _)| point);
        let erased_later = history.erased.filter(|erased| durable.is_none_or(|durable| erased.ticket > durable.ticket));
        let erases_to_anything = !self.logged.discards_to_zeros && self.logged.is_erased;
        if check::is_zero(bytes) {
            return match durable {
                Some(Point { left: UnitContent::Data, .. }) if erased_later.is_none() => AfterCut::Wrong(Class::Zeros),
                None if history.begun.is_none() => AfterCut::NotCheckable,
                _ => gone_if(history.completed.is_some_and(|completed| {
                    completed.left == UnitContent::Data
                        && erased_later.is_none_or(|erased| erased.ticket < completed.ticket)
                })),
            };
        }
        // On a device, a discard that may have completed leaves anything.
        let is_anything = erases_to_anything && erased_later.is_some();
        let intact = Header::read(bytes).filter(|_| is_intact(bytes));
        match intact {
            Some(header) if place.is_of(&header) && usize::from(header.unit_bytes) == bytes.len() => {
                if durable.is_some_and(|durable| header.sequence < durable.ticket) {
                    return if is_anything { AfterCut::NotCheckable } else { AfterCut::Wrong(Class::Lost) };
                }
                gone_if(history.completed.is_some_and(|completed| header.sequence < completed.ticket))
            }
            _ if is_anything => AfterCut::NotCheckable,
            Some(header) if header.run == place.run => {
                // Another target may be the same storage under another name, and a freed block may be reused.
                let is_certain = header.target == place.target && !self.logged.is_erased;
                let is_wrong = durable.is_some() || is_certain;
                if is_wrong { AfterCut::Wrong(Class::Misdirected) } else { AfterCut::NotCheckable }
            }
            Some(header) if durable.is_some() => AfterCut::Wrong(check::class_of_other_run(&header, place)),
            Some(header) if is_later(header.run, place.run) => AfterCut::NotCheckable,
            Some(_) => never_there(history),
            None => self.compare_damaged(history, place, bytes, ends_early),
        }
    }

    fn compare_damaged(&self, history: &UnitHistory, place: &Place, bytes: &[u8], ends_early: bool) -> AfterCut {
        if check::is_header_rotten(bytes, place) {
            return AfterCut::Wrong(Class::Rot);
        }
        let durable = history.durable;
        let began_later = match (history.begun, durable) {
            (Some(begun), Some((durable, _))) => begun.ticket > durable.ticket,
            (begun, None) => begun.is_some(),
            (None, Some(_)) => false,
        };
        let may_be_torn = began_later || ends_early;
        match check::mixture(bytes, place) {
            // Sectors are torn in the page cache only.
            Mixture::OneWrite if may_be_torn && !self.logged.is_direct => AfterCut::Torn,
            Mixture::OneWrite => AfterCut::Wrong(Class::Rot),
            Mixture::Several { oldest_us, is_zero_elsewhere, is_ours_only } if may_be_torn => {
                let Some((Point { left: UnitContent::Data, ticket }, durable_us)) =
                    durable.filter(|_| self.logged.is_direct)
                else {
                    return AfterCut::Torn;
                };
                // Each sector must belong to the durable write, or to a later change.
                let is_erased =
                    history.erased.is_some_and(|erased| erased.ticket > ticket) || self.logged.is_erased && ends_early;
                let is_older = oldest_us.is_some_and(|oldest_us| oldest_us < durable_us);
                let is_strange = !(is_ours_only || is_zero_elsewhere && is_erased);
                if is_older || is_strange { AfterCut::Wrong(Class::Torn) } else { AfterCut::Torn }
            }
            Mixture::Several { .. } => AfterCut::Wrong(check::damage(bytes, place).unwrap_or(Class::Torn)),
            Mixture::Nothing => match durable {
                Some((Point { left: UnitContent::Zeros, .. }, _)) if may_be_torn => AfterCut::Torn,
                Some(_) => AfterCut::Wrong(check::strange(bytes, place, check::is_of_earlier_run(bytes, place))),
                None => never_there(history),
            },
        }
    }
}

/// The verdict on a unit without data of the run, none of which is durable.
fn never_there(history: &UnitHistory) -> AfterCut {
    let is_gone = history.completed.is_some_and(|completed| completed.left == UnitContent::Data);
    if is_gone { AfterCut::Unflushed } else { AfterCut::NotCheckable }
}

fn gone_if(is_gone: bool) -> AfterCut {
    if is_gone { AfterCut::Unflushed } else { AfterCut::Right }
}
