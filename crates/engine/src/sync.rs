//! One system call per I/O: the cheapest way where a thread has one request (a ring costs about
//! a quarter more there).

use crate::buffers::{Region, Regions, raw_result};
use crate::{Done, DoneBatch, Engine, Op, Pushed, SlotId, Wait};
use hot::clock::Clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use sys::mapping::Mapping;

/// `pread` and `pwrite`, one staged operation after the other.
#[derive(Debug)]
pub struct SyncEngine<C> {
    clock: C,
    files: Vec<OwnedFd>,
    regions: Regions,
    staged: Vec<(SlotId, Op)>,
    done: Vec<Done>,
}

impl<C: Clock> SyncEngine<C> {
    /// An engine for `slots` requests over these targets and buffers.
    pub fn new(clock: C, slots: u32, files: Vec<OwnedFd>, regions: Vec<Region>) -> Self {
        let slots = slots as usize;
        let (staged, done) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        Self { clock, files, regions: Regions::new(regions), staged, done }
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
    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.staged.push((slot, *op));
    }

    fn push(&mut self, _: Wait) -> io::Result<Pushed> {
        let submitted = self.staged.len() as u32;
        for index in 0..self.staged.len() {
            let (slot, op) = self.staged[index];
            let begun_ns = self.clock.now_ns();
            let result = self.transfer(&op);
            self.done.push(Done { slot, result, begun_ns, ended_ns: self.clock.now_ns() });
        }
        self.staged.clear();
        Ok(Pushed { submitted })
    }

    fn reap(&mut self, done: &mut DoneBatch, most: u32) {
        done.take_from(&mut self.done, most);
    }

    fn cancel_all(&mut self) {
        self.staged.clear();
    }

    fn in_flight(&self) -> u32 {
        (self.staged.len() + self.done.len()) as u32
    }

    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping> {
        self.regions.get_mut(region)
    }
}
