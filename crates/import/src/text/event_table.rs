//! Kernel events (`-e`) of our own reports: `DiskSpd`'s block does not tell where its counters come
//! from, and has others.

use super::lines::{Line, Lines, between};
use crate::event_names::{counter, title};
use crate::read::{ReadError, number};
use model::kernel_events::{EventClass, EventCount, EventKind, IoLevel, IoStack, KernelEvent, LevelFigures};
use model::units::bytes_of_mib;

/// Reads the classes below the title of the block.
pub(super) fn classes(lines: &mut Lines<'_>) -> Result<Vec<EventClass>, ReadError> {
    let mut classes: Vec<EventClass> = Vec::new();
    // Between the title and the first class are a rule and an empty line.
    let goes_on = |line: &Line<'_>, is_begun: bool| {
        line.text.starts_with('\t') || (!is_begun && (line.is_rule() || line.content().is_empty()))
    };
    while let Some(line) = lines.peek().filter(|line| goes_on(line, !classes.is_empty())) {
        lines.take();
        let content = line.content();
        if let Some(class) = EventKind::ALL.into_iter().find(|class| title(*class) == content) {
            classes.push(EventClass { class, source: String::new(), counters: Vec::new() });
        } else if let (Some((name, value)), Some(class)) = (content.split_once(": "), classes.last_mut()) {
            if name == "source" {
                value.clone_into(&mut class.source);
            } else if let Some(event) = KernelEvent::ALL.into_iter().find(|event| counter(*event).0 == name) {
                class.counters.push(EventCount { event, count: line.parse(value, number::whole)? });
            }
        }
    }
    classes.retain(|class| !class.source.is_empty());
    Ok(classes)
}

/// Reads the table of one stack below its title.
pub(super) fn stack(lines: &mut Lines<'_>, elapsed_ns: u64) -> Result<IoStack, ReadError> {
    let mut stack = IoStack::default();
    while let Some(line) = lines.peek().filter(|line| !line.content().is_empty()) {
        lines.take();
        if let Some(path) = between(line.text, "target: '", "'") {
            stack.targets.push(path.into());
        } else if let &[name, kind, ios, mib_per_s, iops, mean_ms] = line.cells().as_slice() {
            let is_write = match kind {
                "read" => false,
                "write" => true,
                _ => continue,
            };
            let depth = line.text.len() - line.text.trim_start().len();
            let mean_ns = match mean_ms {
                "N/A" => None,
                _ => line.parse(mean_ms, number::real)?.map(number::ns),
            };
            let mib_per_s = line.parse(mib_per_s, number::real)?.unwrap_or(0.0);
            let figures = LevelFigures {
                ios: line.parse(ios, number::whole)?,
                // The text has the rate only.
                bytes: stats::amount(bytes_of_mib(mib_per_s), elapsed_ns),
                iops: line.parse(iops, number::real)?.unwrap_or(0.0),
                bytes_per_s: bytes_of_mib(mib_per_s),
                latency_mean_ns: mean_ns,
            };
            let level = level(&mut stack.levels, name, depth);
            *(if is_write { &mut level.write } else { &mut level.read }) = figures;
        }
    }
    Ok(stack)
}

/// The level of that name, which is there already if its reads were.
fn level<'a>(levels: &'a mut Vec<IoLevel>, name: &str, depth: usize) -> &'a mut IoLevel {
    let device = (depth > 0).then(|| name.to_owned());
    let index = levels.iter().position(|level| level.device == device).unwrap_or_else(|| {
        levels.push(IoLevel { device, depth: u32::try_from(depth).unwrap_or(u32::MAX), ..IoLevel::default() });
        levels.len() - 1
    });
    &mut levels[index]
}
