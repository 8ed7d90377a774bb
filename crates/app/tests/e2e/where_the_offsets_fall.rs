//! Offsets, sizes and directions of I/Os in the kernel: strace of the synchronous engine, which is used if a thread has
//! one request. Expected sequences are those of the specification.

use std::collections::{BTreeMap, BTreeSet};
use testkit::{TracedIo, Workplace, or_skip, workplace};

const KIB: u64 = 1 << 10;

/// A directory with one file `a.dat` of this size, not made by diskspd; runs may write it.
fn place_with(size_bytes: usize) -> Workplace {
    let place = workplace!();
    place.file("a.dat", &vec![0; size_bytes]);
    place
}

/// At least `count` I/Os of a run with these arguments, or the reason why there are fewer.
fn at_least(place: &Workplace, count: usize, words: &str) -> Result<Vec<TracedIo>, String> {
    let ios = place.traced(&format!("-d100 -W0 -o1 --max-ios={count} {words} a.dat"))?;
    if ios.len() < count { Err(format!("this machine does not trace {count} I/Os in 100 s")) } else { Ok(ios) }
}

/// Offsets by thread, in the order of the threads' first I/Os at these offsets.
fn by_thread(ios: &[TracedIo]) -> Vec<Vec<u64>> {
    let mut threads: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for io in ios {
        threads.entry(io.thread).or_default().push(io.offset);
    }
    threads.into_values().collect()
}

/// Offsets of each of this number of threads, all of which have done enough I/Os; the reason if one of them was delayed
/// by other programs.
fn of_threads(
    place: &Workplace,
    count: usize,
    words: &str,
    is_enough: impl Fn(&[u64]) -> bool,
) -> Result<Vec<Vec<u64>>, String> {
    for _ in 0..6 {
        let threads = by_thread(&place.traced(words)?);
        assert!(threads.len() <= count, "{words}: {} threads", threads.len());
        if threads.len() == count && threads.iter().all(|offsets| is_enough(offsets)) {
            return Ok(threads);
        }
    }
    Err(format!("others leave so little of the CPUs that one of {count} threads does nearly nothing in six runs"))
}

/// True if `count` of `all` matches this share, up to five standard deviations.
fn is_share(count: usize, all: usize, share: f64) -> bool {
    let (count, all) = (count as f64, all as f64);
    (count - all * share).abs() <= 5.0 * (all * share * (1.0 - share)).sqrt() + 1.0
}

/// Fails unless the sequence begins with `expected`.
fn begins(sequence: &[u64], expected: &[u64], what: &str) {
    assert!(sequence.starts_with(expected), "{what}: {:?}", &sequence[..sequence.len().min(expected.len() + 2)]);
}

// Shows switches: -b<size>[K|M|G|T|b]
// Shows switches: -B<base>[:<length>]
// Shows switches: -f<size>[K|M|G|T|b]
// Shows switches: -s[i][<stride>[K|M|G|T|b]]
#[test]
fn one_thread_follows_the_vectors_of_the_specification() {
    let place = place_with(3000);
    for (words, expected) in [
        ("-B1000 -b1000 -s500", vec![1000, 1500, 2000, 1000, 1500]),
        ("-B1000 -b1000 -si500", vec![1000, 1500, 2000, 1000, 1500]),
        ("-B1000 -b1000 -s500 -p", vec![1000, 1500, 2000, 1000, 1500]),
        ("-b1000 -s500", vec![0, 500, 1000, 1500, 2000, 0]),
        ("-b1000", vec![0, 1000, 2000, 0]),
        ("-b1000 -s0", vec![0, 1000, 2000, 0]),
        ("-b700", vec![0, 700, 1400, 2100, 0]),
        ("-b1000 -f2000", vec![0, 1000, 0]),
        ("-b500 -B500:1000", vec![500, 1000, 500]),
        ("-b500 -B500 -f1500", vec![500, 1000, 500]),
        ("-b500 -s2b", vec![0, 1000, 2000, 0]),
    ] {
        let ios = or_skip!(place.traced(&format!("-d100 -W0 -o1 --max-ios=20 {words} a.dat")));
        let offsets: Vec<u64> = ios.iter().map(|io| io.offset).collect();
        begins(&offsets, &expected, words);
        let block = words.split("-b").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|size| size.parse().ok());
        assert!(ios.iter().all(|io| Some(io.length) == block && !io.write), "{words}");
    }
}

// Shows switches: -T<size>[K|M|G|T|b]
#[test]
fn threads_start_a_stride_apart_and_keep_their_phase() {
    let place = place_with(3000);
    for (stride, alignment, block, first, second) in [
        (250, 500, 1000, vec![0, 500, 1000, 1500, 2000, 0, 500], vec![250, 750, 1250, 1750, 250, 750]),
        (750, 500, 1000, vec![0, 500, 1000, 1500, 2000, 0, 500], vec![750, 1250, 1750, 250, 750, 1250]),
        (500, 250, 1000, vec![0, 250, 500], vec![500, 750, 1000, 1250, 1500, 1750, 2000, 0, 250]),
        (
            500,
            200,
            200,
            vec![0, 200, 400],
            vec![500, 700, 900, 1100, 1300, 1500, 1700, 1900, 2100, 2300, 2500, 2700, 100, 300, 500],
        ),
    ] {
        let words = format!("-d100 -W0 -o1 -t2 -g100i -T{stride} -s{alignment} -b{block} --max-ios=100 a.dat");
        let least = first.len().max(second.len());
        let threads = or_skip!(of_threads(&place, 2, &words, |ios| ios.len() >= least));
        let (a, b) = if threads[0][0] == 0 { (&threads[0], &threads[1]) } else { (&threads[1], &threads[0]) };
        begins(a, &first, &words);
        begins(b, &second, &words);
    }
}

// Shows switches: -s[i][<stride>[K|M|G|T|b]]
#[test]
fn interlocked_threads_share_one_sequence() {
    let place = place_with(64 << 10);
    let words = "-d100 -W0 -o1 -t3 -si4K -b4K -g200i --max-ios=600 a.dat";
    let ios = or_skip!(of_threads(&place, 3, words, |_| true)).concat();
    // Threads may overtake each other between taking an offset and using it: within any pass of 16 blocks, each occurs
    // once, except for those in flight.
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for offset in ios {
        *counts.entry(offset).or_default() += 1;
    }
    assert!(counts.keys().copied().eq((0..16).map(|block| block * 4 * KIB)), "{counts:?}");
    let (fewest, most) = (counts.values().min(), counts.values().max());
    assert!(most <= fewest.map(|count| count + 3).as_ref(), "{counts:?}");
}

// Shows switches: -B<base>[:<length>]
// Shows switches: -r[<align>[K|M|G|T|b]]
#[test]
fn random_offsets_are_aligned_inside_the_range_and_everywhere() {
    let place = place_with(256 << 10);
    for (words, alignment, base, positions) in [
        ("-r -b4K", 4 * KIB, 0, 64),
        ("-r8K -b4K", 8 * KIB, 0, 32),
        ("-r1K -b4K", KIB, 0, 253),
        ("-r -b4K -B64K:64K", 4 * KIB, 64 * KIB, 16),
        ("-r -b16K -f128K", 16 * KIB, 0, 8),
        ("-r -b1000 -B100:10000", 1000, 100, 10),
        ("-rs100 -b4K", 4 * KIB, 0, 64),
    ] {
        let ios = or_skip!(at_least(&place, 5000, words));
        let met: BTreeSet<u64> = ios.iter().map(|io| io.offset).collect();
        let all: BTreeSet<u64> = (0..positions).map(|position| base + position * alignment).collect();
        assert_eq!(met, all, "{words}");
        // Uniform: chi-square has `positions - 1` on average, with a deviation of sqrt(2 positions).
        let expected = ios.len() as f64 / positions as f64;
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        for io in &ios {
            *counts.entry(io.offset).or_default() += 1.0;
        }
        let chi: f64 = counts.values().map(|count| (count - expected).powi(2) / expected).sum();
        let free = positions as f64 - 1.0;
        assert!(chi < free + 6.0 * (2.0 * free).sqrt(), "{words}: not uniform, chi-square {chi} for {free}");
    }
}

// Shows switches: -rs<percent>
#[test]
fn mixed_loads_jump_as_often_as_they_should() {
    let place = place_with(4 << 20);
    for (words, stride, share) in [("-rs25 -b4K", 4 * KIB, 0.25), ("-rs60 -r8K -b4K", 8 * KIB, 0.6)] {
        let ios = or_skip!(at_least(&place, 1000, words));
        let last = (4 << 20) - 4 * KIB;
        let continues = |pair: &[TracedIo]| match pair[0].offset + stride {
            next if next > last => pair[1].offset == 0,
            next => pair[1].offset == next,
        };
        let sequential = ios.windows(2).filter(|pair| continues(pair)).count();
        // One jump in 512 or more leads by chance to the offset of a continuation.
        assert!(is_share(sequential, ios.len() - 1, 1.0 - share * (1.0 - 1.0 / 800.0)), "{words}: {sequential}");
        assert!(ios.iter().all(|io| io.offset % stride == 0), "{words}");
    }
    // The direction of a sequential run is that of its start.
    let ios = or_skip!(at_least(&place, 1000, "-rs20 -b4K -w50 --overwrite"));
    let turns = ios.windows(2).filter(|pair| pair[0].offset + 4 * KIB == pair[1].offset);
    // A jump to the next block may change the direction.
    let (same, other): (Vec<_>, Vec<_>) = turns.partition(|pair| pair[0].write == pair[1].write);
    assert!(other.len() * 100 < same.len(), "{} of {} runs turn", other.len(), same.len());
}

// Shows switches: -rd(pct|abs)<IO%>/<length>:...
#[test]
fn distributions_put_their_share_in_each_range() {
    let place = place_with(1 << 20);
    for (words, ranges) in [
        ("-rdpct90/10:0/50:10/40", vec![(0, 104_857, 0.9), (629_145, 1 << 20, 0.1)]),
        ("-rdpct60/25", vec![(0, 262_144, 0.6), (262_144, 1 << 20, 0.4)]),
        ("-rdabs50/64K:30/128K", vec![(0, 65_536, 0.5), (65_536, 196_608, 0.3), (196_608, 1 << 20, 0.2)]),
    ] {
        let ios = or_skip!(at_least(&place, 1000, &format!("-r -b4K {words}")));
        let mut inside = 0;
        for (start, end, share) in ranges {
            // Ranges begin and end at whole blocks.
            let (start, end) = (start / 4096 * 4096, end / 4096 * 4096);
            let count = ios.iter().filter(|io| (start..end).contains(&io.offset)).count();
            assert!(is_share(count, ios.len(), share), "{words}: {count} of {} in {start}..{end}", ios.len());
            inside += count;
        }
        assert_eq!(inside, ios.len(), "{words}: outside of all ranges");
    }
}

// Shows switches: -w[<percent>]
#[test]
fn the_share_of_writes_is_kept() {
    let place = place_with(1 << 20);
    for (words, share) in [("-w0", 0.0), ("-w", 0.0), ("-w30 -r", 0.3), ("-w75", 0.75), ("-w100 -r", 1.0)] {
        let ios = or_skip!(at_least(&place, 1000, &format!("-b4K --overwrite {words}")));
        let writes = ios.iter().filter(|io| io.write).count();
        if share == 0.0 || (1.0 - share) == 0.0 {
            assert_eq!(writes, if share == 0.0 { 0 } else { ios.len() }, "{words}");
        } else {
            assert!(is_share(writes, ios.len(), share), "{words}: {writes} of {}", ios.len());
        }
    }
}

// Shows switches: -z[<seed>]
#[test]
fn equal_seeds_give_equal_offsets_and_others_do_not() {
    let place = place_with(4 << 20);
    let run = |words: &str| {
        // Of two threads, one may do more than its half.
        let (count, ios) = if words.contains("-t2") { (2, 400) } else { (1, 100) };
        for _ in 0..6 {
            let ios = place
                .traced(&format!("-d100 -W0 -o1 -g200i -b4K -r -w50 --max-ios={ios} --overwrite {words} a.dat"))?;
            let mut threads: BTreeMap<u32, Vec<(u64, bool)>> = BTreeMap::new();
            for io in &ios {
                threads.entry(io.thread).or_default().push((io.offset, io.write));
            }
            let begin = |ios: Vec<(u64, bool)>| Some(ios.get(..100)?.to_vec());
            if let Some(mut threads) = threads.into_values().map(begin).collect::<Option<Vec<_>>>()
                && threads.len() == count
            {
                threads.sort();
                return Ok(threads);
            }
        }
        Err("others leave so little of the CPUs that a thread does less than a quarter of the I/Os".to_owned())
    };
    let seven = or_skip!(run("-z7 -t2"));
    assert_eq!(seven, or_skip!(run("-z7 -t2")));
    assert_ne!(seven[0], seven[1], "threads with the same stream");
    assert_ne!(seven, or_skip!(run("-z8 -t2")));
    assert_eq!(or_skip!(run("")), or_skip!(run("-z0")), "without -z the seed is 0");
    assert_ne!(or_skip!(run("-z")), or_skip!(run("-z")), "-z alone takes a new seed");
}

// Shows switches: -F<count>
// Shows switches: -O<count>
#[test]
fn threads_of_a_pool_serve_all_targets() {
    let place = place_with(64 << 10);
    place.file("b.dat", &vec![0; 64 << 10]);
    let targets_of_threads = |words: &str| {
        for _ in 0..6 {
            let ios = place.traced(&format!("-d100 -W0 -b4K {words} a.dat b.dat"))?;
            let mut threads: BTreeMap<u32, BTreeMap<String, usize>> = BTreeMap::new();
            for io in ios {
                *threads.entry(io.thread).or_default().entry(io.path).or_default() += 1;
            }
            if threads.len() > 1 && threads.values().all(|targets| targets.values().sum::<usize>() > 20) {
                return Ok(threads.into_values().collect::<Vec<_>>());
            }
        }
        Err("others leave so little of the CPUs that one of two threads does nearly nothing in six runs".to_owned())
    };
    let own = or_skip!(targets_of_threads("-t1 -o1 -g100i --max-ios=100"));
    assert!(own.len() == 2 && own.iter().all(|targets| targets.len() == 1), "{own:?}");
    let pool = or_skip!(targets_of_threads("-F2 -O1 -r --max-ios=2000"));
    assert_eq!(pool.len(), 2);
    for targets in pool {
        let (a, b) = (targets["a.dat"], targets["b.dat"]);
        assert!(is_share(a, a + b, 0.5), "equal weights: {a} and {b}");
    }
}

// Shows switches: -i<count>
// Shows switches: -j<milliseconds>
#[test]
fn bursts_are_followed_by_pauses() {
    let place = place_with(1 << 20);
    for (words, burst, count) in [("-i10 -j100", 10, 1), ("-i10 -j100 -t2", 5, 2)] {
        let mut seen = Vec::new();
        for _ in 0..6 {
            let ios = or_skip!(place.traced(&format!("-d1 -W0 -o1 -b4K {words} a.dat")));
            let mut threads: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            for io in &ios {
                threads.entry(io.thread).or_default().push(io.at_us);
            }
            let is_paused = |starts: &Vec<u64>| {
                assert!(starts.len() <= burst * 11, "{words}: {} I/Os", starts.len());
                let pauses: Vec<u64> =
                    starts.windows(2).skip(burst - 1).step_by(burst).map(|pair| pair[1] - pair[0]).collect();
                !pauses.is_empty() && pauses.iter().all(|pause_us| *pause_us >= 50_000)
            };
            seen = threads.into_values().collect();
            if seen.len() == count && seen.iter().all(is_paused) {
                break;
            }
            // A thread may be delayed between the start of its pause and the call observed here, so that a pause looks
            // shorter; or it starts no second burst at all. It is retried.
            seen.clear();
        }
        assert!(!seen.is_empty(), "{words}: no pauses after bursts, in six runs");
    }
}

#[test]
fn the_end_that_no_block_reaches_is_noted() {
    let place = workplace!();
    place.file("a.dat", &vec![1; 100_000]);
    for (words, end) in
        [("-b4K", "1696 bytes"), ("-b4K -r", "1696 bytes"), ("-b1K", "672 bytes"), ("-b4K -s8K", ""), ("-b500", "")]
    {
        let run = place.diskspd("-d1 -W0 -n").args(words).arg("a.dat").run();
        run.expect_status(0);
        let note = format!("NOTE: no block reaches the last {end} of 'a.dat'");
        assert_eq!(
            run.stdout.contains(if end.is_empty() { "no block reaches" } else { &note }),
            !end.is_empty(),
            "{run}"
        );
    }
}
