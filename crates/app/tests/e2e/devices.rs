//! `diskspd devices` on this machine.

use std::path::Path;
use testkit::{LoopDevice, Mounted, Workplace, or_skip, skip, workplace};

fn found(place: &Workplace, path: &Path) -> serde_json::Value {
    let run = place.diskspd("devices --json").arg(path).run();
    run.expect_status(0);
    serde_json::from_str::<serde_json::Value>(&run.stdout).expect("JSON")[0].clone()
}

/// Bytes of the file on a device.
fn bytes_on(found: &serde_json::Value, device: &str) -> Option<u64> {
    let shares = found["placement"]["shares"].as_array().expect("a list");
    shares.iter().find(|share| share["device"] == device).and_then(|share| share["bytes"].as_u64())
}

fn short(device: &LoopDevice<'_>) -> String {
    device.name()
}

#[test]
fn a_file_lies_on_the_loop_device_under_its_file_system_and_on_what_is_below() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "mounted", 64 << 20));
    let name = mounted.device.as_ref().map(short).expect("it is on a device");
    let made = place.diskspd("-c8M -Zr -w100 -b64K -d1 -W0 --json r.json mounted/file").run();
    made.expect_status(0);
    place.tool("sync").run();
    let found = found(&place, &place.path("mounted/file"));
    assert_eq!(found["placement"]["placed_bytes"], 8 << 20, "{found:#}");
    assert_eq!(bytes_on(&found, &name), Some(8 << 20), "{found:#}");
    assert_eq!(found["environment"]["mount"]["file_system"], "ext4");
    let text = place.diskspd("devices mounted/file").run();
    text.expect_status(0).expect_stdout(&["ext4 from /dev/loop", "8MiB in ", "LAYER", "100.0 %"]);
    assert!(text.stdout.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{text}");
    // The run saved it, and a plan shows it.
    let result: serde_json::Value = place.json("r.json");
    assert!(result["targets"][0]["placement"]["shares"].is_array(), "{result:#}");
    let plan = place.diskspd("--plan -b4K mounted/file").run();
    plan.expect_stdout(&["Disks that hold the existing files\n  'mounted/file': "]);
}

#[test]
fn the_old_date_of_a_file_of_ours_is_explained() {
    let place = workplace!();
    place.short_run("-c1M -b4K -w100 ours").run().expect_status(0);
    place.file("other", b"x");
    let touched = place.tool("touch").args("-d 1991-05-03 other").run();
    touched.expect_status(0);
    let run = place.diskspd("devices ours other").run();
    run.expect_status(0);
    let lines: Vec<&str> = run.stdout.lines().filter(|line| line.contains("set by diskspd")).collect();
    let [line] = lines[..] else { panic!("one file is ours: {run}") };
    assert!(line.starts_with("  date 19") && line.ends_with(": any later write to the file changes it"), "{run}");
}

#[test]
fn a_mirrored_btrfs_has_all_bytes_on_both_devices() {
    let place = workplace!();
    let mkfs = or_skip!(testkit::tool("mkfs.btrfs"));
    let images = ["one.img", "two.img"].map(|name| place.sparse(name, 256 << 20).expect("a sparse file"));
    let first = or_skip!(LoopDevice::over(&place, &images[0]));
    let second = or_skip!(LoopDevice::over(&place, &images[1]));
    let made = place.tool(mkfs).args("-q -d raid1 -m raid1").arg(&first.path).arg(&second.path).run();
    if made.code() != Some(0) {
        skip!("mkfs.btrfs failed: {made}");
    }
    // Without udev the kernel knows the second device only then.
    let scan = format!("modprobe -q btrfs; btrfs device scan {} {}", first.path.display(), second.path.display());
    place.tool("sh").arg("-c").arg(scan).run();
    let names = [short(&first), short(&second)];
    let mounted = or_skip!(Mounted::device(&place, "mounted", first));
    let file = place.path("mounted/file");
    std::fs::write(&file, vec![7; 4 << 20]).expect("written");
    place.tool("sync").run();
    let found = found(&place, &file);
    for name in &names {
        assert_eq!(bytes_on(&found, name), Some(4 << 20), "{name}: {found:#}");
    }
    drop(mounted);
}

#[test]
fn a_striped_volume_spreads_a_file_evenly() {
    let place = workplace!();
    let dmsetup = or_skip!(testkit::tool("dmsetup"));
    let images = ["one.img", "two.img"].map(|name| place.sparse(name, 64 << 20).expect("a sparse file"));
    let first = or_skip!(LoopDevice::over(&place, &images[0]));
    let second = or_skip!(LoopDevice::over(&place, &images[1]));
    let volume = format!("diskspd-test-{}", std::process::id());
    let sectors = (128 << 20) / 512;
    let table = format!("0 {sectors} striped 2 128 {} 0 {} 0", first.path.display(), second.path.display());
    // Without udev dmsetup makes the node itself.
    let dmsetup = || place.tool(&dmsetup).env("DM_DISABLE_UDEV", "1");
    let made = dmsetup().args("create").arg(&volume).arg("--table").arg(&table).run();
    if made.code() != Some(0) {
        skip!("dmsetup failed: {}", made.stderr.trim());
    }
    let node = format!("/dev/mapper/{volume}");
    let formatted = place.tool("mkfs.ext4").args("-q -F").arg(&node).run();
    std::fs::create_dir(place.path("mounted")).expect("made");
    let mounted = place.tool("mount").arg(&node).arg(place.path("mounted")).run();
    let file = place.path("mounted/file");
    let is_written = mounted.code() == Some(0) && std::fs::write(&file, vec![7; 4 << 20]).is_ok();
    place.tool("sync").run();
    let found = is_written.then(|| found(&place, &file));
    place.tool("umount").arg(place.path("mounted")).run();
    dmsetup().args("remove").arg(&volume).run();
    let found = found.unwrap_or_else(|| panic!("{formatted}\n{mounted}"));
    for device in [&first, &second] {
        assert_eq!(bytes_on(&found, &short(device)), Some(2 << 20), "{found:#}");
    }
}

#[test]
fn what_is_not_there_is_an_error_and_a_directory_has_layers() {
    let place = workplace!();
    place.diskspd("devices nothing").run().expect_status(1).expect_stderr(&["ERROR: 'nothing': No such file"]);
    place.diskspd("devices --all .").run().expect_status(3).expect_stderr(&["cannot be combined with"]);
    let run = place.diskspd("devices .").run();
    run.expect_status(0).expect_stdout(&["mounted at"]);
    assert!(!run.stdout.contains("extent"), "{run}");
}

#[test]
fn a_loop_device_is_listed_with_its_size_and_file() {
    let place = workplace!();
    let image = place.create_file("disk.img", "-c8M");
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
