//! Traces written and read again: whole, cut at each byte, and with changed bytes.

use proptest::prelude::*;
use std::io::Cursor;
use trace::account::Place;
use trace::event::{Action, Device, Event, Flags, Names};
use trace::format::{FormatError, Header, Reader, Writer, read_index};

fn header() -> Header {
    Header {
        begin_unix_ns: Some(1_700_000_000_123_456_789),
        program: "diskspd 0.2.0".into(),
        devices: vec![Device { name: "8,0".into(), size_bytes: Some(1 << 40) }],
    }
}

fn names() -> Names {
    let mut names = Names::default();
    names.set_device(0, Device { name: "8,0".into(), size_bytes: Some(1 << 40) });
    names.intern_device("8,16");
    names.intern_process(0, "");
    names.intern_process(4711, "postgres");
    names
}

fn write(events: &[Event]) -> Vec<u8> {
    let names = names();
    let mut writer = Writer::new(Vec::new(), &header()).expect("memory");
    for event in events {
        writer.push(event, &names).expect("valid and in order");
    }
    writer.finish(&names).expect("memory")
}

prop_compose! {
    fn any_event()(
        gap in prop_oneof![0_u64..5000, any::<u32>().prop_map(u64::from)],
        latency_ns in prop::option::of(0_u64..u64::MAX),
        device in 0_u32..2,
        process in 0_u32..2,
        offset in prop_oneof![(0_u64..1 << 20).prop_map(|at| at * 4096), any::<u64>()],
        length in prop_oneof![Just(4096_u64), any::<u64>()],
        action in prop::sample::select(Action::ALL.to_vec()),
        flags in (0_u8..32).prop_map(Flags::from_bits),
    ) -> (u64, Event) {
        (gap, Event { issue_ns: 0, latency_ns, device, process, offset, length, action, flags })
    }
}

fn any_events(most: usize) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(any_event(), 0..most).prop_map(|events| {
        let mut now_ns = 0;
        let issue = |(gap, event)| {
            now_ns += gap;
            Event { issue_ns: now_ns, ..event }
        };
        events.into_iter().map(issue).collect()
    })
}

proptest! {
    #[test]
    fn requests_come_back(events in any_events(300)) {
        let bytes = write(&events);
        let mut reader = Reader::new(&bytes[..]).expect("a header");
        prop_assert_eq!(reader.header(), &header());
        prop_assert_eq!(&reader.by_ref().collect::<Vec<_>>(), &events);
        prop_assert_eq!(reader.loss(), None);
        let (index, indexed) = read_index(&mut Cursor::new(&bytes)).expect("an index");
        let names = names();
        prop_assert_eq!((indexed.devices(), indexed.processes()), (names.devices(), names.processes()));
        prop_assert_eq!(index.blocks.iter().map(|block| block.events as usize).sum::<usize>(), events.len());
        prop_assert_eq!(index.last_ns(), events.last().map_or(0, |event| event.issue_ns));
    }

    #[test]
    fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..100) {
        let valid = write(&[]);
        bytes.splice(0..0, valid[..at.min(valid.len())].iter().copied());
        if let Ok(reader) = Reader::new(&bytes[..]) {
            reader.count();
        }
        let _ = read_index(&mut Cursor::new(&bytes));
    }

    #[test]
    fn a_changed_byte_is_noticed(events in any_events(40), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut bytes = write(&events);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        match Reader::new(&bytes[..]) {
            Ok(mut reader) => {
                let read: Vec<_> = reader.by_ref().collect();
                prop_assert!(events.starts_with(&read));
                let loss = reader.loss().expect("the change is a loss");
                let Place::Byte(place) = loss.place else { panic!("a binary trace has no lines") };
                prop_assert!(place <= at as u64);
                prop_assert_eq!(place + loss.bytes, bytes.len() as u64);
            }
            Err(FormatError::Magic) => prop_assert!(at < 8),
            Err(FormatError::Version(_)) => prop_assert!((8..10).contains(&at)),
            Err(_) => {}
        }
    }
}

/// Requests of more than one block, at regular times.
fn several_blocks() -> Vec<Event> {
    let event = |number: u64| Event {
        issue_ns: number * 1000,
        latency_ns: Some(50_000 + number % 7),
        device: (number % 2) as u32,
        process: 1,
        offset: number * 8192 % (1 << 30),
        length: 4096,
        action: Action::ALL[(number % 6) as usize],
        flags: Flags::SYNC,
    };
    (0..9000).map(event).collect()
}

#[test]
fn a_trace_that_is_cut_anywhere_is_used_up_to_the_cut() {
    let events: Vec<_> = several_blocks().into_iter().step_by(30).collect();
    let bytes = write(&events);
    for length in 0..bytes.len() {
        let Ok(mut reader) = Reader::new(&bytes[..length]) else { continue };
        let read: Vec<_> = reader.by_ref().collect();
        assert!(events.starts_with(&read), "cut at {length}");
        let loss = reader.loss().unwrap_or_else(|| panic!("no loss, cut at {length}"));
        let Place::Byte(place) = loss.place else { panic!("a binary trace has no lines") };
        assert_eq!(place + loss.bytes, length as u64);
    }
}

#[test]
fn blocks_before_the_damage_are_used_and_the_loss_is_exact() {
    let events = several_blocks();
    let mut bytes = write(&events);
    let (index, indexed) = read_index(&mut Cursor::new(&bytes)).expect("an index");
    assert_eq!(index.blocks.iter().map(|block| block.events).collect::<Vec<_>>(), [4096, 4096, 808]);
    assert_eq!(indexed.processes(), names().processes());
    for (block, events) in index.blocks.iter().zip(events.chunks(4096)) {
        assert!(bytes[block.place as usize..].starts_with(b"EVTS"));
        assert_eq!((block.first_ns, block.last_ns), (events[0].issue_ns, events[events.len() - 1].issue_ns));
    }
    let second = index.blocks[1].place as usize;
    bytes[second + 100] ^= 0x10;
    let mut reader = Reader::new(&bytes[..]).expect("a header");
    assert_eq!(reader.by_ref().collect::<Vec<_>>(), events[..4096]);
    let loss = reader.loss().expect("a loss");
    assert_eq!((loss.place, loss.bytes), (Place::Byte(second as u64), (bytes.len() - second) as u64));
    assert!(loss.reason.contains("checksum"), "{}", loss.reason);
}

#[test]
fn events_that_were_lost_while_recording_are_counted() {
    for missed_events in [0, 7] {
        let mut writer = Writer::new(Vec::new(), &header()).expect("memory");
        writer.push(&several_blocks()[0], &names()).expect("valid");
        writer.set_missed_events(missed_events);
        let bytes = writer.finish(&names()).expect("memory");
        let mut reader = Reader::new(&bytes[..]).expect("a header");
        assert_eq!((reader.by_ref().count(), reader.loss(), reader.missed_events()), (1, None, missed_events));
    }
}

#[test]
fn a_request_takes_few_bytes() {
    let events = several_blocks();
    let bytes = write(&events);
    assert!(bytes.len() < 10 * events.len(), "{} bytes", bytes.len());
}

#[test]
fn requests_that_cannot_be_written_are_refused() {
    let events = several_blocks();
    let names = names();
    let mut writer = Writer::new(Vec::new(), &header()).expect("memory");
    writer.push(&events[1], &names).expect("the first");
    for wrong in [
        events[0],
        Event { device: 2, ..events[1] },
        Event { process: 2, ..events[1] },
        Event { latency_ns: Some(u64::MAX), ..events[1] },
    ] {
        assert_eq!(writer.push(&wrong, &names).expect_err("refused").kind(), std::io::ErrorKind::InvalidInput);
    }
}
