//! A simulated device with a volatile cache that loses power: the verdict of the run's history on each unit equals the
//! device's own state, whether it honours flushes or not.

use hot::rng::Rng;
use model::corruption::CorruptionClass as Class;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use verify::generation::Generation;
use verify::history::{AfterCut, History};
use verify::log::{self, Change, Encoder, Flush, Kind, LogReader, LoggedTarget};
use verify::map::GenerationMap;
use verify::saved::SavedTarget;
use verify::target::{self, TargetCounters, VerifiedTarget, WriteIo};
use verify::unit::{Header, Pool, Traits, UnitSize};

const RUN: u64 = 77;
const UNITS: u64 = 24;
const SECTOR: usize = 512;
const THREADS: u32 = 3;

/// The effect of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Honesty {
    /// All completed writes are on the medium.
    Honest,
    /// No write is.
    Ignores,
    /// Some sectors are not.
    LosesSome,
}

/// A sector's content, and the number of its change: 0 = before the run.
type Version = (u64, Vec<u8>);

struct Sector {
    medium: Version,
    /// Versions in the cache, in the order of the changes.
    cached: Vec<Version>,
    /// The change that must survive.
    durable: u64,
}

struct UnderWay {
    change: Change,
    io: WriteIo,
    data: Vec<u8>,
    sectors_left: Vec<usize>,
    is_write_through: bool,
}

struct Device {
    target: VerifiedTarget,
    pool: Pool,
    sectors: Vec<Sector>,
    under_way: Vec<(u32, u32, UnderWay)>,
    /// Of each thread.
    logs: Vec<Vec<u64>>,
    count: u64,
    time_us: u64,
    honesty: Honesty,
    /// By unit: the last change that completed.
    completed: BTreeMap<u64, u64>,
    erases: bool,
    rng: Rng,
}

impl Device {
    fn new(seed: u64, unit_bytes: u64, honesty: Honesty, erases: bool) -> Self {
        let mut rng = Rng::new(seed);
        let unit = UnitSize::new(unit_bytes).expect("a power of two");
        let is_zero = rng.below(2) == 0;
        let sectors = (0..UNITS * unit_bytes / SECTOR as u64).map(|_| {
            let content = vec![if is_zero { 0 } else { rng.below(256) as u8 }; SECTOR];
            Sector { medium: (0, content), cached: Vec::new(), durable: 0 }
        });
        let sectors = sectors.collect();
        let cells = (0..GenerationMap::cell_count(UNITS, u64::MAX)).map(|_| AtomicU64::new(0)).collect();
        let map = GenerationMap::new(cells, UNITS);
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
            sectors,
            under_way: Vec::new(),
            logs: vec![Vec::new(); THREADS as usize],
            count: 1,
            time_us: 0,
            honesty,
            completed: BTreeMap::new(),
            erases,
            rng,
        }
    }

    fn ticket(&mut self) -> u64 {
        self.time_us += 1 + self.rng.below(2);
        self.count += 1;
        self.count - 1
    }

    fn sectors_of(&self, first: u64, length: u64) -> std::ops::Range<usize> {
        let each = self.target.unit.bytes() as usize / SECTOR;
        first as usize * each..(first + length) as usize * each
    }

    fn begin(&mut self) {
        let length = 1 + self.rng.below(4);
        let first = self.rng.below(UNITS - length + 1);
        let thread = self.rng.below(THREADS.into()) as u32;
        if !self.target.map.claim(first..first + length) {
            return;
        }
        let ticket = self.ticket();
        let kind = match self.rng.below(10) {
            0 => Kind::WriteThrough,
            1 if self.erases => Kind::Zeroes,
            2 if self.erases => Kind::Discard,
            _ => Kind::Write,
        };
        let io =
            WriteIo { first, length: length as u32, thread, sequence: ticket, time_us: self.time_us, written_units: 0 };
        let mut data = vec![0; (length * self.target.unit.bytes()) as usize];
        if kind.is_write() {
            self.target.make(&mut data, first, &io, Some(&self.pool));
        }
        let change = Change { kind, ticket, target: 0, first, length: length as u32, time_us: self.time_us };
        let request =
            (0..1000).find(|request| !self.under_way.iter().any(|(by, other, _)| (*by, *other) == (thread, *request)));
        let request = request.expect("there are many");
        let words = Encoder::new(RUN, thread).begin(request, &change);
        self.logs[thread as usize].extend(words);
        let sectors_left = self.sectors_of(first, length).collect();
        let is_write_through = kind == Kind::WriteThrough;
        self.under_way.push((thread, request, UnderWay { change, io, data, sectors_left, is_write_through }));
    }

    /// Some of the sectors of a change reach the cache, in any order.
    fn progress(&mut self) {
        let Some(which) = self.any_under_way() else { return };
        for _ in 0..=self.rng.below(12) {
            self.store_one(which);
        }
    }

    fn any_under_way(&mut self) -> Option<usize> {
        let count = self.under_way.len() as u64;
        (count > 0).then(|| self.rng.below(count) as usize)
    }

    fn store_one(&mut self, which: usize) -> bool {
        let (_, _, UnderWay { change, data, sectors_left, .. }) = &mut self.under_way[which];
        if sectors_left.is_empty() {
            return false;
        }
        let sector = sectors_left.swap_remove(self.rng.below(sectors_left.len() as u64) as usize);
        let base = change.first as usize * self.target.unit.bytes() as usize / SECTOR;
        let content = data[(sector - base) * SECTOR..][..SECTOR].to_vec();
        self.sectors[sector].cached.push((change.ticket, content));
        true
    }

    fn complete(&mut self) {
        let Some(which) = self.any_under_way() else { return };
        let fails = self.rng.below(20) == 0;
        while !fails && self.store_one(which) {}
        let (thread, request, UnderWay { change, io, is_write_through, .. }) = self.under_way.swap_remove(which);
        let units = change.first..change.first + u64::from(change.length);
        if fails {
            self.target.finish(&io, target::Change::Failed);
        } else {
            let left = if change.kind.is_write() { target::Change::Written } else { target::Change::Zeroed };
            self.target.finish(&io, left);
            self.completed.extend(units.map(|unit| (unit, change.ticket)));
        }
        if is_write_through && !fails {
            self.promise(self.sectors_of(change.first, change.length.into()));
        }
        let count = (!fails).then_some(self.count);
        let end = Encoder::new(RUN, thread).end(request, change.ticket, count);
        self.logs[thread as usize].push(end);
    }

    /// The device acknowledges these sectors as durable, in their current version.
    fn promise(&mut self, sectors: std::ops::Range<usize>) {
        for sector in sectors {
            // Changes in flight are excluded.
            let is_under_way = |ticket: u64| self.under_way.iter().any(|(_, _, io)| io.change.ticket == ticket);
            let cached = self.sectors[sector].cached.iter().map(|version| version.0);
            let last = cached.filter(|&ticket| !is_under_way(ticket)).max();
            // The result of a failed change is kept by accident only.
            let unit = (sector * SECTOR) as u64 / self.target.unit.bytes();
            let completed = self.completed.get(&unit).copied().unwrap_or(0);
            let keeps = match self.honesty {
                Honesty::Honest => true,
                Honesty::Ignores => false,
                Honesty::LosesSome => self.rng.below(8) > 0,
            };
            let sector = &mut self.sectors[sector];
            if let Some(last) = last.filter(|_| keeps) {
                sector.write_back(last);
            }
            sector.durable = completed;
        }
    }

    fn flush(&mut self) {
        let thread = self.rng.below(THREADS.into()) as u32;
        let flush = Flush { ticket: self.ticket(), target: 0, time_us: self.time_us };
        let encoder = Encoder::new(RUN, thread);
        self.logs[thread as usize].extend(encoder.begin_flush(&flush));
        // A flush during which the power fails promises nothing.
        if self.rng.below(8) == 0 {
            return;
        }
        let failed = self.rng.below(16) == 0;
        if !failed {
            self.promise(0..self.sectors.len());
        }
        self.logs[thread as usize].push(encoder.end_flush(!failed));
    }

    /// The cache writes back arbitrary versions.
    fn evict(&mut self) {
        for _ in 0..self.rng.below(8) {
            let sector = self.rng.below(self.sectors.len() as u64) as usize;
            let Some(&(ticket, _)) = self.sectors[sector].cached.last() else { continue };
            self.sectors[sector].write_back(ticket);
        }
    }

    /// The power fails, and data that was not on the medium is lost.
    fn cut(&mut self) {
        if self.rng.below(2) == 0 {
            self.evict();
        }
    }

    fn unit(&self, unit: u64) -> (Vec<u8>, Vec<&Sector>) {
        let sectors: Vec<&Sector> = self.sectors[self.sectors_of(unit, 1)].iter().collect();
        (sectors.iter().flat_map(|sector| sector.medium.1.iter().copied()).collect(), sectors)
    }

    fn log(&self, thread: u32, lost_words: usize) -> Vec<u8> {
        let mut file = log::head(RUN, thread);
        file.resize(log::HEAD_BYTES as usize, 0);
        let words = &self.logs[thread as usize];
        let kept = words.len().saturating_sub(lost_words);
        file.extend(words[..kept].iter().flat_map(|word| word.to_le_bytes()));
        file.extend([0; 64]);
        file
    }

    fn history(&self, lost_words: usize) -> History {
        self.history_without(|_| lost_words)
    }

    /// The history from logs that have lost their last words.
    fn history_without(&self, lost_words: impl Fn(u32) -> usize) -> History {
        let target = SavedTarget {
            target: 0,
            path: b"a".to_vec(),
            names: Vec::new(),
            identity: (1, 2),
            size_bytes: UNITS * self.target.unit.bytes(),
            unit_bytes: self.target.unit.bytes() as u32,
            is_exact: true,
        };
        let logged = LoggedTarget { target, is_erased: self.erases, discards_to_zeros: true, is_direct: true };
        let mut history = History::new(RUN, &[logged], u64::MAX).expect("a valid unit");
        let logs: Vec<Vec<u8>> = (0..THREADS).map(|thread| self.log(thread, lost_words(thread))).collect();
        let is_whole = (0..THREADS).all(|thread| lost_words(thread) == 0);
        let reader = |thread: u32| LogReader::new(&logs[thread as usize][..], RUN, thread).expect("memory");
        for thread in 0..THREADS {
            let mut log = reader(thread);
            history.take_flushes(|| log.next_entry()).expect("memory");
            assert!(!log.ended_early());
            history.take_tickets(log.tickets());
        }
        // Every change that began has a record.
        assert!(!is_whole || history.missing(0) == 0, "{history:?}");
        history.begin_changes().expect("memory");
        for thread in 0..THREADS {
            let mut log = reader(thread);
            history.take_changes(|| log.next_entry()).expect("memory");
        }
        history.ends_early = !is_whole;
        history
    }
}

impl Sector {
    /// The change with this ticket reaches the medium, if it is in the cache, and earlier ones are forgotten.
    fn write_back(&mut self, ticket: u64) {
        if let Some(at) = self.cached.iter().position(|version| version.0 == ticket) {
            self.medium = self.cached.drain(..=at).next_back().expect("at least one");
        }
    }
}

fn run(seed: u64, unit_bytes: u64, honesty: Honesty, erases: bool) -> Device {
    let mut device = Device::new(seed, unit_bytes, honesty, erases);
    for _ in 0..20 + device.rng.below(400) {
        match device.rng.below(20) {
            0..7 => device.begin(),
            7..12 => device.progress(),
            12..17 => device.complete(),
            17 => device.flush(),
            _ => device.evict(),
        }
    }
    device.cut();
    device
}

/// The true state of a unit.
fn truth(device: &Device, unit: u64) -> AfterCut {
    let (_, sectors) = device.unit(unit);
    let versions: Vec<u64> = sectors.iter().map(|sector| sector.medium.0).collect();
    let completed = device.completed.get(&unit).copied().unwrap_or(0);
    if sectors.iter().any(|sector| sector.medium.0 < sector.durable) {
        return AfterCut::Wrong(Class::Lost);
    }
    match versions[0] {
        first if versions.iter().any(|version| *version != first) => AfterCut::Torn,
        version if version < completed => AfterCut::Unflushed,
        0 => AfterCut::NotCheckable,
        _ => AfterCut::Right,
    }
}

#[test]
fn each_answer_after_a_cut_equals_what_the_device_knows() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..600 {
        let honesty = [Honesty::Honest, Honesty::Ignores, Honesty::LosesSome][seed as usize % 3];
        let unit_bytes = [4096, 512, 1024][seed as usize / 3 % 3];
        let device = run(seed, unit_bytes, honesty, false);
        let history = device.history(0);
        for unit in 0..UNITS {
            let (bytes, _) = device.unit(unit);
            let (found, truth) = (history.targets[0].check(unit, &bytes, false), truth(&device, unit));
            let about = format!("seed {seed}, unit {unit}: {:?}", history.targets[0].unit_history(unit));
            match (found, truth) {
                (AfterCut::Wrong(_), AfterCut::Wrong(_)) => assert_ne!(honesty, Honesty::Honest, "{about}"),
                // Zeros from before the run are as good as none.
                (AfterCut::Right, AfterCut::NotCheckable) => assert!(bytes.iter().all(|&byte| byte == 0), "{about}"),
                _ => assert_eq!(found, truth, "{about}"),
            }
            let name = format!("{found:?}");
            *counts.entry(name.split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    for name in ["Right", "Unflushed", "Torn", "NotCheckable", "Wrong"] {
        assert!(counts.get(name).is_some_and(|&count| count > 100), "{counts:?}");
    }
}

#[test]
fn with_discards_or_without_the_end_of_the_logs_nothing_is_said_to_be_lost_that_is_not() {
    let (mut wrong, mut missing) = (0, 0);
    for seed in 1000..1600 {
        let honesty = [Honesty::Honest, Honesty::LosesSome][seed as usize % 2];
        let device = run(seed, [4096, 512][seed as usize / 2 % 2], honesty, seed % 3 > 0);
        for lost_words in [0, 1, 7, 100] {
            let history = device.history(lost_words);
            missing += u64::from(history.missing(THREADS) > 0);
            for unit in 0..UNITS {
                let (bytes, _) = device.unit(unit);
                let found = history.targets[0].check(unit, &bytes, history.ends_early);
                if let AfterCut::Wrong(_) = found {
                    let truth = truth(&device, unit);
                    let about =
                        format!("seed {seed}, unit {unit}, {lost_words}: {:?}", history.targets[0].unit_history(unit));
                    assert!(matches!(truth, AfterCut::Wrong(_)), "{found:?} is {truth:?}: {about}");
                    wrong += 1;
                }
            }
        }
    }
    assert!(wrong > 1000 && missing > 100, "{wrong} {missing}");
}

/// Only the target shows that the logs lack their ends.
#[test]
fn logs_that_lost_their_ends_unnoticed_accuse_nobody() {
    let (mut ahead, mut not_ahead) = (0, 0);
    for seed in 2000..2400 {
        let device = run(seed, [4096, 512][seed as usize % 2], Honesty::Honest, false);
        let units: Vec<Vec<u8>> = (0..UNITS).map(|unit| device.unit(unit).0).collect();
        let is_ahead =
            |history: &History| (0..).zip(&units).any(|(unit, bytes)| history.targets[0].is_ahead(unit, bytes));
        assert!(!is_ahead(&device.history(0)), "seed {seed}");
        for lost_words in [1, 4, 5, 9, 40] {
            for of_thread in 0..=THREADS {
                let is_lost = |thread| of_thread == THREADS || thread == of_thread;
                let history = device.history_without(|thread| if is_lost(thread) { lost_words } else { 0 });
                let is_seen = is_ahead(&history);
                *(if is_seen { &mut ahead } else { &mut not_ahead }) += 1;
                let ends_early = is_seen || history.missing(THREADS) > 0;
                for (unit, bytes) in (0..).zip(&units) {
                    let found = history.targets[0].check(unit, bytes, ends_early);
                    let about = format!("seed {seed}, unit {unit}, {lost_words} of {of_thread}");
                    assert!(!matches!(found, AfterCut::Wrong(_)), "{found:?}: {about}");
                }
            }
        }
    }
    assert!(ahead > 100 && not_ahead > 100, "{ahead} {not_ahead}");
}

/// A write in flight may tear a unit, but it changes no single bits.
#[test]
fn changed_bits_of_a_header_are_rot_though_a_write_was_in_flight() {
    let mut found = 0;
    for seed in 3000..3100 {
        let device = run(seed, [4096, 512][seed as usize % 2], Honesty::Honest, false);
        let history = device.history(0);
        for unit in 0..UNITS {
            let (mut bytes, _) = device.unit(unit);
            if history.targets[0].check(unit, &bytes, false) != AfterCut::Right || !bytes.starts_with(b"DSKSPD") {
                continue;
            }
            let mut rng = Rng::new(seed * 1000 + unit);
            let bits = [0, 1].map(|_| rng.below(512) as usize);
            for bit in bits {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            if bits[0] != bits[1] {
                assert_eq!(history.targets[0].check(unit, &bytes, true), AfterCut::Wrong(Class::Rot), "{bits:?}");
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn data_of_an_earlier_run_is_a_lost_write_whatever_its_place() {
    let device = run(1, 4096, Honesty::Honest, false);
    let history = device.history(0);
    let target = &history.targets[0];
    let unit = (0..UNITS).find(|unit| target.unit_history(*unit).durable.is_some()).expect("a flush completed");
    for other in [unit, unit + 1] {
        let mut bytes = vec![0; 4096];
        let header = Header {
            run: RUN - 1,
            target: 0,
            unit: other,
            generation: Generation::new(1, 1),
            thread: 0,
            sequence: 1,
            distance: 0,
            length: 1,
            unit_bytes: 4096,
            traits: Traits::default(),
            written_units: 0,
            is_extended: true,
        };
        Pool::new(header.run).write(&mut bytes, &header);
        assert_eq!(target.check(unit, &bytes, false), AfterCut::Wrong(Class::Lost), "{other}");
    }
}
