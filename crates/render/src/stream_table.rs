//! Figures of each stream: tables of their own below those of `DiskSpd`.

use crate::latency_table;
use model::figures::{Directions, Figures, LatencyDistribution};
use model::result::StreamFigures;
use model::units::mib;
use report::words::numbers::ms;
use report::words::plain_table::PlainTable;
use stats::NAMED_PERCENTILES;
use std::io::{self, Write};

/// The percentiles of the first table, by their names in the tables of latencies.
const SHOWN: [&str; 3] = ["50th", "99th", "3-nines"];

/// A row for each stream, then its latencies; nothing without streams.
pub(crate) fn tables(out: &mut dyn Write, streams: &[StreamFigures]) -> io::Result<()> {
    if streams.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    rows(streams).write(out)?;
    for StreamFigures { name, latency, .. } in streams.iter().filter(|stream| stream.latency.total.is_some()) {
        writeln!(out, "\nLatencies of stream {name}:")?;
        latency_table::table(out, latency)?;
    }
    Ok(())
}

fn rows(streams: &[StreamFigures]) -> PlainTable {
    let has_latency = streams.iter().any(|stream| stream.latency.total.is_some());
    let mut header = vec!["stream", "kind", "bytes", "I/Os", "MiB/s", "I/O per s"];
    if has_latency {
        header.extend(["average (ms)", "50th", "99th", "99.9th", "maximum"]);
    }
    let columns = header.len();
    let mut table = PlainTable::new(header, 2..columns);
    for StreamFigures { name, figures, latency, .. } in streams {
        for (kind, figures, latency) in kinds(figures, latency) {
            let mut cells = vec![
                name.to_string(),
                kind.to_owned(),
                figures.bytes.to_string(),
                figures.ios.to_string(),
                format!("{:.2}", mib(figures.bytes_per_s)),
                format!("{:.2}", figures.iops),
            ];
            if has_latency {
                cells.extend(latencies(latency));
            }
            table.add(cells);
        }
    }
    table
}

/// The total, and its kinds where there are both.
fn kinds<'a>(
    figures: &'a Directions<Figures>,
    latency: &'a Directions<Option<LatencyDistribution>>,
) -> Vec<(&'static str, &'a Figures, Option<&'a LatencyDistribution>)> {
    let read = ("read", &figures.read, latency.read.as_ref());
    let write = ("write", &figures.write, latency.write.as_ref());
    match (figures.read.ios, figures.write.ios) {
        (_, 0) if figures.read.ios > 0 => vec![read],
        (0, _) if figures.write.ios > 0 => vec![write],
        _ => vec![("total", &figures.total, latency.total.as_ref()), read, write],
    }
}

fn latencies(of: Option<&LatencyDistribution>) -> impl Iterator<Item = String> {
    let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ms(ns)));
    let at = |rank_ppb| of.and_then(|latency| latency.at(rank_ppb));
    let ranks = NAMED_PERCENTILES.into_iter().filter(|(name, _)| SHOWN.contains(name));
    let percentiles = ranks.map(|(_, rank_ppb)| at(rank_ppb)).chain([of.and_then(|of| of.figures.max_ns)]);
    let mut cells = vec![shown(of.map(|of| of.figures.mean_ns))];
    cells.extend(percentiles.map(|ns| shown(ns.map(|ns| ns as f64))));
    cells.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{LatencyFigures, Percentile};
    use model::profile::StreamName;

    #[test]
    fn each_stream_has_rows_and_a_table_of_latencies() {
        let volume = |ios| Figures { ios, bytes: ios * 4096, iops: ios as f64, ..Figures::default() };
        let latencies = LatencyDistribution {
            count: 3,
            figures: LatencyFigures { mean_ns: 250_000.0, max_ns: Some(2_000_000), ..LatencyFigures::default() },
            percentiles: vec![Percentile { rank_ppb: 990_000_000, value_ns: 1_500_000 }],
            ..LatencyDistribution::default()
        };
        let stream = |name: &str, read, write| StreamFigures {
            name: StreamName::parse(name).expect("a name"),
            targets: vec![0],
            figures: Directions { read: volume(read), write: volume(write), total: volume(read + write) },
            latency: Directions::default(),
        };
        let mut mixed = stream("oltp", 7, 3);
        mixed.latency.total = Some(latencies);
        let mut text = Vec::new();
        tables(&mut text, &[mixed, stream("backup", 5, 0), stream("idle", 0, 0)]).expect("written");
        let text = String::from_utf8(text).expect("text");
        let starts: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        let expected = [
            "stream kind bytes I/Os",
            "oltp total 40960 10",
            "oltp read 28672 7",
            "oltp write 12288 3",
            "backup read 20480 5",
            "idle total 0 0",
        ];
        assert_eq!(starts[..6], expected, "{text}");
        assert!(text.contains("0.250") && text.contains("1.500") && text.contains("2.000"), "{text}");
        assert_eq!(text.matches("\nLatencies of stream ").count(), 1, "{text}");
        let mut nothing = Vec::new();
        tables(&mut nothing, &[]).expect("written");
        assert_eq!(nothing, [0_u8; 0]);
    }
}
