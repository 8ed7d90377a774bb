//! The storage below a loop device is protected, too: nothing is written through it to a device or a file in use below,
//! by whatever name. Every refusal compares the content before and after.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testkit::{
    Holder, LoopDevice, Mounted, Partition, Running, Snapshot, Swap, Workplace, or_skip, tool, unless_swapping,
    workplace,
};

const MIB: u64 = 1 << 20;

/// A file of zeros.
fn blank(place: &Workplace, name: &str) -> PathBuf {
    place.sparse(name, 8 * MIB).expect("a sparse file")
}

/// A file with an ext4 on it.
fn with_ext4(place: &Workplace, name: &str) -> Result<PathBuf, String> {
    let image = blank(place, name);
    place.tool(tool("mkfs.ext4")?).args("-q -F -m0").arg(&image).run().expect_status(0);
    Ok(image)
}

/// The file system on the device, idle: any change from here on would be caused by the test.
fn mounted<'a>(place: &'a Workplace, device: LoopDevice<'a>) -> Result<Mounted<'a>, String> {
    let is_free = |name: &String| !place.path(name).exists();
    let name = (1..100).map(|number| format!("mount {number}")).find(is_free).expect("a free name");
    let mounted = Mounted::device(place, &name, device)?;
    mounted.remount("ro")?;
    Ok(mounted)
}

/// The path to watch for immediate effects of a write through a device over `backing`: `content` is the last to change.
fn view<'a>(backing: &'a Path, content: &'a Path) -> &'a Path {
    if backing.exists() { backing } else { content }
}

/// Writes the page cache of the device to the storage below.
fn flush(device: &Path) {
    File::open(device).and_then(|device| device.sync_all()).expect("flushed");
}

/// Checks that the device over `backing` is not written to, with any permission.
fn refused(place: &Workplace, device: &Path, backing: &Path, content: &Path, parts: &[&str]) {
    let flag = format!("--destroy={}", backing.display());
    let ((), is_untouched) = unless_swapping(|| {
        // The data that the mount above left there is not from this run.
        flush(device);
        let before = Snapshot::take(content).checksum;
        for options in [&[flag.as_str()][..], &[], &[&flag, "--overwrite"]] {
            let run = place.write_refused(options, device, view(backing, content), &["in use"]);
            run.expect_stderr(parts);
        }
        flush(device);
        ((), Snapshot::take(content).checksum == before)
    });
    assert!(is_untouched, "it was changed although it was refused");
}

/// Checks that the device over `backing` is written to once it is named, and that this changes the storage below.
fn written(place: &Workplace, device: &Path, backing: &Path, content: &Path) {
    // The same seed would write the same data again.
    static SEED: AtomicU32 = AtomicU32::new(1);
    let seed = format!("-z{}", SEED.fetch_add(1, Ordering::Relaxed));
    let before = Snapshot::take(view(backing, content)).checksum;
    let begun = Instant::now();
    let flag = format!("--destroy={}", backing.display());
    let write = || place.write_to(&[&flag, "-Zr", &seed], device);
    let mut run = write();
    // A mount namespace created by another test in the meantime keeps mounts that no longer exist here, until it ends.
    while run.stderr.contains("in the mount namespace of process") && begun.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(200));
        run = write();
    }
    run.expect_status(0);
    flush(device);
    assert_ne!(Snapshot::take(view(backing, content)).checksum, before, "nothing was written");
}

#[test]
fn a_free_chain_is_written_to() {
    let place = workplace!();
    let image = blank(&place, "free.img");
    let lower = or_skip!(LoopDevice::over(&place, &image));
    let upper = or_skip!(LoopDevice::over(&place, &lower.path));
    written(&place, &upper.path, &lower.path, &image);
    let top = or_skip!(LoopDevice::over(&place, &upper.path));
    written(&place, &top.path, &upper.path, &image);
}

// Shows data-safety: a block device through a loop device
#[test]
fn over_a_mounted_device() {
    let place = workplace!();
    let image = or_skip!(with_ext4(&place, "disk.img"));
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let path = disk.path.clone();
    let mounted = or_skip!(mounted(&place, disk));
    let upper = or_skip!(LoopDevice::over(&place, &path));
    let below = format!("its backing device {} is mounted at '{}'", path.display(), mounted.path.display());
    refused(&place, &upper.path, &path, &image, &[&below]);
    let top = or_skip!(LoopDevice::over(&place, &upper.path));
    let upper_name = upper.path.display();
    let below = format!(
        "its backing device {upper_name} is backed by {}, which is mounted at '{}'",
        path.display(),
        mounted.path.display()
    );
    refused(&place, &top.path, &upper.path, &image, &[&below]);
}

#[test]
fn over_a_device_that_is_mounted_in_another_namespace() {
    let place = workplace!();
    let image = or_skip!(with_ext4(&place, "disk.img"));
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let upper = or_skip!(LoopDevice::over(&place, &disk.path));
    let unshare = or_skip!(tool("unshare"));
    fs::create_dir(place.path("point")).expect("a new folder");
    let script = r#"mount -o ro,noload "$1" "$2" && echo ready && exec sleep infinity"#;
    let program = place.tool(unshare).args("--mount --propagation private sh -c").arg(script).arg("sh");
    let mut other: Running = program.arg(&disk.path).arg(place.path("point")).start();
    other.wait_for_stdout("ready");
    let process = format!("mount namespace of process {}", other.id());
    let below = format!("its backing device {} is mounted at", disk.path.display());
    refused(&place, &upper.path, &disk.path, &image, &[&below, &process]);
}

#[test]
fn over_a_device_that_another_process_has_open() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let upper = or_skip!(LoopDevice::over(&place, &disk.path));
    let holder = Holder::open(&place, &disk.path);
    let below = format!("its backing device {} is open in process {}", disk.path.display(), holder.id());
    refused(&place, &upper.path, &disk.path, &image, &[&below]);
    drop(holder);
    let claim = testkit::claimed(&disk.path).expect("nobody has it");
    refused(&place, &upper.path, &disk.path, &image, &["its backing device"]);
    drop(claim);
    let twin = or_skip!(LoopDevice::over(&place, &disk.path));
    refused(&place, &upper.path, &disk.path, &image, &[&format!("is the backing device of {}", twin.path.display())]);
    drop(twin);
    written(&place, &upper.path, &disk.path, &image);
}

#[test]
fn over_a_device_that_is_swap() {
    let place = workplace!();
    let image = blank(&place, "swap.img");
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let swap = or_skip!(Swap::on(&place, &disk.path));
    let upper = or_skip!(LoopDevice::over(&place, &disk.path));
    let below = format!("its backing device {} is active swap", disk.path.display());
    refused(&place, &upper.path, &disk.path, &image, &[&below]);
    drop(swap);
}

// Shows data-safety: a block device through a loop device
#[test]
fn under_a_mounted_loop_device() {
    let place = workplace!();
    let image = or_skip!(with_ext4(&place, "disk.img"));
    let lower = or_skip!(LoopDevice::over(&place, &image));
    let upper = or_skip!(LoopDevice::over(&place, &lower.path));
    let above = format!("the backing device of {}", upper.path.display());
    refused(&place, &lower.path, &image, &image, &[&above]);
    let mounted = or_skip!(mounted(&place, upper));
    let above = format!("{above}, which is mounted at '{}'", mounted.path.display());
    refused(&place, &lower.path, &image, &image, &[&above]);
}

#[test]
fn under_a_loop_device_by_another_node() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let lower = or_skip!(LoopDevice::over(&place, &image));
    let node = place.path("node");
    let mknod = or_skip!(tool("mknod"));
    let number = lower.name().trim_start_matches("loop").to_owned();
    place.tool(mknod).arg(&node).args("b 7").arg(number).run().expect_status(0);
    let upper = or_skip!(LoopDevice::over(&place, &node));
    fs::remove_file(&node).expect("removed");
    refused(&place, &lower.path, &image, &image, &[&format!("the backing device of {}", upper.path.display())]);
    let holder = Holder::open(&place, &lower.path);
    let below = format!("its backing device {} is open in process {}", lower.path.display(), holder.id());
    refused(&place, &upper.path, &node, &image, &[&below]);
}

#[test]
fn over_and_under_a_partition() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let made = or_skip!(Partition::create(&place, &disk));
    let partition = made.path.clone();
    let upper = or_skip!(LoopDevice::over(&place, &partition));
    let above = format!("the backing device of {} ({}p1, one of its partitions)", upper.path.display(), disk.name());
    refused(&place, &disk.path, &image, &image, &[&above]);
    let holder = Holder::open(&place, &disk.path);
    let below = format!("its backing device {} is open in process {}", partition.display(), holder.id());
    refused(&place, &upper.path, &partition, &image, &[&below, "its disk"]);
    drop(holder);
    // The file below the disk of the partition.
    let holder = Holder::open(&place, &image);
    let disk_name = disk.path.display();
    let chain = format!("is backed by {disk_name}, which is backed by '{}', which is in use (process", image.display());
    refused(&place, &upper.path, &partition, &image, &[&chain]);
    drop(holder);
    written(&place, &upper.path, &partition, &image);
}

// Shows data-safety: a block device through a loop device
#[test]
fn over_an_active_swap_file() {
    let place = workplace!();
    let file = place.file("swap.img", &vec![0; 8 * MIB as usize]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    // ext4 only swaps to blocks that are on disk.
    File::open(&file).and_then(|file| file.sync_all()).expect("on disk");
    let device = or_skip!(LoopDevice::over(&place, &file));
    let swap = or_skip!(Swap::on(&place, &file));
    refused(&place, &device.path, &file, &file, &["its backing file", "is in use (active swap)"]);
    drop(swap);
    written(&place, &device.path, &file, &file);
}

// Shows data-safety: a block device through a loop device
#[test]
fn over_a_file_that_is_mounted_under_another_name() {
    let place = workplace!();
    fs::create_dir(place.path("folder")).expect("a new folder");
    let image = or_skip!(with_ext4(&place, "folder/disk.img"));
    let hard_link = place.path("hard link.img");
    fs::hard_link(&image, &hard_link).expect("linked");
    std::fs::create_dir(place.path("bound")).expect("a new folder");
    let bound = or_skip!(Mounted::bind(&place, "folder", "bound"));
    for (name, is_deleted) in [(hard_link.clone(), false), (bound.path.join("disk.img"), false), (hard_link, true)] {
        let device = or_skip!(LoopDevice::over(&place, &image));
        let other = or_skip!(LoopDevice::over(&place, &name));
        if is_deleted {
            fs::remove_file(&name).expect("removed");
        }
        let in_use = format!("is in use (loop device {})", other.path.display());
        refused(&place, &device.path, &image, &image, &["its backing file", &in_use]);
        let mounted = or_skip!(mounted(&place, other));
        let point = format!("mounted at '{}'", mounted.path.display());
        refused(&place, &device.path, &image, &image, &["its backing file", &in_use, &point]);
        // The same in reverse: the name of the written file was deleted, or is a link.
        drop(mounted);
        written(&place, &device.path, &image, &image);
        place.tool(or_skip!(tool("mkfs.ext4"))).args("-q -F -m0").arg(&image).run();
    }
}

#[test]
fn over_a_file_whose_name_leads_to_another_now() {
    let place = workplace!();
    let image = or_skip!(with_ext4(&place, "disk.img"));
    let kept = place.path("kept.img");
    fs::hard_link(&image, &kept).expect("linked");
    let device = or_skip!(LoopDevice::over(&place, &image));
    fs::remove_file(&image).expect("removed");
    let image_again = blank(&place, "disk.img");
    let deleted = PathBuf::from(format!("{} (deleted)", image.display()));
    // The new file is not in use, which proves nothing about the old one.
    let holder = Holder::open(&place, &kept);
    let process = format!("is in use (process {}", holder.id());
    refused(&place, &device.path, &deleted, &kept, &["its backing file", &process]);
    drop(holder);
    let holder = Holder::open(&place, &image_again);
    written(&place, &device.path, &deleted, &kept);
    drop(holder);
}

// Shows data-safety: a block device through a loop device
#[test]
fn over_a_file_that_another_process_has_open_or_mapped() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let link = place.path("link.img");
    fs::hard_link(&image, &link).expect("linked");
    let device = or_skip!(LoopDevice::over(&place, &image));
    for redirection in ["3<", "3<>", "3>>"] {
        let script = format!(r#"exec {redirection}"$1"; echo ready; exec sleep infinity"#);
        let mut holder = place.tool("sh").args("-c").arg(script).arg("sh").arg(&link).start();
        holder.wait_for_stdout("ready");
        let process = format!("is in use (process {}", holder.id());
        refused(&place, &device.path, &image, &image, &["its backing file", &process]);
    }
    let holder = or_skip!(Holder::mapped(&place, &link));
    let process = format!("is in use (process {}", holder.id());
    refused(&place, &device.path, &image, &image, &["its backing file", &process, "which has it mapped"]);
    for other in [Holder::thread(&place, &link, false), Holder::thread(&place, &link, true)] {
        let process = format!("process {}", or_skip!(&other).id());
        refused(&place, &device.path, &image, &image, &["its backing file", &process]);
    }
    let registered = or_skip!(Holder::registered(&place, &link));
    let process = format!("process {}", registered.id());
    refused(&place, &device.path, &image, &image, &["its backing file", &process]);
    drop(registered);
    let upper = or_skip!(LoopDevice::over(&place, &device.path));
    let chain =
        format!("its backing device {} is backed by '{}', which is in use", device.path.display(), image.display());
    refused(&place, &upper.path, &device.path, &image, &[&chain, "which has it mapped"]);
    drop((upper, holder));
    written(&place, &device.path, &image, &image);
}

#[test]
fn what_the_report_goes_to_is_not_behind_a_target() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let before = Snapshot::take(&image).checksum;
    let stdout = File::options().append(true).open(&image).expect("opens");
    let program = place.short_run("-b4K -w100").arg(format!("--destroy={}", image.display()));
    program.arg(&device.path).stdout(stdout).run().expect_status(3).expect_stderr(&["standard output"]);
    assert_eq!(Snapshot::take(&image).checksum, before);
}

// Shows data-safety: a block device through a loop device
#[test]
fn the_whole_chain_is_kept_until_the_end_of_the_run() {
    let place = workplace!();
    let image = blank(&place, "disk.img");
    let lower = or_skip!(LoopDevice::over(&place, &image));
    let upper = or_skip!(LoopDevice::over(&place, &lower.path));
    let program = place.diskspd("-d600 -W0 -v -b4K -w100 -g10i").arg(format!("--destroy={}", lower.path.display()));
    let mut running = program.arg(&upper.path).start();
    running.wait_until("it writes", |running| running.descriptors_of(&upper.path).len() >= 2);
    for device in [&lower.path, &upper.path] {
        assert!(testkit::claimed(device).is_err(), "another exclusive open of {} was granted", device.display());
    }
    running.end();
    for device in [&lower.path, &upper.path] {
        assert!(testkit::claimed(device).is_ok(), "{} is free after the run", device.display());
    }
    // A device that is only read is not claimed.
    let mut running = place.diskspd("-d600 -W0 -v -b4K -g10i").arg(&upper.path).start();
    running.wait_for_stderr("starting measurements");
    assert!(!running.descriptors_of(&upper.path).is_empty(), "it reads");
    assert!(testkit::claimed(&lower.path).is_ok());
    running.end();
}

#[test]
fn a_disk_in_use_is_not_to_be_emptied() {
    let place = workplace!();
    let image = or_skip!(with_ext4(&place, "disk.img"));
    let disk = or_skip!(LoopDevice::over(&place, &image));
    let path = disk.path.clone();
    let mark = |device: &Path| {
        let run = place.diskspd("devices").arg(format!("--mark-scratch={}", device.display())).run();
        run.expect_status(3).expect_stderr(&["is not empty"]);
        run.stderr
    };
    assert!(mark(&path).contains("wipefs"));
    let mounted = or_skip!(mounted(&place, disk));
    let advice = mark(&path);
    assert!(advice.contains("mounted at") && !advice.contains("wipefs"), "{advice}");
    let upper = or_skip!(LoopDevice::over(&place, &path));
    let advice = mark(&upper.path);
    assert!(advice.contains("its backing device") && !advice.contains("wipefs"), "{advice}");
    drop(mounted);
}
