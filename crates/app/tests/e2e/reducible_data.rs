//! `--compress` and `--dedupe`: the data on disk compresses and repeats as requested, and the report states the ratios.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write as _;
use testkit::{Workplace, workplace};

const BLOCK: usize = 4096;
const MIB: usize = 1 << 20;

/// Size divided by its size after gzip.
fn gzip_ratio(content: &[u8]) -> f64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory takes it");
    content.len() as f64 / encoder.finish().expect("memory takes it").len() as f64
}

/// Percent of the blocks that are equal to another one.
fn equal_percent(content: &[u8]) -> f64 {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    content.chunks(BLOCK).for_each(|block| *counts.entry(block).or_default() += 1);
    let equal: usize = counts.values().filter(|count| **count > 1).sum();
    equal as f64 / (content.len() / BLOCK) as f64 * 100.0
}

fn reductions(place: &Workplace, document: &str) -> Value {
    place.measured(document)["reductions"].take()
}

// Shows switches: --compress=<ratio>
#[test]
fn files_are_created_and_written_with_data_that_compresses() {
    let place = workplace!();
    for (ratio, tolerance) in [(1.0, 0.01), (2.0, 0.05), (5.0, 0.15), (10.0, 0.5), (15.0, 0.75)] {
        place.diskspd(&format!("-c4M -d60 -W0 -b64K --max-ios=1 --compress={ratio} a.dat")).run().expect_status(0);
        let created = place.content("a.dat");
        let found = gzip_ratio(&created);
        assert!((found - ratio).abs() <= tolerance, "created: {found} instead of {ratio}");
        assert!(equal_percent(&created) < 0.1, "{ratio}");
        // Each byte is written once.
        place.diskspd(&format!("-d60 -W0 -b64K -w100 --max-bytes=4M --compress={ratio} a.dat")).run().expect_status(0);
        let written = place.content("a.dat");
        let found = gzip_ratio(&written);
        assert!((found - ratio).abs() <= tolerance, "written: {found} instead of {ratio}");
        assert!(equal_percent(&written) < 0.1, "{ratio}");
        let unchanged = created.chunks(BLOCK).zip(written.chunks(BLOCK)).filter(|(before, after)| before == after);
        assert_eq!(unchanged.count(), 0, "{ratio}: what was created is written anew");
        std::fs::remove_file(place.path("a.dat")).expect("it was made above");
    }
}

// Shows switches: --dedupe=<percent>
#[test]
fn blocks_repeat_in_files_of_all_threads_and_targets() {
    let place = workplace!();
    let words = "-c32M -d60 -W0 -b16K -r -t2 -o4 -w100 --max-bytes=128M --dedupe=30 --compress=2";
    place.diskspd(&format!("{words} a.dat b.dat")).run().expect_status(0);
    // Ranges never written have the data of their creation: with the same share of repeated blocks.
    let [a, b] = ["a.dat", "b.dat"].map(|name| place.content(name));
    for content in [&a, &b] {
        assert_eq!(content.len(), 32 * MIB);
        let equal = equal_percent(content);
        // Four deviations of 8,192 draws.
        assert!((equal - 30.0).abs() < 2.1, "{equal}");
    }
    // Only the repeated blocks are in both.
    let shared = equal_percent(&[a.as_slice(), b.as_slice()].concat());
    assert!((shared - 30.0).abs() < 2.1, "{shared}");
}

// Shows switches: --compress=<ratio>
// Shows switches: --dedupe=<percent>
#[test]
fn every_engine_writes_such_data() {
    let place = workplace!();
    for engine in ["", "--engine=sync", "--engine=aio", "-u4", "-Sm", "-F2 -O8", "--sizes=4K/50:16K/50"] {
        let options = if engine.starts_with("-F") { "" } else { "-t2 -o4" };
        place.create_file("a.dat", "-c2M -Zr");
        let words = format!("-d60 -W0 -b4K -r -w100 --max-ios=4000 --compress=4 --dedupe=50 {options} {engine}");
        let run = place.diskspd(&format!("{words} --json r.json a.dat")).run();
        run.expect_status(0);
        // 4,000 draws from 512 positions leave 0.04 % untouched.
        let content = place.content("a.dat");
        let ratio = gzip_ratio(&content);
        assert!(ratio > 3.5 && ratio < 4.6, "{engine}: {ratio}");
        let found = &reductions(&place, "r.json")[0];
        let equal = found["equal_blocks_percent"].as_f64().expect("blocks were written");
        assert!((equal - 50.0).abs() < 4.0, "{engine}: {found}");
        std::fs::remove_file(place.path("a.dat")).expect("it was made above");
    }
}

// Shows switches: --compress=<ratio>
// Shows switches: --dedupe=<percent>
#[test]
fn the_report_tells_what_was_written() {
    let place = workplace!();
    let words = "-c1M -d60 -W0 -b8K -r -w50 --max-ios=8000 --overwrite --compress=3 --dedupe=20";
    place.diskspd(&format!("{words} --json r.json --text r.txt --xml r.xml a.dat")).run().expect_status(0);
    let found = reductions(&place, "r.json");
    let only = &found[0];
    assert_eq!(only["asked"], json!({"compress_ratio_millionths": 3_000_000, "dedupe_percent": 20}));
    assert_eq!(only["sample_bytes"], 256 << 10);
    for name in ["zstd_ratio", "lz4_ratio"] {
        let ratio = only[name].as_f64().expect("something was written");
        assert!((ratio - 3.0).abs() < 0.3, "{name}: {only}");
    }
    let blocks = only["compared_blocks"].as_u64().expect("a count");
    assert!(blocks.abs_diff(8000) < 400, "half of the I/Os write two blocks: {only}");
    let equal = only["equal_blocks_percent"].as_f64().expect("blocks were written");
    assert!((equal - 20.0).abs() < 2.0, "{only}");
    let text = String::from_utf8(place.content("r.txt")).expect("it is UTF-8");
    for line in [
        "\nCompressibility of the written data\n".to_owned(),
        format!(
            "\n a.dat            3  {:.2}  {:.2}  256 KiB       20 %       {equal:.2} %     ",
            only["zstd_ratio"].as_f64().unwrap_or(0.0),
            only["lz4_ratio"].as_f64().unwrap_or(0.0)
        ),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
    place.diskspd("report --output again.json r.xml").run().expect_status(0);
    assert_eq!(reductions(&place, "again.json"), found);
    place.diskspd("report --output r.html r.json").run().expect_status(0);
    let page = String::from_utf8_lossy(&place.content("r.html")).into_owned();
    assert!(page.contains("Compressibility of the written data"));
    assert!(page.contains("writes data that compresses 3:1, 20% repeated"), "the load line");
    // Nothing is reported without these options.
    place.diskspd("-d1 -W0 -b8K -w100 --max-ios=10 --overwrite --json r.json a.dat").run().expect_status(0);
    assert_eq!(reductions(&place, "r.json"), json!([]));
}

// Shows switches: --compress=<ratio>
// Shows switches: --dedupe=<percent>
#[test]
fn plans_profiles_and_jobs_name_it() {
    let place = workplace!();
    let run = place.diskspd("-c1M -b4K -w30 --compress=2.5 --dedupe=10 --plan a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "creates 1MiB of newly generated data that compresses 2.5:1, with 10% repeated blocks",
        "30% writes of newly generated data that compresses 2.5:1, with 10% repeated blocks",
    ]);
    place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-b4K -w30 --compress=2.50 --dedupe=10 -Rpxml a.dat").run();
    run.expect_status(0).expect_stdout(&["<Compress>2.5</Compress>", "<Dedupe>10</Dedupe>"]);
    place.file("p.xml", run.stdout.as_bytes());
    let job = "form = \"diskspd-job/1\"\n[[time_spans]]\nduration_s = 60\nwarm_up_s = 0\n[[time_spans.targets]]\n\
               path = \"a.dat\"\nblock_size = \"4K\"\nwrite_percent = 50\ncompress_ratio = 1.5\ndedupe_percent = 5\n";
    place.file("j.toml", job.as_bytes());
    place.diskspd("run j.toml --max-ios=500 --json r.json").run().expect_status(0);
    assert_eq!(
        reductions(&place, "r.json")[0]["asked"],
        json!({"compress_ratio_millionths": 1_500_000, "dedupe_percent": 5})
    );
    place.file("odd.toml", job.replace("ratio = 1.5", "ratio = 0.5").as_bytes());
    let run = place.diskspd("run odd.toml").run();
    run.expect_status(3);
    assert!(run.stderr.contains("compress_ratio: '0.5' is not a compression ratio"), "{}", run.stderr);
    place.diskspd("-Xp.xml -d60 -W0 --max-ios=500 --json r.json").run().expect_status(0);
    assert_eq!(reductions(&place, "r.json")[0]["asked"]["compress_ratio_millionths"], 2_500_000);
    place.diskspd("-Xp.xml -d60 -W0 --max-ios=500 --json r.json --compress=4").run().expect_status(0);
    assert_eq!(reductions(&place, "r.json")[0]["asked"]["compress_ratio_millionths"], 4_000_000);
}

// Shows switches: --compress=<ratio>
// Shows switches: --dedupe=<percent>
#[test]
fn what_cannot_be_is_refused_and_nothing_is_touched() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let before = place.content("a.dat");
    for (words, expected) in [
        ("-w100 --compress=0.5", "'0.5' is not a compression ratio (expected: a number from 1 to 15"),
        ("-w100 --compress=16", "the ratio (--compress) must be 1 to 15, not 16"),
        ("-w100 --compress=12 -b2K", "--compress=12 needs writes that are multiples of 4096 bytes, not 2048"),
        ("-w100 --compress=2:1", "'2:1' is not a compression ratio"),
        ("-w100 --dedupe=101", "'101' is not a whole number"),
        ("--compress=2", "--compress needs data that is written; add -w<percent>, or -c<size>"),
        ("--dedupe=2 --discard=10", "--dedupe needs data that is written"),
        ("-w100 --compress=2 -Z", "--compress cannot be used with -Z: both say what is written"),
        ("-w100 --compress=2 -Zr", "--compress cannot be used with -Zr: both say what is written"),
        ("-w100 --dedupe=2 -Z1M", "--dedupe cannot be used with -Z<size>: both say what is written"),
        (
            "-w100 --dedupe=2 -b512",
            "--dedupe repeats blocks of 4 KiB, but the sizes or offsets of writes are multiples",
        ),
        ("-w100 --dedupe=2 -r512", "multiples of 512 bytes: use multiples of 4K"),
    ] {
        let block = if words.contains("-b") { "" } else { "-b4K" };
        let run = place.diskspd(&format!("{block} -d1 --overwrite {words} a.dat")).run();
        run.expect_status(3);
        assert!(run.stderr.contains(expected), "{words}: {}", run.stderr);
    }
    assert_eq!(place.content("a.dat"), before);
}
