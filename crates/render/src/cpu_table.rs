//! Usage of the CPUs.

use model::limits::CPUS_PER_GROUP;
use model::result::{CpuUsage, Measured};
use model::topology::{Cpu, Topology};
use std::fmt::Write as _;
use std::io::{self, Write};

/// A column that is shown only if it distinguishes CPUs.
#[derive(Clone, Copy)]
enum Column {
    Socket,
    Node,
    Group,
    Core,
    Class,
}

impl Column {
    const ALL: [Self; 5] = [Self::Socket, Self::Node, Self::Group, Self::Core, Self::Class];

    fn is_shown(self, topology: &Topology) -> bool {
        match self {
            Self::Socket => topology.socket_count() > 1,
            Self::Node => topology.node_count() > 1,
            Self::Group => topology.group_count() > 1,
            Self::Core => topology.has_smt(),
            Self::Class => topology.highest_class() > 0,
        }
    }

    const fn header(self) -> &'static str {
        match self {
            Self::Socket => "Socket | ",
            Self::Node => "Node | ",
            Self::Group => "Group | ",
            Self::Core => "Core | ",
            Self::Class => "Class | ",
        }
    }

    /// The cell of a CPU; one that came online during the run has no known place.
    fn cell(self, cpu: u32, known: Option<&Cpu>, topology: &Topology) -> String {
        let value = match (self, known) {
            (Self::Group, _) => (cpu / CPUS_PER_GROUP).to_string(),
            (_, None) => "-".to_owned(),
            (Self::Socket, Some(cpu)) => cpu.socket.to_string(),
            (Self::Node, Some(cpu)) => cpu.node.to_string(),
            (Self::Core, Some(cpu)) => topology.core_number(cpu).to_string(),
            (Self::Class, Some(cpu)) => cpu.class.to_string(),
        };
        // The class is followed by its letter, so its number ends one place earlier.
        let letter = match (self, known) {
            (Self::Class, Some(cpu)) if cpu.class == topology.highest_class() => "P",
            (Self::Class, _) => " ",
            _ => "",
        };
        let width = self.header().len() - " | ".len() + 1 - letter.len();
        format!("{value:>width$}{letter}| ")
    }
}

/// The table, beginning with an empty line; empty if an imported result has neither usage nor CPUs.
pub(crate) fn table(out: &mut dyn Write, measured: &Measured, topology: &Topology) -> io::Result<()> {
    if !measured.has_cpu_usage() && topology.cpus.is_empty() {
        return Ok(());
    }
    let columns: Vec<Column> = Column::ALL.into_iter().filter(|column| column.is_shown(topology)).collect();
    let headers: String = columns.iter().map(|column| column.header()).collect();
    let rule = "-".repeat(headers.len() + 40);
    writeln!(out, "\n{headers}CPU |  Usage |  User  | Kernel |  Idle")?;
    writeln!(out, "{rule}")?;
    for usage in &measured.cpus {
        let known = topology.cpu(usage.cpu);
        let mut row = String::new();
        for column in &columns {
            row += &column.cell(usage.cpu, known, topology);
        }
        // Writing to a String cannot fail.
        let _ = write!(row, "{:4}", usage.cpu % CPUS_PER_GROUP);
        percentages(out, &row, usage)?;
    }
    writeln!(out, "{rule}")?;
    // Scripts anchor at `avg.` in the first column; the bars stay under those of the rows.
    let label = format!("{:<width$}", "avg.", width = headers.len() + 4);
    percentages(out, &label, &measured.cpu_average)
}

fn percentages(out: &mut dyn Write, label: &str, usage: &CpuUsage) -> io::Result<()> {
    writeln!(
        out,
        "{label}| {:6.2}%| {:6.2}%| {:6.2}%| {:6.2}%",
        usage.usage_percent, usage.user_percent, usage.kernel_percent, usage.idle_percent
    )
}
