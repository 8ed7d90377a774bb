//! Layouts of other versions. The documents were made for these tests from the description of the layouts; their
//! figures are arbitrary.

use crate::captured::read;
use crate::text;
use model::affinity::AffinityEntry;
use model::profile::{
    BypassIo, CacheMode, Distribution, EfficiencyOrder, GroupSpan, IoPriority, IoRing, Throughput, Traversal,
};
use model::result::{Measured, RunResult};
use model::units::{Bytes, UnixTime, mib};

pub(crate) const DOCUMENTS: [&str; 5] = [
    include_str!("../data/layout-2.0.12.txt"),
    include_str!("../data/layout-2.1.txt"),
    include_str!("../data/layout-2.3.txt"),
    include_str!("../data/layout-2.0.12.xml"),
    include_str!("../data/layout-2.0.20.xml"),
];

fn measured(result: &RunResult) -> &Measured {
    result.time_spans[0].measured.as_ref().expect("it was measured")
}

#[test]
fn text_of_2_0_12() {
    let result = read(DOCUMENTS[0]);
    let span = &result.profile.time_spans[0];
    assert_eq!((span.calculate_iops_std_dev, span.interval_ms), (true, 500));
    let target = &span.targets[0];
    assert_eq!((target.cache_mode, target.write_through), (CacheMode::Unbuffered, true));
    assert_eq!((target.write_percent, target.outstanding, target.block_size), (30, 8, Bytes::from_kib(8)));
    assert_eq!(result.started_at, UnixTime::UNKNOWN);
    assert_eq!(result.tool.version, "", "no line tells");
    let measured = measured(&result);
    assert_eq!(measured.rows[0].target_size_bytes, 20 << 30);
    assert_eq!(measured.rows[1].figures.write.bytes, 109_101_056);
    assert!((mib(measured.total.total.bytes_per_s) - 69.5).abs() < 1e-9);
    let total = measured.total_latency.as_ref().and_then(|all| all.total.as_ref()).expect("there is a table");
    assert_eq!(total.percentiles.len(), 14, "without the ninth nine");
    assert_eq!((total.count, total.figures.max_ns), (88_957, Some(9_731_000)));
    let report = text(&result);
    for line in [
        "  start time:           <unknown>",
        "      using I/O Completion Ports",
        "total:         728735744 |        88957 |      69.50 |    8895.70 |    0.888 |     402.88 |     0.405",
        "8-nines |      9.731 |      8.846 |      9.731",
        "9-nines |        N/A |        N/A |        N/A",
    ] {
        assert!(report.lines().any(|l| l == line), "{line:?} is not in:\n{report}");
    }
}

#[test]
fn text_of_2_1() {
    let result = read(DOCUMENTS[1]);
    let span = &result.profile.time_spans[0];
    assert_eq!((span.thread_count, span.request_count, span.random_seed), (2, 4, 7));
    assert!(span.affinity.disabled);
    let [a, b] = span.targets.as_slice() else { panic!("there are two targets") };
    assert_eq!(
        (a.think_time_ms, a.burst_ios, a.interlocked, a.io_priority),
        (Some(3), Some(20), true, IoPriority::Low)
    );
    assert!(a.sequential_scan_hint);
    assert_eq!((b.cache_mode, b.write_through, b.throughput), (CacheMode::NoLocalCache, true, Throughput::Iops(50)));
    assert_eq!(b.base_offset, Bytes::from_gib(1));
    let lengths = |list: &Distribution| list.ranges().iter().map(|range| range.length).collect::<Vec<_>>();
    assert_eq!(b.distribution.as_ref().map(lengths), Some(vec![1 << 30, 0]));
    assert_eq!(result.started_at, UnixTime(1_741_944_413_000_000_000));
    let measured = measured(&result);
    assert_eq!(measured.request_count, Some(4));
    assert_eq!(measured.cpus.iter().map(|usage| usage.cpu).collect::<Vec<_>>(), [0, 64]);
    assert_eq!(result.system.topology.group_count(), 2);
    assert_eq!((measured.rows[0].target_size_bytes, measured.rows[1].target_size_bytes), (3 << 29, 100));
    assert_eq!((measured.rows[0].target, measured.rows[1].target), (0, 1));
    let paths: Vec<_> = measured.target_latencies.iter().map(|of| of.path.to_str().expect("ASCII")).collect();
    assert_eq!(paths, ["a.dat", "b.dat"]);
    let total = measured.total_latency.as_ref().expect("there is a table");
    assert_eq!(total.write, None);
    assert_eq!(total.read.as_ref().and_then(|read| read.figures.min_ns), Some(100_000));
    assert!(text(&result).contains("      using FILE_FLAG_SEQUENTIAL_SCAN hint\n"));
}

#[test]
fn text_of_2_3() {
    let content = DOCUMENTS[2];
    let result = read(content);
    let span = &result.profile.time_spans[0];
    assert_eq!(span.io_ring, Some(IoRing::default()));
    assert_eq!(span.affinity.traversal, Some(Traversal::CoreAware));
    assert_eq!(span.affinity.group_span, Some(GroupSpan::Span));
    assert_eq!(span.affinity.efficiency, Some(EfficiencyOrder::FillEfficiencyFirst));
    assert_eq!(span.affinity.listed, [8, 7].map(|mask| AffinityEntry { group: 0, mask }));
    assert_eq!((span.completion_depth, span.targets[0].bypass_io), (Some(8), Some(BypassIo::Partial)));
    assert_eq!((result.tool.version.as_str(), &result.tool.implementation), ("2.3", &None));
    assert_eq!(result.system.topology.caches.len(), 9);
    assert_eq!(result.system.topology.core_count(), 3);
    // The report contains all data of the file; only `avg.` is in another place.
    let ours = text(&result).replace("avg.               |", "               avg.|");
    assert_eq!(ours, content);
}

#[test]
fn xml_of_2_0_12() {
    let result = read(DOCUMENTS[3]);
    assert_eq!(result.tool.version, "2.0.12");
    assert_eq!(result.system.computer_name, "OLD-1");
    assert_eq!(result.system.topology.cpus.len(), 2, "from the usage of each CPU");
    let span = &result.profile.time_spans[0];
    let target = &span.targets[0];
    assert_eq!(target.path.to_str(), Some("C:\\R&D\\io.dat"), "written without escaping");
    assert_eq!((target.cache_mode, target.write_through), (CacheMode::Unbuffered, true));
    assert_eq!(span.affinity.listed, [AffinityEntry { group: 0, mask: 2 }]);
    let measured = measured(&result);
    let read = measured.total_latency.as_ref().and_then(|all| all.read.as_ref()).expect("there were reads");
    assert_eq!(read.percentiles.len(), 107);
    assert_eq!((measured.intervals[1].read.ios, measured.intervals[1].read.latency), (1100, None));
    assert_eq!(measured.total.write.iops_std_dev, Some(0.0));
}

#[test]
fn xml_of_2_0_20() {
    let result = read(DOCUMENTS[4]);
    let topology = &result.system.topology;
    assert_eq!(
        (topology.cpus.len(), topology.core_count(), topology.socket_count(), topology.node_count()),
        (4, 2, 2, 2)
    );
    assert_eq!(result.started_at, UnixTime(1_525_590_489_000_000_000));
    let measured = measured(&result);
    assert!((measured.rows[0].figures.read.iops - 1050.0).abs() < 1e-9);
    let latency = measured.rows[0].intervals[0].read.latency.expect("there were reads");
    assert_eq!((latency.min_ns, latency.max_ns), (Some(200_000), Some(1_300_000)));
}
