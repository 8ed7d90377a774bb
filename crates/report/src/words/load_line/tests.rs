use super::*;
use model::block_device::{BlockDevice, Connection, DeviceKind, Raid, Transport};
use model::engine_kind::EngineKind;
use model::environment::{Backing, MountedFileSystem};
use model::facts::{BlockFacts, CharacterDevice, RegularFacts, TargetKind};
use model::profile::{
    Append, CacheMode, Distribution, DistributionRange, FlushMode, Profile, Skew, StreamName, ThreadTarget, Throughput,
    WriteSource,
};
use model::result::Tool;
use model::targets_found::TargetsFound;
use model::units::{Bytes, Millionths};
use proptest::prelude::*;
use settings::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, Setting, TARGET, TIME_SPAN, arbitrary};
use std::collections::BTreeMap;

fn describe_load(span: &TimeSpan, found: &TargetsFound, is_windows: bool) -> String {
    let (facts, environments) = (ByPath::new(&found.facts), ByPath::new(&found.environments));
    let is_rate_searched = false;
    load_line(span, &KnownTargets { facts, environments, plan: None, measured: None, is_windows, is_rate_searched })
}

fn span(change: impl FnOnce(&mut TimeSpan)) -> TimeSpan {
    let mut span = TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() };
    change(&mut span);
    span
}

/// The line of a profile without other known facts.
fn line(change: impl FnOnce(&mut TimeSpan)) -> String {
    describe_load(&span(change), &TargetsFound::default(), false)
}

fn disk(name: &str, size_bytes: u64) -> BlockDevice {
    let connection = Connection { transport: Some(Transport::Virtio), ..Connection::default() };
    BlockDevice {
        name: name.to_owned(),
        kind: DeviceKind::Disk,
        size_bytes: Some(size_bytes),
        connection,
        ..BlockDevice::default()
    }
}

/// A file at each of some paths, on a file system on a device.
fn files(paths: &[&str], file_system: &str, backing: &Backing) -> TargetsFound {
    let mut found = TargetsFound::default();
    for path in paths {
        let kind = TargetKind::Regular(RegularFacts::default());
        found.facts.insert(path.into(), TargetFacts::new(kind));
        let mount = MountedFileSystem { file_system: file_system.to_owned(), ..MountedFileSystem::default() };
        found.environments.insert(path.into(), TargetEnvironment { mount: Some(mount), backing: backing.clone() });
    }
    found
}

#[test]
fn a_file_on_a_disk() {
    let span = span(|span| {
        let target = &mut span.targets[0];
        (target.block_size, target.create_size) = (Bytes(8192), Some(Bytes(1 << 30)));
        (target.random_percent, target.write_percent, target.threads, target.outstanding) = (100, 30, 2, 8);
        (target.cache_mode, target.write_through) = (CacheMode::Unbuffered, true);
    });
    let found = files(&["f"], "ext4", &Backing::Devices(vec![disk("vda", 256 << 30)]));
    assert_eq!(
        describe_load(&span, &found, false),
        "8 KiB random 70/30 read/write, QD 16 (2 threads x 8), O_DIRECT + O_DSYNC, 1 GiB file on ext4 on vda (virtio, \
         256 GiB)"
    );
    assert_eq!(
        describe_load(&span, &TargetsFound::default(), true),
        "8 KiB random 70/30 read/write, QD 16 (2 threads x 8), unbuffered + write-through, 1 GiB target"
    );
}

#[test]
fn patterns() {
    let ranges = |lengths: &[u64]| lengths.iter().map(|&length| DistributionRange { io_percent: 90, length }).collect();
    let pattern = |change: fn(&mut Target)| {
        let line = line(|span| change(&mut span.targets[0]));
        line.split_once(", QD").map(|(begin, _)| begin.to_owned()).unwrap_or(line)
    };
    assert_eq!(pattern(|_| {}), "64 KiB sequential read");
    assert_eq!(pattern(|target| target.block_size = Bytes(1536)), "1536 B sequential read");
    assert_eq!(pattern(|target| target.block_size = Bytes(3 << 19)), "1536 KiB sequential read");
    assert_eq!(pattern(|target| target.write_percent = 100), "64 KiB sequential write");
    assert_eq!(pattern(|target| target.random_percent = 80), "64 KiB 80/20 random/sequential read");
    assert_eq!(pattern(|target| target.alignment = Some(Bytes(1 << 20))), "64 KiB sequential (stride 1 MiB) read");
    assert_eq!(pattern(|target| target.interlocked = true), "64 KiB sequential (one position for all threads) read");
    let hot = line(|span| {
        (span.targets[0].random_percent, span.targets[0].skew) = (100, Skew::parse("zipf:1.1,contiguous").ok());
    });
    assert!(hot.starts_with("64 KiB random (zipf:1.1,contiguous) read"), "{hot}");
    let skewed = |distribution| {
        line(|span| (span.targets[0].random_percent, span.targets[0].distribution) = (100, Some(distribution)))
    };
    let line = skewed(Distribution::Percent(ranges(&[10, 90])));
    assert!(line.starts_with("64 KiB random (90 % of I/Os on 10 %, 90 % on 90 %) read"), "{line}");
    let line = skewed(Distribution::Absolute(ranges(&[1 << 30, 0])));
    assert!(line.starts_with("64 KiB random (90 % of I/Os on 1 GiB, 90 % on the rest) read"), "{line}");
    let line = skewed(Distribution::Percent(ranges(&[1, 2, 3, 94])));
    assert!(line.starts_with("64 KiB random (skewed over 4 ranges) read"), "{line}");
}

#[test]
fn rates_and_content() {
    assert_eq!(
        line(|span| (span.rate_iops, span.rate_process) = (Some(2000.into()), Some(RateProcess::Poisson))),
        "64 KiB sequential read, open loop at 2000 IOPS (Poisson), at most QD 2 (1 thread x 2), page cache, target"
    );
    let ramp = line(|span| span.rate_iops = OfferedRate::parse("100..2000").ok());
    assert!(ramp.contains(", open loop from 100 to 2000 IOPS, at most QD 2"), "{ramp}");
    let found = TargetsFound::default();
    let (facts, environments) = (ByPath::new(&found.facts), ByPath::new(&found.environments));
    let known =
        KnownTargets { facts, environments, plan: None, measured: None, is_windows: false, is_rate_searched: true };
    let searched = load_line(&span(|_| ()), &known);
    assert!(searched.contains(", at most QD 2 (1 thread x 2)"), "a search sets the rate: {searched}");
    let bursts = |span: &mut TimeSpan| {
        (span.rate_iops, span.rate_process) = (Some(2000.into()), RateProcess::parse("bursts:100ms,900ms,5").ok());
    };
    assert!(line(bursts).contains(", open loop at 2000 IOPS (bursts:100ms,900ms,5), at most QD 2"));
    assert_eq!(
        line(|span| span.targets[0].throughput = Throughput::Iops(500)),
        "64 KiB sequential read, QD 2 (1 thread x 2), page cache, limited to 500 IOPS per thread, target"
    );
    let of_bytes = line(|span| span.targets[0].throughput = Throughput::BytesPerMs(1 << 20));
    assert!(of_bytes.contains("limited to 1000 MiB/s per thread"), "{of_bytes}");
    let bursts = |span: &mut TimeSpan| {
        (span.targets[0].burst_ios, span.targets[0].think_time_ms) = (Some(1), Some(5));
    };
    assert!(line(bursts).contains("bursts of 1 I/O with pauses of 5 ms"));
    let written = |source: bool, zeros: bool, writes: u32| {
        line(|span| {
            let target = &mut span.targets[0];
            (target.write_percent, target.zero_write_buffers) = (writes, zeros);
            target.write_source = source.then_some(WriteSource { size: Bytes(64 << 20), file: None });
        })
    };
    assert!(written(true, true, 1).contains("page cache, writes from a buffer of 64 MiB of random bytes,"));
    assert!(written(false, true, 1).contains("page cache, writes zeros,"));
    assert!(written(true, true, 0).ends_with("page cache, target"));
    let reduced = |ratio, percent| {
        line(|span| {
            let target = &mut span.targets[0];
            (target.write_percent, target.compress_ratio, target.dedupe_percent) = (30, ratio, percent);
        })
    };
    assert!(
        reduced(Some(Millionths(2_500_000)), None).contains("page cache, writes data that compresses 2.5:1, target")
    );
    assert!(reduced(None, Some(30)).contains(", writes data that compresses 1:1, 30% repeated, target"));
    let log = line(|span| span.targets[0].append = Append::parse("64M,preallocate").ok());
    assert!(log.starts_with("64 KiB append (file per thread, preallocated, truncated at 64 MiB), QD 2"), "{log}");
    let flushes = line(|span| (span.flush_after_writes, span.targets[0].write_percent) = (Some(1), 100));
    assert!(flushes.starts_with("64 KiB sequential write, fdatasync after each write, QD 2"), "{flushes}");
}

#[test]
fn what_does_one_after_the_other_has_one_outstanding() {
    let mapped = |span: &mut TimeSpan| {
        span.targets[0].memory_mapped = true;
        span.targets[0].flush = Some(FlushMode::ViewOfFile);
        (span.targets[0].outstanding, span.targets[0].threads) = (8, 2);
    };
    assert_eq!(line(mapped), "64 KiB sequential read, QD 2 (2 threads x 1), memory mapped + msync, target");
    let line = line(|span| (span.engine, span.targets[0].outstanding) = (Some(EngineKind::Synchronous), 8));
    assert_eq!(line, "64 KiB sequential read, QD 1 (1 thread x 1), page cache, target");
}

#[test]
fn the_null_engine_opens_nothing() {
    let line = line(|span| {
        span.engine = Some(EngineKind::Null);
        span.targets[0].cache_mode = CacheMode::Unbuffered;
    });
    assert_eq!(line, "64 KiB sequential read, QD 2 (1 thread x 2), null engine (no I/O), target");
}

#[test]
fn targets_that_are_alike_are_counted() {
    let two = |change: fn(&mut TimeSpan)| {
        span(|span| {
            span.targets.push(Target::new("g"));
            change(span);
        })
    };
    let ext4 = files(&["f", "g"], "ext4", &Backing::Devices(vec![disk("vda", 256 << 30)]));
    let sized = |span: &mut TimeSpan| {
        for target in &mut span.targets {
            target.create_size = Some(Bytes(2 << 30));
        }
    };
    assert_eq!(
        describe_load(&two(sized), &ext4, false),
        "64 KiB sequential read, QD 4 (2 targets x 1 thread x 2), page cache, 2 files of 2 GiB each on ext4 on vda \
         (virtio, 256 GiB)"
    );
    let line = |change| describe_load(&two(change), &TargetsFound::default(), false);
    assert_eq!(
        line(|span| span.thread_count = 4),
        "64 KiB sequential read, QD 16 (4 threads x 2 targets x 2), page cache, 2 targets"
    );
    let pool = |span: &mut TimeSpan| (span.thread_count, span.request_count) = (4, 16);
    assert_eq!(line(pool), "64 KiB sequential read, QD 64 (4 threads x 16 over 2 targets), page cache, 2 targets");
    assert_eq!(
        line(|span| {
            (span.thread_count, span.request_count) = (4, 16);
            span.targets[1].weight = 3;
        }),
        "64 KiB sequential read, QD 64 (4 threads x 16 over 2 targets by weight), page cache, 2 targets"
    );
    assert_eq!(
        line(|span| {
            span.thread_count = 4;
            span.targets.iter_mut().for_each(|target| target.memory_mapped = true);
        }),
        "64 KiB sequential read, QD 4 (4 threads x 1 over 2 targets), memory mapped, 2 targets"
    );
    assert_eq!(
        line(|span| {
            span.thread_count = 4;
            span.targets[1].thread_targets = vec![ThreadTarget { thread: 0, weight: 0 }];
        }),
        "64 KiB sequential read, QD 8 (4 threads x 2), page cache, target; 64 KiB sequential read, QD 2 (1 thread x \
         2), page cache, target"
    );
}

#[test]
fn targets_that_differ_follow_each_other() {
    let differing = |count: u64| {
        span(|span| {
            let target = |size: u64| Target { block_size: Bytes(size << 10), ..Target::new("f") };
            span.targets = (1..=count).map(target).collect();
            (span.thread_count, span.request_count) = (2, 3);
        })
    };
    let line = |count| describe_load(&differing(count), &TargetsFound::default(), false);
    assert_eq!(
        line(2),
        "1 KiB sequential read, page cache; 2 KiB sequential read, page cache; all: QD 6 (2 threads x 3 over all \
         targets), target"
    );
    let of_ten = line(10);
    assert!(of_ten.contains("8 KiB sequential read, page cache; and 2 other loads; all: QD 6"), "{of_ten}");
}

#[test]
fn parts_of_targets() {
    let part = |base: u64, end: u64, size: Option<u64>| {
        let line = line(|span| {
            let target = &mut span.targets[0];
            (target.base_offset, target.max_offset) = (Bytes(base << 20), Bytes(end << 20));
            target.create_size = size.map(|mib| Bytes(mib << 20));
        });
        line.rsplit(", ").next().map(str::to_owned)
    };
    assert_eq!(part(0, 0, Some(4096)).as_deref(), Some("4 GiB target"));
    assert_eq!(part(0, 4096, Some(4096)).as_deref(), Some("4 GiB target"), "all of it");
    assert_eq!(part(0, 1024, Some(4096)).as_deref(), Some("first 1 GiB of a 4 GiB target"));
    assert_eq!(part(512, 1024, Some(4096)).as_deref(), Some("512 MiB from 512 MiB on of a 4 GiB target"));
    assert_eq!(part(512, 0, None).as_deref(), Some("all from 512 MiB on of a target"));
}

#[test]
fn what_targets_stand_on() {
    let on = |file_system: &str, backing: &Backing| {
        let line = describe_load(&span(|_| {}), &files(&["f"], file_system, backing), false);
        line.split_once("page cache, ").map(|(_, place)| place.to_owned()).unwrap_or_default()
    };
    assert_eq!(on("tmpfs", &Backing::Memory), "file on tmpfs in memory");
    let address = "server:/export".to_owned();
    assert_eq!(on("nfs4", &Backing::Remote { address }), "file on nfs4 from server:/export");
    assert_eq!(on("fuse.sshfs", &Backing::Process), "file on fuse.sshfs served by a process (FUSE)");
    assert_eq!(on("overlay", &Backing::Unknown), "file on overlay");
    let raid = BlockDevice {
        name: "md0".to_owned(),
        kind: DeviceKind::Raid(Raid { level: Some("raid0".to_owned()), ..Raid::default() }),
        size_bytes: Some(3 << 40),
        below: vec![disk("vdb", 1 << 40), disk("vdc", 2 << 40)],
        ..BlockDevice::default()
    };
    assert_eq!(on("xfs", &Backing::Devices(vec![raid])), "file on xfs on md0 (raid0 of 2 disks, virtio, 3 TiB)");
    let pair = Backing::Devices(vec![disk("vdb", 0), disk("vdc", 0)]);
    assert_eq!(on("btrfs", &pair), "file on btrfs on vdb (virtio) and 1 other device");
    assert_eq!(on("evil\nfs\x1b[2J", &Backing::Unknown), r"file on evil\x0afs\x1b[2J");
}

#[test]
fn devices_as_targets() {
    let line = |kind| {
        let mut found = TargetsFound::default();
        found.facts.insert("f".into(), TargetFacts::new(kind));
        let backing = Backing::Devices(vec![disk("vdb", 4 << 40)]);
        found.environments.insert("f".into(), TargetEnvironment { mount: None, backing });
        describe_load(&span(|span| span.targets[0].create_size = Some(Bytes(1 << 20))), &found, false)
    };
    let device = line(TargetKind::Block(BlockFacts::default()));
    assert!(device.ends_with("page cache, block device vdb (virtio, 4 TiB)"), "{device}");
    let zero = line(TargetKind::Character(CharacterDevice::Zero));
    assert!(zero.contains("page cache, /dev/zero"), "{zero}");
}

#[test]
fn results_of_several_timespans() {
    let result = |sizes: &[u64]| RunResult {
        profile: Profile {
            time_spans: sizes.iter().map(|&size| span(|span| span.targets[0].block_size = Bytes(size))).collect(),
            ..Profile::default()
        },
        tool: Tool { implementation: None, ..Tool::default() },
        ..RunResult::default()
    };
    let line = |sizes| of_result(&result(sizes));
    assert_eq!(line(&[]), "no load");
    assert_eq!(line(&[4096]), "4 KiB sequential read, QD 2 (1 thread x 2), cached, target");
    assert_eq!(line(&[4096, 4096]), "2 timespans, each: 4 KiB sequential read, QD 2 (1 thread x 2), cached, target");
    assert_eq!(
        line(&[4096, 8192]),
        "2 timespans with different loads; the first: 4 KiB sequential read, QD 2 (1 thread x 2), cached, target"
    );
    assert_eq!(of_time_span(&result(&[4096]), 1), "unknown load");
}

#[test]
fn streams_are_named() {
    let line = line(|span| {
        span.targets[0].stream = StreamName::parse("oltp").ok();
        span.targets.push(Target { stream: StreamName::parse("backup").ok(), ..span.targets[0].clone() });
    });
    assert!(line.starts_with("oltp: 64 KiB sequential read, ") && line.contains("; backup: 64 KiB "), "{line}");
    assert!(line.ends_with("; all: target"), "the target of both is named once: {line}");
    let in_parts = self::line(|span| {
        span.targets[0].stream = StreamName::parse("oltp").ok();
        let stream = StreamName::parse("backup").ok();
        span.targets.push(Target { stream, base_offset: Bytes(1 << 20), ..span.targets[0].clone() });
    });
    assert!(
        in_parts.contains(", target; backup: ") && in_parts.ends_with("all from 1 MiB on of a target"),
        "{in_parts}"
    );
}

/// The rows whose every change makes another load that the line distinguishes.
const TOLD_APART: [&str; 21] = [
    "Skew",
    "BlockSize",
    "DisableOSCache",
    "DisableLocalCache",
    "WriteThrough",
    "MemoryMappedIo",
    "ParallelAsyncIO",
    "InterlockedSequential",
    "RandomRatio",
    "Distribution",
    "ThreadStride",
    "RequestCount",
    "WriteRatio",
    "Throughput",
    "ThreadsPerFile",
    "FileSize",
    "BaseFileOffset",
    "MaxFileSize",
    "Rate",
    "Random",
    "StrideSize",
];

fn check_rows<T>(table: &'static [Setting<T>], part: fn(&mut TimeSpan) -> &mut T, is_windows: bool) -> usize {
    let mut told_apart = 0;
    let rows = table.iter().filter(|row| !matches!(row.element, "Targets" | "Linux" | "Path"));
    for setting in rows {
        let mut lines: BTreeMap<Option<String>, String> = BTreeMap::new();
        for random in 0..64_u64 {
            let mut span = span(|span| {
                // Without it there is neither a share nor a distribution.
                if matches!(setting.element, "RandomRatio" | "Distribution" | "Random" | "Skew") {
                    span.targets[0].random_percent = 100;
                }
                // `-O` does nothing without `-F`.
                span.thread_count = if setting.key == "request_count" { 4 } else { 0 };
            });
            setting.set_example(part(&mut span), random.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let line = describe_load(&span, &TargetsFound::default(), is_windows);
            assert!(!line.is_empty() && !line.contains(char::is_control), "<{}>: {line:?}", setting.element);
            lines.insert(setting.shown(part(&mut span)), line);
        }
        if TOLD_APART.contains(&setting.element) {
            told_apart += 1;
            let mut different: Vec<&String> = lines.values().collect();
            different.sort();
            different.dedup();
            assert!(different.len() > 1 && different.len() == lines.len(), "<{}>: {lines:#?}", setting.element);
        }
    }
    told_apart
}

#[test]
fn loads_that_differ_have_different_lines() {
    for is_windows in [false, true] {
        let told_apart = check_rows(TARGET, |span| &mut span.targets[0], is_windows)
            + check_rows(LINUX_IN_TARGET, |span| &mut span.targets[0], is_windows)
            + check_rows(TIME_SPAN, |span| span, is_windows)
            + check_rows(LINUX_IN_TIME_SPAN, |span| span, is_windows);
        // `RequestCount` is in two tables.
        assert!(told_apart >= TOLD_APART.len(), "{told_apart}");
    }
}

proptest! {
    #[test]
    fn any_profile_has_a_line(seed in any::<u64>(), is_windows in any::<bool>()) {
        for span in arbitrary::profile(seed).time_spans {
            let line = describe_load(&span, &TargetsFound::default(), is_windows);
            prop_assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
        }
    }
}
