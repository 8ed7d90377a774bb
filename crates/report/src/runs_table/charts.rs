//! Runs of a table: a line for each value of one setting over the values of another, or a grid of both.

use super::{Curve, CurveFigure, Dimension, RunsTable, quantity};
use crate::axis::Axis;
use crate::chart::{Cell as GridCell, Chart, Marks, Series};
use crate::charts::{line, values};
use crate::quantity::{Quantity, latency};
use crate::role::{HEAT_MIN, Role};
use model::metric::Metric;

/// Lines of a chart; more could not be told apart.
const LINES_MAX: usize = 8;

/// The strongest colour: labels are written on it.
const STRENGTH_MAX: f64 = 0.5;

/// Throughput and mean latency over the setting with the most values; of two settings also their grid.
pub(super) fn of_runs(table: &RunsTable, curve: &Curve) -> Vec<Chart> {
    let is_wanted = |figure: &&CurveFigure| figure.metric.1 != Metric::P99;
    let mut charts = Vec::new();
    for figure in curve.figures.iter().filter(is_wanted) {
        charts.extend(lines(table, curve, figure));
    }
    if let Some(beside) = &curve.beside {
        charts.extend(curve.figures.first().map(|figure| grid(table, (&curve.across, beside), figure)));
    }
    charts
}

/// The name of a figure for `--chart`, and its title.
fn names(figure: &CurveFigure) -> (&'static str, String) {
    match figure.metric {
        (_, Metric::Iops) => ("table-throughput", "IOPS".to_owned()),
        (_, Metric::MibPerS) => ("table-mib", "MiB/s".to_owned()),
        (scope, _) => ("table-latency", scope.label("Mean latency")),
    }
}

fn heading<'a>(table: &'a RunsTable, dimension: &Dimension) -> &'a str {
    &table.columns()[dimension.column].heading
}

/// Positions of values on an axis, and the axis: by size if all are numbers above 0, else equally spaced.
fn axis(table: &RunsTable, dimension: &Dimension) -> (Vec<f64>, Axis) {
    let column = &table.columns()[dimension.column];
    let numbers = RunsTable::numbers_of(dimension).filter(|_| column.name != "block_bytes");
    if let Some(numbers) = numbers {
        let is_doubling = numbers.iter().all(|number| *number > 0.0) && numbers.last() >= Some(&(numbers[0] * 4.0));
        let axis = if is_doubling {
            Axis::powers(&column.heading, Quantity::Count, numbers.iter().copied())
        } else {
            Axis::from_zero(&column.heading, Quantity::Count, numbers.iter().copied())
        };
        return (numbers, axis);
    }
    let places: Vec<f64> = (1..=dimension.values.len()).map(|place| place as f64).collect();
    let marks = places.iter().zip(&dimension.values).map(|(place, value)| (*place, column.shown(value)));
    let ends = (0.5, dimension.values.len() as f64 + 0.5);
    let axis = Axis::named(&column.heading, Quantity::Count, ends, marks.collect());
    (places, axis)
}

fn lines(table: &RunsTable, curve: &Curve, figure: &CurveFigure) -> Option<Chart> {
    let (places, x) = axis(table, &curve.across);
    let name = |index: usize| match &curve.beside {
        Some(beside) => table.columns()[beside.column].typed(beside.values.get(index)?).into(),
        None => Some(String::new()),
    };
    let series = figure.lines.iter().take(LINES_MAX).enumerate().filter_map(|(index, medians)| {
        let points = places.iter().zip(medians).filter_map(|(place, median)| Some((*place, (*median)?)));
        line(&name(index)?, Role::of_line(index), points.collect())
    });
    let series: Vec<Series> = series.collect();
    let (chart, title) = names(figure);
    let y = match quantity(figure.metric.1) {
        Quantity::LatencyNs => Axis::log("latency", Quantity::LatencyNs, values(&series).map(|(_, y)| y)),
        quantity => Axis::from_zero(&title, quantity, values(&series).map(|(_, y)| y)),
    };
    let left_out = figure.lines.len().saturating_sub(LINES_MAX);
    let caption =
        if left_out > 0 { format!("The first {LINES_MAX} of {} lines.", figure.lines.len()) } else { String::new() };
    let beside = curve.beside.as_ref().map(|beside| format!(", {}", heading(table, beside))).unwrap_or_default();
    (!series.is_empty()).then(|| Chart {
        name: chart,
        title: format!("{title} by {}{beside}", heading(table, &curve.across)),
        caption,
        x,
        y,
        right: None,
        series,
        markers: Vec::new(),
    })
}

fn grid(table: &RunsTable, (across, up): (&Dimension, &Dimension), figure: &CurveFigure) -> Chart {
    let most = figure.lines.iter().flatten().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let quantity = quantity(figure.metric.1);
    let (a, b) = (&table.columns()[across.column], &table.columns()[up.column]);
    let cell = |(x, y): (usize, usize), value: f64| GridCell {
        x: (x as f64 + 0.5, x as f64 + 1.5),
        y: (y as f64 + 0.5, y as f64 + 1.5),
        value,
        strength: HEAT_MIN + (STRENGTH_MAX - HEAT_MIN) * (value / most),
        label: if quantity == Quantity::LatencyNs { latency(value) } else { quantity.tick(value, value) },
        text: format!("{} {}: {}", a.typed(&across.values[x]), b.typed(&up.values[y]), quantity.value(value)),
    };
    let rows = figure.lines.iter().enumerate();
    let cells = rows
        .flat_map(|(y, medians)| medians.iter().enumerate().filter_map(move |(x, median)| Some(((x, y), (*median)?))));
    let named = |dimension: &Dimension| {
        let column = &table.columns()[dimension.column];
        let marks = dimension.values.iter().enumerate().map(|(index, value)| (index as f64 + 1.0, column.shown(value)));
        Axis::named(&column.heading, Quantity::Count, (0.5, dimension.values.len() as f64 + 0.5), marks.collect())
    };
    Chart {
        name: "table-grid",
        title: format!("{} for each combination of {} and {}", names(figure).1, a.heading, b.heading),
        caption: String::new(),
        x: named(across),
        y: named(up),
        right: None,
        series: vec![Series {
            name: String::new(),
            role: Role::Heat,
            marks: Marks::Cells(cells.map(|(place, value)| cell(place, value)).collect()),
        }],
        markers: Vec::new(),
    }
}
