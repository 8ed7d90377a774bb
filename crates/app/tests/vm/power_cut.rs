//! `--verify --journal` on a device whose writes are recorded (dm-log-writes), so that a power cut after any of them
//! can be simulated.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, run};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use testkit::{LoopDevice, Workplace, or_skip};

/// Number of cuts that lose only writes not covered by a flush.
const CUTS: u64 = 10;

/// A write or flush that the device recorded, in this order.
struct Recorded {
    /// True if all writes that had completed before are durable.
    flushes: bool,
    offset: u64,
    data: Vec<u8>,
}

/// Reads the log of dm-log-writes: a block with the number of entries and the size of a block, then for each entry a
/// block (sector, number of sectors, flags) and its data.
fn recorded(log: &[u8]) -> Vec<Recorded> {
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!(word(0), 0x6a_7366_7773_6872, "the magic number");
    let (count, block) = (word(16), word(24) & 0xFFFF_FFFF);
    let mut at = block as usize;
    let mut records = Vec::new();
    for _ in 0..count {
        let (sector, sectors, flags) = (word(at), word(at + 8), word(at + 16));
        let (flushes, discards) = (flags & 1 != 0, flags & 4 != 0);
        let data = if discards { 0 } else { (sectors * block) as usize };
        at += block as usize;
        records.push(Recorded { flushes, offset: sector * block, data: log[at..at + data].to_vec() });
        at += data;
    }
    records
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
    // The number of entries is written with a mark.
    run(place, "dmsetup message logged 0 mark end && dmsetup suspend logged && dmsetup resume logged")?;
    let records = recorded(&place.content("log.img"));
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
    verify().expect_status(5).expect_stdout(&["CORRUPT", "lost: "]);
}
