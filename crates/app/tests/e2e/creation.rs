//! `-c`: real blocks with real content, reused where that changes nothing, and no trace of a file whose creation
//! failed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use testkit::{Finished, LoopDevice, Mounted, Running, Snapshot, Workplace, or_skip, skip, tool, workplace};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

fn create(place: &Workplace, words: &str) -> Finished {
    let run = place.briefly(words).run_until_measuring();
    run.expect_status(0);
    run
}

/// Bytes 00..FF repeated.
fn is_ramp(content: &[u8]) -> bool {
    content.iter().enumerate().all(|(index, byte)| *byte == index as u8)
}

/// Incompressible as far as a test can detect: all byte values about equally often, no block twice.
fn looks_random(content: &[u8]) -> bool {
    let mut counts = [0_u64; 256];
    for byte in content {
        counts[usize::from(*byte)] += 1;
    }
    let expected = content.len() as f64 / 256.0;
    // For random bytes this is about 256, give or take 23.
    let chi: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    let mut blocks: Vec<&[u8]> = content.chunks(4096).collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    chi < 512.0 && blocks.len() == count
}

/// Number of parts of the file that are reserved but not written, or not even reserved, according to filefrag.
fn unwritten_parts(place: &Workplace, path: &Path) -> Result<usize, String> {
    let run = place.tool(tool("filefrag")?).arg("-v").arg(path).run();
    if run.code() != Some(0) || !run.stdout.contains("extents found") && !run.stdout.contains("extent found") {
        return Err(format!("filefrag cannot look into this file system: {}", run.stderr.trim()));
    }
    Ok(run.stdout.lines().filter(|line| line.contains("unwritten") || line.contains("delalloc")).count())
}

// Shows switches: -c<size>[K|M|G|T|b]
#[test]
fn files_have_real_blocks_and_the_content_of_their_options() {
    let place = workplace!();
    let source = place.file("source", b"some text that is no fill");
    let source_words = format!("-c1M -Z64K,{}", source.display());
    for (name, words, is_filled) in [
        ("ramp.dat", "-c1M", is_ramp as fn(&[u8]) -> bool),
        ("zero.dat", "-c1M -Z", |content| content.iter().all(|byte| *byte == 0)),
        ("random.dat", "-c1M -Zr", looks_random),
        ("source.dat", "-c1M -Z64K", looks_random),
        ("file.dat", &source_words, looks_random),
    ] {
        create(&place, &format!("{words} {name}"));
        let path = place.path(name);
        let status = fs::metadata(&path).expect("it was made");
        assert_eq!(status.len(), MIB, "{name}");
        assert!(status.blocks() * 512 >= MIB, "{name} has holes: {} blocks", status.blocks());
        assert!(is_filled(&place.content(name)), "{name} has other content");
    }
    let unwritten = or_skip!(unwritten_parts(&place, &place.path("zero.dat")));
    assert_eq!(unwritten, 0, "reserved blocks read as zeros without touching the device");
}

// Shows switches: -c<size>[K|M|G|T|b]
#[test]
fn any_size_is_made_to_the_byte() {
    let place = workplace!();
    for size in [1, 511, 513, 4097, 65_537, MIB + 1, 3 * MIB - 1] {
        create(&place, &format!("-c{size} -b1 -o1 -g1i any.dat"));
        let content = place.content("any.dat");
        assert_eq!(content.len() as u64, size);
        assert!(is_ramp(&content), "{size} bytes with other content");
    }
}

// Shows switches: -c<size>[K|M|G|T|b]
// Shows data-safety: modification time and extended attribute user.diskspd of files that diskspd created
#[test]
fn a_file_of_ours_bears_its_mark() {
    let place = workplace!();
    or_skip!(place.attributes());
    for (words, mark) in [
        ("-c64K", "size=65536 fill=ramp"),
        ("-c64K -Z", "size=65536 fill=zero"),
        ("-c128K -Zr", "size=131072 fill=random"),
        ("-c64K -w100 -Zr", "size=65536 fill=random"),
        ("-c64K -w100 -b4K", "size=65536 fill=ramp"),
        ("-c64K -w100 -b4K -Zr", "size=65536 fill=random"),
        ("-c64K -w50 -b4K -Z4K", "size=65536 fill=random"),
    ] {
        create(&place, &format!("--recreate {words} marked.dat"));
        let path = place.path("marked.dat");
        let found = place.mark(&path).expect("a mark");
        let modified = format!("modified={}", Snapshot::take(&path).modified_ns);
        let inode = format!("file=inode={},birth=", Snapshot::take(&path).inode);
        for part in ["v2 state=closed", mark, &modified, &inode] {
            assert!(found.contains(part), "{words}: '{found}' without '{part}'");
        }
    }
}

// Shows switches: -c<size>[K|M|G|T|b]
// Shows data-safety: an existing file, made anew in place
#[test]
fn what_is_there_already_is_reused_and_not_written() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("again.dat", "-c4M");
    let before = Snapshot::take(&path);
    let run = create(&place, "-c4M again.dat");
    run.expect_stderr(&["reusing again.dat"]);
    assert!(!run.stderr.contains("Creating file"), "{run}");
    assert_eq!(Snapshot::take(&path), before);
    // Scripts that treat stderr as errors get no line.
    let run = place.short_run("-c4M again.dat").run();
    run.expect_status(0);
    assert_eq!(run.stderr, "");
    // Writing our own fill pattern leaves it unchanged.
    create(&place, "-w100 -b64K again.dat");
    create(&place, "-c4M again.dat").expect_stderr(&["reusing again.dat"]);
}

// Shows switches: --recreate
#[test]
fn what_is_not_the_same_is_made_anew() {
    let place = workplace!();
    let rebuilt = |words: &str, why: &str| {
        let path = place.path("other.dat");
        let before = Snapshot::take(&path);
        let run = create(&place, &format!("{words} other.dat"));
        assert!(!run.stderr.contains("reusing"), "{why}: {run}");
        assert_ne!(Snapshot::take(&path).modified_ns, before.modified_ns, "{why}: nothing was written");
        assert_eq!(Snapshot::take(&path).inode, before.inode, "{why}: it became another file");
    };
    place.create_file("other.dat", "-c1M");
    rebuilt("-c2M", "another size");
    assert!(is_ramp(&place.content("other.dat")));
    rebuilt("-c2M -Z", "another fill");
    rebuilt("-c2M", "the first fill again");
    rebuilt("-c2M --recreate", "--recreate");
    // An earlier run wrote other content.
    place.short_run("-w100 -Zr -b4K other.dat").run().expect_status(0);
    assert!(!is_ramp(&place.content("other.dat")));
    rebuilt("-c2M", "random bytes were written");
    assert!(is_ramp(&place.content("other.dat")));
    let punch =
        place.tool(or_skip!(tool("fallocate"))).args("--punch-hole --offset 65536 --length 65536 other.dat").run();
    if punch.code() != Some(0) {
        skip!("no holes can be made here: {}", punch.stderr.trim());
    }
    // Another program has written to it, so it needs explicit permission.
    rebuilt("-c2M --overwrite", "it has a hole");
    // ext4 may keep the mark in a block of its own.
    let allocated = fs::metadata(place.path("other.dat")).expect("ours").blocks() * 512;
    assert!((2 * MIB..2 * MIB + 8 * KIB).contains(&allocated), "{allocated} bytes are allocated");
}

#[test]
fn several_targets_are_all_made() {
    let place = workplace!();
    create(&place, "-c256K a.dat b.dat a.dat");
    for name in ["a.dat", "b.dat"] {
        let content = place.content(name);
        assert_eq!(content.len() as u64, 256 * KIB);
        assert!(is_ramp(&content));
    }
}

// Shows data-safety: directories above a new file, which stay
#[test]
fn directories_are_made_for_absolute_paths() {
    let place = workplace!();
    let deep = place.path("some/deep folder/new.dat");
    let run = place.briefly("-c64K").arg(&deep).run_until_measuring();
    run.expect_status(0);
    // Often the file system to be measured is not mounted: the run reports where the directory is.
    let folder = deep.parent().expect("it has one").display().to_string();
    run.expect_stderr(&[&format!("created '{folder}' on ")]);
    run.expect_stdout(&[&format!("the directory '{folder}' did not exist: it is created on ")]);
    let again = place.briefly("-c64K").arg(&deep).run_until_measuring();
    again.expect_status(0);
    assert!(!again.stderr.contains("created"), "{}", again.stderr);
    assert_eq!(fs::metadata(&deep).expect("it was made").len(), 64 * KIB);
    let run = place.short_run("-c64K other/deep/new.dat").run();
    run.expect_status(1).expect_stderr(&["other/deep/new.dat", "absolute paths"]);
    assert!(!place.path("other").exists());
}

// Shows data-safety: directories above a new file, which stay
#[test]
fn strict_runs_make_no_directories_and_check_warns_of_them() {
    let place = workplace!();
    let (path, other) = (place.path("not mounted/new.dat"), place.path("there.dat"));
    let place_of = format!("'{}'", path.parent().expect("it has one").display());
    let run = place.short_run("-c64K --strict").arg(&other).arg(&path).run();
    run.expect_status(3).expect_stderr(&["new.dat", "--strict", &place_of, "does not exist and would be created on "]);
    assert!(!path.parent().expect("it has one").exists() && !other.exists(), "something was made");
    // As JSON, in which long names are not wrapped.
    let check = place.diskspd("check -c64K --json=-").arg(&path).run();
    let found = format!("its directory does not exist: a run creates {place_of} on ");
    check.expect_stdout(&[&found]);
    let relative = place.diskspd("check -c64K missing/new.dat").run();
    relative.expect_status(4).expect_told(&["its directory does not exist"]);
    place.short_run("--plan -c64K").arg(&path).run().expect_status(0).expect_stdout(&["creating the directory"]);
    assert!(!path.parent().expect("it has one").exists(), "--plan made it");
}

// As on a machine whose data volume is not mounted, or mounted elsewhere.
#[test]
fn a_new_directory_is_told_with_its_mount() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::tmpfs(&place, "small", "4M"));
    let path = mounted.path.join("a/b/new.dat");
    let run = place.briefly("-c64K --json r.json").arg(&path).run_until_measuring();
    let (folder, point) = (mounted.path.join("a/b"), mounted.path.display().to_string());
    run.expect_status(0).expect_stderr(&[&format!("created '{}' on tmpfs, mounted at '{point}'", folder.display())]);
}

#[test]
fn space_is_counted_before_anything_is_made() {
    let place = workplace!();
    let run = place.short_run("-c1000T huge.dat").run();
    run.expect_status(1).expect_stderr(&["no space", "huge.dat"]);
    assert!(!place.path("huge.dat").exists());

    let mounted = or_skip!(Mounted::tmpfs(&place, "small", "4M"));
    let inside = |name: &str| mounted.path.join(name);
    let made = inside("made.dat");
    place.briefly("-c1M").arg(&made).run_until_measuring().expect_status(0);
    let before = Snapshot::take(&made);
    // Each fits alone; together they do not.
    let run = place.short_run("-c3M").arg(inside("a.dat")).arg(inside("b.dat")).run();
    run.expect_status(1).expect_stderr(&["no space", "a.dat", "b.dat"]);
    assert_eq!(run.stdout, "", "nothing was begun");
    assert!(!inside("a.dat").exists() && !inside("b.dat").exists());
    // An existing file is not harmed by a creation that is impossible.
    let run = place.short_run("-c8M").arg(&made).run();
    run.expect_status(1).expect_stderr(&["no space", "made.dat"]);
    assert_eq!(Snapshot::take(&made), before);
}

#[test]
fn a_file_that_cannot_be_finished_is_removed_and_an_old_one_is_not() {
    let place = workplace!();
    let prlimit = or_skip!(tool("prlimit"));
    let limited =
        |line: &str| place.tool(&prlimit).args("--fsize=1048576").arg(place.program()).args("-d1 -W0").args(line).run();
    let run = limited("-c4M new.dat");
    run.expect_status(1).expect_stderr(&["new.dat", "File too large"]);
    run.expect_stdout(&["failed before the measurements began"]);
    assert!(!place.path("new.dat").exists(), "half a file was left behind");
    let old = place.create_file("old.dat", "-c64K");
    limited("-c4M old.dat").expect_status(1).expect_stderr(&["old.dat"]);
    assert!(old.exists(), "a file that was there before the run was removed");
    // The rest is still ours.
    create(&place, "-c128K old.dat");
}

#[test]
fn a_device_that_fails_ends_a_creation_with_the_reason() {
    let place = workplace!();
    // A file system of 64 MiB on a file that can only grow to 24.
    let small = or_skip!(Mounted::tmpfs(&place, "small", "24M"));
    let image = small.path.join("image");
    fs::File::create(&image).and_then(|file| file.set_len(64 * MIB)).expect("a sparse file");
    or_skip!(tool("mkfs.ext4"));
    let made = place.tool("mkfs.ext4").args("-q -F -m0 -O ^has_journal").arg(&image).run();
    if made.code() != Some(0) {
        skip!("no ext4 here: {}", made.stderr.trim());
    }
    let device = or_skip!(LoopDevice::over(&place, &image));
    let mounted = or_skip!(Mounted::device(&place, "failing", device));
    let path = mounted.path.join("new.dat");
    let run = place.short_run("-c40M").arg(&path).run();
    run.expect_status(1).expect_stderr(&["cannot write", "new.dat"]);
    assert!(!path.exists(), "half a file was left behind");
}

#[test]
fn a_file_system_that_is_mounted_read_only_is_named_as_the_reason() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::tmpfs(&place, "fixed", "4M"));
    let path = mounted.path.join("ours.dat");
    place.briefly("-c1M").arg(&path).run_until_measuring().expect_status(0);
    or_skip!(mounted.remount("ro"));
    let before = Snapshot::take(&path);
    for words in ["-c2M", "-w100 -b4K", "-c2M --overwrite"] {
        let run = place.short_run("").args(words).arg(&path).run();
        run.expect_status(1).expect_stderr(&["ours.dat", "read-only"]);
    }
    let run = place.short_run("-c1M").arg(mounted.path.join("new.dat")).run();
    run.expect_status(1).expect_stderr(&["new.dat", "read-only"]);
    assert_eq!(Snapshot::take(&path), before);
    place.short_run("-b4K").arg(&path).run().expect_status(0);
}

/// A run that is paused during the creation of `big.dat`, which is prepared as stated in `before`.
fn paused_in_creation(place: &Workplace, before: &str) -> Result<Running, String> {
    for _ in 0..10 {
        let _ = fs::remove_file(place.path("big.dat"));
        if !before.is_empty() {
            place.create_file("big.dat", before);
        }
        let mut run = place.diskspd("-c4G -d600 -W0 -v big.dat").start();
        run.wait_until("the creation or its refusal", |run| {
            ["Creating file", "no space"].iter().any(|text| run.stderr().contains(text))
        });
        if run.stderr().contains("no space") {
            return Err("4 GiB are not free here".to_owned());
        }
        run.pause();
        // This thread may have been delayed for as long as it takes to write 4 GiB.
        if run.transferred_bytes() < 3 << 30 {
            return Ok(run);
        }
        run.kill_hard();
    }
    Err("the machine is too busy: 4 GiB are always written before that can be seen".to_owned())
}

// Shows faults: SIGINT, SIGTERM, SIGHUP
#[test]
fn ctrl_c_while_a_file_is_made_removes_it() {
    let place = workplace!();
    let path = place.path("big.dat");
    let run = or_skip!(paused_in_creation(&place, ""));
    assert!(!path.exists(), "the name appears when the file is whole");
    run.interrupt();
    run.go_on();
    let run = run.finish();
    assert!(!path.exists(), "half a file was left behind\n{run}");
    assert!(!run.stderr.contains("starting measurements"), "{run}");
    assert_eq!(run.stderr.matches("Creating file").count(), 1, "{run}");
    run.expect_status(130).expect_stdout(&["interrupted before the measurements began"]);
    run.expect_stderr(&["*** Interrupted by Ctrl-C."]);
}

#[test]
fn ctrl_c_while_a_file_is_made_anew_leaves_it_empty() {
    let place = workplace!();
    let path = place.path("big.dat");
    let run = or_skip!(paused_in_creation(&place, "-c64K"));
    run.interrupt();
    run.go_on();
    run.finish().expect_status(130).expect_stderr(&["*** Interrupted by Ctrl-C."]);
    assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 0, "half a file looks whole");
    // It still counts as ours.
    place.short_run("-c64K -b4K big.dat").run().expect_status(0);
}

#[test]
fn nine_tebibytes_are_read_from_end_to_end() {
    let place = workplace!();
    let Ok(_) = place.sparse("vast.dat", 9 * TIB) else { skip!("the file system has no files of 9 TiB") };
    let run = place.diskspd("-d1 -W0 -r -b4K -o8 -t2 -L -D vast.dat").run();
    run.expect_status(0).expect_stdout(&["vast.dat (9TiB)"]);
    for words in ["-B8T:64K -b64K", "-B9895604584448 -b64K", "-f9T -r -b64K -B8T", "-rdpct90/10:0/80:10/10 -r -b4K"] {
        let run = place.briefly(words).arg("vast.dat").run_until_measuring();
        run.expect_status(0);
    }
    let ios = or_skip!(place.traced("-d100 -W0 -r -b4K -o1 --max-ios=1000 vast.dat"));
    let (low, high) = (ios.iter().map(|io| io.offset).min(), ios.iter().map(|io| io.offset).max());
    assert!(low < Some(TIB) && high > Some(8 * TIB), "offsets from {low:?} to {high:?}");
    let ios = or_skip!(place.traced("-d100 -W0 -b64K -o1 -B9895604518912 --max-ios=20 vast.dat"));
    let distinct: std::collections::BTreeSet<u64> = ios.iter().map(|io| io.offset).collect();
    assert!(distinct.into_iter().eq([9 * TIB - 128 * KIB, 9 * TIB - 64 * KIB]), "the last two blocks");
}

// Shows switches: -f<size>[K|M|G|T|b]
#[test]
fn character_devices_have_the_size_that_is_given() {
    let place = workplace!();
    let run = place.short_run("-f1G -b64K -o1 /dev/zero").run();
    run.expect_status(0).expect_stdout(&["/dev/zero (1GiB)"]);
    let run = place.short_run("-f1G -b4K -w100 -o4 -r /dev/null").run();
    run.expect_status(0).expect_stdout(&["/dev/null (1GiB)"]);
    for (target, words) in [("/dev/zero", "-b4K"), ("/dev/null", "-w100"), ("/dev/zero", "-c1M")] {
        let run = place.short_run("").args(words).arg(target).run();
        run.expect_status(3).expect_stderr(&[target, "-f<size>"]);
    }
}
