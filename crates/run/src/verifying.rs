//! A layer over an engine that makes the data of writes and checks that of reads (`--verify`).
//!
//! A change claims its units before it begins; while another one has any of them, it waits, and requests that come
//! after it go first. Data is made before the stamp of the start, and checked after that of the completion.

use crate::run_log::{self, ThreadLog};
use crate::verification::{Corrupt, Verification};
use engine::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait};
use hot::clock::Clock;
use model::corruption::{CorruptionClass, is_unreadable};
use model::operation::Operation;
use model::plan::{Content, TimeSpanPlan, WorkerPlan};
use model::profile::FlushCall;
use std::io;
use std::sync::Arc;
use verify::check::{Expected, Verdict};
use verify::log::{Change as LoggedChange, Flush, Kind};
use verify::map::{MapEntry, State};
use verify::target::{Change, WriteIo};
use verify::unit::UNIT_BYTES_MAX;

/// Clocks of CPUs may differ by less.
const CLOCK_SLACK_US: u64 = 10;

/// The layer.
pub(crate) struct Verifying<E, C> {
    engine: E,
    clock: C,
    verification: Arc<Verification>,
    thread: u32,
    files: Box<[VerifiedFile]>,
    /// Operations that requests repeat, by operation, then by request.
    prepared: Box<[Op]>,
    under_way: Box<[UnderWay]>,
    /// Entries of the units of each request's read, before it began.
    noted: Box<[MapEntry]>,
    noted_per_slot: usize,
    /// Requests whose units another one has, in order.
    parked: Vec<SlotId>,
    /// Requests that the engine has and that were not pushed.
    staged: Vec<SlotId>,
    taken: Vec<Completion>,
    /// `--journal`.
    log: Option<ThreadLog>,
    looked_ns: u64,
}

/// A target of the worker.
#[derive(Clone, Copy, Debug)]
struct VerifiedFile {
    /// Its index in the plan.
    target: usize,
    /// The worker makes the content; only the header of its unit is put over it.
    keeps_content: bool,
    /// The kind of its writes in the log.
    writes: Kind,
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    op: Op,
    /// Of a change; of a read, its first unit and number of units.
    io: WriteIo,
    begun_ns: u64,
}

impl<E: Engine, C: Clock> Verifying<E, C> {
    /// A layer over the engine of a worker.
    pub(crate) fn new(
        engine: E,
        clock: C,
        verification: &Arc<Verification>,
        span: &TimeSpanPlan,
        plan: &WorkerPlan,
    ) -> Self {
        let unit = verification.unit();
        let slots = plan.slots as usize;
        let units = plan.targets.iter().map(|target| unit.count(target.block_bytes)).max().unwrap_or(1) as usize;
        let files = plan.targets.iter().map(|target| VerifiedFile {
            target: target.target,
            keeps_content: matches!(target.content, Content::Reducible(_)),
            writes: run_log::kind_of_writes(span, target),
        });
        Self {
            engine,
            clock,
            verification: Arc::clone(verification),
            thread: plan.thread,
            files: files.collect(),
            prepared: vec![Op::default(); Operation::COUNT * slots].into(),
            under_way: vec![UnderWay::default(); slots].into(),
            noted: vec![MapEntry::default(); units * slots].into(),
            noted_per_slot: units,
            parked: Vec::with_capacity(slots),
            staged: Vec::with_capacity(slots),
            taken: Vec::with_capacity(slots),
            log: verification.log.as_ref().and_then(|log| log.take(plan.thread)),
            looked_ns: 0,
        }
    }

    /// The next ticket, for what is about to happen to a whole target.
    fn of_target(&self, file: u32) -> Flush {
        let target = self.verification.target(self.files[file as usize].target).target;
        let time_us = self.clock.now_ns().saturating_sub(self.verification.origin_ns) / 1000;
        Flush { ticket: self.verification.ticket(), target, time_us }
    }

    fn prepared(&mut self, slot: SlotId, operation: Operation) -> &mut Op {
        &mut self.prepared[operation.index() * self.under_way.len() + slot as usize]
    }

    /// Hands an operation to the engine; false if another one has units of it.
    #[inline]
    fn begin(&mut self, slot: SlotId) -> bool {
        let Self { engine, clock, verification, thread, files, under_way, log, .. } = self;
        let now_us = |now_ns: u64| now_ns.saturating_sub(verification.origin_ns) / 1000;
        let UnderWay { op, io, .. } = &mut under_way[slot as usize];
        let file = files[op.file as usize];
        let target = verification.target(file.target);
        let units = target.units(op.offset, u64::from(op.length));
        let length = (units.end - units.start) as u32;
        *io = WriteIo { first: units.start, length, thread: *thread, ..WriteIo::default() };
        if op.operation == Operation::Read {
            io.time_us = now_us(clock.now_ns()).saturating_sub(CLOCK_SLACK_US);
            let noted = &mut self.noted[slot as usize * self.noted_per_slot..];
            for (noted, unit) in noted.iter_mut().zip(units) {
                *noted = target.map.note(unit);
            }
        } else {
            if op.operation == Operation::Write {
                let Some(written) = target.claim_write(units) else { return false };
                io.written_units = written;
            } else if !target.map.claim(units) {
                return false;
            }
            (io.time_us, io.sequence) = (now_us(clock.now_ns()), verification.ticket());
            if let Some(log) = log {
                log.begin(slot, &logged(io, target.target, kind(op.operation, file)));
            }
            if op.operation == Operation::Write {
                make(engine, verification, file, op, io);
            }
        }
        if op.operation.transfers_data() {
            engine.stage_prepared(slot, op.operation, op.offset);
        } else {
            // A discard of a block device is prepared with its offset.
            engine.stage(slot, op);
        }
        self.staged.push(slot);
        true
    }

    /// Records a completed change, or checks a completed read.
    #[inline]
    fn finish(&mut self, done: Completion) -> Completion {
        let UnderWay { op, io, begun_ns } = self.under_way[done.slot as usize];
        // What the engine has stamped is more exact.
        let done = if done.ended_ns > 0 { done } else { Completion { begun_ns, ended_ns: self.looked_ns, ..done } };
        let target = self.verification.target(self.files[op.file as usize].target);
        let is_whole = done.result.cast_unsigned() == op.length || done.result == 0 && !op.operation.transfers_data();
        if op.operation != Operation::Read
            && let Some(log) = &mut self.log
        {
            log.end(done.slot, io.sequence, is_whole.then(|| self.verification.count()));
        }
        match op.operation {
            Operation::Read => self.check(&op, &io, &done),
            _ if !is_whole => target.finish(&io, Change::Failed),
            Operation::Write => target.finish(&io, Change::Written),
            Operation::Discard => target.finish(&io, Change::Discarded),
            Operation::WriteZeroes => target.finish(&io, Change::Zeroed),
        }
        done
    }

    /// Checks what a read returned.
    #[inline]
    fn check(&self, op: &Op, io: &WriteIo, done: &Completion) {
        let index = self.files[op.file as usize].target;
        let target = self.verification.target(index);
        let cells = self.verification.cells(self.thread);
        let (unit_bytes, all) = (target.unit.bytes(), u64::from(io.length));
        let transferred = u64::try_from(done.result).unwrap_or(0).min(u64::from(op.length));
        let whole = target.unit.count(transferred);
        let noted = &self.noted[done.slot as usize * self.noted_per_slot..];
        let (mut piece, mut checked) = ([0; UNIT_BYTES_MAX], 0);
        let bytes = &mut piece[..unit_bytes as usize];
        for (number, noted) in (0..whole).zip(noted) {
            let unit = io.first + number;
            let Some(expected) = target.expected(unit, *noted) else { continue };
            self.engine.copy_out(op, number * unit_bytes, bytes);
            match target.compare(unit, bytes, expected, io.time_us) {
                Verdict::Right => checked += 1,
                Verdict::NotCheckable | Verdict::Unfinished => {}
                Verdict::Wrong(class) => {
                    checked += 1;
                    let bytes = Some(&*bytes);
                    self.keep(index, (unit, *noted), bytes, (class, expected), done.ended_ns);
                }
            }
        }
        if is_unreadable(done.result.wrapping_neg())
            && let Some(noted) = noted.first()
        {
            // The error is of the whole I/O, whatever its units hold: the first one stands for it.
            cells.unreadable.add(1);
            let expected = target.expected(io.first, *noted).unwrap_or(Expected::State(State::Unknown));
            let class = CorruptionClass::Unreadable;
            self.keep(index, (io.first, *noted), None, (class, expected), done.ended_ns);
        }
        cells.checked.add(checked);
        cells.unchecked.add(all - checked);
    }

    #[cold]
    fn keep(
        &self,
        target: usize,
        (unit, noted): (u64, MapEntry),
        bytes: Option<&[u8]>,
        (class, expected): (CorruptionClass, Expected),
        now_ns: u64,
    ) {
        let thread = self.thread;
        self.verification.keep(&Corrupt { target, unit, bytes, class, expected, noted, thread, now_ns });
    }
}

/// Makes the data of a write.
#[inline]
fn make<E: Engine>(engine: &mut E, verification: &Verification, file: VerifiedFile, op: &Op, io: &WriteIo) {
    let target = verification.target(file.target);
    if !file.keeps_content {
        engine.fill(op, |part, at| {
            let first = io.first + target.unit.count(at - op.region_offset);
            target.make(part, first, io, Some(&verification.pool));
        });
        return;
    }
    let (mut piece, mut done) = ([0; UNIT_BYTES_MAX], 0);
    while done < op.length {
        let length = (op.length - done).min(UNIT_BYTES_MAX as u32);
        let part = &mut piece[..length as usize];
        engine.copy_out(op, u64::from(done), part);
        target.make(part, io.first + target.unit.count(u64::from(done)), io, None);
        let op = Op { region_offset: op.region_offset + u64::from(done), length, ..*op };
        engine.fill(&op, |bytes, _| bytes.copy_from_slice(part));
        done += length;
    }
}

fn kind(operation: Operation, file: VerifiedFile) -> Kind {
    match operation {
        Operation::Discard => Kind::Discard,
        Operation::WriteZeroes => Kind::Zeroes,
        Operation::Read | Operation::Write => file.writes,
    }
}

fn logged(io: &WriteIo, target: u32, kind: Kind) -> LoggedChange {
    let WriteIo { first, length, sequence: ticket, time_us, .. } = *io;
    LoggedChange { kind, ticket, target, first, length, time_us }
}

impl<E: Engine, C: Clock> Engine for Verifying<E, C> {
    const STAMPS: bool = true;
    const TAKES_MANY: bool = E::TAKES_MANY;
    const VERIFIES: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        *self.prepared(slot, op.operation) = *op;
        self.engine.prepare(slot, op);
    }

    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        let op = Op { offset, ..*self.prepared(slot, operation) };
        self.under_way[slot as usize].op = op;
        if !self.begin(slot) {
            self.verification.cells(self.thread).waiting.add(1);
            self.parked.push(slot);
        }
    }

    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        self.prepared(slot, operation).length = length;
        self.engine.set_length(slot, operation, length);
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        // Loads that are verified flush by themselves (`Flusher`).
        self.engine.stage_flush(slot, file, call);
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        for _ in 0..self.parked.len() {
            let slot = self.parked.remove(0);
            if !self.begin(slot) {
                self.parked.push(slot);
            }
        }
        if !self.staged.is_empty() {
            let now_ns = self.clock.now_ns();
            for slot in self.staged.drain(..) {
                self.under_way[slot as usize].begun_ns = now_ns;
            }
        }
        let in_flight = self.engine.in_flight();
        if in_flight == 0 {
            // Another thread has the units.
            std::thread::yield_now();
            return Ok(Pushed::default());
        }
        self.engine.push(match wait {
            Wait::Poll => Wait::Poll,
            Wait::For { count } => Wait::For { count: count.min(in_flight) },
            Wait::Until { count, deadline_ns } => Wait::Until { count: count.min(in_flight), deadline_ns },
        })
    }

    fn poll(&mut self) -> PollResult {
        let PollResult { count, .. } = self.engine.poll();
        if count > 0 {
            self.looked_ns = self.clock.now_ns();
        }
        PollResult { count, is_stamped: true }
    }

    fn take(&mut self, most: u32, mut each: impl FnMut(Completion)) {
        let mut taken = std::mem::take(&mut self.taken);
        self.engine.take(most, |done| taken.push(done));
        for done in taken.drain(..) {
            each(self.finish(done));
        }
        self.taken = taken;
    }

    fn forget_waiting(&mut self) {
        self.parked.clear();
        self.engine.forget_waiting();
    }

    fn cancel_all(&mut self) {
        self.parked.clear();
        self.engine.cancel_all();
    }

    fn in_flight(&self) -> u32 {
        self.engine.in_flight() + self.parked.len() as u32
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.engine.fill(op, fill)
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.engine.copy_out(op, at, bytes);
    }

    fn begin_flush(&mut self, file: u32) {
        let flush = self.of_target(file);
        if let Some(log) = &mut self.log {
            log.begin_flush(&flush);
        }
    }

    fn end_flush(&mut self, is_durable: bool) {
        if let Some(log) = &mut self.log {
            log.end_flush(is_durable);
        }
    }

    fn begin_emptying(&mut self, file: u32) {
        let emptying = self.of_target(file);
        if let Some(log) = &mut self.log {
            log.begin_emptying(&emptying);
        }
    }

    fn emptied(&mut self, file: u32) {
        self.verification.target(self.files[file as usize].target).map.forget();
    }
}
