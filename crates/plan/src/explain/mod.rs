//! The output of `diskspd --plan`: the plan in words, with the reasons.

mod pattern;
mod threads;

use crate::interrupts;
use crate::memory;
use crate::words;
use model::affinity;
use model::block_device::only_interrupt_cpu;
use model::facts::{Facts, Fill};
use model::limits::MEMORY_PERCENT_MAX;
use model::operation::Operation;
use model::plan::{Blocks, Creation, OpenPlan, Plan, Preparation, TargetPlan, TimeSpanPlan, WorkerTarget};
use model::units::{Bytes, counted, pluralized};
use std::collections::BTreeSet;
use std::io::{self, Write};

const NS_PER_S: u64 = 1_000_000_000;

/// Writes the plan for people.
pub fn explain(plan: &Plan, facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    if !plan.precreate.is_empty() {
        writeln!(out, "Before the first timespan")?;
        for preparation in &plan.precreate {
            writeln!(out, "  {}", with_path(preparation))?;
        }
        writeln!(out)?;
    }
    for (index, time_span) in plan.time_spans.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        explain_time_span(index + 1, time_span, facts, out)?;
    }
    if !plan.notes.is_empty() {
        writeln!(out, "\nNotes")?;
        for note in &plan.notes {
            writeln!(out, "  {note}")?;
        }
    }
    Ok(())
}

fn explain_time_span(number: usize, plan: &TimeSpanPlan, facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    let seconds = |ns: u64| ns / NS_PER_S;
    writeln!(
        out,
        "Timespan {number}: warm-up {} s, measurement {} s, cool-down {} s",
        seconds(plan.warm_up_ns),
        seconds(plan.duration_ns),
        seconds(plan.cool_down_ns)
    )?;
    let mut measured = vec!["I/Os and bytes".to_owned()];
    if plan.measure_latency {
        measured.push("latency histograms (-L)".to_owned());
    }
    if let Some(intervals) = plan.intervals {
        let width_ms = intervals.width_ns / 1_000_000;
        let noun = counted(intervals.count, "interval");
        measured.push(format!("{noun} of {width_ms} ms (-D)"));
    }
    writeln!(out, "  measured: {}", words::list(&measured))?;
    writeln!(out, "\n  Targets")?;
    for target in &plan.targets {
        explain_target(target, facts, out)?;
    }
    explain_interrupts(plan, facts, out)?;
    writeln!(out, "\n  Threads: {}", plan.workers.len())?;
    writeln!(out, "    {}", placement(plan, facts))?;
    threads::explain(plan, out)?;
    explain_expected(plan, out)?;
    explain_memory(plan, facts, out)
}

/// The bytes of each kind, if the pace determines the number of I/Os, and they differ.
fn explain_expected(plan: &TimeSpanPlan, out: &mut dyn Write) -> io::Result<()> {
    let targets = || plan.workers.iter().flat_map(|worker| &worker.targets);
    let Some(sums) = pattern::expected_in(targets(), plan.duration_ns) else { return Ok(()) };
    let is_plain = |target: &WorkerTarget| {
        let done = Operation::ALL.into_iter().filter(|&operation| target.does(operation));
        done.count() < 2 && target.sizes.is_none()
    };
    if targets().all(is_plain) {
        return Ok(());
    }
    writeln!(out, "\n  I/Os expected in the measurement, if the targets keep up")?;
    for operation in Operation::ALL {
        let (ios, bytes) = sums[operation];
        if ios > 0.0 {
            writeln!(out, "    {}: {ios:.0} I/Os, {}", operation.plural(), Bytes(bytes as u64))?;
        }
    }
    Ok(())
}

fn explain_target(target: &TargetPlan, facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    let resolved = facts.targets.get(&target.path).and_then(|found| found.resolved.as_ref());
    let leads_to = resolved.map(|path| format!(" (a symbolic link to '{}')", path.display())).unwrap_or_default();
    writeln!(out, "    {}{leads_to}, {}", words::target(target), words::exact(target.size_bytes))?;
    writeln!(out, "      before: {}", before(&target.preparation))?;
    writeln!(out, "      opened: {}", opened(target.open))?;
    if let Some(source) = &target.write_source {
        let content = match &source.file {
            Some(file) => format!("the contents of '{}'", file.display()),
            None => "random bytes".to_owned(),
        };
        let size = words::exact(source.size_bytes);
        let step = words::exact(source.step_bytes);
        writeln!(out, "      write source: {size} of {content}, data taken at multiples of {step}")?;
    }
    Ok(())
}

/// Interrupt CPUs of the disks, as far as known.
fn explain_interrupts(plan: &TimeSpanPlan, facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    let disks = interrupts::disks(plan.targets.iter().map(|target| target.path.as_path()), facts);
    if !disks.is_empty() {
        writeln!(out, "\n  Interrupts")?;
    }
    let first = plan.workers.first().and_then(|worker| worker.cpu);
    for (name, cpus) in disks {
        let queues = counted(cpus.len(), "queue");
        let each: BTreeSet<u32> = cpus.iter().copied().collect();
        let here = only_interrupt_cpu(cpus).filter(|cpu| Some(*cpu) == first).map(|_| ", where the first thread runs");
        let list = threads::runs(&each.iter().copied().collect::<Vec<_>>());
        writeln!(out, "    {name}: {queues}, {} {list}{}", pluralized(each.len(), "CPU"), here.unwrap_or_default())?;
    }
    Ok(())
}

fn with_path(preparation: &Preparation) -> String {
    let path = match preparation {
        Preparation::Create(creation) => &creation.path,
        Preparation::Reuse { path } => path,
        Preparation::Keep | Preparation::MadeBefore => return before(preparation),
    };
    format!("'{}': {}", path.display(), before(preparation))
}

fn before(preparation: &Preparation) -> String {
    match preparation {
        Preparation::Keep => "nothing: the target is used as it is".to_owned(),
        Preparation::MadeBefore => "none: an earlier step creates the file".to_owned(),
        Preparation::Reuse { .. } => {
            "nothing: the file was created by diskspd and already has this size and contents".to_owned()
        }
        Preparation::Create(creation) => created(creation),
    }
}

fn created(creation: &Creation) -> String {
    let fill = match creation.fill {
        Fill::Ramp => "bytes 00..FF repeating".to_owned(),
        Fill::Zero => "zeros".to_owned(),
        Fill::Random => "random bytes".to_owned(),
        Fill::Mixed => "mixed content".to_owned(),
        Fill::Reducible(reduction) => words::reducible(reduction),
    };
    let replaces = if creation.replaces.is_some() { ", replacing the existing file" } else { "" };
    let directory = creation.new_directory.as_ref();
    let parents = directory.map(|directory| format!(", creating the directory {directory}")).unwrap_or_default();
    match creation.blocks {
        Blocks::Written => {}
        Blocks::Reserved => {
            let size = words::exact(creation.size_bytes);
            return format!("creates an empty file and reserves {size} for it (fallocate){replaces}{parents}");
        }
        Blocks::None => return format!("creates an empty file{replaces}{parents}"),
    }
    let how = match creation.direct_alignment_bytes {
        Some(bytes) => format!("with direct I/O in multiples of {}", words::exact(bytes)),
        None => "through the page cache".to_owned(),
    };
    format!("creates {} of {fill}, written {how}{replaces}{parents}", words::exact(creation.size_bytes))
}

fn opened(open: OpenPlan) -> String {
    let access = match (open.read, open.write) {
        (true, true) => "for reading and writing",
        (false, true) => "for writing",
        _ => "for reading",
    };
    let mut parts = vec![access];
    parts.push(if open.direct { "bypassing the page cache (O_DIRECT)" } else { "through the page cache" });
    if open.write_through {
        parts.push("each write on stable media before it completes (O_DSYNC)");
    }
    if open.advise_sequential {
        parts.push("with POSIX_FADV_SEQUENTIAL");
    }
    if open.advise_random {
        parts.push("with POSIX_FADV_RANDOM");
    }
    parts.join(", ")
}

fn placement(plan: &TimeSpanPlan, facts: &Facts) -> String {
    let topology = &facts.system.topology;
    match &plan.effective_affinity {
        None => "not bound to CPUs (-n)".to_owned(),
        Some(entries) => {
            let allowed = topology.cpus.iter().filter(|cpu| cpu.allowed).count();
            format!(
                "on CPUs {} in this order; {allowed} of {} online CPUs may be used",
                affinity::list_text(entries, topology.group_count() > 1),
                topology.cpus.len()
            )
        }
    }
}

fn explain_memory(plan: &TimeSpanPlan, facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    let free = facts.system.memory.free_bytes();
    writeln!(
        out,
        "\n  Memory: needs at most {}; {} is available, of which {MEMORY_PERCENT_MAX}% may be used",
        Bytes(plan.memory.total()),
        Bytes(free)
    )?;
    for (name, bytes) in memory::kinds(&plan.memory) {
        let remark = match name {
            memory::LATENCY_BUCKETS => ", of which only a few pages are used",
            memory::BUFFERS if plan.buffer_separation_bytes > 0 => {
                writeln!(out, "    {name}: {}, each aligned to {}", Bytes(bytes), separation(plan))?;
                continue;
            }
            _ => "",
        };
        writeln!(out, "    {name}: {}{remark}", Bytes(bytes))?;
    }
    Ok(())
}

fn separation(plan: &TimeSpanPlan) -> String {
    words::exact(plan.buffer_separation_bytes)
}
