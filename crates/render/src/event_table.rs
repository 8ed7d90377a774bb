//! Kernel events (`-e`): `DiskSpd`'s block of counters, and I/O at each level of storage.

use crate::foreign;
use model::kernel_events::{IoLevel, IoStack, KernelEvents, LevelFigures};
use model::units::mib;
use std::io::{self, Write};

/// Both, each beginning with empty lines; nothing without counters and levels.
pub(crate) fn blocks(out: &mut dyn Write, events: &KernelEvents) -> io::Result<()> {
    if !events.classes.is_empty() {
        writeln!(out, "\n\n\nETW:\n----\n")?;
    }
    for class in &events.classes {
        writeln!(out, "\t{}", class.class.title())?;
        for count in &class.counters {
            writeln!(out, "\t\t{}: {}", count.event.names().0, count.count)?;
        }
        writeln!(out, "\t\tsource: {}", class.source)?;
    }
    events.stacks.iter().try_for_each(|stack| levels(out, stack))
}

/// One table per stack. A kind of I/O is shown at every level if it is there at any: that a level had none of it tells
/// something too.
fn levels(out: &mut dyn Write, stack: &IoStack) -> io::Result<()> {
    writeln!(
        out,
        "\nI/O at each level\ndevices: from the creation of a request to its completion (/sys/block/*/stat)"
    )?;
    for target in &stack.targets {
        write!(out, "target: '")?;
        foreign::write_path(out, target)?;
        writeln!(out, "'")?;
    }
    writeln!(out, "level                    | type  |     I/Os     |    MiB/s   |  I/O per s | AvgLat(ms)")?;
    writeln!(out, "{}", "-".repeat(89))?;
    kind(out, stack, "read", |level| &level.read)?;
    kind(out, stack, "write", |level| &level.write)
}

fn kind(out: &mut dyn Write, stack: &IoStack, name: &str, of: fn(&IoLevel) -> &LevelFigures) -> io::Result<()> {
    if stack.levels.iter().all(|level| of(level).ios == 0) {
        return Ok(());
    }
    stack.levels.iter().try_for_each(|level| row(out, level, name, of(level)))
}

fn row(out: &mut dyn Write, level: &IoLevel, kind: &str, figures: &LevelFigures) -> io::Result<()> {
    let indent = " ".repeat(level.depth as usize);
    let name = format!("{indent}{}", level.device.as_deref().unwrap_or("diskspd"));
    let LevelFigures { ios, bytes_per_s, iops, latency_mean_ns, .. } = figures;
    let latency = latency_mean_ns.map_or_else(|| "N/A".to_owned(), |ns| format!("{:.3}", ns / 1e6));
    writeln!(out, "{name:<24} | {kind:<5} | {ios:>12} | {:>10.2} | {iops:>10.2} | {latency:>10}", mib(*bytes_per_s))
}
