//! One system call per I/O: the cheapest way where a thread has one request (a ring costs about
//! a quarter more there).

use crate::buffers::{Region, Regions, raw_result};
use crate::{Done, DoneBatch, Engine, Op, Pushed, SlotId, Wait};
use hot::clock::Clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use sys::mapping::Mapping;

/// `pread` and `pwrite`.
#[derive(Debug)]
pub struct SyncEngine<C> {
    clock: C,
    files: Vec<OwnedFd>,
    regions: Regions,
    staged: Option<(SlotId, Op)>,
    done: Option<Done>,
}

impl<C: Clock> SyncEngine<C> {
    /// An engine over these targets and buffers.
    pub fn new(clock: C, files: Vec<OwnedFd>, regions: Vec<Region>) -> Self {
        Self { clock, files, regions: Regions::new(regions), staged: None, done: None }
    }

    fn transfer(&self, op: &Op) -> i32 {
        let file = self.files[op.file as usize].as_raw_fd();
        let address = self.regions.address(op).cast::<libc::c_void>();
        let (length, offset) = (op.length as usize, op.offset.cast_signed());
        loop {
            // SAFETY: `address` was checked to have `length` bytes in a region that this engine
            // owns, no reference points into it, and the call returns before anything else can
            // touch it.
            let result = raw_result(unsafe {
                if op.write {
                    libc::pwrite64(file, address, length, offset)
                } else {
                    libc::pread64(file, address, length, offset)
                }
            });
            if result != -libc::EINTR {
                return result;
            }
        }
    }
}

impl<C: Clock> Engine for SyncEngine<C> {
    const STAMPS: bool = true;

    fn stage(&mut self, slot: SlotId, op: &Op) {
        debug_assert!(self.staged.is_none() && self.done.is_none(), "one request at a time");
        self.staged = Some((slot, *op));
    }

    fn push(&mut self, _: Wait) -> io::Result<Pushed> {
        let Some((slot, op)) = self.staged.take() else {
            return Ok(Pushed::default());
        };
        let begun_ns = self.clock.now_ns();
        let result = self.transfer(&op);
        let ended_ns = self.clock.now_ns();
        self.done = Some(Done { slot, result, begun_ns, ended_ns });
        Ok(Pushed { submitted: 1 })
    }

    fn reap(&mut self, done: &mut DoneBatch) {
        if let Some(one) = self.done.take() {
            done.push(one);
        }
    }

    fn cancel_all(&mut self) {
        self.staged = None;
    }

    fn in_flight(&self) -> u32 {
        u32::from(self.staged.is_some()) + u32::from(self.done.is_some())
    }

    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping> {
        self.regions.get_mut(region)
    }
}
