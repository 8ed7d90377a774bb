//! A reader that was written for `DiskSpd`: it follows the description of the document, takes texts as keys, and does
//! not know our elements.

use crate::generated;
use crate::xml;
use model::figures::{Figures, LatencyDistribution};
use model::result::{Measured, RunResult};
use proptest::prelude::*;
use roxmltree::{Document, Node};

/// The first element at a path.
fn at<'a, 'i>(node: Node<'a, 'i>, path: &str) -> Node<'a, 'i> {
    try_at(node, path).unwrap_or_else(|| panic!("no {path} in {}", node.tag_name().name()))
}

fn try_at<'a, 'i>(node: Node<'a, 'i>, path: &str) -> Option<Node<'a, 'i>> {
    path.split('/').try_fold(node, |node, name| all(node, name).into_iter().next())
}

fn all<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Vec<Node<'a, 'i>> {
    node.children().filter(|child| child.has_tag_name(name)).collect()
}

fn value<'a>(node: Node<'a, '_>, path: &str) -> &'a str {
    at(node, path).text().unwrap_or_default()
}

fn whole(node: Node<'_, '_>, path: &str) -> u64 {
    value(node, path).parse().unwrap_or_else(|_| panic!("{path} is not a whole number"))
}

/// The value of a percentile, found by its text.
fn percentile<'a>(latency: Node<'a, '_>, percent: &str, column: &str) -> Option<&'a str> {
    let bucket = all(latency, "Bucket").into_iter().find(|bucket| value(*bucket, "Percentile") == percent);
    try_at(bucket.unwrap_or_else(|| panic!("no bucket {percent}")), column).and_then(|node| node.text())
}

/// Two or three decimals as C prints them.
fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

fn check(result: &RunResult, document: &Document<'_>) {
    let results = document.root_element();
    assert_eq!(results.tag_name().name(), "Results");
    assert_eq!(value(results, "System/ComputerName"), result.system.computer_name);
    assert_eq!(value(results, "System/Tool/Version"), "2.3.0");
    assert_eq!(value(results, "System/Tool/VersionDate"), "2026/06/15");
    let profile = at(results, "Profile/TimeSpans/TimeSpan");
    let target = at(profile, "Targets/Target");
    assert_eq!(value(target, "WriteBufferContent/Pattern"), "sequential");
    assert!(whole(target, "Random") > 0 && whole(target, "BlockSize") == 4096);
    assert_eq!(value(profile, "DisableAffinity"), "false");
    let spans = all(results, "TimeSpan");
    assert_eq!(spans.len(), result.time_spans.len());
    for (span, (span_result, asked)) in spans.into_iter().zip(result.time_spans.iter().zip(&result.profile.time_spans))
    {
        let Some(measured) = &span_result.measured else {
            let said = value(span, "Error");
            assert!(said.starts_with("The test ") && said.ends_with(" No results are displayed."), "{said}");
            assert!(try_at(span, "TestTimeSeconds").is_none() && try_at(span, "Thread").is_none());
            continue;
        };
        check_time_span(span, measured, result.system.topology.cpus.len());
        assert_eq!(try_at(span, "Latency").is_some(), asked.measure_latency);
        assert_eq!(try_at(span, "Iops").is_some(), asked.calculate_iops_std_dev);
        if let Some(latencies) = &measured.total_latency {
            let latency = at(span, "Latency");
            check_latency(latency, "Read", latencies.read.as_ref());
            check_latency(latency, "Write", latencies.write.as_ref());
            check_latency(latency, "Total", latencies.total.as_ref());
        }
        if let Some(iops) = try_at(span, "Iops") {
            check_iops(iops, &measured.total.read, &measured.total.write, asked.interval_ms);
        }
    }
}

fn check_time_span(span: Node<'_, '_>, measured: &Measured, cpus: usize) {
    assert_eq!(value(span, "TestTimeSeconds"), format!("{:.2}", measured.elapsed_ns as f64 / 1e9));
    assert_eq!(whole(span, "ThreadCount"), u64::from(measured.thread_count));
    assert_eq!(whole(span, "ProcCount"), cpus as u64);
    let utilization = at(span, "CpuUtilization");
    for (cpu, usage) in all(utilization, "CPU").into_iter().zip(&measured.cpus) {
        assert_eq!(whole(cpu, "Group") * 64 + whole(cpu, "Id"), u64::from(usage.cpu));
        for name in ["Socket", "Node", "Core", "EfficiencyClass"] {
            whole(cpu, name);
        }
        assert_eq!(value(cpu, "UsagePercent"), format!("{:.2}", usage.usage_percent));
        assert_eq!(value(cpu, "IdlePercent"), format!("{:.2}", usage.idle_percent));
    }
    let average = at(utilization, "Average");
    assert_eq!(value(average, "UserPercent"), format!("{:.2}", measured.cpu_average.user_percent));
    assert_eq!(value(average, "KernelPercent"), format!("{:.2}", measured.cpu_average.kernel_percent));
    let threads = all(span, "Thread");
    let targets = threads.iter().flat_map(|thread| all(*thread, "Target").into_iter().map(|target| (*thread, target)));
    let targets: Vec<_> = targets.collect();
    assert_eq!(targets.len(), measured.rows.len());
    for ((thread, target), row) in targets.into_iter().zip(&measured.rows) {
        assert_eq!(whole(thread, "Id"), u64::from(row.thread));
        assert_eq!(value(target, "Path"), row.path.to_str().expect("the names are UTF-8"));
        let figures = &row.figures;
        for (name, number) in [
            ("BytesCount", figures.total.bytes),
            ("FileSize", row.target_size_bytes),
            ("IOCount", figures.total.ios),
            ("ReadBytes", figures.read.bytes),
            ("ReadCount", figures.read.ios),
            ("WriteBytes", figures.write.bytes),
            ("WriteCount", figures.write.ios),
        ] {
            assert_eq!(whole(target, name), number, "{name}");
        }
        for (name, figures) in [
            ("AverageReadLatencyMilliseconds", &figures.read),
            ("AverageWriteLatencyMilliseconds", &figures.write),
            ("AverageLatencyMilliseconds", &figures.total),
        ] {
            let expected = figures.latency.map(|latency| ms(latency.mean_ns));
            assert_eq!(try_at(target, name).and_then(|node| node.text()), expected.as_deref(), "{name}");
        }
    }
}

fn check_latency(latency: Node<'_, '_>, kind: &str, latencies: Option<&LatencyDistribution>) {
    let column = format!("{kind}Milliseconds");
    assert_eq!(all(latency, "Bucket").len(), 108);
    let average = try_at(latency, &format!("Average{column}")).and_then(|node| node.text());
    assert_eq!(average, latencies.map(|known| ms(known.figures.mean_ns)).as_deref());
    for (percent, rank_ppb) in [
        ("0", 0),
        ("25", 250_000_000),
        ("50", 500_000_000),
        ("99", 990_000_000),
        ("99.9", 999_000_000),
        ("99.99", 999_900_000),
        ("99.9999999", 999_999_999),
        ("100", 1_000_000_000),
    ] {
        let known = latencies.map(|all| {
            let found = all.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
            ms(found.expect("every rank is there").value_ns as f64)
        });
        assert_eq!(percentile(latency, percent, &column), known.as_deref(), "{percent} {kind}");
    }
}

fn check_iops(iops: Node<'_, '_>, read: &Figures, write: &Figures, interval_ms: u32) {
    for (name, figures) in [("ReadIopsStdDev", read), ("WriteIopsStdDev", write)] {
        let expected = (figures.ios > 0).then(|| format!("{:.3}", figures.iops_std_dev.expect("-D was given")));
        assert_eq!(try_at(iops, name).and_then(|node| node.text()), expected.as_deref());
    }
    for (number, bucket) in (1u32..).zip(all(iops, "Bucket")) {
        assert_eq!(bucket.attribute("SampleMillisecond"), Some((number * interval_ms).to_string().as_str()));
        let rate = |name| bucket.attribute(name).expect(name).parse::<u64>().expect("a whole number");
        assert_eq!(rate("Total"), rate("Read") + rate("Write"));
        assert!(bucket.attribute("ReadAvgLatencyMilliseconds").is_some());
        assert!(bucket.attribute("WriteLatencyStdDev").is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn it_finds_every_element_of_ours(result in generated::result()) {
        let text = xml(&result);
        prop_assert_eq!(text.lines().next(), Some("<Results>"));
        check(&result, &Document::parse(&text).expect("it is well-formed"));
    }
}
