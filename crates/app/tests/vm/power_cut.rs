//! `--verify --journal` on a device whose writes are recorded (dm-log-writes), so that a power cut after any of them
//! can be simulated, raw and below file systems.

use crate::cuts::wait_for_records;
use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, run};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use testkit::{LoopDevice, Random, Workplace, or_skip};

/// Number of cuts that lose only writes not covered by a flush.
const CUTS: u64 = 10;

/// Cuts of a recorded load on each file system: the first, the last, and 50 drawn ones between them.
const BOUNDARIES: usize = 52;

/// A write, flush or mark that the device recorded, in this order.
struct Recorded {
    is_mark: bool,
    /// Durable once it has completed.
    is_through: bool,
    /// True if all writes that had completed before are durable.
    flushes: bool,
    offset: u64,
    data: Vec<u8>,
}

/// Reads the log of dm-log-writes: a block with the number of entries and the size of a block, then for each entry a
/// block (sector, number of sectors, flags) and its data. Empty until the kernel has written the first block.
fn recorded(log: &[u8]) -> Vec<Recorded> {
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().expect("8 bytes"));
    if word(0) != 0x6a_7366_7773_6872 {
        return Vec::new();
    }
    let (count, block) = (word(16), word(24) & 0xFFFF_FFFF);
    let mut at = block as usize;
    let mut records = Vec::new();
    for _ in 0..count {
        let (sector, sectors, flags) = (word(at), word(at + 8), word(at + 16));
        let [flushes, is_through, discards, is_mark] = [1, 2, 4, 8].map(|flag| flags & flag != 0);
        let data = if discards { 0 } else { (sectors * block) as usize };
        at += block as usize;
        records.push(Recorded {
            is_mark,
            is_through,
            flushes,
            offset: sector * block,
            data: log[at..at + data].to_vec(),
        });
        at += data;
    }
    records
}

/// The log once it has this many marks: a thread of the kernel writes them, and the number of entries with them, some
/// time after they were made.
fn recorded_with_marks(place: &Workplace, marks: usize) -> Vec<Recorded> {
    for _ in 0..100 {
        let records = recorded(&place.content("log.img"));
        if records.iter().filter(|record| record.is_mark).count() == marks {
            return records;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    panic!("the log has not {marks} marks");
}

/// A load on a recording device, killed; returns the records up to then.
fn killed_load(place: &Workplace, device: &Disk) -> Result<Vec<Recorded>, String> {
    std::fs::create_dir(place.path("journal")).expect("a folder");
    let load = "-v -d60 -W0 -b4K -r -w100 -o8 -t2 -Su --fdatasync-every=8 --verify --journal=journal --journal-here \
                --destroy=logged";
    let mut running = place.diskspd(load).arg(&device.path).start();
    running.wait_for_stderr("starting measurements");
    std::thread::sleep(Duration::from_secs(3));
    running.kill_hard();
    run(place, "dmsetup message logged 0 mark end")?;
    let records = recorded_with_marks(place, 1);
    assert!(records.iter().filter(|record| record.flushes).count() > 30, "too few flushes to lose any");
    Ok(records)
}

/// Restores the disk to its state after these writes only.
fn rewrite<'a>(disk: &Disk, writes: impl Iterator<Item = (&'a Recorded, usize)>) {
    let file = File::options().write(true).open(&disk.clone().blank().path).expect("our own disk");
    for (record, bytes) in writes {
        file.write_all_at(&record.data[..bytes], record.offset).expect("written");
    }
    file.sync_all().expect("they get there");
}

#[test]
fn what_was_flushed_before_a_cut_is_there_and_its_loss_is_found() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let image = place.sparse("log.img", 200 << 20).expect("a sparse file");
    let log = or_skip!(LoopDevice::over(&place, &image));
    let sectors = disk.file("size").expect("a size");
    let table = format!("0 {sectors} log-writes {} {}", disk.path.display(), log.path.display());
    let create = format!("dmsetup create logged --table '{table}'");
    let _made = or_skip!(DeviceSetup::by(&place, &create, "dmsetup remove --retry logged"));
    let device = Disk::named("dm-0");
    let records = or_skip!(killed_load(&place, &device));
    let flushes: Vec<usize> = (0..records.len()).filter(|&at| records[at].flushes).collect();
    let last_flush = flushes[flushes.len() - 1];
    let verify = || place.diskspd("verify --journal journal").arg(&device.path).run();

    let mut rng = hot::rng::Rng::new(1);
    for _ in 0..CUTS {
        // All writes covered by the last flush, and any of the rest, of which some are torn.
        let writes: Vec<(&Recorded, usize)> = (0..)
            .zip(&records)
            .filter_map(|(at, record)| match rng.below(4) {
                _ if at <= last_flush => Some((record, record.data.len())),
                0 => Some((record, record.data.len())),
                1 => Some((record, record.data.len() / 1024 * 512)),
                _ => None,
            })
            .collect();
        rewrite(&disk, writes.into_iter());
        verify().expect_status(0);
    }

    // Flushes that lost the writes that they covered, though they had completed.
    let kept = &records[..=flushes[flushes.len() - 20]];
    rewrite(&disk, kept.iter().map(|record| (record, record.data.len())));
    verify().expect_status(5).expect_stdout(&["CORRUPT", "lost at offset "]);
}

/// Copies a file as it is now, without its zeros.
fn copy_with_holes(from: &Path, to: &Path) {
    const CHUNK: usize = 64 << 10;
    let (from, to) = (File::open(from).expect("it is there"), File::create(to).expect("room"));
    let bytes = from.metadata().expect("a length").len();
    let mut chunk = vec![0; CHUNK];
    for offset in (0..bytes).step_by(CHUNK) {
        let part = &mut chunk[..CHUNK.min((bytes - offset) as usize)];
        from.read_exact_at(part, offset).expect("readable");
        if part.iter().any(|&byte| byte != 0) {
            to.write_all_at(part, offset).expect("room");
        }
    }
    to.set_len(bytes).expect("a sparse file");
}

fn copy_journal(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a journal").flatten() {
        copy_with_holes(&entry.path(), &to.join(entry.file_name()));
    }
}

/// A load on a recorded file system, with copies of its journal, each before a mark of the record: what a copy knows as
/// durable was so at its mark.
fn marked_load(place: &Workplace, mount: &str, target: &Path) -> Result<Vec<Recorded>, String> {
    let _mounted = DeviceSetup::by(place, mount, "umount -l mounted")?;
    place.diskspd("-c2M -d60 -W0 -w100 -b64K -Su --max-ios=32").arg(target).run().expect_status(0);
    run(place, "sync")?;
    fs::create_dir(place.path("journal")).expect("a folder");
    // In bursts, so that the device of the log has room for all.
    let load = "-d600 -W0 -b4K -r -w100 -o8 -t1 -i12 -j200 -Su --fdatasync-every=8 --overwrite --verify \
                --journal=journal --journal-here";
    let mut running = place.diskspd(load).arg(target).start();
    let seed = 46;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut record_bytes = 0;
    for boundary in 0..BOUNDARIES {
        record_bytes += 400 + random.below(4_000) / 8 * 8;
        wait_for_records(&mut running, &place.path("journal"), record_bytes);
        copy_journal(&place.path("journal"), &place.path(&format!("journal{boundary}")));
        run(place, &format!("dmsetup message logged 0 mark {boundary}"))?;
    }
    running.kill_hard();
    Ok(recorded_with_marks(place, BOUNDARIES))
}

/// Each boundary of the record, on a snapshot, as recovery after a cut writes: nothing that the journal of that moment
/// knows as durable may be missed, whatever is lost of the writes since the last flush.
fn nothing_is_missed_at_any_boundary(place: &Workplace, make: &str, kind: &str, bytes: u64) -> Result<(), String> {
    run(place, "modprobe dm_snapshot && modprobe dm_log_writes")?;
    let image = |name: &str, bytes: u64| place.sparse(name, bytes).map_err(|error| error.to_string());
    let (base, log, later) = (image("base.img", bytes)?, image("log.img", 96 << 20)?, image("later.img", 32 << 20)?);
    let base = LoopDevice::over(place, &base)?;
    run(place, &format!("{make} {}", base.path.display()))?;
    let replayed = place.path("replayed.img");
    run(place, "sync")?;
    copy_with_holes(&place.path("base.img"), &replayed);
    let sectors = bytes / 512;
    let mount = |device: &str| format!("mkdir -p mounted && mount -t {kind} /dev/mapper/{device} mounted");
    let target = place.path("mounted/a.dat");
    let records = {
        let log = LoopDevice::over(place, &log)?;
        let table = format!("0 {sectors} log-writes {} {}", base.path.display(), log.path.display());
        let create = format!("dmsetup create logged --table '{table}'");
        let _made = DeviceSetup::by(place, &create, "dmsetup remove --retry logged")?;
        marked_load(place, &mount("logged"), &target)?
    };
    let (replayed, later) = (LoopDevice::over(place, &replayed)?, LoopDevice::over(place, &later)?);
    let disk = File::options().write(true).open(&replayed.path).expect("our own device");
    let marks: Vec<usize> = (0..records.len()).filter(|&at| records[at].is_mark).collect();
    assert_eq!(marks.len(), BOUNDARIES);
    let mut done = 0;
    let mut random = Random::new(bytes);
    for (boundary, &mark) in marks.iter().enumerate() {
        // Up to the last flush all of them; after it some, as an image of its own that the next boundary writes over.
        let flush = (done..mark).rev().find(|&at| records[at].flushes).unwrap_or(done);
        for (at, record) in (done..).zip(&records[done..mark]).filter(|(_, record)| !record.is_mark) {
            if at <= flush || record.is_through || random.below(2) == 0 {
                disk.write_all_at(&record.data, record.offset).expect("written");
            }
        }
        disk.sync_all().expect("they get there");
        done = flush;
        let table = format!("0 {sectors} snapshot {} {} N 8", replayed.path.display(), later.path.display());
        let create = format!("dmsetup create cut --table '{table}'");
        let _cut = DeviceSetup::by(place, &create, "dmsetup remove --retry cut")?;
        let _mounted = DeviceSetup::by(place, &mount("cut"), "umount mounted")?;
        let verified = place.diskspd(&format!("verify --journal journal{boundary}")).arg(&target).run();
        verified.expect_status(0);
        let durable = verified.stdout.lines().find(|line| line.starts_with("durable")).unwrap_or_default();
        println!("boundary {boundary}, record {mark} of {}: {durable}", records.len());
    }
    Ok(())
}

#[test]
fn nothing_is_missed_at_any_boundary_on_ext4() {
    let place = machine!();
    or_skip!(nothing_is_missed_at_any_boundary(&place, "mkfs.ext4 -q -F -m0", "ext4", 32 << 20));
}

#[test]
fn nothing_is_missed_at_any_boundary_on_xfs() {
    let place = machine!();
    or_skip!(nothing_is_missed_at_any_boundary(&place, "mkfs.xfs -q -f -K", "xfs", 304 << 20));
}

#[test]
fn nothing_is_missed_at_any_boundary_on_btrfs() {
    let place = machine!();
    or_skip!(nothing_is_missed_at_any_boundary(&place, "mkfs.btrfs -q -f -K", "btrfs", 128 << 20));
}
