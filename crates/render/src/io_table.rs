//! The three tables of bytes, I/Os and rates.

use crate::foreign;
use model::figures::{Directions, Figures};
use model::result::Measured;
use model::units::{Bytes, mib};
use report::numbers::ms;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The I/Os that a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Total,
    Read,
    Write,
}

impl Kind {
    const fn title(self) -> &'static str {
        match self {
            Self::Total => "Total IO",
            Self::Read => "Read IO",
            Self::Write => "Write IO",
        }
    }

    const fn select(self, figures: &Directions<Figures>) -> &Figures {
        match self {
            Self::Total => &figures.total,
            Self::Read => &figures.read,
            Self::Write => &figures.write,
        }
    }
}

/// Optional columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// `-L`
    pub(crate) latency: bool,
    /// `-D`
    pub(crate) deviation: bool,
}

/// One table, beginning with an empty line.
pub(crate) fn table(out: &mut dyn Write, measured: &Measured, kind: Kind, columns: Columns) -> io::Result<()> {
    let rule = "-".repeat(78 + if columns.latency { 23 } else { 0 } + if columns.deviation { 13 } else { 0 });
    writeln!(out, "\n{}", kind.title())?;
    writeln!(
        out,
        "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s {}{}{}|  file",
        if columns.latency { "|  AvgLat  " } else { "" },
        if columns.deviation { "| IopsStdDev " } else { "" },
        if columns.latency { "| LatStdDev " } else { "" }
    )?;
    writeln!(out, "{rule}")?;
    for row in &measured.rows {
        write!(out, "{:6} | {} | ", row.thread, cells(kind.select(&row.figures), columns))?;
        foreign::write_path(out, &row.path)?;
        match row.target_size_bytes {
            // Results of fio lack it; no target of this program is empty.
            0 => writeln!(out)?,
            bytes => writeln!(out, " ({})", Bytes(bytes))?,
        }
    }
    writeln!(out, "{rule}")?;
    // Scripts take the first line that begins with `total:`.
    writeln!(out, "total:   {}", cells(kind.select(&measured.total), columns))
}

fn cells(figures: &Figures, columns: Columns) -> String {
    let Figures { bytes, ios, bytes_per_s, iops, latency, iops_std_dev } = figures;
    let mut text = format!("{bytes:15} | {ios:12} | {:10.2} | {iops:10.2}", mib(*bytes_per_s));
    // Writing to a String cannot fail.
    if columns.latency {
        let _ = write!(text, " | {:8.3}", latency.map_or(0.0, |latency| ms(latency.mean_ns)));
    }
    if columns.deviation {
        let _ = write!(text, " | {:10.2}", iops_std_dev.unwrap_or(0.0));
    }
    if columns.latency {
        let _ = match latency {
            Some(latency) => write!(text, " |  {:8.3}", ms(latency.std_dev_ns)),
            None => write!(text, " |       N/A"),
        };
    }
    text
}
