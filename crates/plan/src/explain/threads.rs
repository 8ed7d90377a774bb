//! Description of threads; threads with the same work are described once.

use super::pattern;
use crate::words;
use model::operation::Operation;
use model::plan::{Assignment, TimeSpanPlan, WorkerPlan, WorkerTarget};
use model::units::{counted, pluralized};
use std::io::{self, Write};

/// Writes every thread of a timespan, equal neighbours once.
pub(super) fn explain(plan: &TimeSpanPlan, out: &mut dyn Write) -> io::Result<()> {
    for group in plan.workers.chunk_by(is_alike) {
        explain_group(group, plan, out)?;
    }
    Ok(())
}

/// True if two threads differ only in number, CPU and start.
fn is_alike(a: &WorkerPlan, b: &WorkerPlan) -> bool {
    let is_same_work = |(a, b): (&WorkerTarget, &WorkerTarget)| common_part(a) == common_part(b);
    a.engine == b.engine
        && a.slots == b.slots
        && a.assignment == b.assignment
        && a.cpu.is_some() == b.cpu.is_some()
        && a.targets.len() == b.targets.len()
        && a.targets.iter().zip(&b.targets).all(is_same_work)
}

fn common_part(target: &WorkerTarget) -> WorkerTarget {
    WorkerTarget {
        relative_thread: 0,
        pattern: pattern::without_start(&target.pattern),
        pace: pattern::without_phase(target.pace),
        ..target.clone()
    }
}

fn explain_group(group: &[WorkerPlan], plan: &TimeSpanPlan, out: &mut dyn Write) -> io::Result<()> {
    let [first, ..] = group else { return Ok(()) };
    let last = &group[group.len() - 1];
    let (numbers, each) = if group.len() == 1 {
        (format!("thread {}", first.thread), "")
    } else {
        (format!("threads {}-{}", first.thread, last.thread), " each")
    };
    writeln!(
        out,
        "    {numbers}{}: {} ({}), {}{each}",
        cpus(group),
        first.engine.kind.name(),
        first.engine.reason,
        counted(first.slots, "request")
    )?;
    if first.assignment == Assignment::Weighted && first.targets.len() > 1 {
        writeln!(out, "      the target is chosen for each I/O, by weight")?;
    }
    for (index, target) in first.targets.iter().enumerate() {
        let name = words::target(&plan.targets[target.target]);
        let share = match first.assignment {
            Assignment::Fixed => counted(target.slots, "request"),
            Assignment::Weighted => format!("weight {}", target.weight),
        };
        let blocks = match &target.sizes {
            None => format!("blocks of {}", words::exact(target.block_bytes)),
            Some(sizes) => counted(sizes.sizes.len(), "size"),
        };
        writeln!(out, "      {name}: {share}, {blocks}, {}", pattern::mix(target))?;
        writeln!(out, "        {}{}", pattern::pattern(target), starts(group, index))?;
        for flag in target.rw_flags.iter() {
            let ios = flag.operation.map_or("I/O", Operation::name);
            writeln!(out, "        each {ios} with {}", flag.name)?;
        }
        for line in pattern::sizes(target).into_iter().chain(pattern::distribution(target)) {
            writeln!(out, "          {line}")?;
        }
        if let Some(expected) = pattern::expected(target) {
            writeln!(out, "        {expected}")?;
        }
        if let Some(pace) = pattern::pace(target) {
            writeln!(out, "        {pace}")?;
        }
    }
    Ok(())
}

/// The start of each thread of a group on its `index`-th target.
fn starts(group: &[WorkerPlan], index: usize) -> String {
    let starts: Vec<u64> =
        group.iter().filter_map(|worker| pattern::start_bytes(&worker.targets[index].pattern)).collect();
    match starts.as_slice() {
        [] => String::new(),
        [first, second, ..] if first != second => format!(
            "; the first thread starts at {}, each further thread {} higher than the one before",
            words::offset(*first),
            words::exact(second.abs_diff(*first))
        ),
        [first, ..] => format!("; from {} on", words::offset(*first)),
    }
}

/// The CPUs of a group in the order of its threads, once if they repeat.
fn cpus(group: &[WorkerPlan]) -> String {
    let cpus: Vec<u32> = group.iter().filter_map(|worker| worker.cpu).collect();
    if cpus.is_empty() {
        return String::new();
    }
    let period = (1..cpus.len()).find(|&period| cpus.iter().zip(&cpus[period..]).all(|(a, b)| a == b));
    let cycle = &cpus[..period.unwrap_or(cpus.len())];
    let in_turn = if period.is_some() && cycle.len() > 1 { " in turn" } else { "" };
    format!(" on {} {}{in_turn}", pluralized(cycle.len(), "CPU"), runs(cycle))
}

/// `0-3, 8, 6`: consecutive neighbours as a range.
pub(super) fn runs(cpus: &[u32]) -> String {
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u32::to_string).collect(),
    };
    cpus.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(", ")
}
