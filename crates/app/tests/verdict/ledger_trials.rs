//! The rules that compare bytes, at random: induced shortfalls are found, and sound runs have no findings. That a run
//! on the disk is sound follows from a counter that no rule reads: the bytes of its cgroup.
//!
//! `DISKSPD_TEST_LEDGER` is the number of shortfalls of each kind; ten times as many runs are sound.

use super::{counted_disk, document, findings, inside, with_busy_disk, with_disk};
use std::fmt::Write;
use testkit::{Cgroup, LoopDevice, Mounted, Program, Random, Workplace, Zram, or_skip, skip, workplace};

/// Default number of shortfalls of each kind.
const ROUNDS: u64 = 1;

/// The findings of the comparison of bytes, or in its place.
const RULES: [&str; 5] =
    ["served-from-cache", "served-from-memory", "writes-in-memory", "loop-cached-writes", "tmpfs-target"];

/// A finding, and a load that must have it.
type Kind<'a> = (&'static str, Box<dyn Fn(Program) -> Program + 'a>);

fn rounds() -> u64 {
    let set = std::env::var("DISKSPD_TEST_LEDGER");
    set.map_or(ROUNDS, |number| number.parse().expect("DISKSPD_TEST_LEDGER is a number"))
}

fn one_of<'a>(random: &mut Random, all: &[&'a str]) -> &'a str {
    all[random.below(all.len() as u64) as usize]
}

/// A random load of a second.
fn any_load(random: &mut Random) -> String {
    let mut words = format!("-d1 -W0 -L -z{} --json r.json", random.below(1 << 20));
    for choices in
        [&["-b4K", "-b8K", "-b64K"][..], &["-r", "-s", "-si", "-rs50"], &["-t1", "-t2"], &["-o1", "-o4", "-o32"]]
    {
        let _ = write!(words, " {}", one_of(random, choices));
    }
    words
}

/// The findings of `r.json` that are about bytes.
fn found(place: &Workplace) -> Vec<String> {
    let names = findings(place).into_iter().filter_map(|finding| finding["name"].as_str().map(str::to_owned));
    names.filter(|name| RULES.contains(&name.as_str())).collect()
}

#[test]
fn shortfalls_are_found() {
    // Reads and file creations of other programs would hide a shortfall.
    let _disk = with_busy_disk();
    let place = workplace!();
    or_skip!(place.direct_io());
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64m"));
    let in_memory = memory.path.join("image");
    let cached = place.file("cached.img", &vec![1; 8 << 20]);
    for image in [&in_memory, &cached] {
        std::fs::write(image, vec![1; 8 << 20]).expect("it fits");
    }
    let above_memory = or_skip!(LoopDevice::over(&place, &in_memory));
    let above_cache = or_skip!(LoopDevice::over(&place, &cached));
    let zram = or_skip!(Zram::create(8 << 20));
    place.create_file("small.dat", "-c4M");
    place.diskspd("-d1 -W0 -c1M -o1 --max-ios=1").arg(memory.path.join("a.dat")).run().expect_status(0);
    let on = |device: &LoopDevice<'_>, image: &std::path::Path, load: Program| {
        load.arg(format!("--destroy={}", image.display())).arg(&device.path)
    };
    let kinds: [Kind<'_>; 7] = [
        ("served-from-cache", Box::new(|load| load.args("-Su").arg(&above_memory.path))),
        ("served-from-cache", Box::new(|load| load.args("-Sh").arg(&above_cache.path))),
        ("served-from-memory", Box::new(|load| load.args("-Sb small.dat"))),
        ("writes-in-memory", Box::new(|load| load.args("-Sb -w100 small.dat"))),
        (
            "writes-in-memory",
            Box::new(|load| load.args("-Su -w100 -Zr").arg(format!("--destroy={}", zram.name())).arg(&zram.path)),
        ),
        ("loop-cached-writes", Box::new(|load| on(&above_cache, &cached, load.args("-Su -w100")))),
        ("tmpfs-target", Box::new(|load| load.args("-Su").arg(memory.path.join("a.dat")))),
    ];
    place.diskspd("-d1 -W0 -s -b64K -Su").arg(&above_cache.path).run().expect_status(0);
    place.diskspd("-d1 -W0 -s -b64K -Sb --json r.json small.dat").run().expect_status(0);
    or_skip!(counted_disk(&place));
    let mut random = Random::new(rounds());
    let mut missed = Vec::new();
    for (rule, load) in &kinds {
        for _ in 0..rounds() {
            let words = any_load(&mut random);
            let run = load(place.diskspd(&words)).run();
            run.expect_status(0);
            if !found(&place).iter().any(|name| name == rule) {
                missed.push(format!("{rule}: {words}: {}", document(&place)["time_spans"][0]["ledger"]));
            }
        }
    }
    println!("shortfalls: {} of each of {} kinds, {} missed", rounds(), kinds.len(), missed.len());
    assert!(missed.len() as u64 * 20 <= rounds(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn sound_runs_are_not_accused() {
    let _disk = with_disk();
    let place = workplace!();
    or_skip!(place.direct_io());
    place.file("large.dat", &vec![1; 64 << 20]);
    place.create_file("own.dat", "-c64M");
    place.tool("sync").run().expect_status(0);
    place.diskspd("-d1 -W0 -Su --json r.json large.dat").run().expect_status(0);
    or_skip!(counted_disk(&place));
    let levels = document(&place)["time_spans"][0]["ledger"]["levels"].clone();
    let disk = levels.as_array().and_then(|levels| levels.iter().find(|level| level["kind"] == "disk"));
    let Some(disk) = disk.and_then(|disk| disk["name"].as_str()) else {
        skip!("the build is on no disk that can be seen")
    };
    let number = std::fs::read_to_string(format!("/sys/block/{disk}/dev")).expect("its number");
    let number = number.trim();
    let mut random = Random::new(rounds());
    let mut sound = 0;
    for _ in 0..10 * rounds() {
        let words = any_load(&mut random);
        let how = ["-Su large.dat", "-Sh large.dat", "-Su -w100 own.dat", "-Sh -w30 own.dat", "-Sw -w100 own.dat"];
        let how = one_of(&mut random, &how);
        let group = or_skip!(Cgroup::of_bytes(number));
        let run = inside(&place, &group).args(&words).args(how).run();
        run.expect_status(0);
        let Some(counted) = group.bytes(number) else { skip!("cgroups count no bytes here") };
        let total = &document(&place)["time_spans"][0]["ledger"];
        let accounts = total["accounts"].as_array().expect("accounts");
        let asked = |operation: &str| {
            let of = accounts.iter().filter(|account| account["operation"] == operation);
            of.filter_map(|account| account["asked_bytes"].as_u64()).sum::<u64>()
        };
        assert!(
            counted[0] >= asked("read") && counted[1] >= asked("write"),
            "{words} {how}: the disk took {counted:?}: {total}"
        );
        sound += 1;
        assert_eq!(found(&place), [""; 0], "{words} {how}: {total}");
    }
    println!("sound runs: {sound}, none accused");
}
