//! Latency percentiles.

use super::lines::{Line, Lines};
use crate::finish::distribution;
use crate::{ReadError, number};
use model::figures::{Directions, LatencyFigures, Percentile};
use model::result::{Measured, TargetLatencies};
use std::path::PathBuf;

/// The scope of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TableScope {
    All,
    Path(PathBuf),
}

/// Percentiles of reads, writes and both.
pub(super) type Columns = Directions<Vec<Percentile>>;

/// True for the titles of the columns.
pub(super) fn is_header(line: Line<'_>) -> bool {
    line.content().starts_with("%-ile |")
}

/// The scope from the line above the table: a title in words since 2.2, the bare path or `total:` before, nothing in
/// the oldest versions.
pub(super) fn whose(title: Option<&str>) -> TableScope {
    match title.map(|title| (title, title.trim())) {
        None | Some((_, "total:" | "Total latency distribution:")) => TableScope::All,
        // Blanks at the ends belong to the path.
        Some((title, bare)) => TableScope::Path(title.strip_prefix("Latency distribution: ").unwrap_or(bare).into()),
    }
}

/// Reads the table below its titles.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Columns, ReadError> {
    let mut columns = Columns::default();
    while let Some(line) = lines.take() {
        if line.is_rule() {
            continue;
        }
        let cells = line.cells();
        let &[label, read, write, total] = cells.as_slice() else {
            return Err(line.error(line.content(), "expected four columns in a line of the latency table"));
        };
        let rank_ppb = line.parse(label, rank_ppb)?;
        for (cell, percentiles) in [(read, &mut columns.read), (write, &mut columns.write), (total, &mut columns.total)]
        {
            if cell != "N/A" {
                let value = line.parse(cell, number::real)?;
                percentiles.extend(value.map(|ms| Percentile { rank_ppb, value_ns: number::whole_ns(ms) }));
            }
        }
        if label == "max" {
            return Ok(columns);
        }
    }
    Err(lines.error_here("the latency table ends before its line 'max'"))
}

/// `min`, `25th`, `3-nines`, `max`
fn rank_ppb(label: &str) -> Result<u64, String> {
    const PPB: u64 = 1_000_000_000;
    let wrong = || format!("'{}' is not a percentile", number::shown(label));
    match label {
        "min" => Ok(0),
        "max" => Ok(PPB),
        _ => {
            if let Some(percent) = label.strip_suffix("th") {
                return number::rank_ppb(percent).map_err(|_| wrong());
            }
            let nines: u32 = label.strip_suffix("-nines").and_then(|n| number::whole(n).ok()).ok_or_else(wrong)?;
            if (1..=9).contains(&nines) { Ok(PPB - PPB / 10u64.pow(nines)) } else { Err(wrong()) }
        }
    }
}

/// Adds a table to the figures, which must exist already.
pub(super) fn add(whose: TableScope, columns: Columns, measured: &mut Measured) {
    let figures = match &whose {
        TableScope::All => {
            let one = |figures: &model::figures::Figures| (figures.ios, figures.latency);
            let Directions { read, write, total } = &measured.total;
            Directions { read: one(read), write: one(write), total: one(total) }
        }
        TableScope::Path(path) => of_path(path, measured),
    };
    let one = |(ios, figures): (u64, Option<LatencyFigures>), percentiles: Vec<Percentile>| {
        // Without samples the column of both kinds shows zeros.
        if ios == 0 { None } else { distribution(ios, figures, percentiles, 0) }
    };
    let latencies = Directions {
        read: one(figures.read, columns.read),
        write: one(figures.write, columns.write),
        total: one(figures.total, columns.total),
    };
    match whose {
        TableScope::All => measured.total_latency = Some(latencies),
        TableScope::Path(path) => measured.target_latencies.push(TargetLatencies { path, latency: latencies }),
    }
}

/// The rows of a path together.
fn of_path(path: &PathBuf, measured: &Measured) -> Directions<(u64, Option<LatencyFigures>)> {
    let rows = || measured.rows.iter().filter(|row| row.path == *path).map(|row| &row.figures);
    let together = |of: fn(&Directions<model::figures::Figures>) -> &model::figures::Figures| {
        let ios = rows().map(|figures| of(figures).ios).fold(0, u64::saturating_add);
        (ios, stats::pooled(rows().filter_map(|figures| Some((of(figures).ios, of(figures).latency?)))))
    };
    Directions {
        read: together(|figures| &figures.read),
        write: together(|figures| &figures.write),
        total: together(|figures| &figures.total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_ranks() {
        for (label, ppb) in [
            ("min", 0),
            ("25th", 250_000_000),
            ("99th", 990_000_000),
            ("3-nines", 999_000_000),
            ("9-nines", 999_999_999),
        ] {
            assert_eq!(rank_ppb(label), Ok(ppb));
        }
        for label in ["", "0-nines", "10-nines", "101th", "x"] {
            assert!(rank_ppb(label).is_err(), "{label}");
        }
    }

    #[test]
    fn titles_of_every_version() {
        assert_eq!(whose(None), TableScope::All);
        assert_eq!(whose(Some("total:")), TableScope::All);
        assert_eq!(whose(Some("Total latency distribution:")), TableScope::All);
        assert_eq!(whose(Some("Latency distribution: a b.dat")), TableScope::Path("a b.dat".into()));
        assert_eq!(whose(Some("C:\\a.dat")), TableScope::Path("C:\\a.dat".into()));
    }
}
