//! The echo of the input: the command line and the input parameters of each timespan.

use crate::echo_target::{self, Mechanism, Platform};
use crate::foreign;
use model::affinity;
use model::facts::SystemFacts;
use model::profile::{
    Affinity, BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, Profile, TimeSpan, Traversal,
};
use model::result::TimeSpanResult;
use model::units::Bytes;
use report::words::time::known;
use std::io::{self, Write};

/// Settings of the echo beyond the profile.
pub(crate) struct Decisions {
    pub(crate) platform: Platform,
    /// One per target.
    pub(crate) mechanisms: Vec<Mechanism>,
    /// 0 = system default.
    pub(crate) buffer_separation_bytes: u64,
    /// True if the machine has more than one processor group.
    pub(crate) several_groups: bool,
}

impl Decisions {
    /// The decisions of the plan, or the expected ones if the run ended before it was planned.
    pub(crate) fn from_plan(
        span: &TimeSpan,
        span_result: Option<&TimeSpanResult>,
        system: &SystemFacts,
        platform: Platform,
    ) -> Self {
        let expected = Self::expected(span, system);
        match span_result {
            Some(TimeSpanResult { measured, buffer_separation_bytes, .. }) if platform == Platform::Windows => Self {
                platform,
                mechanisms: span.targets.iter().map(|target| Mechanism::on_windows(span, target)).collect(),
                buffer_separation_bytes: match measured {
                    Some(_) => *buffer_separation_bytes,
                    None => expected.buffer_separation_bytes,
                },
                ..expected
            },
            Some(planned) if planned.engines.len() == span.targets.len() => Self {
                mechanisms: planned.engines.iter().map(|&engine| Mechanism::from_engine(engine)).collect(),
                buffer_separation_bytes: planned.buffer_separation_bytes,
                ..expected
            },
            _ => expected,
        }
    }

    /// The decisions of planning on a system without restrictions.
    pub(crate) fn expected(span: &TimeSpan, system: &SystemFacts) -> Self {
        Self {
            platform: Platform::Linux,
            mechanisms: span.targets.iter().map(|target| Mechanism::expected(span, target)).collect(),
            buffer_separation_bytes: match span.buffer_separation {
                BufferSeparation::ThreadOptimized => system.buffer_separation_bytes(),
                BufferSeparation::SystemDefault => 0,
            },
            several_groups: system.topology.group_count() > 1,
        }
    }
}

/// The lines before the first timespan.
pub(crate) fn head(
    out: &mut dyn Write,
    command_line: &str,
    labels: &[(String, String)],
    profile: &Profile,
) -> io::Result<()> {
    write!(out, "\nCommand Line: ")?;
    foreign::write_bytes(out, known(Some(command_line)).as_bytes())?;
    write!(out, "\n\n")?;
    for (name, value) in labels {
        write!(out, "Label: ")?;
        foreign::write_bytes(out, format!("{name}={value}").as_bytes())?;
        writeln!(out)?;
    }
    if !labels.is_empty() {
        writeln!(out)?;
    }
    if profile.experiment_flags != 0 {
        writeln!(out, "Experiment Flags: {0:#x} ({0})\n", profile.experiment_flags)?;
    }
    writeln!(out, "Input parameters:\n")?;
    if profile.verbose {
        writeln!(out, "  using verbose mode")?;
    }
    Ok(())
}

/// One timespan with its targets, and the empty line after it.
pub(crate) fn time_span(out: &mut dyn Write, number: usize, span: &TimeSpan, decisions: &Decisions) -> io::Result<()> {
    writeln!(out, "  timespan: {number:3}")?;
    writeln!(out, "  -------------")?;
    writeln!(out, "    duration: {}s", span.duration_s)?;
    writeln!(out, "    warm up time: {}s", span.warm_up_s)?;
    writeln!(out, "    cool down time: {}s", span.cool_down_s)?;
    if span.measure_latency {
        writeln!(out, "    measuring latency")?;
    }
    if span.calculate_iops_std_dev {
        writeln!(out, "    gathering IOPS at intervals of {}ms", span.interval_ms)?;
    }
    writeln!(out, "    random seed: {}", span.random_seed)?;
    if span.thread_count > 0 {
        writeln!(out, "    thread pool with {} threads", span.thread_count)?;
        writeln!(out, "    number of outstanding I/O operations per thread: {}", span.request_count)?;
    }
    if let Some(ring) = &span.io_ring {
        io_ring(out, ring)?;
    }
    affinity(out, &span.affinity, decisions.several_groups)?;
    buffer_separation(out, decisions.buffer_separation_bytes)?;
    if let Some(depth) = span.completion_depth {
        writeln!(out, "    completion depth: {depth}")?;
    }
    if span.random_write_data {
        writeln!(out, "    generating random data for each write IO")?;
        writeln!(out, "      WARNING: this increases the CPU cost of issuing writes and should only")?;
        writeln!(out, "               be compared to other results using the -Zr flag")?;
    }
    for (index, target) in span.targets.iter().enumerate() {
        let mechanism = decisions.mechanisms.get(index).copied().unwrap_or(Mechanism::OneAtATime);
        echo_target::lines(out, span, target, mechanism, decisions.platform)?;
    }
    writeln!(out)
}

fn io_ring(out: &mut dyn Write, ring: &IoRing) -> io::Result<()> {
    let batch = match ring.batch {
        IoRingBatch::Percent(percent) => format!("{percent}%"),
        IoRingBatch::Count(count) => count.to_string(),
    };
    let buffers = if ring.registered_buffers { "with" } else { "without" };
    writeln!(out, "    using IoRing (batch size: {batch}) {buffers} registered buffers")
}

fn affinity(out: &mut dyn Write, affinity: &Affinity, several_groups: bool) -> io::Result<()> {
    if affinity.disabled {
        writeln!(out, "    affinity disabled")?;
    } else {
        let traversal = match affinity.traversal.unwrap_or_default() {
            Traversal::Cpu => "cpu order",
            Traversal::CoreAware => "core-aware",
        };
        let span = match affinity.group_span.unwrap_or_default() {
            GroupSpan::Fill => "fill groups",
            GroupSpan::Span => "span groups",
        };
        let efficiency = match affinity.efficiency.unwrap_or_default() {
            EfficiencyOrder::PerformanceFirst => "P-cores first",
            EfficiencyOrder::Unordered => "no P/E order",
            EfficiencyOrder::EfficiencyFirst => "E-cores first",
            EfficiencyOrder::FillPerformanceFirst => "fill P-cores first",
            EfficiencyOrder::FillEfficiencyFirst => "fill E-cores first",
        };
        writeln!(out, "    affinity assignment: {traversal}, {span}, {efficiency}")?;
    }
    if affinity.listed.is_empty() {
        return Ok(());
    }
    // A list that names another group than this machine has (`-Rp`) still shows it.
    let names_groups = several_groups || affinity.listed.iter().any(|entry| entry.group > 0);
    let form = if names_groups { "group/cpu" } else { "cpu" };
    writeln!(out, "    affinity ({form}): {}", affinity::list_text(&affinity.listed, names_groups))
}

fn buffer_separation(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    match bytes {
        0 => writeln!(out, "    buffer separation: system default"),
        _ => writeln!(out, "    buffer separation: thread optimized ({})", Bytes(bytes)),
    }
}
