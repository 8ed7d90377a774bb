//! A mix of sizes and kinds against a file system of known speed: fio has the same results for the same mix.

use serde_json::Value;
use std::time::Duration;
use testkit::{Faulty, Metronome, Service, Workplace, or_skip, tool, workplace};

/// Results of a run.
#[derive(Clone, Copy, Debug)]
struct Speed {
    bytes_per_s: f64,
    mean_ns: f64,
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {value}"))
}

fn ours(place: &Workplace, file: &str, seed: usize) -> Speed {
    let mix = "-b4K -r -w30 -o8 -L -Su --sizes=4K/60:8K/30:64K/10";
    let run = place.diskspd(&format!("-d2 -W0 -z{seed} {mix} --overwrite --json r{seed}.json {file}")).run();
    run.expect_status(0);
    let result: Value = place.json(&format!("r{seed}.json"));
    let measured = &result["time_spans"][0]["measured"];
    Speed {
        bytes_per_s: number(measured, "/total/total/bytes") / number(measured, "/elapsed_ns") * 1e9,
        mean_ns: number(measured, "/total_latency/total/figures/mean_ns"),
    }
}

fn fio(place: &Workplace, fio: &std::path::Path, file: &str, seed: usize) -> Speed {
    // With its map of blocks, fio shortens I/Os that would touch a block again: its mix has fewer bytes than specified.
    let mix =
        "--rw=randrw --rwmixread=70 --bssplit=4k/60:8k/30:64k/10 --iodepth=8 --direct=1 --randrepeat=1 --norandommap";
    let job = format!("--name=mix --filename={file} --ioengine=io_uring --time_based --runtime=2 --output-format=json");
    let run = place.tool(fio).args(mix).args(&format!("--randseed={seed}")).args(&job).run();
    assert!(run.status.success(), "{run}");
    let result: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let value = |kind: &str, path: &str| number(&result["jobs"][0][kind], path);
    let ios = value("read", "/total_ios") + value("write", "/total_ios");
    let time = |kind: &str| value(kind, "/total_ios") * value(kind, "/lat_ns/mean");
    Speed {
        bytes_per_s: value("read", "/bw_bytes") + value("write", "/bw_bytes"),
        mean_ns: (time("read") + time("write")) / ios,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "compares speeds"]
fn fio_finds_the_same_speed_with_the_same_mix() {
    let place = workplace!();
    let program = or_skip!(tool("fio"));
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    // Long enough that the CPU use of other programs is negligible.
    faulty.serve(Service::ByLength { each: Duration::from_micros(300), bytes_per_s: 100 << 20 });
    let file = faulty.file.display().to_string();
    let metronome = Metronome::start();
    let runs: Vec<(Speed, Speed)> =
        (1..=3).map(|seed| (ours(&place, &file, seed), fio(&place, &program, &file, seed))).collect();
    // A program that waits for a CPU is slower than the file system.
    or_skip!(metronome.verdict());
    for (what, of) in [("bytes/s", (|speed| speed.bytes_per_s) as fn(Speed) -> f64), ("mean", |speed| speed.mean_ns)] {
        let [ours, theirs] =
            [median(runs.iter().map(|run| of(run.0)).collect()), median(runs.iter().map(|run| of(run.1)).collect())];
        assert!((ours / theirs - 1.0).abs() < 0.05, "{what}: {ours} and fio {theirs}; {runs:?}");
    }
}
