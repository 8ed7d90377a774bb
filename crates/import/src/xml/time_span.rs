//! One timespan.

use super::element::Element;
use super::{events, linux, statistics, system, thread};
use crate::{CPUS_MAX, ReadError, finish, number};
use model::affinity::AffinityEntry;
use model::figures::Directions;
use model::limits::CPUS_PER_GROUP;
use model::note::Note;
use model::profile::TimeSpan;
use model::result::{CpuUsage, Measured, RunResult, TimeSpanResult};
use model::topology::{Cpu, Topology};

/// Reads one timespan and adds it to the result.
pub(super) fn read(element: Element<'_, '_>, index: usize, result: &mut RunResult) -> Result<(), ReadError> {
    if result.profile.time_spans.len() <= index {
        result.profile.time_spans.push(assumed(element));
    }
    let span = &mut result.profile.time_spans[index];
    let mut span_result = TimeSpanResult {
        buffer_separation_bytes: element.whole("EffectiveBufferSeparation")?.unwrap_or(0),
        ..TimeSpanResult::default()
    };
    if element.child("Error").is_none() {
        let elapsed_ns = elapsed_ns(element)?;
        span_result.measured = Some(measured(element, span, elapsed_ns, &mut result.system.topology)?);
    }
    if let (Some(linux), Some(measured)) = (element.child("Linux"), &span_result.measured) {
        span_result.kernel_events = events::read(element, linux, measured.elapsed_ns)?;
    }
    linux::read(element.child("Linux"), &mut span_result, result)?;
    span_result.outcome = finish::ending(&span_result, element.child_text("Error"));
    span_result.notes.extend(missing(element, &result.tool.version).filter(|_| span_result.measured.is_some()));
    result.time_spans.push(span_result);
    Ok(())
}

/// The requested timespan, if the document has no profile.
fn assumed(element: Element<'_, '_>) -> TimeSpan {
    TimeSpan {
        measure_latency: element.child("Latency").is_some(),
        calculate_iops_std_dev: element.child("Iops").is_some(),
        ..TimeSpan::default()
    }
}

fn elapsed_ns(element: Element<'_, '_>) -> Result<u64, ReadError> {
    let exact = element.child("Linux").map(|linux| linux.whole("ElapsedNanoseconds")).transpose()?.flatten();
    let rounded = element.real("TestTimeSeconds")?.map(number::seconds_as_ns);
    let unknown = || element.error("TimeSpan: neither 'TestTimeSeconds' nor 'Error' found".to_owned());
    exact.or(rounded).ok_or_else(unknown)
}

fn measured(
    element: Element<'_, '_>,
    span: &mut TimeSpan,
    elapsed_ns: u64,
    topology: &mut Topology,
) -> Result<Measured, ReadError> {
    let mut measured = Measured {
        elapsed_ns,
        thread_count: element.whole("ThreadCount")?.unwrap_or(0),
        request_count: element.whole("RequestCount")?.filter(|&count| count > 0 && span.thread_count > 0),
        is_latency_run: span.measure_latency || span.calculate_iops_std_dev,
        ..Measured::default()
    };
    read_cpus(element, &mut measured, topology)?;
    if let Some(affinity) = element.child("EffectiveAffinity") {
        let entries = affinity.children("Group").map(entry).collect::<Result<_, _>>()?;
        measured.effective_affinity = Some(entries);
    }
    if element.is_true("HeterogeneousAffinityWarning") {
        measured.mixed_cores = finish::mixed_cores(measured.effective_affinity.as_deref(), topology);
    }
    thread::read_all(element, span, &mut measured)?;
    measured.is_latency_run |= measured.waits.iter().any(|waits| waits.counts.lookaside > 0);
    let total = &mut measured.total;
    *total = stats::directions(measured.rows.iter().map(|row| &row.figures), elapsed_ns);
    if let Some(latency) = element.child("Latency") {
        let ios = Directions { read: total.read.ios, write: total.write.ios, total: total.total.ios };
        let latencies = statistics::latency(latency, ios)?;
        total.read.latency = latencies.read.as_ref().map(|known| known.figures);
        total.write.latency = latencies.write.as_ref().map(|known| known.figures);
        total.total.latency = latencies.total.as_ref().map(|known| known.figures);
        measured.total_latency = Some(latencies);
    }
    if let Some(iops) = element.child("Iops") {
        let iops = statistics::iops(iops, span.interval_ms)?;
        thread::set_std_devs(total, &iops.std_devs);
        measured.intervals = iops.series;
    }
    Ok(measured)
}

fn entry(group: Element<'_, '_>) -> Result<AffinityEntry, ReadError> {
    Ok(AffinityEntry { group: system::group_number(group)? as u16, mask: group.mask("Mask")?.unwrap_or(0) })
}

/// The usage of each CPU; also the CPUs themselves, if the document has no topology.
fn read_cpus(element: Element<'_, '_>, measured: &mut Measured, topology: &mut Topology) -> Result<(), ReadError> {
    let Some(utilization) = element.child("CpuUtilization") else { return Ok(()) };
    let is_unknown = topology.cpus.is_empty();
    for cpu in utilization.children("CPU") {
        let group: u32 = cpu.whole("Group")?.unwrap_or(0);
        let number: u32 = cpu.whole("Id")?.unwrap_or(0);
        // Before 2.0.20, CPUs of all groups were numbered consecutively.
        let id = group.checked_mul(CPUS_PER_GROUP).and_then(|first| first.checked_add(number));
        let id = id.ok_or_else(|| cpu.error(format!("CPU: unknown group {group}")))?;
        measured.cpus.push(usage(cpu, id)?);
        if is_unknown && topology.cpus.len() < CPUS_MAX {
            topology.cpus.push(Cpu {
                id,
                core: cpu.whole("Core")?.unwrap_or(id),
                socket: cpu.whole("Socket")?.unwrap_or(0),
                node: cpu.whole("Node")?.unwrap_or(0),
                class: cpu.whole("EfficiencyClass")?.unwrap_or(0),
                allowed: true,
            });
        }
    }
    if is_unknown {
        topology.cpus.sort_by_key(|cpu| cpu.id);
        topology.cpus.dedup_by_key(|cpu| cpu.id);
        topology.possible_cpus = topology.cpus.last().map_or(0, |cpu| cpu.id.saturating_add(1));
    }
    if let Some(average) = utilization.child("Average") {
        measured.cpu_average = usage(average, 0)?;
    }
    Ok(())
}

fn usage(element: Element<'_, '_>, cpu: u32) -> Result<CpuUsage, ReadError> {
    let percent = |name| Ok(element.real(name)?.unwrap_or(0.0));
    Ok(CpuUsage {
        cpu,
        usage_percent: percent("UsagePercent")?,
        user_percent: percent("UserPercent")?,
        kernel_percent: percent("KernelPercent")?,
        idle_percent: percent("IdlePercent")?,
    })
}

/// Figures of a report that this version of the document lacks.
fn missing(element: Element<'_, '_>, version: &str) -> Option<Note> {
    let has_waits = element
        .children("Thread")
        .any(|thread| thread.child("WaitStatistics").is_some_and(|waits| waits.child("WaitCompletion").is_none()));
    let source =
        if version.is_empty() { "an XML result".to_owned() } else { format!("an XML result of DiskSpd {version}") };
    has_waits.then(|| Note::NotInSource {
        source,
        missing: "the number of completions per wait, which is shown as 0".to_owned(),
    })
}
