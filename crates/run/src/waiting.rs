//! How a worker waits for the next start, and for its last I/Os.

use crate::allowance::Allowance;
use crate::drain::CANCEL_NS;
use crate::work::Refill;
use crate::worker::Worker;
use engine::{Engine, Wait};
use hot::clock::Clock;

/// Waits shorter than this are spent looking for completions: waking from a sleep takes longer.
const SPIN_NS: u64 = 100_000;

/// How often a worker that waits for its last I/Os looks whether they are to be cancelled.
const LOOK_NS: u64 = 100_000_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// True if nothing is in flight and nothing more may start: the allowance is used up, or the trace is over, and
    /// others are told.
    pub(crate) fn finish_if_budget_spent(&mut self) -> bool {
        let Some(allowance) = &self.allowance else { return false };
        // A replay has one target.
        let is_exhausted = self.work[0].replaying.as_mut().is_some_and(|replaying| replaying.is_exhausted());
        let over = (is_exhausted || allowance.is_refused()) && self.engine.in_flight() == 0 && !self.has_held();
        if over {
            allowance.leave(self.now_ns, &self.stop);
        }
        over
    }

    /// The event to wait for: a completion, or the next start. `None` if that was slept for, with nothing in flight.
    pub(crate) fn wait_for(&self, now_ns: u64, next_start_ns: Option<u64>) -> Option<Wait> {
        match next_start_ns {
            Some(start_ns) if self.engine.in_flight() == 0 => {
                self.recorder.in_flight.set(0);
                if start_ns - now_ns > SPIN_NS {
                    self.recorder.waits.throttle_sleep.add(1);
                    sys::clock::sleep_until_ns(self.wake_ns(start_ns).min(self.phases.end_ns));
                }
                None
            }
            Some(start_ns) if start_ns - now_ns <= SPIN_NS => Some(Wait::Poll),
            Some(start_ns) => Some(Wait::Until { count: 1, deadline_ns: self.wake_ns(start_ns) }),
            None => Some(Wait::For { count: 1 }),
        }
    }

    /// When a wait for a start ends. In an open loop it ends early enough to be awake at the start:
    /// what waking takes would count as response time.
    pub(crate) fn wake_ns(&self, start_ns: u64) -> u64 {
        if self.open_loop { start_ns - SPIN_NS.min(start_ns) } else { start_ns }
    }

    /// Takes in what is still in flight, without counting it, until the control thread cancels it, and then for
    /// [`CANCEL_NS`]. Gives the number of operations that did not come back.
    pub fn drain(&mut self) -> u32 {
        self.count_backlog();
        self.work.iter().filter_map(|work| work.replaying.as_ref()).for_each(|replaying| replaying.close());
        self.keep_samples();
        self.engine.forget_waiting();
        let mut cancelled_ns = None;
        while self.engine.in_flight() > 0 {
            self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
            let now_ns = self.clock.now_ns();
            if cancelled_ns.is_some_and(|at_ns| now_ns >= at_ns + CANCEL_NS) {
                break;
            }
            let pushed = self.engine.push(Wait::Until { count: 1, deadline_ns: now_ns + LOOK_NS });
            self.engine.poll();
            let Self { engine, tracer, slots, work, .. } = self;
            engine.take(u32::MAX, |done| {
                let slot = &slots[done.slot as usize];
                let Some(tracer) = tracer.as_ref().filter(|_| done.result >= 0) else { return };
                let (work, times) = (&work[slot.work as usize], (slot.started_ns, now_ns.max(done.ended_ns)));
                match work.flush_call(done.slot) {
                    Some(call) => tracer.flush(slot.work as usize, call, times),
                    None => tracer.io(slot, work.length_of_any(done.slot, slot), times),
                }
            });
            if cancelled_ns.is_none() && (pushed.is_err() || self.stop.is_cancelled()) {
                self.engine.cancel_all();
                cancelled_ns = Some(now_ns);
            }
        }
        self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
        self.engine.in_flight()
    }

    /// Nothing more is written: the samples of what was go to the recorder.
    fn keep_samples(&mut self) {
        for (work, row) in self.work.iter_mut().zip(&self.recorder.rows) {
            if let Some(Refill::Reducible(_, sample)) = work.refill.take() {
                row.keep_sample(*sample);
            }
        }
    }

    /// Nothing more is started: the starts that were intended and not made are the backlog. A limit
    /// on the run's I/O (`--max-ios`) that is used up takes back what was intended after it.
    pub(crate) fn count_backlog(&mut self) {
        let is_used_up = self.allowance.as_ref().is_some_and(Allowance::is_refused);
        if !self.open_loop || is_used_up {
            return;
        }
        let window = self.phases.measurement(&self.stop);
        for (work, row) in self.work.iter_mut().zip(&self.recorder.rows) {
            let Some(cells) = &row.open_loop else { continue };
            // What is left of the warm-up is none of the measurement.
            work.pacer.pass(window.start);
            cells.backlog.add(match &mut work.replaying {
                Some(replaying) => replaying.pass(window.end),
                None => work.pacer.pass(window.end),
            });
        }
    }
}
