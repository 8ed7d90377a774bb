//! One timespan.

use super::linux::{self, AboutRun};
use super::number::two_decimals;
use super::writer::Writer;
use super::{events, statistics, system, thread};
use crate::time_span::without_figures;
use model::limits::CPUS_PER_GROUP;
use model::profile::TimeSpan;
use model::result::{CpuUsage, Measured, TimeSpanResult};
use model::topology::Topology;
use std::io;

/// A timespan and the data shown with it.
pub(super) struct ShownTimeSpan<'a> {
    pub(super) span: &'a TimeSpan,
    pub(super) span_result: &'a TimeSpanResult,
    pub(super) about_run: AboutRun<'a>,
    pub(super) topology: &'a Topology,
}

pub(super) fn element(xml: &mut Writer<'_>, shown: &ShownTimeSpan<'_>) -> io::Result<()> {
    xml.inside("TimeSpan", &[], |xml| {
        match &shown.span_result.measured {
            None => xml.element("Error", without_figures(shown.span_result.outcome))?,
            Some(measured) => figures(xml, shown, measured)?,
        }
        linux::element(xml, shown.span_result, &shown.about_run)
    })
}

fn figures(xml: &mut Writer<'_>, shown: &ShownTimeSpan<'_>, measured: &Measured) -> io::Result<()> {
    let ShownTimeSpan { span, span_result, topology, .. } = *shown;
    xml.element("TestTimeSeconds", two_decimals(measured.elapsed_ns as f64 / 1e9))?;
    xml.element("ThreadCount", measured.thread_count)?;
    xml.element("RequestCount", span.request_count)?;
    xml.element("ProcCount", topology.cpus.len())?;
    xml.element("EffectiveBufferSeparation", span_result.buffer_separation_bytes)?;
    if let Some(affinity) = &measured.effective_affinity {
        xml.inside("EffectiveAffinity", &[], |xml| system::masks(xml, affinity))?;
    }
    if measured.mixed_cores.is_some() {
        xml.element("HeterogeneousAffinityWarning", true)?;
    }
    if measured.has_cpu_usage() || !topology.cpus.is_empty() {
        cpu_utilization(xml, measured, topology)?;
    }
    if let Some(latencies) = &measured.total_latency {
        statistics::latency(xml, latencies)?;
    }
    if span.calculate_iops_std_dev {
        statistics::iops(xml, &measured.total, &measured.intervals, span.interval_ms)?;
    }
    if let Some(events) = &span_result.kernel_events {
        events::element(xml, events)?;
    }
    thread::elements(xml, span, measured)
}

fn cpu_utilization(xml: &mut Writer<'_>, measured: &Measured, topology: &Topology) -> io::Result<()> {
    xml.inside("CpuUtilization", &[], |xml| {
        for usage in &measured.cpus {
            xml.inside("CPU", &[], |xml| {
                place(xml, usage.cpu, topology)?;
                percentages(xml, usage)
            })?;
        }
        xml.inside("Average", &[], |xml| percentages(xml, &measured.cpu_average))
    })
}

/// The place of a CPU; for one that came online during the run only its number is known.
fn place(xml: &mut Writer<'_>, cpu: u32, topology: &Topology) -> io::Result<()> {
    let known = topology.cpu(cpu);
    if let Some(cpu) = known {
        xml.element("Socket", cpu.socket)?;
        xml.element("Node", cpu.node)?;
    }
    xml.element("Group", cpu / CPUS_PER_GROUP)?;
    if let Some(cpu) = known {
        xml.element("Core", topology.core_number(cpu))?;
        xml.element("EfficiencyClass", cpu.class)?;
    }
    xml.element("Id", cpu % CPUS_PER_GROUP)
}

fn percentages(xml: &mut Writer<'_>, usage: &CpuUsage) -> io::Result<()> {
    xml.element("UsagePercent", two_decimals(usage.usage_percent))?;
    xml.element("UserPercent", two_decimals(usage.user_percent))?;
    xml.element("KernelPercent", two_decimals(usage.kernel_percent))?;
    xml.element("IdlePercent", two_decimals(usage.idle_percent))
}
