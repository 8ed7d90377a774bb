//! Latency by percentile, far into the tail.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Points, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use crate::role::Role;
use model::figures::LatencyDistribution;
use model::result::Measured;
use std::f64::consts::LOG10_2;

const TITLE: &str = "Latency by percentile";

/// Marks on an axis where each further nine takes the same room.
const MARKS: [(f64, &str); 9] = [
    (LOG10_2, "50"),
    (1.0, "90"),
    (2.0, "99"),
    (3.0, "99.9"),
    (4.0, "99.99"),
    (5.0, "5 nines"),
    (6.0, "6 nines"),
    (7.0, "7 nines"),
    (8.0, "8 nines"),
];

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    let Some(latencies) = &measured.total_latency else {
        return Err(MissingChart::because(TITLE, "latency was not measured; -L turns it on"));
    };
    let sides = [("reads", Role::Read, &latencies.read), ("writes", Role::Write, &latencies.write)];
    let sides = sides.into_iter().filter_map(|(name, role, side)| Some((name.to_owned(), role, side.as_ref()?)));
    of_sides("percentiles", TITLE.to_owned(), sides)
        .ok_or_else(|| MissingChart::because(TITLE, "the result has no percentiles, or too few I/Os for any"))
}

/// One curve for each distribution; `None` if there are too few percentiles for any.
pub(crate) fn of_sides<'a>(
    name: &'static str,
    title: String,
    sides: impl Iterator<Item = (String, Role, &'a LatencyDistribution)>,
) -> Option<Chart> {
    let mut series = Vec::new();
    let mut weak = Vec::new();
    for (name, role, side) in sides {
        let (sound, beyond) = curve(side);
        series.push(Series { name, role, marks: Marks::Line(sound) });
        weak.extend(beyond);
    }
    if values(&series).count() < 2 {
        return None;
    }
    let has_weak = !weak.is_empty();
    if has_weak {
        series.push(Series { name: "weak".to_owned(), role: Role::Muted, marks: Marks::Dots(weak) });
    }
    let last = values(&series).map(|(x, _)| x).fold(1.0, f64::max) + 0.1;
    let marks = MARKS.into_iter().filter(|(nines, _)| *nines <= last).map(|(nines, text)| (nines, text.to_owned()));
    Some(Chart {
        name,
        title,
        caption: if has_weak {
            "Grey dots: fewer than ten I/Os lie beyond these percentiles, so they are unreliable.".to_owned()
        } else {
            String::new()
        },
        x: Axis::named("percentile", Quantity::Nines, (0.0, last), marks.collect()),
        y: Axis::log("latency", Quantity::LatencyNs, values(&series).map(|(_, y)| y)),
        right: None,
        series,
        markers: Vec::new(),
    })
}

/// Percentiles by their number of nines: those that enough I/Os lie beyond, and the first one that has too few.
fn curve(side: &LatencyDistribution) -> (Points, Points) {
    const PPB: u64 = 1_000_000_000;
    const WEAK_MAX: usize = 1;
    let below_all = side.percentiles.iter().filter(|percentile| percentile.rank_ppb < PPB);
    let point = |rank_ppb: u64, value_ns: u64| {
        let beyond = (PPB - rank_ppb) as f64 / PPB as f64;
        (-beyond.log10(), value_ns as f64)
    };
    let (mut sound, mut weak) = (Vec::new(), Vec::new());
    for percentile in below_all {
        let place = point(percentile.rank_ppb, percentile.value_ns);
        if !stats::is_weak(side.count, percentile.rank_ppb) {
            sound.push(place);
        } else if weak.len() < WEAK_MAX {
            weak.push(place);
        }
    }
    (sound, weak)
}
