//! `DiskSpd`'s text reports of versions 2.0.12 to 2.3.
//!
//! Layouts differ in indentation, titles, columns and units. So lines are recognised by their beginning, and cells of
//! tables by the titles above them, never by position.

mod cpu_table;
mod distribution_list;
mod echo;
mod echo_target;
mod io_table;
mod latency_table;
mod lines;
mod machine;
mod own;
mod results;
mod system;
mod wait_table;

use crate::{ReadError, finish, number};
use lines::{Line, Lines};
use machine::Machine;
use model::figures::{Directions, Figures};
use model::result::{RunResult, Tool, Totals};
use model::units::{UnixTime, bytes_of_mib};

/// A report while it is read.
#[derive(Default)]
struct Report {
    result: RunResult,
    machine: Machine,
    signs: VersionEvidence,
    /// By timespan: the alignment of its buffers.
    buffer_separations_bytes: Vec<u64>,
}

/// Evidence of the version, which no text names.
#[derive(Clone, Copy, Debug, Default)]
struct VersionEvidence {
    /// True if it has lines that 2.3 introduced.
    is_2_3: bool,
    /// True if it counts processors, as since 2.2.
    counts_processors: bool,
}

/// True for reports of this program: only these have the kind of loop and the verdict.
fn is_ours(text: &str) -> bool {
    const OURS: [&str; 3] = ["closed loop, depth ", "open loop, ", "Verdict: "];
    text.lines().any(|line| OURS.iter().any(|beginning| line.starts_with(beginning)))
}

pub(super) fn read(text: &str) -> Result<RunResult, ReadError> {
    if is_ours(text) {
        return Err(ReadError::OwnText);
    }
    read_figures(text)
}

/// The same for any report: for one of this program including the data that `DiskSpd` does not print.
pub(super) fn read_any(text: &str) -> Result<RunResult, ReadError> {
    let mut result = read_figures(text)?;
    if is_ours(text) {
        own::add(text, &mut result);
    }
    Ok(result)
}

fn read_figures(text: &str) -> Result<RunResult, ReadError> {
    let mut lines = Lines::new(text);
    let mut report = Report::default();
    report.result.started_at = UnixTime::UNKNOWN;
    while let Some(line) = lines.take() {
        section(line, &mut lines, &mut report)?;
    }
    if report.result.time_spans.is_empty() {
        return Err(lines.error_here("no results: no line begins with 'Results for timespan'"));
    }
    Ok(finished(report))
}

fn section(line: Line<'_>, lines: &mut Lines<'_>, report: &mut Report) -> Result<(), ReadError> {
    let content = line.content();
    if let Some(command_line) = line.text.trim_start().strip_prefix("Command Line: ") {
        if command_line != "<unknown>" {
            command_line.clone_into(&mut report.result.command_line);
        }
    } else if let Some(flags) = content.strip_prefix("Experiment Flags:") {
        let decimal = flags.rsplit_once('(').map_or(flags, |(_, decimal)| decimal.trim_end_matches(')'));
        report.result.profile.experiment_flags = line.parse(decimal, number::whole)?;
    } else if content == "Input parameters:" {
        echo::read(lines, report)?;
    } else if content == "System information:" {
        system::read(lines, report)?;
    } else if let Some(number) = content.strip_prefix("Results for timespan ") {
        let number: u32 = line.parse(number.trim_end_matches(':'), number::whole)?;
        let index = report.result.time_spans.len();
        if usize::try_from(number) != Ok(index + 1) {
            return Err(line.error(
                content,
                format!("expected the results of timespan {}, found those of timespan {number}", index + 1),
            ));
        }
        results::read(lines, report)?;
    } else if content == "Totals:" {
        report.result.totals = Some(totals(lines)?);
    }
    Ok(())
}

/// Sums over several timespans.
fn totals(lines: &mut Lines<'_>) -> Result<Totals, ReadError> {
    let mut figures = Directions::<Figures>::default();
    while let Some(line) = lines.take() {
        if let Some(time) = line.content().strip_prefix("total test time:") {
            let seconds = line.parse(time.trim().trim_end_matches('s'), number::real)?;
            return Ok(Totals { elapsed_ns: seconds.map_or(0, number::seconds_as_ns), figures });
        }
        let cells = line.cells();
        let (&label, values) = cells.split_first().unwrap_or((&"", &[]));
        let place = match label {
            "write" => &mut figures.write,
            "read" => &mut figures.read,
            "total" => &mut figures.total,
            _ => continue,
        };
        let &[bytes, ios, mib_per_s, ios_per_s] = values else {
            return Err(line.error(label, "expected four numbers in a line of totals"));
        };
        *place = Figures {
            bytes: line.parse(bytes, number::whole)?,
            ios: line.parse(ios, number::whole)?,
            bytes_per_s: bytes_of_mib(line.parse(mib_per_s, number::real)?.unwrap_or(0.0)),
            iops: line.parse(ios_per_s, number::real)?.unwrap_or(0.0),
            ..Figures::default()
        };
    }
    Err(lines.error_here("the totals end before their line 'total test time:'"))
}

fn finished(report: Report) -> RunResult {
    let Report { mut result, machine, signs, buffer_separations_bytes } = report;
    result.tool = tool(signs);
    result.system.topology = machine.topology();
    for (index, span_result) in result.time_spans.iter_mut().enumerate() {
        span_result.buffer_separation_bytes = buffer_separations_bytes.get(index).copied().unwrap_or(0);
    }
    finish::align(&mut result.profile, &mut result.time_spans);
    finish::totals(&mut result);
    result
}

fn tool(signs: VersionEvidence) -> Tool {
    let version = match signs {
        VersionEvidence { is_2_3: true, .. } => "2.3",
        VersionEvidence { counts_processors: true, .. } => "2.2",
        VersionEvidence { .. } => "",
    };
    Tool { version: version.to_owned(), version_date: String::new(), implementation: None }
}
