//! The echo of the input parameters.

use crate::support::{cpu, echo, machine, mix_run, part, plain_machine, report};
use model::affinity::{AffinityEntry, compact};
use model::engine_kind::EngineKind;
use model::facts::SystemFacts;
use model::profile::{
    Affinity, BufferSeparation, BypassIo, CacheMode, Distribution, DistributionRange, EfficiencyOrder, FlushMode,
    GroupSpan, IoPriority, IoRing, IoRingBatch, Profile, Target, Throughput, TimeSpan, Traversal, WriteSource,
};
use model::units::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;

fn profile(span: TimeSpan) -> Profile {
    Profile { time_spans: vec![span], ..Profile::default() }
}

fn span_of(target: Target) -> TimeSpan {
    TimeSpan { targets: vec![target], ..TimeSpan::default() }
}

fn echo_of(target: Target) -> String {
    echo(&profile(span_of(target)), &plain_machine())
}

/// The line that begins with `beginning` after its indent.
fn line(text: &str, beginning: &str) -> String {
    let mut lines = text.lines().filter(|line| line.trim_start().starts_with(beginning));
    lines.next().unwrap_or_else(|| panic!("no line {beginning:?} in:\n{text}")).to_owned()
}

#[test]
fn the_example_of_2_3() {
    let target = Target { cache_mode: CacheMode::Unbuffered, threads: 4, outstanding: 8, ..Target::new("data.bin") };
    let span = TimeSpan {
        io_ring: Some(IoRing { batch: IoRingBatch::Count(2), registered_buffers: true }),
        affinity: Affinity { traversal: Some(Traversal::CoreAware), ..Affinity::default() },
        completion_depth: Some(8),
        ..span_of(target)
    };
    let mut out = Vec::new();
    let command_line = "diskspd -t4 -o8 -u2 -ac -Su -oc8 data.bin";
    render::profile_text(command_line, &profile(span), &plain_machine(), &mut out).expect("a vector takes everything");
    let expected = "
Command Line: diskspd -t4 -o8 -u2 -ac -Su -oc8 data.bin

Input parameters:

  timespan:   1
  -------------
    duration: 10s
    warm up time: 5s
    cool down time: 0s
    random seed: 0
    using IoRing (batch size: 2) with registered buffers
    affinity assignment: core-aware, fill groups, P-cores first
    buffer separation: thread optimized (16MiB)
    completion depth: 8
    path: 'data.bin'
      think time: 0ms
      burst size: 0
      software cache disabled
      using hardware write cache, writethrough off
      performing read test
      block size: 64KiB
      using sequential I/O (stride: 64KiB)
      number of outstanding I/O operations per thread: 8
      threads per file: 4
      IO priority: normal

";
    assert_eq!(String::from_utf8(out).expect("it is UTF-8"), expected);
}

/// All lines that a profile can have, in order.
#[test]
#[expect(clippy::too_many_lines, reason = "what it expects is a whole profile")]
fn everything_at_once() {
    let target = Target {
        block_size: Bytes(1536),
        base_offset: Bytes::from_gib(1),
        max_offset: Bytes::from_gib(3),
        thread_stride: Bytes::from_mib(1),
        parallel: true,
        write_percent: 25,
        burst_ios: Some(10),
        think_time_ms: Some(100),
        throughput: Throughput::BytesPerMs(80),
        write_through: true,
        memory_mapped: true,
        flush: Some(FlushMode::NonVolatileMemoryNoDrain),
        bypass_io: Some(BypassIo::Partial),
        sequential_scan_hint: true,
        random_access_hint: true,
        temporary_hint: true,
        zero_write_buffers: true,
        write_source: Some(WriteSource { size: Bytes::from_mib(1), file: None }),
        io_priority: IoPriority::VeryLow,
        ..Target::new("x.dat")
    };
    let span = TimeSpan {
        duration_s: 1,
        cool_down_s: 3,
        random_seed: 7,
        random_write_data: true,
        thread_count: 1,
        measure_latency: true,
        calculate_iops_std_dev: true,
        interval_ms: 250,
        io_ring: Some(IoRing::default()),
        completion_depth: Some(16),
        affinity: Affinity { listed: compact([(0, 3), (0, 1), (0, 2)]), ..Affinity::default() },
        buffer_separation: BufferSeparation::SystemDefault,
        ..span_of(target)
    };
    let everything = Profile { verbose: true, experiment_flags: 255, ..profile(span) };
    insta::assert_snapshot!(part(&echo(&everything, &plain_machine()), "Command", ""), @r"
    Command Line: diskspd x.dat

    Experiment Flags: 0xff (255)

    Input parameters:

      using verbose mode
      timespan:   1
      -------------
        duration: 1s
        warm up time: 5s
        cool down time: 3s
        measuring latency
        gathering IOPS at intervals of 250ms
        random seed: 7
        thread pool with 1 threads
        number of outstanding I/O operations per thread: 0
        using IoRing (batch size: 25%) with registered buffers
        affinity assignment: cpu order, fill groups, P-cores first
        affinity (cpu): 3 1-2
        buffer separation: system default
        completion depth: 16
        generating random data for each write IO
          WARNING: this increases the CPU cost of issuing writes and should only
                   be compared to other results using the -Zr flag
        path: 'x.dat'
          think time: 100ms
          burst size: 10
          using software cache
          bypassing the CPU caches, writethrough on
          memory mapped I/O enabled, flush mode: FlushNonVolatileMemory with no drain
          using BypassIO (allow partial)
          zeroing write buffers
          write buffer size: 1MiB
          write buffer source: random fill
          using parallel async I/O
          performing mix test (read/write ratio: 75/25)
          block size: 1.5KiB
          using sequential I/O (stride: 1.5KiB)
          number of outstanding I/O operations per thread: 2
          base file offset: 1GiB
          max file size: 3GiB
          thread stride size: 1MiB
          using POSIX_FADV_SEQUENTIAL hint
          using POSIX_FADV_RANDOM hint
          temporary file hint has no effect
          IO priority: very low
          throughput rate-limited to 80 B/ms
    ");
}

#[test]
fn what_does_the_io_here() {
    let with = |change: fn(&mut TimeSpan)| {
        let mut span = span_of(Target::new("x"));
        change(&mut span);
        let text = echo(&profile(span), &plain_machine());
        part(&text, "      threads per file", "\n").lines().nth(1).map(str::to_owned)
    };
    let priority = Some("      IO priority: normal".to_owned());
    assert_eq!(with(|_| {}), Some("      using io_uring".to_owned()));
    assert_eq!(with(|span| span.completion_routines = true), Some("      using Linux AIO".to_owned()));
    assert_eq!(with(|span| span.targets[0].outstanding = 1), priority, "nothing for one request");
    assert_eq!(with(|span| span.targets[0].memory_mapped = true), priority, "copies, one at a time");
    assert_eq!(with(|span| span.io_ring = Some(IoRing::default())), priority, "said above");
}

#[test]
fn a_report_names_the_engine_that_was_chosen() {
    let with = |engine| {
        let mut result = mix_run();
        result.time_spans[0].engines = vec![engine];
        let text = report(&result);
        part(&text, "      threads per file", "System").to_owned()
    };
    assert!(with(EngineKind::IoUring).contains("\n      using io_uring\n"));
    assert!(!with(EngineKind::Synchronous).contains("using"));
    assert!(with(EngineKind::Null).contains("\n      using no device (null engine)\n"));
}

#[test]
fn a_report_names_the_separation_that_was_reached() {
    let mut result = mix_run();
    result.time_spans[0].buffer_separation_bytes = 2 << 20;
    assert!(report(&result).contains("    buffer separation: thread optimized (2MiB)\n"));
    result.time_spans[0].buffer_separation_bytes = 0;
    assert!(report(&result).contains("    buffer separation: system default\n"));
}

#[test]
fn a_run_that_was_never_planned_shows_what_would_have_been() {
    let mut result = mix_run();
    result.time_spans[0].engines.clear();
    result.time_spans[0].buffer_separation_bytes = 0;
    assert_eq!(report(&result), report(&mix_run()));
}

#[test]
fn caches() {
    use CacheMode::{Cached, NoLocalCache, Unbuffered};
    let lines = |cache_mode, write_through| {
        let text = echo_of(Target { cache_mode, write_through, ..Target::new("x") });
        part(&text, "      burst size", "      performing")
            .lines()
            .skip(1)
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("; ")
    };
    for (mode, write_through, expected) in [
        (Cached, false, "using software cache; using hardware write cache, writethrough off"),
        (Cached, true, "using software cache; asking for durable writes (O_DSYNC), writethrough on"),
        (Unbuffered, false, "software cache disabled; using hardware write cache, writethrough off"),
        (Unbuffered, true, "software cache disabled; asking for durable writes (O_DSYNC), writethrough on"),
        (
            NoLocalCache,
            false,
            "local software cache disabled, remote cache enabled; using hardware write cache, writethrough off",
        ),
        (
            NoLocalCache,
            true,
            "local software cache disabled, remote cache enabled; \
             asking for durable writes (O_DSYNC), writethrough on",
        ),
    ] {
        assert_eq!(lines(mode, write_through), expected);
    }
}

#[test]
fn patterns_and_alignments() {
    let shown = |random_percent, interlocked, alignment: Option<u64>| {
        let alignment = alignment.map(Bytes);
        let text = echo_of(Target { random_percent, interlocked, alignment, ..Target::new("x") });
        let mut patterns = text.lines().map(str::trim).filter(|line| line.contains(" I/O ("));
        patterns.next().expect("there is a pattern").to_owned()
    };
    assert_eq!(shown(0, false, None), "using sequential I/O (stride: 64KiB)");
    assert_eq!(shown(0, false, Some(0)), "using sequential I/O (stride: 64KiB)");
    assert_eq!(shown(0, true, Some(512)), "using interlocked sequential I/O (stride: 512B)");
    assert_eq!(shown(100, false, Some(4096)), "using random I/O (alignment: 4KiB)");
    assert_eq!(shown(70, false, None), "using mixed random/sequential I/O (70% random) (alignment/stride: 64KiB)");
}

#[test]
fn content_limits_and_priorities() {
    let file = PathBuf::from("pattern.bin");
    let source = Some(WriteSource { size: Bytes::from_kib(128), file: Some(file) });
    let text = echo_of(Target {
        write_percent: 100,
        write_source: source,
        throughput: Throughput::Iops(50),
        io_priority: IoPriority::Low,
        bypass_io: Some(BypassIo::Full),
        ..Target::new("x")
    });
    for expected in [
        "      using BypassIO (full bypass)\n      write buffer size: 128KiB\n      write buffer source: 'pattern.bin'\n",
        "      performing write test\n",
        "      IO priority: low\n      throughput rate-limited to 50 IOPS\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    let weighted = TimeSpan { thread_count: 2, request_count: 4, ..span_of(Target { weight: 3, ..Target::new("x") }) };
    assert!(echo(&profile(weighted), &plain_machine()).contains("      relative IO weight in thread pool: 3\n"));
}

#[test]
fn ring_batches() {
    for (batch, registered_buffers, expected) in [
        (IoRingBatch::Percent(25), true, "    using IoRing (batch size: 25%) with registered buffers"),
        (IoRingBatch::Count(8), false, "    using IoRing (batch size: 8) without registered buffers"),
    ] {
        let io_ring = Some(IoRing { batch, registered_buffers });
        let text = echo(&profile(TimeSpan { io_ring, ..span_of(Target::new("x")) }), &plain_machine());
        assert_eq!(line(&text, "using IoRing"), expected);
    }
}

fn affinity_line(affinity: Affinity, beginning: &str, system: &SystemFacts) -> String {
    line(&echo(&profile(TimeSpan { affinity, ..span_of(Target::new("x")) }), system), beginning)
}

#[test]
fn every_form_of_affinity() {
    use EfficiencyOrder::{EfficiencyFirst, FillEfficiencyFirst, FillPerformanceFirst, PerformanceFirst, Unordered};
    use GroupSpan::{Fill, Span};
    use Traversal::{CoreAware, Cpu};
    let shown = |affinity| affinity_line(affinity, "affinity", &plain_machine());
    let ordered = |traversal, group_span, efficiency| {
        shown(Affinity {
            traversal: Some(traversal),
            group_span: Some(group_span),
            efficiency: Some(efficiency),
            ..Affinity::default()
        })
    };
    assert_eq!(shown(Affinity::default()), "    affinity assignment: cpu order, fill groups, P-cores first");
    assert_eq!(shown(Affinity { disabled: true, ..Affinity::default() }), "    affinity disabled");
    for (given, expected) in [
        (ordered(CoreAware, Span, PerformanceFirst), "core-aware, span groups, P-cores first"),
        (ordered(Cpu, Fill, Unordered), "cpu order, fill groups, no P/E order"),
        (ordered(Cpu, Span, EfficiencyFirst), "cpu order, span groups, E-cores first"),
        (ordered(CoreAware, Fill, FillPerformanceFirst), "core-aware, fill groups, fill P-cores first"),
        (ordered(CoreAware, Fill, FillEfficiencyFirst), "core-aware, fill groups, fill E-cores first"),
    ] {
        assert_eq!(given, format!("    affinity assignment: {expected}"));
    }
}

#[test]
fn listed_cpus() {
    let listed = |listed: Vec<AffinityEntry>, system: &SystemFacts| {
        affinity_line(Affinity { listed, ..Affinity::default() }, "affinity (", system)
    };
    let one = plain_machine();
    let two = machine([0, 1, 64, 65].map(|id| cpu(id, id)).to_vec());
    let whole = AffinityEntry::whole_group;
    assert_eq!(listed(compact([(0, 3), (0, 1), (0, 2)]), &one), "    affinity (cpu): 3 1-2");
    assert_eq!(listed(vec![whole(0)], &one), "    affinity (cpu): *");
    let mut entries = compact([(0, 0), (0, 1), (0, 2), (0, 3)]);
    entries.push(whole(1));
    assert_eq!(listed(entries.clone(), &two), "    affinity (group/cpu): 0/0-3 1/*");
    assert_eq!(listed(entries, &one), "    affinity (group/cpu): 0/0-3 1/*", "a group this machine lacks is shown");
    assert_eq!(listed(compact([(0, 0), (0, 0)]), &one), "    affinity (cpu): 0 0");
}

fn distribution_lines(distribution: Distribution) -> String {
    let text = echo_of(Target { random_percent: 100, distribution: Some(distribution), ..Target::new("x") });
    assert!(text.contains("      IO priority: normal\n      IO Distribution:\n"), "it is the last block of a target");
    let block = part(&text, "      IO Distribution:", "\n");
    block.split_once('\n').expect("the title has a line of its own").1.to_owned() + "\n"
}

fn list(entries: &[(u32, u64)]) -> Vec<DistributionRange> {
    entries.iter().map(|&(io_percent, length)| DistributionRange { io_percent, length }).collect()
}

#[test]
fn specified_distributions() {
    let percent = distribution_lines(Distribution::Percent(list(&[(10, 10), (10, 10), (0, 10), (80, 70)])));
    assert_eq!(
        percent,
        concat!(
            "          10% of IO => [ 0% -  10%) of target\n",
            "          10% of IO => [10% -  20%) of target\n",
            "           0% of IO => [20% -  30%) of target\n",
            "          80% of IO => [30% - 100%) of target\n",
        )
    );
    let absolute = distribution_lines(Distribution::Absolute(list(&[(90, 10 << 30), (10, 0)])));
    assert_eq!(
        absolute,
        "          90% of IO => [     0    -     10GiB)\n          10% of IO => [    10GiB -       end)\n"
    );
    let small = distribution_lines(Distribution::Absolute(list(&[(100, 50_000), (0, 0)])));
    assert_eq!(
        small,
        "         100% of IO => [     0    -  48.83KiB)\n           0% of IO => [ 48.83KiB -       end)\n"
    );
}

#[test]
fn templates_and_odd_names() {
    use std::os::unix::ffi::OsStringExt;
    assert_eq!(line(&echo_of(Target::new("*1")), "path"), "    path: template target '1'");
    assert_eq!(line(&echo_of(Target::new("test%d.dat")), "path"), "    path: 'test%d.dat'");
    assert_eq!(line(&echo_of(Target::new("a\nb")), "path"), "    path: 'a\\x0ab'");
    let latin_1 = OsString::from_vec(b"caf\xe9".to_vec());
    let mut out = Vec::new();
    render::profile_text("diskspd", &profile(span_of(Target::new(latin_1))), &plain_machine(), &mut out)
        .expect("a vector takes everything");
    assert!(out.windows(13).any(|bytes| bytes == b"path: 'caf\xe9'\n"), "the very bytes of the name");
}
