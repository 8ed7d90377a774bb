//! The machine, as far as a text contains it.

use super::Report;
use super::lines::{Line, Lines};
use super::machine::CacheRow;
use crate::number::start_time;
use crate::{ReadError, number};
use model::topology::CacheKind;
use model::units::UnixTime;

/// Reads the system block, up to the results.
pub(super) fn read(lines: &mut Lines<'_>, report: &mut Report) -> Result<(), ReadError> {
    while let Some(line) = lines.peek() {
        if line.content().starts_with("Results for timespan ") {
            break;
        }
        lines.take();
        if line.content() == "cache information:" {
            caches(lines, report)?;
        } else if let Some((label, value)) = line.content().split_once(':') {
            property(line, label, value.trim(), report)?;
        }
    }
    Ok(())
}

fn property(line: Line<'_>, label: &str, value: &str, report: &mut Report) -> Result<(), ReadError> {
    let system = &mut report.result.system;
    let known = (!value.is_empty() && value != "<unknown>").then(|| value.to_owned());
    let counts = &mut report.machine.counts;
    match label {
        "computer name" => system.computer_name = known.unwrap_or_default(),
        "processor name" => {
            report.signs.is_2_3 = true;
            system.processor_name = known;
        }
        "start time" => report.result.started_at = start_time(value).unwrap_or(UnixTime::UNKNOWN),
        "active power scheme" => system.power_scheme = known,
        "page size" if known.is_some() => system.page_size_bytes = line.parse(value, number::size_bytes)?,
        "cpu count" => {
            report.signs.counts_processors = true;
            counts.cpus = line.parse(value, number::whole)?;
        }
        "core count" => counts.cores = line.parse(value, number::whole)?,
        "group count" => counts.groups = line.parse(value, number::whole)?,
        "node count" => counts.nodes = line.parse(value, number::whole)?,
        "socket count" => counts.sockets = line.parse(value, number::whole)?,
        "heterogeneous cores" => counts.is_heterogeneous = value == "y",
        _ => {}
    }
    Ok(())
}

/// Rows until an empty line.
fn caches(lines: &mut Lines<'_>, report: &mut Report) -> Result<(), ReadError> {
    let mut has_begun = false;
    while let Some(line) = lines.peek() {
        if line.content().is_empty() && has_begun {
            break;
        }
        lines.take();
        if line.is_rule() {
            has_begun = true;
        } else if has_begun {
            report.machine.caches.push(cache(line)?);
        }
    }
    Ok(())
}

/// `L1d   |    48KiB |   64B | 12-way | 0-1 (per core)`
fn cache(line: Line<'_>) -> Result<CacheRow, ReadError> {
    let cells = line.cells();
    let &[name, size, line_size, associativity, cpus] = cells.as_slice() else {
        return Err(line.error(line.content(), "expected five columns in a line of the cache table"));
    };
    let Some(level) = name.strip_prefix('L') else {
        return Err(line.error(name, "expected a cache name that begins with L"));
    };
    let (level, kind) = match level.chars().last() {
        Some('d') => (&level[..level.len() - 1], CacheKind::Data),
        Some('i' | 't') => (&level[..level.len() - 1], CacheKind::Instruction),
        _ => (level, CacheKind::Unified),
    };
    let unknown_as_0 = |text: &str| if text == "-" { Ok(0) } else { number::size_bytes(text) };
    let line_bytes: u64 = line.parse(line_size, unknown_as_0)?;
    let (cpus, users) = cpus.split_once(" (per ").map_or((cpus, ""), |(cpus, users)| (cpus, users));
    Ok(CacheRow {
        level: line.parse(level, number::whole)?,
        kind,
        size_bytes: line.parse(size, unknown_as_0)?,
        line_bytes: u32::try_from(line_bytes).map_err(|_| line.error(line_size, "the cache line size is too large"))?,
        associativity: match associativity {
            "-" => 0,
            "full" => 255,
            ways => line.parse(ways.trim_end_matches("-way"), number::whole)?,
        },
        cpus: cpus.to_owned(),
        users: users.trim_end_matches(')').to_owned(),
    })
}
