//! Counting I/Os that came back, and freeing their requests.

use crate::allowance::Allowance;
use crate::phase::Phases;
use crate::recorder::Recorder;
use crate::row::Row;
use crate::work::{Assigner, Work};
use crate::worker::{Sampling, Slot, Trouble, Worker};
use engine::{Done, Engine};
use hot::clock::Clock;
use std::ops::Range;

/// Until when I/Os are counted in the same part of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paging {
    /// The measurement has begun.
    is_measuring: bool,
    /// First nanosecond of the next part.
    end_ns: u64,
}

impl Paging {
    /// Before the measurement.
    pub(crate) fn new() -> Self {
        Self { is_measuring: false, end_ns: u64::MAX }
    }

    /// True once the measurement has begun.
    #[inline]
    pub(crate) fn is_measuring(&self) -> bool {
        self.is_measuring
    }

    /// The measurement has begun.
    pub(crate) fn start_measuring(&mut self, now_ns: u64, phases: &Phases, recorder: &Recorder) {
        self.is_measuring = true;
        let next_ns = recorder.start_measuring(now_ns.saturating_sub(phases.measure_ns));
        self.end_ns = phases.measure_ns.saturating_add(next_ns);
    }

    /// To the part of `now_ns`; divides, so only when it is a new one.
    #[cold]
    fn turn(&mut self, now_ns: u64, phases: &Phases, recorder: &Recorder) {
        let next_ns = recorder.turn(now_ns.saturating_sub(phases.measure_ns));
        self.end_ns = phases.measure_ns.saturating_add(next_ns);
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Counts what came back and frees its requests.
    pub(crate) fn collect(&mut self) -> Result<(), Trouble> {
        // One stamp for the batch: it was all there when this turn looked. Engines that stamp each
        // operation have just taken it.
        let stamp = if E::STAMPS { self.done.items().last().map_or(0, |done| done.ended_ns) } else { 0 };
        self.now_ns = if stamp > 0 { stamp } else { self.clock.now_ns() };
        let until_ns = self.phases.cool_down_ns.min(self.stop.at_ns());
        let failed = if E::STAMPS {
            // Operation by operation: the last may be in another interval, or phase, than the first.
            let mut failed = None;
            for index in 0..self.done.items().len() {
                let ended_ns = self.done.items()[index].ended_ns;
                let ended_ns = if ended_ns > 0 { ended_ns } else { self.now_ns };
                self.enter_phase(ended_ns);
                failed = failed.or(self.count_and_free(index..index + 1, ended_ns, until_ns));
                if self.open_loop {
                    self.count_responses(index..index + 1, ended_ns);
                }
            }
            failed
        } else {
            self.enter_phase(self.now_ns);
            let all = 0..self.done.items().len();
            if self.open_loop {
                self.count_responses(all.clone(), self.now_ns);
            }
            self.count_and_free(all, self.now_ns, until_ns)
        };
        self.recorder.completed.add(self.done.items().len() as u64);
        self.done.clear();
        failed.map_or(Ok(()), Err)
    }

    /// Counts operations that ended at the same time and frees their requests; gives the first trouble.
    #[inline]
    fn count_and_free(&mut self, which: Range<usize>, ended_ns: u64, until_ns: u64) -> Option<Trouble> {
        let counts = ended_ns < until_ns;
        if counts && ended_ns >= self.paging.end_ns {
            self.paging.turn(ended_ns, &self.phases, &self.recorder);
        }
        let is_measuring = counts && self.paging.is_measuring;
        let Self { done, slots, work, recorder, assigner, allowance, sampling, .. } = self;
        let recorder = &**recorder;
        let batch = Batch {
            done: &done.items()[which],
            slots,
            rows: &recorder.rows[..work.len()],
            work,
            assigner,
            allowance: allowance.as_mut(),
            ended_ns,
            sampled: Sampled { sampling, recorder, is_measuring },
        };
        // What is counted is the same for the whole batch, and decided once.
        let failed = match &recorder.latencies {
            Some(latencies) if is_measuring => batch.free::<E>(|io| {
                io.row.record(io.slot.write, io.latency_ns, io.missing_bytes);
                latencies.record(io, ended_ns);
            }),
            _ if counts => batch.free::<E>(|io| io.row.record(io.slot.write, io.latency_ns, io.missing_bytes)),
            _ => batch.free::<E>(|_| ()),
        };
        failed.map(|done| self.trouble(&done))
    }

    #[cold]
    fn trouble(&self, done: &Done) -> Trouble {
        let slot = &self.slots[done.slot as usize];
        Trouble::Io {
            work: slot.work as usize,
            write: slot.write,
            offset: slot.offset,
            length: u64::from(self.work[slot.work as usize].block),
            errno: -done.result,
        }
    }
}

/// An I/O that came back.
#[derive(Clone, Copy)]
pub(crate) struct Returned<'a> {
    pub(crate) row: &'a Row,
    pub(crate) slot: &'a Slot,
    pub(crate) latency_ns: u64,
    /// What it transferred less than its block.
    missing_bytes: u32,
}

/// Operations that ended at the same time, and what of their worker is concerned.
///
/// Slices and not the worker itself: a counter is written for each I/O, and after that the compiler would
/// load every address and length of the worker again.
struct Batch<'a> {
    done: &'a [Done],
    slots: &'a [Slot],
    work: &'a mut [Work],
    /// One for each of `work`.
    rows: &'a [Row],
    assigner: &'a mut Assigner,
    allowance: Option<&'a mut Allowance>,
    ended_ns: u64,
    sampled: Sampled<'a>,
}

/// Where operations of sampled turns are timed from their submission too.
struct Sampled<'a> {
    sampling: &'a mut Sampling,
    recorder: &'a Recorder,
    is_measuring: bool,
}

impl Batch<'_> {
    /// Counts what came back and frees the requests; gives the first that failed.
    #[inline]
    fn free<E: Engine>(self, count: impl Fn(&Returned)) -> Option<Done> {
        let Self { done, slots, work, rows, assigner, mut allowance, ended_ns, mut sampled } = self;
        let sampled_ns = sampled.sampling.started_ns;
        let mut failed = None;
        for done in done {
            let slot = &slots[done.slot as usize];
            let (work, row) = (&mut work[slot.work as usize], &rows[slot.work as usize]);
            let begun_ns = if E::STAMPS && done.ended_ns > 0 { done.begun_ns } else { slot.started_ns };
            if !E::STAMPS && begun_ns == sampled_ns {
                sampled.finish(begun_ns, ended_ns, done.result > 0);
            }
            if done.result <= 0 {
                failed.get_or_insert(*done);
                continue;
            }
            let missing_bytes = work.block.saturating_sub(done.result.cast_unsigned());
            count(&Returned { row, slot, latency_ns: ended_ns.saturating_sub(begun_ns), missing_bytes });
            if let Some(allowance) = &mut allowance {
                allowance.finish(work.block);
            }
            match assigner {
                Assigner::Fixed { ready } => {
                    work.free.give(done.slot);
                    if !work.is_ready {
                        work.is_ready = true;
                        ready.push(slot.work);
                    }
                }
                Assigner::Weighted { free, .. } => free.give(done.slot),
            }
        }
        failed
    }
}

impl Sampled<'_> {
    /// An operation of the sampled turn came back.
    fn finish(&mut self, begun_ns: u64, ended_ns: u64, is_good: bool) {
        self.sampling.unfinished = self.sampling.unfinished.saturating_sub(1);
        if self.is_measuring && is_good {
            let submitted_ns = self.sampling.submitted_ns;
            self.recorder.record_stamps(ended_ns.saturating_sub(begun_ns), ended_ns.saturating_sub(submitted_ns));
        }
    }
}
