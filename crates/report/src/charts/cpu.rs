//! Usage of each CPU.

use crate::axis::Axis;
use crate::chart::{Cell, Chart, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::{Quantity, significant};
use crate::role::Role;
use model::result::{CpuUsage, Measured};

pub(crate) const TITLE: &str = "CPU usage of the machine";

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    if measured.cpus.is_empty() {
        return Err(MissingChart::because(TITLE, "the result has no CPU usage"));
    }
    let bar = |index: usize, usage: &CpuUsage, (from, to): (f64, f64), of: &str| {
        let middle = index as f64 + 1.0;
        Cell {
            x: (middle - 0.38, middle + 0.38),
            y: (from, to),
            value: to - from,
            strength: 1.0,
            label: String::new(),
            text: format!("CPU {}: {of} {} %", usage.cpu, significant(to - from)),
        }
    };
    let bars = |of: &'static str, part: fn(&CpuUsage) -> (f64, f64)| {
        let cells = measured.cpus.iter().enumerate().map(|(index, usage)| bar(index, usage, part(usage), of));
        Marks::Cells(cells.collect())
    };
    let kernel = bars("kernel", |usage| (0.0, usage.kernel_percent));
    let user = bars("user", |usage| (usage.kernel_percent, usage.kernel_percent + usage.user_percent));
    let series = |name: &str, role, marks| Series { name: name.to_owned(), role, marks };
    let names = measured.cpus.iter().enumerate().map(|(index, usage)| (index as f64 + 1.0, usage.cpu.to_string()));
    Ok(Chart {
        name: "cpu",
        title: TITLE.to_owned(),
        caption: "What all programs together used of each CPU.".to_owned(),
        x: Axis::named("CPU", Quantity::Count, (0.4, measured.cpus.len() as f64 + 0.6), names.collect()),
        y: Axis::linear("of the measured time", Quantity::Percent, 0.0, 100.0),
        series: vec![series("user", Role::User, user), series("kernel", Role::Kernel, kernel)],
        right: None,
        markers: Vec::new(),
    })
}
