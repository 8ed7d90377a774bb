//! Requests of a trace on their way from the thread that reads it to those that issue them.

use crate::ring::Ring;
use model::action::Action;

/// A request to be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When, in nanoseconds after the start of the load; 0 in a closed replay.
    pub due_ns: u64,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes; 0 of flushes.
    pub length: u32,
    /// Its effect.
    pub action: Action,
    /// It is a write that is durable when it completes.
    pub is_durable: bool,
}

/// Requests that a thread's queue holds at most: at 100,000 per second, those of 160 ms.
const CAPACITY: usize = 1 << 14;

/// Memory of a thread's queue in bytes.
pub const FEED_BYTES: u64 = (CAPACITY * 3 * 8) as u64;

const ACTION_BIT: u32 = 32;
const DURABLE: u64 = 1 << 40;

/// The requests of one thread: one thread puts them, another takes them.
#[derive(Debug)]
pub struct Feed(Ring<3>);

impl Default for Feed {
    fn default() -> Self {
        Self(Ring::new(CAPACITY))
    }
}

impl Feed {
    /// Puts a request; false if the queue is full.
    pub fn put(&self, request: &Request) -> bool {
        let Request { due_ns, offset, length, action, is_durable } = *request;
        let durable = if is_durable { DURABLE } else { 0 };
        self.0.put([due_ns, offset, u64::from(length) | (action.index() as u64) << ACTION_BIT | durable])
    }

    /// Takes the next request.
    #[inline]
    pub fn take(&self) -> Option<Request> {
        let [due_ns, offset, rest] = self.0.take()?;
        let action = Action::ALL[(rest >> ACTION_BIT) as usize & 0xF];
        Some(Request { due_ns, offset, length: rest as u32, action, is_durable: rest & DURABLE != 0 })
    }

    /// The trace has no more requests.
    pub fn finish(&self) {
        self.0.finish();
    }

    /// True once the trace has no more; some may be left here.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The thread takes no more requests.
    pub fn close(&self) {
        self.0.close();
    }

    /// True once the thread takes no more.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::operation::Operation;
    use model::profile::FlushCall;

    #[test]
    fn requests_come_back_as_they_were() {
        let feed = Feed::default();
        let requests = Action::ALL.map(|action| Request {
            due_ns: u64::MAX,
            offset: 1 << 62,
            length: u32::MAX,
            action,
            is_durable: action == Action::Operation(Operation::Write),
        });
        for request in &requests {
            assert!(feed.put(request));
        }
        assert_eq!(std::array::from_fn(|_| feed.take()), requests.map(Some));
        assert_eq!(feed.take(), None);
        let flush = Action::Flush(FlushCall::Fdatasync);
        let request = Request { due_ns: 0, offset: 0, length: 0, action: flush, is_durable: false };
        assert_eq!((0..=CAPACITY).take_while(|_| feed.put(&request)).count(), CAPACITY);
    }
}
