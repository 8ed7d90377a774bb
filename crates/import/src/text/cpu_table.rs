//! Usage of the CPUs.

use super::lines::{Line, Lines};
use super::machine::Place;
use crate::{ReadError, number};
use model::result::{CpuUsage, Measured};

/// True for the titles of this table, with any columns.
pub(super) fn is_header(line: Line<'_>) -> bool {
    let cells = line.cells();
    cells.contains(&"CPU") && cells.contains(&"Usage") && cells.contains(&"Idle")
}

/// Reads the table below its titles. Optional columns give the places of the CPUs; one that came online later has none.
pub(super) fn read(header: Line<'_>, lines: &mut Lines<'_>, measured: &mut Measured) -> Result<Vec<Place>, ReadError> {
    let titles = header.cells();
    let mut places = Vec::new();
    while let Some(line) = lines.take() {
        if line.is_rule() {
            continue;
        }
        let cells = line.cells();
        if cells.first() == Some(&"avg.") {
            measured.cpu_average = usage(line, &cells, 0)?;
            return Ok(places);
        }
        if cells.len() != titles.len() {
            let reason = format!("{} columns, but the header has {}", cells.len(), titles.len());
            return Err(line.error(line.content(), reason));
        }
        let mut place = Place::default();
        let mut is_known = true;
        for (&title, &cell) in titles.iter().zip(&cells) {
            let slot = match title {
                "Socket" => &mut place.socket,
                "Node" => &mut place.node,
                "Group" => &mut place.group,
                "Core" => &mut place.core,
                "Class" => &mut place.class,
                "CPU" => {
                    place.number = line.parse(cell, number::whole)?;
                    continue;
                }
                _ => continue,
            };
            if cell == "-" {
                is_known = false;
            } else {
                *slot = Some(line.parse(cell.trim_end_matches('P'), number::whole)?);
            }
        }
        let Some(id) = place.id() else { return Err(line.error(line.content(), "unknown processor group")) };
        measured.cpus.push(usage(line, &cells, id)?);
        if is_known {
            places.push(place);
        }
    }
    Err(lines.error_here("the table of CPUs ends before its line 'avg.'"))
}

/// The last four cells: usage, user, kernel, idle.
fn usage(line: Line<'_>, cells: &[&str], cpu: u32) -> Result<CpuUsage, ReadError> {
    let &[.., usage, user, kernel, idle] = cells else {
        return Err(line.error(line.content(), "expected four percentages"));
    };
    let percent = |cell: &str| Ok(line.parse(cell, |text| number::real(text.trim_end_matches('%')))?.unwrap_or(0.0));
    Ok(CpuUsage {
        cpu,
        usage_percent: percent(usage)?,
        user_percent: percent(user)?,
        kernel_percent: percent(kernel)?,
        idle_percent: percent(idle)?,
    })
}
