//! fio's I/O logs (`write_iolog`), versions 2 and 3 (fio's HOWTO, "Trace file format"; stamps of version 3 are in
//! microseconds). They have no completions.

use super::lines::Lines;
use super::{Source, State};
use crate::event::{Action, Event, Flags};
use model::operation::Operation;
use model::profile::FlushCall;
use std::io::Read;

/// Shorter waits do not count (HOWTO).
const WAIT_US_MIN: u64 = 100;

const NS_PER_US: u64 = 1000;

/// The version that the first line declares.
pub(super) fn detect(first_line: &str) -> Option<u32> {
    first_line.strip_prefix("fio version ")?.strip_suffix(" iolog")?.parse().ok()
}

pub(super) struct IoLog<'a> {
    lines: Lines<'a>,
    has_stamps: bool,
    /// Sum of the waits of version 2.
    waited_us: u64,
}

impl<'a> IoLog<'a> {
    /// A log of this version, which its first line declares.
    pub(super) fn new(input: Box<dyn Read + 'a>, version: u32, state: &mut State) -> Self {
        let mut lines = Lines::new(input);
        lines.next(state);
        Self { lines, has_stamps: version >= 3, waited_us: 0 }
    }

    /// A request; `None` if the line has none.
    fn parse(&mut self, line: &str, state: &mut State) -> Result<Option<Event>, String> {
        let mut fields = line.split_ascii_whitespace();
        let mut next = |name: &str| fields.next().ok_or_else(|| format!("the line has no {name}"));
        let stamp_us = if self.has_stamps { Some(number(next("timestamp")?)?) } else { None };
        let (file, action) = (next("file name")?, next("action")?);
        if ["add", "open", "close"].contains(&action) {
            return Ok(None);
        }
        let (offset, length) = (number(next("offset")?)?, number(next("length")?)?);
        let action = match action {
            "wait" if !self.has_stamps => {
                let us = if offset < WAIT_US_MIN { 0 } else { offset };
                self.waited_us = self.waited_us.saturating_add(us);
                return Ok(None);
            }
            "read" => Action::Operation(Operation::Read),
            "write" => Action::Operation(Operation::Write),
            "trim" => Action::Operation(Operation::Discard),
            "sync" => Action::Flush(FlushCall::Fsync),
            "datasync" => Action::Flush(FlushCall::Fdatasync),
            _ => return Err(format!("unknown action '{action}'")),
        };
        let (offset, length) = if action.operation().is_some() { (offset, length) } else { (0, 0) };
        Ok(Some(Event {
            issue_ns: stamp_us.unwrap_or(self.waited_us).saturating_mul(NS_PER_US),
            latency_ns: None,
            device: state.names.intern_device(file),
            process: state.names.intern_process(0, ""),
            offset,
            length,
            action,
            flags: Flags::default(),
        }))
    }
}

impl Source for IoLog<'_> {
    fn next(&mut self, state: &mut State) -> Option<Event> {
        loop {
            let line = self.lines.next(state)?;
            if line.is_empty() {
                continue;
            }
            match self.parse(&line, state) {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(reason) => self.lines.skip(state, reason),
            }
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}
