//! Latencies over time, as a heat map.

use super::s;
use crate::axis::Axis;
use crate::chart::{Cell, Chart, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::{Quantity, latency, significant};
use crate::role::{HEAT_MIN, Role};
use model::result::Measured;
use model::units::counted;
use stats::overview::{HeatCell, LatencyHeat, latency_heat};

const TITLE: &str = "Latency heat map";
const COLUMNS_MAX: usize = 60;

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    let Some(heat) = latency_heat(&measured.sections, COLUMNS_MAX) else {
        return Err(MissingChart::because(
            TITLE,
            "the result has no latencies over time; JSON results of runs with -L or -D have them",
        ));
    };
    let strongest = heat.cells.iter().map(|cell| cell.percent).fold(0.0, f64::max);
    let cells = heat.cells.iter().map(|cell| drawn(&heat, cell, strongest)).collect();
    let end_s = heat.times_ns.last().map_or(0.0, |end_ns| s(*end_ns));
    Ok(Chart {
        name: "heat",
        title: TITLE.to_owned(),
        caption: "Reads and writes together. The stronger the colour of a cell, the more of the I/Os at that time had that latency."
            .to_owned(),
        x: Axis::linear("", Quantity::TimeS, 0.0, end_s),
        y: Axis::log("latency", Quantity::LatencyNs, heat.latencies_ns.iter().copied()),
        series: vec![Series { name: String::new(), role: Role::Heat, marks: Marks::Cells(cells) }],
        right: None,
        markers: Vec::new(),
    })
}

fn drawn(heat: &LatencyHeat, cell: &HeatCell, strongest: f64) -> Cell {
    let HeatCell { column, row, count, percent } = *cell;
    let x = (s(heat.times_ns[column]), s(heat.times_ns[column + 1]));
    let y = (heat.latencies_ns[row], heat.latencies_ns[row + 1]);
    let times = format!("{} - {}", Quantity::TimeS.value(x.0), Quantity::TimeS.value(x.1));
    let latencies = format!("{} - {}", latency(y.0), latency(y.1));
    Cell {
        x,
        y,
        value: count as f64,
        // Square roots make rare values visible beside frequent ones.
        strength: HEAT_MIN + (1.0 - HEAT_MIN) * (percent / strongest).sqrt(),
        label: String::new(),
        text: format!("{times}, {latencies}: {}, {} %", counted(count, "I/O"), significant(percent)),
    }
}
