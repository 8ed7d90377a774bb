//! The settings in which runs differ, and the runs of each combination of them.

use super::{Cell, Row, RunColumn, RunsTable};
use crate::block::dash;
use model::finding::Severity;
use model::headline::Headline;
use model::metric::ScopedMetric;
use model::units::short_size;

/// A setting in which runs differ.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// Index of its column.
    pub column: usize,
    /// Its values: numbers ascending, text as runs have it.
    pub values: Vec<Cell>,
    /// Indices of other columns whose value follows from it in all runs.
    pub followers: Vec<usize>,
}

/// Runs with the same settings.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Its value of each dimension.
    pub key: Vec<Cell>,
    /// Its runs.
    pub rows: Vec<&'a Row>,
}

impl Group<'_> {
    /// The figures of its runs.
    pub(crate) fn headlines(&self) -> impl Iterator<Item = &Headline> {
        self.rows.iter().filter_map(|row| row.headline.as_ref())
    }

    /// The median of its runs.
    pub(crate) fn median(&self, metric: ScopedMetric) -> Option<f64> {
        stats::median(self.headlines().filter_map(|headline| headline.scoped_value(metric)).collect())
    }
}

impl Row {
    /// True if anything was measured.
    pub fn has_figures(&self) -> bool {
        self.headline.as_ref().is_some_and(|headline| headline.ios > 0)
    }

    /// True if its figures can be put beside others: it has some, they are valid, and it is a run of a point.
    pub(crate) fn is_comparable(&self) -> bool {
        let is_valid = |headline: &Headline| headline.severity < Some(Severity::Fail) && headline.ios > 0;
        !self.is_preparation && self.headline.as_ref().is_some_and(is_valid)
    }
}

impl RunsTable {
    /// Rows that curves, grids and answers are made of.
    pub(crate) fn comparable(&self) -> Vec<&Row> {
        self.rows().iter().filter(|row| row.is_comparable()).collect()
    }

    /// Columns in which these rows differ, among those that distinguish loads.
    pub(crate) fn differing(&self, rows: &[&Row]) -> Vec<usize> {
        let differs = |index: usize| rows.windows(2).any(|pair| pair[0].cells.get(index) != pair[1].cells.get(index));
        let columns = self.columns().iter().enumerate();
        columns.filter(|(index, column)| column.option.is_some() && differs(*index)).map(|(index, _)| index).collect()
    }

    /// The settings in which comparable runs differ. One that follows from another, as the total depth does from `-o`,
    /// is not counted; labels count if nothing else differs.
    pub fn dimensions(&self) -> Vec<Dimension> {
        let rows = self.comparable();
        let mut differing = self.differing(&rows);
        // If the load differs, the machine and its paths are named last.
        differing.sort_by_key(|index| self.rank(*index));
        let mut found: Vec<Dimension> = Vec::new();
        for column in differing {
            if let Some(leader) = found.iter_mut().find(|leader| follows(&rows, leader.column, column)) {
                leader.followers.push(column);
            } else {
                found.push(Dimension { column, values: values(&rows, column), followers: Vec::new() });
            }
        }
        let label = self.index("label");
        if found.is_empty() && values(&rows, label).len() > 1 {
            found.push(Dimension { column: label, values: values(&rows, label), followers: Vec::new() });
        }
        found
    }

    /// The rank of a column among those that lead others.
    fn rank(&self, column: usize) -> usize {
        const LAST: [&str; 4] = ["total_depth", "host", "targets", "target_paths"];
        let name = self.columns()[column].name.as_str();
        LAST.iter().position(|last| *last == name).map_or(0, |position| position + 1)
    }

    /// Comparable runs by their values of these dimensions, in the order of the values.
    pub fn groups(&self, dimensions: &[Dimension]) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for row in self.comparable() {
            let key: Vec<Cell> = dimensions.iter().map(|dimension| row.cells[dimension.column].clone()).collect();
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.rows.push(row),
                None => groups.push(Group { key, rows: vec![row] }),
            }
        }
        let place = |group: &Group<'_>| -> Vec<usize> {
            let places = dimensions.iter().zip(&group.key);
            places.map(|(dimension, cell)| position(&dimension.values, cell)).collect()
        };
        groups.sort_by_key(place);
        groups
    }
}

pub(crate) fn position(values: &[Cell], cell: &Cell) -> usize {
    values.iter().position(|value| value == cell).unwrap_or(values.len())
}

/// True if rows with the same value in one column have the same in the other.
fn follows(rows: &[&Row], leader: usize, column: usize) -> bool {
    let mut known: Vec<(&Cell, &Cell)> = Vec::new();
    rows.iter().all(|row| {
        let (lead, value) = (&row.cells[leader], &row.cells[column]);
        if let Some((_, expected)) = known.iter().find(|(known, _)| *known == lead) {
            *expected == value
        } else {
            known.push((lead, value));
            true
        }
    })
}

/// The values of a column, each once.
fn values(rows: &[&Row], column: usize) -> Vec<Cell> {
    let mut values: Vec<Cell> = Vec::new();
    for cell in rows.iter().filter_map(|row| row.cells.get(column)) {
        if !values.contains(cell) {
            values.push(cell.clone());
        }
    }
    // Stable: text stays in the order of the runs.
    values.sort_by(|a, b| kind(a).cmp(&kind(b)).then_with(|| number(a).total_cmp(&number(b))));
    values
}

/// The order of cells: unknown ones, then numbers, then text.
const fn kind(cell: &Cell) -> u8 {
    match cell {
        Cell::Empty => 0,
        Cell::Number(_) => 1,
        Cell::Text(_) => 2,
    }
}

fn number(cell: &Cell) -> f64 {
    cell.as_number().unwrap_or_default()
}

impl RunColumn {
    /// A value as typed or written: `-b4K`, `-o8`, `host a`, `random`.
    pub fn typed(&self, cell: &Cell) -> String {
        let option = self.option.unwrap_or_default();
        match (cell, self.name.as_str()) {
            (Cell::Empty, "rate_iops") => "no --rate".to_owned(),
            (Cell::Empty, "other_options") => String::new(),
            (Cell::Empty, _) => format!("{} unknown", self.heading),
            (Cell::Number(bytes), "block_bytes") => format!("-b{}", short_size(*bytes as u64)),
            (Cell::Number(count), "targets") => format!("{count} targets"),
            (Cell::Number(number), _) => format!("{option}{number}"),
            (Cell::Text(text), "pattern" | "caching" | "engine" | "other_options" | "label") => text.clone(),
            (Cell::Text(text), _) => format!("{option} {text}").trim_start().to_owned(),
        }
    }

    /// A value in a cell of a table or a mark of an axis: `4K`, `8`, `random`.
    pub fn shown(&self, cell: &Cell) -> String {
        match (cell, self.name.as_str()) {
            (Cell::Empty, _) => dash(),
            (Cell::Number(bytes), "block_bytes") => short_size(*bytes as u64),
            (Cell::Number(number), _) => number.to_string(),
            (Cell::Text(text), _) => text.clone(),
        }
    }
}
