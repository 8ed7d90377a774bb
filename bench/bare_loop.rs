//! The least that random reads with full statistics can cost: one file, one thread, one loop, and nothing that could be
//! asked for. `bench/against-fio` runs it in turn with diskspd as the floor.
//!
//! ```text
//! bare-loop ENGINE DEPTH SECONDS BLOCK FILE [BYTES]
//! ```
//!
//! ENGINE is `io_uring`, `io_uring_direct`, `sync`, `sync_direct` or `memory`, which does no I/O at all. BYTES is for
//! devices without a size. The ring has the flags of diskspd's, with registered files, buffers and descriptor, and the
//! file is opened with `O_NOATIME`. Each I/O is counted with moments and extremes of its latency, in fine and in coarse
//! buckets, and compared with the slowest. It prints the I/Os per second and the I/Os.

use hot::buckets::{self, BUCKET_COUNT, Buckets, COARSE_COUNT};
use hot::counters::{self, TallyCells};
use hot::rng::Rng;
use hot::slots::FreeSlots;
use hot::slowest::{SlowIo, Slowest};
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode, squeue};
use rustix::fs::{Mode, OFlags};
use rustix::io_uring::{
    IoringEnterFlags, IoringRegisterOp, io_uring_enter, io_uring_ptr, io_uring_register, io_uring_rsrc_update,
};
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{env, io, ptr, slice, thread};
use sys::machine_clock::{MachineClock, sample};
use sys::mapping::{Mapping, untouched_table};

/// Counters of an I/O.
struct Statistics {
    tally: TallyCells,
    fine: Buckets,
    coarse: Box<[AtomicU64; COARSE_COUNT]>,
    slowest: Slowest,
}

impl Statistics {
    fn new() -> Self {
        let slowest = Slowest::new(100);
        slowest.open();
        let fine = Buckets::new(untouched_table::<BUCKET_COUNT>());
        fine.touch();
        Self { tally: TallyCells::default(), fine, coarse: untouched_table(), slowest }
    }

    #[inline]
    fn count(&self, begun_ns: u64, ended_ns: u64, offset: u64) {
        let latency_ns = ended_ns.saturating_sub(begun_ns);
        counters::record(&self.tally, latency_ns);
        let bucket = buckets::index(latency_ns);
        self.fine.record_at(bucket);
        let coarse = &self.coarse[buckets::coarse(bucket)];
        coarse.store(coarse.load(Relaxed) + 1, Relaxed);
        if self.slowest.wants(latency_ns) {
            self.slowest.keep(SlowIo { latency_ns, ended_ns, offset, tag: 0 });
        }
    }
}

/// Where and for how long.
struct Load {
    depth: u32,
    block: u32,
    positions: u64,
    clock: MachineClock,
    begun_ns: u64,
    end_ns: u64,
}

/// The kernel keeps time with the CPU's counter.
fn is_trusted() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|source| sys::machine_clock::COUNTER_SOURCE == Some(source.trim()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [engine, depth, seconds, block, path, bytes @ ..] = &arguments[..] else {
        return Err("bare-loop ENGINE DEPTH SECONDS BLOCK FILE [BYTES]".into());
    };
    let is_direct = engine.ends_with("_direct");
    let flags = OFlags::RDONLY | OFlags::NOATIME | if is_direct { OFlags::DIRECT } else { OFlags::empty() };
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let bytes: u64 = match bytes.first() {
        Some(bytes) => bytes.parse()?,
        None => file.metadata()?.len(),
    };
    let (block, depth): (u32, u32) = (block.parse()?, depth.parse()?);
    let earlier = sample();
    thread::sleep(Duration::from_millis(20));
    let clock = MachineClock::choose(earlier, is_trusted());
    let begun_ns = clock.now_ns();
    let end_ns = begun_ns + seconds.parse::<u64>()? * 1_000_000_000;
    let load = Load { depth, block, positions: bytes / u64::from(block), clock, begun_ns, end_ns };
    // A thread beside this one, as that of any load generator: alone in its process a `pread` costs less, because the kernel
    // need not count who uses the descriptor.
    let counted = thread::scope(|scope| scope.spawn(|| run(engine, &file, &load)).join());
    let ios = counted.map_err(|_| "the loop panicked")??;
    let ran_s = (load.clock.now_ns() - begun_ns) as f64 / 1e9;
    println!("{:.0} {ios}", ios as f64 / ran_s);
    Ok(())
}

/// Gives the I/Os.
fn run(engine: &str, file: &File, load: &Load) -> Result<u64, String> {
    let statistics = Statistics::new();
    let memory =
        Mapping::new(u64::from(load.block) * u64::from(load.depth), 4096).map_err(|error| error.to_string())?;
    let ran = match engine.trim_end_matches("_direct") {
        "io_uring" => with_ring(load, file, &memory, &statistics),
        "sync" => with_calls(load, file, &memory, &statistics),
        "memory" => {
            without_io(load, &statistics);
            Ok(())
        }
        other => Err(format!("no such engine: '{other}'").into()),
    };
    ran.map_err(|error| error.to_string())?;
    Ok(counters::values(&statistics.tally).count)
}

/// All that is free is started with the call that waits for one.
fn with_ring(load: &Load, file: &File, memory: &Mapping, statistics: &Statistics) -> Result<(), Box<dyn Error>> {
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    let mut ring = builder.setup_cqsize((2 * load.depth).next_power_of_two()).build(load.depth)?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let buffer = libc::iovec { iov_base: memory.address().cast(), iov_len: memory.len() as usize };
    // SAFETY: the memory outlives the ring.
    unsafe { ring.submitter().register_buffers(slice::from_ref(&buffer)) }?;
    let handle = register(&ring)?;

    let mut entries: Vec<squeue::Entry> = (0..load.depth)
        .map(|id| {
            let address = memory.address().wrapping_add((id * load.block) as usize);
            opcode::ReadFixed::new(Fixed(0), address, load.block, 0).build().user_data(u64::from(id))
        })
        .collect();
    let mut started = vec![(0, 0); load.depth as usize];
    let mut free = FreeSlots::new(0, load.depth);
    let mut draws = Rng::new(1);
    let mut now_ns = load.begun_ns;
    while now_ns < load.end_ns {
        let ids = free.take_many(load.depth as usize);
        let mut queue = ring.submission();
        for &id in ids {
            let offset = draws.below(load.positions) * u64::from(load.block);
            started[id as usize] = (now_ns, offset);
            let entry = &mut entries[id as usize];
            // SAFETY: an entry is the kernel's structure of 64 bytes; `off` are its bytes 8 to 15. Its buffer and file
            // outlive the ring, and no other operation has them.
            unsafe {
                ptr::from_mut(entry).cast::<u64>().add(1).write(offset);
                queue.push(entry)?;
            }
        }
        drop(queue);
        // SAFETY: as above; the handle is that of this ring.
        unsafe { io_uring_enter(handle, ids.len() as u32, 1, ENTER) }?;
        let mut queue = ring.completion();
        queue.sync();
        now_ns = load.clock.now_ns();
        let mut failed = None;
        free.give_many(|given| {
            for completion in &mut queue {
                if completion.result().cast_unsigned() != load.block {
                    failed = Some(completion.result());
                }
                let id = completion.user_data() as u32;
                let (begun_ns, offset) = started[id as usize];
                statistics.count(begun_ns, now_ns, offset);
                given.push(id);
            }
        });
        if let Some(result) = failed {
            return Err(format!("a read gave {result}").into());
        }
    }
    while free.used_count() > 0 {
        ring.submit_and_wait(1)?;
        free.give_many(|given| ring.completion().for_each(|completion| given.push(completion.user_data() as u32)));
    }
    Ok(())
}

const ENTER: IoringEnterFlags = IoringEnterFlags::GETEVENTS.union(IoringEnterFlags::REGISTERED_RING);

/// The ring's number among those that are registered with this thread.
fn register(ring: &IoUring) -> io::Result<BorrowedFd<'static>> {
    let mut update = io_uring_rsrc_update::default();
    update.offset = u32::MAX;
    update.data = io_uring_ptr::new(ptr::without_provenance_mut(ring.as_raw_fd() as usize));
    // SAFETY: the ring is open, and the kernel reads and writes one structure of this kind; the number is not -1.
    unsafe {
        let descriptor = BorrowedFd::borrow_raw(ring.as_raw_fd());
        io_uring_register(descriptor, IoringRegisterOp::RegisterRingFds, ptr::from_mut(&mut update).cast(), 1)?;
        Ok(BorrowedFd::borrow_raw(update.offset.cast_signed()))
    }
}

/// One `pread` after the other, with a stamp before and after each.
fn with_calls(load: &Load, file: &File, memory: &Mapping, statistics: &Statistics) -> Result<(), Box<dyn Error>> {
    // SAFETY: the memory is this function's as long as it runs.
    let buffer = unsafe { slice::from_raw_parts_mut(memory.address(), load.block as usize) };
    let mut draws = Rng::new(1);
    let mut ended_ns = load.begun_ns;
    while ended_ns < load.end_ns {
        let offset = draws.below(load.positions) * u64::from(load.block);
        let begun_ns = load.clock.now_ns();
        let bytes = rustix::io::pread(file, &mut *buffer, offset)?;
        ended_ns = load.clock.now_ns();
        if bytes != load.block as usize {
            return Err(format!("a read gave {bytes} bytes").into());
        }
        statistics.count(begun_ns, ended_ns, offset);
    }
    Ok(())
}

/// The loop around a ring, with queues in memory instead: each request is staged, comes back and is taken.
fn without_io(load: &Load, statistics: &Statistics) {
    let mut started = vec![(0, 0); load.depth as usize];
    let mut queue: Vec<(u32, u64)> = Vec::with_capacity(load.depth as usize);
    let mut free = FreeSlots::new(0, load.depth);
    let mut draws = Rng::new(1);
    let mut now_ns = load.begun_ns;
    while now_ns < load.end_ns {
        for &id in free.take_many(load.depth as usize) {
            let offset = draws.below(load.positions) * u64::from(load.block);
            started[id as usize] = (now_ns, offset);
            queue.push((id, offset));
        }
        now_ns = load.clock.now_ns();
        free.give_many(|given| {
            for (id, offset) in black_box(&mut queue).drain(..) {
                let (begun_ns, _) = started[id as usize];
                statistics.count(begun_ns, now_ns, offset);
                given.push(id);
            }
        });
    }
}
