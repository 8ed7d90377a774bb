//! Converts options of a job to settings with the same meaning. All others are listed by name, never guessed.

use super::document::{Options, Text};
use model::engine_kind::EngineKind;
use model::limits::{BLOCK_SIZE_BYTES_MAX, OUTSTANDING_MAX, PATH_BYTES_MAX, THREADS_MAX};
use model::profile::{CacheMode, FlushCall, Target, Throughput};
use model::units::Bytes;
use settings::fio::{self, Pattern};
use std::collections::BTreeSet;

/// Options that are read here, or do not change the load.
const READ: &str = "name filename size rw readwrite bs blocksize rwmixread rwmixwrite percentage_random iodepth \
    numjobs direct buffered sync ioengine fsync fdatasync runtime timeout time_based ramp_time \
    rate_iops stonewall wait_for_previous group_reporting new_group thread description \
    clat_percentiles lat_percentiles slat_percentiles percentile_list disable_slat eta status- \
    interval output output-format unified_rw_reporting hostname port";

/// Options that replace the block size.
const MIXES: [&str; 5] = ["bssplit", "bsrange", "blocksize_range", "bs_unaligned", "blocksize_unaligned"];

/// Settings, by their options, whose defaults are known if the job's options do not set them.
const KNOWN: &str = "-b -s -r -rs -w --discard -o -t -Su -Sr -Sw -Sm -g -i -j --fdatasync-every --fsync-every";

/// The settings from the options of a job.
pub(super) struct Load {
    pub(super) target: Target,
    /// Options of the settings that are known.
    pub(super) known: BTreeSet<&'static str>,
    /// Options of fio that are not converted.
    pub(super) left: BTreeSet<String>,
    pub(super) engine: Option<EngineKind>,
    /// Number of writes before a flush, and the call.
    pub(super) flush: Option<(u32, FlushCall)>,
    /// True if it keeps its full number of I/Os outstanding.
    pub(super) keeps_depth: bool,
    /// Seconds of measurement and warm-up, if given.
    pub(super) runtime_s: Option<u32>,
    pub(super) ramp_s: Option<u32>,
}

/// Options of a job, and those of all jobs.
#[derive(Clone, Copy)]
pub(super) struct JobOptions<'a> {
    pub(super) own: Option<&'a Options>,
    pub(super) global: Option<&'a Options>,
}

impl<'a> JobOptions<'a> {
    /// The names of all options.
    fn each(self) -> impl Iterator<Item = &'a String> {
        self.own.into_iter().chain(self.global).flat_map(Options::keys)
    }

    /// The value of the first of several names of an option.
    fn get(self, names: &[&str]) -> Option<&'a str> {
        let first_of = |options: Option<&'a Options>| names.iter().find_map(|name| options?.get(*name));
        match first_of(self.own).or_else(|| first_of(self.global))? {
            Text::Text(text) => Some(text),
            Text::Other(_) => Some(""),
        }
    }

    fn is_on(self, name: &str) -> Option<bool> {
        self.get(&[name]).map(|value| value != "0")
    }
}

/// Reads the options; `clones` = entries with the same options, each of which is one thread. Without any options, as in
/// versions before 2.3, nothing is known.
pub(super) fn read(name: &str, given: JobOptions<'_>, clones: u32) -> Load {
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

/// Removes settings from the known ones: an option sets them in a way without equivalent here.
fn forget(load: &mut Load, settings: &[&str]) {
    load.known.retain(|known| !settings.contains(known));
}

/// Converts an option, or lists it by name.
fn set<T>(
    given: JobOptions<'_>,
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

fn pattern(given: JobOptions<'_>, load: &mut Load) {
    let percent = |name| given.get(&[name]).and_then(|value| fio::percent(value).ok());
    let written = percent("rwmixwrite").or_else(|| percent("rwmixread").map(|read| 100 - read)).unwrap_or(50);
    let pattern = fio::pattern(given.get(&["rw", "readwrite"]).unwrap_or("read")).filter(|found| found.hole.is_none());
    match pattern {
        Some(Pattern { reads: true, writes: false, .. }) => {}
        Some(Pattern { reads: false, writes: true, .. }) => load.target.write_percent = 100,
        Some(Pattern { trims: true, .. }) => load.target.discard_percent = Some(100),
        Some(_) => load.target.write_percent = written,
        None => {
            load.left.insert("rw".to_owned());
            forget(load, &["-s", "-r", "-rs", "-w", "--discard"]);
        }
    }
    if pattern.is_some_and(|found| found.is_random) {
        load.target.random_percent = 100;
        let share = percent("percentage_random");
        set(given, "percentage_random", load, &["-s", "-r", "-rs"], share, |target, share| {
            target.random_percent = share;
        });
    }
}

fn blocks(given: JobOptions<'_>, load: &mut Load) {
    let alike = |value: &str| {
        let [reads, writes, trims] = fio::of_directions(value, &4096, size).ok()?;
        (reads == writes && writes == trims).then_some(reads)
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
    if let Some(bytes) = given.get(&["size"]).and_then(|text| self::size(text).ok()) {
        load.target.max_offset = Bytes(bytes);
    }
}

fn depth(given: JobOptions<'_>, clones: u32, load: &mut Load) {
    let count = |name: &str, max: u32| {
        let value = fio::count(given.get(&[name])?).ok()?;
        (1..=max).contains(&value).then_some(value)
    };
    // In a group with a single entry, each job is a thread.
    if clones == 1 {
        set(given, "numjobs", load, &["-t"], count("numjobs", THREADS_MAX), |target, count| target.threads = count);
    }
    load.engine = fio::engine(given.get(&["ioengine"]).unwrap_or("psync"));
    load.target.memory_mapped = load.engine == Some(EngineKind::MemoryMapped);
    if !load.engine.is_some_and(EngineKind::is_one_at_a_time) {
        let depth = count("iodepth", OUTSTANDING_MAX);
        set(given, "iodepth", load, &["-o"], depth, |target, depth| target.outstanding = depth);
    }
    load.keeps_depth &= load.known.contains("-o") && load.known.contains("-t");
}

fn caches(given: JobOptions<'_>, load: &mut Load) {
    let is_direct = given.is_on("direct").or_else(|| given.is_on("buffered").map(|is_on| !is_on)).unwrap_or(false);
    load.target.cache_mode = if is_direct { CacheMode::Unbuffered } else { CacheMode::Cached };
    load.target.write_through = given.get(&["sync"]).is_some_and(|value| !["0", "none"].contains(&value));
    for (option, call) in [("fdatasync", FlushCall::Fdatasync), ("fsync", FlushCall::Fsync)] {
        match given.get(&[option]).map(fio::count) {
            None | Some(Ok(0)) => {}
            Some(Ok(writes)) if load.flush.is_none() => load.flush = Some((writes, call)),
            Some(_) => {
                load.left.insert(option.to_owned());
                forget(load, &["--fdatasync-every", "--fsync-every"]);
            }
        }
    }
}

/// Options that keep a job below its depth.
fn pace(given: JobOptions<'_>, load: &mut Load) {
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

fn size(text: &str) -> Result<u64, String> {
    fio::size(text, 1024)
}

fn seconds(text: &str) -> Option<u32> {
    fio::seconds(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: &[(&str, &str)]) -> Load {
        let options =
            options.iter().map(|(name, value)| ((*name).to_owned(), Text::Text((*value).to_owned()))).collect();
        read("job", JobOptions { own: Some(&options), global: None }, 1)
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
        assert!(read("job", JobOptions { own: None, global: None }, 1).known.is_empty());
    }

    #[test]
    fn sizes_and_times_have_units() {
        let Load { target, runtime_s, ramp_s, .. } =
            load(&[("bs", "4kib"), ("size", "1GB"), ("runtime", "2m"), ("ramp_time", "5ms")]);
        assert_eq!((target.block_size, target.max_offset), (Bytes(4000), Bytes(1 << 30)));
        assert_eq!((runtime_s, ramp_s), (Some(120), None));
    }
}
