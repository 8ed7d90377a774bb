//! The same checks over every engine that reaches a file.

use engine::buffers::Region;
use engine::sync::SyncEngine;
use engine::target::open;
use engine::uring::UringEngine;
use engine::{Done, DoneBatch, Engine, Op, Wait};
use hot::clock::Clock;
use model::plan::OpenPlan;
use std::os::fd::OwnedFd;
use std::path::Path;
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

fn ring(path: &Path, slots: u32) -> Option<UringEngine> {
    match UringEngine::new(slots, files(path), vec![region(0xA5)]) {
        Ok((engine, _)) => Some(engine),
        Err(error) => {
            println!("skipped: io_uring is not available here ({error})");
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

fn finish(engine: &mut impl Engine, slots: u32) -> Vec<Done> {
    let mut all = Vec::new();
    let mut batch = DoneBatch::new(slots);
    while engine.in_flight() > 0 {
        engine.push(Wait::ForOne).expect("the kernel takes the call");
        batch.clear();
        engine.reap(&mut batch);
        all.extend_from_slice(batch.items());
    }
    all
}

fn read(slot: u32, offset: u64) -> Op {
    Op { write: false, file: 0, region: 0, region_offset: u64::from(slot) * BLOCK, offset, length: BLOCK as u32 }
}

/// Bytes reach the file and come back from the offset that was asked for.
fn transfers_reach_their_place(engine: &mut impl Engine, path: &Path) {
    let write = Op { write: true, ..read(0, 3 * BLOCK) };
    engine.stage(0, &write);
    assert_eq!(finish(engine, 1)[0].result, BLOCK as i32);
    let bytes = std::fs::read(path).expect("the file is there");
    assert!(bytes[3 * BLOCK as usize..4 * BLOCK as usize].iter().all(|&byte| byte == 0xA5));
    assert!(bytes[2 * BLOCK as usize..3 * BLOCK as usize].iter().all(|&byte| byte == 2));
    engine.stage(1, &read(1, 7 * BLOCK));
    assert_eq!(finish(engine, 2)[0].result, BLOCK as i32);
    let mut byte = [0];
    engine.region_mut(0).expect("an own region").read(BLOCK + 17, &mut byte);
    assert_eq!(byte, [7]);
}

/// Short reads, end of file and errors come back as results, each once.
fn results_are_the_kernels(engine: &mut impl Engine, blocks: u64) {
    engine.stage(0, &read(0, blocks * BLOCK - 100));
    assert_eq!(finish(engine, 1)[0].result, 100);
    engine.stage(0, &read(0, (blocks + 5) * BLOCK));
    assert_eq!(finish(engine, 1)[0].result, 0);
    engine.stage(0, &Op { offset: u64::MAX - BLOCK, ..read(0, 0) });
    assert!(finish(engine, 1)[0].result < 0);
}

#[test]
fn the_synchronous_engine_conforms() {
    let (_folder, path) = file_of(16);
    let mut engine = SyncEngine::new(Monotonic, files(&path), vec![region(0xA5)]);
    transfers_reach_their_place(&mut engine, &path);
    results_are_the_kernels(&mut engine, 16);
    engine.stage(0, &read(0, 0));
    let done = finish(&mut engine, 1)[0];
    assert!(0 < done.begun_ns && done.begun_ns <= done.ended_ns);
}

#[test]
fn the_ring_conforms() {
    let (_folder, path) = file_of(16);
    let Some(mut engine) = ring(&path, 4) else { return };
    transfers_reach_their_place(&mut engine, &path);
    results_are_the_kernels(&mut engine, 16);
}

#[test]
fn no_completion_of_a_ring_is_lost_or_doubled() {
    let (_folder, path) = file_of(64);
    let Some(mut engine) = ring(&path, 64) else { return };
    for _ in 0..100 {
        (0..64).for_each(|slot| engine.stage(slot, &read(slot, u64::from(slot) * BLOCK)));
        let mut slots: Vec<u32> = finish(&mut engine, 64).iter().map(|done| done.slot).collect();
        slots.sort_unstable();
        assert!(slots.into_iter().eq(0..64));
    }
}

#[test]
fn a_ring_takes_more_requests_than_it_has_entries() {
    const SLOTS: u32 = 40_000;
    let (_folder, path) = file_of(64);
    let Some(mut engine) = ring(&path, SLOTS) else { return };
    (0..SLOTS).for_each(|slot| engine.stage(slot, &read(slot % 64, 0)));
    assert_eq!(finish(&mut engine, SLOTS).len(), SLOTS as usize);
}

#[test]
fn a_deadline_ends_a_wait_without_an_error() {
    let (_folder, path) = file_of(1);
    let Some(mut engine) = ring(&path, 1) else { return };
    let before = sys::clock::monotonic_ns();
    engine.push(Wait::Until { deadline_ns: before + 3_000_000 }).expect("a deadline is no error");
    assert!(sys::clock::monotonic_ns() >= before + 3_000_000);
    engine.push(Wait::Poll).expect("polling nothing is no error");
}

#[test]
fn a_cancelled_ring_gives_everything_back() {
    // Reads of a pipe that nobody writes to never end by themselves.
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let Ok((mut engine, _)) = UringEngine::new(2, vec![reader.into()], vec![region(0)]) else {
        println!("skipped: io_uring is not available here");
        return;
    };
    engine.stage(0, &Op { offset: u64::MAX, ..read(0, 0) });
    engine.push(Wait::Poll).expect("submitted");
    engine.cancel_all();
    let done = finish(&mut engine, 2);
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
        Err(error) => return println!("skipped: no leases here ({error})"),
    }
    let op = Op { write: false, file: 0, region: 0, region_offset: 0, offset: 0, length: BLOCK as u32 };
    for _ in 0..20 {
        let Some(mut engine) = ring(&path, 4) else { return };
        engine.stage(0, &op);
        finish(&mut engine, 4);
        drop(engine);
        assert_eq!(lease().expect("an answer"), WriteLease::Granted, "still open after its ring was dropped");
    }
}
