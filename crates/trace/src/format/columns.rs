//! The content of a block: new names, then the requests in columns.

use super::varint::{Cursor, put_text, unzigzag, zigzag};
use crate::event::{Action, Device, Event, Flags, Names, Process};
use model::varint::put;

/// All values of a column are the one that follows.
const CONSTANT: u8 = 0;
/// The values follow.
const EACH: u8 = 1;
/// The values follow, in units of [`UNIT`].
const EACH_IN_UNITS: u8 = 2;
/// Offsets and lengths are mostly multiples of it.
const UNIT: u64 = 512;

/// Columns of a request, in their order: issue, latency, device, process, offset, length, action and flags.
const COLUMNS: usize = 7;

/// Appends the requests, which are in order of their issue.
pub(super) fn put_events(out: &mut Vec<u8>, events: &[Event]) {
    let mut columns: [Vec<u64>; COLUMNS] = std::array::from_fn(|_| Vec::with_capacity(events.len()));
    let (mut issue_ns, mut end) = (events.first().map_or(0, |event| event.issue_ns), 0_u64);
    for event in events {
        let values = [
            event.issue_ns - issue_ns,
            // `Writer::push` refuses the latency for which there is no number.
            event.latency_ns.map_or(0, |latency_ns| latency_ns + 1),
            u64::from(event.device),
            u64::from(event.process),
            zigzag(event.offset.wrapping_sub(end).cast_signed()),
            event.length,
            (event.action.index() as u64) << 8 | u64::from(event.flags.bits()),
        ];
        for (column, value) in columns.iter_mut().zip(values) {
            column.push(value);
        }
        (issue_ns, end) = (event.issue_ns, event.offset.wrapping_add(event.length));
    }
    for column in &columns {
        put_column(out, column);
    }
}

fn put_column(out: &mut Vec<u8>, values: &[u64]) {
    let first = values.first().copied().unwrap_or_default();
    if values.iter().all(|&value| value == first) {
        out.push(CONSTANT);
        put(out, first);
        return;
    }
    let unit = if values.iter().all(|value| value.is_multiple_of(UNIT)) { UNIT } else { 1 };
    out.push(if unit == UNIT { EACH_IN_UNITS } else { EACH });
    for value in values {
        put(out, value / unit);
    }
}

/// The requests of a block; `None` if it is not valid.
pub(super) fn take_events(cursor: &mut Cursor<'_>, count: usize, first_ns: u64, names: &Names) -> Option<Vec<Event>> {
    let mut columns: [Vec<u64>; COLUMNS] = Default::default();
    for column in &mut columns {
        *column = take_column(cursor, count)?;
    }
    let [issues, latencies, devices, processes, offsets, lengths, actions] = &columns;
    let (mut issue_ns, mut end) = (first_ns, 0_u64);
    let mut events = Vec::with_capacity(count);
    for at in 0..count {
        issue_ns = issue_ns.checked_add(issues[at])?;
        let event = Event {
            issue_ns,
            latency_ns: latencies[at].checked_sub(1),
            device: u32::try_from(devices[at]).ok()?,
            process: u32::try_from(processes[at]).ok()?,
            offset: end.wrapping_add_signed(unzigzag(offsets[at])),
            length: lengths[at],
            action: *Action::ALL.get(usize::try_from(actions[at] >> 8).ok()?)?,
            flags: Flags::from_bits(actions[at] as u8),
        };
        if event.device as usize >= names.devices().len() || event.process as usize >= names.processes().len() {
            return None;
        }
        end = event.offset.wrapping_add(event.length);
        events.push(event);
    }
    cursor.0.is_empty().then_some(events)
}

fn take_column(cursor: &mut Cursor<'_>, count: usize) -> Option<Vec<u64>> {
    let unit = match cursor.byte()? {
        CONSTANT => return Some(vec![cursor.number()?; count]),
        EACH => 1,
        EACH_IN_UNITS => UNIT,
        _ => return None,
    };
    (0..count).map(|_| cursor.number()?.checked_mul(unit)).collect()
}

/// Appends the names that differ from those in `written`, and enters them there.
pub(super) fn put_names(out: &mut Vec<u8>, names: &Names, written: &mut Names) {
    let devices = changed(names.devices(), written.devices());
    put(out, devices.len() as u64);
    for index in devices {
        let device = &names.devices()[index];
        put(out, index as u64);
        put_device(out, device);
        written.set_device(index, device.clone());
    }
    let processes = changed(names.processes(), written.processes());
    put(out, processes.len() as u64);
    for index in processes {
        let process = &names.processes()[index];
        put(out, index as u64);
        put(out, u64::from(process.pid));
        put_text(out, &process.name);
        written.set_process(index, process.clone());
    }
}

fn changed<T: PartialEq>(now: &[T], before: &[T]) -> Vec<usize> {
    (0..now.len()).filter(|&index| before.get(index) != Some(&now[index])).collect()
}

/// Enters the names; `None` if they are not valid.
pub(super) fn take_names(cursor: &mut Cursor<'_>, names: &mut Names) -> Option<()> {
    for _ in 0..cursor.number()? {
        let index = usize::try_from(cursor.number()?).ok()?;
        let device = take_device(cursor)?;
        names.set_device(index, device).then_some(())?;
    }
    for _ in 0..cursor.number()? {
        let index = usize::try_from(cursor.number()?).ok()?;
        let pid = u32::try_from(cursor.number()?).ok()?;
        let name = cursor.text()?;
        names.set_process(index, Process { pid, name }).then_some(())?;
    }
    Some(())
}

/// Appends a name, and the size plus one, or 0.
pub(super) fn put_device(out: &mut Vec<u8>, device: &Device) {
    put_text(out, &device.name);
    put(out, device.size_bytes.map_or(0, |size| size.saturating_add(1)));
}

/// A device; `None` if it is not valid.
pub(super) fn take_device(cursor: &mut Cursor<'_>) -> Option<Device> {
    Some(Device { name: cursor.text()?, size_bytes: cursor.number()?.checked_sub(1) })
}
