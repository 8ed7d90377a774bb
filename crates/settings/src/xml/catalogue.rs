//! Which elements may stand in which, over all rows.

use crate::setting::{Setting, names};
use crate::time_span::LISTED_ITEMS;
use crate::{linux, profile, target, target_parts, time_span};

/// An element and its children.
pub(crate) type Entry = (&'static str, Vec<&'static str>);

/// Every element that holds others.
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

/// True if some element may hold `name`.
pub fn knows(name: &str) -> bool {
    !holders_of(name).is_empty()
}

/// The elements that may hold `name`.
pub(crate) fn holders_of(name: &str) -> Vec<&'static str> {
    entries().into_iter().filter(|(_, children)| children.contains(&name)).map(|(holder, _)| holder).collect()
}
