//! Kernel events (`-e`) of our own documents: `DiskSpd`'s element lacks the source of its counters, and has other
//! counters.

use super::element::Element;
use crate::{ReadError, number};
use model::kernel_events::{
    EventClass, EventCount, EventKind, IoLevel, IoStack, KernelEvent, KernelEvents, LevelFigures,
};

/// `time_span` has the counters, its child `linux` the rest.
pub(super) fn read(
    time_span: Element<'_, '_>,
    linux: Element<'_, '_>,
    elapsed_ns: u64,
) -> Result<Option<KernelEvents>, ReadError> {
    let mut events = KernelEvents::default();
    for source in linux.children("EventSource") {
        let named = |class: &EventKind| source.attribute("Class") == Some(class.title());
        if let Some(class) = EventKind::ALL.into_iter().find(named) {
            let counters = counters(time_span, class)?;
            events.classes.push(EventClass { class, source: source.text().to_owned(), counters });
        }
    }
    for stack in linux.children("IoStack") {
        events.stacks.push(IoStack {
            targets: stack.children("StackTarget").map(|target| target.text().into()).collect(),
            levels: stack.children("IoLevel").map(|level| self::level(level, elapsed_ns)).collect::<Result<_, _>>()?,
        });
    }
    Ok((events != KernelEvents::default()).then_some(events))
}

fn counters(time_span: Element<'_, '_>, class: EventKind) -> Result<Vec<EventCount>, ReadError> {
    let Some(etw) = time_span.child("ETW") else { return Ok(Vec::new()) };
    let Some(holder) = class.element().map_or(Some(etw), |name| etw.child(name)) else { return Ok(Vec::new()) };
    let mut counters = Vec::new();
    for element in holder.all_children() {
        let event = KernelEvent::ALL.into_iter().find(|event| event.names().1 == element.name());
        if let Some(event) = event {
            counters.push(EventCount { event, count: element.whole_text()? });
        }
    }
    Ok(counters)
}

fn level(level: Element<'_, '_>, elapsed_ns: u64) -> Result<IoLevel, ReadError> {
    let figures = |kind: &str| -> Result<LevelFigures, ReadError> {
        let ios = level.whole_attribute(&format!("{kind}Ios"))?.unwrap_or(0);
        let bytes = level.whole_attribute(&format!("{kind}Bytes"))?.unwrap_or(0);
        let mean_ms = level.real_attribute(&format!("{kind}AvgMilliseconds"))?;
        Ok(stats::level_figures(ios, bytes, mean_ms.map(number::ns), elapsed_ns))
    };
    Ok(IoLevel {
        device: level.attribute("Device").map(str::to_owned),
        depth: level.whole_attribute("Depth")?.unwrap_or(0),
        read: figures("Read")?,
        write: figures("Write")?,
    })
}
