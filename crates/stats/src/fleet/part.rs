//! The part that a host has in a timespan of several hosts.

use super::axis::HostAxis;
use model::profile::TimeSpan;
use model::result::{Measured, TimeSpanResult};

/// A host that measured a timespan.
pub(super) struct HostPart<'a> {
    pub(super) name: &'a str,
    /// Online CPUs of its machine.
    pub(super) cpu_count: usize,
    pub(super) measured: &'a Measured,
    pub(super) axis: HostAxis,
    pub(super) numbers: Numbers,
}

/// First numbers of a host's threads and targets among those of all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) thread: u32,
    pub(super) target: usize,
}

impl Numbers {
    /// First numbers of the next host.
    pub(super) fn after(self, span: Option<&TimeSpan>, span_result: &TimeSpanResult) -> Self {
        let targets = span.map_or(0, |span| span.targets.len()).max(span_result.engines.len());
        let Some(measured) = &span_result.measured else {
            return Self { target: self.target.saturating_add(targets), ..self };
        };
        let of_rows = measured.rows.iter().map(|row| row.thread.saturating_add(1)).max().unwrap_or(0);
        let of_submissions = measured.submissions.as_ref().map_or(0, |submissions| submissions.threads.len() as u32);
        let threads = measured.thread_count.max(of_rows).max(of_submissions);
        let of_rows = measured.rows.iter().map(|row| row.target.saturating_add(1)).max().unwrap_or(0);
        Self { thread: self.thread.saturating_add(threads), target: self.target.saturating_add(targets.max(of_rows)) }
    }
}
