//! Points of a sweep over two options, as a heat map.

use crate::axis::Axis;
use crate::chart::{Cell, Chart, Marks, Series};
use crate::quantity::{Quantity, latency};
use crate::role::{HEAT_MIN, Role};
use model::finding::Severity;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::sweep::{Setting, Sweep};

/// The strongest colour: labels are written on it.
const STRENGTH_MAX: f64 = 0.5;

/// Throughput, also in MiB/s where block sizes differ, and mean latency, if exactly two options vary.
pub(crate) fn grids(sweep: &Sweep) -> Vec<Chart> {
    let Some([across, up]) = varied(sweep) else { return Vec::new() };
    let grid = |name, heading: &str, quantity: Quantity, metric: ScopedMetric| {
        let title = format!("{} for each combination of settings", metric.0.label(heading));
        chart(sweep, (name, &title), (&across, &up), quantity, |figures| figures.scoped_value(metric))
    };
    let throughput = grid("grid-throughput", "IOPS", Quantity::Iops, (Scope::All, Metric::Iops));
    // Of several waits of the application, the last: the commit after reads.
    let waited_for = Headline::scoped_metrics(&[Metric::Mean], sweep.measured()).pop();
    let latency = waited_for.and_then(|mean| grid("grid-latency", "Mean latency", Quantity::LatencyNs, mean));
    let bytes = stats::sweep::compared(sweep)
        .by_bytes
        .then(|| grid("grid-mib", "MiB/s", Quantity::MibPerS, (Scope::All, Metric::MibPerS)));
    [throughput, bytes.flatten(), latency].into_iter().flatten().collect()
}

/// One option and its values in the order of the points.
struct VariedOption {
    /// Index among the settings of a point.
    index: usize,
    name: String,
    values: Vec<String>,
}

fn varied(sweep: &Sweep) -> Option<[VariedOption; 2]> {
    let first = sweep.points.first().filter(|point| point.settings.len() > 1)?;
    let varied_option = |(index, setting): (usize, &Setting)| {
        let mut values: Vec<String> = Vec::new();
        for value in sweep.points.iter().filter_map(|point| point.settings.get(index)).map(|setting| &setting.value) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        (values.len() > 1).then(|| VariedOption { index, name: setting.name.clone(), values })
    };
    let all: Vec<VariedOption> = first.settings.iter().enumerate().filter_map(varied_option).collect();
    // Options that vary together, such as -t and -o of one total depth, fill no grid.
    let [a, b] = <[VariedOption; 2]>::try_from(all).ok()?;
    let is_grid = sweep.points.len() * 2 > a.values.len() * b.values.len();
    // More values are easier to read from left to right.
    is_grid.then_some(if a.values.len() > b.values.len() { [a, b] } else { [b, a] })
}

/// A point with a figure.
struct GridPoint {
    point: usize,
    x: f64,
    y: f64,
    value: f64,
    /// True if its run has warnings, or worse.
    is_warned: bool,
}

fn chart(
    sweep: &Sweep,
    (name, title): (&'static str, &str),
    (across, up): (&VariedOption, &VariedOption),
    quantity: Quantity,
    of: impl Fn(&Headline) -> Option<f64>,
) -> Option<Chart> {
    let place = |varied: &VariedOption, point: usize| {
        let value = &sweep.points[point].settings.get(varied.index)?.value;
        varied.values.iter().position(|known| known == value).map(|position| position as f64 + 1.0)
    };
    let known = (0..sweep.points.len()).filter_map(|point| {
        let figures = stats::sweep::figures(sweep, point)?;
        let is_warned = figures.severity >= Some(Severity::Warn);
        Some(GridPoint { point, x: place(across, point)?, y: place(up, point)?, value: of(figures)?, is_warned })
    });
    let known: Vec<GridPoint> = known.collect();
    let most = known.iter().map(|known| known.value).fold(0.0, f64::max);
    // If all have warnings, marks would not distinguish them.
    let is_mixed = known.iter().any(|known| known.is_warned) && known.iter().any(|known| !known.is_warned);
    let cell = |&GridPoint { point, x, y, value, is_warned }: &GridPoint| {
        let (mark, told) = if is_warned && is_mixed { (" !", ", measured with warnings") } else { Default::default() };
        let label = if quantity == Quantity::LatencyNs { latency(value) } else { quantity.tick(value, value) };
        let typed = Setting::typed_all(&sweep.points[point].settings);
        Cell {
            x: (x - 0.5, x + 0.5),
            y: (y - 0.5, y + 0.5),
            value,
            strength: HEAT_MIN + (STRENGTH_MAX - HEAT_MIN) * (value / most),
            label: label + mark,
            text: format!("{typed}: {}{told}", quantity.value(value)),
        }
    };
    let axis = |varied: &VariedOption| {
        let marks = varied.values.iter().enumerate().map(|(index, value)| (index as f64 + 1.0, value.clone()));
        let ends = (0.5, varied.values.len() as f64 + 0.5);
        Axis::named(&Setting::dashed(&varied.name), Quantity::Count, ends, marks.collect())
    };
    (!known.is_empty()).then(|| Chart {
        name,
        title: title.to_owned(),
        caption: if is_mixed { "! = measured with warnings".to_owned() } else { String::new() },
        x: axis(across),
        y: axis(up),
        series: vec![Series {
            name: String::new(),
            role: Role::Heat,
            marks: Marks::Cells(known.iter().map(cell).collect()),
        }],
        right: None,
        markers: Vec::new(),
    })
}
