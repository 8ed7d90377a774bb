//! Runs of the same load, one beside the other.

use crate::axis::Axis;
use crate::chart::{Cell, Chart, Marks, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use model::headline::Headline;
use stats::repeats::Repeats;

/// I/Os per second of each run, the median and its interval.
pub(crate) fn runs(runs: &[&Headline], found: &Repeats) -> Chart {
    let numbered = (1u32..).zip(runs).map(|(number, run)| (f64::from(number), run.iops));
    let across = (0.5, runs.len() as f64 + 0.5);
    let mut series = Vec::new();
    if let Some((low, high)) = found.iops.interval {
        let band = Cell {
            x: across,
            y: (low, high),
            value: high - low,
            strength: 0.14,
            label: String::new(),
            text: format!(
                "95 % confidence interval of the median: {} - {}",
                Quantity::Iops.value(low),
                Quantity::Iops.value(high)
            ),
        };
        series.push(Series { name: String::new(), role: Role::Good, marks: Marks::Cells(vec![band]) });
    }
    let median = vec![(across.0, found.iops.median), (across.1, found.iops.median)];
    series.push(Series { name: "median".to_owned(), role: Role::Good, marks: Marks::Line(median) });
    series.push(Series { name: "runs".to_owned(), role: Role::Read, marks: Marks::Dots(numbered.collect()) });
    let marks = (1..=runs.len()).map(|number| (number as f64, number.to_string()));
    let band = "The band is the 95 % confidence interval of the median.";
    let caption = if found.iops.interval.is_some() { band } else { "The line is the median." };
    Chart {
        name: "runs",
        title: "I/Os per second of each run".to_owned(),
        caption: caption.to_owned(),
        x: Axis::named("run", Quantity::Count, across, marks.collect()),
        y: Axis::from_zero("IOPS", Quantity::Iops, runs.iter().map(|run| run.iops)),
        series,
        right: None,
        markers: Vec::new(),
    }
}
