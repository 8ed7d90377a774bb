//! Traces of other tools: real samples, the same load in several forms, records from the specification, and damage.

use model::operation::Operation;
use model::profile::FlushCall;
use std::io::Read;
use trace::account::{Account, Place};
use trace::event::{Action, Event, Flags};
use trace::format::{Header, Writer};
use trace::readers::{OpenError, TraceKind, TraceReader};

const CPU_0: &[u8] = include_bytes!("samples/loop.blktrace.0");
const CPU_1: &[u8] = include_bytes!("samples/loop.blktrace.1");
const TEXT: &[u8] = include_bytes!("samples/loop.blkparse.txt");
const CLASSIC: &[u8] = include_bytes!("samples/loop.classic.txt");
const IOLOG_3: &[u8] = include_bytes!("samples/fio-3.33.v3.iolog");
const IOLOG_2: &[u8] = include_bytes!("samples/fio.v2.iolog");
const MSR: &[u8] = include_bytes!("samples/msr.csv");

const READ: Action = Action::Operation(Operation::Read);
const WRITE: Action = Action::Operation(Operation::Write);
const DISCARD: Action = Action::Operation(Operation::Discard);

struct Trace {
    kind: TraceKind,
    events: Vec<Event>,
    account: Account,
    devices: Vec<String>,
    processes: Vec<(u32, String)>,
    begin_unix_ns: Option<u64>,
}

fn open<'a>(inputs: &[&'a [u8]]) -> Result<TraceReader<'a>, OpenError> {
    TraceReader::new(inputs.iter().map(|input| Box::new(*input) as Box<dyn Read>).collect())
}

fn read(inputs: &[&[u8]]) -> Trace {
    let mut reader = open(inputs).expect("a known kind");
    let events: Vec<Event> = reader.by_ref().collect();
    assert!(events.is_sorted_by_key(|event| event.issue_ns));
    Trace {
        kind: reader.kind(),
        account: reader.account(),
        devices: reader.names().devices().iter().map(|device| device.name.clone()).collect(),
        processes: reader.names().processes().iter().map(|process| (process.pid, process.name.clone())).collect(),
        begin_unix_ns: reader.begin_unix_ns(),
        events,
    }
}

fn count_and_kib(events: &[Event], actions: &[Action]) -> (usize, u64) {
    let matching: Vec<_> = events.iter().filter(|event| actions.contains(&event.action)).collect();
    (matching.len(), matching.iter().map(|event| event.length).sum::<u64>() / 1024)
}

#[test]
fn binary_files_per_cpu_have_the_totals_of_blkparse() {
    let trace = read(&[CPU_0, CPU_1]);
    assert_eq!(trace.kind, TraceKind::Blktrace);
    // The end of loop.blkparse.txt; blkparse counts discards as writes.
    assert_eq!(count_and_kib(&trace.events, &[READ]), (26, 268));
    assert_eq!(count_and_kib(&trace.events, &[WRITE, DISCARD]), (59, 620));
    assert_eq!(count_and_kib(&trace.events, &[DISCARD]), (5, 320));
    assert!(trace.events.iter().all(|event| event.latency_ns.is_some()));
    assert_eq!((trace.account.events, trace.account.loss_count, trace.devices), (85, 0, vec!["7,0".to_owned()]));
    // A completion on the other CPU: 0.000034845 to 0.000112480 in loop.blkparse.txt.
    let first = trace.events[0];
    assert_eq!((first.issue_ns, first.offset, first.length, first.latency_ns), (0, 0, 4096, Some(112_480 - 34_845)));
    // Issued by a worker of the kernel with pid 24, queued by fio.
    let discard = trace.events.iter().find(|event| event.action == DISCARD).expect("a discard");
    assert_eq!(trace.processes[discard.process as usize].0, 11_326);
}

#[test]
fn text_of_blkparse_is_the_same_trace() {
    let (text, binary) = (read(&[TEXT]), read(&[CPU_0, CPU_1]));
    assert_eq!(text.kind, TraceKind::Blkparse);
    let comparable = |trace: &Trace| -> Vec<_> {
        let pid = |event: &Event| trace.processes[event.process as usize].0;
        trace.events.iter().map(|event| (pid(event), Event { process: 0, ..*event })).collect()
    };
    assert_eq!(comparable(&text), comparable(&binary));
    assert_eq!(text.account.loss_count, 0);
}

#[test]
fn text_of_the_kernels_tracer_has_names_of_processes() {
    let trace = read(&[CLASSIC]);
    assert_eq!(trace.kind, TraceKind::Blkparse);
    let process = |event: &Event| trace.processes[event.process as usize].1.as_str();
    assert!(trace.events.len() > 10 && trace.events.iter().all(|event| process(event) == "fio"));
    // The first request: queued by fio (pid 10042), a discard of 64 KiB.
    assert_eq!((trace.events[0].action, trace.events[0].offset, trace.events[0].length), (DISCARD, 6400 * 512, 65_536));
}

#[test]
fn logs_of_fio_have_their_stamps() {
    let trace = read(&[IOLOG_3]);
    assert_eq!(trace.kind, TraceKind::IoLog(3));
    let text = String::from_utf8_lossy(IOLOG_3);
    let count = |word: &str| text.lines().filter(|line| line.split(' ').nth(2) == Some(word)).count();
    assert_eq!(count_and_kib(&trace.events, &[READ]).0, count("read"));
    assert_eq!(count_and_kib(&trace.events, &[WRITE]).0, count("write"));
    assert_eq!(count_and_kib(&trace.events, &[Action::Flush(FlushCall::Fsync)]), (count("sync"), 0));
    // "804 a.dat read 503808 8192" and "1065 a.dat read 6209536 4096".
    let [first, second] = [trace.events[0], trace.events[1]];
    assert_eq!((first.issue_ns, first.offset, first.length), (0, 503_808, 8192));
    assert_eq!((second.issue_ns, second.offset, second.latency_ns), (261_000, 6_209_536, None));
    assert_eq!((trace.devices, trace.account.loss_count), (vec!["a.dat".to_owned()], 0));
}

#[test]
fn logs_of_version_2_have_waits() {
    let trace = read(&[IOLOG_2]);
    let actions: Vec<_> =
        trace.events.iter().map(|event| (event.issue_ns / 1000, event.device, event.action, event.length)).collect();
    let flush = |call| Action::Flush(call);
    assert_eq!(
        actions,
        [
            (0, 0, READ, 4096),
            (250, 1, WRITE, 8192),
            (250, 1, flush(FlushCall::Fdatasync), 0),
            (1_000_250, 0, DISCARD, 65_536),
            (1_000_250, 0, flush(FlushCall::Fsync), 0),
        ]
    );
}

#[test]
fn csv_is_sorted_and_dated() {
    let trace = read(&[MSR]);
    assert_eq!(trace.kind, TraceKind::Csv);
    assert_eq!(trace.devices, ["hm.1", "hm.0"]);
    let times: Vec<_> = trace.events.iter().map(|event| (event.issue_ns, event.latency_ns)).collect();
    let expected = [(0, 41_300), (7_100, 246_100), (10_000, 150_000), (1_000_000_000, 35_000)];
    assert_eq!(times, expected.map(|(issue_ns, latency_ns)| (issue_ns, Some(latency_ns))));
    assert_eq!((trace.account.sorted, trace.account.late), (1, 0));
    // 2007-02-22 17:00:00.306 UTC, in the week of those traces.
    assert_eq!(trace.begin_unix_ns, Some(1_172_163_600_306_162_900));
}

#[test]
fn lines_that_cannot_be_read_are_left_out_and_counted() {
    let damaged = format!("{}garbage\n128166372,hm,1,Re", String::from_utf8_lossy(MSR).replace("Write,2822144", "Wri"));
    let trace = read(&[damaged.as_bytes()]);
    assert_eq!((trace.events.len(), trace.account.loss_count), (3, 3));
    let places: Vec<_> = trace.account.losses.iter().map(|loss| loss.place).collect();
    assert_eq!(places, [Place::Line(2), Place::Line(5), Place::Line(6)]);
    assert_eq!(trace.account.losses[1].reason, "the line has 1 columns, not 7");
    assert_eq!(trace.account.losses[2].bytes, 17);
}

#[test]
fn what_is_no_trace_is_refused() {
    for content in [&b""[..], b"hello", b"fio version 1 iolog\n", b"Total (s):\n Reads Queued: 26", &[0; 100]] {
        assert!(matches!(open(&[content]), Err(OpenError::Unknown { input: 0 })), "{content:?}");
    }
    assert!(matches!(open(&[]), Err(OpenError::NoInput)));
    assert!(matches!(open(&[CPU_0, MSR]), Err(OpenError::SeveralInputs)));
    assert!(matches!(open(&[MSR, b"hello"]), Err(OpenError::Unknown { input: 1 })));
}

#[test]
fn any_cut_of_any_sample_is_read_without_panic() {
    for sample in [CPU_0, TEXT, CLASSIC, IOLOG_3, IOLOG_2, MSR] {
        let step = (sample.len() / 400).max(1);
        for length in (0..sample.len()).step_by(step) {
            if let Ok(reader) = open(&[&sample[..length]]) {
                assert!(reader.count() <= 85);
            }
        }
    }
}

#[test]
fn a_trace_in_the_programs_own_form_is_the_same() {
    let mut reader = open(&[CPU_0, CPU_1]).expect("blktrace");
    let header = Header { program: "test".into(), begin_unix_ns: Some(5), ..Header::default() };
    let mut writer = Writer::new(Vec::new(), &header).expect("memory");
    while let Some(event) = reader.next() {
        writer.push(&event, reader.names()).expect("in order");
    }
    writer.set_missed_events(3);
    let bytes = writer.finish(reader.names()).expect("memory");
    let (own, original) = (read(&[&bytes]), read(&[CPU_0, CPU_1]));
    assert_eq!((own.kind, own.begin_unix_ns), (TraceKind::IoTrace, Some(5)));
    assert_eq!((own.events, own.devices, own.processes), (original.events, original.devices, original.processes));
    assert_eq!(own.account.missed_events, 3);
    assert_eq!(own.account.issues_without_completion, original.account.issues_without_completion);
    let cut = read(&[&bytes[..bytes.len() - 1]]);
    assert_eq!((cut.account.events, cut.account.loss_count), (85, 1));
}

/// Categories of `linux/blktrace_api.h`, shifted.
mod category {
    pub(crate) const READ: u32 = 1 << 16;
    pub(crate) const WRITE: u32 = 1 << 17;
    pub(crate) const FLUSH: u32 = 1 << 18;
    pub(crate) const SYNC: u32 = 1 << 19;
    pub(crate) const PC: u32 = 1 << 25;
    pub(crate) const NOTIFY: u32 = 1 << 26;
    pub(crate) const FUA: u32 = 1 << 31;
}

const QUEUE: u32 = 1 | 1 << 20;
const BACK_MERGE: u32 = 2 | 1 << 20;
const REQUEUE: u32 = 6 | 1 << 21;
const ISSUE: u32 = 7 | 1 << 22;
const COMPLETE: u32 = 8 | 1 << 23;

/// A record of `struct blk_io_trace`.
struct Packed {
    is_little: bool,
    bytes: Vec<u8>,
}

impl Packed {
    fn new(is_little: bool) -> Self {
        Self { is_little, bytes: Vec::new() }
    }

    fn put(&mut self, value: u64, size: usize) {
        let bytes = value.to_le_bytes();
        let bytes = &bytes[..size];
        if self.is_little { self.bytes.extend(bytes) } else { self.bytes.extend(bytes.iter().rev()) }
    }

    fn record(&mut self, time_ns: u64, sector: u64, length: u32, action: u32, pid: u32, payload: &[u8]) {
        for (value, size) in [(0x6561_7407, 4), (1, 4), (time_ns, 8), (sector, 8), (u64::from(length), 4)] {
            self.put(value, size);
        }
        for (value, size) in [(u64::from(action), 4), (u64::from(pid), 4), (8 << 20 | 16, 4), (0, 4), (0, 2)] {
            self.put(value, size);
        }
        self.put(payload.len() as u64, 2);
        self.bytes.extend(payload);
    }

    fn step(&mut self, time_ns: u64, sector: u64, length: u32, action: u32) {
        self.record(time_ns, sector, length, action, 42, &[]);
    }
}

fn steps(is_little: bool) -> Packed {
    use category::{FLUSH, FUA, NOTIFY, PC, READ, SYNC, WRITE};
    let mut trace = Packed::new(is_little);
    let mut clock = Packed::new(is_little);
    clock.put(1_700_000_000, 4);
    clock.put(500, 4);
    trace.record(1_000, 0, 0, 1 | NOTIFY, 0, &clock.bytes);
    trace.record(1_000, 0, 0, NOTIFY, 42, b"mysqld\0\0\0\0\0\0\0\0\0\0");
    // Issued before the trace.
    trace.step(1_500, 999, 4096, COMPLETE | READ);
    // Two queued writes that become one request, which is requeued once.
    trace.step(2_000, 8, 4096, QUEUE | WRITE);
    trace.step(2_100, 16, 4096, QUEUE | WRITE);
    trace.step(2_110, 16, 4096, BACK_MERGE | WRITE);
    trace.record(2_200, 8, 8192, ISSUE | WRITE, 7, &[]);
    trace.step(2_300, 8, 8192, REQUEUE | WRITE);
    trace.record(2_400, 8, 8192, ISSUE | WRITE, 7, &[]);
    // A command of SCSI, with a payload.
    trace.record(2_500, 0, 36, ISSUE | PC, 42, &[0x12; 6]);
    // A flush, and a durable write.
    trace.step(2_600, 0, 0, ISSUE | FLUSH | SYNC);
    trace.step(2_650, 0, 0, COMPLETE | FLUSH | SYNC);
    trace.step(2_700, 64, 512, ISSUE | WRITE | FUA | FLUSH | SYNC);
    trace.step(2_900, 64, 512, COMPLETE | WRITE | FUA | FLUSH | SYNC);
    trace.step(3_400, 8, 8192, COMPLETE | WRITE);
    // Its completion is missing.
    trace.step(4_000, 128, 4096, ISSUE | READ);
    trace
}

#[test]
fn steps_become_requests() {
    for is_little in [true, false] {
        let trace = read(&[&steps(is_little).bytes]);
        let requests: Vec<_> = trace
            .events
            .iter()
            .map(|event| (event.issue_ns, event.latency_ns, event.offset, event.length, event.action))
            .collect();
        assert_eq!(
            requests,
            [
                (0, Some(1_000), 4096, 8192, WRITE),
                (200, Some(50), 0, 0, Action::Flush(FlushCall::Fsync)),
                (300, Some(200), 64 * 512, 512, WRITE),
                (1_600, None, 128 * 512, 4096, READ),
            ]
        );
        let flags = Flags::default().with(Flags::FUA, true).with(Flags::PREFLUSH, true).with(Flags::SYNC, true);
        assert_eq!((trace.events[1].flags, trace.events[2].flags), (Flags::SYNC, flags));
        let process = |event: &Event| trace.processes[event.process as usize].clone();
        assert_eq!(process(&trace.events[0]), (42, "mysqld".to_owned()));
        assert_eq!(trace.devices, ["8,16"]);
        // The first request is 1.4 µs after the time of day.
        assert_eq!(trace.begin_unix_ns, Some(1_700_000_000_000_000_500 + 1_400));
        let account = trace.account;
        assert_eq!((account.completions_without_issue, account.issues_without_completion), (1, 1));
        assert_eq!((account.not_block_io, account.late), (1, 0));
    }
}

#[test]
fn devices_without_driver_steps_have_requests_from_queue_to_completion() {
    let mut trace = Packed::new(true);
    trace.step(100, 8, 4096, QUEUE | category::READ);
    trace.step(150, 16, 4096, QUEUE | category::READ);
    trace.step(300, 8, 4096, COMPLETE | category::READ);
    let trace = read(&[&trace.bytes]);
    let requests: Vec<_> = trace.events.iter().map(|event| (event.issue_ns, event.latency_ns, event.offset)).collect();
    assert_eq!(requests, [(0, Some(200), 4096), (50, None, 8192)]);
}

#[test]
fn a_binary_trace_is_used_up_to_its_damage() {
    let sound = steps(true).bytes;
    let whole = read(&[&sound]).events;
    for length in 1..sound.len() {
        let Ok(mut reader) = open(&[&sound[..length]]) else { continue };
        assert!(reader.by_ref().count() <= whole.len());
        let losses = reader.account().losses;
        for loss in losses {
            let Place::Byte(place) = loss.place else { panic!("a binary trace has no lines") };
            assert_eq!(place + loss.bytes, length as u64);
        }
    }
    let mut damaged = CPU_1.to_vec();
    // The first record in the second half.
    let marks = |at: &usize| damaged[*at..].starts_with(&0x6561_7407_u32.to_le_bytes());
    let middle = (damaged.len() / 2..damaged.len()).find(marks).expect("a record");
    damaged[middle + 3] ^= 1;
    let trace = read(&[CPU_0, &damaged]);
    let loss = &trace.account.losses[0];
    assert_eq!((loss.input, loss.place, loss.bytes), (1, Place::Byte(middle as u64), (CPU_1.len() - middle) as u64));
    assert!(trace.events.len() > 30 && trace.events.len() < 85);
}
