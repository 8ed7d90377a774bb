//! Pages and charts of recordings of the monitor, alone and below a run.

use super::{charts, page, series, words};
use serde_json::{Value, json};
use testkit::{Workplace, workplace};

const CHARTS: [&str; 5] = ["device-iops", "device-throughput", "device-latency", "device-queue", "device-busy"];

/// Requests of 4 KiB in a second, each of this many milliseconds.
fn requests(count: u64, time_ms: u64) -> Value {
    let latency_ns = (count > 0).then_some(time_ms as f64 * 1e6);
    json!({
        "count": count, "merged_count": 0, "bytes": count * 4096, "time_ms": count * time_ms, "per_s": count,
        "merged_per_s": 0.0, "bytes_per_s": count * 4096, "size_bytes": 4096.0, "latency_ns": latency_ns,
        "queue_length": count as f64 * time_ms as f64 / 1e3,
    })
}

/// A recording of as many seconds as there are counts, in each of which sda did this number of reads of 2 ms; from the
/// third second on sdb did twice as many.
pub(crate) fn record(place: &Workplace, start_unix_ns: i64, counts: &[u64]) {
    let begin = json!({
        "kind": "begin", "schema": "diskspd-monitor", "schema_version": 1, "tool_version": "0.1.0",
        "host": "<b>&amp;", "started_at_unix_ns": start_unix_ns, "interval_ns": 1_000_000_000,
        "devices": [{
            "name": "sda", "kind": "disk", "mapped_name": null, "model": "ACME <9000>", "size_bytes": 1u64 << 40,
            "transport": "virtio", "scheduler": "none", "rotational": true,
        }],
        "machine": {
            "processor_name": "Example 9", "cpu_count": 8,
            "environment": {
                "kernel_release": "6.1.0-test", "kernel_version": null, "distribution": "Debian <12>",
                "hypervisor": {"named": "KVM"}, "memory_bytes": 8u64 << 30, "cgroup_limits": [],
            },
        },
    });
    let mut text = format!("{begin}\n");
    for (number, count) in (1i64..).zip(counts) {
        let rates = |count: u64| {
            json!({
                "read": requests(count, 2), "write": requests(0, 0), "discard": null, "flush": null,
                "latency_ns": 2e6, "queue_length": 0.5, "in_flight_count": 0, "busy_percent": 25.0,
            })
        };
        let mut devices = json!({"sda": rates(*count), "sdz": rates(0)});
        if number > 2 {
            devices["sdb"] = rates(count * 2);
        }
        let interval = json!({
            "kind": "interval", "number": number, "ended_at_unix_ns": start_unix_ns + number * 1_000_000_000,
            "end_ns": number * 1_000_000_000, "interval_ns": 1_000_000_000, "devices": devices,
        });
        text += &interval.to_string();
        text.push('\n');
    }
    text.push_str("{\"kind\":\"end\",\"interval_count\":4,\"missed_count\":0}\n");
    place.file("m.jsonl", text.as_bytes());
}

#[test]
fn a_recording_is_drawn_device_by_device() {
    let place = workplace!();
    record(&place, 1_800_000_000_000_000_000, &[100, 200, 300, 400]);
    let page = page(&place, "m.jsonl");
    assert_eq!(charts(&page), [CHARTS, CHARTS].concat(), "the busiest first, and none of what did nothing");
    let text = words(&page);
    for part in [
        "<b>&amp;",
        "sda, virtio disk, ACME <9000>, 1 TiB",
        "8 CPUs",
        "6.1.0-test",
        "Debian <12>",
        "the guest's kernel reports it as rotational, but does not see the disks of the host",
        "Means over 4 s of recording, in 4 intervals",
        "2027/01/15",
        "sdb did most: 700 requests/s on average, at most 800 requests/s (3.12 MiB/s)",
        "Its peak began at 3 s of the recording: 800 reads/s and 0 writes/s of 4 KiB on average, mean latency 2 ms.",
        "sdb was not saturated for a whole interval: ",
        "See which programs do this I/O",
        "diskspd sweep '--vary=o=1..64*2' -- -c4G -b4K -r -Su -L -d60 FILE",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("sdz"), "{text}");
    // sdb comes first; it did not exist for two seconds.
    let reads = series(&page, "device-iops", "reads");
    assert_eq!(reads.x.last(), Some(&3.5));
    let known: Vec<f64> = reads.y.iter().copied().filter(|y| y.is_finite()).collect();
    assert_eq!(known, [600.0, 800.0]);
    assert!(series(&page, "device-latency", "reads").texts.last().is_some_and(|text| text.contains("2 ms")));
}

#[test]
fn one_chart_of_a_recording_is_a_file() {
    let place = workplace!();
    record(&place, 0, &[5, 6]);
    place.diskspd("report m.jsonl -o a.svg --chart device-busy").run().expect_status(0);
    assert!(place.content("a.svg").starts_with(b"<svg"));
    let run = place.diskspd("report m.jsonl -o b.svg --chart iops").run();
    run.expect_status(1).expect_stderr(&["unknown chart 'iops' (available: device-iops, device-throughput"]);
}

#[test]
fn devices_stand_under_a_run_on_its_time_axis() {
    let place = workplace!();
    place.diskspd("-c1M -d2 -W0 -C0 -L --json r.json a.dat").run().expect_status(0);
    let document: Value = place.json("r.json");
    let started = document["started_at_unix_ns"].as_i64().expect("a time");
    // Begun three seconds before the run: the fourth and fifth interval are those of the run.
    record(&place, started - 3_000_000_000, &[7, 8, 9, 400, 500, 10, 11]);
    let page = page(&place, "r.json --monitor m.jsonl");
    assert!(charts(&page).starts_with(&["iops"]) && charts(&page).ends_with(&CHARTS));
    let reads = series(&page, "device-iops", "reads");
    assert_eq!((reads.x.first(), reads.y.iter().take(2).collect::<Vec<_>>()), (Some(&0.5), vec![&800.0, &1000.0]));
    record(&place, 0, &[1, 2]);
    assert!(
        words(&super::page(&place, "r.json --monitor m.jsonl"))
            .contains("Check that the recording belongs to this run")
    );
}

#[test]
fn what_is_no_recording_is_refused() {
    let place = workplace!();
    record(&place, 0, &[1]);
    place.file("no.jsonl", b"{\"kind\":\"interval\"}\n");
    place.diskspd("-c1M -d1 -W0 --json r.json a.dat").run().expect_status(0);
    for (words, status, parts) in [
        (
            "m.jsonl --slowest",
            1,
            &["'m.jsonl' is a recording of diskspd monitor, not a result: diskspd report prints it and makes its page"]
                [..],
        ),
        ("r.json -o p.html --monitor r.json", 1, &["'r.json': line 1: not a line of a diskspd monitor recording"]),
        ("r.json -o p.html --monitor no.jsonl", 1, &["'no.jsonl': line 1: not a line of a diskspd monitor recording"]),
        ("m.jsonl -o p.html --monitor m.jsonl", 1, &["--monitor needs the result of a single run"]),
        ("r.json -o m.jsonl.html --monitor missing", 1, &["cannot read 'missing'"]),
        ("r.json -o p.svg --monitor m.jsonl", 3, &["--monitor needs exactly one result"]),
    ] {
        let run = place.diskspd("report").args(words).run();
        run.expect_status(status).expect_stderr(parts);
    }
}
