//! Runs that differ in one setting as a curve, in two as a grid.

use super::columns::name_of_metric;
use super::groups::{Dimension, position};
use super::{Cell, RunsTable};
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};

/// Figures over the values of one setting, with a line for each value of another.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The setting with the most values.
    pub across: Dimension,
    /// The other one, if runs differ in two.
    pub beside: Option<Dimension>,
    /// The metrics, throughput first.
    pub figures: Vec<CurveFigure>,
}

/// A metric at each combination of the settings.
#[derive(Clone, Debug)]
pub struct CurveFigure {
    /// The metric.
    pub metric: ScopedMetric,
    /// Name of its column in the table.
    pub column: String,
    /// One for each value of `beside`; one if runs differ in one setting.
    pub lines: Vec<CurveLine>,
}

/// Medians of the runs at each value of `across`; `None` = no run, or not measured.
pub type CurveLine = Vec<Option<f64>>;

impl RunsTable {
    /// The curve or grid of its comparable runs; `None` if they differ in nothing or in more than two settings.
    pub fn curve(&self) -> Option<Curve> {
        let (across, beside) = match <[Dimension; 2]>::try_from(self.dimensions()) {
            Ok([a, b]) if a.values.len() >= b.values.len() => (a, Some(b)),
            Ok([a, b]) => (b, Some(a)),
            Err(dimensions) => (<[Dimension; 1]>::try_from(dimensions).ok().map(|[only]| only)?, None),
        };
        let dimensions: Vec<Dimension> = [Some(across.clone()), beside.clone()].into_iter().flatten().collect();
        let groups = self.groups(&dimensions);
        let headlines = || groups.iter().flat_map(super::groups::Group::headlines);
        let latencies = Headline::scoped_metrics(&[Metric::Mean, Metric::P99], headlines());
        let metrics = [(Scope::All, Metric::Iops), (Scope::All, Metric::MibPerS)].into_iter().chain(latencies);
        let figures = metrics.filter_map(|metric| {
            let count = beside.as_ref().map_or(1, |beside| beside.values.len());
            let mut lines: Vec<CurveLine> = vec![vec![None; across.values.len()]; count];
            for group in &groups {
                let [x, others @ ..] = &group.key[..] else { continue };
                let line =
                    beside.as_ref().zip(others.first()).map_or(0, |(beside, cell)| position(&beside.values, cell));
                if let Some(place) = lines.get_mut(line).and_then(|line| line.get_mut(position(&across.values, x))) {
                    *place = group.median(metric);
                }
            }
            let is_known = lines.iter().flatten().any(Option::is_some);
            let (scope, of) = metric;
            is_known.then(|| CurveFigure { metric, column: name_of_metric(scope, of), lines })
        });
        let figures: Vec<CurveFigure> = figures.collect();
        Some(Curve { across, beside, figures })
    }

    /// Words for a curve or grid: `block_bytes`; with those that follow from it: `block_bytes (with threads)`.
    pub fn name_of_dimension(&self, dimension: &Dimension) -> String {
        let name = |index: &usize| self.columns()[*index].name.clone();
        let followers: Vec<String> = dimension.followers.iter().map(name).collect();
        match &followers[..] {
            [] => name(&dimension.column),
            followers => format!("{} (with {})", name(&dimension.column), followers.join(", ")),
        }
    }

    /// Numbers of a dimension, if all its values are numbers.
    pub fn numbers_of(dimension: &Dimension) -> Option<Vec<f64>> {
        dimension.values.iter().map(Cell::as_number).collect()
    }
}
