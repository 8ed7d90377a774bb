//! The tables of bytes, I/Os and rates.

use super::lines::{Line, Lines};
use crate::{ReadError, number};
use model::figures::{Directions, Figures, LatencyFigures};
use model::profile::TimeSpan;
use model::result::{Measured, Row};
use model::units::bytes_of_mib;

/// One of the three tables.
pub(super) struct Table {
    rows: Vec<TableRow>,
    total: Figures,
}

struct TableRow {
    thread: u32,
    path: String,
    target_size_bytes: u64,
    figures: Figures,
}

/// Reads a table below its title.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Table, ReadError> {
    let header = lines.take().filter(|line| line.cells().first() == Some(&"thread"));
    let Some(header) = header else {
        return Err(lines.error_here("expected the column titles of a table: 'thread | ...'"));
    };
    let titles = header.cells();
    let mut rows = Vec::new();
    while let Some(line) = lines.take() {
        if line.is_rule() {
            continue;
        }
        if let Some(total) = line.content().strip_prefix("total:") {
            let cells: Vec<&str> = total.split('|').map(str::trim).collect();
            // Label and bytes share one cell, and there is no file.
            let titles = titles.get(1..).unwrap_or_default();
            return Ok(Table { rows, total: figures(line, titles, &cells)? });
        }
        rows.push(row(line, &titles)?);
    }
    Err(lines.error_here("the table ends before its line 'total:'"))
}

fn row(line: Line<'_>, titles: &[&str]) -> Result<TableRow, ReadError> {
    // The last cell is a path, which may contain anything.
    let cells: Vec<&str> = line.text.splitn(titles.len(), '|').map(str::trim).collect();
    if cells.len() != titles.len() || cells.len() < 2 {
        let reason = format!("{} columns, but the header has {}", cells.len(), titles.len());
        return Err(line.error(line.content(), reason));
    }
    // One blank follows the bar; others belong to the path.
    let file = line.text.splitn(titles.len(), '|').last().unwrap_or_default();
    let file = file.strip_prefix(' ').unwrap_or(file).trim_end();
    let (path, size) = file.strip_suffix(')').and_then(|file| file.rsplit_once(" (")).unwrap_or((file, "0"));
    Ok(TableRow {
        thread: line.parse(cells[0], number::whole)?,
        path: path.to_owned(),
        target_size_bytes: line.parse(size, number::size_bytes)?,
        figures: figures(line, &titles[1..], &cells[1..])?,
    })
}

/// The cells below known titles; `MB/s` is the name of `MiB/s` in old versions.
fn figures(line: Line<'_>, titles: &[&str], cells: &[&str]) -> Result<Figures, ReadError> {
    let mut figures = Figures::default();
    let (mut mean_ms, mut std_dev_ms) = (None, None);
    for (&title, &cell) in titles.iter().zip(cells) {
        let real = |cell| if cell == "N/A" { Ok(None) } else { line.parse(cell, number::real) };
        match title {
            "bytes" => figures.bytes = line.parse(cell, number::whole)?,
            "I/Os" => figures.ios = line.parse(cell, number::whole)?,
            "MiB/s" | "MB/s" => figures.bytes_per_s = bytes_of_mib(real(cell)?.unwrap_or(0.0)),
            "I/O per s" => figures.iops = real(cell)?.unwrap_or(0.0),
            "AvgLat" => mean_ms = real(cell)?,
            "IopsStdDev" => figures.iops_std_dev = Some(real(cell)?.unwrap_or(0.0)),
            "LatStdDev" => std_dev_ms = real(cell)?,
            _ => {}
        }
    }
    if figures.ios > 0
        && let Some(mean_ms) = mean_ms
    {
        figures.latency = Some(LatencyFigures {
            mean_ns: number::ns(mean_ms),
            std_dev_ns: number::ns(std_dev_ms.unwrap_or(0.0)),
            min_ns: None,
            max_ns: None,
        });
    }
    Ok(figures)
}

/// Joins the tables, which have the same rows.
pub(super) fn join(tables: Directions<Option<Table>>, measured: &mut Measured) -> Result<(), String> {
    let Directions { read: Some(read), write: Some(write), total: Some(total) } = tables else {
        return Err("one of the tables 'Total IO', 'Read IO' and 'Write IO' is missing".to_owned());
    };
    if read.rows.len() != total.rows.len() || write.rows.len() != total.rows.len() {
        return Err("the tables 'Total IO', 'Read IO' and 'Write IO' have different numbers of lines".to_owned());
    }
    measured.total = Directions { read: read.total, write: write.total, total: total.total };
    let reads = read.rows.into_iter().map(|row| row.figures);
    let writes = write.rows.into_iter().map(|row| row.figures);
    measured.rows = total
        .rows
        .into_iter()
        .zip(reads.zip(writes))
        .map(|(row, (read, write))| Row {
            thread: row.thread,
            path: row.path.into(),
            target_size_bytes: row.target_size_bytes,
            figures: Directions { read, write, total: row.figures },
            ..Row::default()
        })
        .collect();
    Ok(())
}

/// Sets options that the columns imply, if the input parameters lack them.
pub(super) fn complete(span: &mut TimeSpan, measured: &Measured) {
    span.measure_latency |= measured.total_latency.is_some();
    span.calculate_iops_std_dev |= measured.total.total.iops_std_dev.is_some();
}
