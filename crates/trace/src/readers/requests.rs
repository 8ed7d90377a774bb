//! From the steps of a block layer's requests (queued, issued, completed) to requests.
//!
//! A request is issued when the driver gets it (D), or, on devices that have no such step, when it is queued (Q). Its
//! process is the one that queued it: drivers often issue in a thread of the kernel. Requests that were merged are one.

use super::{Source, State};
use crate::event::{Action, Event, Flags, Names};
use crate::reorder::{Reorder, WINDOW};
use model::block_step::StepKind;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Bytes of a sector in traces.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Steps that a request may be open for, counted in requests: then its completion was lost.
const OPEN_MAX: u64 = WINDOW as u64 / 2;

/// Records that traces are out of order by.
const RECORD_WINDOW: usize = 4096;

/// The step of a letter in blkparse's output; `None` of others, which change no request.
pub(super) fn step_of_letter(letter: &str) -> Option<StepKind> {
    match letter {
        "Q" => Some(StepKind::Queued),
        "D" => Some(StepKind::Issued),
        "R" => Some(StepKind::Requeued),
        "C" => Some(StepKind::Completed),
        _ => None,
    }
}

/// One step of one request. The event is as if the step were its issue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    step: StepKind,
    event: Event,
}

impl Record {
    /// The step of a request with a device, in a thread with a process and a name. Completions come in any thread.
    pub(super) fn new(
        (step, issue_ns): (StepKind, u64),
        (device, pid, name): (&str, u32, &str),
        (sector, length): (u64, u64),
        (action, flags): (Action, Flags),
        names: &mut Names,
    ) -> Self {
        let device = names.intern_device(device);
        let process = if step == StepKind::Completed { 0 } else { names.intern_process(pid, name) };
        let offset = if action.operation().is_some() { sector.saturating_mul(SECTOR_BYTES) } else { 0 };
        let event = Event { issue_ns, latency_ns: None, device, process, offset, length, action, flags };
        Self { step, event }
    }
}

/// A trace of steps.
pub(super) trait Records {
    /// The next step; `None` at the end.
    fn next(&mut self, state: &mut State) -> Option<Record>;
}

/// Makes requests of a trace of steps.
pub(super) struct Requests<R> {
    records: R,
    window: Reorder<Record>,
    matcher: Matcher,
}

impl<R> Requests<R> {
    pub(super) fn new(records: R) -> Self {
        Self { records, window: Reorder::new(RECORD_WINDOW), matcher: Matcher::default() }
    }
}

impl<R: Records> Source for Requests<R> {
    fn next(&mut self, state: &mut State) -> Option<Event> {
        loop {
            if let Some(event) = self.matcher.done.pop_front() {
                return Some(event);
            }
            let records = &mut self.records;
            let next = self.window.next_from(|| records.next(state).map(|record| (record.event.issue_ns, record)));
            (state.account.sorted, state.account.late) = (self.window.sorted(), self.window.late());
            match next {
                Some((time_ns, record)) => {
                    let event = Event { issue_ns: time_ns, ..record.event };
                    self.matcher.add(record.step, event, state);
                }
                None if self.matcher.finish(state) => {}
                None => return None,
            }
        }
    }

    fn is_by_completion(&self) -> bool {
        true
    }
}

/// Device, action and first byte of a request.
type Key = (u32, usize, u64);

/// Requests that are not completed.
#[derive(Default)]
struct Matcher {
    queued: Open,
    issued: Open,
    /// Devices whose driver gets requests.
    drivers: HashSet<u32>,
    done: VecDeque<Event>,
}

/// Open requests, and their order. Several may be open at one place.
#[derive(Default)]
struct Open {
    requests: BTreeMap<(Key, u64), Event>,
    order: VecDeque<(u64, Key)>,
    added: u64,
}

impl Open {
    fn add(&mut self, key: Key, event: Event) {
        self.added += 1;
        self.order.push_back((self.added, key));
        self.requests.insert((key, self.added), event);
    }

    /// The latest at a place: one whose completion was lost takes none of later requests.
    fn take(&mut self, key: &Key) -> Option<Event> {
        let (&latest, _) = self.requests.range((*key, 0)..=(*key, u64::MAX)).next_back()?;
        self.requests.remove(&latest)
    }

    /// The oldest request, if it has been open for too long.
    fn take_expired(&mut self) -> Option<Event> {
        while let Some(&(number, key)) = self.order.front()
            && number + OPEN_MAX < self.added
        {
            self.order.pop_front();
            if let Some(expired) = self.requests.remove(&(key, number)) {
                return Some(expired);
            }
        }
        None
    }

    fn take_all(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.order.clear();
        std::mem::take(&mut self.requests).into_values()
    }
}

impl Matcher {
    fn add(&mut self, step: StepKind, event: Event, state: &mut State) {
        let key = (event.device, event.action.index(), event.offset);
        match step {
            StepKind::Queued => {
                self.queued.add(key, event);
                if let Some(expired) = self.queued.take_expired() {
                    self.close_queued(expired, state);
                }
            }
            StepKind::Issued => {
                self.drivers.insert(event.device);
                let process = self.take_queued(key, event.length).unwrap_or(event.process);
                self.issued.add(key, Event { process, ..event });
                if let Some(expired) = self.issued.take_expired() {
                    self.close_issued(expired, state);
                }
            }
            StepKind::Requeued => {
                if let Some(requeued) = self.issued.take(&key) {
                    self.queued.add(key, requeued);
                }
            }
            StepKind::Completed => match self.issued.take(&key).or_else(|| self.queued.take(&key)) {
                Some(open) => {
                    let latency_ns = Some(event.issue_ns.saturating_sub(open.issue_ns));
                    self.done.push_back(Event { latency_ns, ..open });
                }
                None => state.account.completions_without_issue += 1,
            },
        }
    }

    /// Removes what was queued in the range of a request; gives the process of the first.
    fn take_queued(&mut self, (device, action, offset): Key, length: u64) -> Option<u32> {
        let end = offset.saturating_add(length.max(1));
        let queued = &mut self.queued.requests;
        let range = ((device, action, offset), 0)..((device, action, end), 0);
        let found: Vec<(Key, u64)> = queued.range(range).map(|(&key, _)| key).collect();
        let events: Vec<Event> = found.iter().filter_map(|key| queued.remove(key)).collect();
        events.first().map(|event| event.process)
    }

    fn close_issued(&mut self, event: Event, state: &mut State) {
        state.account.issues_without_completion += 1;
        self.done.push_back(event);
    }

    /// Queued and neither issued nor completed: a request only where the driver's steps are not traced.
    fn close_queued(&mut self, event: Event, state: &mut State) {
        if !self.drivers.contains(&event.device) {
            self.close_issued(event, state);
        }
    }

    /// Closes what is open at the end of the trace; true if there was any.
    fn finish(&mut self, state: &mut State) -> bool {
        for event in self.issued.take_all() {
            self.close_issued(event, state);
        }
        for event in self.queued.take_all() {
            self.close_queued(event, state);
        }
        !self.done.is_empty()
    }
}
