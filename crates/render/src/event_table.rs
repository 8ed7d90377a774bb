//! Kernel events (`-e`): `DiskSpd`'s block of counters.

use model::kernel_events::KernelEvents;
use std::io::{self, Write};

/// The counters, beginning with empty lines; empty without counters.
pub(crate) fn block(out: &mut dyn Write, events: &KernelEvents) -> io::Result<()> {
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
    Ok(())
}
