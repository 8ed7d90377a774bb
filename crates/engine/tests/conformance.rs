//! The same checks over every engine that reaches a file.

use engine::aio::AioEngine;
use engine::buffers::Region;
use engine::mapped::{Mapped, MappedTarget};
use engine::null::NullEngine;
use engine::ring_setup::RingSettings;
use engine::sync::SyncEngine;
use engine::target::open;
use engine::uring::UringEngine;
use engine::{Completion, Engine, Op, SlotId, Start, Wait};
use hot::clock::Clock;
use model::operation::Operation;
use model::plan::OpenPlan;
use model::profile::FlushCall;
use model::rw_flags::RwFlags;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use sys::file_mapping::FileMapping;
use sys::lease::WriteLease;
use sys::mapping::Mapping;

struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        sys::clock::monotonic_ns()
    }
}

const BLOCK: u64 = 4096;

fn region(byte: u8) -> Region {
    let mut mapping = Mapping::new(BLOCK * 64, 0).expect("256 KiB fit");
    mapping.fill(0, BLOCK * 64, |part, _| part.fill(byte));
    Region::Own(mapping)
}

fn files(path: &Path) -> Vec<OwnedFd> {
    let plan = OpenPlan { read: true, write: true, ..OpenPlan::default() };
    vec![open(path, &plan).expect("the file exists")]
}

const PLAIN: RingSettings =
    RingSettings { submission_polling: false, completion_polling: false, deferred_completions: true };

fn ring(path: &Path, slots: u32, settings: RingSettings) -> Option<UringEngine> {
    match UringEngine::new(slots, settings, files(path), vec![region(0xA5)]) {
        Ok((mut engine, _)) => {
            let _ = engine.register_buffers();
            Some(engine)
        }
        Err(error) => {
            testkit::say_skipped(format_args!("io_uring is not available here ({error})"));
            None
        }
    }
}

fn file_of(blocks: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("target");
    let content: Vec<u8> = (0..blocks).flat_map(|block| vec![block as u8; BLOCK as usize]).collect();
    std::fs::write(&path, content).expect("it fits");
    (folder, path)
}

fn finish(engine: &mut impl Engine) -> Vec<Completion> {
    let mut all = Vec::new();
    while engine.in_flight() > 0 {
        engine.push(Wait::For { count: 1 }).expect("the kernel takes the call");
        all.extend(taken(engine, u32::MAX));
    }
    all
}

fn taken(engine: &mut impl Engine, most: u32) -> Vec<Completion> {
    // A kernel thread may complete more between the two.
    let most = engine.poll().count.min(most);
    let mut all = Vec::new();
    engine.take(most, |done| all.push(done));
    assert!(all.len() <= most as usize);
    all
}

fn read(slot: u32, offset: u64) -> Op {
    Op {
        operation: Operation::Read,
        file: 0,
        region: 0,
        region_offset: u64::from(slot) * BLOCK,
        offset,
        length: BLOCK as u32,
        ..Op::default()
    }
}

/// Bytes reach the file and come back from the offset that was asked for.
fn transfers_reach_their_place(engine: &mut impl Engine, path: &Path) {
    let write = Op { operation: Operation::Write, ..read(0, 3 * BLOCK) };
    engine.stage(0, &write);
    assert_eq!(finish(engine)[0].result, BLOCK as i32);
    let bytes = std::fs::read(path).expect("the file is there");
    assert!(bytes[3 * BLOCK as usize..4 * BLOCK as usize].iter().all(|&byte| byte == 0xA5));
    assert!(bytes[2 * BLOCK as usize..3 * BLOCK as usize].iter().all(|&byte| byte == 2));
    prepared_operations_go_where_they_are_sent(engine, path);
}

/// Flags reach the kernel with the operation: it refuses atomic writes through the page cache.
fn flags_reach_the_kernel(engine: &mut impl Engine, path: &Path) {
    let before = std::fs::read(path).expect("the file is there");
    let atomic = Op { operation: Operation::Write, rw_flags: RwFlags::ATOMIC, ..read(0, 0) };
    for (slot, op) in [(0, atomic), (1, Op { operation: Operation::Read, ..atomic })] {
        engine.stage(slot, &op);
        let result = finish(engine)[0].result;
        assert!([-libc::EOPNOTSUPP, -libc::EINVAL].contains(&result), "{op:?}: {result}");
    }
    assert_eq!(std::fs::read(path).expect("the file is there"), before);
}

fn start(slot: SlotId, operation: Operation, offset: u64) -> Start {
    Start { slot, operation, offset, length: None }
}

/// Each request is prepared once and then sent to one place after the other, as runs do.
fn prepared_operations_go_where_they_are_sent(engine: &mut impl Engine, path: &Path) {
    for slot in 0..4 {
        engine.prepare(slot, &read(slot, 0));
        engine.prepare(slot, &Op { operation: Operation::Write, ..read(slot, 0) });
    }
    let place = |block: u32| u64::from(block) * BLOCK;
    for round in 0..3 {
        // Each of four blocks is read into a buffer, and written from there to a place four blocks on.
        let from = |slot: u32| round * 4 + slot;
        engine.stage_each((0..4).map(|slot| start(slot, Operation::Read, place(from(slot)))));
        let done = finish(engine);
        assert!(done.len() == 4 && done.iter().all(|done| done.result == BLOCK as i32), "{done:?}");
        engine.stage_each((0..4).map(|slot| start(slot, Operation::Write, place(from(slot) + 4))));
        assert_eq!(finish(engine).len(), 4);
    }
    let bytes = std::fs::read(path).expect("the file is there");
    let first = |block: u32| bytes[place(block) as usize + 17];
    assert!((4..16).all(|block| first(block) == first(block % 4)), "{:?}", (0..16).map(first).collect::<Vec<_>>());
    // Another length, which the next start may have again.
    for (length, block) in [(1024, 7), (BLOCK as u32, 8)] {
        engine.set_length(3, Operation::Read, length);
        engine.stage_prepared(3, Operation::Read, place(block));
        assert_eq!(finish(engine)[0].result, length.cast_signed());
        let shorter = length / 2;
        let again = Start { length: Some(shorter), ..start(3, Operation::Read, place(block)) };
        engine.stage_each(std::iter::once(again));
        assert_eq!(finish(engine)[0].result, shorter.cast_signed());
    }
    engine.set_length(3, Operation::Write, 512);
    engine.stage_prepared(3, Operation::Write, place(15));
    assert_eq!(finish(engine)[0].result, 512);
    // New content goes out with the next write of what was prepared.
    let write = Op { operation: Operation::Write, ..read(2, 0) };
    assert!(engine.fill(&write, |part, _| part.fill(0x5A)));
    engine.stage_prepared(2, Operation::Write, place(5));
    assert_eq!(finish(engine)[0].result, BLOCK as i32);
    assert_eq!(std::fs::read(path).expect("the file is there")[place(5) as usize..place(6) as usize], [0x5A; 4096]);
}

/// Short reads, end of file and errors come back as results, each once.
fn results_are_the_kernels(engine: &mut impl Engine, blocks: u64) {
    engine.stage(0, &read(0, blocks * BLOCK - 100));
    assert_eq!(finish(engine)[0].result, 100);
    engine.stage(0, &read(0, (blocks + 5) * BLOCK));
    assert_eq!(finish(engine)[0].result, 0);
    engine.stage(0, &Op { offset: u64::MAX - BLOCK, ..read(0, 0) });
    assert!(finish(engine)[0].result < 0);
}

#[test]
fn the_synchronous_engine_conforms() {
    let (_folder, path) = file_of(16);
    let mut engine = SyncEngine::new(Monotonic, 4, files(&path), vec![region(0xA5)]);
    transfers_reach_their_place(&mut engine, &path);
    results_are_the_kernels(&mut engine, 16);
    flags_reach_the_kernel(&mut engine, &path);
    engine.stage(0, &read(0, 0));
    let done = finish(&mut engine)[0];
    assert!(0 < done.begun_ns && done.begun_ns <= done.ended_ns);
}

#[test]
fn the_ring_conforms_in_every_form() {
    for (register_buffers, submission_polling) in [(true, false), (false, false), (true, true)] {
        let (_folder, path) = file_of(16);
        let settings = RingSettings { submission_polling, ..PLAIN };
        let Ok((mut engine, _)) = UringEngine::new(4, settings, files(&path), vec![region(0xA5)]) else {
            testkit::say_skipped(format_args!("io_uring is not available here"));
            continue;
        };
        if register_buffers {
            engine.register_buffers().expect("256 KiB may be locked");
        }
        transfers_reach_their_place(&mut engine, &path);
        results_are_the_kernels(&mut engine, 16);
        flags_reach_the_kernel(&mut engine, &path);
    }
}

#[test]
fn a_sleeping_submission_thread_is_woken_by_polling() {
    let (_folder, path) = file_of(16);
    let settings = RingSettings { submission_polling: true, ..PLAIN };
    let Some(mut engine) = ring(&path, 4, settings) else { return };
    for _ in 0..2 {
        // Longer than it looks for work before it sleeps.
        std::thread::sleep(Duration::from_millis(1500));
        (0..4).for_each(|slot| engine.stage(slot, &read(slot, 0)));
        let end = Instant::now() + Duration::from_mins(1);
        while engine.in_flight() > 0 {
            assert!(Instant::now() < end, "it still sleeps");
            engine.push(Wait::Poll).expect("polling is no error");
            assert!(taken(&mut engine, u32::MAX).iter().all(|done| done.result == BLOCK as i32));
            std::thread::yield_now();
        }
    }
}

#[test]
fn linux_aio_conforms() {
    let (_folder, path) = file_of(16);
    let mut engine = aio(&path, 4);
    transfers_reach_their_place(&mut engine, &path);
    results_are_the_kernels(&mut engine, 16);
    flags_reach_the_kernel(&mut engine, &path);
}

fn aio(path: &Path, slots: u32) -> AioEngine {
    AioEngine::new(slots, files(path), vec![region(0xA5)]).expect("Linux AIO is available")
}

fn mapped(path: &Path, slots: u32, bytes: u64) -> Mapped<NullEngine, Monotonic> {
    let file = files(path).remove(0);
    let memory = FileMapping::new(&file, bytes, true).expect("mappable");
    let target = MappedTarget { memory, non_temporal: false, persist: None };
    Mapped::new(NullEngine::new(0, Vec::new()), Monotonic, slots, vec![Some(target)], vec![Some(region(0xA5))])
}

#[test]
fn mapped_targets_conform() {
    let (_folder, path) = file_of(16);
    let mut engine = mapped(&path, 4, 16 * BLOCK);
    transfers_reach_their_place(&mut engine, &path);
    // The file shrinks under the mapping: an error, not the end of the program.
    std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(4 * BLOCK)).expect("shorter");
    engine.stage(0, &read(0, 8 * BLOCK));
    assert_eq!(finish(&mut engine)[0].result, -libc::EIO);
}

#[test]
fn a_flush_of_mapped_targets_comes_back() {
    let (_folder, path) = file_of(4);
    let mut engine = mapped(&path, 2, 4 * BLOCK);
    engine.stage_flush(1, 0, FlushCall::Fsync);
    engine.stage(0, &read(0, 0));
    let mut done: Vec<_> = finish(&mut engine).iter().map(|done| (done.slot, done.result)).collect();
    done.sort_unstable();
    assert_eq!(done, [(0, BLOCK as i32), (1, 0)]);
}

/// Each request comes back exactly once, however many are reaped at a time.
fn none_is_lost_or_doubled(engine: &mut impl Engine, slots: u32) {
    for most in [1, 3, slots] {
        (0..slots).for_each(|slot| engine.stage(slot, &read(slot, u64::from(slot) * BLOCK)));
        let mut seen = Vec::new();
        while engine.in_flight() > 0 {
            engine.push(Wait::For { count: 1 }).expect("the kernel takes the call");
            seen.extend(taken(engine, most).iter().map(|done| done.slot));
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..slots));
    }
}

#[test]
fn no_completion_is_lost_or_doubled() {
    let (_folder, path) = file_of(64);
    none_is_lost_or_doubled(&mut aio(&path, 64), 64);
    none_is_lost_or_doubled(&mut mapped(&path, 64, 64 * BLOCK), 64);
    none_is_lost_or_doubled(&mut SyncEngine::new(Monotonic, 64, files(&path), vec![region(0)]), 64);
    none_is_lost_or_doubled(&mut NullEngine::new(64, vec![region(0)]), 64);
    if let Some(mut engine) = ring(&path, 64, PLAIN) {
        none_is_lost_or_doubled(&mut engine, 64);
    }
}

#[test]
fn a_ring_waits_for_as_many_as_it_is_told() {
    let (_folder, path) = file_of(64);
    let Some(mut engine) = ring(&path, 8, PLAIN) else { return };
    (0..8).for_each(|slot| engine.stage(slot, &read(slot, 0)));
    engine.push(Wait::For { count: 8 }).expect("the kernel takes the call");
    assert_eq!(taken(&mut engine, u32::MAX).len(), 8);
}

#[test]
fn a_ring_takes_more_requests_than_it_has_entries() {
    const SLOTS: u32 = 40_000;
    let (_folder, path) = file_of(64);
    let Some(mut engine) = ring(&path, SLOTS, PLAIN) else { return };
    (0..SLOTS).for_each(|slot| engine.stage(slot, &read(slot % 64, 0)));
    assert_eq!(finish(&mut engine).len(), SLOTS as usize);
}

#[test]
fn a_deadline_ends_a_wait_without_an_error() {
    let (_folder, path) = file_of(1);
    let Some(mut engine) = ring(&path, 1, PLAIN) else { return };
    let before = sys::clock::monotonic_ns();
    engine.push(Wait::Until { count: 1, deadline_ns: before + 3_000_000 }).expect("a deadline is no error");
    assert!(sys::clock::monotonic_ns() >= before + 3_000_000);
    engine.push(Wait::Poll).expect("polling nothing is no error");
}

#[test]
fn a_cancelled_ring_gives_everything_back() {
    // Reads of a pipe that nobody writes to never end by themselves.
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let Ok((mut engine, _)) = UringEngine::new(2, PLAIN, vec![reader.into()], vec![region(0)]) else {
        testkit::skip!("io_uring is not available here");
    };
    engine.stage(0, &Op { offset: u64::MAX, ..read(0, 0) });
    engine.push(Wait::Poll).expect("submitted");
    engine.cancel_all();
    let done = finish(&mut engine);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].result, -libc::ECANCELED);
}

#[test]
fn a_target_is_let_go_with_its_ring() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real file system");
    let path = folder.path().join("target");
    std::fs::write(&path, [0; 8192]).expect("8 KiB fit");
    let lease = || sys::lease::try_write_lease(&std::fs::File::open(&path).expect("the file exists"));
    match lease() {
        Ok(answer) => assert_eq!(answer, WriteLease::Granted),
        Err(error) => testkit::skip!("no leases here ({error})"),
    }
    let op = read(0, 0);
    for _ in 0..20 {
        let Some(mut engine) = ring(&path, 4, PLAIN) else { return };
        engine.stage(0, &op);
        finish(&mut engine);
        drop(engine);
        assert_eq!(lease().expect("an answer"), WriteLease::Granted, "still open after its ring was dropped");
    }
}
