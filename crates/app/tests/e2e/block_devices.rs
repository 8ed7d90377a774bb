//! Block devices are read without permission, and written to only if nobody uses them and they are named by a
//! persistent identity. Every refusal compares the content before and after.

use std::path::{Path, PathBuf};
use testkit::{Holder, LoopDevice, Mounted, Partition, Running, Snapshot, Swap, Workplace, or_skip, tool, workplace};

const MIB: u64 = 1 << 20;

/// A device over a file of zeros.
fn blank<'a>(place: &'a Workplace, name: &str) -> Result<(PathBuf, LoopDevice<'a>), String> {
    let image = place.sparse(name, 8 * MIB).expect("a sparse file");
    let device = LoopDevice::over(place, &image)?;
    Ok((image, device))
}

/// The same with an ext4 on it.
fn with_ext4<'a>(place: &'a Workplace, name: &str) -> Result<(PathBuf, LoopDevice<'a>), String> {
    let image = place.sparse(name, 8 * MIB).expect("a sparse file");
    place.tool(tool("mkfs.ext4")?).args("-q -F -m0").arg(&image).run().expect_status(0);
    let device = LoopDevice::over(place, &image)?;
    Ok((image, device))
}

fn destroy(image: &Path) -> String {
    format!("--destroy={}", image.display())
}

// Shows switches: --destroy=<id>
// Shows data-safety: a block device
#[test]
fn a_refusal_prints_the_flag_and_that_flag_allows_it() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "blank.img"));
    let flag = destroy(&image);
    let run = place.write_refused(&[], &device.path, &image, &["block device", "only zeros", &flag]);
    assert!(run.stderr.contains(&format!("To allow this: {flag}")));
    let kernel_name = format!("--destroy={}", device.name());
    let node = destroy(&device.path);
    for wrong in ["--overwrite", &kernel_name, &node, "--destroy=naa.5000", &format!("{flag}x")] {
        place.write_refused(&[wrong], &device.path, &image, &[&flag]);
    }
    let meant = format!("did you mean {}?", image.display());
    place.write_refused(&[&format!("{flag}x")], &device.path, &image, &[&flag, &meant]);
    let before = Snapshot::take(&image).checksum;
    let run = place.write_to(&["--destroy=naa.5000", &flag], &device.path);
    run.expect_status(0).expect_stdout(&["is overwritten", &flag]);
    assert_ne!(Snapshot::take(&image).checksum, before, "nothing was written");
    // Its own writes are its fill pattern.
    place.write_refused(&[], &device.path, &image, &["only zeros or diskspd's fill pattern", &flag]);
}

#[test]
fn reading_needs_nothing() {
    let place = workplace!();
    let (image, device) = or_skip!(with_ext4(&place, "ext4.img"));
    let before = Snapshot::take(&image).checksum;
    for words in ["-w0", "-w0 -r -o8 -Su", "-c1M"] {
        let run = place.diskspd("-d1 -W0 -b4K").args(words).arg(&device.path).run();
        run.expect_status(0);
        let says_why = run.stdout.contains("NOTE: -c has no effect: ") && run.stdout.contains("is a device");
        assert_eq!(says_why, words == "-c1M", "{run}");
    }
    assert_eq!(Snapshot::take(&image).checksum, before);
    let mounted = or_skip!(Mounted::device(&place, "mounted", device));
    let path = &mounted.device.as_ref().expect("it has one").path;
    place.diskspd("-d1 -W0 -b4K").arg(path).run().expect_status(0);
}

#[test]
fn what_would_be_lost_is_named() {
    let place = workplace!();
    let (image, device) = or_skip!(with_ext4(&place, "ext4.img"));
    place.write_refused(
        &[],
        &device.path,
        &image,
        &["its contents: an ext2, ext3 or ext4 file system", &destroy(&image)],
    );
    let data = place.file("data.img", &vec![0x5a; 8 * MIB as usize]);
    let device = or_skip!(LoopDevice::over(&place, &data));
    place.write_refused(&[], &device.path, &data, &["its contents: data without a known signature", &destroy(&data)]);
    let mut table = vec![0; 8 * MIB as usize];
    let end = table.len() - 512;
    table[end..end + 8].copy_from_slice(b"EFI PART");
    let table = place.file("gpt.img", &table);
    let device = or_skip!(LoopDevice::over(&place, &table));
    place.write_refused(&[], &device.path, &table, &["its contents: a GPT partition table", &destroy(&table)]);
}

// Shows data-safety: a block device
#[test]
fn mounted_here() {
    let place = workplace!();
    let (image, device) = or_skip!(with_ext4(&place, "ext4.img"));
    let mounted = or_skip!(Mounted::device(&place, "mounted", device));
    let path = mounted.device.as_ref().expect("it has one").path.clone();
    let point = format!("mounted at '{}'", mounted.path.display());
    // The journal is idle; any change from here on would be caused by the test.
    or_skip!(mounted.remount("ro"));
    place.write_refused(&[&destroy(&image)], &path, &image, &["in use", &point, "even with --destroy"]);
    place.write_refused(&[], &path, &image, &["in use", &point, &destroy(&image)]);
}

#[test]
fn mounted_in_another_namespace() {
    let place = workplace!();
    let (image, device) = or_skip!(with_ext4(&place, "ext4.img"));
    let unshare = or_skip!(tool("unshare"));
    std::fs::create_dir(place.path("point")).expect("a new folder");
    let script = r#"mount -o ro,noload "$1" "$2" && echo ready && exec sleep infinity"#;
    let program = place.tool(unshare).args("--mount --propagation private sh -c").arg(script).arg("sh");
    let mut other: Running = program.arg(&device.path).arg(place.path("point")).start();
    other.wait_for_stdout("ready");
    let process = format!("mount namespace of process {}", other.id());
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", &process]);
}

#[test]
fn swap() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "swap.img"));
    let swap = or_skip!(Swap::on(&place, &device.path));
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", "active swap"]);
    drop(swap);
    place.write_refused(&[], &device.path, &image, &["its contents: swap space"]);
}

#[test]
fn opened_by_another_process() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "held.img"));
    let holder = Holder::open(&place, &device.path);
    let process = format!("open in process {}", holder.id());
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", &process]);
    drop(holder);
    // This process counts as another user, too.
    let claim = testkit::claimed(&device.path).expect("nobody has it");
    let process = format!("open in process {}", std::process::id());
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", &process]);
    drop(claim);
    place.write_to(&[&destroy(&image)], &device.path).expect_status(0);
}

// A thread may have a separate descriptor table, and a ring keeps a file open without a descriptor: neither is in
// /proc/PID/fd.
#[test]
fn opened_by_a_thread_alone_or_registered_with_a_ring() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "held.img"));
    let refused = |path: &Path, holder: Holder| {
        let process = format!("open in process {}", holder.id());
        place.write_refused(&[&destroy(&image)], path, &image, &["in use", &process]);
    };
    for is_first_ended in [false, true] {
        refused(&device.path, or_skip!(Holder::thread(&place, &device.path, is_first_ended)));
    }
    let partition = or_skip!(Partition::create(&place, &device));
    refused(&device.path, or_skip!(Holder::registered(&place, &device.path)));
    let flag = format!("{}-part1", destroy(&image));
    let holder = or_skip!(Holder::registered(&place, &device.path));
    let process = format!("open in process {}", holder.id());
    place.write_refused(&[&flag], &partition.path, &image, &["in use", &process, "its disk"]);
    drop(holder);
    place.write_to(&[&flag], &partition.path).expect_status(0);
}

/// A ring whose lock is held nearly all the time, by reads from the page cache, cannot be inspected. It was counted as
/// a user of the device.
#[test]
fn a_busy_ring_of_another_program_is_no_user() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "quiet.img"));
    let mut busy = place.diskspd("-v -c64M -d600 -W0 -b1M -o32 -r -Sb busy.dat").start();
    busy.wait_for_stderr("starting measurements");
    for _ in 0..3 {
        place.write_to(&[&destroy(&image)], &device.path).expect_status(0);
    }
    busy.interrupt();
    busy.finish().expect_status(0);
}

// Processes that cannot be seen may have the device open: the run says so.
#[test]
fn processes_that_cannot_be_seen_are_noted() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "unseen.img"));
    let unshare = or_skip!(tool("unshare"));
    let run = place
        .tool(unshare)
        .args("--pid --fork --mount-proc")
        .arg(place.program())
        .args("-d60 -W0 -b4K -w100 --max-ios=100")
        .arg(destroy(&image))
        .arg(&device.path)
        .run();
    run.expect_status(0).expect_stdout(&["processes outside this PID namespace are not visible"]);
}

#[test]
fn another_device_over_the_same_file() {
    let place = workplace!();
    let (image, device) = or_skip!(with_ext4(&place, "ext4.img"));
    let twin = or_skip!(LoopDevice::over(&place, &image));
    let name = twin.name();
    let holder = Holder::open(&place, &twin.path);
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", &name, "another path to the same disk"]);
    drop(holder);
    let mounted = or_skip!(Mounted::device(&place, "mounted", twin));
    or_skip!(mounted.remount("ro"));
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", "mounted at", &name]);
}

#[test]
fn a_disk_with_a_partition_in_use() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "parts.img"));
    let partition = or_skip!(Partition::create(&place, &device));
    let holder = Holder::open(&place, &partition.path);
    place.write_refused(&[&destroy(&image)], &device.path, &image, &["in use", "one of its partitions"]);
    drop(holder);
    let holder = Holder::open(&place, &device.path);
    let flag = format!("{}-part1", destroy(&image));
    place.write_refused(&[&flag], &partition.path, &image, &["in use", "its disk"]);
    drop(holder);
    place.write_refused(&[&destroy(&image)], &partition.path, &image, &[&flag]);
    place.write_to(&[&flag], &partition.path).expect_status(0);
}

// Shows data-safety: a block device
#[test]
fn a_run_keeps_the_device_for_itself_until_its_end() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "kept.img"));
    let program = place.diskspd("-d600 -W0 -v -b4K -w100 -g10i").arg(destroy(&image)).arg(&device.path);
    let mut running = program.start();
    let is_kept = || testkit::claimed(&device.path).is_err();
    running.wait_until("it writes", |running| running.descriptors_of(&device.path).len() >= 2);
    assert!(is_kept(), "another exclusive open was granted during the run");
    if let Ok(flock) = tool("flock") {
        let locked = place.tool(flock).args("--nonblock --shared").arg(&device.path).arg("true").run();
        assert_ne!(locked.code(), Some(0), "udev could lock the disk");
    }
    // A second run finds the first one.
    let second = place.write_to(&[&destroy(&image)], &device.path);
    second.expect_status(3).expect_stderr(&["in use", &format!("open in process {}", running.id())]);
    running.end();
    assert!(!is_kept(), "it is free after the run");
}

#[test]
fn a_scratch_disk_is_written_to_as_long_as_nothing_is_on_it() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place, "scratch.img"));
    let unshare = or_skip!(tool("unshare"));
    let script = r#"mount -t tmpfs -o mode=0755 none /etc && mkdir -m 755 /etc/diskspd && umask "$3" &&
                    echo "$2 # a test" > /etc/diskspd/scratch && exec "$1" -d60 -W0 -b4K -w100 --max-ios=100 "$4""#;
    let with_list = |name: &str, umask: &str, device: &Path| {
        let program = place.tool(&unshare).args("--mount --propagation private sh -c").arg(script).arg("sh");
        program.arg(place.program()).arg(name).arg(umask).arg(device).run()
    };
    let listed = image.display().to_string();
    let before = Snapshot::take(&image).checksum;
    let other = with_list("naa.5000", "022", &device.path);
    or_skip!(if other.stderr.contains("mount:") { Err(other.stderr.clone()) } else { Ok(()) });
    other.expect_status(3).expect_stderr(&["--destroy="]);
    with_list(&listed, "000", &device.path)
        .expect_status(3)
        .expect_stderr(&["/etc/diskspd/scratch is writable by others"]);
    assert_eq!(Snapshot::take(&image).checksum, before);
    with_list(&listed, "022", &device.path).expect_status(0).expect_stdout(&["allowed by /etc/diskspd/scratch"]);
    assert_ne!(Snapshot::take(&image).checksum, before);

    let (image, device) = or_skip!(with_ext4(&place, "used.img"));
    let before = Snapshot::take(&image).checksum;
    let run = with_list(&image.display().to_string(), "022", &device.path);
    run.expect_status(3).expect_stderr(&["ext4", "allows writes only to empty disks"]);
    assert_eq!(Snapshot::take(&image).checksum, before);
}

// Shows data-safety: /etc/diskspd/scratch, a line added
#[test]
fn an_empty_disk_is_taken_up_in_the_list_of_scratch_disks() {
    let place = workplace!();
    let (_, device) = or_skip!(blank(&place, "scratch.img"));
    let (_, used) = or_skip!(with_ext4(&place, "used.img"));
    let unshare = or_skip!(tool("unshare"));
    let script = r#"mount -t tmpfs -o mode=0755 none /etc && umask 077 &&
                    ! "$1" devices --mark-scratch="$2" --mark-scratch="$3" && ! test -e /etc/diskspd/scratch &&
                    "$1" devices --mark-scratch="$2" && "$1" devices --mark-scratch="$2" &&
                    wc -l < /etc/diskspd/scratch && exec "$1" -d1 -W0 -b4K -w100 "$2""#;
    let program = place.tool(&unshare).args("--mount --propagation private sh -c").arg(script).arg("sh");
    let run = program.arg(place.program()).arg(&device.path).arg(&used.path).run();
    or_skip!(if run.stderr.contains("mount:") { Err(run.stderr.clone()) } else { Ok(()) });
    run.expect_status(0).expect_stderr(&["is not empty", "ext4", "wipefs"]).expect_stdout(&[
        "/etc/diskspd/scratch now lists ",
        "/etc/diskspd/scratch already lists ",
        "scratch.img\n1\n",
        "allowed by /etc/diskspd/scratch",
    ]);
    let none = place.diskspd("devices --mark-scratch=/dev/null").run();
    none.expect_status(3).expect_stderr(&["'/dev/null' is not a block device"]);
}

#[test]
fn character_devices_are_read_only() {
    let place = workplace!();
    for words in ["-w100", "-w1 -f1M", "-w50 -f1M --overwrite --destroy=random"] {
        let run = place.diskspd("-d1 -W0 -b4K").args(words).arg("/dev/urandom").run();
        run.expect_status(3).expect_stderr(&["/dev/urandom", "character device"]);
    }
    place.diskspd("-d1 -W0 -b4K -f1M -o1").arg("/dev/urandom").run().expect_status(0);
}
