//! Power cuts of a disk whose own log is known: a block server of testkit that forgets what was not flushed, reorders and
//! tears it, as a network block device, raw and below file systems. `diskspd verify --journal` has to say what it says.

use crate::machine;
use crate::tools::{DeviceSetup, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use testkit::{AfterCut, BlockServer, Flushing, Random, Running, Workplace, or_skip};

/// Cuts of the raw disk, and of the disk below each of three file systems: 200 together.
const RAW: u64 = 80;
const ON_FILE_SYSTEM: u64 = 40;

const MIB: u64 = 1 << 20;

/// The disk of a server, connected.
struct Connected<'a> {
    _client: DeviceSetup<'a>,
}

fn connected<'a>(place: &'a Workplace, server: &BlockServer) -> Result<Connected<'a>, String> {
    let connect = format!("nbd-client 127.0.0.1 {} /dev/nbd0 -b 512 -N row", server.port());
    Ok(Connected {
        _client: DeviceSetup::by(
            place,
            &connect,
            "nbd-client -d /dev/nbd0 && while pgrep nbd-client; do sleep 0.1; done",
        )?,
    })
}

/// The same below a device of the device mapper, whose name permits writing.
fn mapped(place: &Workplace, size_bytes: u64) -> Result<DeviceSetup<'_>, String> {
    let table = format!("0 {} linear /dev/nbd0 0", size_bytes / 512);
    DeviceSetup::by(place, &format!("dmsetup create cut --table '{table}'"), "dmsetup remove --retry --force cut")
}

/// Bytes of a log before its records.
const HEAD_BYTES: u64 = 64 << 10;

/// Waits until the log of the first thread has about this many bytes of records.
pub(crate) fn wait_for_records(running: &mut Running, journal: &Path, bytes: u64) {
    running.wait_until("records in the journal", |_| {
        // One word of a record may be 0, and bytes of two may be; not all words of the longest.
        let mut words = [0; 32];
        let file = File::open(journal.join("log.0"));
        file.and_then(|file| file.read_exact_at(&mut words, HEAD_BYTES + bytes / 8 * 8)).is_ok() && words != [0; 32]
    });
}

fn empty_journal(place: &Workplace) -> PathBuf {
    let journal = place.path("journal");
    let _ = fs::remove_dir_all(&journal);
    fs::create_dir(&journal).expect("a new directory");
    journal
}

/// The report of a verification after a cut.
fn verified(place: &Workplace, target: &Path, status: i32) -> Value {
    let run = place.diskspd("verify --json --journal journal").arg(target).run();
    run.expect_status(status);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn number(report: &Value, name: &str) -> u64 {
    report["targets"][0][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Cuts the power of a raw disk during a load; returns what the disk knows and what the program says.
fn raw_cut(place: &Workplace, server: &BlockServer, load: &str, bytes: u64) -> Result<(AfterCut, Value), String> {
    let size_bytes = 4 * MIB;
    let journal = empty_journal(place);
    {
        let _connected = connected(place, server)?;
        let _mapped = mapped(place, size_bytes)?;
        let words = format!("{load} -Su -d600 -W0 --verify --destroy=cut --journal=journal");
        let mut running = place.diskspd(&words).arg("/dev/mapper/cut").start();
        wait_for_records(&mut running, &journal, bytes);
        server.cut();
        running.finish().expect_status(1).expect_stderr(&["the logs of the run are kept in 'journal' (--journal)"]);
    }
    let known = server.after_cut();
    server.back();
    let _connected = connected(place, server)?;
    let _mapped = mapped(place, size_bytes)?;
    let status = if known.lost.is_empty() { 0 } else { 5 };
    Ok((known, verified(place, Path::new("/dev/mapper/cut"), status)))
}

/// The report on units of a sector is what the disk knows of them; `place_of` gives the sector of an offset in the target.
fn expect_equal(known: &AfterCut, report: &Value, place_of: impl Fn(u64) -> u64, about: &str) {
    let counts = (number(report, "corrupt_units"), number(report, "unflushed_units"));
    assert_eq!(counts, (known.lost.len() as u64, known.unflushed.len() as u64), "{about}: {report}");
    // Also a unit whose first write failed.
    let right = known.right.len() as u64;
    assert!((right..=right + 1).contains(&number(report, "right_units")), "{right}: {about}: {report}");
    for unit in report["targets"][0]["first"].as_array().expect("a list") {
        let at = unit["offset_bytes"].as_u64().expect("a number");
        assert!(known.lost.contains(&place_of(at)), "{at}: {about}: {report}");
    }
    println!("{about}: {} lost, {} not flushed, {right} right", counts.0, counts.1);
}

#[test]
fn each_answer_on_a_raw_disk_equals_its_own_log() {
    let place = machine!();
    or_skip!(run(&place, "modprobe nbd nbds_max=1"));
    let mut random = Random::new(11);
    let server = BlockServer::start(4 * MIB, Flushing::Honest, 11).expect("it serves");
    for round in 0..RAW {
        let flushing = [Flushing::Ignored, Flushing::Partial, Flushing::Honest][round as usize % 3];
        server.begin(flushing, 0..u64::MAX);
        let words = format!("-b512 -o1 -t1 -r -w100 --fdatasync-every={}", 5 + random.below(100));
        let (known, report) = or_skip!(raw_cut(&place, &server, &words, 4_000 + random.below(16_000)));
        assert!(flushing != Flushing::Honest || known.lost.is_empty(), "{known:?}");
        expect_equal(&known, &report, |at| at / 512, &format!("round {round}, {flushing:?} {words}"));
    }
}

/// A file system on the disk.
struct FileSystem {
    /// The command that makes it.
    make: &'static str,
    options: &'static str,
    size_bytes: u64,
    /// Writes stay where the file's data is, so that the disk's log can be compared sector by sector.
    in_place: bool,
}

/// The sectors of the disk that hold a file in one piece.
fn sectors(place: &Workplace, file: &Path) -> Result<Range<u64>, String> {
    let shown = run(place, &format!("xfs_io -r -c fiemap {}", file.display()))?;
    // "0: [0..8191]: 69632..77823", in units of 512 bytes.
    let piece = |line: &str| -> Option<(u64, u64)> {
        let (first, last) = line.split("]: ").nth(1)?.split_once("..")?;
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    };
    let pieces: Vec<(u64, u64)> = shown.stdout.lines().filter_map(piece).collect();
    let is_one = !pieces.is_empty() && pieces.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0);
    assert!(is_one, "the file is not in one piece: {shown}");
    Ok(pieces[0].0..pieces[pieces.len() - 1].1 + 1)
}

fn only_in(known: &AfterCut, sectors: &Range<u64>) -> AfterCut {
    let within = |set: &BTreeSet<u64>| set.range(sectors.clone()).copied().collect();
    AfterCut { lost: within(&known.lost), unflushed: within(&known.unflushed), right: within(&known.right) }
}

/// Cuts of a disk below a file system. Its own log says what the program has to say; of an honest disk nothing that was
/// flushed may be missed, whatever the file system had in flight.
fn each_answer_equals_the_log(place: &Workplace, system: &FileSystem) -> Result<(), String> {
    run(place, "modprobe nbd nbds_max=1")?;
    let mut random = Random::new(system.size_bytes);
    let server = BlockServer::start(system.size_bytes, Flushing::Honest, system.size_bytes).expect("it serves");
    let point = place.path("mounted");
    let mount = format!("mkdir -p {0} && mount {1} /dev/nbd0 {0}", point.display(), system.options);
    let unmount = format!("umount -l {}", point.display());
    let target = point.join("a.dat");
    {
        let _connected = connected(place, &server)?;
        run(place, system.make)?;
        let _mounted = DeviceSetup::by(place, &mount, &unmount)?;
        place.diskspd("-c4M -d60 -W0 -w100 -b64K -Su --max-ios=64").arg(&target).run().expect_status(0);
        run(place, "sync")?;
    }
    for round in 0..ON_FILE_SYSTEM {
        let journal = empty_journal(place);
        // One sector at a time where it can be compared; else whatever a load can have in flight.
        let (load, flushing) = match round % 4 {
            0 if system.in_place => ("-b512 -o1 -t1 -Su", Flushing::Ignored),
            1 if system.in_place => ("-b512 -o1 -t1 -Su", Flushing::Partial),
            2 if system.in_place => ("-b512 -o1 -t1 -Su", Flushing::Honest),
            0 | 3 => ("-b4K -o8 -t2 -Su", Flushing::Honest),
            1 => ("-b4K -o1 -t1 -Sb", Flushing::Honest),
            _ => ("-b16K -o4 -t2 -Sh", Flushing::Honest),
        };
        let every =
            if load.contains("-Sh") { String::new() } else { format!("--fdatasync-every={}", 2 + random.below(60)) };
        let about = format!("round {round}, {flushing:?} {load} {every}");
        let compared;
        {
            let _connected = connected(place, &server)?;
            let _mounted = DeviceSetup::by(place, &mount, &unmount)?;
            compared = if system.in_place { sectors(place, &target)? } else { 0..0 };
            server.begin(flushing, compared.clone());
            // Without -c: the file would be written anew, at another place of the disk.
            let words = format!("{load} -r --overwrite {every} -w100 -d600 -W0 --verify --journal=journal");
            let mut running = place.diskspd(&words).arg(&target).start();
            wait_for_records(&mut running, &journal, 4_000 + random.below(12_000));
            server.cut();
            // Cached writes do not fail before their flush.
            let run = running.finish();
            assert_eq!(run.code(), Some(1), "{about}: {run}");
        }
        let known = server.after_cut();
        server.back();
        let _connected = connected(place, &server)?;
        let _mounted = DeviceSetup::by(place, &mount, &unmount)?;
        let known = only_in(&known, &compared);
        let report = verified(place, &target, if known.lost.is_empty() { 0 } else { 5 });
        if load.contains("-b512") {
            expect_equal(&known, &report, |at| compared.start + at / 512, &about);
        } else {
            assert_eq!((number(&report, "corrupt_units"), known.lost.len()), (0, 0), "{about}: {report}");
            assert!(number(&report, "durable_units") > 0, "{about}: {report}");
            println!("{about}: {} right", number(&report, "right_units"));
        }
    }
    Ok(())
}

#[test]
fn each_answer_on_ext4_equals_the_disks_log() {
    let place = machine!();
    let make = "mkfs.ext4 -q -F -m0 -b4096 /dev/nbd0";
    let system = FileSystem { make, options: "-t ext4", size_bytes: 64 * MIB, in_place: true };
    or_skip!(each_answer_equals_the_log(&place, &system));
}

#[test]
fn each_answer_on_xfs_equals_the_disks_log() {
    let place = machine!();
    let make = "mkfs.xfs -q -f -K /dev/nbd0";
    let system = FileSystem { make, options: "-t xfs", size_bytes: 320 * MIB, in_place: true };
    or_skip!(each_answer_equals_the_log(&place, &system));
}

#[test]
fn nothing_flushed_is_missed_on_btrfs() {
    let place = machine!();
    let make = "mkfs.btrfs -q -f -K /dev/nbd0";
    let system = FileSystem { make, options: "-t btrfs", size_bytes: 160 * MIB, in_place: false };
    or_skip!(each_answer_equals_the_log(&place, &system));
}
