//! Execution of loads on an agent's machine: the part that the program provides.

use model::host_timing::HostTiming;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The load of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The run, the same on all hosts: 32 hexadecimal digits ([`crate::name::new_id`]).
    pub run: String,
    /// The agent that executes it.
    pub host: String,
    /// The host's position among the hosts of the run, from 0.
    pub index: usize,
    /// Number of hosts of the run.
    pub hosts: usize,
    /// The hosts share files: the first of them prepares before the others, and settles at the end
    /// ([`LoadHost::settle`]).
    pub shared: bool,
    /// The profile.
    pub profile: Value,
    /// Further options of the program.
    pub options: Value,
}

/// A valid load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Facts about the machine. Left out if they make the answer larger than a message may be.
    pub facts: Value,
    /// The plan as text; its end is cut off if the answer is larger than a message may be.
    pub text: String,
}

/// Result of the preparation of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Files that did not exist before.
    pub created: Vec<String>,
}

/// Result of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The result document, as text: it may come from an untrusted host, so only code that knows its format parses it.
    pub result: String,
    /// Times of its steps.
    pub timing: HostTiming,
}

/// The agent's operations on this machine. Each of these is called on a thread that may block; one call at a time.
///
/// Sentences of an `Err` are for the user of the controller: they need not name the host. There are none if nothing
/// failed, and it was stopped before the load began.
pub trait LoadHost: Send + Sync + 'static {
    /// Plans the load without touching any file.
    fn plan(&self, load: &Load) -> Result<Planned, Vec<String>>;

    /// Creates and fills the files of the load. If it fails, or ends early because of `stop`, it removes the files that
    /// it created and returns an `Err`.
    fn prepare(&self, load: &Load, stop: &AtomicBool) -> Result<Prepared, Vec<String>>;

    /// Removes the files that [`LoadHost::prepare`] created. Called if the load does not start.
    fn undo(&self, prepared: &Prepared);

    /// Waits for the start and runs the load, until its end or until `stop` is true.
    ///
    /// Not called again for the same preparation. At the time of the gate it must call [`StartGate::enter`] and start
    /// only if that is true; otherwise it returns an `Err`, and [`LoadHost::undo`] is called.
    fn run(
        &self,
        load: &Load,
        prepared: &Prepared,
        gate: &StartGate,
        stop: &AtomicBool,
    ) -> Result<Finished, Vec<String>>;

    /// Closes the files that the hosts of a shared load used together. Called on the first host, after its load, if
    /// the load has ended on all hosts with a result.
    fn settle(&self, load: &Load) -> Result<(), Vec<String>> {
        let _ = load;
        Ok(())
    }
}

/// Start time of a load, and the permission to start.
pub struct StartGate {
    start_at_ns: u64,
    /// One of the constants below.
    state: AtomicU8,
    ios: AtomicU64,
    bytes: AtomicU64,
    /// The live document of the load, and the number of its changes.
    live: Mutex<(u64, Value)>,
}

/// A load that is later than this is not started.
const TOO_LATE_NS: u64 = 5_000_000_000;

const UNCONFIRMED: u8 = 0;
const CONFIRMED: u8 = 1;
const CANCELLED: u8 = 2;
const ENTERED: u8 = 3;

impl StartGate {
    /// A gate for a start at this time of the monotonic clock; not yet confirmed.
    pub fn new(start_at_ns: u64) -> Self {
        Self {
            start_at_ns,
            state: AtomicU8::new(UNCONFIRMED),
            ios: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            live: Mutex::default(),
        }
    }

    /// Start of the load (warm-up included), by this machine's monotonic clock, in nanoseconds.
    pub fn start_at_ns(&self) -> u64 {
        self.start_at_ns
    }

    /// True if the controller confirmed the start and did not cancel it. It may still cancel until
    /// [`StartGate::enter`].
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), CONFIRMED | ENTERED)
    }

    /// True if it was cancelled: it never starts.
    pub fn is_cancelled(&self) -> bool {
        self.state.load(Ordering::Acquire) == CANCELLED
    }

    /// To be called at the start time: true if the load starts. If it is false, it never does, even if it is confirmed
    /// later. It is false if the time passed seconds ago, because the process was stopped: the other hosts did not
    /// wait.
    pub fn enter(&self) -> bool {
        self.enter_at(sys::clock::monotonic_ns())
    }

    pub(crate) fn enter_at(&self, now_ns: u64) -> bool {
        if now_ns > self.start_at_ns.saturating_add(TOO_LATE_NS) {
            self.cancel();
        }
        let change = |state| match state {
            CONFIRMED => Some(ENTERED),
            UNCONFIRMED => Some(CANCELLED),
            _ => None,
        };
        matches!(self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change), Ok(CONFIRMED) | Err(ENTERED))
    }

    /// Reports the I/Os and bytes since the load began; shown on the controller while it runs. May be called from any
    /// thread.
    pub fn report(&self, ios: u64, bytes: u64) {
        self.ios.store(ios, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Reports a live document, sent with the next heartbeat ([`crate::HostLive::live`]). A later one before that
    /// replaces it.
    pub fn report_live(&self, document: Value) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        *live = (live.0 + 1, document);
    }

    /// The last reported document and its number from 1, if it is later than the one with this number.
    pub(crate) fn live_after(&self, number: u64) -> Option<(u64, Value)> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        (live.0 > number).then(|| live.clone())
    }

    /// The last reported numbers of I/Os and bytes.
    pub fn reported(&self) -> (u64, u64) {
        (self.ios.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Confirms the start: true if the load will start, or has.
    pub fn confirm(&self) -> bool {
        let confirmed = self.state.compare_exchange(UNCONFIRMED, CONFIRMED, Ordering::AcqRel, Ordering::Acquire);
        matches!(confirmed, Ok(_) | Err(CONFIRMED | ENTERED))
    }

    /// Cancels the start, unless the load has begun.
    pub fn cancel(&self) {
        let change = |state| matches!(state, UNCONFIRMED | CONFIRMED).then_some(CANCELLED);
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    }

    /// True if the load has entered.
    pub fn has_entered(&self) -> bool {
        self.state.load(Ordering::Acquire) == ENTERED
    }
}

impl fmt::Debug for StartGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.load(Ordering::Relaxed) {
            UNCONFIRMED => "unconfirmed",
            CONFIRMED => "confirmed",
            CANCELLED => "cancelled",
            _ => "entered",
        };
        write!(f, "StartGate({} ns, {state})", self.start_at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_opens_only_for_a_go_that_came_before_its_time() {
        let gate = StartGate::new(7);
        assert!(!gate.is_confirmed() && gate.start_at_ns() == 7);
        assert!(gate.confirm() && gate.is_confirmed() && !gate.has_entered());
        assert!(gate.enter_at(7) && gate.enter_at(7) && gate.confirm() && gate.has_entered());
        gate.cancel(); // too late
        assert!(gate.enter_at(7) && !gate.is_cancelled());

        let late = StartGate::new(7);
        assert!(!late.enter_at(7), "without a go");
        assert!(!late.confirm() && !late.enter_at(7) && late.is_cancelled());

        let cancelled = StartGate::new(7);
        cancelled.confirm();
        cancelled.cancel();
        assert!(!cancelled.is_confirmed() && !cancelled.enter_at(7) && !cancelled.confirm());
    }
    #[test]
    fn a_load_whose_time_passed_long_ago_does_not_begin() {
        let gate = StartGate::new(7);
        assert!(gate.confirm() && !gate.enter_at(8 + TOO_LATE_NS) && gate.is_cancelled() && !gate.enter_at(7));
        let gate = StartGate::new(7);
        assert!(gate.confirm() && gate.enter_at(7 + TOO_LATE_NS), "a busy machine wakes up late");
    }
}
