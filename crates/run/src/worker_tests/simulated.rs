//! A device on the test's clock: so many I/Os are served at a time, each for the same time, and none
//! ends during a stall.

use super::StepClock;
use engine::null::NullEngine;
use engine::{DoneBatch, Engine, Op, Pushed, SlotId, Wait};
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use sys::mapping::Mapping;

/// What the device takes for an I/O.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) time_ns: u64,
    /// I/Os served at a time; `None` = all there are.
    pub(super) servers: Option<usize>,
    /// What would end in it ends with it.
    pub(super) stall_ns: Range<u64>,
}

pub(super) struct SimulatedEngine<'a> {
    clock: &'a StepClock,
    service: Service,
    /// When each server is free again.
    servers: Vec<u64>,
    staged: Vec<(SlotId, bool)>,
    /// What is served, and when it ends.
    served: Vec<(u64, SlotId, bool)>,
    /// Gives back what has ended.
    ended: NullEngine,
}

impl<'a> SimulatedEngine<'a> {
    pub(super) fn new(clock: &'a StepClock, service: Service, ended: NullEngine) -> Self {
        let servers = vec![0; service.servers.unwrap_or(0)];
        Self { clock, service, servers, staged: Vec::new(), served: Vec::new(), ended }
    }

    fn serve(&mut self, now_ns: u64, slot: SlotId, write: bool) {
        let mut server = self.servers.iter_mut().min();
        let free_ns = server.as_deref().copied().unwrap_or(0);
        let mut end_ns = now_ns.max(free_ns) + self.service.time_ns;
        if self.service.stall_ns.contains(&end_ns) {
            end_ns = self.service.stall_ns.end;
        }
        if let Some(server) = &mut server {
            **server = end_ns;
        }
        self.served.push((end_ns, slot, write));
    }
}

impl Engine for SimulatedEngine<'_> {
    const STAMPS: bool = false;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.ended.prepare(slot, op);
    }

    fn stage_prepared(&mut self, slot: SlotId, write: bool, _: u64) {
        self.staged.push((slot, write));
    }

    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.staged.push((slot, op.write));
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        let now_ns = self.clock.now_ns.load(Relaxed);
        let submitted = self.staged.len() as u32;
        for (slot, write) in std::mem::take(&mut self.staged) {
            self.serve(now_ns, slot, write);
        }
        let first_end_ns = self.served.iter().map(|&(end_ns, ..)| end_ns).min().unwrap_or(now_ns);
        let wake_ns = match wait {
            Wait::Poll => now_ns,
            Wait::For { .. } => first_end_ns,
            Wait::Until { deadline_ns, .. } => first_end_ns.min(deadline_ns),
        };
        self.clock.now_ns.fetch_max(wake_ns, Relaxed);
        Ok(Pushed { submitted })
    }

    fn reap(&mut self, done: &mut DoneBatch, most: u32) {
        let now_ns = self.clock.now_ns.load(Relaxed);
        let ended = &mut self.ended;
        self.served.retain(|&(end_ns, slot, write)| {
            if end_ns <= now_ns {
                ended.stage_prepared(slot, write, 0);
            }
            end_ns > now_ns
        });
        ended.reap(done, most);
    }

    fn cancel_all(&mut self) {
        self.staged.clear();
        self.served.clear();
    }

    fn in_flight(&self) -> u32 {
        (self.staged.len() + self.served.len()) as u32 + self.ended.in_flight()
    }

    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping> {
        self.ended.region_mut(region)
    }
}
