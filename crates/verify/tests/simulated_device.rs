//! A simulated device and many threads' I/Os in any order: a correct device is never reported as wrong, and each fault
//! that a later read can see is reported with its class.

use model::corruption::CorruptionClass as Class;
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;
use verify::check::Verdict;
use verify::map::{GenerationMap, MapEntry};
use verify::target::{Change, TargetCounters, VerifiedTarget, WriteIo};
use verify::unit::{Pool, Traits, UnitSize};

const RUN: u64 = 77;
const UNITS: u64 = 24;

fn target(unit_bytes: u64, discards_to_zeros: bool, map_bytes: u64) -> VerifiedTarget {
    let units = if map_bytes == u64::MAX { UNITS } else { 1 << 24 };
    let cells = (0..GenerationMap::cell_count(units, map_bytes)).map(|_| AtomicU64::new(0)).collect();
    VerifiedTarget {
        run: RUN,
        target: 0,
        unit: UnitSize::new(unit_bytes).expect("a power of two"),
        map: GenerationMap::new(cells, units),
        discards_to_zeros,
        traits: Traits::default(),
        counters: TargetCounters::default(),
    }
}

/// Kind of an I/O.
#[derive(Clone, Debug)]
enum Kind {
    Read,
    Write,
    Discard,
    WriteZeroes,
}

/// The end of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Whole,
    /// After some of the sectors.
    Short,
    Failed,
    Cancelled,
}

/// One step of the simulation.
#[derive(Clone, Debug)]
enum Step {
    Start {
        kind: Kind,
        first: u64,
        length: u64,
        end: End,
    },
    /// The device processes another sector of one of the I/Os in flight.
    Progress {
        which: usize,
        sectors: u64,
    },
    /// One of the I/Os that the device has processed completes.
    Complete {
        which: usize,
    },
    Rotate,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        5 => Just(Kind::Read), 5 => Just(Kind::Write), 1 => Just(Kind::Discard), 1 => Just(Kind::WriteZeroes)
    ];
    let end = prop_oneof![
        12 => Just(End::Whole), 1 => Just(End::Short), 1 => Just(End::Failed), 1 => Just(End::Cancelled)
    ];
    prop_oneof![
        8 => (kind, 0..UNITS, 1_u64..5, end).prop_map(|(kind, first, length, end)| Step::Start {
            kind,
            first: first.min(UNITS - length),
            length,
            end,
        }),
        12 => (any::<usize>(), 1_u64..40).prop_map(|(which, sectors)| Step::Progress { which, sectors }),
        8 => any::<usize>().prop_map(|which| Step::Complete { which }),
        1 => Just(Step::Rotate),
    ]
}

struct Started {
    kind: Kind,
    io: WriteIo,
    end: End,
    buffer: Vec<u8>,
    noted: Vec<MapEntry>,
    /// Sectors that the device has processed.
    done: usize,
}

struct Simulation {
    target: VerifiedTarget,
    pool: Pool,
    device: Vec<u8>,
    under_way: Vec<Started>,
    time_us: u64,
    checked: u64,
    wrong: Vec<(u64, Class)>,
}

const SECTOR: usize = 512;

impl Simulation {
    fn new(target: VerifiedTarget) -> Self {
        let bytes = (target.unit.bytes() * UNITS) as usize;
        let (pool, device) = (Pool::new(RUN), (0..bytes).map(|at| (at % 251) as u8).collect());
        Self { target, pool, device, under_way: Vec::new(), time_us: 0, checked: 0, wrong: Vec::new() }
    }

    fn start(&mut self, kind: Kind, first: u64, length: u64, end: End) -> bool {
        self.time_us += 1;
        let (units, unit_bytes) = (first..first + length, self.target.unit.bytes());
        let mut buffer = vec![0xEE; (length * unit_bytes) as usize];
        let io = WriteIo {
            first,
            length: length as u32,
            thread: 1,
            sequence: self.time_us,
            time_us: self.time_us,
            written_units: 0,
        };
        let mut noted = Vec::new();
        if matches!(kind, Kind::Read) {
            noted = units.map(|unit| self.target.map.note(unit)).collect();
        } else {
            if !self.target.map.claim(units) {
                return false;
            }
            if matches!(kind, Kind::Write) {
                self.target.make(&mut buffer, first, &io, Some(&self.pool));
            }
        }
        self.under_way.push(Started { kind, io, end, buffer, noted, done: 0 });
        true
    }

    fn progress(&mut self, which: usize, sectors: u64) {
        let Some(which) = which.checked_rem(self.under_way.len()) else { return };
        let io = &mut self.under_way[which];
        let base = (io.io.first * self.target.unit.bytes()) as usize;
        let all = io.buffer.len() / SECTOR;
        let most = if io.end == End::Whole { all } else { all / 2 };
        for _ in 0..sectors {
            if io.done >= most {
                return;
            }
            let (here, there) = (io.done * SECTOR, base + io.done * SECTOR);
            match io.kind {
                Kind::Read => io.buffer[here..here + SECTOR].copy_from_slice(&self.device[there..there + SECTOR]),
                Kind::Write => self.device[there..there + SECTOR].copy_from_slice(&io.buffer[here..here + SECTOR]),
                Kind::WriteZeroes => self.device[there..there + SECTOR].fill(0),
                Kind::Discard if self.target.discards_to_zeros => self.device[there..there + SECTOR].fill(0),
                // A device may return anything.
                Kind::Discard if there.is_multiple_of(1024) => self.device[there..there + SECTOR].fill(0x99),
                Kind::Discard => {}
            }
            io.done += 1;
        }
    }

    fn complete(&mut self, which: usize) {
        let Some(which) = which.checked_rem(self.under_way.len()) else { return };
        self.progress(which, 1 << 20);
        let Started { kind, io, end, buffer, noted, done } = self.under_way.swap_remove(which);
        let change = match (end, kind) {
            (End::Whole, Kind::Write) => Change::Written,
            (End::Whole, Kind::Discard) => Change::Discarded,
            (End::Whole, Kind::WriteZeroes) => Change::Zeroed,
            (_, Kind::Read) => {
                let unit_bytes = self.target.unit.bytes() as usize;
                let whole = if matches!(end, End::Failed | End::Cancelled) { 0 } else { done * SECTOR / unit_bytes };
                for ((unit, bytes), noted) in (io.first..).zip(buffer.chunks(unit_bytes)).zip(noted).take(whole) {
                    match self.target.check(unit, bytes, noted, io.time_us) {
                        Verdict::Right => self.checked += 1,
                        Verdict::NotCheckable => {}
                        Verdict::Unfinished => unreachable!("there is an expectation"),
                        Verdict::Wrong(class) => self.wrong.push((unit, class)),
                    }
                }
                return;
            }
            _ => Change::Failed,
        };
        self.target.finish(&io, change);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Start { kind, first, length, end } => _ = self.start(kind, first, length, end),
            Step::Progress { which, sectors } => self.progress(which, sectors),
            Step::Complete { which } => self.complete(which),
            Step::Rotate => {
                if self.under_way.is_empty() {
                    self.device.fill(0);
                    self.target.map.forget();
                }
            }
        }
    }

    fn write(&mut self, first: u64, length: u64) {
        assert!(self.start(Kind::Write, first, length, End::Whole));
        self.complete(self.under_way.len() - 1);
    }

    fn read_all(&mut self) -> Vec<(u64, Class)> {
        assert!(self.start(Kind::Read, 0, UNITS, End::Whole));
        self.complete(self.under_way.len() - 1);
        std::mem::take(&mut self.wrong)
    }

    fn unit(&mut self, unit: u64) -> &mut [u8] {
        let bytes = self.target.unit.bytes() as usize;
        &mut self.device[unit as usize * bytes..][..bytes]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_device_that_is_right_is_never_said_to_be_wrong(
        steps in prop::collection::vec(step(), 1..400),
        unit_bytes in prop_oneof![Just(512_u64), Just(1024), Just(4096)],
        discards_to_zeros in any::<bool>(),
        is_exact in any::<bool>(),
    ) {
        let map_bytes = if is_exact { u64::MAX } else { 1 << 20 };
        let mut simulation = Simulation::new(target(unit_bytes, discards_to_zeros, map_bytes));
        for step in steps {
            simulation.step(step);
            prop_assert_eq!(&simulation.wrong, &vec![]);
        }
        while !simulation.under_way.is_empty() {
            simulation.complete(0);
        }
        prop_assert_eq!(simulation.read_all(), vec![]);
    }

    #[test]
    fn each_fault_is_found_under_its_name(
        writes in prop::collection::vec((0..UNITS, 1_u64..5), 0..60),
        unit in 0..UNITS,
        place in 0_usize..4096,
        sectors in 1_usize..8,
        fault in 0_usize..7,
    ) {
        let mut simulation = Simulation::new(target(4096, true, u64::MAX));
        simulation.write(0, UNITS);
        for (first, length) in writes {
            simulation.write(first.min(UNITS - length), length);
        }
        let old = simulation.unit(unit).to_vec();
        simulation.write(unit, 1);
        prop_assert_eq!(simulation.read_all(), vec![]);
        let other = (unit + 5) % UNITS;
        let expected = match fault {
            0 => {
                simulation.unit(unit).copy_from_slice(&old);
                Class::Lost
            }
            1 => {
                simulation.unit(unit)[sectors * SECTOR..].copy_from_slice(&old[sectors * SECTOR..]);
                Class::Torn
            }
            2 => {
                let moved = simulation.unit(other).to_vec();
                simulation.unit(unit).copy_from_slice(&moved);
                Class::Misdirected
            }
            3 => {
                simulation.unit(unit)[place] ^= 1 << (place % 8);
                Class::Rot
            }
            4 => {
                simulation.unit(unit).fill(0);
                Class::Zeros
            }
            5 => {
                simulation.unit(unit).fill(0x5A);
                Class::Foreign
            }
            _ => {
                simulation.unit(unit)[..sectors * SECTOR].copy_from_slice(&old[..sectors * SECTOR]);
                Class::Torn
            }
        };
        prop_assert_eq!(simulation.read_all(), vec![(unit, expected)]);
        // The next write repairs it.
        simulation.write(unit, 1);
        prop_assert_eq!(simulation.read_all(), vec![]);
    }
}

#[test]
fn the_simulation_checks_much_of_what_it_reads() {
    let mut simulation = Simulation::new(target(4096, true, u64::MAX));
    simulation.write(0, UNITS);
    simulation.read_all();
    assert_eq!(simulation.checked, UNITS);
}

#[test]
fn zeros_that_were_something_else_during_a_read_are_not_wrong() {
    let mut simulation = Simulation::new(target(1024, false, u64::MAX));
    let change = |simulation: &mut Simulation, kind, end| {
        assert!(simulation.start(kind, 0, 3, end));
        simulation.complete(simulation.under_way.len() - 1);
    };
    change(&mut simulation, Kind::WriteZeroes, End::Whole);
    assert!(simulation.start(Kind::Read, 0, 3, End::Whole));
    change(&mut simulation, Kind::Discard, End::Failed);
    simulation.progress(0, 6);
    change(&mut simulation, Kind::WriteZeroes, End::Whole);
    simulation.complete(0);
    assert_eq!(simulation.wrong, vec![]);
    // Otherwise they are.
    simulation.unit(1)[7] = 7;
    assert_eq!(simulation.read_all(), vec![(1, Class::Rot)]);
}
