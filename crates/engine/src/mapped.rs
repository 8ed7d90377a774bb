//! Memory mapped targets: an I/O is a copy between the mapping and the request's buffer.
//!
//! A thread may serve mapped targets beside others; so this is a layer over another engine, which
//! does what is not mapped.

use crate::buffers::Region;
use crate::one_by_one::{OneByOne, Waiting};
use crate::prepared::Prepared;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait};
use hot::clock::Clock;
use model::operation::Operation;
use model::profile::FlushCall;
use std::io;
use sys::file_mapping::{FileMapping, Persist};

/// A mapped target and what follows each write to it.
#[derive(Debug)]
pub struct MappedTarget {
    /// The target in memory.
    pub memory: FileMapping,
    /// Copies that bypass the CPU's caches (`-Smw`).
    pub non_temporal: bool,
    /// Method that makes a write durable (`-N`).
    pub persist: Option<Persist>,
}

/// A layer that does the I/O of mapped targets.
#[derive(Debug)]
pub struct Mapped<E, C> {
    inner: E,
    /// Some targets are the inner engine's, or it flushes.
    has_inner: bool,
    /// Completions that the latest poll found there and that were not taken.
    inner_found: u32,
    /// By file number; `None` = the inner engine's.
    targets: Vec<Option<MappedTarget>>,
    /// By region number: buffers of mapped targets, and empty ones for the inner engine's.
    regions: Vec<Option<Region>>,
    prepared: Prepared<Op>,
    operations: OneByOne<C>,
}

impl<E: Engine, C: Clock> Mapped<E, C> {
    /// A layer over `inner` for `slots` requests. `regions` are the buffers of the mapped targets,
    /// under the numbers that their operations name.
    pub fn new(
        inner: E,
        clock: C,
        slots: u32,
        targets: Vec<Option<MappedTarget>>,
        regions: Vec<Option<Region>>,
    ) -> Self {
        Self {
            inner,
            has_inner: targets.iter().any(Option::is_none),
            inner_found: 0,
            targets,
            regions,
            prepared: Prepared::new(slots, &Op::default()),
            operations: OneByOne::new(clock, slots),
        }
    }

    #[inline]
    fn is_mapped(&self, file: u32) -> bool {
        !self.has_inner || self.targets.get(file as usize).is_some_and(Option::is_some)
    }
}

impl MappedTarget {
    /// Copies past the caches are durable as far as they can be; others are followed by `-N`.
    fn make_durable(&self, offset: u64, length: u64) -> io::Result<()> {
        match self.persist {
            Some(persist) if !self.non_temporal => self.memory.persist(offset, length, persist),
            _ => Ok(()),
        }
    }
}

impl<E: Engine, C: Clock> Engine for Mapped<E, C> {
    const STAMPS: bool = true;
    const TAKES_MANY: bool = false;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.prepared.set(slot, op.operation, *op);
        if !self.is_mapped(op.file) {
            self.inner.prepare(slot, op);
        }
    }

    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        // A copy that leaves its buffer or the mapping is refused when it is made.
        let op = self.prepared.get_mut(slot, operation);
        op.length = length;
        if !self.is_mapped(self.prepared.get(slot, operation).file) {
            self.inner.set_length(slot, operation, length);
        }
    }

    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        if !self.has_inner || self.is_mapped(self.prepared.get(slot, operation).file) {
            self.operations.stage(Waiting { slot, operation, offset });
        } else {
            self.inner.stage_prepared(slot, operation, offset);
        }
    }

    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.prepared.set(slot, op.operation, *op);
        if self.has_inner && !self.is_mapped(op.file) {
            self.inner.stage(slot, op);
        } else {
            self.operations.stage(Waiting { slot, operation: op.operation, offset: op.offset });
        }
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        // Pages in memory are flushed with each write (`-N`).
        self.has_inner = true;
        self.inner.stage_flush(slot, file, call);
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        self.operations.hand_over();
        // With operations at hand nothing is waited for.
        let wait = if self.operations.ready() > 0 { Wait::Poll } else { wait };
        if self.has_inner && self.inner.in_flight() > 0 { self.inner.push(wait) } else { Ok(Pushed::default()) }
    }

    fn poll(&mut self) -> PollResult {
        let inner = if self.has_inner { self.inner.poll() } else { PollResult::default() };
        self.inner_found = inner.count;
        PollResult { count: inner.count + self.operations.ready(), is_stamped: inner.is_stamped || inner.count == 0 }
    }

    fn take(&mut self, most: u32, mut each: impl FnMut(Completion)) {
        let of_inner = most.min(self.inner_found);
        if of_inner > 0 {
            self.inner_found -= of_inner;
            self.inner.take(of_inner, &mut each);
        }
        let transfer = |next: &Waiting| {
            let op = self.prepared.get(next.slot, next.operation);
            transfer(&self.targets, &mut self.regions, op, next.offset)
        };
        self.operations.take(most - of_inner, transfer, each);
    }

    fn forget_waiting(&mut self) {
        self.operations.forget();
        self.inner.forget_waiting();
    }

    fn cancel_all(&mut self) {
        self.operations.forget();
        self.inner.cancel_all();
    }

    fn in_flight(&self) -> u32 {
        let of_inner = if self.has_inner { self.inner.in_flight() } else { 0 };
        of_inner + self.operations.in_flight()
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        match self.regions.get_mut(op.region as usize).and_then(Option::as_mut) {
            Some(region) => region.fill(op, fill),
            None => self.inner.fill(op, fill),
        }
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        match self.regions.get(op.region as usize).and_then(Option::as_ref) {
            Some(region) => region.mapping().read(op.region_offset + at, bytes),
            None => self.inner.copy_out(op, at, bytes),
        }
    }
}

/// The copy that is one operation at `offset`; its result is bytes or a negative error number.
#[inline]
fn transfer(targets: &[Option<MappedTarget>], regions: &mut [Option<Region>], op: &Op, offset: u64) -> i32 {
    let target = targets.get(op.file as usize).and_then(Option::as_ref);
    let region = regions.get_mut(op.region as usize).and_then(Option::as_mut);
    let (Some(target), Some(region)) = (target, region) else { return -libc::EBADF };
    let (length, at) = (u64::from(op.length), op.region_offset);
    let copied = match (op.operation, region) {
        (Operation::Write, region) => {
            let written = target.memory.write(offset, region.mapping(), at, length, target.non_temporal);
            written.and_then(|()| target.make_durable(offset, length))
        }
        (Operation::Read, Region::Own(buffer)) => target.memory.read(offset, buffer, at, length, target.non_temporal),
        (Operation::Read, Region::Shared(_)) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        // They would go past the mapping.
        (Operation::Discard | Operation::WriteZeroes, _) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    };
    match copied {
        Ok(()) => i32::try_from(op.length).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
    }
}
