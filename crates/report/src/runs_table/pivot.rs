//! Runs that differ in two settings as a table: a row for each value of one, a column for each value of the other.

use super::curve::{Curve, CurveFigure};
use super::{Cell, RunsTable};
use crate::block::{Column, Table, dash};
use crate::words::figure_words::shown_figure;
use model::metric::Metric;

/// Columns at most; more belong in a spreadsheet.
const COLUMNS_MAX: usize = 6;

/// I/Os per second at each combination and, for two values, also mean latencies, each with the ratio of the second to
/// the first; `None` if runs do not differ in two settings.
pub(super) fn pivot(table: &RunsTable, curve: &Curve) -> Option<Table> {
    let beside = curve.beside.as_ref().filter(|beside| beside.values.len() <= COLUMNS_MAX)?;
    let is_pair = beside.values.len() == 2;
    let wanted = if is_pair { [Metric::Iops, Metric::Mean].as_slice() } else { &[Metric::Iops] };
    let figures: Vec<&CurveFigure> = curve.figures.iter().filter(|figure| wanted.contains(&figure.metric.1)).collect();
    let (across, other) = (&table.columns()[curve.across.column], &table.columns()[beside.column]);
    let mut columns = vec![Column::number(&across.heading)];
    for figure in &figures {
        let name = figure.metric.0.label(figure.metric.1.heading());
        let of_value = |value: &Cell| Column::number(&format!("{name}, {}", other.shown(value)));
        columns.extend(beside.values.iter().map(of_value));
        columns.extend(is_pair.then(|| Column::number("ratio")));
    }
    let rows = (0..curve.across.values.len()).map(|place| row(table, curve, &figures, place, is_pair)).collect();
    let note = if is_pair {
        let [first, second] = [0, 1].map(|index| other.typed(&beside.values[index]));
        format!("Ratio: {second} to {first}. Medians of the runs; one run each does not show the noise.")
    } else {
        "Medians of the runs.".to_owned()
    };
    let heading = format!("By {} and {}", across.heading, other.heading);
    Some(Table { heading, columns, rows, note, ..Table::default() })
}

fn row(table: &RunsTable, curve: &Curve, figures: &[&CurveFigure], place: usize, is_pair: bool) -> Vec<String> {
    let mut cells = vec![table.columns()[curve.across.column].shown(&curve.across.values[place])];
    for figure in figures {
        let values: Vec<Option<f64>> = figure.lines.iter().map(|line| line.get(place).copied().flatten()).collect();
        let shown = |value: &Option<f64>| value.map_or_else(dash, |value| shown_figure(figure.metric.1, value, 3));
        cells.extend(values.iter().map(shown));
        if is_pair {
            let ratio = match values[..] {
                [Some(first), Some(second)] if first > 0.0 => format!("{:.2}", second / first),
                _ => dash(),
            };
            cells.push(ratio);
        }
    }
    cells
}
