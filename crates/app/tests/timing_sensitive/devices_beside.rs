//! A run saves the activity of the devices below its targets, as the kernel counted it.

use serde_json::Value;
use std::fs;
use std::path::Path;
use testkit::{Finished, Mounted, or_skip, workplace};

/// Reads and writes that a device completed since it was made.
fn completed(device: &str) -> [u64; 2] {
    let text = fs::read_to_string(Path::new("/sys/block").join(device).join("stat")).expect("statistics");
    let fields: Vec<u64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    [fields[0], fields[4]]
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The course of a device in a result.
fn course<'a>(result: &'a Value, device: &str) -> &'a Value {
    let devices = result["time_spans"][0]["measured"]["devices"].as_array().expect("devices");
    let found = devices.iter().find(|course| course["device"] == device);
    found.unwrap_or_else(|| panic!("{device} is not among {devices:?}"))
}

/// I/Os that completed in the cells of the series that lie between two times.
fn completed_between(measured: &Value, side: &str, [start_ns, end_ns]: [Option<u64>; 2]) -> u64 {
    let width_ns = measured["series"]["width_ns"].as_u64().expect("a width");
    let cells = measured["series"][side]["ios"].as_array().expect("cells").iter().zip(0u64..);
    let is_inside = |cell: u64| Some(cell * width_ns) >= start_ns && Some((cell + 1) * width_ns) <= end_ns;
    cells.filter(|(_, cell)| is_inside(*cell)).filter_map(|(ios, _)| ios.as_u64()).sum()
}

#[test]
fn each_interval_has_what_the_device_did() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let mounted = or_skip!(Mounted::ext4(&place, "own", 96 << 20));
    let device = mounted.device.as_ref().expect("it is on a loop device").name();
    let target = mounted.path.join("a.dat");
    place.briefly("-c32M").arg(&target).run_until_measuring().expect_status(0);
    let before = completed(&device);
    let run = || {
        let words = "-d2 -W0 -C0 -b4K -r -w30 -o4 -Su -D250 -v --json r.json";
        let run = place.diskspd(words).arg(&target).run();
        run.expect_status(0);
        let result: Value = place.json("r.json");
        (run, result)
    };
    // A busy machine may sample the device only once, or do nothing between two samples; it is retried.
    let has_steps = |(_, result): &(Finished, Value)| {
        let steps = course(result, &device)["steps"].as_array().expect("steps");
        let times = steps.first().zip(steps.last()).map(|(first, last)| [&first["start_ns"], &last["end_ns"]]);
        let measured = &result["time_spans"][0]["measured"];
        let is_busy = |side| times.is_some_and(|times| completed_between(measured, side, times.map(Value::as_u64)) > 0);
        steps.len() >= 2 && is_busy("read") && is_busy("write")
    };
    let (run, result) = (0..4).map(|_| run()).find(has_steps).unwrap_or_else(run);
    let after = completed(&device);
    let measured = &result["time_spans"][0]["measured"];
    let course = course(&result, &device);
    let steps = course["steps"].as_array().expect("steps");
    assert!((2..=9).contains(&steps.len()), "{} steps of 250 ms and more", steps.len());
    let times: Vec<[Option<u64>; 2]> =
        steps.iter().map(|step| [step["start_ns"].as_u64(), step["end_ns"].as_u64()]).collect();
    assert!(times.windows(2).all(|pair| pair[0][1] == pair[1][0]), "no gaps: {times:?}");
    for (index, side) in ["read", "write"].into_iter().enumerate() {
        let of_step = |step: &Value| {
            number(&step["figures"][side]["iops"]) * (number(&step["end_ns"]) - number(&step["start_ns"]))
        };
        let requests = steps.iter().map(of_step).sum::<f64>() / 1e9;
        let most = (after[index] - before[index]) as f64;
        assert!(requests <= most + 0.5, "{side}: {requests} in the steps, {most} at the device");
        // I/Os that completed during the steps, except for those in flight at the first reading.
        let inside = completed_between(measured, side, [times[0][0], times[times.len() - 1][1]]);
        assert!(inside > 0 && requests + 8.0 >= inside as f64, "{side}: {requests} in the steps, {inside} I/Os");
        let highest = steps.iter().map(|step| number(&step["figures"][side]["iops"])).fold(0.0, f64::max);
        assert!(number(&course["max"][side]["iops"]) <= highest + 1e-6);
        assert!(number(&course["mean"][side]["iops"]) <= highest + 1e-6);
    }
    run.expect_told(&[&format!("(/sys/block/*/stat); mean and highest of {} steps.", steps.len())]);
    let table: Vec<&str> = run.stdout.lines().skip_while(|line| *line != "Devices over the measurement").collect();
    assert!(table.iter().any(|line| line.trim_start().starts_with(&device) && line.contains("  mean  ")), "{table:?}");
    assert!(!table.iter().any(|line| line.contains("total:")), "it is behind DiskSpd's tables");
}

#[test]
fn latencies_alone_have_a_step_per_second_and_neither_has_none() {
    let place = workplace!();
    let steps = |words: &str| -> Option<(usize, f64)> {
        let run = place.diskspd("-c1M -W0 -C0 -b4K -r -v --json r.json").args(words).arg("a.dat").run();
        run.expect_status(0);
        let result: Value = place.json("r.json");
        let devices = result["time_spans"][0]["measured"]["devices"].as_array().expect("a list").clone();
        assert_eq!(run.stdout.contains("\nDevices over the measurement\n"), !devices.is_empty());
        let steps = devices.first()?["steps"].as_array().expect("steps");
        Some((steps.len(), number(&steps[0]["end_ns"]) - number(&steps[0]["start_ns"])))
    };
    assert_eq!(steps("-d1"), None);
    let Some((count, first_ns)) = steps("-d3 -L") else {
        testkit::skip!("the kernel shows no device below this folder");
    };
    assert!(count <= 3 && first_ns > 0.5e9, "{count} steps, the first of {first_ns} ns");
}
