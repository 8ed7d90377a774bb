//! Stacked devices, and reports on them.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, ext4, run};
use serde_json::Value;
use testkit::{Workplace, or_skip};

/// Names of a device and those below it, with their kinds, as `--json` results have them.
fn stack(device: &Value) -> Vec<String> {
    let kind = match &device["kind"] {
        Value::String(kind) => kind.clone(),
        Value::Object(kind) => kind.keys().next().cloned().unwrap_or_default(),
        other => panic!("no kind: {other}"),
    };
    let mut names = vec![format!("{} {kind}", device["name"].as_str().unwrap_or_default())];
    names.extend(device["below"].as_array().into_iter().flatten().flat_map(stack));
    names
}

struct Encrypted<'a> {
    _opened: DeviceSetup<'a>,
    _raid: DeviceSetup<'a>,
}

/// dm-crypt on a RAID 1 of two disks.
fn encrypted_raid<'a>(place: &'a Workplace, disks: &[Disk; 2]) -> Result<Encrypted<'a>, String> {
    let [first, second] = disks.each_ref().map(|disk| disk.path.display());
    let make = format!(
        "mdadm --create /dev/md0 --quiet --run --assume-clean --level=1 --raid-devices=2 --metadata=1.2 {first} {second}"
    );
    let raid = DeviceSetup::by(place, &make, "mdadm --quiet --stop /dev/md0")?;
    let key = place.file("key", b"a key of a test");
    let key = key.display();
    let format = "--batch-mode --type luks1 --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    run(place, &format!("cryptsetup luksFormat {format} /dev/md0 {key}"))?;
    let opened =
        DeviceSetup::by(place, &format!("cryptsetup open --key-file {key} /dev/md0 row"), "cryptsetup close row")?;
    Ok(Encrypted { _opened: opened, _raid: raid })
}

#[test]
fn encryption_on_a_raid_of_nvme() {
    let place = machine!();
    let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
    let _encrypted = or_skip!(encrypted_raid(&place, &disks));
    or_skip!(ext4(&place, &Disk::named("dm-0").path));
    let point = place.path("mounted");
    std::fs::create_dir(&point).expect("a folder");
    let mount = format!("mount /dev/dm-0 {}", point.display());
    let _mounted = or_skip!(DeviceSetup::by(&place, &mount, &format!("umount {}", point.display())));

    let listed = place.diskspd("devices").run();
    listed.expect_status(0);
    let row = |name: &str, parts: &[&str]| {
        let row = listed.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        let row = row.unwrap_or_else(|| panic!("{name} is not listed\n{listed}"));
        for part in parts {
            assert!(row.contains(part), "{part} in {row}");
        }
    };
    row("dm-0", &["crypt", "row", &point.display().to_string()]);
    row("md0", &["raid1", "crypt dm-0"]);
    for disk in &disks {
        row(&disk.name, &["disk", "QEMU NVMe Ctrl", "raid1 md0"]);
    }

    let file = point.join("a.dat");
    let run = place.diskspd("-c1M -d1 -W0 -b4K -r -w50 -Su --max-ios=100 --json result.json").arg(&file).run();
    run.expect_status(0);
    let result: Value = place.json("result.json");
    let storage = find(&result, "below").expect("the storage below the target");
    let mut members = disks.each_ref().map(|disk| format!("{} disk", disk.name));
    members.sort();
    let [first, second] = members;
    let names = stack(storage);
    assert_eq!(names, ["dm-0 mapper".to_owned(), "md0 raid".to_owned(), first, second], "{storage:#}");
}

#[test]
fn the_monitor_sees_every_level_of_a_stack() {
    let place = machine!();
    let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
    let _encrypted = or_skip!(encrypted_raid(&place, &disks));
    or_skip!(ext4(&place, &Disk::named("dm-0").path));
    let point = place.path("mounted");
    std::fs::create_dir(&point).expect("a folder");
    let mount = format!("mount /dev/dm-0 {}", point.display());
    let _mounted = or_skip!(DeviceSetup::by(&place, &mount, &format!("umount {}", point.display())));
    let [first, second] = disks.each_ref().map(|disk| disk.name.clone());

    let watched = format!("monitor /dev/mapper/row md0 {first} {second} --csv --record r.jsonl -i 100ms");
    let mut monitor = place.diskspd(&watched).start();
    monitor.wait_for_stdout("\n\"");
    let words = "-c2M -d30 -W0 -C0 -b64K -w100 -Su -o2 --max-ios=200";
    place.diskspd(words).arg(point.join("a.dat")).run().expect_status(0);
    place.tool("sleep").args("0.3").run().expect_status(0);
    let shown = monitor.end();
    let header = shown.stdout.lines().next().unwrap_or_default();
    for instance in ["LogicalDisk(dm-0)", "LogicalDisk(md0)"] {
        assert!(header.contains(&format!("\\{instance}\\Disk Writes/sec")), "{instance} in {header}");
    }
    assert!(header.contains(&format!("\\PhysicalDisk({first})\\Avg. Disk sec/Write")), "{header}");

    let text = String::from_utf8(place.content("r.jsonl")).expect("it is text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let written =
        |name: &str| -> u64 { lines.iter().filter_map(|line| line["devices"][name]["write"]["bytes"].as_u64()).sum() };
    assert_eq!(lines[0]["devices"][0]["mapped_name"], "row");
    // The file is created, then written again; the journal is small in comparison.
    let least = (2 << 20) + 200 * (64 << 10);
    for name in ["dm-0", "md0", &first, &second] {
        assert!(written(name) >= least, "{name}: {} of {least}", written(name));
    }
    let (top, below) = (written("dm-0"), written("md0"));
    assert!(top.abs_diff(below) * 50 <= top, "{top} bytes came to dm-0 and {below} to md0");
}

/// The outermost object with this key.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) if fields.contains_key(key) => Some(value),
        Value::Object(fields) => fields.values().find_map(|field| find(field, key)),
        Value::Array(items) => items.iter().find_map(|item| find(item, key)),
        _ => None,
    }
}

#[test]
fn a_write_to_the_top_reaches_both_disks_below() {
    let place = machine!();
    let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
    let _encrypted = or_skip!(encrypted_raid(&place, &disks));
    let top = Disk::named("dm-0");
    let flag = top.flag(&place);
    let before = disks.each_ref().map(Disk::written_bytes);
    let run = place.diskspd("-d1 -W0 -b4K -r -w100 -Su").arg(&flag).arg(&top.path).run();
    run.expect_status(0);
    let bytes = testkit::Report::parse(&run.stdout).write.sum.bytes;
    for (disk, before) in disks.iter().zip(before) {
        let reached = disk.written_bytes() - before;
        assert!(bytes > 0 && reached >= bytes, "{reached} of {bytes} reached {}", disk.name);
    }
}

/// The device mapper's devices of a volume, bottom first, with their tables.
type Tables = &'static [(&'static str, &'static str)];

/// Volumes, and the disk that gets what is written to them.
const VOLUMES: [(Tables, usize); 3] = [
    (&[("pool", "0 14336 thin-pool SECOND FIRST 128 0"), ("row", "0 12288 thin /dev/mapper/pool 0")], 0),
    (&[("row", "0 14336 snapshot FIRST SECOND P 8")], 1),
    (
        &[
            ("known", "0 4096 linear SECOND 0"),
            ("fast", "0 8192 linear SECOND 4096"),
            ("row", "0 14336 cache /dev/mapper/known /dev/mapper/fast FIRST 128 1 writethrough smq 0"),
        ],
        0,
    ),
];

#[test]
fn thin_volumes_snapshots_and_caches_hand_writes_on_to_their_disks() {
    let place = machine!();
    or_skip!(run(
        &place,
        "modprobe dm_thin_pool && modprobe dm_snapshot && modprobe dm_cache && modprobe dm_cache_smq"
    ));
    for (tables, below) in VOLUMES {
        let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
        let [first, second] = disks.each_ref().map(|disk| disk.path.display().to_string());
        let mut made = Vec::new();
        for (name, table) in tables {
            let table = table.replace("FIRST", &first).replace("SECOND", &second);
            let first_volume = if *name == "pool" { " && dmsetup message pool 0 'create_thin 0'" } else { "" };
            let create = format!("dmsetup create {name} --table '{table}'{first_volume}");
            made.insert(0, or_skip!(DeviceSetup::by(&place, &create, &format!("dmsetup remove --retry {name}"))));
        }
        or_skip!(ext4(&place, &Disk::mapped("row").path));
        let mount = "mkdir -p mounted && mount /dev/mapper/row mounted";
        let _mounted = or_skip!(DeviceSetup::by(&place, mount, "umount mounted"));
        let load = |words: &str| {
            let run = place.diskspd("-c1M -d60 -W0 -r -Su -o4 --max-ios=100 --json=r.json --replace-output");
            let run = run.args(words).arg("mounted/a.dat").run();
            run.expect_status(0);
            run
        };
        load("-b4K -w100");
        let before = disks[below].written_bytes();
        let bytes = testkit::Report::parse(&load("-b4K -w100").stdout).write.sum.bytes;
        let reached = disks[below].written_bytes() - before;
        assert!(bytes == 100 * 4096 && reached >= bytes, "{tables:?}: {reached} of {bytes} bytes reached the disk");
        // The report has the disk at the bottom, and its bytes but for those of the first I/Os.
        let counters = place.span_result("r.json")["kernel_counters"].clone();
        let counted = |end: &str| counters[end]["devices"][&disks[below].name]["write"]["bytes"].as_u64();
        let (at_start, at_end) = (counted("before").expect("bytes"), counted("after").expect("bytes"));
        println!("{tables:?}: {bytes} bytes written, {reached} reached the disk, {} by the report", at_end - at_start);
        assert!(at_end - at_start <= reached, "{tables:?}");
        load("-b64K --discard=30 --write-zeroes=30 -w20");
        load("-b4K -w50 --verify");
        place.diskspd("verify mounted/a.dat").run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
    }
}
