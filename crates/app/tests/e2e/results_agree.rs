//! Text, XML, JSON and CSV of one run show the same numbers. JSON has the exact ones; the others
//! may round them.

use roxmltree::{Document, Node};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{Report, Row, workplace};

const PROFILE: &str = "\
<Profile><TimeSpans>
<TimeSpan>
  <Duration>1</Duration><Warmup>0</Warmup><RandSeed>7</RandSeed>
  <ThreadCount>2</ThreadCount><RequestCount>8</RequestCount>
  <MeasureLatency>true</MeasureLatency>
  <CalculateIopsStdDev>true</CalculateIopsStdDev><IoBucketDuration>250</IoBucketDuration>
  <Targets>
    <Target><Path>a.dat</Path><FileSize>1048576</FileSize><BlockSize>4096</BlockSize><Random>4096</Random>
      <WriteRatio>30</WriteRatio><Weight>3</Weight>
      <ThreadTargets><ThreadTarget><Thread>0</Thread><Weight>5</Weight></ThreadTarget>
        <ThreadTarget><Thread>1</Thread></ThreadTarget></ThreadTargets></Target>
    <Target><Path>b.dat</Path><FileSize>2097152</FileSize><BlockSize>8192</BlockSize><Random>8192</Random>
      <Weight>1</Weight></Target>
  </Targets>
</TimeSpan>
<TimeSpan>
  <Duration>1</Duration><Warmup>0</Warmup>
  <Targets>
    <Target><Path>a.dat</Path><BlockSize>65536</BlockSize><WriteRatio>100</WriteRatio><RequestCount>2</RequestCount>
      <ThreadsPerFile>2</ThreadsPerFile><InterlockedSequential>true</InterlockedSequential></Target>
  </Targets>
</TimeSpan>
</TimeSpans></Profile>
";

const DIRECTIONS: [&str; 3] = ["read", "write", "total"];

/// The four documents of one run.
struct Run {
    text: String,
    xml: String,
    json: Value,
    csv: Vec<BTreeMap<String, String>>,
}

fn run() -> Run {
    let place = workplace!();
    place.file("p.xml", PROFILE.as_bytes());
    let run = place.diskspd("-d60 --max-ios=30000 -Xp.xml --xml r.xml --json r.json --csv r.csv").run();
    run.expect_status(0);
    let content = |name| String::from_utf8(place.content(name)).expect("documents are UTF-8");
    let csv = content("r.csv");
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let columns = lines.next().expect("a line of names");
    Run {
        text: run.stdout,
        xml: content("r.xml"),
        json: serde_json::from_str(&content("r.json")).expect("it is JSON"),
        csv: lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect(),
    }
}

/// Checks that a number is the rounded exact one.
#[track_caller]
fn assert_rounded(shown: &str, exact: &Value, scale: f64) {
    let shown = shown.trim().trim_end_matches('%');
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = shown.parse().unwrap_or_else(|_| panic!("'{shown}' is no number"));
    let exact = exact.as_f64().unwrap_or_else(|| panic!("{exact} is no number")) / scale;
    let half = 0.5 / 10f64.powi(i32::try_from(decimals).expect("few digits"));
    assert!((value - exact).abs() <= half * 1.000_001, "{shown} is not {exact} rounded");
}

/// Checks that a number in CSV equals the one in JSON, or both are unknown.
#[track_caller]
fn assert_same(cell: &str, exact: &Value) {
    if exact.is_null() {
        assert_eq!(cell, "");
    } else {
        assert_eq!(cell.parse::<f64>().ok(), exact.as_f64(), "'{cell}' is not {exact}");
    }
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name(name))
}

#[track_caller]
fn xml_text<'a>(node: Node<'a, 'a>, path: &str) -> &'a str {
    let found = path.split('/').try_fold(node, child);
    found.and_then(|node| node.text()).unwrap_or_else(|| panic!("no {path} below {}", node.tag_name().name()))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

#[test]
fn all_forms_show_the_same_numbers() {
    let run = run();
    let xml = Document::parse(&run.xml).expect("it is XML");
    let xml_spans: Vec<Node<'_, '_>> =
        xml.root_element().children().filter(|node| node.has_tag_name("TimeSpan")).collect();
    let texts: Vec<&str> = run.text.split("\nResults for timespan ").skip(1).collect();
    let spans = items(&run.json["time_spans"]);
    assert_eq!((spans.len(), xml_spans.len(), texts.len()), (2, 2, 2));
    for (index, span) in spans.iter().enumerate() {
        let measured = &span["measured"];
        let lines: Vec<_> = run.csv.iter().filter(|line| line["timespan"] == (index + 1).to_string()).collect();
        let report = Report::parse(texts[index]);
        rows(measured, &report, xml_spans[index], &lines);
        sums(measured, &report, xml_spans[index], &lines);
        cpus(measured, texts[index], xml_spans[index]);
        assert_rounded(xml_text(xml_spans[index], "TestTimeSeconds"), &measured["elapsed_ns"], 1e9);
    }
    percentiles(&spans[0]["measured"], texts[0], xml_spans[0], &run.csv);
    assert_eq!(spans[1]["measured"]["total_latency"], Value::Null);
    totals(&run);
}

/// Each thread and target.
fn rows(measured: &Value, report: &Report, xml: Node<'_, '_>, lines: &[&BTreeMap<String, String>]) {
    let threads = xml.children().filter(|node| node.has_tag_name("Thread"));
    let targets: Vec<_> = threads.flat_map(|thread| thread.children().filter(|n| n.has_tag_name("Target"))).collect();
    let lines: Vec<_> = lines.iter().filter(|line| line["scope"] == "thread").collect();
    let rows = items(&measured["rows"]);
    assert!(rows.len() >= 2);
    assert_eq!((targets.len(), lines.len()), (rows.len(), 3 * rows.len()));
    for (index, row) in rows.iter().enumerate() {
        let tables = [&report.read, &report.write, &report.total];
        for (direction, table) in DIRECTIONS.iter().zip(tables) {
            text_row(&table.rows[index], &row["figures"][direction]);
        }
        for (direction, line) in DIRECTIONS.iter().zip(&lines[3 * index..]) {
            assert_eq!(
                (line["direction"].as_str(), line["target"].as_str()),
                (*direction, row["path"].as_str().expect("a path"))
            );
            assert_same(&line["thread"], &row["thread"]);
            csv_line(line, &row["figures"][direction]);
        }
        let target = targets[index];
        for (name, exact) in [
            ("BytesCount", &row["figures"]["total"]["bytes"]),
            ("IOCount", &row["figures"]["total"]["ios"]),
            ("ReadBytes", &row["figures"]["read"]["bytes"]),
            ("ReadCount", &row["figures"]["read"]["ios"]),
            ("WriteBytes", &row["figures"]["write"]["bytes"]),
            ("WriteCount", &row["figures"]["write"]["ios"]),
            ("FileSize", &row["target_size_bytes"]),
        ] {
            assert_eq!(xml_text(target, name), exact.to_string(), "{name}");
        }
        latencies(target, "AverageReadLatencyMilliseconds", "ReadLatencyStdev", &row["figures"]["read"]);
        latencies(target, "AverageWriteLatencyMilliseconds", "WriteLatencyStdev", &row["figures"]["write"]);
        latencies(target, "AverageLatencyMilliseconds", "LatencyStdev", &row["figures"]["total"]);
        series(target, &row["intervals"]);
    }
}

fn text_row(row: &Row, figures: &Value) {
    assert_eq!(Some(row.bytes), figures["bytes"].as_u64());
    assert_eq!(Some(row.ios), figures["ios"].as_u64());
    assert_rounded(&format!("{:.2}", row.mib_per_s), &figures["bytes_per_s"], 1_048_576.0);
    assert_rounded(&format!("{:.2}", row.ios_per_s), &figures["iops"], 1.0);
    if !figures["iops_std_dev"].is_null() {
        // AvgLat, IopsStdDev, LatStdDev
        assert_rounded(&row.others[1], &figures["iops_std_dev"], 1.0);
        if !figures["latency"].is_null() {
            assert_rounded(&row.others[0], &figures["latency"]["mean_ns"], 1e6);
            assert_rounded(&row.others[2], &figures["latency"]["std_dev_ns"], 1e6);
        }
    }
}

fn csv_line(line: &BTreeMap<String, String>, figures: &Value) {
    for name in ["bytes", "ios", "iops", "iops_std_dev"] {
        assert_same(&line[name], &figures[name]);
    }
    assert_rounded(
        &format!("{:.3}", line["mib_per_s"].parse::<f64>().expect("a number")),
        &figures["bytes_per_s"],
        1_048_576.0,
    );
    for name in ["mean_ns", "std_dev_ns", "min_ns", "max_ns"] {
        assert_same(&line[&format!("latency_{name}")], &figures["latency"][name]);
    }
}

fn latencies(node: Node<'_, '_>, mean: &str, deviation: &str, figures: &Value) {
    if figures["latency"].is_null() {
        return;
    }
    assert_rounded(xml_text(node, mean), &figures["latency"]["mean_ns"], 1e6);
    assert_rounded(xml_text(node, deviation), &figures["latency"]["std_dev_ns"], 1e6);
}

fn series(node: Node<'_, '_>, intervals: &Value) {
    let buckets: Vec<_> = child(node, "Iops")
        .map(|iops| iops.children().filter(|node| node.has_tag_name("Bucket")).collect())
        .unwrap_or_default();
    assert_eq!(buckets.len(), items(intervals).len());
    for (bucket, interval) in buckets.iter().zip(items(intervals)) {
        for (name, direction) in [("Read", "read"), ("Write", "write"), ("Total", "total")] {
            assert_rounded(bucket.attribute(name).expect("a rate"), &interval[direction]["iops"], 1.0);
        }
    }
}

/// The lines `total:`.
fn sums(measured: &Value, report: &Report, xml: Node<'_, '_>, lines: &[&BTreeMap<String, String>]) {
    let lines: Vec<_> = lines.iter().filter(|line| line["scope"] == "timespan").collect();
    for (direction, (table, line)) in
        DIRECTIONS.iter().zip([&report.read, &report.write, &report.total].into_iter().zip(lines))
    {
        let figures = &measured["total"][direction];
        assert_eq!(line["direction"], *direction);
        text_row(&table.sum, figures);
        csv_line(line, figures);
        let ios: u64 =
            items(&measured["rows"]).iter().filter_map(|row| row["figures"][direction]["ios"].as_u64()).sum();
        assert_eq!(Some(ios), figures["ios"].as_u64(), "rows add up");
    }
    series(xml, &measured["intervals"]);
}

fn cpus(measured: &Value, text: &str, xml: Node<'_, '_>) {
    let utilization = child(xml, "CpuUtilization").expect("the CPUs");
    let nodes: Vec<_> = utilization.children().filter(|node| node.has_tag_name("CPU")).collect();
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("CPU |")).skip(2).collect();
    let cpus = items(&measured["cpus"]);
    assert_eq!(nodes.len(), cpus.len());
    let average =
        (child(utilization, "Average").expect("the average"), &measured["cpu_average"], lines[cpus.len() + 1]);
    let each = nodes.into_iter().zip(cpus).zip(&lines).map(|((node, cpu), line)| (node, cpu, *line));
    for (node, cpu, line) in each.chain([average]) {
        let cells: Vec<&str> = line.rsplit('|').collect();
        let columns = [("Idle", "idle"), ("Kernel", "kernel"), ("User", "user"), ("Usage", "usage")];
        for ((element, field), cell) in columns.into_iter().zip(cells) {
            let exact = &cpu[format!("{field}_percent")];
            assert_rounded(xml_text(node, &format!("{element}Percent")), exact, 1.0);
            assert_rounded(cell, exact, 1.0);
        }
    }
}

/// Of all targets together: XML has all 108, text and CSV some of them.
fn percentiles(measured: &Value, text: &str, xml: Node<'_, '_>, csv: &[BTreeMap<String, String>]) {
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| *line != "Total latency distribution:")
        .skip(3)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let labels = ["min", "25th", "50th", "75th", "90th", "95th", "99th", "3-nines", "4-nines", "5-nines", "6-nines"];
    let ranks = [0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
    let buckets: Vec<_> = child(xml, "Latency")
        .map(|latency| latency.children().filter(|node| node.has_tag_name("Bucket")).collect())
        .unwrap_or_default();
    assert_eq!(buckets.len(), 108);
    for (column, (direction, element)) in
        [("read", "ReadMilliseconds"), ("write", "WriteMilliseconds"), ("total", "TotalMilliseconds")]
            .iter()
            .enumerate()
    {
        let exact = items(&measured["total_latency"][direction]["percentiles"]);
        assert_eq!(exact.len(), 108);
        for (bucket, percentile) in buckets.iter().zip(exact) {
            assert_rounded(xml_text(*bucket, "Percentile"), &percentile["rank_ppb"], 1e7);
            assert_rounded(xml_text(*bucket, element), &percentile["value_ns"], 1e6);
        }
        let line = csv.iter().find(|line| line["scope"] == "timespan" && line["direction"] == **direction);
        let line = line.expect("a line for the timespan");
        for ((label, rank), row) in labels.iter().zip(ranks).zip(&table) {
            assert_eq!(row[0], *label);
            let rank_ppb = (rank * 1e7f64).round();
            let found = exact.iter().find(|percentile| percentile["rank_ppb"].as_f64() == Some(rank_ppb));
            let value = &found.expect("a rank")["value_ns"];
            assert_rounded(row[column + 1], value, 1e6);
            if rank > 0.0 {
                assert_same(&line[&format!("latency_p{}_ns", rank.to_string().replace('.', "_"))], value);
            }
        }
    }
}

/// Of both timespans together.
fn totals(run: &Run) {
    let figures = &run.json["totals"]["figures"];
    let text = run.text.split("\nTotals:\n").nth(1).expect("the totals");
    for direction in DIRECTIONS {
        let line = run.csv.iter().find(|line| line["scope"] == "run" && line["direction"] == direction);
        csv_line(line.expect("a line for the run"), &figures[direction]);
        let row = text.lines().find(|line| line.starts_with(direction)).expect("a line of the table");
        let cells: Vec<&str> = row.split('|').collect();
        for (cell, name) in cells[1..].iter().zip(["bytes", "ios", "bytes_per_s", "iops"]) {
            let divisor = if name == "bytes_per_s" { 1_048_576.0 } else { 1.0 };
            assert_rounded(cell, &figures[direction][name], divisor);
        }
    }
}
