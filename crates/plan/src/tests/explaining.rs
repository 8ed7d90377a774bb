//! The output of `--plan`.

use crate::fixture::{facts, missing, ours, planned, profile, span, system, target};
use model::facts::{DiskFacts, Facts, Fill, TargetKind};
use model::profile::{CacheMode, Distribution, DistributionRange, Profile, Throughput, TimeSpan, WriteSource};
use model::units::Bytes;

fn explained(profile: &Profile, facts: &Facts) -> String {
    let mut text = Vec::new();
    crate::explain(&planned(profile, facts), facts, &mut text).expect("writing to memory works");
    String::from_utf8(text).expect("it is text")
}

#[test]
fn the_command_of_the_readme() {
    let asked = target("testfile.dat", |target| {
        target.create_size = Some(Bytes::from_gib(1));
        target.random_percent = 100;
        target.block_size = Bytes::from_kib(8);
        (target.threads, target.outstanding, target.write_percent) = (2, 8, 30);
        (target.cache_mode, target.write_through) = (CacheMode::Unbuffered, true);
    });
    let time_span = TimeSpan { measure_latency: true, calculate_iops_std_dev: true, ..span([asked]) };
    insta::assert_snapshot!(explained(&profile(time_span), &facts([("testfile.dat", missing())])), @r#"
        Timespan 1: warm-up 5 s, measurement 10 s, cool-down 0 s
          measured: I/Os and bytes, latency histograms (-L) and 10 intervals of 1000 ms (-D)

          Targets
            'testfile.dat', 1GiB
              before: creates 1GiB of bytes 00..FF repeating, written with direct I/O in multiples of 512 bytes
              opened: for reading and writing, bypassing the page cache (O_DIRECT), each write on stable media before it completes (O_DSYNC)

          Threads: 2
            on CPUs 0-1 in this order; 4 of 4 online CPUs may be used
            threads 0-1 on CPUs 0-1: io_uring (several requests outstanding), 8 requests each
              'testfile.dat': 8 requests, blocks of 8KiB, 30% writes of bytes 00..FF repeating
                random, multiples of 8KiB, in [0, 1GiB): 131072 positions

          Memory: needs at most 4.83MiB; 8GiB is available, of which 90% may be used
            I/O buffers: 264KiB, each aligned to 16MiB
            latency buckets: 3.44MiB, of which only a few pages are used
            intervals, time series and interval histograms: 1MiB
            threads: 138.38KiB
        "#);
}

#[test]
fn sixty_four_threads_are_told_of_in_a_few_lines() {
    let asked = target("a", |target| {
        target.threads = 64;
        target.thread_stride = Bytes::from_mib(1);
        target.throughput = Throughput::BytesPerMs(80);
        target.write_percent = 100;
        target.write_source = Some(WriteSource { size: Bytes::from_mib(4), file: Some("source.bin".into()) });
    });
    let mut facts = facts([("a", TargetKind::Regular(ours(1, 1 << 30, Fill::Random)))]);
    facts.system = system(16);
    insta::assert_snapshot!(explained(&profile(span([asked])), &facts), @r#"
        Timespan 1: warm-up 5 s, measurement 10 s, cool-down 0 s
          measured: I/Os and bytes

          Targets
            'a', 1GiB
              before: nothing: the target is used as it is
              opened: for writing, through the page cache
              write source: 4MiB of the contents of 'source.bin', data taken at multiples of 1 byte

          Threads: 64
            on CPUs 0-15 in this order; 16 of 16 online CPUs may be used
            threads 0-63 on CPUs 0-15 in turn: synchronous I/O (one request outstanding), 1 request each
              'a': 1 request, blocks of 64KiB, writes of segments of the write source buffer
                sequential, stride 64KiB, in [0, 1GiB): 16384 positions; the first thread starts at 0, each further thread 1MiB higher than the one before
                at most 1.22 I/Os per second per thread

          Memory: needs at most 8.41MiB; 8GiB is available, of which 90% may be used
            I/O buffers: 256KiB, each aligned to 16MiB
            write sources: 4MiB
            intervals, time series and interval histograms: 14.06KiB
            threads: 4.15MiB
        "#);
}

#[test]
fn a_pool_with_weights_and_a_distribution() {
    let range = |io_percent, length| DistributionRange { io_percent, length };
    let a = target("a", |target| {
        target.random_percent = 70;
        target.distribution = Some(Distribution::Percent(vec![range(90, 10), range(0, 10), range(10, 80)]));
        target.weight = 3;
    });
    let b = target("b", |target| {
        target.interlocked = true;
        (target.burst_ios, target.think_time_ms) = (Some(10), Some(5));
    });
    let time_span = TimeSpan { thread_count: 2, request_count: 4, ..span([a, b]) };
    let mut facts = facts(["a", "b"].map(|path| (path, TargetKind::Regular(ours(1, 1 << 30, Fill::Ramp)))));
    facts.targets.get_mut(std::path::Path::new("b")).expect("it is there").resolved = Some("/data/b".into());
    let mut pool = profile(time_span);
    pool.time_spans[0].affinity.disabled = true;
    insta::assert_snapshot!(explained(&pool, &facts), @r#"
        Timespan 1: warm-up 5 s, measurement 10 s, cool-down 0 s
          measured: I/Os and bytes

          Targets
            'a', 1GiB
              before: nothing: the target is used as it is
              opened: for reading, through the page cache
            'b' (a symbolic link to '/data/b'), 1GiB
              before: nothing: the target is used as it is
              opened: for reading, through the page cache

          Threads: 2
            not bound to CPUs (-n)
            threads 0-1: io_uring (several requests outstanding), 4 requests each
              the target is chosen for each I/O, by weight
              'a': weight 3, blocks of 64KiB, reads
                70% random, the rest sequential, stride 64KiB, in [0, 1GiB): 16384 positions
                  90.0% of the random I/Os in [0, 104832KiB), relative to the base offset
                  10.0% of the random I/Os in [209664KiB, 1GiB), relative to the base offset
              'b': weight 1, blocks of 64KiB, reads
                sequential, one position shared by all threads, stride 64KiB, in [0, 1GiB): 16384 positions
                bursts of 5 I/Os per thread, 5 ms apart

          Memory: needs at most 1.17MiB; 8GiB is available, of which 90% may be used
            I/O buffers: 1.02MiB, each aligned to 16MiB
            intervals, time series and interval histograms: 14.06KiB
            threads: 139.19KiB
        "#);
}

#[test]
fn where_the_disks_interrupt_is_told() {
    let interrupts = |disks: &[(&str, &[u32])]| {
        let mut facts = facts([("a", TargetKind::Regular(ours(1, 1 << 30, Fill::Ramp)))]);
        let disk = |(name, cpus): &(&str, &[u32])| {
            let (name, interrupt_cpus) = ((*name).to_owned(), cpus.to_vec());
            DiskFacts { name, interrupt_cpus, ..DiskFacts::default() }
        };
        facts.disks = [("a".into(), disks.iter().map(disk).collect())].into();
        let text = explained(&profile(span([target("a", |_| {})])), &facts);
        let behind = text.split_once("  Interrupts\n").map(|(_, behind)| behind.split_once("\n\n").expect("more").0);
        (behind.unwrap_or_default().to_owned(), text.contains("  Threads: 1\n    on CPUs 1 in this order"))
    };
    assert_eq!(interrupts(&[("vda", &[1])]), ("    vda: 1 queue, CPU 1, where the first thread runs".to_owned(), true));
    let two = "    nvme0n1: 4 queues, CPUs 0-3\n    vda: 1 queue, CPU 1";
    assert_eq!(interrupts(&[("vda", &[1]), ("nvme0n1", &[3, 1, 0, 2])]), (two.to_owned(), false));
    assert_eq!(interrupts(&[("sda", &[])]), (String::new(), false));
}
