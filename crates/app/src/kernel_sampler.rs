//! Kernel counters and messages during a run.

use host::{HealthWatch, LoggedMessage, Root};
use model::environment::TargetEnvironment;
use model::kernel_counters::KernelCounters;
use model::kernel_message::KernelMessage;
use model::plan::{Plan, TimeSpanPlan};
use model::profile::Tracing;
use model::record::Record;
use model::result::{KernelCountersAround, RunResult};
use run::observer::{Event, Observer};
use stats::EventSources;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads the kernel's counters at both ends of each measurement, and its log once a second, and passes all
/// events on.
pub(crate) struct KernelSampler<'a, O> {
    pub(crate) inner: O,
    machine: &'a Root,
    plan: &'a Plan,
    tracing: Option<Tracing>,
    environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// See [`devices`](Self::devices).
    devices: BTreeSet<String>,
    health: HealthWatch<'a>,
    /// The timespan that is running, from 1.
    current: usize,
    seen: BTreeMap<usize, Vec<Seen>>,
}

/// The counters at one end of a measurement.
struct Seen {
    at_ns: u64,
    counters: KernelCounters,
}

impl<'a, O: Observer> KernelSampler<'a, O> {
    pub(crate) fn new(
        inner: O,
        machine: &'a Root,
        plan: &'a Plan,
        tracing: Option<Tracing>,
        environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
        devices: BTreeSet<String>,
    ) -> Self {
        let health = HealthWatch::begin(machine, devices.iter().map(String::as_str), sys::clock::monotonic_ns());
        Self { inner, machine, plan, tracing, environments, devices, health, current: 0, seen: BTreeMap::new() }
    }

    /// The devices that the targets stand on, and those below, by the kernel's names.
    fn devices(&self) -> impl Iterator<Item = &str> + Clone {
        self.devices.iter().map(String::as_str)
    }

    /// Puts what was counted, and what it means, into the result.
    pub(crate) fn tell(mut self, record: &Record, result: &mut RunResult) {
        self.health.look(sys::clock::monotonic_ns());
        let RunResult { profile, time_spans, notes, .. } = result;
        let planned = profile.time_spans.iter().zip(&self.plan.time_spans).zip(&record.time_spans);
        for (number, (((span, plan), record), span_result)) in (1..).zip(planned.zip(time_spans)) {
            let seen = self.seen.remove(&number).and_then(|seen| <[Seen; 2]>::try_from(seen).ok());
            let Some([before, after]) = seen else { continue };
            if let Some(measured) = &mut span_result.measured {
                measured.kernel_messages = stats::beside(&measured.slowest, &self.messages(before.at_ns));
            }
            let counters = KernelCountersAround { before: before.counters, after: after.counters };
            let around = span_result.kernel_counters.insert(counters);
            span_result.kernel_events = self.tracing.map(|tracing| {
                let environments = self.environments;
                stats::kernel_events(&EventSources { tracing, plan, record, around, environments })
            });
            span_result.notes.extend(stats::durability_notes(span, span_result, self.environments));
        }
        notes.extend(self.health.notes());
    }

    /// What the kernel said, by the time since `start_ns`.
    fn messages(&self, start_ns: u64) -> Vec<KernelMessage> {
        let message = |logged: &LoggedMessage| KernelMessage {
            at_ns: logged.at_ns.cast_signed().saturating_sub(start_ns.cast_signed()),
            text: logged.text.clone(),
        };
        self.health.messages().iter().map(message).collect()
    }

    fn read(&self) -> KernelCounters {
        // First what may be compared with the I/Os of just this time.
        let io = host::io_counters(self.machine, self.devices());
        KernelCounters {
            machine: self.tracing.map(|_| host::machine_counters(self.machine)),
            dirty_of_targets: host::dirty_parts(self.written_through_cache()),
            cpus: host::cpu_counters(self.machine, self.cpus()),
            ..io
        }
    }

    fn current_plan(&self) -> Option<&TimeSpanPlan> {
        self.plan.time_spans.get(self.current.checked_sub(1)?)
    }

    /// The targets of the timespan on devices that are written to and leave it to the kernel when, and the
    /// parts of them that are used. None if they are many: each is opened.
    fn written_through_cache(&self) -> BTreeMap<&Path, Range<u64>> {
        const TARGETS_MAX: usize = 100;
        let mut parts: BTreeMap<&Path, Range<u64>> = BTreeMap::new();
        let Some(plan) = self.current_plan().filter(|plan| plan.targets.len() <= TARGETS_MAX) else { return parts };
        for work in plan.workers.iter().flat_map(|worker| &worker.targets).filter(|work| work.write_percent > 0) {
            let Some(target) = plan.targets.get(work.target) else { continue };
            let on_disk = self.environments.get(&target.path).is_some_and(|below| !below.devices().is_empty());
            if target.open.is_written_back() && on_disk {
                let used = work.used_bytes();
                let part = parts.entry(&target.path).or_insert_with(|| used.clone());
                *part = part.start.min(used.start)..part.end.max(used.end);
            }
        }
        parts
    }

    /// Those that the threads of the timespan run on.
    fn cpus(&self) -> BTreeSet<u32> {
        self.current_plan().into_iter().flat_map(|plan| &plan.workers).filter_map(|worker| worker.cpu).collect()
    }
}

impl<O: Observer> Observer for KernelSampler<'_, O> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TimeSpan { number } => self.current = *number,
            // Once as the measurement begins, and once as it ends.
            Event::CpuTimesRead { .. } => {
                let seen = Seen { at_ns: sys::clock::monotonic_ns(), counters: self.read() };
                self.seen.entry(self.current).or_default().push(seen);
            }
            // Once a second.
            Event::Live(_) => self.health.look(sys::clock::monotonic_ns()),
            _ => {}
        }
        self.inner.observe(event);
    }
    fn counts_every_ns(&self) -> Option<u64> {
        self.inner.counts_every_ns()
    }
}
