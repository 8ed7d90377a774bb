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

/// What became of the wait for the start event.
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

    /// What asks the run to end, if anything does.
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

    /// Waits for the start event, if there is one that is not set.
    pub(crate) fn wait_for_start(&self, observer: &mut dyn Observer) -> Wait {
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
}

/// Sets an event, if there is one.
pub(crate) fn set(event: Option<&NamedEvent>) {
    if let Some(event) = event {
        event.set();
    }
}
