//! Lines of a trace in text.

use super::State;
use crate::account::{Loss, Place};
use std::io::{BufRead, BufReader, Read};

/// Bytes of a line at most.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Lines of an input, with their numbers.
pub(super) struct Lines<'a> {
    input: BufReader<Box<dyn Read + 'a>>,
    bytes: Vec<u8>,
    /// Of the last line, from 1.
    number: u64,
    is_finished: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: Box<dyn Read + 'a>) -> Self {
        Self { input: BufReader::new(input), bytes: Vec::new(), number: 0, is_finished: false }
    }

    /// The next line without its end; `None` at the end of the input, where reading fails, or at a line that is too long.
    pub(super) fn next(&mut self, state: &mut State) -> Option<String> {
        if self.is_finished {
            return None;
        }
        self.bytes.clear();
        self.number += 1;
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.bytes);
        let reason = match read {
            Ok(0) => None,
            Ok(read) if read as u64 == LINE_BYTES_MAX => Some("the line is longer than 64 KiB".to_owned()),
            Ok(_) => return Some(String::from_utf8_lossy(&self.bytes).trim_end().to_owned()),
            Err(error) => Some(format!("reading failed: {error}")),
        };
        self.is_finished = true;
        if let Some(reason) = reason {
            let rest = std::io::copy(&mut self.input, &mut std::io::sink()).unwrap_or_default();
            let bytes = self.bytes.len() as u64 + rest;
            state.account.add_loss(Loss { input: 0, place: Place::Line(self.number), bytes, reason });
        }
        None
    }

    /// The last line cannot be used.
    pub(super) fn skip(&self, state: &mut State, reason: impl Into<String>) {
        let (place, bytes) = (Place::Line(self.number), self.bytes.len() as u64);
        state.account.add_loss(Loss { input: 0, place, bytes, reason: reason.into() });
    }
}
