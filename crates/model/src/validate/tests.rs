use super::*;
use crate::affinity::AffinityEntry;
use crate::profile::*;
use crate::units::Bytes;

fn profile(change: impl FnOnce(&mut TimeSpan, &mut Target)) -> Profile {
    let mut span = TimeSpan::default();
    let mut target = Target::new("f");
    change(&mut span, &mut target);
    span.targets.push(target);
    Profile { time_spans: vec![span], ..Profile::default() }
}

fn findings(change: impl FnOnce(&mut TimeSpan, &mut Target)) -> Findings {
    validate(&profile(change), Purpose::Run)
}

/// The one error or warning that the change causes, which must name every word of `words`.
fn assert_one(found: &[String], words: &[&str]) {
    assert_eq!(found.len(), 1, "{found:?} should be one message with {words:?}");
    for word in words {
        assert!(found[0].contains(word), "{:?} should name {word}", found[0]);
    }
}

#[test]
fn the_default_profile_has_no_findings() {
    assert_eq!(findings(|_, _| {}), Findings::default());
}

#[test]
fn a_profile_needs_a_timespan_and_a_target() {
    assert_one(&validate(&Profile::default(), Purpose::Show).errors, &["timespan"]);
    let without = Profile { time_spans: vec![TimeSpan::default()], ..Profile::default() };
    assert_one(&validate(&without, Purpose::Show).errors, &["target"]);
}

#[test]
fn the_largest_transfer_of_linux_is_a_limit_of_runs() {
    let with_block_size = |bytes| profile(|_, target| target.block_size = Bytes(bytes));
    assert_eq!(validate(&with_block_size(0x7FFF_F000), Purpose::Run), Findings::default());
    assert_one(&validate(&with_block_size(0xFFFF_FFFF), Purpose::Run).errors, &["-b", "1 to 4294967294"]);
    assert_eq!(validate(&with_block_size(0xFFFF_FFFE), Purpose::Show), Findings::default());
}

#[test]
fn no_affinity_excludes_lists_and_orders() {
    type Change = fn(&mut Affinity);
    let changes: [Change; 4] = [
        |a| a.listed.push(AffinityEntry { group: 0, mask: 1 }),
        |a| a.traversal = Some(Traversal::CoreAware),
        |a| a.group_span = Some(GroupSpan::Span),
        |a| a.efficiency = Some(EfficiencyOrder::Unordered),
    ];
    for change in changes {
        let found = findings(|span, _| {
            span.affinity.disabled = true;
            change(&mut span.affinity);
        });
        assert_one(&found.errors, &["-n", "-a"]);
    }
}

#[test]
fn each_conflict_is_found_alone() {
    type Change = fn(&mut TimeSpan, &mut Target);
    let cases: &[(Change, &[&str])] = &[
        (|s, t| (s.thread_count, t.threads, t.thread_stride) = (4, 2, Bytes(65536)), &["-F", "-t"]),
        (|s, t| (s.completion_routines, t.throughput) = (true, Throughput::Iops(10)), &["-g", "-x"]),
        (|_, t| t.burst_ios = Some(10), &["-i", "-j"]),
        (|_, t| t.think_time_ms = Some(10), &["-i", "-j"]),
        (|s, t| (s.thread_count, s.request_count, t.throughput) = (1, 8, Throughput::BytesPerMs(1)), &["-g", "-O"]),
        (
            |s, t| (s.thread_count, s.request_count, t.think_time_ms, t.burst_ios) = (1, 8, Some(1), Some(1)),
            &["-j", "-O"],
        ),
        (|s, t| (s.thread_count, s.request_count, t.parallel) = (1, 8, true), &["-p", "-O"]),
        (|s, t| (s.thread_count, s.request_count, t.weight) = (1, 8, 0), &["Weight"]),
        (
            |s, t| {
                (s.thread_count, s.request_count) = (1, 8);
                t.thread_targets.push(ThreadTarget { thread: 1, weight: 0 });
            },
            &["thread 1", "last is 0"],
        ),
        (|_, t| t.thread_targets.push(ThreadTarget { thread: 0, weight: 0 }), &["ThreadTargets", "-F", "-O"]),
        (|_, t| (t.random_percent, t.thread_stride) = (100, Bytes(1)), &["-T", "-r"]),
        (|_, t| (t.random_percent, t.interlocked) = (50, true), &["-si", "-r"]),
        (|_, t| (t.random_percent, t.parallel) = (50, true), &["-p", "-r"]),
        (|_, t| (t.interlocked, t.threads, t.thread_stride) = (true, 2, Bytes(1)), &["-si", "-T"]),
        (|_, t| (t.interlocked, t.threads, t.parallel) = (true, 2, true), &["-si", "-p"]),
        (|_, t| t.thread_stride = Bytes(1), &["-T"]),
        (|_, t| t.write_source = Some(WriteSource { size: Bytes(4096), file: None }), &["-Z", "4096", "65536"]),
        (|s, t| (s.completion_routines, t.memory_mapped) = (true, true), &["-x", "-Sm"]),
        (|_, t| (t.cache_mode, t.memory_mapped) = (CacheMode::Unbuffered, true), &["-Su", "-Sm"]),
        (|_, t| t.flush = Some(FlushMode::ViewOfFile), &["-N", "-Sm"]),
        (|_, t| (t.base_offset, t.max_offset) = (Bytes(5), Bytes(5)), &["-f", "-B"]),
        (|_, t| t.block_size = Bytes(0), &["-b"]),
        (|_, t| t.block_size = Bytes(1 << 31), &["2147483648", "-b", "2 GiB - 4 KiB"]),
        (|_, t| t.sizes = SizeMix::parse("4K/50:3G/50").ok(), &["3221225472", "--sizes", "2 GiB - 4 KiB"]),
        (|_, t| t.threads = 0, &["-t"]),
        (|_, t| t.outstanding = 0, &["-o"]),
        (|_, t| t.outstanding = 65_537, &["-o", "65537", "65536"]),
        (|_, t| (t.random_percent, t.outstanding) = (100, 65_537), &["-o"]),
        (|s, _| (s.thread_count, s.request_count) = (1, 65_537), &["-O"]),
        (|s, _| s.duration_s = 0, &["-d"]),
        (|s, _| (s.calculate_iops_std_dev, s.interval_ms) = (true, 0), &["-D"]),
        (|s, _| (s.io_ring, s.completion_routines) = (Some(IoRing::default()), true), &["-u", "-x"]),
        (|s, t| (s.io_ring, t.memory_mapped) = (Some(IoRing::default()), true), &["-u", "-Sm"]),
        (|s, _| (s.completion_depth, s.completion_routines) = (Some(4), true), &["-oc", "-x"]),
        (|s, t| (s.completion_depth, t.memory_mapped) = (Some(4), true), &["-oc", "-Sm"]),
        (|s, _| s.completion_depth = Some(17), &["-oc", "16"]),
        (|_, t| t.bypass_io = Some(BypassIo::Partial), &["-Sy", "-Su"]),
        (
            |_, t| (t.bypass_io, t.cache_mode, t.write_percent) = (Some(BypassIo::Full), CacheMode::Unbuffered, 1),
            &["-SY", "-w"],
        ),
    ];
    for (change, words) in cases {
        assert_one(&findings(*change).errors, words);
    }
}

#[test]
fn sequential_patterns_that_surprise_are_warned_of() {
    assert_one(&findings(|_, t| (t.parallel, t.outstanding) = (true, 1)).warnings, &["-p", "-o"]);
    assert_one(&findings(|_, t| t.interlocked = true).warnings, &["-si"]);
    assert_one(&findings(|_, t| t.threads = 4).warnings, &["-si"]);
    assert_one(&findings(|s, _| s.thread_count = 2).warnings, &["-si"]);
    let silent: [fn(&mut TimeSpan, &mut Target); 4] = [
        |_, t| (t.threads, t.interlocked) = (4, true),
        |_, t| (t.threads, t.thread_stride) = (4, Bytes(1)),
        |_, t| (t.threads, t.random_percent) = (4, 1),
        |s, _| s.thread_count = 1,
    ];
    for change in silent {
        assert_eq!(findings(change), Findings::default());
    }
}

#[test]
fn ioring_and_a_completion_depth_go_together() {
    let found = findings(|s, _| (s.io_ring, s.completion_depth) = (Some(IoRing::default()), Some(1)));
    assert_eq!(found, Findings::default());
}

#[test]
fn distributions_need_random_io() {
    let full = || Distribution::Percent(vec![DistributionRange { io_percent: 100, length: 100 }]);
    assert_one(&findings(|_, t| t.distribution = Some(full())).errors, &["-rd", "-r"]);
    assert_eq!(findings(|_, t| (t.distribution, t.random_percent) = (Some(full()), 1)), Findings::default());
}

#[test]
fn a_skew_needs_random_io_without_another_distribution() {
    let skew = || Skew::parse("zipf:1.1").ok();
    assert_one(&findings(|_, t| t.skew = skew()).errors, &["--skew", "-r or -rs"]);
    assert_eq!(findings(|_, t| (t.skew, t.random_percent) = (skew(), 50)), Findings::default());
    let full = Distribution::Percent(vec![DistributionRange { io_percent: 100, length: 100 }]);
    let both = findings(|_, t| (t.skew, t.random_percent, t.distribution) = (skew(), 100, Some(full)));
    assert_one(&both.errors, &["--skew", "-rd"]);
    let sizes = findings(|_, t| {
        (t.skew, t.random_percent) = (skew(), 100);
        t.sizes = SizeMix::parse("4K/50:8K/50").ok();
    });
    assert_one(&sizes.errors, &["--skew", "--sizes"]);
    let too_much = Skew { parameter: crate::units::Millionths(5_000_000), ..skew().unwrap() };
    assert_one(&findings(|_, t| (t.skew, t.random_percent) = (Some(too_much), 100)).errors, &["--skew=zipf:5"]);
}

#[test]
fn data_that_reduces_is_written_in_whole_blocks_and_nothing_else_is() {
    use crate::units::Millionths;
    let with = |change: fn(&mut TimeSpan, &mut Target)| {
        findings(|span, target| {
            (target.write_percent, target.compress_ratio) = (30, Some(Millionths(2_000_000)));
            change(span, target);
        })
    };
    assert_eq!(with(|_, _| {}), Findings::default());
    assert_eq!(with(|_, t| (t.write_percent, t.create_size) = (0, Some(Bytes(1 << 20)))), Findings::default());
    assert_eq!(with(|_, t| t.block_size = Bytes(512)), Findings::default());
    assert_eq!(with(|_, t| t.dedupe_percent = Some(100)), Findings::default());
    assert_one(&with(|_, t| t.zero_write_buffers = true).errors, &["--compress", "-Z:"]);
    assert_one(&with(|span, _| span.random_write_data = true).errors, &["--compress", "-Zr:"]);
    let source = |t: &mut Target| t.write_source = Some(WriteSource { size: Bytes(1 << 20), file: None });
    assert_one(
        &findings(|_, t| {
            t.write_percent = 1;
            t.dedupe_percent = Some(1);
            source(t);
        })
        .errors,
        &["--dedupe", "-Z<size>"],
    );
    assert_one(&with(|_, t| t.write_percent = 0).errors, &["--compress", "-w<percent>", "-c<size>"]);
    assert_one(&with(|_, t| t.compress_ratio = Some(Millionths(999_999))).errors, &["1 to 15", "0.999999"]);
    assert_one(&with(|_, t| t.compress_ratio = Some(Millionths(15_000_001))).errors, &["1 to 15", "15.000001"]);
    assert_one(&with(|_, t| t.block_size = Bytes(100)).errors, &["--compress=2", "multiples of 512 bytes, not 100"]);
    let small = |_: &mut TimeSpan, t: &mut Target| {
        (t.compress_ratio, t.block_size) = (Some(Millionths(4_000_000)), Bytes(2048));
    };
    assert_one(&with(small).errors, &["--compress=4", "multiples of 4096 bytes, not 2048"]);
    let verified = |span: &mut TimeSpan, t: &mut Target| {
        (span.verify, t.compress_ratio) = (true, Some(Millionths(5_000_000)));
    };
    assert_one(&with(verified).errors, &["--compress=5", "--verify", "1 to 4"]);
    assert_one(&with(|_, t| t.dedupe_percent = Some(101)).errors, &["--dedupe", "101"]);
    let odd: [fn(&mut TimeSpan, &mut Target); 3] = [
        |_, t| (t.dedupe_percent, t.block_size) = (Some(30), Bytes(512)),
        |_, t| (t.dedupe_percent, t.base_offset) = (Some(30), Bytes(512)),
        |_, t| (t.dedupe_percent, t.random_percent, t.alignment) = (Some(30), 100, Some(Bytes(512))),
    ];
    for change in odd {
        assert_one(&with(change).errors, &["--dedupe", "512 bytes", "multiples of 4K"]);
    }
}

fn ranges(list: &[(u32, u64)]) -> Vec<DistributionRange> {
    list.iter().map(|&(io_percent, length)| DistributionRange { io_percent, length }).collect()
}

fn distribution_errors(distribution: Distribution) -> Vec<String> {
    findings(|_, t| (t.distribution, t.random_percent, t.block_size) = (Some(distribution), 100, Bytes(4096))).errors
}

#[test]
fn percent_distributions_cover_the_target_exactly() {
    for good in [&[(90, 10), (10, 90)][..], &[(10, 10), (0, 10), (90, 80)], &[(100, 100)], &[(100, 50), (0, 50)]] {
        assert_eq!(distribution_errors(Distribution::Percent(ranges(good))), Vec::<String>::new(), "{good:?}");
    }
    for (bad, word) in [
        (&[(10, 50), (10, 50)][..], "80%"),
        (&[(10, 50), (10, 60)], "60%"),
        (&[(60, 10), (60, 10)], "60%"),
        (&[(100, 50)], "50%"),
        (&[(50, 100)], "50%"),
        (&[(1, u64::MAX), (1, u64::MAX)], "the ranges exceed 100% of the target"),
        (&[(u32::MAX, 10), (u32::MAX, 10)], "the ranges exceed 100% of the I/Os"),
    ] {
        assert_one(&distribution_errors(Distribution::Percent(ranges(bad))), &["-rd", word]);
    }
}

#[test]
fn absolute_distributions_hold_whole_blocks_and_end_open() {
    for good in [&[(90, 4096), (10, 0)][..], &[(10, 1 << 30), (0, 100 << 30), (90, 0)], &[(100, 4096)]] {
        assert_eq!(distribution_errors(Distribution::Absolute(ranges(good))), Vec::<String>::new(), "{good:?}");
    }
    for (bad, word) in
        [(&[(10, 4095), (90, 0)][..], "4095"), (&[(10, 0), (90, 0)], "last"), (&[(60, 4096), (60, 4096)], "60%")]
    {
        assert_one(&distribution_errors(Distribution::Absolute(ranges(bad))), &["-rd", word]);
    }
}

#[test]
fn templates_and_empty_paths_can_be_shown_but_not_run() {
    for (path, word) in [("*1", "'*1'"), ("", "empty")] {
        let with_path = profile(|_, t| t.path = path.into());
        assert_one(&validate(&with_path, Purpose::Run).errors, &[word]);
        assert_eq!(validate(&with_path, Purpose::Show), Findings::default());
    }
}

#[test]
fn targets_that_differ_only_in_their_path_are_reported_once_and_not_named() {
    let mut twins = profile(|_, t| t.burst_ios = Some(1));
    let mut second = twins.time_spans[0].targets[0].clone();
    second.path = "g".into();
    twins.time_spans[0].targets.push(second);
    let errors = validate(&twins, Purpose::Run).errors;
    assert_one(&errors, &["-i"]);
    assert!(!errors[0].contains("target '"), "{errors:?}");
}

#[test]
fn messages_name_timespan_and_target_where_there_are_several() {
    let mut two = profile(|_, t| t.burst_ios = Some(1));
    two.time_spans[0].targets.insert(0, Target::new("good"));
    two.time_spans.insert(0, profile(|_, _| {}).time_spans.remove(0));
    assert_one(&validate(&two, Purpose::Run).errors, &["timespan 2: target 'f': "]);
}

#[test]
fn one_path_has_one_bypass_mode() {
    let with = |first: Option<BypassIo>, second: Option<BypassIo>| {
        let mut two = profile(|_, t| (t.bypass_io, t.cache_mode) = (first, CacheMode::Unbuffered));
        let mut other = two.time_spans[0].targets[0].clone();
        other.bypass_io = second;
        two.time_spans[0].targets.push(other);
        validate(&two, Purpose::Run).errors
    };
    assert_one(&with(Some(BypassIo::Partial), Some(BypassIo::Full)), &["'f'", "BypassIO"]);
    assert_one(&with(Some(BypassIo::Partial), None), &["'f'", "BypassIO"]);
    assert_eq!(with(Some(BypassIo::Full), Some(BypassIo::Full)), Vec::<String>::new());
}

#[test]
fn a_rate_excludes_what_else_says_when_ios_start() {
    let with_rate = |change: fn(&mut TimeSpan, &mut Target)| {
        findings(|span, target| {
            span.rate_iops = Some(OfferedRate::Steady(1000));
            change(span, target);
        })
        .errors
    };
    assert!(with_rate(|_, _| {}).is_empty());
    assert!(with_rate(|span, _| span.rate_process = Some(RateProcess::Poisson)).is_empty());
    assert_one(&with_rate(|_, target| target.throughput = Throughput::Iops(5)), &["--rate", "-g"]);
    assert_one(
        &with_rate(|_, target| (target.burst_ios, target.think_time_ms) = (Some(1), Some(1))),
        &["--rate", "-i", "-j"],
    );
    assert_one(&with_rate(|span, _| (span.thread_count, span.request_count) = (2, 8)), &["--rate", "-O"]);
    assert_one(&with_rate(|span, _| span.rate_iops = Some(OfferedRate::Steady(0))), &["--rate", "at least 1"]);
    let ramp = |from_iops, to_iops| Some(OfferedRate::Ramp { from_iops, to_iops });
    assert_one(&findings(|span, _| span.rate_iops = ramp(5, 0)).errors, &["--rate", "at least 1"]);
    assert_eq!(findings(|span, _| span.rate_iops = ramp(5, 1)), Findings::default());
    let bursts = || RateProcess::parse("bursts:100ms,900ms,5").ok();
    assert_eq!(
        with_rate(|span, _| span.rate_process = RateProcess::parse("bursts:1s,1s,2").ok()),
        Vec::<String>::new()
    );
    let both = findings(|span, _| (span.rate_iops, span.rate_process) = (ramp(1, 9), bursts()));
    assert_one(&both.errors, &["--rate=1..9", "--rate-process=bursts"]);
    let too_much = RateBursts { on_ns: 1_000_000, off_ns: 1_000_000, factor: crate::units::Millionths(3_000_000) };
    let found = findings(|span, _| {
        (span.rate_iops, span.rate_process) = (Some(OfferedRate::Steady(9)), Some(RateProcess::Bursts(too_much)));
    });
    assert_one(&found.errors, &["factor 3", "at most 2"]);
    let alone = findings(|span, _| span.rate_process = Some(RateProcess::Constant)).errors;
    assert_one(&alone, &["--rate-process", "--rate="]);
}

#[test]
fn streams_have_their_own_threads_one_load_and_one_size_of_each_file() {
    let named = |name: &str, path: &str| Target { stream: StreamName::parse(name).ok(), ..Target::new(path) };
    let errors = |change: fn(&mut TimeSpan)| {
        let targets = vec![named("a", "f"), named("a", "g"), named("b", "f")];
        let mut span = TimeSpan { targets, ..TimeSpan::default() };
        change(&mut span);
        validate(&Profile { time_spans: vec![span], ..Profile::default() }, Purpose::Run).errors
    };
    assert_eq!(errors(|_| {}), [""; 0]);
    assert_one(&errors(|span| span.thread_count = 2), &["-F", "-t"]);
    assert_one(&errors(|span| span.request_count = 2), &["-O", "-o"]);
    assert_one(&errors(|span| span.targets[1].outstanding = 9), &["stream 'a'", "differ"]);
    assert_one(&errors(|span| span.targets[1].path = "f".into()), &["stream 'a'", "target 'f' is given twice"]);
    assert_one(&errors(|span| span.targets[2].outstanding = 0), &["stream 'b', target 'f': ", "-o"]);
    let sizes = |span: &mut TimeSpan| {
        for (target, kib) in span.targets.iter_mut().zip([4, 4, 8]) {
            target.create_size = Some(Bytes::from_kib(kib));
        }
    };
    assert_one(&errors(sizes), &["stream 'b', target 'f': ", "4KiB", "8KiB"]);
}
