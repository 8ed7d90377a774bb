//! Latency distributions.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use crate::role::Role;
use model::figures::LatencyDistribution;
use model::result::Measured;
use stats::overview::{Bin, density};

const TITLE: &str = "Latency distribution";

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    let Some(latencies) = &measured.total_latency else {
        return Err(MissingChart::because(TITLE, "latency was not measured; -L turns it on"));
    };
    let sides = [("reads", Role::Read, &latencies.read), ("writes", Role::Write, &latencies.write)];
    let area = |(name, role, side): (&str, Role, &Option<LatencyDistribution>)| {
        let bins = density(&side.as_ref()?.buckets);
        (!bins.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::Area(outline(&bins)) })
    };
    let series: Vec<Series> = sides.into_iter().filter_map(area).collect();
    if series.is_empty() {
        return Err(MissingChart::because(TITLE, "the result has no histogram; JSON results of this program have one"));
    }
    Ok(Chart {
        name: "distribution",
        title: TITLE.to_owned(),
        caption: "Share of reads and of writes in each latency bucket; eight buckets per doubling of latency."
            .to_owned(),
        x: Axis::log("", Quantity::LatencyNs, values(&series).map(|(x, _)| x)),
        y: Axis::from_zero("share of I/Os", Quantity::Percent, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}

/// The line through the middles of the bins, from zero to zero.
fn outline(bins: &[Bin]) -> Vec<(f64, f64)> {
    let middle = |bin: &Bin| ((bin.low_ns * bin.high_ns).sqrt(), bin.percent);
    let first = bins.first().map(|bin| (bin.low_ns, 0.0));
    let last = bins.last().map(|bin| (bin.high_ns, 0.0));
    first.into_iter().chain(bins.iter().map(middle)).chain(last).collect()
}
