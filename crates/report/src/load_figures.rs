//! Figures of a load side by side: of a trace, of the requests of its closest load, or of the result of a run.

use super::block::{Column, Table, dash};
use super::quantity::{Quantity, change, grouped, latency, significant, size};
use model::figures::Summary as RunSummary;
use model::operation::Operation;
use model::profile::SkewLaw;
use model::result::RunResult;
use std::collections::BTreeMap;
use trace::summary::Summary;

/// Difference of a figure above which loads differ: percent, or points where the figure is a percentage.
pub(crate) const FAR: f64 = 10.0;

/// Figures of a load; `None` if unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadFigures {
    reads_percent: Option<f64>,
    mean_bytes: Option<f64>,
    sequential_percent: Option<f64>,
    touched_bytes: Option<f64>,
    range_bytes: Option<f64>,
    zipf: Option<f64>,
    pub(crate) iops: Option<f64>,
    pub(crate) variation: Option<f64>,
    burst_requests: Option<f64>,
    outstanding: Option<f64>,
    /// Of reads and of writes: median, 99th and 99.9th percentile.
    latencies_ns: [[Option<f64>; 3]; 2],
    /// Requests by size; empty if unknown.
    sizes: BTreeMap<u64, u64>,
}

impl From<&Summary> for LoadFigures {
    fn from(summary: &Summary) -> Self {
        let requests = summary.operations().max(1) as f64;
        let bytes: u64 = Operation::ALL.into_iter().map(|operation| summary.volume(operation).bytes).sum();
        let timed = |value: f64| Some(value).filter(|_| summary.arrivals.mean_iops > 0.0);
        let mut sizes = BTreeMap::new();
        for (&size, &count) in summary.sizes.iter().flat_map(|sizes| &sizes.counts) {
            *sizes.entry(size).or_default() += count;
        }
        Self {
            reads_percent: Some(100.0 * summary.volume(Operation::Read).requests as f64 / requests),
            mean_bytes: Some(bytes as f64 / requests),
            sequential_percent: Some(summary.sequential_percent()),
            touched_bytes: Some(summary.footprint.bytes as f64),
            range_bytes: Some(summary.span_bytes() as f64),
            zipf: summary.skew.map(|fit| fit.exponent),
            iops: timed(summary.arrivals.mean_iops),
            variation: timed(summary.arrivals.variation),
            burst_requests: summary.arrivals.bursts.map(|bursts| bursts.requests),
            outstanding: summary.depth.map(|depth| depth.mean),
            latencies_ns: Operation::TRANSFERS.map(|operation| {
                let found = summary.actions[operation.index()].latencies;
                [found.map(|of| of.p50_ns), found.map(|of| of.p99_ns), found.map(|of| of.p999_ns)]
                    .map(|ns| ns.map(|ns| ns as f64))
            }),
            sizes,
        }
    }
}

impl LoadFigures {
    /// Those of the first timespan of a result; `None` if nothing was measured.
    pub(crate) fn from_result(result: &RunResult) -> Option<Self> {
        let span = result.time_spans.first()?;
        let (measured, summary) = (span.measured.as_ref()?, span.summary.as_ref()?);
        let others = measured.operations.iter().map(|operation| &operation.figures);
        let (mut ios, mut bytes) = (measured.total.total.ios, measured.total.total.bytes);
        others.clone().for_each(|figures| (ios, bytes) = (ios + figures.ios, bytes + figures.bytes));
        let requests = ios.max(1) as f64;
        let targets = result.profile.time_spans.first().map(|span| &*span.targets).unwrap_or_default();
        let first = targets.first();
        let first = first.filter(|first| targets.iter().all(|target| target.random_percent == first.random_percent));
        let percentiles =
            |summary: &RunSummary| [summary.p50_ns, summary.p99_ns, summary.p999_ns].map(|ns| ns.map(|ns| ns as f64));
        let mut sizes = BTreeMap::new();
        for of in &measured.sizes {
            *sizes.entry(of.size_bytes).or_default() += of.figures.ios;
        }
        let block_bytes = first.map_or(0, |first| first.block_size.get());
        if sizes.is_empty() && bytes == block_bytes * ios {
            sizes.extend([(block_bytes, ios)]);
        }
        Some(Self {
            reads_percent: Some(100.0 * measured.total.read.ios as f64 / requests),
            mean_bytes: Some(bytes as f64 / requests),
            sequential_percent: first.map(|first| 100.0 - f64::from(first.random_percent)),
            zipf: first.filter(|first| first.random_percent > 0).and_then(|first| match first.skew {
                Some(skew) => (skew.law == SkewLaw::Zipf).then(|| skew.parameter.value()),
                None => Some(0.0),
            }),
            iops: Some(summary.total.iops + others.map(|figures| figures.iops).sum::<f64>()),
            outstanding: summary.total.outstanding,
            latencies_ns: [percentiles(&summary.read), percentiles(&summary.write)],
            sizes,
            ..Self::default()
        })
    }
}

/// One figure of both sides.
#[derive(Debug)]
pub(crate) struct FigureRow {
    pub(crate) name: String,
    values: [String; 2],
    /// Of the second from the first; `None` if one of them is unknown, or the first is 0.
    pub(crate) difference: Option<String>,
    /// True if they differ by more than [`FAR`].
    pub(crate) is_far: bool,
}

type Show<'a> = &'a dyn Fn(f64) -> String;

impl FigureRow {
    /// `None` if both are unknown.
    fn new(name: &str, values: [Option<f64>; 2], show: Show<'_>, is_percentage: bool) -> Option<Self> {
        values.iter().any(Option::is_some).then(|| {
            let difference = match values {
                [Some(a), Some(b)] if is_percentage => Some((b - a, format!("{:+.1} points", b - a))),
                [Some(a), Some(b)] if a > 0.0 => Some(100.0 * (b / a - 1.0)).map(|percent| (percent, change(percent))),
                _ => None,
            };
            Self {
                name: name.to_owned(),
                values: values.map(|value| value.map_or_else(dash, show)),
                is_far: difference.as_ref().is_some_and(|(by, _)| by.abs() > FAR),
                difference: difference.map(|(_, words)| words),
            }
        })
    }
}

/// Figures of the requests.
pub(crate) fn rows_of_load(a: &LoadFigures, b: &LoadFigures) -> Vec<FigureRow> {
    let both = |figure: fn(&LoadFigures) -> Option<f64>| [figure(a), figure(b)];
    let in_bytes = |bytes: f64| size(bytes as u64);
    let percent = |value: f64| Quantity::Percent.value(value);
    let rows = [
        FigureRow::new("reads", both(|load| load.reads_percent), &percent, true),
        FigureRow::new("mean size", both(|load| load.mean_bytes), &in_bytes, false),
        FigureRow::new("sequential", both(|load| load.sequential_percent), &percent, true),
        FigureRow::new("touched", both(|load| load.touched_bytes), &in_bytes, false),
        FigureRow::new("range", both(|load| load.range_bytes), &in_bytes, false),
        FigureRow::new("zipf exponent", both(|load| load.zipf), &significant, false),
        FigureRow::new("requests/s", both(|load| load.iops), &grouped, false),
        FigureRow::new("variation of times", both(|load| load.variation), &significant, false),
        FigureRow::new("requests of a burst", both(|load| load.burst_requests), &significant, false),
        FigureRow::new("in flight", both(|load| load.outstanding), &significant, false),
    ];
    rows.into_iter().flatten().collect()
}

/// Latencies of the storage.
pub(crate) fn rows_of_storage(a: &LoadFigures, b: &LoadFigures) -> Vec<FigureRow> {
    let names = ["read p50", "read p99", "read p99.9", "write p50", "write p99", "write p99.9"];
    let values = a.latencies_ns.as_flattened().iter().zip(b.latencies_ns.as_flattened());
    let row = |(name, (&a, &b)): (&str, (&Option<f64>, &Option<f64>))| FigureRow::new(name, [a, b], &latency, false);
    names.into_iter().zip(values).filter_map(row).collect()
}

/// Percent of the requests of each size, if both sides have them and one has several; the most frequent ones.
pub(crate) fn rows_of_sizes(a: &LoadFigures, b: &LoadFigures, most: usize) -> Vec<FigureRow> {
    let mut all: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    for (side, load) in [a, b].into_iter().enumerate() {
        let requests = load.sizes.values().sum::<u64>().max(1) as f64;
        for (&size, &count) in &load.sizes {
            all.entry(size).or_default()[side] = 100.0 * count as f64 / requests;
        }
    }
    if a.sizes.is_empty() || b.sizes.is_empty() || all.len() < 2 {
        return Vec::new();
    }
    let mut frequent: Vec<(u64, [f64; 2])> = all.into_iter().collect();
    frequent.sort_by(|(_, a), (_, b)| (b[0] + b[1]).total_cmp(&(a[0] + a[1])));
    frequent.truncate(most);
    frequent.sort_by_key(|&(size, _)| size);
    let percent = |value: f64| Quantity::Percent.value(value);
    let row = |(bytes, shares): (u64, [f64; 2])| FigureRow::new(&size(bytes), shares.map(Some), &percent, true);
    frequent.into_iter().filter_map(row).collect()
}

/// Rows as a table; `sides` are the names of its columns.
pub(crate) fn table(rows: Vec<FigureRow>, figure: &str, sides: [&str; 2], label: &'static str, note: &str) -> Table {
    let row = |row: FigureRow| {
        let [a, b] = row.values;
        vec![row.name, a, b, row.difference.unwrap_or_else(dash)]
    };
    let [a, b] = sides;
    Table {
        columns: vec![Column::text(figure), Column::number(a), Column::number(b), Column::number("difference")],
        rows: rows.into_iter().map(row).collect(),
        note: note.to_owned(),
        label,
        ..Table::default()
    }
}
