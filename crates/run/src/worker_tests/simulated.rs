//! A device on the test's clock: a fixed number of I/Os is served at a time, each for a time of a known law, and
//! none ends during a stall.

use super::StepClock;
use engine::null::NullEngine;
use engine::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait};
use hot::rng::Rng;
use model::operation::Operation;
use model::profile::FlushCall;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// How long an I/O is served.
#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    Fixed {
        ns: u64,
    },
    Exponential {
        mean_ns: u64,
    },
    /// One in this many is slow, at random.
    TwoPoint {
        fast_ns: u64,
        slow_ns: u64,
        one_in: u64,
    },
}

impl Law {
    fn draw_ns(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed { ns } => ns,
            Self::Exponential { mean_ns } => {
                let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                (-uniform.ln() * mean_ns as f64) as u64
            }
            Self::TwoPoint { fast_ns, slow_ns, one_in } => {
                if rng.below(one_in) == 0 {
                    slow_ns
                } else {
                    fast_ns
                }
            }
        }
    }
}

/// Service times of the device.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) law: Law,
    /// I/Os served at a time; `None` = all there are.
    pub(super) servers: Option<usize>,
    /// I/Os that would end in it end with it.
    pub(super) stall_ns: Range<u64>,
    /// The stall comes again and again, so long after it began.
    pub(super) stall_period_ns: Option<u64>,
    /// I/Os submitted together complete together, when the last of them has ended: a host that answers one
    /// burst of requests with one interrupt.
    pub(super) answers_bursts: bool,
}

impl Service {
    /// A device that serves everything at once and never stalls.
    pub(super) fn parallel(law: Law) -> Self {
        Self { law, servers: None, stall_ns: 0..0, stall_period_ns: None, answers_bursts: false }
    }

    /// When what would end now ends.
    fn after_stall_ns(&self, end_ns: u64) -> u64 {
        let Range { start, end } = self.stall_ns;
        let period_ns = self.stall_period_ns.unwrap_or(u64::MAX);
        let into_stall_ns = end_ns.checked_sub(start).map(|since_ns| since_ns % period_ns);
        match into_stall_ns {
            Some(into_ns) if into_ns < end - start => end_ns + (end - start - into_ns),
            _ => end_ns,
        }
    }
}

pub(super) struct SimulatedEngine<'a> {
    clock: &'a StepClock,
    service: Service,
    rng: Rng,
    /// When each server is free again.
    servers: Vec<u64>,
    staged: Vec<(SlotId, Operation)>,
    /// I/Os in service, with the times at which they end.
    served: Vec<(u64, SlotId, Operation)>,
    /// Gives back what has ended.
    ended: NullEngine,
    /// How long I/Os were at the device, waiting or served, in all.
    at_device_ns: u64,
}

impl<'a> SimulatedEngine<'a> {
    pub(super) fn new(clock: &'a StepClock, service: Service, ended: NullEngine) -> Self {
        let servers = vec![0; service.servers.unwrap_or(0)];
        Self {
            clock,
            service,
            rng: Rng::new(5),
            servers,
            staged: Vec::new(),
            served: Vec::new(),
            ended,
            at_device_ns: 0,
        }
    }

    /// When the first of what is served ends; `None` = nothing is.
    pub(super) fn first_end_ns(&self) -> Option<u64> {
        self.served.iter().map(|&(end_ns, ..)| end_ns).min()
    }

    /// I/Os at the device, on average over that time.
    pub(super) fn mean_depth(&self, time_ns: u64) -> f64 {
        self.at_device_ns as f64 / time_ns as f64
    }

    fn serve(&mut self, now_ns: u64, slot: SlotId, operation: Operation) {
        let mut server = self.servers.iter_mut().min();
        let free_ns = server.as_deref().copied().unwrap_or(0);
        let service_ns = self.service.law.draw_ns(&mut self.rng);
        let end_ns = self.service.after_stall_ns(now_ns.max(free_ns) + service_ns);
        if let Some(server) = &mut server {
            **server = end_ns;
        }
        self.at_device_ns += end_ns - now_ns;
        self.served.push((end_ns, slot, operation));
    }
}

impl Engine for SimulatedEngine<'_> {
    const STAMPS: bool = false;
    const TAKES_MANY: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.ended.prepare(slot, op);
    }

    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        self.ended.set_length(slot, operation, length);
    }

    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, _: u64) {
        self.staged.push((slot, operation));
    }

    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.ended.prepare(slot, op);
        self.staged.push((slot, op.operation));
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, _: FlushCall) {
        // Its result is 0, as that of a flush.
        self.stage(slot, &Op { operation: Operation::WriteZeroes, file, ..Op::default() });
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        let now_ns = self.clock.now_ns.load(Relaxed);
        let submitted = self.staged.len() as u32;
        let before = self.served.len();
        for (slot, operation) in std::mem::take(&mut self.staged) {
            self.serve(now_ns, slot, operation);
        }
        if self.service.answers_bursts {
            let burst = &mut self.served[before..];
            let end_ns = burst.iter().map(|&(end_ns, ..)| end_ns).max().unwrap_or(0);
            for served in burst {
                served.0 = end_ns;
            }
        }
        let first_end_ns = self.first_end_ns().unwrap_or(now_ns);
        let wake_ns = match wait {
            Wait::Poll => now_ns,
            Wait::For { .. } => first_end_ns,
            Wait::Until { deadline_ns, .. } => first_end_ns.min(deadline_ns),
        };
        self.clock.now_ns.fetch_max(wake_ns, Relaxed);
        Ok(Pushed { submitted })
    }

    fn poll(&mut self) -> PollResult {
        let now_ns = self.clock.now_ns.load(Relaxed);
        let ended = &mut self.ended;
        self.served.retain(|&(end_ns, slot, operation)| {
            if end_ns <= now_ns {
                ended.stage_prepared(slot, operation, 0);
            }
            end_ns > now_ns
        });
        ended.poll()
    }

    fn take(&mut self, most: u32, each: impl FnMut(Completion)) {
        self.ended.take(most, each);
    }

    fn cancel_all(&mut self) {
        self.staged.clear();
        self.served.clear();
    }

    fn in_flight(&self) -> u32 {
        (self.staged.len() + self.served.len()) as u32 + self.ended.in_flight()
    }

    fn copy_out(&self, _: &engine::Op, _: u64, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.ended.fill(op, fill)
    }
}
