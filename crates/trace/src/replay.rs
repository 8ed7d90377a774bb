//! From the requests of a trace to those that a replay issues on its target.
//!
//! Several devices of a trace follow each other, as one address space: each begins where the one before it ends. Offsets
//! beyond the end of the target are folded, or all are scaled to its size; requests are extended to the alignment that
//! the target needs.

use crate::event::{Event, Flags};
use crate::summary::Summary;
use hot::replay::Request;
use model::action::Action;
use model::operation::Operation;
use model::profile::FlushCall;
use model::replay::{REQUEST_BYTES_MAX, RecordedLatency, RecordedLoad, RecordedRequests, Replay, ReplayChanges};

/// Devices of a trace begin at multiples of this.
const DEVICE_ALIGNMENT_BYTES: u64 = 1 << 20;

/// The target of a replay, and the choices of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// First byte of the target that is used.
    pub base_bytes: u64,
    /// Bytes of it that are used.
    pub size_bytes: u64,
    /// Offsets and lengths must be multiples of this; at least 1.
    pub alignment_bytes: u64,
    /// Most bytes of a read or write, a multiple of the alignment.
    pub piece_bytes: u64,
    /// Offsets are scaled to the size of the target.
    pub scale_offsets: bool,
    /// Discards are issued.
    pub discards: bool,
    /// Requests have no times.
    pub closed: bool,
}

/// Turns the requests of a trace into those of its replay, and counts the changes.
#[derive(Clone, Debug)]
pub struct Mapper {
    rules: Rules,
    /// Begin of each device of the trace in its address space.
    begins: Vec<u64>,
    /// Length of the address space.
    end_bytes: u64,
    /// Events so far.
    events: u64,
    changes: ReplayChanges,
}

impl Mapper {
    /// For the trace of a replay.
    pub fn new(rules: Rules, replay: &Replay) -> Self {
        let (begins, end_bytes) = (replay.device_begins_bytes.clone(), replay.recorded.end_bytes);
        Self { rules, begins, end_bytes, events: 0, changes: ReplayChanges::default() }
    }

    /// Gives the requests of an event to `issue`: none, one, or several pieces.
    pub fn map(&mut self, event: &Event, mut issue: impl FnMut(Request)) {
        self.events += 1;
        let mut made = 0;
        self.requests(event, |request| {
            made += 1;
            issue(request);
        });
        self.changes.made += made;
    }

    fn requests(&mut self, event: &Event, mut issue: impl FnMut(Request)) {
        let due_ns = if self.rules.closed { 0 } else { event.issue_ns };
        let flush = |call| Request { due_ns, offset: 0, length: 0, action: Action::Flush(call), is_durable: false };
        let operation = match event.action {
            Action::Flush(call) => return issue(flush(call)),
            Action::Operation(operation) => operation,
        };
        if operation == Operation::Discard && !self.rules.discards {
            self.changes.discards_left_out += 1;
            return;
        }
        if event.length == 0 {
            self.changes.empty_left_out += 1;
            return;
        }
        let is_write = operation == Operation::Write;
        if is_write && event.flags.contains(Flags::PREFLUSH) {
            self.changes.flushes_before_writes += 1;
            issue(flush(FlushCall::Fsync));
        }
        let is_durable = is_write && event.flags.contains(Flags::FUA);
        let (offset, length) = self.place(event);
        let piece = if operation.transfers_data() { self.rules.piece_bytes } else { self.longest_without_data() };
        self.changes.split += u64::from(length > piece);
        let mut at = 0;
        while at < length {
            let length = piece.min(length - at) as u32;
            issue(Request { due_ns, offset: offset + at, length, action: event.action, is_durable });
            at += u64::from(length);
        }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The changes so far.
    pub fn changes(&self) -> &ReplayChanges {
        &self.changes
    }

    fn longest_without_data(&self) -> u64 {
        let alignment = self.rules.alignment_bytes;
        (REQUEST_BYTES_MAX - REQUEST_BYTES_MAX % alignment).max(alignment)
    }

    /// Offset and length of an event on the target.
    fn place(&mut self, event: &Event) -> (u64, u64) {
        let Rules { base_bytes, size_bytes, alignment_bytes: alignment, scale_offsets, .. } = self.rules;
        let begin = self.begins.get(event.device as usize).copied().unwrap_or(0);
        let position = begin.saturating_add(event.offset);
        let scaled = if scale_offsets && self.end_bytes > 0 {
            let scaled = u128::from(position) * u128::from(size_bytes) / u128::from(self.end_bytes);
            self.changes.scaled += u64::from(scaled != u128::from(position));
            // Positions are below the end of the trace.
            let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
            scaled - scaled % alignment.max(position & position.wrapping_neg()).min(alignment.max(4096))
        } else {
            position
        };
        let first = scaled - scaled % alignment;
        // Whole units of alignment that hold it; the target is a multiple of none.
        let room = size_bytes - size_bytes % alignment;
        let whole = event.length.saturating_add(scaled - first).div_ceil(alignment).saturating_mul(alignment);
        let length = whole.min(room);
        self.changes.aligned += u64::from(first != scaled || whole != event.length);
        let first = if scale_offsets { first.min(room - length) } else { first };
        if first.saturating_add(length) <= room && length == whole {
            return (base_bytes + first, length);
        }
        self.changes.folded += 1;
        let positions = (room / length.max(1)).max(1);
        (base_bytes + first / length.max(1) % positions * length, length)
    }
}

/// Begins of the devices, and the end of the last one.
fn address_space(summary: &Summary) -> (Vec<u64>, u64) {
    let mut end = 0_u64;
    let begins = summary.devices.iter().map(|device| {
        let begin = end.next_multiple_of(DEVICE_ALIGNMENT_BYTES);
        // A device without reads and writes has no length.
        end = if device.end_byte > 0 { begin.saturating_add(device.end_byte) } else { end };
        begin
    });
    (begins.collect(), end)
}

/// Begins of the devices of a trace, and the figures that its replay needs.
pub fn survey(summary: &Summary, span_ns: u64) -> (Vec<u64>, RecordedLoad) {
    let (begins, end_bytes) = address_space(summary);
    let requests = |actions: &[Action]| {
        let figures = actions.iter().map(|action| &summary.actions[action.index()]);
        let mut found = RecordedRequests::default();
        for figures in figures {
            found.count += figures.volume.requests;
            found.bytes = found.bytes.saturating_add(figures.volume.bytes);
            let latency = figures.latencies.map(|of| RecordedLatency {
                mean_ns: of.mean_ns.round() as u64,
                p50_ns: of.p50_ns,
                p99_ns: of.p99_ns,
                p999_ns: of.p999_ns,
                max_ns: of.max_ns,
            });
            found.latency = found.latency.or(latency);
        }
        found
    };
    let select = |operation| requests(&[Action::Operation(operation)]);
    let sizes = Operation::TRANSFERS.map(|operation| summary.sizes[operation].counts.keys().next_back().copied());
    let load = RecordedLoad {
        span_ns,
        end_bytes,
        largest_bytes: sizes.into_iter().flatten().max().unwrap_or(0),
        depth_max: summary.depth.map(|depth| depth.max),
        read: select(Operation::Read),
        write: select(Operation::Write),
        discard: select(Operation::Discard),
        write_zeroes: select(Operation::WriteZeroes),
        flush: requests(&[Action::Flush(FlushCall::Fdatasync), Action::Flush(FlushCall::Fsync)]),
    };
    (begins, load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summarizer;
    use proptest::prelude::*;

    fn event(offset: u64, length: u64, operation: Operation) -> Event {
        Event {
            issue_ns: 7,
            latency_ns: None,
            device: 0,
            process: 0,
            offset,
            length,
            action: Action::Operation(operation),
            flags: Flags::default(),
        }
    }

    const RULES: Rules = Rules {
        base_bytes: 0,
        size_bytes: 1 << 20,
        alignment_bytes: 512,
        piece_bytes: 1 << 16,
        scale_offsets: false,
        discards: true,
        closed: false,
    };

    fn mapper(rules: Rules, events: &[Event]) -> Mapper {
        let mut summarizer = Summarizer::default();
        for event in events {
            summarizer.add(event);
        }
        let (device_begins_bytes, recorded) = survey(&summarizer.finish(), 0);
        Mapper::new(rules, &Replay { device_begins_bytes, recorded, ..Replay::default() })
    }

    fn mapped(mapper: &mut Mapper, event: &Event) -> Vec<(u64, u32)> {
        let mut requests = Vec::new();
        mapper.map(event, |request| requests.push((request.offset, request.length)));
        requests
    }

    #[test]
    fn requests_inside_the_target_stay_and_others_are_folded_to_multiples_of_their_size() {
        let events = [event(8192, 4096, Operation::Read), event((1 << 20) + 8192 + 512, 4096, Operation::Write)];
        let mut mapper = mapper(RULES, &events);
        assert_eq!(mapped(&mut mapper, &events[0]), [(8192, 4096)]);
        assert_eq!(mapper.changes(), &ReplayChanges { made: 1, ..ReplayChanges::default() });
        assert_eq!(mapped(&mut mapper, &events[1]), [(8192, 4096)]);
        assert_eq!(mapper.changes(), &ReplayChanges { made: 2, folded: 1, ..ReplayChanges::default() });
    }

    #[test]
    fn devices_follow_each_other_and_scaled_offsets_keep_their_proportion() {
        let second = Event { device: 1, ..event(0, 4096, Operation::Read) };
        let events = [event((1 << 20) - 4096, 4096, Operation::Read), second];
        let mut at_times = mapper(Rules { size_bytes: 1 << 30, ..RULES }, &events);
        assert_eq!(mapped(&mut at_times, &second), [(1 << 20, 4096)]);
        let far = event((1 << 40) - 4096, 4096, Operation::Read);
        let middle = event(1 << 39, 4096, Operation::Read);
        let mut scaled = mapper(Rules { scale_offsets: true, ..RULES }, &[far, middle]);
        assert_eq!(mapped(&mut scaled, &middle), [(1 << 19, 4096)]);
        assert_eq!((scaled.changes().scaled, scaled.changes().folded), (1, 0));
    }

    #[test]
    fn long_requests_are_split_discards_are_asked_for_and_flushes_stay() {
        let long = event(0, 100 << 10, Operation::Write);
        let discard = event(0, 4096, Operation::Discard);
        let mut mapper = mapper(Rules { discards: false, ..RULES }, &[long, discard]);
        assert_eq!(mapped(&mut mapper, &long), [(0, 64 << 10), (64 << 10, 36 << 10)]);
        assert_eq!(mapped(&mut mapper, &discard), []);
        let flags = Flags::PREFLUSH.with(Flags::FUA, true);
        let mut requests = Vec::new();
        mapper.map(&Event { flags, ..event(0, 512, Operation::Write) }, |request| requests.push(request));
        let [flush, write] = requests[..] else { panic!("{requests:?}") };
        assert_eq!((flush.action, write.is_durable), (Action::Flush(FlushCall::Fsync), true));
        let expected = ReplayChanges {
            made: 4,
            split: 1,
            discards_left_out: 1,
            flushes_before_writes: 1,
            ..ReplayChanges::default()
        };
        assert_eq!(mapper.changes(), &expected);
    }

    proptest! {
        #[test]
        fn every_request_is_inside_the_target_and_aligned(
            offset in 0_u64..1 << 50,
            length in 1_u64..1 << 32,
            base_blocks in 0_u64..9,
            size_bytes in 1_u64 << 16..1 << 40,
            alignment in 0_u32..13,
            scale_offsets: bool,
            discard: bool,
        ) {
            let alignment_bytes = 1 << alignment;
            let rules = Rules { base_bytes: base_blocks * 4096, size_bytes, alignment_bytes, scale_offsets, ..RULES };
            let event = event(offset, length, if discard { Operation::Discard } else { Operation::Read });
            let mut mapper = mapper(rules, &[event]);
            let mut all = 0;
            for (offset, length) in mapped(&mut mapper, &event) {
                let end = offset + u64::from(length);
                prop_assert!(offset >= rules.base_bytes && end <= rules.base_bytes + size_bytes);
                prop_assert!(offset.is_multiple_of(alignment_bytes) && u64::from(length).is_multiple_of(alignment_bytes));
                all += u64::from(length);
            }
            prop_assert!(all >= length.min(size_bytes - size_bytes % alignment_bytes));
        }
    }
}
