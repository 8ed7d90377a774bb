//! Which elements may stand in which, over all tables.

use super::element::Element;
use super::reader::names;
use super::{linux, nested, profile, target, time_span};

/// An element and its children.
pub(super) type Entry = (&'static str, Vec<&'static str>);

/// Every element that holds others.
pub(super) fn entries() -> Vec<Entry> {
    fn entry<T>(holder: &'static str, table: &'static [Element<T>]) -> Entry {
        (holder, names(table))
    }
    vec![
        entry("Profile", profile::PROFILE),
        entry("ETW", profile::TRACING),
        ("TimeSpans", vec!["TimeSpan"]),
        entry("TimeSpan", time_span::TIME_SPAN),
        entry("IoRing", time_span::IO_RING),
        ("Affinity", vec!["Group", "AffinityGroupAssignment", "AffinityAssignment"]),
        ("Targets", vec!["Target"]),
        entry("Target", target::TARGET),
        entry("Distribution", nested::DISTRIBUTION),
        ("Percent", vec!["Range"]),
        ("Absolute", vec!["Range"]),
        entry("WriteBufferContent", nested::CONTENT),
        entry("RandomDataSource", nested::SOURCE),
        ("ThreadTargets", vec!["ThreadTarget"]),
        entry("ThreadTarget", nested::THREAD_TARGET),
        entry("Linux", linux::IN_TIME_SPAN),
        entry("Linux", linux::IN_TARGET),
    ]
}

/// The elements that may hold `name`.
pub(super) fn holders_of(name: &str) -> Vec<&'static str> {
    entries().into_iter().filter(|(_, children)| children.contains(&name)).map(|(holder, _)| holder).collect()
}
