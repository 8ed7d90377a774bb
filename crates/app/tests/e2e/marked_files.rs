//! The mark on files created by diskspd: it is valid only for the file that was marked, as long as nothing else has
//! written to it. Every case compares the file before and after.

use std::fs;
use testkit::{CoarseTimes, Holder, LoopDevice, Mounted, Renames, Snapshot, or_skip, skip, workplace};

/// Runs that would change a target of 64 KiB: by creating it, by writing to it, or both.
const HARMFUL: [&str; 3] = ["-c128K", "-w50 -b4K", "-c128K -w100 -b4K"];

#[test]
fn a_file_of_ours_that_something_else_has_changed_is_somebodys() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("grown.dat", "-c64K");
    let mut content = fs::read(&path).expect("our file");
    content.extend_from_slice(b"a line that somebody has added");
    fs::write(&path, content).expect("it can be written");
    place.refused("-w100 -b4K", &path, &["may hold data that diskspd did not write", "--overwrite"]);
}

#[test]
fn without_extended_attributes_existing_files_need_overwrite() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ramfs(&place, "plain"));
    // 4 bytes of data in zeros are data.
    let theirs = mounted.path.join("theirs.dat");
    let mut content = vec![0; 1 << 20];
    content[777_777..777_781].copy_from_slice(b"data");
    fs::write(&theirs, content).expect("it fits");
    place.refused("-w100 -b4K", &theirs, &["may hold data", "not support extended attributes", "--overwrite"]);
    let ours = mounted.path.join("ours.dat");
    place.allowed("-c1M", &ours);
    place.refused("-w100 -b4K", &ours, &["not support extended attributes", "--overwrite"]);
    place.allowed("-w100 -b4K --overwrite", &ours);
    place.allowed("-c2M --overwrite", &ours);
    // Made and written in one run.
    place.allowed("-c1M -w100 -b4K", &mounted.path.join("new.dat"));
}

/// Any foreign write to a file of ours makes it foreign.
// Shows data-safety: an existing file, written to
#[test]
fn a_file_of_ours_is_somebodys_once_anything_else_has_written_to_it() {
    let place = workplace!();
    or_skip!(place.attributes());
    let shell = |script: &str| place.tool("sh").arg("-c").arg(script).run();
    let data = place.somebodys("data");
    for (name, script) in [
        ("in place", "dd if=data of=t.dat bs=4096 count=1 seek=3 conv=notrunc 2>&1"),
        ("one byte", "printf x | dd of=t.dat bs=1 seek=77 conv=notrunc 2>&1"),
        ("anew", "cat data > t.dat"),
        ("with the time of before", "touch -r t.dat ref; cat data > t.dat; sleep 0.01; touch t.dat"),
        ("zeros", "dd if=/dev/zero of=t.dat bs=65536 count=1 conv=notrunc 2>&1"),
        ("mkfs", "mkfs.ext4 -q -F t.dat 64K 2>/dev/null || printf fs | dd of=t.dat conv=notrunc 2>&1"),
        (
            "mapped",
            "python3 -c \"import mmap; f=open('t.dat','r+b'); m=mmap.mmap(f.fileno(),0); m[5:9]=b'data'; m.flush()\"",
        ),
    ] {
        let path = place.create_file("t.dat", "-c64K --recreate");
        let before = Snapshot::take(&path);
        shell(script);
        if Snapshot::take(&path) == before {
            skip!("{name}: this tool is not here");
        }
        for words in HARMFUL.into_iter().chain(["-c64K", "-c64K -Zr", "-c64K --delete-after"]) {
            place.refused(words, &path, &["may hold data", "--overwrite"]);
        }
        fs::remove_file(&path).expect("the test's own");
    }
    assert_eq!(fs::read(data).expect("data").len(), 65_536);
}

// Shows data-safety: an existing file, written to
#[test]
fn a_copy_with_all_attributes_and_times_is_somebodys() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("ours.dat", "-c64K");
    let shell = |script: &str| place.tool("sh").arg("-c").arg(script).run();
    let mut seen = 0;
    for (name, script) in [
        ("cp", "cp -a --reflink=never ours.dat copy.dat"),
        ("reflink", "cp -a --reflink=always ours.dat copy.dat"),
        ("rsync", "rsync -aX ours.dat copy.dat"),
        (
            "tar",
            "mkdir d && tar --xattrs --xattrs-include='user.*' -cf a.tar ours.dat && tar --xattrs --xattrs-include='user.*' -xf a.tar -C d && mv d/ours.dat copy.dat",
        ),
        ("python", "python3 -c \"import shutil; shutil.copy2('ours.dat','copy.dat')\""),
    ] {
        let copied = shell(script);
        let copy = place.path("copy.dat");
        if copied.code() != Some(0) || place.mark(&copy).is_none() {
            println!("{name} makes no such copies here");
            let _ = fs::remove_file(&copy);
            continue;
        }
        seen += 1;
        assert_eq!(place.mark(&copy), place.mark(&path), "{name}");
        for words in HARMFUL.into_iter().chain(["-c64K", "-c64K --delete-after"]) {
            place.refused(words, &copy, &["this file seems to be a copy", "--overwrite"]);
        }
        fs::remove_file(&copy).expect("the test's own");
    }
    assert!(seen > 0, "no tool here copies attributes");
    // Renaming is not copying.
    fs::rename(&path, place.path("renamed.dat")).expect("renamed");
    place.allowed("-w100 -b4K", &place.path("renamed.dat"));
}

#[test]
fn a_refused_run_makes_no_copy_in_an_overlay() {
    let place = workplace!();
    fs::create_dir(place.path("lower")).expect("a new folder");
    fs::rename(place.somebodys("data"), place.path("lower/data")).expect("renamed");
    let mounted = or_skip!(Mounted::overlay(&place, "lower", "upper", "merged"));
    for words in HARMFUL {
        place.refused(words, &mounted.path.join("data"), &["may hold data", "--overwrite"]);
    }
    assert_eq!(fs::read_dir(place.path("upper")).expect("the upper layer").count(), 0);
}

// Shows data-safety: an existing file, written to
#[test]
fn a_file_that_is_used_in_a_layer_of_its_overlay_is_never_touched() {
    let place = workplace!();
    fs::create_dir(place.path("lower")).expect("a new folder");
    let mounted = or_skip!(Mounted::overlay(&place, "lower", "upper", "merged"));
    let path = mounted.path.join("ours.dat");
    place.allowed("-c64K --overwrite", &path);
    let holder = Holder::open(&place, &place.path("upper/ours.dat"));
    for words in HARMFUL {
        place.refused(&format!("{words} --overwrite"), &path, &["in use", &format!("process {}", holder.id())]);
    }
    drop(holder);
    let image = mounted.path.join("image");
    place.allowed("-c1M --overwrite", &image);
    let other = or_skip!(LoopDevice::over(&place, &place.path("upper/image")));
    place.refused("-w100 -b4K --overwrite", &image, &["in use", &other.path.display().to_string()]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let flag = format!("--destroy={}", image.display());
    place.write_refused(&[&flag], &device.path, &image, &["in use", &other.name()]);
}

// Shows faults: The run is killed while it writes to a file (SIGKILL, a second signal, power)
#[test]
fn a_file_whose_run_was_killed_is_refused_with_the_reason() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("killed.dat", "-c64K");
    let mut run = place.diskspd("-d600 -W0 -v -w100 -b4K killed.dat").start();
    run.wait_for_stderr("starting measurements");
    run.kill_hard();
    assert!(place.mark(&path).is_some_and(|mark| mark.contains("state=open")));
    for words in HARMFUL {
        place.refused(words, &path, &["is still active or was killed", "--overwrite"]);
    }
    // Reading it is permitted; recreated, it is ours again.
    place.short_run("-b4K killed.dat").run().expect_status(0);
    place.allowed("-c64K --overwrite", &path);
    place.allowed("-w100 -b4K", &path);
}

#[test]
fn times_of_two_seconds_and_inodes_of_fuse_are_enough() {
    let place = workplace!();
    for (name, renames) in
        [("renames", Renames::WithoutReplacing), ("links", Renames::Links), ("neither", Renames::None)]
    {
        let mounted = or_skip!(CoarseTimes::mounted(&place, name, renames));
        let names = || {
            let entries = fs::read_dir(&mounted.folder).expect("the folder");
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect::<Vec<_>>()
        };
        let path = mounted.folder.join("ours.dat");
        place.allowed("-c64K", &path);
        assert_eq!(names(), ["ours.dat"], "{name}");
        place.allowed("-w100 -b4K", &path);
        place.allowed("-w100 -b4K -Zr", &path);
        let mark = place.mark(&path).expect("a mark");
        assert!(mark.contains("state=closed") && mark.contains("000000000 file="), "{mark}");
        // A write within the same two seconds.
        let file = fs::OpenOptions::new().write(true).open(&path).expect("opens");
        std::os::unix::fs::FileExt::write_all_at(&file, b"data", 777).expect("written");
        drop(file);
        for words in HARMFUL {
            place.refused(words, &path, &["another program has written", "--overwrite"]);
        }
        // A copy with attributes and times.
        fs::remove_file(&path).expect("removed");
        place.allowed("-c64K", &path);
        let copied = place.tool("cp").args("-a").arg(&path).arg(mounted.folder.join("copy.dat")).run();
        if copied.code() == Some(0) && place.mark(&mounted.folder.join("copy.dat")).is_some() {
            place.refused("-w100 -b4K", &mounted.folder.join("copy.dat"), &["this file seems to be a copy"]);
        }
        // A creation that does not end leaves nothing behind.
        let names_before = names();
        let run = place.tool("prlimit").args("--fsize=1048576").arg(place.program());
        run.args("-d1 -W0 -c4M").arg(mounted.folder.join("new.dat")).run().expect_status(1);
        assert_eq!(names(), names_before, "{name}");
    }
}

// Shows faults: The run is killed while a new file is made
// Shows data-safety: unfinished files of killed runs, deleted
#[test]
fn leftovers_of_a_killed_creation_are_removed_by_the_next() {
    let place = workplace!();
    let mounted = or_skip!(CoarseTimes::mounted(&place, "renames", Renames::WithoutReplacing));
    let names = || {
        let entries = fs::read_dir(&mounted.folder).expect("the folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    };
    let mut left = Vec::new();
    for _ in 0..5 {
        let mut run = place.diskspd("-c1G -d600 -W0 -v").arg(mounted.folder.join("big.dat")).start();
        run.wait_for_stderr("Creating file");
        run.kill_hard();
        left = names();
        // This thread was delayed until the file was complete, so it is repeated.
        if left != ["big.dat"] {
            break;
        }
        fs::remove_file(mounted.folder.join("big.dat")).expect("it was made above");
    }
    assert!(left.len() == 1 && left[0].starts_with(".diskspd-new-"), "{left:?}");
    fs::write(mounted.folder.join(".diskspd-new-theirs"), b"somebody's").expect("written");
    place.allowed("-c64K", &mounted.folder.join("ours.dat"));
    assert_eq!(names(), [".diskspd-new-theirs", "ours.dat"]);
}

// Shows data-safety: modification time and extended attribute user.diskspd of files that diskspd created
#[test]
fn each_way_in_which_a_run_ends_closes_its_files() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("t.dat", "-c1M");
    let is_closed = || place.mark(&path).is_some_and(|mark| mark.contains("state=closed"));
    assert!(is_closed());
    place.short_run("-w100 -b4K t.dat").run().expect_status(0);
    assert!(is_closed(), "after its time");
    place.short_run("-w50 -b4K -Sw t.dat").run().expect_status(0);
    place.short_run("-w50 -b4K -Sm t.dat").run().expect_status(0);
    assert!(is_closed(), "mapped");
    let mut run = place.diskspd("-d600 -W0 -v -w100 -b4K t.dat").start();
    run.wait_for_stderr("starting measurements");
    run.interrupt();
    run.finish().expect_status(0);
    assert!(is_closed(), "after Ctrl+C");
    // A refused run does not open it.
    let before = place.mark(&path);
    place.short_run("-w100 -b4K t.dat missing.dat").run().expect_status(1);
    assert_eq!(place.mark(&path), before);
    place.allowed("-w100 -b4K", &path);
}

/// Their writes could still be pending when the mark is set.
#[test]
fn a_file_that_somebody_has_open_for_writing_at_the_end_stays_open() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.create_file("t.dat", "-c1M");
    for words in ["-w100 -b4K", "-w0 -b4K -c2M --overwrite"] {
        let mut run = place.diskspd("-d600 -W0 -v").args(words).arg(&path).start();
        run.wait_for_stderr("starting measurements");
        let writer = fs::OpenOptions::new().write(true).open(&path).expect("opens");
        run.interrupt();
        run.finish().expect_stderr(&["t.dat", "cannot clear the mark", "has the file open for writing"]);
        drop(writer);
        place.refused("-w100 -b4K", &path, &["is still active or was killed", "--overwrite"]);
    }
    // Readers do not prevent it.
    place.allowed("-c1M --overwrite", &path);
    let reader = fs::File::open(&path).expect("opens");
    let mut run = place.diskspd("-d600 -W0 -v -b4K").arg(&path).start();
    run.wait_for_stderr("starting measurements");
    run.end();
    drop(reader);
    place.allowed("-w100 -b4K", &path);
}

#[test]
fn an_empty_file_of_somebody_may_be_filled_and_is_not_deleted() {
    let place = workplace!();
    let path = place.file("lock", b"");
    place.short_run("-b4K -c64K --delete-after").arg(&path).run().expect_status(0);
    assert!(path.exists(), "a file that was there before was deleted");
}

// Shows data-safety: a file that the run made or reused, deleted
#[test]
fn delete_after_deletes_only_what_it_made_and_nobody_changed() {
    let place = workplace!();
    or_skip!(place.attributes());
    // A pure read run over a copy, or over a file filled by another program.
    let path = place.create_file("ours.dat", "-c64K -Z");
    fs::write(&path, vec![0; 65_536]).expect("zeros");
    place.refused("-c64K -Z --delete-after", &path, &["may hold data"]);
    // Another program writes to it while the run reads it.
    let path = place.create_file("read.dat", "-c64K");
    let mut run = place.diskspd("-d600 -W0 -v -b4K -c64K --delete-after read.dat").start();
    run.wait_for_stderr("starting measurements");
    fs::write(&path, b"somebody's data").expect("written");
    run.interrupt();
    let run = run.finish();
    run.expect_stderr(&["read.dat", "was not deleted"]);
    assert_eq!(fs::read(&path).expect("it is still there"), b"somebody's data");
    // Another program has put a different file in its place.
    let mut run = place.diskspd("-d600 -W0 -v -w100 -b4K -c64K --delete-after new.dat").start();
    run.wait_for_stderr("starting measurements");
    let theirs = place.somebodys("theirs");
    fs::rename(&theirs, place.path("new.dat")).expect("renamed");
    run.interrupt();
    run.finish().expect_stderr(&["new.dat", "was not deleted"]);
    assert_eq!(fs::read(place.path("new.dat")).expect("theirs").len(), 65_536);
}

// Shows faults: A file is changed, replaced or opened by another process while the run waits for its start event
// Shows data-safety: the same, after a wait
#[test]
fn what_happens_to_a_file_while_the_run_waits_is_seen() {
    let place = workplace!();
    or_skip!(place.attributes());
    let waiting = |name: &str| {
        let event = format!("waits-{}-{name}", std::process::id());
        let mut run = place.diskspd("-d1 -W0 -v -w100 -b4K").arg(format!("-yr{event}")).arg(name).start();
        run.wait_for_stderr("waiting for the start event");
        (run, event)
    };
    let go = |run: testkit::Running, event: &str| {
        place.diskspd("").arg(format!("-ye{event}")).run().expect_status(0);
        run.finish()
    };
    // Written to.
    let path = place.create_file("a.dat", "-c64K");
    let (run, event) = waiting("a.dat");
    fs::write(&path, vec![b'x'; 65_536]).expect("written");
    let before = Snapshot::take(&path);
    go(run, &event).expect_status(1).expect_stderr(&["a.dat", "was changed by another process", "not touched"]);
    assert_eq!(Snapshot::take(&path), before);
    place.refused("-w100 -b4K", &path, &["may hold data"]);
    // Opened.
    let path = place.create_file("b.dat", "-c64K");
    let before = Snapshot::take(&path);
    let (run, event) = waiting("b.dat");
    let holder = Holder::open(&place, &path);
    let process = format!("process {}", holder.id());
    go(run, &event).expect_status(1).expect_stderr(&["b.dat", "by the time the start event arrived", &process]);
    assert_eq!(Snapshot::take(&path).checksum, before.checksum);
    drop(holder);
    // Replaced.
    place.create_file("c.dat", "-c64K");
    let (run, event) = waiting("c.dat");
    fs::rename(place.path("c.dat"), place.path("kept.dat")).expect("renamed");
    let kept = Snapshot::take(place.path("kept.dat"));
    let theirs = place.somebodys("theirs");
    fs::rename(theirs, place.path("c.dat")).expect("renamed");
    go(run, &event).expect_status(1).expect_stderr(&["c.dat", "no longer the file that was checked"]);
    assert_eq!(Snapshot::take(place.path("kept.dat")).checksum, kept.checksum);
    // Written to after the run had recreated it in place.
    let path = place.create_file("e.dat", "-c64K");
    let event = format!("waits-{}-anew", std::process::id());
    let mut run =
        place.diskspd("-d1 -W0 -v -w100 -b4K --recreate -c128K").arg(format!("-yr{event}")).arg("e.dat").start();
    run.wait_for_stderr("waiting for the start event");
    assert_eq!(fs::metadata(&path).expect("it is there").len(), 128 << 10, "made anew");
    fs::write(&path, vec![b'x'; 128 << 10]).expect("written");
    let run = go(run, &event);
    run.expect_status(1).expect_stderr(&["e.dat", "was changed by another process", "not touched"]);
    assert!(fs::read(&path).expect("theirs") == vec![b'x'; 128 << 10]);
    place.refused("-w100 -b4K", &path, &["may hold data"]);
    // Unlinked: it can no longer be found.
    let path = place.create_file("d.dat", "-c64K");
    let (run, event) = waiting("d.dat");
    fs::remove_file(&path).expect("removed");
    go(run, &event).expect_status(0);
    assert!(!path.exists());
}
