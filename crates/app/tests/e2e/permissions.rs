//! A permission applies to the load that it was given for. `--overwrite` and `--destroy` of side A of `diskspd ab` used
//! to permit side B to write, too, and those of the first point of a sweep applied to all.

use std::path::Path;
use testkit::{LoopDevice, Program, Snapshot, Workplace, is_root, or_skip, skip, workplace};

/// A brief series of pairs; `sides` are the options of A and B.
fn pairs(place: &Workplace, sides: [&str; 2], load: &str, target: &Path) -> Program {
    let [a, b] = sides.map(str::to_owned);
    let program = place.diskspd("ab --pairs 3 --dir d").arg(format!("--a={a}")).arg(format!("--b={b}"));
    program.args(&format!("-- -d60 -W0 -b4K --max-ios=20 {load}")).arg(target)
}

fn refused(place: &Workplace, program: Program, kept: &Path, parts: &[&str]) {
    let before = Snapshot::take(kept);
    program.run().expect_status(3).expect_stderr(parts);
    assert_eq!(Snapshot::take(kept), before, "it was changed although it was refused");
    assert!(!place.path("d").exists(), "a directory was made although the series was refused");
}

// Shows data-safety: an existing file, written to
#[test]
fn overwrite_of_one_side_is_not_the_other_sides() {
    let place = workplace!();
    let theirs = place.somebodys("theirs.dat");
    let parts = ["theirs.dat' may hold data that diskspd did not write", "--overwrite allows it"];
    refused(&place, pairs(&place, ["--overwrite", "-o2"], "-w100", &theirs), &theirs, &[parts[0], parts[1], "side=B"]);
    refused(&place, pairs(&place, ["-o2", "--overwrite"], "-w100", &theirs), &theirs, &[parts[0], parts[1], "side=A"]);
    refused(&place, pairs(&place, ["--overwrite", ""], "-c64K", &theirs), &theirs, &[parts[0], "side=B"]);
    // The side that writes has the permission: the other needs none.
    let before = Snapshot::take(&theirs).checksum;
    let run = pairs(&place, ["-w0", "-w100 --overwrite"], "-Zr", &theirs).run();
    assert!(!run.stderr.contains("runs failed"), "{run}");
    assert!(place.path("d/ab.json").exists(), "{run}");
    assert_ne!(Snapshot::take(&theirs).checksum, before, "B was allowed to write, and did not\n{run}");
}

// Shows data-safety: an existing file, written to
#[test]
fn each_point_of_a_sweep_and_all_runs_of_a_load_need_their_permission() {
    let place = workplace!();
    let theirs = place.somebodys("theirs.dat");
    let series = |words: &str| place.diskspd(words).arg("theirs.dat");
    let sweep = series("sweep --dir d --vary w=0,100 -- -d60 -W0 -b4K --max-ios=20");
    refused(&place, sweep, &theirs, &["-w100: ", "may hold data", "--overwrite"]);
    let repeat = series("repeat --runs 3 --dir d -- -d60 -W0 -b4K --max-ios=20 -w100");
    refused(&place, repeat, &theirs, &["may hold data", "--overwrite"]);
    let streams = place
        .diskspd("interference --dir d -- -c64K -d1 -W0 -b4K --stream")
        .arg("one: ours.dat")
        .arg("--stream")
        .arg("two: -w100 theirs.dat");
    refused(&place, streams, &theirs, &["may hold data", "--overwrite"]);
    assert!(!place.path("ours.dat").exists(), "a target was made although another one was refused");
    // A permission is no option of a stream.
    let streams = place
        .diskspd("-d1 -W0 -b4K --stream")
        .arg("one: -c64K ours.dat")
        .arg("--stream")
        .arg("two: --overwrite -w100 theirs.dat");
    refused(&place, streams, &theirs, &["'--overwrite' is not an option of a target"]);
    place.file(
        "load.toml",
        b"form = \"diskspd-job/1\"\n[[time_spans]]\nduration_s = 1\n[[time_spans.targets]]\npath = \"ours.dat\"\n\
          create_size = \"64K\"\n[[time_spans]]\n[[time_spans.targets]]\npath = \"theirs.dat\"\nwrite_percent = 100\n",
    );
    let before = Snapshot::take(&theirs);
    place.diskspd("run load.toml").run().expect_status(3).expect_stderr(&["may hold data", "--overwrite"]);
    assert_eq!(Snapshot::take(&theirs), before);
    assert!(!place.path("ours.dat").exists());
}

// Shows data-safety: a block device
#[test]
fn destroy_of_one_side_or_point_is_not_the_others() {
    if !is_root() {
        skip!("block devices are written to by root only");
    }
    let place = workplace!();
    let image = place.sparse("image", 8 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let flag = format!("--destroy={}", image.display());
    for (sides, side) in [([flag.as_str(), "-o2"], "side=B"), (["-o2", flag.as_str()], "side=A")] {
        let program = pairs(&place, sides, "-w100", &device.path);
        refused(&place, program, &image, &[side, "is a block device", &flag]);
    }
    let vary = format!("--vary=destroy={},other", image.display());
    let program = place.diskspd("sweep --dir d").arg(vary).args("-- -d60 -W0 -b4K --max-ios=20 -w100");
    refused(&place, program.arg(&device.path), &image, &["--destroy=other: ", "is a block device"]);
    let before = Snapshot::take(&image).checksum;
    let run = pairs(&place, ["-w0", &format!("-w100 {flag}")], "-Zr", &device.path).run();
    assert!(place.path("d/ab.json").exists(), "{run}");
    assert_ne!(Snapshot::take(&image).checksum, before, "B was allowed to write, and did not\n{run}");
}
