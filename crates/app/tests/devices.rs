//! `diskspd devices` on this machine.

use testkit::{LoopDevice, or_skip, workplace};

#[test]
fn a_loop_device_is_listed_with_its_size_and_file() {
    let place = workplace!();
    let image = place.made("disk.img", "-c8M");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let name = device.name().trim_start_matches("/dev/").to_owned();
    let listed = place.diskspd("devices").run();
    listed.expect_status(0);
    let row = listed.stdout.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
    let row = row.unwrap_or_else(|| panic!("{name} is not listed:\n{}", listed.stdout));
    assert!(row.contains("8MiB") && row.contains("loop") && row.contains("disk.img"), "{row}");
    let json = place.diskspd("devices --json").run();
    json.expect_status(0);
    let devices: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let devices = devices.as_array().expect("an array");
    let found = devices.iter().find(|device| device["name"] == name.as_str()).expect("the device is in the JSON");
    assert_eq!(found["size_bytes"], 8 << 20);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let place = workplace!();
    let refused = place.diskspd("devices --jason").run();
    refused.expect_status(3).expect_stderr(&["--jason", "diskspd devices --help"]);
    place.diskspd("devices --help").run().expect_status(0).expect_stdout(&["Usage: diskspd devices"]);
}
