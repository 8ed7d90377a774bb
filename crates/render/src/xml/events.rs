//! Kernel events (`-e`): `DiskSpd`'s element, and ours for the data that it cannot hold.

use super::number::ms;
use super::writer::Writer;
use model::kernel_events::{EventClass, IoLevel, IoStack, KernelEvents};
use std::fmt::Display;
use std::io;

/// `ETW`, as far as there are counters. `DiskSpd`'s data on its session has no equivalent.
pub(super) fn element(xml: &mut Writer<'_>, events: &KernelEvents) -> io::Result<()> {
    if events.classes.is_empty() {
        return Ok(());
    }
    xml.inside("ETW", &[], |xml| {
        events.classes.iter().try_for_each(|class| match class.class.element() {
            Some(name) => xml.inside(name, &[], |xml| counters(xml, class)),
            None => counters(xml, class),
        })
    })
}

fn counters(xml: &mut Writer<'_>, class: &EventClass) -> io::Result<()> {
    class.counters.iter().try_for_each(|count| xml.element(count.event.names().1, count.count))
}

/// The source of the counts, and I/O at each level.
pub(super) fn beside(xml: &mut Writer<'_>, events: &KernelEvents) -> io::Result<()> {
    for class in &events.classes {
        xml.element_with("EventSource", &[("Class", &class.class.title())], &class.source)?;
    }
    events.stacks.iter().try_for_each(|stack| xml.inside("IoStack", &[], |xml| self::stack(xml, stack)))
}

fn stack(xml: &mut Writer<'_>, stack: &IoStack) -> io::Result<()> {
    for target in &stack.targets {
        xml.element("StackTarget", target.display())?;
    }
    stack.levels.iter().try_for_each(|level| self::level(xml, level))
}

fn level(xml: &mut Writer<'_>, level: &IoLevel) -> io::Result<()> {
    let mut cells = vec![("Depth".to_owned(), level.depth.to_string())];
    cells.extend(level.device.iter().map(|name| ("Device".to_owned(), name.clone())));
    for (kind, figures) in [("Read", &level.read), ("Write", &level.write)] {
        cells.push((format!("{kind}Ios"), figures.ios.to_string()));
        cells.push((format!("{kind}Bytes"), figures.bytes.to_string()));
        cells.extend(figures.latency_mean_ns.map(|ns| (format!("{kind}AvgMilliseconds"), ms(ns))));
    }
    let attributes: Vec<(&str, &dyn Display)> =
        cells.iter().map(|(name, value)| (name.as_str(), value as &dyn Display)).collect();
    xml.empty("IoLevel", &attributes)
}
