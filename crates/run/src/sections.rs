//! Latencies of the section that a worker is in, and the way of closed sections to the control thread.
//!
//! The worker counts in tables of its own. When it comes to another section it puts what they hold into a
//! queue, which the control thread empties into the sums of all workers: so memory does not grow with
//! sections times threads. A queue that is full is no loss: the tables then go on with the next section,
//! and the two become one.

use crate::times::tally;
use hot::buckets::{self, COARSE_COUNT};
use hot::counters::{self, Counter, TALLY_CELLS, TallyCells, TallyValues};
use model::limits::SECTION_QUEUE_WORDS;
use model::operation::{ByOperation, Operation};
use model::record::Tally;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use sys::mapping::{untouched_cells, untouched_table};

/// Reads or writes of a section: what is known beside the buckets.
const SIDE_WORDS: usize = TALLY_CELLS + 2;

const _: () = assert!(2 + (Operation::TRANSFERS.len() + 1) * (SIDE_WORDS + COARSE_COUNT) <= SECTION_QUEUE_WORDS);

/// A bucket in one word: its number above, its count below.
const COUNT_BITS: u32 = 48;

const _: () = assert!(COARSE_COUNT <= 1 << (u64::BITS - COUNT_BITS));

/// Counters of one worker in its section.
#[derive(Debug)]
pub(crate) struct SectionCells {
    /// By operation.
    sides: ByOperation<SideCells>,
    /// Response times in an open loop, all operations together.
    response: Option<SideCells>,
    /// The section that the tables begin with, and the one that the worker is in.
    first: Counter,
    last: Counter,
    queue: Queue,
}

/// Latencies by coarse bucket.
pub(crate) type Histogram = [AtomicU64; COARSE_COUNT];

/// Counts a latency by its bucket; only the owner may.
#[inline]
pub(crate) fn count(histogram: &Histogram, bucket: usize) {
    let cell = &histogram[buckets::coarse(bucket)];
    cell.store(cell.load(Relaxed) + 1, Relaxed);
}

#[derive(Debug)]
struct SideCells {
    histogram: Box<Histogram>,
    tally: TallyCells,
    bytes: Counter,
}

/// Counts of one worker in a section, or in several that it could not tell apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SectionPart {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// By operation.
    pub(crate) sides: ByOperation<SidePart>,
    /// Response times in an open loop.
    pub(crate) response: Option<SidePart>,
}

/// Reads or writes of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SidePart {
    pub(crate) tally: Tally,
    pub(crate) bytes: u64,
    /// Coarse buckets, ascending.
    pub(crate) buckets: Vec<(u32, u64)>,
}

impl SectionCells {
    pub(crate) fn new(is_open_loop: bool) -> Self {
        let side =
            || SideCells { histogram: untouched_table(), tally: TallyCells::default(), bytes: Counter::default() };
        Self {
            sides: ByOperation::new(|_| side()),
            response: is_open_loop.then(side),
            first: Counter::default(),
            last: Counter::default(),
            queue: Queue::new(),
        }
    }

    /// Touches the memory of the latencies from 1 µs to 1 s, as [`buckets::Buckets::touch`].
    pub(crate) fn touch(&self) {
        let used = buckets::coarse(buckets::index(1_000))..buckets::coarse(buckets::index(1_000_000_000));
        let transfers = Operation::TRANSFERS.map(|operation| &self.sides[operation]);
        for side in transfers.into_iter().chain(&self.response) {
            for cell in &side.histogram[used.clone()] {
                cell.store(cell.load(Relaxed), Relaxed);
            }
        }
    }

    /// Where latencies are [counted](count); the rest is [added](Self::add) later.
    #[inline]
    pub(crate) fn histogram(&self, operation: Operation) -> &Histogram {
        &self.sides[operation].histogram
    }

    /// Counts a response time.
    #[inline]
    pub(crate) fn respond(&self, response_ns: u64) {
        if let Some(side) = &self.response {
            count(&side.histogram, buckets::index(response_ns));
            counters::record(&side.tally, response_ns);
        }
    }

    /// The sides that others see: nothing over time is about I/Os that transfer no data.
    fn all_sides(&self) -> impl Iterator<Item = &SideCells> {
        Operation::TRANSFERS.map(|operation| &self.sides[operation]).into_iter().chain(&self.response)
    }

    /// Adds moments and bytes of I/Os whose latencies were recorded.
    pub(crate) fn add(&self, operation: Operation, values: TallyValues, bytes: u64) {
        let side = &self.sides[operation];
        counters::set(&side.tally, counters::values(&side.tally).merge(values));
        side.bytes.add(bytes);
    }

    /// The worker comes to another section.
    pub(crate) fn begin_section(&self, section: u64) {
        let message = [self.first.get(), self.last.get()];
        let size = self.all_sides().map(|side| SIDE_WORDS + side.non_empty().count()).sum::<usize>();
        if self.queue.has_room(message.len() + size) {
            for word in message {
                self.queue.push(word);
            }
            for side in self.all_sides() {
                for cell in &side.tally {
                    self.queue.push(cell.load(Relaxed));
                }
                self.queue.push(side.bytes.get());
                self.queue.push(side.non_empty().count() as u64);
                for (bucket, count) in side.non_empty() {
                    self.queue.push((bucket as u64) << COUNT_BITS | count);
                }
                side.clear();
            }
            self.queue.publish();
            self.first.set(section);
        }
        self.last.set(section);
    }

    /// Takes the oldest section out of the queue. Only the control thread may.
    pub(crate) fn take(&self) -> Option<SectionPart> {
        let mut words = self.queue.taken()?;
        let (first, last) = (words.next(), words.next());
        let mut side = || {
            let cells = TallyCells::default();
            for cell in &cells {
                cell.store(words.next(), Relaxed);
            }
            let (bytes, size) = (words.next(), words.next());
            let bucket = |word: u64| ((word >> COUNT_BITS) as u32, word & ((1 << COUNT_BITS) - 1));
            let buckets = (0..size).map(|_| bucket(words.next())).collect();
            SidePart { tally: tally(counters::values(&cells)), bytes, buckets }
        };
        let sides = ByOperation::new(|operation| if operation.transfers_data() { side() } else { SidePart::default() });
        let response = self.response.is_some().then(side);
        words.finish();
        Some(SectionPart { first, last, sides, response })
    }

    /// The section that is not closed. Reads only; complete once the worker counts no more.
    pub(crate) fn unclosed(&self) -> SectionPart {
        let part = |side: &SideCells| SidePart {
            tally: tally(counters::values(&side.tally)),
            bytes: side.bytes.get(),
            // All of it: the tally does not yet know the latest extremes.
            buckets: non_empty(&side.histogram[..], 0).map(|(bucket, count)| (bucket as u32, count)).collect(),
        };
        let sides = ByOperation(self.sides.0.each_ref().map(part));
        SectionPart {
            first: self.first.get(),
            last: self.last.get(),
            sides,
            response: self.response.as_ref().map(part),
        }
    }
}

impl SideCells {
    /// The buckets that are not empty: between those of the extremes.
    fn non_empty(&self) -> impl Iterator<Item = (usize, u64)> {
        let values = counters::values(&self.tally);
        let bucket = |latency_ns| buckets::coarse(buckets::index(latency_ns));
        let used = if values.count > 0 { bucket(values.min_ns)..bucket(values.max_ns) + 1 } else { 0..0 };
        non_empty(&self.histogram[used.clone()], used.start)
    }

    fn clear(&self) {
        for (bucket, _) in self.non_empty() {
            self.histogram[bucket].store(0, Relaxed);
        }
        counters::set(&self.tally, TallyValues::default());
        self.bytes.set(0);
    }
}

fn non_empty(cells: &[AtomicU64], first: usize) -> impl Iterator<Item = (usize, u64)> {
    let counts = cells.iter().enumerate().map(move |(index, cell)| (first + index, cell.load(Relaxed)));
    counts.filter(|&(_, count)| count > 0)
}

/// Words from one thread to another.
#[derive(Debug)]
struct Queue {
    words: Box<[AtomicU64]>,
    /// Words ever pushed; the writer alone knows those that are not published yet.
    pushed: Counter,
    published: AtomicU64,
    taken: AtomicU64,
}

impl Queue {
    fn new() -> Self {
        let words = untouched_cells(SECTION_QUEUE_WORDS);
        Self { words, pushed: Counter::default(), published: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    fn has_room(&self, words: usize) -> bool {
        self.pushed.get() - self.taken.load(Acquire) + words as u64 <= self.words.len() as u64
    }

    fn push(&self, word: u64) {
        self.word(self.pushed.get()).store(word, Relaxed);
        self.pushed.add(1);
    }

    fn publish(&self) {
        self.published.store(self.pushed.get(), Release);
    }

    /// The words that were published and not taken, if there are any.
    fn taken(&self) -> Option<QueueReader<'_>> {
        let next = self.taken.load(Relaxed);
        (next < self.published.load(Acquire)).then_some(QueueReader { queue: self, next })
    }

    fn word(&self, index: u64) -> &AtomicU64 {
        &self.words[index as usize % SECTION_QUEUE_WORDS]
    }
}

/// Words on their way out of a queue.
struct QueueReader<'a> {
    queue: &'a Queue,
    next: u64,
}

impl QueueReader<'_> {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.queue.word(self.next - 1).load(Relaxed)
    }

    /// Their places may be used again.
    fn finish(self) {
        self.queue.taken.store(self.next, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(cells: &SectionCells, latency_ns: u64) {
        super::count(cells.histogram(Operation::Read), buckets::index(latency_ns));
        let one = TallyCells::default();
        counters::record(&one, latency_ns);
        cells.add(Operation::Read, counters::values(&one), 4096);
    }

    #[test]
    fn closed_sections_come_out_in_order_and_leave_nothing_behind() {
        let cells = SectionCells::new(false);
        for section in 0..1000u64 {
            count(&cells, 1000 + section);
            count(&cells, 1_000_000);
            cells.begin_section(section + 1);
            let part = cells.take().expect("one was closed");
            assert_eq!((part.first, part.last, cells.take()), (section, section, None));
            let read = &part.sides[Operation::Read];
            assert_eq!((read.tally.count, read.tally.min_ns, read.tally.max_ns), (2, 1000 + section, 1_000_000));
            let bucket = |latency_ns| buckets::coarse(buckets::index(latency_ns)) as u32;
            assert_eq!(
                (read.bytes, &read.buckets[..]),
                (8192, &[(bucket(1000 + section), 1), (bucket(1_000_000), 1)][..])
            );
            assert_eq!(part.sides[Operation::Write], SidePart::default());
        }
    }

    #[test]
    fn sections_that_nobody_takes_become_one() {
        let cells = SectionCells::new(false);
        let sections = 10_000u64;
        for section in 0..sections {
            count(&cells, 5000);
            cells.begin_section(section + 1);
        }
        count(&cells, 5000);
        let mut parts: Vec<SectionPart> = std::iter::from_fn(|| cells.take()).collect();
        parts.push(cells.unclosed());
        assert!(parts.len() < sections as usize, "the queue is not that long");
        assert_eq!(parts.iter().map(|part| part.sides[Operation::Read].tally.count).sum::<u64>(), sections + 1);
        let mut next = 0;
        for part in &parts {
            assert_eq!(part.first, next);
            assert_eq!(part.last + 1 - part.first, part.sides[Operation::Read].tally.count);
            next = part.last + 1;
        }
        assert_eq!(next, sections + 1);
    }
}
