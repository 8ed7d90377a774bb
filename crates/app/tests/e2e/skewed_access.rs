//! `--skew`: offsets of I/Os in the kernel follow the distribution, and the report states what was drawn.

use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{TracedIo, Workplace, or_skip, workplace};

const BLOCK: u64 = 4096;

/// A directory with one file `a.dat` of this number of blocks.
fn place_with(blocks: usize) -> Workplace {
    let place = workplace!();
    place.file("a.dat", &vec![0; blocks * BLOCK as usize]);
    place
}

/// At least `count` I/Os of a run with these arguments, or the reason why there are fewer.
fn at_least(place: &Workplace, count: usize, words: &str) -> Result<Vec<TracedIo>, String> {
    let ios = place.traced(&format!("-d100 -W0 -o1 -b4K --max-ios={count} {words} a.dat"))?;
    if ios.len() < count { Err(format!("this machine does not trace {count} I/Os in 100 s")) } else { Ok(ios) }
}

/// Number of accesses to each block, counted from `base`.
fn by_block(ios: &[TracedIo], base: u64) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for io in ios {
        assert!(io.offset >= base && io.offset.is_multiple_of(BLOCK), "{}", io.offset);
        *counts.entry((io.offset - base) / BLOCK).or_default() += 1;
    }
    counts
}

/// Fails unless counts by rank follow the probabilities, which are merged into bins with at least 20 I/Os each; fails
/// by chance once in some 10,000 runs.
fn assert_follows(counts: impl Fn(usize) -> u64, law: &[f64], what: &str) {
    let (sum, all) = (law.iter().sum::<f64>(), (0..law.len()).map(&counts).sum::<u64>() as f64);
    let (mut bins, mut bin) = (Vec::new(), (0.0, 0.0));
    for (rank, weight) in law.iter().enumerate() {
        bin = (bin.0 + weight / sum * all, bin.1 + counts(rank) as f64);
        if bin.0 >= 20.0 {
            bins.push(std::mem::take(&mut bin));
        }
    }
    let chi: f64 = bins.iter().map(|(expected, found)| (found - expected).powi(2) / expected).sum();
    let free = bins.len() as f64 - 1.0;
    assert!(free >= 5.0 && chi < free + 4.5 * (2.0 * free).sqrt() + 9.0, "{what}: chi-square {chi} for {free}");
}

fn zipf(exponent: f64, positions: u32) -> Vec<f64> {
    (1..=positions).map(|rank| f64::from(rank).powf(-exponent)).collect()
}

/// The k hottest of n positions have the share (k/n)^e.
fn pareto(share: f64, positions: u32) -> Vec<f64> {
    let up_to = |rank: u32| (f64::from(rank) / f64::from(positions)).powf((1.0 - share).ln() / share.ln());
    (1..=positions).map(|rank| up_to(rank) - up_to(rank - 1)).collect()
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn offsets_follow_the_law() {
    let place = place_with(1024);
    for (words, base, law) in [
        ("-r --skew=zipf:1.0,contiguous", 0, zipf(1.0, 1024)),
        ("-r --skew=zipf:0.6,contiguous -B64K:1M -w50 --overwrite", 64 << 10, zipf(0.6, 256)),
        ("-r --skew=zipf:1.4,contiguous -t2", 0, zipf(1.4, 1024)),
        ("-r --skew=pareto:0.2,contiguous -f2M", 0, pareto(0.2, 512)),
    ] {
        let counts = by_block(&or_skip!(at_least(&place, 3000, words)), base);
        assert_follows(|rank| counts.get(&(rank as u64)).copied().unwrap_or_default(), &law, words);
        assert!(counts.keys().all(|block| *block < law.len() as u64), "{words}");
    }
    // Every other position only.
    let counts = by_block(&or_skip!(at_least(&place, 3000, "-r8K --skew=zipf:1.0,contiguous")), 0);
    assert!(counts.keys().all(|block| block % 2 == 0));
    assert_follows(|rank| counts.get(&(2 * rank as u64)).copied().unwrap_or_default(), &zipf(1.0, 512), "-r8K");
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn hot_positions_are_scattered_and_the_same_for_all_threads_of_a_seed() {
    let place = place_with(1024);
    // The hottest blocks of each thread, in order: their probabilities are far apart.
    let hottest = |words: &str| {
        let traced = || {
            let mut threads: BTreeMap<u32, Vec<TracedIo>> = BTreeMap::new();
            for io in at_least(&place, 4000, &format!("-r --skew=zipf:2.0 {words}"))? {
                threads.entry(io.thread).or_default().push(io);
            }
            Ok::<_, String>(threads)
        };
        // On a busy machine, one of two threads may do nearly all I/Os; they are retried.
        let count = if words.contains("-t2") { 2 } else { 1 };
        let mut threads = traced()?;
        for _ in 0..5 {
            if threads.len() == count && threads.values().all(|ios| ios.len() > 1000) {
                break;
            }
            threads = traced()?;
        }
        let of_thread = |ios: Vec<TracedIo>| {
            let mut blocks: Vec<(u64, u64)> =
                by_block(&ios, 0).into_iter().map(|(block, count)| (count, block)).collect();
            blocks.sort_unstable();
            blocks.iter().rev().take(3).map(|(_, block)| *block).collect::<Vec<_>>()
        };
        Ok::<_, String>(threads.into_values().map(of_thread).collect::<Vec<_>>())
    };
    let seven = or_skip!(hottest("-z7 -t2"));
    let [first, second] = seven.as_slice() else { panic!("two threads: {seven:?}") };
    assert_eq!(first, second);
    assert!(first.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 1), "{first:?} lie together");
    assert_eq!(or_skip!(hottest("-z7"))[0], *first);
    assert_ne!(or_skip!(hottest("-z8"))[0], *first);
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn a_seed_gives_the_same_offsets_and_mixes_jump_to_hot_ones() {
    let place = place_with(1024);
    let offsets = |words: &str| {
        let ios = place.traced(&format!("-d100 -W0 -o1 -b4K -w30 --max-ios=100 --overwrite {words} a.dat"))?;
        Ok::<_, String>(ios.iter().map(|io| (io.offset, io.write)).collect::<Vec<_>>())
    };
    let pareto = or_skip!(offsets("-r -z3 --skew=pareto:0.3"));
    assert_eq!(pareto, or_skip!(offsets("-r -z3 --skew=pareto:0.3")));
    assert_ne!(pareto, or_skip!(offsets("-r -z4 --skew=pareto:0.3")));
    // Half of all I/Os jump, nearly all of them to the first block; the others follow the I/O before.
    let ios = or_skip!(at_least(&place, 2000, "-rs50 --skew=zipf:4,contiguous"));
    let to_first = ios.iter().filter(|io| io.offset == 0).count() as f64 / ios.len() as f64;
    assert!((to_first - 0.5 * 0.924).abs() < 0.06, "{to_first}");
    let follows = ios.windows(2).filter(|pair| pair[1].offset == pair[0].offset + BLOCK).count();
    assert!(follows * 5 > ios.len() * 2, "{follows} of {}", ios.len());
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn the_report_tells_what_was_drawn() {
    let place = place_with(1024);
    let ios = or_skip!(at_least(&place, 3000, "-r --skew=zipf:1.1,contiguous --json r.json --text r.txt --xml r.xml"));
    let measured = place.measured("r.json");
    let skew = &measured["skews"][0];
    assert_eq!(
        skew["skew"],
        serde_json::json!({"law": "zipf", "parameter_millionths": 1_100_000, "is_contiguous": true})
    );
    assert_eq!((skew["positions"].as_u64(), skew["alignment_bytes"].as_u64()), (Some(1024), Some(BLOCK)));
    let counts = by_block(&ios, 0);
    let law = zipf(1.1, 1024);
    for (share, (percent, positions)) in [(1, 11), (10, 103), (20, 205)].into_iter().enumerate() {
        let share = &skew["hottest"][share];
        assert_eq!((&share["positions_percent"], &share["positions"]), (&percent.into(), &positions.into()));
        let seen = counts.range(..positions).map(|(_, count)| count).sum::<u64>() as f64 / ios.len() as f64 * 100.0;
        let drawn = share["drawn_percent"].as_f64().expect("there were I/Os");
        // All but the first and last moments of the run are measured.
        assert!((drawn - seen).abs() < 0.5, "{percent} %: {drawn} drawn, {seen} seen");
        let expected = law[..positions as usize].iter().sum::<f64>() / law.iter().sum::<f64>() * 100.0;
        assert!((share["law_percent"].as_f64().expect("a number") - expected).abs() < 1e-9, "{percent} %");
    }
    // 1,024 positions have a stratum each, so this is exact but for the ends of the run.
    let touched = skew["touched_positions"].as_u64().expect("a count");
    assert!(touched.abs_diff(counts.len() as u64) <= 5, "{touched} reported, {} seen", counts.len());
    let text = String::from_utf8(place.content("r.txt")).expect("it is UTF-8");
    for line in [
        "\nI/Os on the hottest positions of 'a.dat', skew zipf:1.1 (contiguous)\n",
        "\n     1 % ",
        "\n    10 % ",
        "\n    20 % ",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // Other forms of the result agree, and so does the page.
    place.diskspd("report --output again.json r.xml").run().expect_status(0);
    let again: Value = place.json("again.json");
    assert_eq!(again["time_spans"][0]["measured"]["skews"], measured["skews"]);
    place.diskspd("report --output r.html r.json").run().expect_status(0);
    assert!(String::from_utf8_lossy(&place.content("r.html")).contains("on the hottest positions"));
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn every_engine_draws_by_the_law() {
    let place = place_with(20_000);
    for engine in ["", "--engine=sync", "--engine=aio", "-u4", "--engine=null", "-Sm", "-F2 -O8", "--rate=20000"] {
        let words = format!("-d60 -W0 -b4K -t2 -o4 -r --skew=zipf:0.9 --max-ios=20000 --json r.json {engine} a.dat");
        let words = if engine.starts_with("-F") { words.replace("-t2 -o4 ", "") } else { words };
        place.diskspd(&words).run().expect_status(0);
        let measured = place.measured("r.json");
        let skew = &measured["skews"][0];
        let (made, ios) = (skew["draws"].as_u64(), measured["total"]["total"]["ios"].as_u64());
        let (made, ios) = made.zip(ios).expect("counts");
        assert!(ios > 0 && made.abs_diff(ios) <= 64, "{engine}: {made} made, {ios} I/Os");
        for share in skew["hottest"].as_array().expect("three shares") {
            let share_of = |name: &str| share[name].as_f64().expect("a number") / 100.0;
            let (drawn, law) = (share_of("drawn_percent"), share_of("law_percent"));
            let deviation = (law * (1.0 - law) / made as f64).sqrt();
            assert!((drawn - law).abs() < 5.0 * deviation, "{engine}: {drawn} {law} of {made}");
        }
    }
}

// Shows switches: --skew=<zipf|pareto>:<parameter>[,contiguous]
#[test]
fn plans_profiles_and_errors_name_it() {
    let place = place_with(1024);
    let run = place.diskspd("-b4K -r --skew=pareto:0.2 --plan a.dat").run();
    run.expect_status(0);
    let line = "random I/Os skewed by pareto:0.2, scattered: 53.3% on the hottest 1%, 72.7% on the hottest 10% and \
                80.0% on the hottest 20%";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    let run = place.diskspd("-b4K -r --skew=zipf:0.95,contiguous -Rpxml a.dat").run();
    run.expect_status(0);
    assert!(run.stdout.contains("<Skew>zipf:0.95,contiguous</Skew>"), "{}", run.stdout);
    place.file("p.xml", run.stdout.as_bytes());
    place.diskspd("-Xp.xml -d60 -W0 --max-ios=500 --json r.json").run().expect_status(0);
    assert_eq!(place.measured("r.json")["skews"][0]["skew"]["parameter_millionths"], 950_000);
    place.diskspd("-Xp.xml -d60 -W0 --max-ios=500 --json r.json --skew=zipf:2").run().expect_status(0);
    assert_eq!(place.measured("r.json")["skews"][0]["skew"]["parameter_millionths"], 2_000_000);
    let before = place.content("a.dat");
    for (words, expected) in [
        ("--skew=zipf:5 -r", "'--skew=zipf:5': 'zipf:5' is not a skew (expected: zipf:<exponent above 0, up to 4> or"),
        ("--skew=normal:1 -r", "'normal:1' is not a skew"),
        ("--skew -r", "'-r' is not a skew"),
        ("--skew=zipf:1", "--skew needs random I/O; add -r or -rs"),
        ("--skew=zipf:1 -r -rdpct90/10", "--skew and -rd cannot be used together"),
    ] {
        let run = place.diskspd(&format!("-b4K -w100 --overwrite {words} a.dat")).run();
        run.expect_status(3);
        assert!(run.stderr.contains(expected), "{words}: {}", run.stderr);
    }
    assert_eq!(place.content("a.dat"), before);
}
