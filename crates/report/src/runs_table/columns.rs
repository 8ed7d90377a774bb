//! The columns of a table of runs, declared once.

use super::Cell;
use super::facts::{self, Facts};
use model::metric::{Metric, Scope, ScopedMetric};

/// The type of cells in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Text.
    Text,
    /// Numbers.
    Number,
}

/// One column.
#[derive(Clone, Debug)]
pub struct RunColumn {
    /// Name in documents; it never changes.
    pub name: String,
    /// Unit of its numbers; may be empty.
    pub unit: &'static str,
    /// Its cells.
    pub kind: CellKind,
    /// Its definition, for the documentation.
    pub meaning: String,
    /// Heading in tables of text and pages.
    pub(crate) heading: String,
    /// The option that sets it, if runs that differ in it are different loads.
    pub(crate) option: Option<&'static str>,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Fact(fn(&Facts<'_>) -> Cell),
    Metric(ScopedMetric),
}

impl RunColumn {
    pub(super) fn cell(&self, facts: &Facts<'_>) -> Cell {
        match self.value {
            Value::Fact(value) => value(facts),
            Value::Metric(metric) => facts.metric(metric),
        }
    }
}

/// A column that is not a metric.
struct Fact {
    name: &'static str,
    heading: &'static str,
    kind: CellKind,
    unit: &'static str,
    option: Option<&'static str>,
    meaning: &'static str,
    value: fn(&Facts<'_>) -> Cell,
}

impl Fact {
    const fn text(
        name: &'static str,
        heading: &'static str,
        meaning: &'static str,
        value: fn(&Facts<'_>) -> Cell,
    ) -> Self {
        Self { name, heading, kind: CellKind::Text, unit: "", option: None, meaning, value }
    }

    const fn number(
        name: &'static str,
        heading: &'static str,
        meaning: &'static str,
        value: fn(&Facts<'_>) -> Cell,
    ) -> Self {
        Self { kind: CellKind::Number, ..Self::text(name, heading, meaning, value) }
    }

    const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// For a column that distinguishes loads; `option` is the prefix of its value.
    const fn set_by(self, option: &'static str) -> Self {
        Self { option: Some(option), ..self }
    }
}

/// Columns before the figures.
const SETTINGS: [Fact; 27] = [
    Fact::text("file", "run", "file that the run was read from, as given", facts::file),
    Fact::text("series", "series", "directory of the series that it is part of, as given", facts::series),
    Fact::text(
        "purpose",
        "purpose",
        "of a run in a series: `measure`, `probe`, `again`, `confirm`, `precondition` or `capacity`",
        facts::purpose,
    ),
    Fact::text("point", "point", "settings of the point of the series, as typed", facts::point),
    Fact::number("timespan", "span", "number of the timespan, from 1", facts::timespan),
    Fact::text(
        "rounded",
        "rounded",
        "figures that the file has rounded: `no`, `percentiles` (fio), `latencies, CPU usage` (XML) or `rates, latencies, CPU \
         usage` (text reports)",
        facts::rounded,
    ),
    Fact::text("tool", "tool", "program that measured, with its version", facts::tool),
    Fact::text("started_utc", "started", "start of the run: `2026/11/29 17:16:51`", facts::started_utc),
    Fact::text("label", "label", "`--label` as `name=value`, joined by semicolons", facts::label),
    Fact::text("host", "host", "name of the machine; of several hosts, their names", facts::host).set_by("host"),
    Fact::number("hosts", "hosts", "machines that carried out the load together", facts::hosts),
    Fact::number("targets", "targets", "number of targets", facts::targets).set_by("targets"),
    Fact::text("target_paths", "target", "paths as given, joined by semicolons", facts::target_paths).set_by("target"),
    Fact::number("block_bytes", "block", "block size (`-b`); empty if I/Os have several sizes", facts::block_bytes)
        .unit("bytes")
        .set_by("-b"),
    Fact::text("pattern", "pattern", "`random`, `sequential`, with what departs from it", facts::pattern)
        .set_by("pattern"),
    Fact::number("write_percent", "write %", "share of writes asked for (`-w`)", facts::write_percent)
        .unit("%")
        .set_by("-w"),
    Fact::text("mix", "mix", "`read`, `write`, `70/30 read/write`", facts::mix),
    Fact::number("threads", "threads", "threads of all targets", facts::threads).set_by("-t"),
    Fact::number(
        "depth",
        "depth",
        "I/Os that a thread has outstanding on a target (`-o`), or a thread on all of them (`-O`)",
        facts::depth,
    )
    .set_by("-o"),
    Fact::number(
        "total_depth",
        "QD",
        "I/Os outstanding at most, all threads together; in an open loop a bound",
        facts::total_depth,
    )
    .set_by("QD "),
    Fact::text("caching", "caching", "caches between tool and target: `O_DIRECT`, `unbuffered`", facts::caching)
        .set_by("caching"),
    Fact::text("engine", "engine", "kernel interface; empty in results of DiskSpd", facts::engine).set_by("engine"),
    Fact::number("rate_iops", "rate", "rate of an open loop (`--rate`)", facts::rate_iops)
        .unit("1/s")
        .set_by("--rate="),
    Fact::text("other_options", "options", "all other settings of the load, as typed", facts::other_options)
        .set_by("options"),
    Fact::number("warm_up_s", "warm-up s", "warm-up (`-W`)", facts::warm_up_s).unit("s"),
    Fact::number("duration_s", "s", "duration asked for (`-d`)", facts::duration_s).unit("s"),
    Fact::number("elapsed_s", "elapsed s", "measured time", facts::elapsed_s).unit("s"),
];

/// Columns between settings and metrics.
const COUNTS: [Fact; 2] = [
    Fact::number("bytes", "bytes", "transferred while measuring", facts::bytes).unit("bytes"),
    Fact::number("ios", "I/Os", "reads and writes completed while measuring", facts::ios),
];

/// Columns after the metrics.
const CONCLUSIONS: [Fact; 9] = [
    Fact::number("ssds", "SSDs", "`--ssds`: SSDs below the targets", facts::ssds),
    Fact::number("copies", "copies", "`--copies`: copies that the storage keeps of each written block", facts::copies),
    Fact::number(
        "amplification",
        "amplification",
        "I/Os of the SSDs for each I/O of the load: share of reads + share of writes * `copies`, by the I/Os measured",
        facts::amplification,
    ),
    Fact::number("depth_per_ssd", "QD", "`total_depth` * `amplification` / `ssds`", facts::depth_per_ssd),
    Fact::number("iops_per_ssd", "IOPS", "`iops` * `amplification` / `ssds`", facts::iops_per_ssd).unit("1/s"),
    Fact::number("mib_per_s_per_ssd", "MiB/s", "`mib_per_s` * `amplification` / `ssds`", facts::mib_per_s_per_ssd)
        .unit("MiB/s"),
    Fact::text("verdict", "verdict", "`OK`, `NOTE`, `WARN` or `INVALID`; empty if nothing was judged", facts::verdict),
    Fact::text("findings", "findings", "names of the findings of the verdict, the gravest first", facts::findings),
    Fact::text("error", "error", "why there are no figures, or only some", facts::error),
];

/// All columns, in a fixed order; new ones are appended.
pub fn columns() -> Vec<RunColumn> {
    let metrics = Scope::ALL.into_iter().flat_map(|scope| {
        let has = move |metric: &Metric| scope.has(*metric);
        Metric::ALL.into_iter().filter(has).map(move |metric| (scope, metric))
    });
    let before = SETTINGS.iter().chain(&COUNTS).map(of_fact);
    before.chain(metrics.map(of_metric)).chain(CONCLUSIONS.iter().map(of_fact)).collect()
}

fn of_fact(fact: &Fact) -> RunColumn {
    let &Fact { name, heading, kind, unit, option, meaning, value } = fact;
    RunColumn {
        name: name.to_owned(),
        unit,
        kind,
        meaning: meaning.to_owned(),
        heading: heading.to_owned(),
        option,
        value: Value::Fact(value),
    }
}

fn of_metric((scope, metric): ScopedMetric) -> RunColumn {
    let meaning = metric.meaning().trim_end_matches(" (also: mib)");
    let meaning = match (scope, metric) {
        (Scope::All, Metric::Cpu) => meaning.to_owned(),
        (Scope::All, _) if metric.needs_latency() => {
            format!("{meaning} of reads and writes; empty if the application waits for commits or responses")
        }
        _ => format!("{meaning}: {}", scope.meaning().split(',').next().unwrap_or_default()),
    };
    RunColumn {
        name: name_of_metric(scope, metric),
        unit: metric.unit().name(),
        kind: CellKind::Number,
        meaning,
        heading: scope.label(metric.heading()),
        option: None,
        value: Value::Metric((scope, metric)),
    }
}

/// `iops`, `latency_p99_9_ns`, `read_iops`, `commit_p99_ns`, `response_read_mean_ns`
pub(crate) fn name_of_metric(scope: Scope, metric: Metric) -> String {
    let statistic = match metric {
        Metric::MibPerS => "mib_per_s".to_owned(),
        Metric::Iops => "iops".to_owned(),
        of_machine if of_machine.is_of_machine() => format!("{}_percent", of_machine.name().replace('-', "_")),
        latency => format!("{}_ns", latency.name().replace('.', "_")),
    };
    let prefix = scope.prefix().replace(['.', '-'], "_");
    let prefix = if scope == Scope::All && metric.needs_latency() { "latency_" } else { &prefix };
    format!("{prefix}{statistic}")
}
