//! CSV of the SNIA repository in the form of MSR Cambridge (Narayanan et al., "Write Off-Loading", FAST 2008):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. Times are in units of 100 ns, the first since 1601.

use super::lines::Lines;
use super::{Source, State};
use crate::event::{Action, Event, Flags};
use model::operation::Operation;
use std::io::Read;

/// Columns of a line.
const COLUMNS: usize = 7;

/// From 1601 to 1970, in units of 100 ns.
const UNIX_EPOCH_FILETIME: u64 = 116_444_736_000_000_000;

/// True if the first line is that of such a trace, with or without names of columns.
pub(super) fn detect(first_line: &str) -> bool {
    begins_with(first_line, "timestamp,hostname,disknumber") || parse(first_line).is_ok()
}

/// True if a line begins with `names`, in capital or small letters.
fn begins_with(line: &str, names: &str) -> bool {
    line.as_bytes().get(..names.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(names.as_bytes()))
}

pub(super) struct Csv<'a>(Lines<'a>);

impl<'a> Csv<'a> {
    pub(super) fn new(input: Box<dyn Read + 'a>) -> Self {
        Self(Lines::new(input))
    }
}

impl Source for Csv<'_> {
    fn next(&mut self, state: &mut State) -> Option<Event> {
        loop {
            let line = self.0.next(state)?;
            if line.is_empty() || begins_with(&line, "timestamp,") {
                continue;
            }
            match parse(&line) {
                Ok(row) => {
                    state.unix_minus_stamp_ns = Some(0);
                    let device = state.names.intern_device(&row.device);
                    let process = state.names.intern_process(0, "");
                    let Row { issue_ns, latency_ns, offset, length, operation, .. } = row;
                    let (latency_ns, action) = (Some(latency_ns), Action::Operation(operation));
                    return Some(Event {
                        issue_ns,
                        latency_ns,
                        device,
                        process,
                        offset,
                        length,
                        action,
                        flags: Flags::default(),
                    });
                }
                Err(reason) => self.0.skip(state, reason),
            }
        }
    }
}

struct Row {
    /// Since 1970.
    issue_ns: u64,
    latency_ns: u64,
    device: String,
    offset: u64,
    length: u64,
    operation: Operation,
}

fn parse(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != COLUMNS {
        return Err(format!("the line has {} columns, not {COLUMNS}", fields.len()));
    }
    let number = |index: usize, name: &str| {
        fields[index].parse::<u64>().map_err(|_| format!("{name} '{}' is not a number", fields[index]))
    };
    let operation = match fields[3] {
        kind if kind.eq_ignore_ascii_case("read") => Operation::Read,
        kind if kind.eq_ignore_ascii_case("write") => Operation::Write,
        _ => return Err(format!("unknown Type '{}' (expected: Read or Write)", fields[3])),
    };
    let issue = number(0, "Timestamp")?.checked_sub(UNIX_EPOCH_FILETIME);
    let issue_ns = issue.and_then(|issue| issue.checked_mul(100)).ok_or("Timestamp is out of range")?;
    let latency_ns = number(6, "ResponseTime")?.saturating_mul(100).min(u64::MAX - 1);
    number(2, "DiskNumber")?;
    let device = format!("{}.{}", fields[1], fields[2]);
    Ok(Row { issue_ns, latency_ns, device, offset: number(4, "Offset")?, length: number(5, "Size")?, operation })
}
