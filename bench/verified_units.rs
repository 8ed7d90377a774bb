//! Rates at which one core makes and checks verified data (`--verify`), in memory: the most that a thread can reach.
//!
//! ```text
//! cargo run --release -p verify --example verified-units [SECONDS]
//! ```
//!
//! Makes, checks, and both in turn, as a load of 50 % writes does, I/Os of 4 KiB and 64 KiB on a target of 256 MiB. Seconds are
//! those that the thread was on a CPU, so that other programs on the machine count less.

use hot::rng::Rng;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use verify::check::Verdict;
use verify::map::{GenerationMap, MapEntry};
use verify::target::{Change, TargetCounters, VerifiedTarget, WriteIo};
use verify::unit::{Pool, Traits, UnitSize};

const TARGET_BYTES: u64 = 256 << 20;
const RUN: u64 = 1;

fn main() {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(2);
    let duration = Duration::from_secs(seconds);
    for io_bytes in [4096_u64, 65536] {
        let mut bench = Bench::new(io_bytes);
        // Everything was written before it is read.
        for io in 0..TARGET_BYTES / io_bytes {
            bench.write(io);
        }
        let make = bench.gb_per_s(duration, |bench, io, _| bench.write(io));
        let check = bench.gb_per_s(duration, |bench, io, _| bench.read(io));
        let both =
            bench.gb_per_s(duration, |bench, io, turn| if turn % 2 == 0 { bench.write(io) } else { bench.read(io) });
        println!("{:2} KiB: making {make:.2} GB/s, checking {check:.2} GB/s, 50/50 {both:.2} GB/s", io_bytes >> 10);
    }
}

struct Bench {
    target: VerifiedTarget,
    pool: Pool,
    memory: Vec<u8>,
    io_bytes: u64,
    rng: Rng,
    time_us: u64,
}

impl Bench {
    fn new(io_bytes: u64) -> Self {
        let unit = UnitSize::new(4096).expect("a power of two");
        let units = unit.count(TARGET_BYTES);
        let cells = (0..GenerationMap::cell_count(units, u64::MAX)).map(|_| AtomicU64::new(0)).collect();
        let map = GenerationMap::new(cells, units);
        Self {
            target: VerifiedTarget {
                run: RUN,
                target: 0,
                unit,
                map,
                discards_to_zeros: true,
                traits: Traits::default(),
                counters: TargetCounters::default(),
            },
            pool: Pool::new(RUN),
            memory: vec![0; TARGET_BYTES as usize],
            io_bytes,
            rng: Rng::new(1),
            time_us: 0,
        }
    }

    fn write(&mut self, io: u64) {
        self.time_us += 1;
        let units = self.target.units(io * self.io_bytes, self.io_bytes);
        let length = (units.end - units.start) as u32;
        let written_units = self.target.claim_write(units.clone()).expect("one thread alone");
        let (sequence, time_us) = (self.time_us, self.time_us);
        let change = WriteIo { first: units.start, length, thread: 0, sequence, time_us, written_units };
        let bytes = &mut self.memory[(io * self.io_bytes) as usize..][..self.io_bytes as usize];
        self.target.make(bytes, units.start, &change, Some(&self.pool));
        self.target.finish(&change, Change::Written);
    }

    fn read(&mut self, io: u64) {
        self.time_us += 1;
        let units = self.target.units(io * self.io_bytes, self.io_bytes);
        let bytes = &self.memory[(io * self.io_bytes) as usize..][..self.io_bytes as usize];
        for (unit, bytes) in units.zip(bytes.chunks_exact(self.target.unit.bytes() as usize)) {
            let noted: MapEntry = self.target.map.note(unit);
            let verdict = self.target.check(unit, black_box(bytes), noted, self.time_us);
            assert_eq!(verdict, Verdict::Right, "unit {unit}");
        }
    }

    fn gb_per_s(&mut self, duration: Duration, mut io: impl FnMut(&mut Self, u64, u64)) -> f64 {
        let (begun, begun_on_cpu, mut ios) = (Instant::now(), on_cpu(), 0_u64);
        while begun.elapsed() < duration {
            for _ in 0..256 {
                let place = self.rng.below(TARGET_BYTES / self.io_bytes);
                io(self, place, ios);
                ios += 1;
            }
        }
        (ios * self.io_bytes) as f64 / on_cpu().saturating_sub(begun_on_cpu).as_secs_f64() / 1e9
    }
}

/// How long this thread was on a CPU.
fn on_cpu() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanoseconds = times.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first field"))
}
