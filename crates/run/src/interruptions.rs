//! A worker stops now and then: to flush after a group of writes, and to begin full files anew.

use crate::flush::Flusher;
use crate::shape::General;
use crate::work::Work;
use crate::worker::{Worker, WorkerError};
use engine::{Engine, Wait};
use hot::clock::Clock;
use hot::counters;
use std::io;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Flushes if the writes of a group have ended, and begins full files anew; false if I/Os that are under way have
    /// to come back first, or a flush came.
    pub(crate) fn pause(&mut self) -> Result<bool, WorkerError> {
        let is_due = self.flusher.as_ref().is_some_and(Flusher::is_due);
        // A write that waits for a flush belongs to the file as it is.
        let is_full = !is_due && self.work.iter().any(Work::is_full) && !self.has_held();
        if (is_due || is_full) && self.engine.in_flight() > 0 {
            self.push_and_collect::<General>(Wait::For { count: 1 })?;
            return Ok(false);
        }
        if is_due {
            self.flush()?;
        } else if is_full {
            self.rotate()?;
        }
        Ok(!is_due)
    }

    /// Flushes while nothing is under way.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) -> Result<(), WorkerError> {
        let begun_ns = self.clock.now_ns();
        let Some(flusher) = &mut self.flusher else { return Ok(()) };
        let failed =
            |(work, error): (usize, io::Error)| WorkerError::Flush { work, errno: error.raw_os_error().unwrap_or(0) };
        let writes = flusher.flush(&mut self.engine, &self.clock, self.tracer.as_ref()).map_err(failed)?;
        self.now_ns = self.clock.now_ns();
        let is_measured = self.is_measured_now();
        if let Some(flushes) = self.recorder.flushes.as_ref().filter(|_| is_measured) {
            flushes.record(writes, self.now_ns - begun_ns);
        }
        if let Some(flusher) = &mut self.flusher {
            flusher.commit(self.now_ns, is_measured, &self.recorder);
        }
        Ok(())
    }

    /// True if writes wait for a flush.
    pub(crate) fn has_held(&self) -> bool {
        self.flusher.as_ref().is_some_and(Flusher::has_held)
    }

    /// Begins full files anew while nothing is under way. What the thread waits meanwhile is in none of its latencies.
    #[cold]
    #[inline(never)]
    fn rotate(&mut self) -> Result<(), WorkerError> {
        for index in 0..self.work.len() {
            if !self.work[index].is_full() {
                continue;
            }
            let begun_ns = self.clock.now_ns();
            self.engine.begin_emptying(self.work[index].file);
            if let Some(Some(log)) = self.logs.get(index) {
                log.begin_anew()
                    .map_err(|error| WorkerError::Rotation { work: index, errno: error.raw_os_error().unwrap_or(0) })?;
            }
            self.engine.emptied(self.work[index].file);
            self.work[index].rewind();
            self.now_ns = self.clock.now_ns();
            if let Some(rotations) = self.recorder.rotations.as_ref().filter(|_| self.is_measured_now()) {
                counters::record(rotations, self.now_ns - begun_ns);
            }
        }
        Ok(())
    }

    /// True if what ended at the latest stamp belongs to the measurement.
    fn is_measured_now(&self) -> bool {
        self.cursor.is_measuring() && self.now_ns < self.phases.measurement(&self.stop).end
    }
}
