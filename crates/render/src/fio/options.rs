//! Settings of a load as options of a job.

use super::object::Object;
use model::engine_kind::EngineKind;
use model::operation::Operation;
use model::profile::{CacheMode, Target, Throughput, TimeSpan};

/// The name of an option, and its value if it is set.
type Setting = (&'static str, Option<String>);

/// Options of a job with these targets. Settings without an option of fio have our name: options of fio do not begin
/// with a hyphen.
pub(super) fn options(span: &TimeSpan, targets: &[&Target], engine: Option<EngineKind>, threads: u64) -> Object {
    let all: Vec<_> = targets.iter().map(|target| of_target(target)).collect();
    let common = all.first().into_iter().flatten().filter(|setting| all.iter().all(|of| of.contains(setting)));
    let are_alike = all.windows(2).all(|pair| pair[0] == pair[1]);
    let paths = targets.iter().map(|target| target.path.to_string_lossy().replace(':', "\\:")).collect::<Vec<_>>();
    let flush = |name| span.flushes().filter(|(_, call)| call.name() == name).map(|(writes, _)| writes.to_string());
    let engine = engine.map(|engine| match engine {
        EngineKind::Synchronous => "pvsync2",
        EngineKind::IoUring => "io_uring",
        EngineKind::LinuxAio => "libaio",
        EngineKind::MemoryMapped => "mmap",
        EngineKind::Null => "null",
    });
    Object::default().with(common.cloned()).with([
        // Readers must not take a missing option for a default.
        ("-X", (!are_alike).then(|| "the settings of the targets differ".to_owned())),
        ("filename", Some(paths.join(":"))),
        ("ioengine", engine.map(str::to_owned)),
        ("numjobs", Some(threads.to_string())),
        ("thread", Some("1".to_owned())),
        ("group_reporting", Some("1".to_owned())),
        ("time_based", Some("1".to_owned())),
        ("runtime", Some(span.duration_s.to_string())),
        ("ramp_time", Some(span.warm_up_s.to_string())),
        ("fdatasync", flush("fdatasync")),
        ("fsync", flush("fsync")),
        ("--rate", span.rate_iops.map(|rate| rate.to_string())),
    ])
}

fn of_target(target: &Target) -> Vec<Setting> {
    let is_random = target.random_percent > 0;
    let (block, stride) = (target.block_size.get(), target.effective_alignment().get());
    let kind = match (target.discard_percent, target.write_percent) {
        (Some(100), _) => "trim",
        (_, 0) => "read",
        (_, 100) => "write",
        _ => "rw",
    };
    let skipped = stride.checked_sub(block).filter(|bytes| *bytes > 0 && !is_random);
    let skip = skipped.map(|bytes| format!(":{}", size(bytes))).unwrap_or_default();
    let mix = |operation| {
        let shares =
            target.sizes_of(operation).into_iter().map(|(bytes, percent)| format!("{}/{percent}", size(bytes)));
        shares.collect::<Vec<_>>().join(":")
    };
    let share = |percent: Option<u32>| percent.filter(|of| *of > 0 && kind != "trim").map(|of| of.to_string());
    let (iops, bytes_per_s) = match target.throughput {
        Throughput::Unlimited => (None, None),
        Throughput::BytesPerMs(bytes) => (None, Some((u64::from(bytes) * 1000).to_string())),
        Throughput::Iops(iops) => (Some(iops.to_string()), None),
    };
    let pause = target.burst_ios.zip(target.think_time_ms);
    let is_set = |is_set: bool, value: &str| is_set.then(|| value.to_owned());
    vec![
        ("rw", Some(format!("{}{kind}{skip}", if is_random { "rand" } else { "" }))),
        ("rwmixwrite", (kind == "rw").then(|| target.write_percent.to_string())),
        ("percentage_random", (1..100).contains(&target.random_percent).then(|| target.random_percent.to_string())),
        ("--discard", share(target.discard_percent)),
        ("--write-zeroes", share(target.write_zeroes_percent)),
        ("bs", Some(size(block))),
        ("bssplit", target.sizes_option().map(|_| format!("{},{}", mix(Operation::Read), mix(Operation::Write)))),
        ("blockalign", (is_random && stride != block).then(|| size(stride))),
        ("-s", (!is_random && stride < block).then(|| size(stride))),
        ("iodepth", Some(target.outstanding.to_string())),
        ("direct", is_set(target.cache_mode == CacheMode::Unbuffered, "1")),
        ("-Sr", is_set(target.cache_mode == CacheMode::NoLocalCache, "1")),
        ("sync", is_set(target.write_through, "dsync")),
        ("size", Some(target.max_offset.get()).filter(|bytes| *bytes > 0).map(size)),
        ("rate_iops", iops),
        ("rate", bytes_per_s),
        ("thinktime", pause.map(|(_, ms)| (u64::from(ms) * 1000).to_string())),
        ("thinktime_blocks", pause.map(|(ios, _)| ios.to_string())),
    ]
}

/// A size as fio reads it.
fn size(bytes: u64) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")].into_iter();
    let (shift, unit) = units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).unwrap_or((0, ""));
    format!("{}{unit}", bytes >> shift)
}
