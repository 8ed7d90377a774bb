//! `--verify` on a device of the device mapper that loses, changes or refuses data (dm-flakey).

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, run};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{Workplace, or_skip};

const CREATED: &str = "dmsetup create flaky --table";
const REMOVED: &str = "dmsetup remove --retry flaky";

/// A device that treats writes to a blank disk like this, all the time if there are any features, else never.
fn table(disk: &Disk, features: &str) -> String {
    let sectors = disk.file("size").expect("a size");
    let (up, down) = if features.is_empty() { (3600, 0) } else { (0, 3600) };
    format!("'0 {sectors} flakey {} 0 {up} {down} {features}'", disk.path.display())
}

fn flaky<'a>(place: &'a Workplace, disk: &Disk, features: &str) -> Result<(DeviceSetup<'a>, Disk), String> {
    let made = DeviceSetup::by(place, &format!("{CREATED} {}", table(disk, features)), REMOVED)?;
    Ok((made, Disk::named("dm-0")))
}

/// Corrupt units by class.
fn corrupt(place: &Workplace) -> BTreeMap<String, u64> {
    let document: Value = place.json("r.json");
    let found = document["time_spans"][0]["verification"]["corrupt"].as_array().expect("a list").clone();
    let row = |row: &Value| (row["class"].as_str().expect("a class").to_owned(), row["units"].as_u64().expect("units"));
    found.iter().map(row).collect()
}

const LOAD: &str = "-d2 -W0 -b4K -r -w50 -o8 -t2 -Su --verify --json=r.json --replace-output --destroy=flaky";

#[test]
fn a_sound_device_is_not_accused() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let (_made, device) = or_skip!(flaky(&place, &disk, ""));
    place.diskspd(LOAD).arg(&device.path).run().expect_status(0);
    assert_eq!(corrupt(&place), BTreeMap::new());
    place.diskspd("verify").arg(&device.path).run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
}

#[test]
fn writes_that_a_device_drops_are_lost() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let (_made, device) = or_skip!(flaky(&place, &disk, ""));
    let mut running = place.diskspd("-v").args(&LOAD.replace("-d2", "-d6")).arg(&device.path).start();
    running.wait_for_stderr("starting measurements");
    // By then most units of the small disk have been written.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let reload = format!(
        "dmsetup suspend flaky && dmsetup reload flaky --table {} && dmsetup resume flaky",
        table(&disk, "1 drop_writes")
    );
    or_skip!(run(&place, &reload));
    let run = running.finish();
    run.expect_status(5).expect_stdout(&["INVALID data-corruption"]);
    let corrupt = corrupt(&place);
    assert!(corrupt.contains_key("lost"), "{run}");
    // The first write to a unit of the blank disk was dropped.
    assert!(corrupt.keys().all(|class| ["lost", "zeros"].contains(&class.as_str())), "{run}");
}

#[test]
fn bytes_that_a_device_changes_are_rot() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let (_made, device) = or_skip!(flaky(&place, &disk, "5 corrupt_bio_byte 1000 r 1 0"));
    let run = place.diskspd(LOAD).arg(&device.path).run();
    run.expect_status(5).expect_stdout(&["INVALID data-corruption"]);
    assert_eq!(corrupt(&place).keys().collect::<Vec<_>>(), ["rot"], "{run}");
}
