//! The control thread's part of a timespan: phases, CPU times, live results, and the end.

use crate::Machine;
use crate::clock::RunClock;
use crate::counter_readings::CounterReadings;
use crate::drain::{self, Drain};
use crate::event::{self, StopSources, TICK_NS, Wait};
use crate::gate::{LockedMemory, Readiness, Signal};
use crate::gather;
use crate::io_workers::IoWorkers;
use crate::journal::Journal;
use crate::kernel_sampler::{self, KernelSample, KernelSampler};
use crate::live_counts::{self, CountsClock};
use crate::observer::{Event, Live, Observer, Phase};
use crate::pause::Pause;
use crate::phase::Phases;
use crate::prepare::Preparer;
use crate::recorder::Recorder;
use crate::run_log::{self, RunLog};
use crate::section_sums::SectionSums;
use crate::worker_threads::WorkerThreads;
use model::host_timing::HostTiming;
use model::live::{LiveCounts, LivePhase};
use model::note::Note;
use model::plan::TimeSpanPlan;
use model::profile::EndAfter;
use model::record::{CpuTimes, Outcome, ThreadRecord, TimeSpanRecord};
use model::units::counted;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Interval of live results.
const LIVE_NS: u64 = 1_000_000_000;

/// Time between the signal to the workers and the start, so that they are awake when it comes.
const LEAD_NS: u64 = 1_000_000;

/// Runs one timespan from preparation to record.
pub(crate) fn run_time_span(
    plan: &Arc<TimeSpanPlan>,
    clock: RunClock,
    preparer: &mut Preparer,
    sampler: &mut KernelSampler<'_>,
    machine: Machine<'_>,
    stop_sources: StopSources<'_>,
    observer: &mut dyn Observer,
) -> TimeSpanRecord {
    let failed =
        |error| TimeSpanRecord { outcome: Outcome::Failed { errors: vec![error] }, ..TimeSpanRecord::default() };
    let ready = match preparer.prepare(plan, stop_sources.interrupt, observer) {
        Ok(ready) => Arc::new(ready),
        Err(unprepared) => return unprepared.record(observer),
    };
    for worker in &plan.workers {
        observer.observe(&Event::Thread { worker, plan });
    }
    let mut worker_threads = match WorkerThreads::start(plan, &ready, clock, machine) {
        Ok(worker_threads) => worker_threads,
        Err(error) => return failed(error),
    };
    let not_begun = match wait_until_ready(&worker_threads, plan.workers.len(), stop_sources, observer) {
        Ok(()) => match stop_sources.wait_for_start(observer) {
            Wait::EndWanted => Some(Outcome::Stopped),
            wait => preparer
                .begin_writing(plan, wait == Wait::Over)
                .map_err(|error| Outcome::Failed { errors: vec![error] })
                .err(),
        },
        Err(outcome) => Some(outcome),
    };
    let start_ns = not_begun.map_or_else(|| stop_sources.start_ns(LEAD_NS, observer).ok_or(Outcome::Stopped), Err);
    let start_ns = match start_ns {
        Ok(start_ns) => start_ns,
        Err(outcome) => {
            worker_threads.abandon();
            return TimeSpanRecord { outcome, ..TimeSpanRecord::default() };
        }
    };
    let mut control = Control::new(plan, &worker_threads, sampler, stop_sources, observer, start_ns);
    control.keep_phases();
    let mut drain = control.begin_drain();
    let all_ended = worker_threads.wait_for_end(&mut drain, &|| stop_sources.end_wanted().is_some());
    let unfinished = drain.note(sys::clock::monotonic_ns());
    control.tell_last_counts();
    let Control {
        phases,
        cpu_before,
        cpu_after,
        kernel_counters,
        readings,
        sections,
        pause: Pause { pause_ns, at_end_ns },
        io_workers,
        ..
    } = control;
    let deviation_ns = clock.0.deviation_ns();
    save_map(&worker_threads, all_ended, machine.journal, observer);
    observer.observe(&Event::Finished);
    warn_of_short_transfers(plan, &worker_threads, observer);
    if worker_threads.outstanding() > 0 {
        warn_of_stuck(unfinished.as_ref(), observer);
    }
    let mut record = record(plan, &worker_threads, &phases, &cpu_before, &cpu_after);
    add_verification(&worker_threads, sampler, &mut record);
    record.notes.extend(unfinished);
    gather::series(&worker_threads.layout, &worker_threads.recorders, sections, &mut record);
    if let Some((began_at_ns, around)) = kernel_sampler::around(kernel_counters) {
        (record.counted_from_ns, record.kernel_counters) = (began_at_ns, Some(around));
    }
    record.readings = readings.into_readings();
    record.notes.extend(io_workers.note());
    record.notes.extend((pause_ns > 0).then_some(Note::ProcessPaused { pause_ns, at_end_ns }));
    record.notes.extend(clock_note(deviation_ns, sys::clock::monotonic_ns().saturating_sub(phases.start_ns)));
    if all_ended {
        worker_threads.join();
    }
    record
}

/// Adds the results of `--verify`.
fn add_verification(worker_threads: &WorkerThreads, sampler: &KernelSampler<'_>, record: &mut TimeSpanRecord) {
    if let Some(verification) = &worker_threads.verification {
        record.verification = Some(verification.figures(|path, pieces| sampler.places(path, pieces)));
        record.verified_from_ns = verification.origin_ns;
    }
}

fn log_of(worker_threads: &WorkerThreads) -> Option<&RunLog> {
    worker_threads.verification.as_ref().and_then(|verification| verification.log.as_ref())
}

/// Makes the targets durable and saves the map of verified units (`--journal`), if the run ended well. If it did not, the
/// logs say more than a map can. Whoever made the file sees that it is empty then.
fn save_map(
    worker_threads: &WorkerThreads,
    all_ended: bool,
    journal: Option<Journal<'_>>,
    observer: &mut dyn Observer,
) {
    let Some((verification, journal)) = worker_threads.verification.as_ref().zip(journal) else { return };
    let failed = |message| {
        worker_threads.stop.fail(sys::clock::monotonic_ns());
        worker_threads.gate.error(message);
    };
    if let Some(message) = verification.log.as_ref().and_then(RunLog::end) {
        failed(message);
    }
    if worker_threads.stop.is_failure() || !all_ended || worker_threads.outstanding() > 0 {
        return;
    }
    for path in verification.written() {
        if let Err(message) = run_log::sync_target(path) {
            return failed(message);
        }
    }
    if let Err(error) = verification.save(journal.map) {
        let message = format!("cannot save the map of verified units (--journal): {error}");
        observer.observe(&Event::Warning { message: &message });
    }
}

/// Waits until all workers are set up. One that hangs in opening its targets does not keep Ctrl+C
/// from being heard.
fn wait_until_ready(
    worker_threads: &WorkerThreads,
    workers: usize,
    stop_sources: StopSources<'_>,
    observer: &mut dyn Observer,
) -> Result<(), Outcome> {
    loop {
        let readiness = worker_threads.gate.readiness(workers, Duration::from_nanos(TICK_NS));
        if readiness == Readiness::Failed {
            return Err(Outcome::Failed { errors: worker_threads.gate.errors() });
        }
        if let Some(reason) = stop_sources.end_wanted() {
            observer.observe(&reason);
            return Err(Outcome::Stopped);
        }
        if readiness == Readiness::Ready {
            return Ok(());
        }
    }
}

/// The state of the control thread while workers work.
struct Control<'a, 'm> {
    plan: &'a TimeSpanPlan,
    worker_threads: &'a WorkerThreads,
    sampler: &'a mut KernelSampler<'m>,
    stop_sources: StopSources<'a>,
    observer: &'a mut dyn Observer,
    phases: Phases,
    cpu_before: Result<Vec<CpuTimes>, String>,
    cpu_after: Result<Vec<CpuTimes>, String>,
    /// At both ends of the measurement.
    kernel_counters: Option<[KernelSample; 2]>,
    readings: CounterReadings,
    seen: WorkerTotals,
    /// `None` if latencies are not measured.
    sections: Option<SectionSums>,
    dots: u64,
    /// How long the process was kept from running during the measurement.
    pause: Pause,
    io_workers: IoWorkers,
    /// When the clock is to be looked at again.
    due_ns: u64,
}

/// Sums over all workers at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerTotals {
    at_ns: u64,
    ios: u64,
    bytes: u64,
    latency_sum_ns: u64,
}

impl<'a, 'm> Control<'a, 'm> {
    /// Gives the signal to start at `start_ns`.
    fn new(
        plan: &'a TimeSpanPlan,
        worker_threads: &'a WorkerThreads,
        sampler: &'a mut KernelSampler<'m>,
        stop_sources: StopSources<'a>,
        observer: &'a mut dyn Observer,
        start_ns: u64,
    ) -> Self {
        if let Some(log) = log_of(worker_threads) {
            log.keep();
        }
        worker_threads.gate.signal(Signal::Start { start_ns });
        observer.observe(&Event::Started);
        let unread = || Err("the run ended before the measurement".to_owned());
        let phases = Phases::new(plan, start_ns);
        Self {
            plan,
            worker_threads,
            readings: CounterReadings::new(plan, phases.measure_ns, sampler),
            sampler,
            stop_sources,
            observer,
            phases,
            cpu_before: unread(),
            cpu_after: unread(),
            kernel_counters: None,
            seen: WorkerTotals { at_ns: start_ns, ..WorkerTotals::default() },
            sections: worker_threads.layout.sections().map(SectionSums::new),
            dots: 0,
            pause: Pause::default(),
            io_workers: IoWorkers::default(),
            due_ns: start_ns + TICK_NS,
        }
    }

    /// Walks through warm-up, measurement and cool-down; ends early if the run is stopped.
    fn keep_phases(&mut self) {
        let Phases { measure_ns, cool_down_ns, end_ns, .. } = self.phases;
        if self.plan.warm_up_ns > 0 {
            self.enter(Phase::WarmUp { length_ns: self.plan.warm_up_ns }, measure_ns);
        }
        self.sleep_until(measure_ns);
        if self.worker_threads.stop.at_ns() <= measure_ns {
            return;
        }
        event::set(self.stop_sources.events.on_started.as_ref());
        let before;
        (self.cpu_before, before) = self.read_counters();
        self.readings.begin(&before, self.cpu_before.as_deref().ok(), self.sampler);
        let found = self.io_worker_threads();
        self.io_workers.begin_measurement(&found);
        self.enter(Phase::Measure { length_ns: self.plan.duration_ns }, cool_down_ns);
        let after;
        (self.cpu_after, after) = self.read_counters();
        self.readings.end(&after, self.cpu_after.as_deref().ok(), self.sampler);
        let found = self.io_worker_threads();
        self.io_workers.update(&found);
        self.kernel_counters = Some([before, after]);
        event::set(self.stop_sources.events.on_finished.as_ref());
        self.tell(&Event::Measured { elapsed_ns: elapsed_ns(&self.phases, self.worker_threads.stop.at_ns()) });
        if self.plan.cool_down_ns > 0 && self.worker_threads.stop.at_ns() == u64::MAX {
            self.enter(Phase::CoolDown { length_ns: self.plan.cool_down_ns }, end_ns);
        }
    }

    /// The load is over: begins to wait for what is outstanding.
    fn begin_drain(&self) -> Drain {
        let now_ns = sys::clock::monotonic_ns();
        let elapsed_ns = elapsed_ns(&self.phases, self.worker_threads.stop.at_ns());
        let measured = self.sample_totals(Phase::Measure { length_ns: elapsed_ns }).ios;
        let per_s = if elapsed_ns > 0 { measured as f64 * 1e9 / elapsed_ns as f64 } else { 0.0 };
        Drain::begin(now_ns, self.worker_threads.outstanding(), per_s)
    }

    /// The kernel threads of the rings, each on the CPUs that it may use.
    fn io_worker_threads(&mut self) -> Vec<host::IoWorkerThread> {
        let found = host::io_worker_threads(self.sampler.root());
        if let Some(cpus) = &self.plan.io_worker_affinity {
            self.io_workers.spread_over(cpus, &found);
        }
        found
    }

    /// CPU times and the kernel's other counters now.
    fn read_counters(&mut self) -> (Result<Vec<CpuTimes>, String>, KernelSample) {
        let times = host::cpu_times(self.sampler.root());
        let sample = self.sampler.sample(self.plan);
        let cpus = times.as_ref().map_or(0, Vec::len);
        self.tell(&Event::CpuTimesRead { cpus });
        (times, sample)
    }

    /// Stays in a phase until its end or a stop.
    fn enter(&mut self, phase: Phase, until_ns: u64) {
        self.tell(&Event::Phase(phase));
        let begin = self.sample_totals(phase);
        self.seen = begin;
        let mut counts = CountsClock::new(phase, &self.phases, self.observer.counts_every_ns());
        let mut count_io_workers_ns = begin.at_ns + TICK_NS / 2;
        while self.sleep_until(self.next_look_ns(until_ns.min(counts.due_ns))) {
            self.tell_dots();
            if let Some(sections) = &mut self.sections {
                for recorder in &self.worker_threads.recorders {
                    sections.take_from(recorder);
                }
            }
            let now = sys::clock::monotonic_ns();
            if now >= until_ns {
                break;
            }
            self.readings.read_if_due(now, self.sampler);
            let left_ns = until_ns.saturating_sub(now);
            if counts.is_due(now) {
                self.tell_counts(&counts, left_ns);
            }
            if now >= count_io_workers_ns {
                let found = self.io_worker_threads();
                self.io_workers.update(&found);
                count_io_workers_ns = now + LIVE_NS;
            }
            if self.stop_sources.take_status_asked() {
                self.tell(&Event::Status(Self::live(phase, left_ns, begin, self.sample_totals(phase))));
            }
            if now >= self.seen.at_ns + LIVE_NS {
                let seen = self.sample_totals(phase);
                self.sampler.read_log();
                self.tell(&Event::Live(Self::live(phase, left_ns, self.seen, seen)));
                self.seen = seen;
            }
        }
    }

    /// When there is something to do again, `until_ns` at the latest.
    fn next_look_ns(&self, until_ns: u64) -> u64 {
        until_ns.min(self.readings.due_ns()).min(sys::clock::monotonic_ns() + TICK_NS)
    }

    /// Sleeps; false if the run was stopped meanwhile.
    fn sleep_until(&mut self, until_ns: u64) -> bool {
        loop {
            let now = self.look_at_clock();
            if self.worker_threads.stop.at_ns() != u64::MAX {
                return false;
            }
            if let Some(reason) = self.stop_sources.end_wanted() {
                self.worker_threads.stop.request(now);
                self.tell(&reason);
                return false;
            }
            if now >= until_ns {
                return true;
            }
            self.due_ns = until_ns.min(now + TICK_NS);
            self.stop_sources.sleep_until_ns(self.due_ns);
        }
    }

    /// The time. What it is later than it was due is a pause.
    fn look_at_clock(&mut self) -> u64 {
        let now = sys::clock::monotonic_ns();
        self.pause.add(&self.phases, self.due_ns, now);
        self.due_ns = now + TICK_NS;
        now
    }

    /// Tells of an event. What the observer takes for it is no pause: a terminal may keep it waiting.
    fn tell(&mut self, event: &Event<'_>) {
        self.observer.observe(event);
        self.due_ns = sys::clock::monotonic_ns() + TICK_NS;
    }

    /// Tells what was counted in the phase up to now.
    fn tell_counts(&mut self, clock: &CountsClock, left_ns: u64) {
        let elapsed_ns = sys::clock::monotonic_ns().saturating_sub(clock.begin_ns);
        let rows = live_counts::rows(self.worker_threads, clock.phase);
        self.tell(&Event::Counts(&LiveCounts { phase: clock.phase, elapsed_ns, left_ns, rows }));
    }

    /// Tells what was counted in the whole measurement, once nothing more is counted.
    fn tell_last_counts(&mut self) {
        let elapsed_ns = elapsed_ns(&self.phases, self.worker_threads.stop.at_ns());
        if self.observer.counts_every_ns().is_some() && elapsed_ns > 0 {
            let phase = LivePhase::Measurement;
            let rows = live_counts::rows(self.worker_threads, phase);
            self.tell(&Event::Counts(&LiveCounts { phase, elapsed_ns, left_ns: 0, rows }));
        }
    }

    fn tell_dots(&mut self) {
        let every = u64::from(self.plan.progress_ios);
        if every == 0 {
            return;
        }
        let due: u64 = self.worker_threads.recorders.iter().map(|recorder| recorder.completed.get() / every).sum();
        if due > self.dots {
            self.tell(&Event::Dots { count: due - self.dots });
            self.dots = due;
        }
    }

    /// Figures from `since` to `now`.
    fn live(phase: Phase, left_ns: u64, since: WorkerTotals, now: WorkerTotals) -> Live {
        Live {
            phase,
            left_ns,
            stretch_ns: now.at_ns - since.at_ns,
            // Sums fall at the end of the warm-up, which workers may reach first.
            ios: now.ios.saturating_sub(since.ios),
            bytes: now.bytes.saturating_sub(since.bytes),
            latency_sum_ns: now.latency_sum_ns.saturating_sub(since.latency_sum_ns),
        }
    }

    fn sample_totals(&self, phase: Phase) -> WorkerTotals {
        let of_measurement = !matches!(phase, Phase::WarmUp { .. });
        let mut seen = WorkerTotals { at_ns: sys::clock::monotonic_ns(), ..WorkerTotals::default() };
        for (ios, bytes, latency_sum_ns) in
            self.worker_threads.recorders.iter().map(|recorder| recorder.totals(of_measurement))
        {
            seen.ios += ios;
            seen.bytes += bytes;
            seen.latency_sum_ns = seen.latency_sum_ns.wrapping_add(latency_sum_ns);
        }
        seen
    }
}

/// Measured time: from the begin of the measurement to its end or the stop.
fn elapsed_ns(phases: &Phases, stopped_at_ns: u64) -> u64 {
    phases.cool_down_ns.min(stopped_at_ns).saturating_sub(phases.measure_ns)
}

fn record(
    plan: &TimeSpanPlan,
    worker_threads: &WorkerThreads,
    phases: &Phases,
    cpu_before: &Result<Vec<CpuTimes>, String>,
    cpu_after: &Result<Vec<CpuTimes>, String>,
) -> TimeSpanRecord {
    let elapsed_ns = elapsed_ns(phases, worker_threads.stop.at_ns());
    let errors = worker_threads.gate.errors();
    let mut notes = worker_threads.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    notes.extend(beyond_lock_limit(worker_threads));
    notes.extend(short_transfers(plan, worker_threads));
    let cpus = match (cpu_before, cpu_after) {
        (Ok(before), Ok(after)) => CpuTimes::spent(before, after),
        (Err(reason), _) | (_, Err(reason)) => {
            if elapsed_ns > 0 {
                notes.push(Note::CpuTimesUnknown { reason: reason.clone() });
            }
            Vec::new()
        }
    };
    let used_up = worker_threads.budget.as_ref().is_some_and(|budget| budget.is_used_up());
    if used_up && plan.end_after != EndAfter::default() {
        notes.push(Note::EndedByLimit { limits: plan.end_after });
    }
    let corrupt = worker_threads.verification.as_ref().and_then(|verification| verification.ended_by());
    notes.extend(corrupt.map(|units| Note::EndedByVerification { units }));
    let outcome = match worker_threads.stop.at_ns() {
        _ if worker_threads.stop.is_failure() => Outcome::Failed { errors },
        _ if used_up && elapsed_ns == 0 => {
            let reason = format!("nothing was measured: {} was reached before the measurement", plan.end_after);
            Outcome::Failed { errors: vec![reason] }
        }
        _ if corrupt.is_some() && elapsed_ns == 0 => {
            let reason = "nothing was measured: corrupt units ended the run before the measurement (--verify-stop)";
            Outcome::Failed { errors: vec![reason.to_owned()] }
        }
        _ if used_up || corrupt.is_some() => Outcome::Completed,
        u64::MAX => Outcome::Completed,
        _ => Outcome::Stopped,
    };
    let thread_record = |recorder: &Arc<Recorder>| recorder.thread_record(phases.measure_ns);
    let threads: Vec<ThreadRecord> = worker_threads.recorders.iter().map(thread_record).collect();
    let started_ns = threads.iter().filter_map(|thread| thread.started_ns).max();
    TimeSpanRecord {
        timing: Some(HostTiming {
            planned_start_ns: phases.start_ns,
            started_ns: started_ns.unwrap_or(phases.start_ns),
            measured_from_ns: (elapsed_ns > 0).then_some(phases.measure_ns),
            measured_to_ns: (elapsed_ns > 0).then_some(phases.measure_ns + elapsed_ns),
        }),
        outcome,
        elapsed_ns,
        rows: worker_threads.recorders.iter().flat_map(|recorder| recorder.row_records()).collect(),
        threads,
        cpus,
        notes,
        ..TimeSpanRecord::default()
    }
}

/// Warns before the report, so that the user knows why the process does not exit.
fn warn_of_stuck(note: Option<&Note>, observer: &mut dyn Observer) {
    if let Some(note) = note.filter(|note| drain::left_behind(note).is_some()) {
        let message = format!("{note}. The process may not exit until they complete");
        observer.observe(&Event::Warning { message: &message });
    }
}

/// The note about a clock that is off by more than its rate could be known to: 200 ppm, and a
/// millisecond for looks that were interrupted.
fn clock_note(deviation_ns: u64, elapsed_ns: u64) -> Option<Note> {
    (deviation_ns > 1_000_000 + elapsed_ns / 5000).then_some(Note::ClocksDisagree { deviation_ns })
}

/// One warning per thread and target that gave less than it was asked for.
fn warn_of_short_transfers(plan: &TimeSpanPlan, worker_threads: &WorkerThreads, observer: &mut dyn Observer) {
    for (worker, recorder) in plan.workers.iter().zip(&worker_threads.recorders) {
        for row in recorder.rows.iter().filter(|row| row.short_transfers() > 0) {
            let (thread, count) = (worker.thread, row.short_transfers());
            let path = plan.targets[row.target()].path.display();
            let transfers = counted(count, "transfer");
            let message = format!("thread {thread}: {transfers} on '{path}' fell short of the block size");
            observer.observe(&Event::Warning { message: &message });
        }
    }
}

/// The note about buffers that found no room below the limit on locked memory.
fn beyond_lock_limit(worker_threads: &WorkerThreads) -> Option<Note> {
    let LockedMemory { rings, refused, needed_bytes } = worker_threads.gate.locked_memory();
    let limit_bytes = sys::limits::locked_memory_bytes();
    (refused > 0).then_some(Note::BuffersBeyondLockLimit {
        threads: refused,
        of_threads: rings,
        needed_bytes,
        limit_bytes,
    })
}

/// One note per target that gave less than it was asked for.
fn short_transfers(plan: &TimeSpanPlan, worker_threads: &WorkerThreads) -> Vec<Note> {
    let mut counts = vec![0; plan.targets.len()];
    for row in worker_threads.recorders.iter().flat_map(|recorder| &recorder.rows) {
        counts[row.target()] += row.short_transfers();
    }
    let short = plan.targets.iter().zip(counts).filter(|&(_, count)| count > 0);
    short.map(|(target, count)| Note::ShortTransfers { path: target.path.clone(), count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows faults: The clock of the latencies stops or is slow
    #[test]
    fn a_clock_is_wrong_beyond_what_its_calibration_allows() {
        let hour_ns = 3_600_000_000_000;
        assert_eq!(clock_note(500_000, 1_000_000_000), None);
        assert_eq!(clock_note(100_000_000, hour_ns), None, "28 ppm");
        let deviation_ns = hour_ns / 1000;
        assert_eq!(clock_note(deviation_ns, hour_ns), Some(Note::ClocksDisagree { deviation_ns }));
    }
}
