//! DiskSpd overwrites silently; this program touches a file only if it created it and nothing has written to it since,
//! or with permission, and never while another visible process has it open. Every case compares the file before and
//! after.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use testkit::{
    Holder, LoopDevice, Snapshot, Swap, Workplace, is_root, nobody_can_run, or_skip, skip, unless_swapping, workplace,
};

/// Runs that would change a target of 64 KiB: by creating it, by writing to it, or both.
const HARMFUL: [&str; 3] = ["-c128K", "-w50 -b4K", "-c128K -w100 -b4K"];

/// Checks that no option permits it.
fn always_refused(place: &Workplace, path: &Path, parts: &[&str]) {
    for words in HARMFUL {
        place.refused(words, path, parts);
        place.refused(&format!("--overwrite {words}"), path, parts);
    }
    let (run, is_untouched) = unless_swapping(|| {
        let before = Snapshot::take(path);
        let program = place.short_run("-w100 -b4K").env("DISKSPD_OVERWRITE", "1");
        (program.arg(path).run(), Snapshot::take(path) == before)
    });
    run.expect_status(3).expect_stderr(parts);
    assert!(is_untouched, "it was changed although it was refused");
}

// Shows data-safety: an existing file, written to
#[test]
fn a_file_that_we_did_not_make_is_refused_with_the_reason_and_the_flag() {
    let place = workplace!();
    let path = place.somebodys("theirs.dat");
    for words in HARMFUL {
        place.refused(words, &path, &["may hold data that diskspd did not write", "--overwrite"]);
    }
    // Only the exact value counts, so that DISKSPD_OVERWRITE=0 does not allow what it denies.
    let before = Snapshot::take(&path);
    place.short_run("-w100").env("DISKSPD_OVERWRITE", "0").arg(&path).run().expect_status(3);
    assert_eq!(Snapshot::take(&path), before);
}

// Shows switches: --overwrite
#[test]
fn overwrite_allows_it_by_flag_and_by_environment() {
    let place = workplace!();
    for words in HARMFUL {
        let path = place.somebodys("theirs.dat");
        let before = Snapshot::take(&path);
        place.short_run("--overwrite -Z").args(words).arg(&path).run().expect_status(0);
        assert_ne!(Snapshot::take(&path).checksum, before.checksum, "--overwrite {words} wrote nothing");
    }
    let path = place.somebodys("theirs.dat");
    let run = place.short_run("-w100 -b4K -v").env("DISKSPD_OVERWRITE", "1").arg(&path).run();
    run.expect_status(0).expect_stderr(&["DISKSPD_OVERWRITE=1"]);
    assert!(!run.stdout.contains("DISKSPD_OVERWRITE"), "stdout carries the report only");
}

// Shows data-safety: an existing file, made anew in place
#[test]
fn our_own_files_are_written_and_replaced_without_being_asked() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c64K");
    for words in ["-w100 -b4K -Zr", "-c128K", "-c64K -Z", "-c64K -w50 -b4K --recreate"] {
        place.allowed(words, &path);
    }
    // An empty file has no data to lose.
    let empty = place.file("empty.dat", b"");
    place.allowed("-c64K", &empty);
    assert_eq!(fs::metadata(&empty).expect("the file").len(), 65_536);
}

// Shows data-safety: an existing file, written to
#[test]
fn a_file_that_another_process_has_open_is_never_touched() {
    let place = workplace!();
    let ours = place.create_file("ours.dat", "-c64K");
    let theirs = place.somebodys("theirs.dat");
    for path in [ours, theirs] {
        let holder = Holder::open(&place, &path);
        let process = format!("process {}", holder.id());
        always_refused(&place, &path, &["in use", &process, "--overwrite"]);
        // Reading is permitted.
        place.short_run("-b4K").arg(&path).run().expect_status(0);
    }
}

#[test]
fn a_file_that_is_open_under_another_name_is_never_touched() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c64K");
    let other_name = place.path("hard link.dat");
    fs::hard_link(&path, &other_name).expect("hard links work");
    let holder = Holder::open(&place, &other_name);
    always_refused(&place, &path, &["in use", &format!("process {}", holder.id())]);
}

#[test]
fn a_file_that_another_process_has_mapped_is_never_touched() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c64K");
    let holder = or_skip!(Holder::mapped(&place, &path));
    always_refused(&place, &path, &["in use", &format!("process {}", holder.id()), "mapped"]);
}

#[test]
fn a_program_that_runs_is_never_touched() {
    let place = workplace!();
    let sleep = or_skip!(testkit::tool("sleep"));
    // A program that is open for writing, as children of other tests may keep it for a moment, cannot be started.
    let copy = place.file("sleep", &fs::read(sleep).expect("it can be read"));
    fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("our file");
    let _running = place.tool(&copy).args("infinity").start();
    always_refused(&place, &copy, &["in use"]);
}

#[test]
fn the_file_that_the_report_goes_to_is_never_touched() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c64K");
    let before = Snapshot::take(&path);
    let stdout = fs::OpenOptions::new().append(true).open(&path).expect("our file");
    let run = place.short_run("-w100 -b4K --overwrite ours.dat").stdout(stdout).run();
    run.expect_status(3).expect_stderr(&["ours.dat", "standard output"]);
    assert_eq!(Snapshot::take(&path), before);
}

/// The report used to be appended to a target that was only read.
#[test]
fn the_report_does_not_go_into_a_file_that_is_only_read() {
    let place = workplace!();
    let path = place.somebodys("theirs.dat");
    let before = Snapshot::take(&path);
    for words in ["-d60 -W0 -b4K --max-ios=9", "sweep --dir d --vary o=1,2 -- -d60 -W0 -b4K --max-ios=9"] {
        let stdout = fs::OpenOptions::new().append(true).open(&path).expect("our file");
        let run = place.diskspd(words).arg("theirs.dat").stdout(stdout).run();
        run.expect_status(3).expect_stderr(&["standard output is 'theirs.dat', a target of this run"]);
        assert_eq!(Snapshot::take(&path), before, "{words}");
        assert!(!place.path("d").exists());
    }
}

#[test]
fn a_file_under_a_loop_device_is_never_touched() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c1M");
    let device = or_skip!(LoopDevice::over(&place, &path));
    always_refused(&place, &path, &["in use", &format!("loop device {}", device.path.display())]);
}

#[test]
fn an_active_swap_file_is_never_touched() {
    let place = workplace!();
    let path = place.create_file("ours.dat", "-c1M");
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
    let path = place.create_file("ours.dat", "-c64K");
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
    let path = place.create_file("ours.dat", "-c64K");
    let alone = "--pid --fork --mount-proc";
    let probe = place.tool("unshare").args(alone).args("true").run();
    if probe.code() != Some(0) {
        skip!("no new process namespace here: {}", probe.stderr.trim());
    }
    let _holder = Holder::open(&place, &path);
    let before = Snapshot::take(&path);
    let run = place.tool("unshare").args(alone).arg(place.program()).args("-d1 -W0 -w100 -b4K ours.dat").run();
    run.expect_status(3).expect_stderr(&["ours.dat", "in use", "not visible from here"]);
    assert_eq!(Snapshot::take(&path), before);
}

#[test]
fn a_symbolic_link_is_followed_and_both_names_are_told() {
    let place = workplace!();
    let path = place.somebodys("theirs.dat");
    let link = place.path("link.dat");
    symlink("theirs.dat", &link).expect("links work");
    for words in HARMFUL {
        place.refused(words, &link, &["link.dat", "theirs.dat", "--overwrite"]);
    }
    // The destination of a link is created, and the link remains.
    let dangling = place.path("dangling.dat");
    symlink("new.dat", &dangling).expect("links work");
    place.allowed("-c64K", &dangling);
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
            let run = place.short_run("").args(words).arg(&target).run();
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
    let targets = [place.somebodys("theirs.dat"), place.create_file("ours.dat", "-c64K")];
    for path in targets {
        let before = Snapshot::take(&path);
        for words in ["-r -b4K -o8 -t2", "-w0 -o1 -b4K", "-Sw -b4K", "-si -t2 -b4K -Z -L -D"] {
            place.diskspd("-d600 -W0 --max-ios=2000").args(words).arg(&path).run().expect_status(0);
            assert_eq!(Snapshot::take(&path), before, "{words} changed the file");
        }
        if place.direct_io().is_ok() {
            place.diskspd("-d600 -W0 --max-ios=200 -Sh -r -b4K -o4").arg(&path).run().expect_status(0);
            assert_eq!(Snapshot::take(&path), before, "-Sh changed the file");
        }
    }
}

#[test]
fn if_the_last_target_is_refused_nothing_happens_to_the_first() {
    let place = workplace!();
    let theirs = place.somebodys("theirs.dat");
    let ours = place.create_file("ours.dat", "-c64K");
    let before = (Snapshot::take(&theirs), Snapshot::take(&ours));
    let folder = fs::read_dir(place.folder()).expect("our folder").count();
    for words in ["-c128K", "-c128K -w100", "-c64K --recreate", "-w100 -b4K"] {
        let run = place.short_run("").args(words).args("ours.dat new.dat deep/new.dat theirs.dat").run();
        assert_ne!(run.code(), Some(0), "{run}");
        run.expect_stderr(&["theirs.dat"]);
        assert_eq!((Snapshot::take(&theirs), Snapshot::take(&ours)), before, "{words}");
    }
    // Without a missing directory, only the foreign file prevents the run.
    let run = place.short_run("-c128K ours.dat new.dat theirs.dat").run();
    run.expect_status(3).expect_stderr(&["theirs.dat"]);
    assert_eq!((Snapshot::take(&theirs), Snapshot::take(&ours)), before);
    assert!(!place.path("new.dat").exists() && !place.path("deep").exists());
    assert_eq!(fs::read_dir(place.folder()).expect("our folder").count(), folder, "something was left behind");
}

#[test]
fn block_devices_are_read_and_never_written() {
    let place = workplace!();
    let path = place.create_file("image.dat", "-c8M");
    let device = or_skip!(LoopDevice::over(&place, &path));
    let name = device.path.display().to_string();
    let before = Snapshot::take(&path).checksum;
    for words in ["-o1 -b4K", "-o8 -r -b64K -L", "-o1 -b4K -c1M"] {
        let run = place.short_run("").args(words).arg(&device.path).run();
        run.expect_status(0).expect_stdout(&[&format!("path: '{name}'"), &format!("{name} (8MiB)")]);
    }
    for words in ["-w100", "-w1 --overwrite", "-w50 -c8M --overwrite"] {
        let run = place.short_run("").args(words).arg(&device.path).run();
        run.expect_status(3).expect_stderr(&[&name, "block device"]);
    }
    assert_eq!(Snapshot::take(&path).checksum, before);
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
        // As a file of this directory.
        let in_this_folder = format!("./{target}");
        if !target.contains('/') {
            place.briefly("-c64K").arg(&in_this_folder).run_until_measuring().expect_status(0);
            assert!(place.path(target).exists(), "{in_this_folder}");
        }
    }
    // A file of that name is used as a file.
    place.file("X:", &vec![0; 65_536]);
    place.short_run("-b4K X:").run().expect_status(0);
}

#[test]
fn another_users_file_is_as_safe() {
    let place = workplace!();
    let words = or_skip!(nobody_can_run(&place));
    let path = place.create_file("ours.dat", "-c64K");
    let before = Snapshot::take(&path);
    let (program, rest) = words.split_once(' ').expect("a program and its words");
    let as_nobody = |line: &str| place.tool(program).args(rest).arg(place.program()).args(line).run();
    // Not writable: the run is impossible, which is not an error of the command line.
    as_nobody("-d1 -W0 -w100 -b4K ours.dat").expect_status(1).expect_stderr(&["ours.dat", "Permission denied"]);
    let refused = as_nobody("-d1 -W0 -c64K new.dat");
    refused.expect_status(1).expect_stderr(&["new.dat", "may not create files in", "Permission denied"]);
    assert_eq!(refused.stdout, "", "{refused}");
    as_nobody("check -c64K new.dat").expect_status(4).expect_stdout(&["may not create files"]);
    as_nobody("-d1 -W0 -b4K ours.dat").expect_status(0);
    assert_eq!(Snapshot::take(&path), before);
    assert!(!place.path("new.dat").exists());
    // Writable by all, but only the owner may query the kernel for other users of the file: this is reported.
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("our file");
    let run = as_nobody("-d1 -W0 -w100 -b4K ours.dat");
    run.expect_status(0);
    assert!(format!("{}{}", run.stdout, run.stderr).contains("/proc"), "how it was found out is not said\n{run}");
    let _holder = Holder::open(&place, &path);
    let before = Snapshot::take(&path);
    let run = as_nobody("-d1 -W0 -w100 -b4K ours.dat");
    assert!(Snapshot::take(&path) == before || run.code() == Some(0), "refused and touched\n{run}");
}

// Shows data-safety: an existing file, written to
#[test]
fn what_is_written_into_a_target_between_two_timespans_is_kept() {
    let place = workplace!();
    place.file("job.toml", BETWEEN_TIMESPANS.as_bytes());
    for words in ["", "--overwrite "] {
        let path = place.path("ours.dat");
        let mut left = 5;
        let running = loop {
            let mut running = place.diskspd(&format!("run job.toml -v {words}ours.dat other.dat")).start();
            running.wait_for_stderr("Generating requests for timespan 2.");
            running.pause();
            if !running.stderr().contains("Generating requests for timespan 3.") {
                break running;
            }
            // This thread was delayed for three seconds, so it is repeated.
            running.kill_hard();
            fs::remove_file(&path).expect("it was made above");
            left -= 1;
            assert!(left > 0, "the second timespan is always over before it is seen");
        };
        let file = File::options().write(true).open(&path).expect("it opens");
        file.write_all_at(b"somebody's words", 8192).expect("written");
        drop(file);
        running.go_on();
        let run = running.finish();
        run.expect_status(1)
            .expect_stderr(&["ours.dat' was changed by another process after the check", "was not touched"]);
        assert_eq!(&place.content("ours.dat")[8192..][..16], b"somebody's words", "{run}");
        // It is not marked as this program's own either.
        place.refused("-w100 -b4K", &path, &["--overwrite"]);
        fs::remove_file(&path).expect("removed");
    }
}

/// The first and the third timespan write to the same file.
const BETWEEN_TIMESPANS: &str = r#"form = "diskspd-job/1"

[[time_spans]]
duration_s = 1
warm_up_s = 0

[[time_spans.targets]]
path = "*1"
create_size = "64K"
block_size = "4K"
write_percent = 100
outstanding = 1

[[time_spans]]
duration_s = 3
warm_up_s = 0

[[time_spans.targets]]
path = "*2"
create_size = "64K"
block_size = "4K"
outstanding = 1

[[time_spans]]
duration_s = 1
warm_up_s = 0

[[time_spans.targets]]
path = "*1"
block_size = "4K"
write_percent = 100
outstanding = 1
"#;
