//! The same figures of several results on the same axes.

use super::percentile_curve::of_sides;
use super::{middle_s, s, values};
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use model::figures::{Directions, LatencyDistribution};
use model::result::Measured;
use stats::overview::timeline;

/// Steps of a line: more would not be visible.
const STEPS_MAX: usize = 300;

/// Characters of a name that is written beside a line.
const NAME_CHARACTERS_MAX: usize = 14;

/// Rates over time, and percentiles of reads and of writes, of results by their names.
pub(crate) fn overlays(sides: &[(&str, &Measured)]) -> Vec<Chart> {
    let (short, caption) = names(sides);
    let drawn: Vec<(String, Role, &Measured)> = short
        .into_iter()
        .zip(sides)
        .enumerate()
        .map(|(index, (name, (_, measured)))| (name, Role::of_line(index), *measured))
        .collect();
    let reads = percentiles("read-percentiles", "Read latency by percentile", &drawn, |sides| sides.read.as_ref());
    let writes = percentiles("write-percentiles", "Write latency by percentile", &drawn, |sides| sides.write.as_ref());
    let mut charts: Vec<Chart> = [iops(&drawn), reads, writes].into_iter().flatten().collect();
    for chart in &mut charts {
        let text = [caption.as_str(), chart.caption.as_str()].into_iter().filter(|text| !text.is_empty());
        chart.caption = text.collect::<Vec<_>>().join(" ");
    }
    charts
}

/// Names short enough to stand beside lines, and a caption that explains them if they are numbers.
fn names(sides: &[(&str, &Measured)]) -> (Vec<String>, String) {
    let is_short = sides.iter().all(|(name, _)| name.chars().count() <= NAME_CHARACTERS_MAX);
    let is_distinct = sides.iter().enumerate().all(|(index, (name, _))| sides[..index].iter().all(|(a, _)| a != name));
    if is_short && is_distinct {
        return (sides.iter().map(|(name, _)| (*name).to_owned()).collect(), String::new());
    }
    let numbered: Vec<String> = (1..).zip(sides).map(|(number, (name, _))| format!("{number}: {name}")).collect();
    ((1..=sides.len()).map(|number| number.to_string()).collect(), format!("{}.", numbered.join("; ")))
}

fn percentiles(
    name: &'static str,
    title: &str,
    sides: &[(String, Role, &Measured)],
    of: fn(&Directions<Option<LatencyDistribution>>) -> Option<&LatencyDistribution>,
) -> Option<Chart> {
    let known = sides
        .iter()
        .filter_map(|(name, role, measured)| Some((name.clone(), *role, of(measured.total_latency.as_ref()?)?)));
    of_sides(name, title.to_owned(), known)
}

fn iops(sides: &[(String, Role, &Measured)]) -> Option<Chart> {
    let line = |(name, role, measured): &(String, Role, &Measured)| {
        let moments = timeline(&measured.series, STEPS_MAX);
        let points = moments.iter().map(|moment| (middle_s(moment.start_ns, moment.end_ns), moment.iops.total));
        let points: Vec<(f64, f64)> = points.collect();
        (!points.is_empty()).then(|| Series { name: name.clone(), role: *role, marks: Marks::Line(points) })
    };
    let series: Vec<Series> = sides.iter().filter_map(line).collect();
    let lengths =
        sides.iter().filter_map(|(.., measured)| Some(s(timeline(&measured.series, STEPS_MAX).last()?.end_ns)));
    let end_s = lengths.reduce(f64::max)?;
    Some(Chart {
        name: "iops",
        title: "I/Os per second".to_owned(),
        caption: "Reads and writes combined. Time counts from the start of each run's measurement.".to_owned(),
        x: Axis::linear("", Quantity::TimeS, 0.0, end_s),
        y: Axis::from_zero("IOPS", Quantity::Iops, values(&series).map(|(_, y)| y)),
        right: None,
        series,
        markers: Vec::new(),
    })
}
