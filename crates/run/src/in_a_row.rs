//! One request of an engine that does an operation within the call: the shortest loop.
//!
//! Work done once per turn is done once for several I/Os.

use crate::data_plane::Completions;
use crate::shape::Single;
use crate::worker::{Worker, WorkerError};
use engine::Engine;
use hot::clock::Clock;
use hot::counters;

/// I/Os of a turn at most, and the time after which none is begun: others look on, and the end of the run is near.
const IOS_MAX: u64 = 32;
const TIME_MAX_NS: u64 = 100_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Does I/Os one after the other, as long as they are measured, uniformly random and of one kind. False if there
    /// was none, for whatever reason.
    #[inline]
    pub(crate) fn do_in_a_row(&mut self, now_ns: u64) -> Result<bool, WorkerError> {
        let Self { engine, rng, work, slots, recorder, cursor, stop, .. } = self;
        let (work, row, slot) = (&work[0], &recorder.rows[0], &mut slots[0]);
        let (Some(uniform), Some(operation)) = (work.stream.uniform(), work.mix.fixed()) else { return Ok(false) };
        if !cursor.is_measuring() || engine.in_flight() > 0 {
            return Ok(false);
        }
        let (tally, tables) =
            (row.tally(operation), recorder.latencies.as_ref().map(|latencies| latencies.tables(row, operation)));
        let (part_ends_ns, leaves_ns) = (cursor.end_ns, now_ns + TIME_MAX_NS);
        let mut draws = rng.clone();
        let mut count = 0;
        let uncounted = loop {
            let offset = uniform.next(&mut draws).offset;
            let Some(done) = engine.do_now(0, operation, offset) else { return Ok(false) };
            slot.begin(operation, offset, done.begun_ns);
            count += 1;
            self.now_ns = done.ended_ns;
            if done.result.cast_unsigned() != work.block
                || done.ended_ns >= part_ends_ns
                || done.ended_ns >= stop.at_ns()
            {
                break Some(done);
            }
            let latency_ns = done.ended_ns.saturating_sub(done.begun_ns);
            counters::record(tally, latency_ns);
            if let Some(tables) = &tables {
                tables.record(slot, latency_ns, done.ended_ns);
            }
            if count == IOS_MAX || done.ended_ns >= leaves_ns {
                break None;
            }
        };
        *rng = draws;
        recorder.submits.add(count);
        recorder.waits.wait_completions[1].add(count);
        recorder.completed.add(count);
        match uncounted.map(|done| self.count_any::<Single>(Completions::taken(done), done.ended_ns)) {
            Some(Some(done)) => Err(self.trouble(&done)),
            _ => Ok(true),
        }
    }
}
