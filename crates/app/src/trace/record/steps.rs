//! Steps of requests as the kernel reports them, until the recording ends.

use host::Root;
use live::block_requests::BlockRequestWatch;
use model::block_step::{BlockStep, MissedSteps, StepKind};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// How often the kernel's buffer is looked at: it holds a third of a second of a million steps.
const PAUSE: Duration = Duration::from_millis(5);

/// After the end, completions of what was issued before it are waited for.
const GRACE_NS: u64 = 200_000_000;

/// Steps one by one; waits for the next.
pub(super) struct Steps<'a> {
    watch: BlockRequestWatch,
    found: VecDeque<BlockStep>,
    /// When the recording ends, in nanoseconds of `CLOCK_MONOTONIC`; `u64::MAX` = at an interrupt.
    end_ns: u64,
    interrupted: &'a AtomicBool,
    is_over: bool,
    /// Set at the end.
    missed: &'a Cell<MissedSteps>,
}

impl<'a> Steps<'a> {
    /// Begins to record one disk, or all.
    pub(super) fn begin(
        root: &Root,
        disk: Option<(u32, u32)>,
        duration: Option<Duration>,
        interrupted: &'a AtomicBool,
        missed: &'a Cell<MissedSteps>,
    ) -> Result<Self, String> {
        let watch = BlockRequestWatch::begin(root, disk)?;
        let now_ns = sys::clock::monotonic_ns();
        let end_ns = duration.map_or(u64::MAX, |duration| now_ns.saturating_add(duration.as_nanos() as u64));
        Ok(Self { watch, found: VecDeque::new(), end_ns, interrupted, is_over: false, missed })
    }

    /// The reason why no eBPF programs record the steps; `None` = they do.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.watch.refusal()
    }
}

impl Iterator for Steps<'_> {
    type Item = BlockStep;

    fn next(&mut self) -> Option<BlockStep> {
        loop {
            if let Some(step) = self.found.pop_front() {
                return Some(step);
            }
            if self.is_over {
                self.missed.set(self.watch.missed());
                return None;
            }
            let now_ns = sys::clock::monotonic_ns();
            if self.interrupted.load(Relaxed) {
                self.end_ns = self.end_ns.min(now_ns);
            }
            let (found, end_ns) = (&mut self.found, self.end_ns);
            let count = self.watch.take(|step| {
                // Of requests that began after the end nothing is kept.
                let begins = matches!(step.kind, StepKind::Queued | StepKind::Issued);
                found.extend(Some(step).filter(|step| !begins || step.time_ns < end_ns));
            });
            self.is_over = now_ns >= end_ns.saturating_add(GRACE_NS);
            if count == 0 && !self.is_over {
                thread::sleep(PAUSE);
            }
        }
    }
}
