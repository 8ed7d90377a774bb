//! One system call per I/O: the cheapest way where a thread has one request (a ring costs about
//! a quarter more there).

use crate::buffers::{Region, Regions, raw_result};
use crate::one_by_one::OneByOne;
use crate::prepared::Prepared;
use crate::{DoneBatch, Engine, Op, Pushed, SlotId, Wait};
use hot::clock::Clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use sys::mapping::Mapping;

/// `pread` and `pwrite`, one staged operation after the other.
#[derive(Debug)]
pub struct SyncEngine<C> {
    files: Vec<OwnedFd>,
    regions: Regions,
    prepared: Prepared<Op>,
    operations: OneByOne<C>,
}

impl<C: Clock> SyncEngine<C> {
    /// An engine for `slots` requests over these targets and buffers.
    pub fn new(clock: C, slots: u32, files: Vec<OwnedFd>, regions: Vec<Region>) -> Self {
        Self {
            files,
            regions: Regions::new(regions),
            prepared: Prepared::new(slots),
            operations: OneByOne::new(clock, slots),
        }
    }
}

impl<C: Clock> Engine for SyncEngine<C> {
    const STAMPS: bool = true;
    const TAKES_MANY: bool = false;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.prepared.set(slot, op.write, *op);
    }

    #[inline]
    fn stage_prepared(&mut self, slot: SlotId, write: bool, offset: u64) {
        self.operations.stage(slot, &self.prepared.at(slot, write, offset));
    }

    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.operations.stage(slot, op);
    }

    fn push(&mut self, _: Wait) -> io::Result<Pushed> {
        let submitted = self.operations.complete(|op| transfer(&self.files, &self.regions, op));
        Ok(Pushed { submitted })
    }

    fn reap(&mut self, done: &mut DoneBatch, most: u32) {
        self.operations.reap(done, most);
    }

    fn cancel_all(&mut self) {
        self.operations.cancel();
    }

    fn in_flight(&self) -> u32 {
        self.operations.in_flight()
    }

    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping> {
        self.regions.get_mut(region)
    }
}

const _: () = assert!(usize::BITS == 64, "an offset takes one register of a system call");

/// One system call for one operation; its result is bytes or a negative error number.
fn transfer(files: &[OwnedFd], regions: &Regions, op: &Op) -> i32 {
    let file = files[op.file as usize].as_raw_fd();
    let address = regions.address(op).cast::<libc::c_void>();
    let (length, offset) = (op.length as usize, op.offset.cast_signed());
    // Not the wrappers of the C library: they are cancellation points, which costs 40 instructions.
    let call = if op.write { libc::SYS_pwrite64 } else { libc::SYS_pread64 };
    loop {
        // SAFETY: `address` was checked to have `length` bytes in a region that the
        // engine owns, no reference points into it, and the call returns before anything else can
        // touch it. Both calls take a descriptor, an address, a length and an offset.
        let result = raw_result(unsafe { libc::syscall(call, file, address, length, offset) } as isize);
        if result != -libc::EINTR {
            return result;
        }
    }
}
