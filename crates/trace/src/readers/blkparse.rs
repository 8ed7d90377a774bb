//! Text of blkparse in its default format, `%D %2c %8s %5T.%9t %5p %2a %3d` and what follows per action (blkparse(1)).
//! The kernel's `blk` tracer with `blk_classic` prints the same without the sequence number.

use super::State;
use super::lines::Lines;
use super::requests::{Record, Records, Requests, SECTOR_BYTES, step_of_letter};
use crate::event::{Action, Flags};
use model::operation::Operation;
use model::profile::FlushCall;
use std::io::Read;

pub(super) struct Blkparse<'a>(Lines<'a>);

impl<'a> Blkparse<'a> {
    pub(super) fn new(input: Box<dyn Read + 'a>) -> Requests<Self> {
        Requests::new(Self(Lines::new(input)))
    }
}

/// True if a line is an action of a request.
pub(super) fn detect(line: &str) -> bool {
    head(line).is_some_and(|head| body(&head).is_ok())
}

impl Records for Blkparse<'_> {
    fn next(&mut self, state: &mut State) -> Option<Record> {
        loop {
            let line = self.0.next(state)?;
            // Other lines are the summary at the end, and messages.
            let Some(head) = head(&line) else { continue };
            let Some(step) = step_of_letter(head.action) else { continue };
            match body(&head) {
                Ok(Some(range)) => {
                    // Completions have an error in place of the name.
                    let source = (head.device, head.pid, process_name(head.rest));
                    let kind = kind(head.rwbs, range.1);
                    return Some(Record::new((step, head.time_ns), source, range, kind, &mut state.names));
                }
                Ok(None) => state.account.not_block_io += 1,
                Err(reason) => self.0.skip(state, reason),
            }
        }
    }
}

/// First fields of a line.
struct Head<'a> {
    device: &'a str,
    time_ns: u64,
    pid: u32,
    action: &'a str,
    rwbs: &'a str,
    rest: &'a str,
}

fn head(line: &str) -> Option<Head<'_>> {
    let mut rest = line;
    let mut next = || {
        let text = rest.trim_start();
        let end = text.find(' ').unwrap_or(text.len());
        let (field, after) = text.split_at(end);
        rest = after;
        (!field.is_empty()).then_some(field)
    };
    let device = next()?;
    let (major, minor) = device.split_once(',')?;
    (is_number(major) && is_number(minor)).then_some(())?;
    next().filter(|cpu| is_number(cpu))?;
    let mut stamp = next()?;
    if is_number(stamp) {
        stamp = next()?;
    }
    let (seconds, ns) = stamp.split_once('.').filter(|(_, ns)| ns.len() == 9)?;
    let time_ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok()?)?;
    let pid = next()?.parse().ok()?;
    let (action, rwbs) = (next()?, next()?);
    Some(Head { device, time_ns, pid, action, rwbs, rest: rest.trim_start() })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// First sector and bytes; `None` of a command that is no block I/O, which has a payload in place of them.
fn body(head: &Head<'_>) -> Result<Option<(u64, u64)>, String> {
    let mut fields = head.rest.split_ascii_whitespace();
    let first = fields.next().unwrap_or_default();
    let second = fields.next().unwrap_or_default();
    if first.starts_with('(') || second.starts_with('(') {
        return Ok(None);
    }
    if first.starts_with('[') && head.rwbs.starts_with('F') {
        return Ok(Some((0, 0)));
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("'{}' has no sector and length", head.rest));
    let sector = number(first)?;
    match second {
        "+" => {
            let length = number(fields.next().unwrap_or_default())?.checked_mul(SECTOR_BYTES);
            Ok(Some((sector, length.ok_or("the length is out of range")?)))
        }
        // Completions and issues of flushes have a sector alone.
        "" => Ok(Some((sector, 0))),
        _ if second.starts_with('[') => Ok(Some((sector, 0))),
        _ => Err(format!("'{}' has no sector and length", head.rest)),
    }
}

/// The name in brackets.
fn process_name(rest: &str) -> &str {
    let name = rest.split_once('[').and_then(|(_, name)| name.rsplit_once(']')).map_or("", |(name, _)| name);
    if name == "(null)" { "" } else { name }
}

/// Action and flags of the letters in the column RWBS.
pub(super) fn kind(rwbs: &str, length: u64) -> (Action, Flags) {
    let preflush = rwbs.starts_with('F');
    let letters = rwbs.trim_start_matches('F');
    let action = match letters.chars().next() {
        _ if preflush && length == 0 => Action::Flush(FlushCall::Fsync),
        Some('D') => Action::Operation(Operation::Discard),
        Some('W') => Action::Operation(Operation::Write),
        _ => Action::Operation(Operation::Read),
    };
    let has = |letter| letters.get(1..).is_some_and(|rest| rest.contains(letter));
    let flags = Flags::default()
        .with(Flags::PREFLUSH, preflush && length > 0)
        .with(Flags::FUA, has('F'))
        .with(Flags::SYNC, has('S'))
        .with(Flags::READAHEAD, has('A'))
        .with(Flags::METADATA, has('M'));
    (action, flags)
}
