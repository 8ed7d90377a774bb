//! DiskSpd overwrites silently; this program touches a file only if it made it and nothing has written to it
//! since, or if it was told to, and never while another process that can be seen has it open. Every case compares
//! the file before and after.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use testkit::{
    CoarseTimes, Finished, Holder, LoopDevice, Mounted, Renames, Snapshot, Swap, Workplace, is_root, nobody_can_run,
    or_skip, skip, workplace,
};

/// Runs that would change a target of 64 KiB: by creating it, by writing to it, or both.
const HARMFUL: [&str; 3] = ["-c128K", "-w50 -b4K", "-c128K -w100 -b4K"];

/// Somebody's data: no fill of ours.
fn somebodys(place: &Workplace, name: &str) -> std::path::PathBuf {
    let content: Vec<u8> = (0..65_536_u32).map(|index| (index * 7 % 251) as u8 ^ 0x55).collect();
    place.file(name, &content)
}

/// The run is refused before anything happens: exit 3, no report, the file named and untouched.
fn refused(place: &Workplace, words: &str, path: &Path, parts: &[&str]) -> Finished {
    let before = Snapshot::of(path);
    let run = place.diskspd("-d1 -W0").args(words).arg(path).run();
    run.expect_status(3).expect_stderr(&[&path.display().to_string()]).expect_stderr(parts);
    assert_eq!(run.stdout, "", "a refused run has no report");
    assert_eq!(Snapshot::of(path), before, "{words} changed a file that it refused");
    run
}

/// However it is asked for, nothing allows it.
fn always_refused(place: &Workplace, path: &Path, parts: &[&str]) {
    for words in HARMFUL {
        refused(place, words, path, parts);
        refused(place, &format!("--overwrite {words}"), path, parts);
    }
    let before = Snapshot::of(path);
    let program = place.diskspd("-d1 -W0 -w100 -b4K").env("DISKSPD_OVERWRITE", "1");
    program.arg(path).run().expect_status(3).expect_stderr(parts);
    assert_eq!(Snapshot::of(path), before);
}

/// Writes for a moment.
fn allowed(place: &Workplace, words: &str, path: &Path) -> Finished {
    let run = place.briefly(words).arg(path).run_until_measuring();
    run.expect_status(0);
    run
}

#[test]
fn a_file_that_we_did_not_make_is_refused_with_the_reason_and_the_flag() {
    let place = workplace!();
    let path = somebodys(&place, "theirs.dat");
    for words in HARMFUL {
        refused(&place, words, &path, &["may hold data that is not diskspd's", "--overwrite"]);
    }
    // Only the exact value counts, so that DISKSPD_OVERWRITE=0 does not allow what it denies.
    let before = Snapshot::of(&path);
    place.diskspd("-d1 -W0 -w100").env("DISKSPD_OVERWRITE", "0").arg(&path).run().expect_status(3);
    assert_eq!(Snapshot::of(&path), before);
}

#[test]
fn overwrite_allows_it_by_flag_and_by_environment() {
    let place = workplace!();
    for words in HARMFUL {
        let path = somebodys(&place, "theirs.dat");
        let before = Snapshot::of(&path);
        place.diskspd("-d1 -W0 --overwrite -Z").args(words).arg(&path).run().expect_status(0);
        assert_ne!(Snapshot::of(&path).checksum, before.checksum, "--overwrite {words} wrote nothing");
    }
    let path = somebodys(&place, "theirs.dat");
    let run = place.diskspd("-d1 -W0 -w100 -b4K").env("DISKSPD_OVERWRITE", "1").arg(&path).run();
    run.expect_status(0).expect_stderr(&["DISKSPD_OVERWRITE=1"]);
    assert!(!run.stdout.contains("DISKSPD_OVERWRITE"), "stdout carries the report only");
}

#[test]
fn our_own_files_are_written_and_replaced_without_being_asked() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c64K");
    for words in ["-w100 -b4K -Zr", "-c128K", "-c64K -Z", "-c64K -w50 -b4K --recreate"] {
        allowed(&place, words, &path);
    }
    // An empty file has nothing to lose.
    let empty = place.file("empty.dat", b"");
    allowed(&place, "-c64K", &empty);
    assert_eq!(fs::metadata(&empty).expect("the file").len(), 65_536);
}

#[test]
fn a_file_of_ours_that_something_else_has_changed_is_somebodys() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.made("grown.dat", "-c64K");
    let mut content = fs::read(&path).expect("our file");
    content.extend_from_slice(b"a line that somebody has added");
    fs::write(&path, content).expect("it can be written");
    refused(&place, "-w100 -b4K", &path, &["may hold data that is not diskspd's", "--overwrite"]);
}

#[test]
fn a_file_that_another_process_has_open_is_never_touched() {
    let place = workplace!();
    let ours = place.made("ours.dat", "-c64K");
    let theirs = somebodys(&place, "theirs.dat");
    for path in [ours, theirs] {
        let holder = Holder::open(&place, &path);
        let process = format!("process {}", holder.id());
        always_refused(&place, &path, &["in use", &process, "--overwrite"]);
        // Reading disturbs nobody.
        place.diskspd("-d1 -W0 -b4K").arg(&path).run().expect_status(0);
    }
}

#[test]
fn a_file_that_is_open_under_another_name_is_never_touched() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c64K");
    let other_name = place.path("hard link.dat");
    fs::hard_link(&path, &other_name).expect("hard links work");
    let holder = Holder::open(&place, &other_name);
    always_refused(&place, &path, &["in use", &format!("process {}", holder.id())]);
}

#[test]
fn a_file_that_another_process_has_mapped_is_never_touched() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c64K");
    let holder = or_skip!(Holder::mapped(&place, &path));
    always_refused(&place, &path, &["in use", &format!("process {}", holder.id()), "mapped"]);
}

#[test]
fn a_program_that_runs_is_never_touched() {
    let place = workplace!();
    let sleep = or_skip!(testkit::tool("sleep"));
    let copy = place.path("sleep");
    fs::copy(sleep, &copy).expect("it can be copied");
    let _running = place.tool(&copy).args("60").start();
    always_refused(&place, &copy, &["in use"]);
}

#[test]
fn the_file_that_the_report_goes_to_is_never_touched() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c64K");
    let before = Snapshot::of(&path);
    let stdout = fs::OpenOptions::new().append(true).open(&path).expect("our file");
    let run = place.diskspd("-d1 -W0 -w100 -b4K --overwrite ours.dat").stdout(stdout).run();
    run.expect_status(3).expect_stderr(&["ours.dat", "standard output"]);
    assert_eq!(Snapshot::of(&path), before);
}

#[test]
fn a_file_under_a_loop_device_is_never_touched() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c1M");
    let device = or_skip!(LoopDevice::over(&place, &path));
    always_refused(&place, &path, &["in use", &format!("loop device {}", device.path.display())]);
}

#[test]
fn an_active_swap_file_is_never_touched() {
    let place = workplace!();
    let path = place.made("ours.dat", "-c1M");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("our file");
    let _swap = or_skip!(Swap::on(&place, &path));
    always_refused(&place, &path, &["in use", "active swap"]);
}

#[test]
fn a_file_that_is_open_in_another_mount_namespace_is_never_touched() {
    let place = workplace!();
    if !is_root() {
        skip!("needs root");
    }
    let path = place.made("ours.dat", "-c64K");
    let probe = place.tool("unshare").args("--mount true").run();
    if probe.code() != Some(0) {
        skip!("no new mount namespace here: {}", probe.stderr.trim());
    }
    let _holder = Holder::open_inside(&place, &["unshare", "--mount"], &path);
    always_refused(&place, &path, &["in use"]);
}

#[test]
fn a_file_is_in_use_even_if_the_user_cannot_be_seen() {
    let place = workplace!();
    if !is_root() {
        skip!("needs root");
    }
    let path = place.made("ours.dat", "-c64K");
    let alone = "--pid --fork --mount-proc";
    let probe = place.tool("unshare").args(alone).args("true").run();
    if probe.code() != Some(0) {
        skip!("no new process namespace here: {}", probe.stderr.trim());
    }
    let _holder = Holder::open(&place, &path);
    let before = Snapshot::of(&path);
    let run = place.tool("unshare").args(alone).arg(place.program()).args("-d1 -W0 -w100 -b4K ours.dat").run();
    run.expect_status(3).expect_stderr(&["ours.dat", "in use", "cannot be seen from here"]);
    assert_eq!(Snapshot::of(&path), before);
}

#[test]
fn a_symbolic_link_is_followed_and_both_names_are_told() {
    let place = workplace!();
    let path = somebodys(&place, "theirs.dat");
    let link = place.path("link.dat");
    symlink("theirs.dat", &link).expect("links work");
    for words in HARMFUL {
        refused(&place, words, &link, &["link.dat", "theirs.dat", "--overwrite"]);
    }
    // What a link leads to is made, and the link stays one.
    let dangling = place.path("dangling.dat");
    symlink("new.dat", &dangling).expect("links work");
    allowed(&place, "-c64K", &dangling);
    assert!(fs::symlink_metadata(&dangling).expect("the link").is_symlink());
    assert_eq!(fs::metadata(place.path("new.dat")).expect("what it leads to").len(), 65_536);
    assert_eq!(fs::read(&path).expect("theirs").len(), 65_536);
}

#[test]
fn what_is_no_storage_is_not_created_on() {
    let place = workplace!();
    let fifo = place.path("fifo");
    let made = place.tool("mkfifo").arg(&fifo).run();
    let folder = place.path("folder");
    fs::create_dir(&folder).expect("a folder");
    let mut targets = vec![
        ("folder".to_owned(), "directory"),
        ("folder/".to_owned(), "directory"),
        ("/dev/diskspd-new.dat".to_owned(), "devtmpfs"),
        ("/proc/diskspd-new.dat".to_owned(), "proc"),
        ("/proc/self/comm".to_owned(), "proc"),
        ("/sys/diskspd-new.dat".to_owned(), "sysfs"),
        ("/sys/kernel/mm/transparent_hugepage/enabled".to_owned(), "sysfs"),
        ("/dev/tty".to_owned(), "character device"),
    ];
    if made.code() == Some(0) {
        targets.push(("fifo".to_owned(), "FIFO"));
    }
    for (target, what) in targets {
        if what == "devtmpfs" && fs::read_to_string("/proc/mounts").is_ok_and(|list| !list.contains(" /dev devtmpfs "))
        {
            // In containers it is a tmpfs, where files are storage like anywhere else.
            continue;
        }
        for words in ["-c64K", "--overwrite -c64K -w100"] {
            let run = place.diskspd("-d1 -W0").args(words).arg(&target).run();
            run.expect_status(3).expect_stderr(&[&target, what]);
            assert_eq!(run.stdout, "");
        }
    }
    assert!(!Path::new("/dev/diskspd-new.dat").exists());
    assert!(folder.is_dir());
}

#[test]
fn a_read_test_never_changes_a_byte() {
    let place = workplace!();
    let targets = [somebodys(&place, "theirs.dat"), place.made("ours.dat", "-c64K")];
    for path in targets {
        let before = Snapshot::of(&path);
        for words in ["-r -b4K -o8 -t2", "-w0 -o1 -b4K", "-Sw -b4K", "-si -t2 -b4K -Z -L -D"] {
            place.diskspd("-d1 -W0").args(words).arg(&path).run().expect_status(0);
            assert_eq!(Snapshot::of(&path), before, "{words} changed the file");
        }
        if place.direct_io().is_ok() {
            place.diskspd("-d1 -W0 -Sh -r -b4K -o4").arg(&path).run().expect_status(0);
            assert_eq!(Snapshot::of(&path), before, "-Sh changed the file");
        }
    }
}

#[test]
fn if_the_last_target_is_refused_nothing_happens_to_the_first() {
    let place = workplace!();
    let theirs = somebodys(&place, "theirs.dat");
    let ours = place.made("ours.dat", "-c64K");
    let before = (Snapshot::of(&theirs), Snapshot::of(&ours));
    let folder = fs::read_dir(place.folder()).expect("our folder").count();
    for words in ["-c128K", "-c128K -w100", "-c64K --recreate", "-w100 -b4K"] {
        let run = place.diskspd("-d1 -W0").args(words).args("ours.dat new.dat deep/new.dat theirs.dat").run();
        assert_ne!(run.code(), Some(0), "{run}");
        run.expect_stderr(&["theirs.dat"]);
        assert_eq!((Snapshot::of(&theirs), Snapshot::of(&ours)), before, "{words}");
    }
    // Without a folder that is missing, only theirs stands in the way.
    let run = place.diskspd("-d1 -W0 -c128K ours.dat new.dat theirs.dat").run();
    run.expect_status(3).expect_stderr(&["theirs.dat"]);
    assert_eq!((Snapshot::of(&theirs), Snapshot::of(&ours)), before);
    assert!(!place.path("new.dat").exists() && !place.path("deep").exists());
    assert_eq!(fs::read_dir(place.folder()).expect("our folder").count(), folder, "something was left behind");
}

#[test]
fn block_devices_are_read_and_never_written() {
    let place = workplace!();
    let path = place.made("image.dat", "-c8M");
    let device = or_skip!(LoopDevice::over(&place, &path));
    let name = device.path.display().to_string();
    let before = Snapshot::of(&path).checksum;
    for words in ["-o1 -b4K", "-o8 -r -b64K -L", "-o1 -b4K -c1M"] {
        let run = place.diskspd("-d1 -W0").args(words).arg(&device.path).run();
        run.expect_status(0).expect_stdout(&[&format!("path: '{name}'"), &format!("{name} (8MiB)")]);
    }
    for words in ["-w100", "-w1 --overwrite", "-w50 -c8M --overwrite"] {
        let run = place.diskspd("-d1 -W0").args(words).arg(&device.path).run();
        run.expect_status(3).expect_stderr(&[&name, "block device"]);
    }
    assert_eq!(Snapshot::of(&path).checksum, before);
}

#[test]
fn names_of_windows_are_refused_before_anything_is_made() {
    let place = workplace!();
    let names = [
        "#0",
        "#1",
        "C:",
        "d:",
        "F:testfile.dat",
        r"F:\testfile.dat",
        "f:/t.dat",
        r"\\host\share\t.dat",
        r"\\.\E:",
        r"\.E:",
    ];
    for target in names {
        for words in ["-d1 -W0", "-d1 -W0 -c64K", "-d1 -W0 -c64K --overwrite"] {
            let run = place.diskspd(words).arg(target).run();
            run.expect_status(3).expect_stderr(&[target, "Windows", &format!("./{target}")]);
        }
        assert!(!place.path(target).exists());
        // As a file of this folder.
        let named = format!("./{target}");
        if !target.contains('/') {
            place.briefly("-c64K").arg(&named).run_until_measuring().expect_status(0);
            assert!(place.path(target).exists(), "{named}");
        }
    }
    // A file of that name is a file.
    place.file("X:", &vec![0; 65_536]);
    place.diskspd("-d1 -W0 -b4K X:").run().expect_status(0);
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
    refused(&place, "-w100 -b4K", &theirs, &["may hold data", "no extended attributes", "--overwrite"]);
    let ours = mounted.path.join("ours.dat");
    allowed(&place, "-c1M", &ours);
    refused(&place, "-w100 -b4K", &ours, &["no extended attributes", "--overwrite"]);
    allowed(&place, "-w100 -b4K --overwrite", &ours);
    allowed(&place, "-c2M --overwrite", &ours);
    // Made and written in one run.
    allowed(&place, "-c1M -w100 -b4K", &mounted.path.join("new.dat"));
}

/// Whatever has written to a file of ours since makes it somebody's.
#[test]
fn a_file_of_ours_is_somebodys_once_anything_else_has_written_to_it() {
    let place = workplace!();
    or_skip!(place.attributes());
    let shell = |script: &str| place.tool("sh").arg("-c").arg(script).run();
    let data = somebodys(&place, "data");
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
        let path = place.made("t.dat", "-c64K --recreate");
        let before = Snapshot::of(&path);
        shell(script);
        if Snapshot::of(&path) == before {
            skip!("{name}: this tool is not here");
        }
        for words in HARMFUL.into_iter().chain(["-c64K", "-c64K -Zr", "-c64K --delete-after"]) {
            refused(&place, words, &path, &["may hold data", "--overwrite"]);
        }
        fs::remove_file(&path).expect("the test's own");
    }
    assert_eq!(fs::read(data).expect("data").len(), 65_536);
}

#[test]
fn a_copy_with_all_attributes_and_times_is_somebodys() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.made("ours.dat", "-c64K");
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
            refused(&place, words, &copy, &["it is a copy", "--overwrite"]);
        }
        fs::remove_file(&copy).expect("the test's own");
    }
    assert!(seen > 0, "no tool here copies attributes");
    // A new name is no copy.
    fs::rename(&path, place.path("renamed.dat")).expect("renamed");
    allowed(&place, "-w100 -b4K", &place.path("renamed.dat"));
}

#[test]
fn a_file_whose_run_was_killed_is_refused_with_the_reason() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.made("killed.dat", "-c64K");
    let mut run = place.diskspd("-d60 -W0 -v -w100 -b4K killed.dat").start();
    run.wait_for_stderr("starting measurements");
    run.kill_hard();
    assert!(place.mark(&path).is_some_and(|mark| mark.contains("state=open")));
    for words in HARMFUL {
        refused(&place, words, &path, &["has not ended, or was killed", "--overwrite"]);
    }
    // Reading it is fine; made anew, it is ours again.
    place.diskspd("-d1 -W0 -b4K killed.dat").run().expect_status(0);
    allowed(&place, "-c64K --overwrite", &path);
    allowed(&place, "-w100 -b4K", &path);
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
        allowed(&place, "-c64K", &path);
        assert_eq!(names(), ["ours.dat"], "{name}");
        allowed(&place, "-w100 -b4K", &path);
        allowed(&place, "-w100 -b4K -Zr", &path);
        let mark = place.mark(&path).expect("a mark");
        assert!(mark.contains("state=closed") && mark.contains("000000000 file="), "{mark}");
        // A write within the same two seconds.
        let file = fs::OpenOptions::new().write(true).open(&path).expect("opens");
        std::os::unix::fs::FileExt::write_all_at(&file, b"data", 777).expect("written");
        drop(file);
        for words in HARMFUL {
            refused(&place, words, &path, &["something else has written", "--overwrite"]);
        }
        // A copy with attributes and times.
        fs::remove_file(&path).expect("removed");
        allowed(&place, "-c64K", &path);
        let copied = place.tool("cp").args("-a").arg(&path).arg(mounted.folder.join("copy.dat")).run();
        if copied.code() == Some(0) && place.mark(&mounted.folder.join("copy.dat")).is_some() {
            refused(&place, "-w100 -b4K", &mounted.folder.join("copy.dat"), &["it is a copy"]);
        }
        // A creation that does not end leaves nothing behind.
        let names_before = names();
        let run = place.tool("prlimit").args("--fsize=1048576").arg(place.program());
        run.args("-d1 -W0 -c4M").arg(mounted.folder.join("new.dat")).run().expect_status(1);
        assert_eq!(names(), names_before, "{name}");
    }
}

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
    let mut run = place.diskspd("-c1G -d1 -W0 -v").arg(mounted.folder.join("big.dat")).start();
    run.wait_for_stderr("Creating file");
    run.kill_hard();
    let left = names();
    assert!(left.len() == 1 && left[0].starts_with(".diskspd-new-"), "{left:?}");
    fs::write(mounted.folder.join(".diskspd-new-theirs"), b"somebody's").expect("written");
    allowed(&place, "-c64K", &mounted.folder.join("ours.dat"));
    assert_eq!(names(), [".diskspd-new-theirs", "ours.dat"]);
}

#[test]
fn each_way_in_which_a_run_ends_closes_its_files() {
    let place = workplace!();
    or_skip!(place.attributes());
    let path = place.made("t.dat", "-c1M");
    let is_closed = || place.mark(&path).is_some_and(|mark| mark.contains("state=closed"));
    assert!(is_closed());
    place.diskspd("-d1 -W0 -w100 -b4K t.dat").run().expect_status(0);
    assert!(is_closed(), "after its time");
    place.diskspd("-d1 -W0 -w50 -b4K -Sw t.dat").run().expect_status(0);
    place.diskspd("-d1 -W0 -w50 -b4K -Sm t.dat").run().expect_status(0);
    assert!(is_closed(), "mapped");
    let mut run = place.diskspd("-d60 -W0 -v -w100 -b4K t.dat").start();
    run.wait_for_stderr("starting measurements");
    run.interrupt();
    run.finish().expect_status(0);
    assert!(is_closed(), "after Ctrl+C");
    // A refused run does not open it.
    let before = place.mark(&path);
    place.diskspd("-d1 -W0 -w100 -b4K t.dat missing.dat").run().expect_status(1);
    assert_eq!(place.mark(&path), before);
    allowed(&place, "-w100 -b4K", &path);
}

#[test]
fn delete_after_deletes_only_what_it_made_and_nobody_changed() {
    let place = workplace!();
    or_skip!(place.attributes());
    // A pure read run over a copy, or over a file that was filled by somebody.
    let path = place.made("ours.dat", "-c64K -Z");
    fs::write(&path, vec![0; 65_536]).expect("zeros");
    refused(&place, "-c64K -Z --delete-after", &path, &["may hold data"]);
    // Somebody writes to it while the run reads it.
    let path = place.made("read.dat", "-c64K");
    let mut run = place.diskspd("-d60 -W0 -v -b4K -c64K --delete-after read.dat").start();
    run.wait_for_stderr("starting measurements");
    fs::write(&path, b"somebody's data").expect("written");
    run.interrupt();
    let run = run.finish();
    run.expect_stderr(&["read.dat", "was not deleted"]);
    assert_eq!(fs::read(&path).expect("it is still there"), b"somebody's data");
    // Somebody has put another file in its place.
    let mut run = place.diskspd("-d60 -W0 -v -w100 -b4K -c64K --delete-after new.dat").start();
    run.wait_for_stderr("starting measurements");
    let theirs = somebodys(&place, "theirs");
    fs::rename(&theirs, place.path("new.dat")).expect("renamed");
    run.interrupt();
    run.finish().expect_stderr(&["new.dat", "was not deleted"]);
    assert_eq!(fs::read(place.path("new.dat")).expect("theirs").len(), 65_536);
}

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
    let path = place.made("a.dat", "-c64K");
    let (run, event) = waiting("a.dat");
    fs::write(&path, vec![b'x'; 65_536]).expect("written");
    let before = Snapshot::of(&path);
    go(run, &event).expect_status(1).expect_stderr(&["a.dat", "was changed by another process", "not touched"]);
    assert_eq!(Snapshot::of(&path), before);
    refused(&place, "-w100 -b4K", &path, &["may hold data"]);
    // Opened.
    let path = place.made("b.dat", "-c64K");
    let before = Snapshot::of(&path);
    let (run, event) = waiting("b.dat");
    let holder = Holder::open(&place, &path);
    let process = format!("process {}", holder.id());
    go(run, &event).expect_status(1).expect_stderr(&["b.dat", "was opened while the run waited", &process]);
    assert_eq!(Snapshot::of(&path).checksum, before.checksum);
    drop(holder);
    // Replaced.
    place.made("c.dat", "-c64K");
    let (run, event) = waiting("c.dat");
    fs::rename(place.path("c.dat"), place.path("kept.dat")).expect("renamed");
    let kept = Snapshot::of(place.path("kept.dat"));
    let theirs = somebodys(&place, "theirs");
    fs::rename(theirs, place.path("c.dat")).expect("renamed");
    go(run, &event).expect_status(1).expect_stderr(&["c.dat", "no longer the file that was checked"]);
    assert_eq!(Snapshot::of(place.path("kept.dat")).checksum, kept.checksum);
    // Unlinked: nobody can find it any more.
    let path = place.made("d.dat", "-c64K");
    let (run, event) = waiting("d.dat");
    fs::remove_file(&path).expect("removed");
    go(run, &event).expect_status(0);
    assert!(!path.exists());
}

#[test]
fn another_users_file_is_as_safe() {
    let place = workplace!();
    let words = or_skip!(nobody_can_run(&place));
    let path = place.made("ours.dat", "-c64K");
    let before = Snapshot::of(&path);
    let (program, rest) = words.split_once(' ').expect("a program and its words");
    let as_nobody = |line: &str| place.tool(program).args(rest).arg(place.program()).args(line).run();
    // Not writable: the run is impossible, which is no fault of the command line.
    as_nobody("-d1 -W0 -w100 -b4K ours.dat").expect_status(1).expect_stderr(&["ours.dat", "Permission denied"]);
    as_nobody("-d1 -W0 -c64K new.dat").expect_status(1).expect_stderr(&["new.dat", "ermission denied"]);
    as_nobody("-d1 -W0 -b4K ours.dat").expect_status(0);
    assert_eq!(Snapshot::of(&path), before);
    assert!(!place.path("new.dat").exists());
    // Writable by all, but only the owner may ask the kernel who has it open: this is said.
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("our file");
    let run = as_nobody("-d1 -W0 -w100 -b4K ours.dat");
    run.expect_status(0);
    assert!(format!("{}{}", run.stdout, run.stderr).contains("/proc"), "how it was found out is not said\n{run}");
    let _holder = Holder::open(&place, &path);
    let before = Snapshot::of(&path);
    let run = as_nobody("-d1 -W0 -w100 -b4K ours.dat");
    assert!(Snapshot::of(&path) == before || run.code() == Some(0), "refused and touched\n{run}");
}
