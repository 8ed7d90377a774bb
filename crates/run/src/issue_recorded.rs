//! Issuing the requests of a trace (`trace replay`), at their times or in their order.
//!
//! Flushes are operations like others at their times; in a closed replay, which has no times, a flush waits for the
//! requests before it, and the next ones for it.

use crate::open_loop::StartAccounting;
use crate::worker::Worker;
use engine::Engine;
use hot::clock::Clock;
use model::action::Action;
use model::operation::Operation;

/// How long a thread that waits for the trace does something else.
const READING_NS: u64 = 50_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Issues the requests of the trace that are due and have a free request. Gives the time of the next one, if
    /// requests are free.
    #[inline(never)]
    pub(crate) fn issue_recorded(&mut self, now_ns: u64) -> Option<u64> {
        let starts =
            self.open_loop.then(|| StartAccounting::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
        let cells = self.recorder.rows[0].replay.as_ref()?;
        let Self { engine, clock, rng, work, slots, spread, .. } = self;
        let work = &mut work[0];
        let mut most = if E::TAKES_MANY { spread.most } else { u32::MAX };
        spread.has_more = false;
        while work.free.free_count() > 0 {
            let replaying = work.replaying.as_mut()?;
            if replaying.is_exhausted() {
                return None;
            }
            let Some(due_ns) = replaying.due_ns() else { return Some(now_ns + READING_NS) };
            if !replaying.is_closed_loop && due_ns > now_ns {
                replaying.is_early();
                return Some(due_ns);
            }
            if engine.in_flight() > 0 && replaying.waits() {
                return None;
            }
            if most == 0 {
                spread.has_more = true;
                return None;
            }
            most -= 1;
            let id = work.free.take()?;
            let (request, was_awaited) = replaying.take(id - work.first_slot)?;
            cells.delayed_by_reading.add(u64::from(was_awaited));
            cells.issued.add(1);
            let operation = request.action.operation().unwrap_or(Operation::Write);
            slots[id as usize].begin(operation, request.offset, now_ns);
            if let Some(starts) = &starts {
                cells.lateness.record(now_ns.saturating_sub(due_ns));
                let left = work.free.free_count();
                starts.account(&mut slots[id as usize], &mut work.saturation, due_ns, now_ns, left);
            }
            match request.action {
                Action::Flush(call) => engine.stage_flush(id, work.file, call),
                Action::Operation(_) => {
                    let started_ns = work.stage_recorded(engine, clock, rng, id, &request);
                    slots[id as usize].started_ns = started_ns.unwrap_or(now_ns);
                }
            }
        }
        None
    }
}
