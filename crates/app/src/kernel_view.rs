//! What the kernel itself counts while a run goes on.

use host::Root;
use model::environment::TargetEnvironment;
use model::kernel_counters::KernelCounters;
use model::plan::Plan;
use model::profile::{TimeSpan, Tracing};
use model::record::Record;
use model::result::{KernelCountersAround, TimeSpanResult};
use run::observer::{Event, Observer};
use stats::EventSources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Reads the kernel's counters at both ends of each measurement, and passes all events on.
pub(crate) struct KernelView<'a, O> {
    pub(crate) inner: O,
    machine: &'a Root,
    plan: &'a Plan,
    tracing: Option<Tracing>,
    environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// See [`devices`](Self::devices).
    devices: BTreeSet<String>,
    /// The timespan that is running, from 1.
    current: usize,
    seen: BTreeMap<usize, Vec<KernelCounters>>,
}

impl<'a, O: Observer> KernelView<'a, O> {
    pub(crate) fn new(
        inner: O,
        machine: &'a Root,
        plan: &'a Plan,
        tracing: Option<Tracing>,
        environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    ) -> Self {
        let devices = environments.values().flat_map(TargetEnvironment::devices).flat_map(|device| device.walk());
        let devices = devices.map(|device| device.name.clone()).collect();
        Self { inner, machine, plan, tracing, environments, devices, current: 0, seen: BTreeMap::new() }
    }

    /// The devices that the targets stand on, and those below, by the kernel's names.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &str> + Clone {
        self.devices.iter().map(String::as_str)
    }

    /// Puts what was counted, and what it means, into the results of `spans`.
    pub(crate) fn tell(mut self, spans: &[TimeSpan], record: &Record, results: &mut [TimeSpanResult]) {
        let planned = spans.iter().zip(&self.plan.time_spans).zip(&record.time_spans);
        for (number, (((span, plan), record), happened)) in (1..).zip(planned.zip(results)) {
            let seen = self.seen.remove(&number).and_then(|seen| <[KernelCounters; 2]>::try_from(seen).ok());
            let Some([before, after]) = seen else { continue };
            let around = happened.kernel_counters.insert(KernelCountersAround { before, after });
            happened.kernel_events = self.tracing.map(|tracing| {
                let environments = self.environments;
                stats::kernel_events(&EventSources { tracing, plan, record, around, environments })
            });
            happened.notes.extend(stats::durability_notes(span, happened, self.environments));
        }
    }

    fn read(&self) -> KernelCounters {
        // First what may be compared with the I/Os of just this time.
        let io = host::io_counters(self.machine, self.devices());
        KernelCounters {
            machine: self.tracing.map(|_| host::machine_counters(self.machine)),
            cpus: host::cpu_counters(self.machine, self.cpus()),
            ..io
        }
    }

    /// Those that the threads of the timespan run on.
    fn cpus(&self) -> BTreeSet<u32> {
        let plan = self.current.checked_sub(1).and_then(|index| self.plan.time_spans.get(index));
        plan.into_iter().flat_map(|plan| &plan.workers).filter_map(|worker| worker.cpu).collect()
    }
}

impl<O: Observer> Observer for KernelView<'_, O> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TimeSpan { number } => self.current = *number,
            // Once as the measurement begins, and once as it ends.
            Event::CpuTimesRead { .. } => {
                let counters = self.read();
                self.seen.entry(self.current).or_default().push(counters);
            }
            _ => {}
        }
        self.inner.observe(event);
    }
}
