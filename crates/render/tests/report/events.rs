//! Kernel events in a report.

use crate::support::{mix_run, part, report};
use model::kernel_events::{
    EventClass, EventCount, EventKind, IoLevel, IoStack, KernelEvent, KernelEvents, LevelFigures,
};

const ELAPSED_NS: u64 = 10_000_000_000;

fn level(device: Option<&str>, depth: u32, reads: u64, mean_latency_ns: Option<f64>) -> IoLevel {
    IoLevel {
        device: device.map(str::to_owned),
        depth,
        read: stats::level_figures(reads, reads * 8192, mean_latency_ns, ELAPSED_NS),
        write: LevelFigures::default(),
    }
}

#[test]
fn counters_come_in_classes_and_levels_below_each_other() {
    let mut result = mix_run();
    let count = |event, count| EventCount { event, count };
    let class = |class, source: &str, counters| EventClass { class, source: source.to_owned(), counters };
    result.time_spans[0].kernel_events = Some(KernelEvents {
        classes: vec![
            class(EventKind::DiskIo, "a", vec![count(KernelEvent::Read, 62_237), count(KernelEvent::Write, 0)]),
            class(EventKind::Thread, "b", vec![count(KernelEvent::Start, 4), count(KernelEvent::End, 3)]),
        ],
        stacks: vec![IoStack {
            targets: vec!["data.bin".into(), "more.bin".into()],
            levels: vec![
                level(None, 0, 62_237, Some(866_000.0)),
                level(Some("md0"), 1, 62_230, Some(801_400.0)),
                level(Some("nvme0n1"), 2, 62_230, Some(790_000.0)),
                level(Some("nvme1n1"), 2, 0, None),
            ],
        }],
    });
    let text = report(&result).replace('\t', "    ");
    insta::assert_snapshot!(part(&text, "ETW:", ""), @r"
    ETW:
    ----

        Disk I/O
            Read: 62237
            Write: 0
            source: a
        Thread
            Start: 4
            End: 3
            source: b

    I/O at each level below 'data.bin', 'more.bin'
     level      kind    I/Os   IOPS  MiB/s  mean latency
     diskspd    read  62,237  6,224   48.6        866 µs
      md0       read  62,230  6,223   48.6        801 µs
       nvme0n1  read  62,230  6,223   48.6        790 µs
       nvme1n1  read       0      0      0             -
    Devices: requests of all programs, timed from creation to completion
    (/sys/block/*/stat).
    ");
}

#[test]
fn nothing_asked_for_shows_nothing() {
    let mut result = mix_run();
    let without = report(&result);
    result.time_spans[0].kernel_events = Some(KernelEvents::default());
    assert_eq!(report(&result), without);
}
