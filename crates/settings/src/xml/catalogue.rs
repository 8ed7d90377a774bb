//! Containment of elements, over all rows.

use crate::setting::{Setting, names};
use crate::target_parts::RANGE_ITEMS;
use crate::time_span::LISTED_ITEMS;
use crate::{linux, profile, target, target_parts, time_span};

/// An element and its children.
pub(crate) type Entry = (&'static str, Vec<&'static str>);

/// Every element with child elements.
pub(crate) fn entries() -> Vec<Entry> {
    fn entry<T>(holder: &'static str, table: &'static [Setting<T>]) -> Entry {
        (holder, names(table))
    }
    vec![
        entry("Profile", profile::PROFILE),
        entry("ETW", profile::TRACING),
        ("TimeSpans", vec!["TimeSpan"]),
        entry("TimeSpan", time_span::TIME_SPAN),
        entry("IoRing", time_span::IO_RING),
        ("Affinity", LISTED_ITEMS.iter().map(|(name, _)| *name).collect()),
        ("Targets", vec!["Target"]),
        entry("Target", target::TARGET),
        entry("Distribution", target_parts::RANGES),
        ("Percent", vec!["Range"]),
        ("Absolute", vec!["Range"]),
        entry("WriteBufferContent", target_parts::CONTENT),
        entry("RandomDataSource", target_parts::SOURCE),
        ("ThreadTargets", vec!["ThreadTarget"]),
        entry("ThreadTarget", target_parts::THREAD_TARGET),
        entry("Linux", linux::LINUX_IN_TIME_SPAN),
        entry("Linux", linux::LINUX_IN_TARGET),
    ]
}

/// Attributes that an element may have, in any parent.
pub(crate) fn attributes_of(element: &str) -> Vec<&'static str> {
    fn of_rows<T>(element: &str, table: &'static [Setting<T>]) -> Vec<&'static str> {
        let rows = table.iter().filter(|setting| setting.element == element);
        rows.flat_map(Setting::attributes).copied().collect()
    }
    let items = LISTED_ITEMS.iter().chain(RANGE_ITEMS).filter(|(name, _)| *name == element);
    let found = [
        of_rows(element, profile::PROFILE),
        of_rows(element, time_span::TIME_SPAN),
        of_rows(element, time_span::IO_RING),
        of_rows(element, target::TARGET),
        of_rows(element, linux::LINUX_IN_TIME_SPAN),
        of_rows(element, linux::LINUX_IN_TARGET),
        items.flat_map(|(_, attributes)| *attributes).copied().collect(),
    ];
    found.concat()
}

/// True if some element may contain `name`.
pub fn knows(name: &str) -> bool {
    !holders_of(name).is_empty()
}

/// The elements that may contain `name`.
pub(crate) fn holders_of(name: &str) -> Vec<&'static str> {
    entries().into_iter().filter(|(_, children)| children.contains(&name)).map(|(holder, _)| holder).collect()
}
