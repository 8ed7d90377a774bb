//! External inputs of a run: Ctrl+C, and events shared with other
//! processes.

use crate::observer::{Event, Observer};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sys::event::NamedEvent;

/// How often control looks for Ctrl+C, and who sleeps for something else looks for the rest.
pub(crate) const TICK_NS: u64 = 100_000_000;

/// The events of a run. Other processes can set them for as long as they are held here.
#[derive(Debug, Default)]
pub struct Events {
    /// Waited for before the load starts.
    pub start: Option<NamedEvent>,
    /// Ends the run when it is set; set by Ctrl+C.
    pub stop: Option<NamedEvent>,
    /// Set when the measurement begins.
    pub on_started: Option<NamedEvent>,
    /// Set when the measurement ends.
    pub on_finished: Option<NamedEvent>,
}

/// A start that several hosts agree on: all begin at the same moment, or none does.
#[derive(Clone, Copy)]
pub struct AgreedStart<'a> {
    /// When the load begins, in nanoseconds of this machine's `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Asked a tenth of a second before: true if the hosts have agreed.
    pub is_agreed: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for AgreedStart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgreedStart").field("start_ns", &self.start_ns).finish_non_exhaustive()
    }
}

/// Time for control before an agreed start, to mark the targets as being written to.
const MARKING_NS: u64 = 500_000_000;

/// How much earlier control wakes up than it must: on a busy machine, it wakes up late by up to this, and threads that were
/// told when to start begin in time all the same.
const EARLY_NS: u64 = 100_000_000;

/// Outcome of the wait for the start event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// There is none, or it was set already.
    NotNeeded,
    /// It has been set.
    Over,
    /// The run is to end instead.
    EndWanted,
}

/// Everything from outside that a run heeds.
#[derive(Clone, Copy, Debug)]
pub struct StopSources<'a> {
    /// Asks for a graceful end (Ctrl+C).
    pub interrupt: &'a AtomicBool,
    /// Requests a line of live results (SIGUSR1).
    pub status_asked: &'a AtomicBool,
    /// Shared with other processes.
    pub events: &'a Events,
    /// When the first timespan begins, if that was agreed with other hosts.
    pub agreed_start: Option<AgreedStart<'a>>,
}

impl StopSources<'_> {
    /// Ctrl+C here ends all runs that share the stop event.
    pub(crate) fn pass_interrupt_on(&self) {
        if self.interrupt.load(Relaxed) {
            set(self.events.stop.as_ref());
        }
    }

    /// True once for each time that figures were asked for.
    pub(crate) fn take_status_asked(&self) -> bool {
        self.status_asked.load(Relaxed) && self.status_asked.swap(false, Relaxed)
    }

    /// The event that asks the run to end, if there is one.
    pub(crate) fn end_wanted(&self) -> Option<Event<'static>> {
        if self.interrupt.load(Relaxed) {
            self.pass_interrupt_on();
            return Some(Event::Interrupted);
        }
        self.events.stop.as_ref().is_some_and(NamedEvent::is_set).then_some(Event::StopEventSet)
    }

    /// Sleeps until that time, the stop event or a signal.
    pub(crate) fn sleep_until_ns(&self, until_ns: u64) {
        match &self.events.stop {
            Some(stop) => {
                stop.wait_until_ns(until_ns);
            }
            None => sys::clock::sleep_until_ns(until_ns),
        }
    }

    /// Waits for the start event, if there is one that is not set, or until an agreed start is near.
    pub(crate) fn wait_for_start(&self, observer: &mut dyn Observer) -> Wait {
        if let Some(agreed) = self.agreed_start {
            let is_reached = self.wait_until(agreed.start_ns.saturating_sub(MARKING_NS), observer);
            return if is_reached { Wait::Over } else { Wait::EndWanted };
        }
        let Some(start) = self.events.start.as_ref().filter(|start| !start.is_set()) else { return Wait::NotNeeded };
        observer.observe(&Event::WaitingForStart);
        loop {
            if let Some(reason) = self.end_wanted() {
                observer.observe(&reason);
                return Wait::EndWanted;
            }
            if start.wait_until_ns(sys::clock::monotonic_ns() + TICK_NS) {
                return Wait::Over;
            }
        }
    }

    /// When the load begins: `lead_ns` from now, or at the agreed time, for which this waits. `None` = it does not
    /// begin, because the run is to end or the other hosts have not agreed.
    pub(crate) fn start_ns(&self, lead_ns: u64, observer: &mut dyn Observer) -> Option<u64> {
        let soonest = || sys::clock::monotonic_ns() + lead_ns;
        let Some(agreed) = self.agreed_start else { return Some(soonest()) };
        if !self.wait_until(agreed.start_ns.saturating_sub(lead_ns + EARLY_NS), observer) {
            return None;
        }
        if !(agreed.is_agreed)() {
            observer.observe(&Event::Warning { message: "the load was not started: not all hosts agreed" });
            return None;
        }
        Some(agreed.start_ns.max(soonest()))
    }

    /// True at that time; false if the run is to end before.
    fn wait_until(&self, until_ns: u64, observer: &mut dyn Observer) -> bool {
        loop {
            if let Some(reason) = self.end_wanted() {
                observer.observe(&reason);
                return false;
            }
            let now_ns = sys::clock::monotonic_ns();
            if now_ns >= until_ns {
                return true;
            }
            self.sleep_until_ns(until_ns.min(now_ns + TICK_NS));
        }
    }
}

/// Sets an event, if there is one.
pub(crate) fn set(event: Option<&NamedEvent>) {
    if let Some(event) = event {
        event.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct RecordedEvents(Vec<String>);

    impl Observer for RecordedEvents {
        fn observe(&mut self, event: &Event<'_>) {
            self.0.push(format!("{event:?}"));
        }
    }

    /// When a load begins that is to begin in 20 ms.
    fn begins(is_agreed: bool, is_interrupted: bool) -> (u64, Option<u64>, Vec<String>) {
        let start_ns = sys::clock::monotonic_ns() + 20_000_000;
        let agreed = AgreedStart { start_ns, is_agreed: &|| is_agreed };
        let (interrupt, status_asked, events) = (is_interrupted.into(), false.into(), Events::default());
        let sources = StopSources {
            interrupt: &interrupt,
            status_asked: &status_asked,
            events: &events,
            agreed_start: Some(agreed),
        };
        let mut heard = RecordedEvents::default();
        (start_ns, sources.start_ns(1_000_000, &mut heard), heard.0)
    }

    #[test]
    fn an_agreed_start_is_kept() {
        let (agreed_ns, begins_ns, heard) = begins(true, false);
        let begins_ns = begins_ns.expect("it begins");
        assert!(begins_ns >= agreed_ns);
        assert!(heard.is_empty());
    }

    #[test]
    fn a_start_that_not_all_agree_on_is_none() {
        let (_, begins_ns, heard) = begins(false, false);
        assert_eq!(begins_ns, None);
        assert!(heard[0].contains("not all hosts agreed"), "{heard:?}");
    }

    #[test]
    fn an_interrupt_ends_the_wait_for_it() {
        let (_, begins_ns, heard) = begins(true, true);
        assert_eq!((begins_ns, heard), (None, vec!["Interrupted".to_owned()]));
    }
}
