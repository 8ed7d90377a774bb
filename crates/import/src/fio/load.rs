//! Options of a job become the settings that mean the same here. All others are named, never guessed.

use super::document::{Options, Text};
use model::engine_kind::EngineKind;
use model::limits::{BLOCK_SIZE_BYTES_MAX, OUTSTANDING_MAX, PATH_BYTES_MAX, THREADS_MAX};
use model::profile::{CacheMode, FlushCall, Target, Throughput};
use model::units::Bytes;
use std::collections::BTreeSet;

/// Options that are read here, or change nothing about the load.
const READ: &str = "name filename size rw readwrite bs blocksize rwmixread rwmixwrite percentage_random iodepth \
    numjobs direct buffered sync ioengine fsync fdatasync runtime timeout time_based ramp_time \
    rate_iops stonewall wait_for_previous group_reporting new_group thread description \
    clat_percentiles lat_percentiles slat_percentiles percentile_list disable_slat eta status- \
    interval output output-format unified_rw_reporting hostname port";

/// Engines with one I/O at a time, whatever the depth.
const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Options that replace the block size.
const MIXES: [&str; 5] = ["bssplit", "bsrange", "blocksize_range", "bs_unaligned", "blocksize_unaligned"];

/// Settings, by their options, that a job has as defaults where its options do not say otherwise.
const KNOWN: &str = "-b -s -r -rs -w --discard -o -t -Su -Sr -Sw -Sm -g -i -j --fdatasync-every --fsync-every";

/// The settings that the options of a job give.
pub(super) struct Load {
    pub(super) target: Target,
    /// Options of the settings that are known.
    pub(super) known: BTreeSet<&'static str>,
    /// Options of fio that are not taken over.
    pub(super) left: BTreeSet<String>,
    pub(super) engine: Option<EngineKind>,
    /// After how many writes it flushes, and how.
    pub(super) flush: Option<(u32, FlushCall)>,
    /// True if it keeps as many I/Os outstanding as it may.
    pub(super) keeps_depth: bool,
    /// Seconds that it measures and warms up, if they are said.
    pub(super) runtime_s: Option<u32>,
    pub(super) ramp_s: Option<u32>,
}

/// Options of a job, and those of all jobs.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) own: Option<&'a Options>,
    pub(super) global: Option<&'a Options>,
}

impl<'a> Given<'a> {
    /// The names of all options.
    fn each(self) -> impl Iterator<Item = &'a String> {
        self.own.into_iter().chain(self.global).flat_map(Options::keys)
    }

    /// The value of the first of several names of an option.
    fn get(self, names: &[&str]) -> Option<&'a str> {
        let of = |options: Option<&'a Options>| names.iter().find_map(|name| options?.get(*name));
        match of(self.own).or_else(|| of(self.global))? {
            Text::Text(text) => Some(text),
            Text::Other(_) => Some(""),
        }
    }

    fn is_on(self, name: &str) -> Option<bool> {
        self.get(&[name]).map(|value| value != "0")
    }
}

/// Reads the options; `clones` = entries with the same options, each of which is one thread. Without any options, as of
/// versions before 2.3, nothing is known.
pub(super) fn read(name: &str, given: Given<'_>, clones: u32) -> Load {
    let path = given.get(&["filename"]).filter(|path| path.len() <= PATH_BYTES_MAX).unwrap_or(name).replace("\\:", ":");
    let is_told = given.own.is_some() || given.global.is_some();
    let mut load = Load {
        target: Target { threads: clones, outstanding: 1, block_size: Bytes::from_kib(4), ..Target::new(path) },
        known: KNOWN.split(' ').filter(|_| is_told).collect(),
        left: given.each().filter(|name| !READ.split(' ').any(|read| read == *name)).cloned().collect(),
        engine: None,
        flush: None,
        keeps_depth: is_told,
        runtime_s: given.get(&["runtime", "timeout"]).and_then(seconds),
        ramp_s: given.get(&["ramp_time"]).map_or(Some(0), seconds),
    };
    pattern(given, &mut load);
    blocks(given, &mut load);
    depth(given, clones, &mut load);
    caches(given, &mut load);
    pace(given, &mut load);
    // Settings that this program wrote under its own name (`--fio-json`), and those that fio has elsewhere.
    load.known.retain(|option| given.get(&[option, "-X"]).is_none());
    if given.get(&["blockalign", "ba"]).is_some() {
        forget(&mut load, &["-r"]);
    }
    load
}

/// Forgets settings that an option says in a way that has no like here.
fn forget(load: &mut Load, settings: &[&str]) {
    load.known.retain(|known| !settings.contains(known));
}

/// Takes an option over, or names it.
fn set<T>(
    given: Given<'_>,
    option: &str,
    load: &mut Load,
    settings: &[&str],
    value: Option<T>,
    to: fn(&mut Target, T),
) {
    match value {
        Some(value) => to(&mut load.target, value),
        None if given.get(&[option]).is_some() => {
            load.left.insert(option.to_owned());
            forget(load, settings);
        }
        None => {}
    }
}

fn pattern(given: Given<'_>, load: &mut Load) {
    let word = given.get(&["rw", "readwrite"]).unwrap_or("read");
    let (is_random, kind) = word.strip_prefix("rand").map_or((false, word), |kind| (true, kind));
    let kind = if word == "readwrite" { "rw" } else { kind };
    let percent = |name| given.get(&[name]).and_then(|value| value.parse::<u32>().ok()).filter(|value| *value <= 100);
    let written = percent("rwmixwrite").or_else(|| percent("rwmixread").map(|read| 100 - read)).unwrap_or(50);
    match kind {
        "read" => {}
        "write" => load.target.write_percent = 100,
        "rw" => load.target.write_percent = written,
        "trim" => load.target.discard_percent = Some(100),
        _ => {
            load.left.insert("rw".to_owned());
            forget(load, &["-s", "-r", "-rs", "-w", "--discard"]);
        }
    }
    if is_random {
        load.target.random_percent = 100;
        let share = percent("percentage_random");
        set(given, "percentage_random", load, &["-s", "-r", "-rs"], share, |target, share| {
            target.random_percent = share;
        });
    }
}

fn blocks(given: Given<'_>, load: &mut Load) {
    let alike = |value: &str| {
        let mut sizes = value.split(',').map(size);
        let first = sizes.next()?;
        first.filter(|_| sizes.all(|other| other == first))
    };
    let is_mix = MIXES.iter().any(|mix| given.get(&[mix]).is_some());
    let size = match given.get(&["bs", "blocksize"]) {
        _ if is_mix => None,
        None => Some(4096),
        Some(value) => alike(value).filter(|bytes| (1..=BLOCK_SIZE_BYTES_MAX).contains(bytes)),
    };
    if let Some(bytes) = size {
        load.target.block_size = Bytes(bytes);
    } else {
        load.left.insert("bs".to_owned());
        forget(load, &["-b", "-s", "-r"]);
    }
    if let Some(bytes) = given.get(&["size"]).and_then(self::size) {
        load.target.max_offset = Bytes(bytes);
    }
}

fn depth(given: Given<'_>, clones: u32, load: &mut Load) {
    let count = |name: &str, max: u32| {
        let value = given.get(&[name])?.parse::<u32>().ok()?;
        (1..=max).contains(&value).then_some(value)
    };
    // Of a group that is one entry, each job is a thread.
    if clones == 1 {
        set(given, "numjobs", load, &["-t"], count("numjobs", THREADS_MAX), |target, count| target.threads = count);
    }
    let engine = given.get(&["ioengine"]).unwrap_or("psync");
    load.engine = match engine {
        "io_uring" => Some(EngineKind::IoUring),
        "libaio" => Some(EngineKind::LinuxAio),
        "mmap" => Some(EngineKind::MemoryMapped),
        "null" => Some(EngineKind::Null),
        name if SYNCHRONOUS.contains(&name) => Some(EngineKind::Synchronous),
        _ => None,
    };
    load.target.memory_mapped = engine == "mmap";
    if !SYNCHRONOUS.contains(&engine) {
        let depth = count("iodepth", OUTSTANDING_MAX);
        set(given, "iodepth", load, &["-o"], depth, |target, depth| target.outstanding = depth);
    }
    load.keeps_depth &= load.known.contains("-o") && load.known.contains("-t");
}

fn caches(given: Given<'_>, load: &mut Load) {
    let is_direct = given.is_on("direct").or_else(|| given.is_on("buffered").map(|is_on| !is_on)).unwrap_or(false);
    load.target.cache_mode = if is_direct { CacheMode::Unbuffered } else { CacheMode::Cached };
    load.target.write_through = given.get(&["sync"]).is_some_and(|value| !["0", "none"].contains(&value));
    for (option, call) in [("fdatasync", FlushCall::Fdatasync), ("fsync", FlushCall::Fsync)] {
        match given.get(&[option]).map(str::parse::<u32>) {
            None | Some(Ok(0)) => {}
            Some(Ok(writes)) if load.flush.is_none() => load.flush = Some((writes, call)),
            Some(_) => {
                load.left.insert(option.to_owned());
                forget(load, &["--fdatasync-every", "--fsync-every"]);
            }
        }
    }
}

/// Whatever keeps a job below its depth.
fn pace(given: Given<'_>, load: &mut Load) {
    let is_given = |beginning: &str| given.each().any(|name| name.starts_with(beginning));
    let rate = given.get(&["rate_iops"]).and_then(|value| value.parse().ok()).map(Throughput::Iops);
    set(given, "rate_iops", load, &["-g"], rate, |target, rate| target.throughput = rate);
    if is_given("rate") && rate.is_none() {
        forget(load, &["-g"]);
    }
    if is_given("thinktime") {
        forget(load, &["-i", "-j"]);
    }
    load.keeps_depth &=
        !["rate", "--rate", "thinktime", "latency_", "flow", "iodepth_"].iter().any(|name| is_given(name));
}

/// A size as fio reads it: `4k` is 4096.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A time in whole seconds: seconds without a unit.
fn seconds(text: &str) -> Option<u32> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u32>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: &[(&str, &str)]) -> Load {
        let options =
            options.iter().map(|(name, value)| ((*name).to_owned(), Text::Text((*value).to_owned()))).collect();
        read("job", Given { own: Some(&options), global: None }, 1)
    }

    #[test]
    fn options_mean_the_same_here() {
        let Load { target, known, left, engine, .. } = load(&[
            ("rw", "randrw"),
            ("rwmixread", "70"),
            ("bs", "8k"),
            ("iodepth", "16"),
            ("ioengine", "libaio"),
            ("numjobs", "4"),
            ("direct", "1"),
            ("filename", "/d/f"),
            ("norandommap", "1"),
        ]);
        assert_eq!((target.random_percent, target.write_percent, target.block_size), (100, 30, Bytes(8192)));
        assert_eq!((target.outstanding, target.threads, target.cache_mode), (16, 4, CacheMode::Unbuffered));
        assert_eq!((target.path.to_str(), engine), (Some("/d/f"), Some(EngineKind::LinuxAio)));
        assert_eq!(
            (known.len(), left.into_iter().collect::<Vec<_>>()),
            (KNOWN.split(' ').count(), vec!["norandommap".to_owned()])
        );
    }

    #[test]
    fn defaults_are_those_of_fio() {
        let Load { target, engine, keeps_depth, .. } = load(&[("iodepth", "8")]);
        assert_eq!((target.block_size, target.outstanding, target.write_percent), (Bytes(4096), 1, 0));
        assert_eq!((engine, keeps_depth), (Some(EngineKind::Synchronous), true), "psync has no depth");
    }

    #[test]
    fn what_has_no_like_is_named_and_forgotten() {
        for (option, value, setting) in [
            ("bssplit", "4k/50:8k/50", "-b"),
            ("bs", "4k,8k", "-b"),
            ("rw", "randtrimwrite", "-w"),
            ("rw", "read:8k", "-s"),
            ("numjobs", "0", "-t"),
            ("fsync", "x", "--fsync-every"),
            ("rate", "1m", "-g"),
            ("thinktime", "5", "-j"),
            ("blockalign", "512", "-r"),
            ("--discard", "30", "--discard"),
            ("-X", "", "-b"),
        ] {
            let Load { known, left, .. } = load(&[(option, value)]);
            assert!(!known.contains(setting) && !left.is_empty(), "{option}={value}: {left:?}");
        }
        assert!(!load(&[("rate_iops", "100")]).keeps_depth);
        assert!(read("job", Given { own: None, global: None }, 1).known.is_empty());
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(
            (size("4k"), size("1GB"), size("512"), size("4kib"), size("x")),
            (Some(4096), Some(1 << 30), Some(512), None, None)
        );
        assert_eq!((seconds("60"), seconds("2m"), seconds("5ms")), (Some(60), Some(120), None));
    }
}
