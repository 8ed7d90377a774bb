//! Disks with a log of their own, which decides: those with occasional faults, and those that lose power.

use super::history::Case;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use testkit::{Corrupting, Corruption, Flushing, Occasion, Volatile};

/// A load on a disk on which writes fail occasionally.
pub(super) fn judge_faulty(case: &mut Case) -> Result<(), String> {
    let size_bytes = case.any_size();
    let disk = match Corrupting::mounted(&case.place, &case.file("disk"), size_bytes) {
        Ok(disk) => disk,
        Err(reason) => {
            case.skipped = Some(reason);
            return Ok(());
        }
    };
    let fills = case.percent(50);
    let mut load = case.any_load(size_bytes, fills);
    // The file exists. Without a page cache, each write reaches the disk.
    let (_, words) = load.words.split_once(' ').expect("-c and more");
    load.words = words.replace("-Sm -Nv", "-Su").replace("-Sm -Nn", "-Su").replace("-Sm", "-Su");
    // It does not support write-zeroes.
    load.words =
        load.words.replace(" --discard=10 --write-zeroes=10", " --discard=20").replace(" --write-zeroes=20", "");
    let distance_bytes = (1 + case.random.below(size_bytes / 4096 - 1)).cast_signed() * 4096;
    let stored_bytes = 512 * (1 + case.random.below(7));
    let bit = case.random.below(4096 * 8);
    let fault = case.one_of(&[
        None,
        Some(Corruption::Lost),
        Some(Corruption::Torn { stored_bytes }),
        Some(Corruption::Misdirected { distance_bytes }),
        Some(Corruption::Duplicated { distance_bytes }),
        Some(Corruption::Late),
        Some(Corruption::Rotten { bit }),
    ]);
    if let Some(fault) = fault {
        let every = 1 + case.random.below(60);
        disk.order(fault, Occasion::every(every));
        case.lines.push(format!("# {fault:?} at each {every}th write"));
    }
    case.make_folder("journal");
    let (journal, target) = (case.file("journal"), disk.file.display().to_string());
    let words = format!("{} -d60 -W0 --verify --overwrite --journal={journal} --journal-here {target}", load.words);
    let run = case.run(&words);
    // Its reads may already return wrong data.
    let expected = if fault.is_some() { &[0, 5][..] } else { &[0] };
    if !run.code().is_some_and(|code| expected.contains(&code)) {
        return Err(format!("the load ended with a status not among {expected:?}\n{run}"));
    }
    disk.behave();
    let is_wrong = !disk.wrong().is_empty();
    case.kinds.push(if is_wrong { "a disk with wrong sectors" } else { "a disk without wrong sectors" });
    let expected = if is_wrong { &[5][..] } else { &[0, 6] };
    case.verify(&format!("--journal {journal} {target}"), expected).map(drop)
}

/// A load on a disk with a volatile cache whose power is cut.
pub(super) fn judge_cut(case: &mut Case) -> Result<(), String> {
    let size_bytes = case.any_size();
    let flushing = case.one_of(&[Flushing::Honest, Flushing::Honest, Flushing::Ignored, Flushing::Partial]);
    let disk = match Volatile::mounted(&case.place, &case.file("disk"), size_bytes, flushing) {
        Ok(disk) => disk,
        Err(reason) => {
            case.skipped = Some(reason);
            return Ok(());
        }
    };
    // Only for single writes of a sector is it known which are present.
    let is_alone = case.percent(50);
    let pattern = case.one_of(&["-r", "-s", "-r"]);
    let load = if is_alone {
        format!("-b512 -o1 -t1 {pattern}")
    } else {
        let block = case.one_of(&["512", "2K", "4K", "8K", "64K"]);
        format!("-b{block} -o{} -t{} -r", 1 + case.random.below(8), 1 + case.random.below(3))
    };
    let durability = match case.random.below(3) {
        0 => "-Suw".to_owned(),
        1 => format!("-Su --fdatasync-every={}", 1 + case.random.below(100)),
        _ => format!("-Su --fsync-every={}", 1 + case.random.below(100)),
    };
    let share = case.one_of(&["-w100", "-w100", "-w70"]);
    let (journal, target) = (case.file("journal"), disk.file.display().to_string());
    case.make_folder("journal");
    let rest = format!("-d600 -W0 --verify --overwrite --journal={journal} {target}");
    let words = format!("{load} {durability} {share} {rest}");
    let log = case.path("journal/log.0");
    let records = case.random.below(40_000);
    let mut run = case.place.diskspd(&words).start();
    run.wait_until("records in the journal", |_| {
        // Any of these may be a number that is 0.
        let mut words = [0; 64];
        let file = File::open(&log);
        file.and_then(|file| file.read_exact_at(&mut words, (64 << 10) + records / 8 * 8)).is_ok() && words != [0; 64]
    });
    disk.cut();
    let run = run.finish();
    disk.back();
    case.lines.push(format!("diskspd {words}   # {flushing:?}, cut: {:?}", run.code()));
    // Reads or writes failed at the cut.
    if !matches!(run.code(), Some(1 | 5)) {
        return Err(format!("a load whose disk was cut off ended as if it had not been\n{run}"));
    }
    let known = disk.after_cut();
    let is_lost = !known.lost.is_empty();
    case.kinds.push(match flushing {
        Flushing::Honest => "an honest disk",
        _ if is_lost => "a lying disk that lost something",
        _ => "a lying disk that lost nothing",
    });
    if flushing == Flushing::Honest && is_lost {
        return Err(format!("the disk of the test is not honest: {known:?}"));
    }
    let expected = match (is_lost, is_alone) {
        (false, _) => &[0][..],
        (true, true) => &[5],
        // A write in flight may have torn all lost units.
        (true, false) => &[0, 5],
    };
    case.verify(&format!("--journal {journal} {target}"), expected).map(drop)
}
