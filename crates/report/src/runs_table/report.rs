//! The report of a table of runs: the answer, the runs side by side, and their facts.

use super::pivot::pivot;
use super::{Cell, CellKind, Curve, Dimension, Group, Rounding, Row, RunsTable};
use crate::answer::Statement;
use crate::block::{Answer, Block, Brief, Column, Report, Section, Table, Tone, Trust, dash};
use crate::brief::{listed, remedy_of_runs};
use crate::chart::ChartResult;
use crate::quantity::{Quantity, grouped};
use crate::warnings::{Explain, NamedRun, banner, warnings_of_repeats};
use crate::words::figure_words;
use model::finding::Severity;
use model::headline::Headline;
use model::metric::{Metric, MetricUnit, Scope, ScopedMetric};
use model::units::counted;

/// Runs that a sentence names; the others are counted.
const NAMED_MAX: usize = 4;

/// Settings in order of importance: the first are kept if there is no room for all.
const KEPT_FIRST: [&str; 13] = [
    "block_bytes",
    "depth",
    "write_percent",
    "host",
    "threads",
    "rate_iops",
    "pattern",
    "total_depth",
    "caching",
    "target_paths",
    "other_options",
    "engine",
    "targets",
];

/// Settings that stand before the figures.
const BEFORE_FIGURES_MAX: usize = 4;

/// The figures of the table of text and pages.
const SHOWN: [Metric; 5] = [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P99, Metric::Cpu];

/// The report; `name` is its title.
pub(crate) fn report(table: &RunsTable, name: &str, explain: Explain) -> Report {
    let named: Vec<NamedRun<'_>> =
        table.rows().iter().filter_map(|row| Some((table.short_name(row), row.headline.as_ref()?))).collect();
    let mut first = vec![Block::Answers { answers: vec![answer(table)] }];
    first.extend(banner(warnings_of_repeats(&named, explain)));
    let mut sections = vec![Section::new("", first)];
    let curve = table.curve();
    let drawn = crate::block::charts(charts(table, curve.as_ref()));
    if !drawn.is_empty() {
        sections.push(Section::new("By setting", drawn));
    }
    sections.extend(curve.as_ref().and_then(|curve| pivot(table, curve)).map(|pivot| {
        let heading = pivot.heading.clone();
        Section::new(&heading, vec![Block::Table(Table { heading: String::new(), ..pivot })])
    }));
    sections.push(Section::new("The runs", vec![Block::Table(runs(table))]));
    sections.extend(table.devices().map(|_| Section::new(&heading_of_ssds(table), vec![Block::Table(per_ssd(table))])));
    sections.push(Section::of_details("Settings of each run", vec![Block::Table(settings(table))]));
    let brief = brief(table, explain);
    let times = times(table).unwrap_or_else(|| "time unknown".to_owned());
    Report::new(name.to_owned(), load(table), times, brief, sections).of_method("Table of runs")
}

/// The charts of the curve or grid, throughput first.
pub(crate) fn charts(table: &RunsTable, curve: Option<&Curve>) -> Vec<ChartResult> {
    curve.map(|curve| super::charts::of_runs(table, curve)).unwrap_or_default().into_iter().map(Ok).collect()
}

/// Settings that all runs have in common, on a line.
fn load(table: &RunsTable) -> String {
    const PARTS: [&str; 11] = [
        "block_bytes",
        "pattern",
        "mix",
        "threads",
        "depth",
        "total_depth",
        "caching",
        "engine",
        "rate_iops",
        "duration_s",
        "host",
    ];
    let of_column = |name: &&str| {
        let (index, mut rows) = (table.index(name), table.rows().iter().filter(|row| row.headline.is_some()));
        let first = rows.next()?.cells.get(index)?;
        let is_common = *first != Cell::Empty && rows.all(|row| row.cells.get(index) == Some(first));
        let (column, value) = (&table.columns()[index], table.columns()[index].shown(first));
        is_common.then(|| match *name {
            "block_bytes" => value,
            "threads" => format!("{value} threads").replace("1 threads", "1 thread"),
            "depth" => format!("-o{value}"),
            "total_depth" => format!("QD {value}"),
            "rate_iops" => format!("open loop at {value} IOPS"),
            "duration_s" => format!("{value} s"),
            "host" => format!("host {value}"),
            _ => column.shown(first),
        })
    };
    let parts: Vec<String> = PARTS.iter().filter_map(of_column).collect();
    if parts.is_empty() { String::new() } else { format!("all runs: {}", parts.join(", ")) }
}

fn answer(table: &RunsTable) -> Answer {
    let dimensions = in_order_of_columns(table.dimensions());
    let groups = table.groups(&dimensions);
    let runs = counted(table.rows().len(), "run");
    let ranked: Vec<&Group<'_>> = groups.iter().filter(|group| !is_rate_limited(group)).collect();
    let statement = |tone, headline: String, sentences| Statement { tone, about: runs.clone(), headline, sentences };
    let left_out = left_out(table, groups.len() > ranked.len());
    let hosts = hosts(table);
    let best = |metric| best(&ranked, (Scope::All, metric));
    let best_words = |group: &Group<'_>, metric| best_words(table, &dimensions, group, metric);
    if groups.is_empty() {
        let sentences = left_out;
        return Answer::resting_on([], statement(Tone::Bad, "None has valid figures".to_owned(), sentences));
    }
    if hosts.len() > 1 {
        let names = listed(hosts.clone(), NAMED_MAX);
        let headline = format!("{} ({names}), not ranked", counted(hosts.len(), "host"));
        return Answer::resting_on(headlines(&groups), statement(Tone::Plain, headline, left_out));
    }
    let Some(most) = best(Metric::Iops) else {
        let headline = "Limited by a rate of their own, not ranked".to_owned();
        return Answer::resting_on(headlines(&groups), statement(Tone::Plain, headline, left_out));
    };
    if ranked.len() == 1 {
        let headline = match most.rows.len() {
            1 => format!("{} IOPS", iops(most)),
            _ => format!("The same settings, median {} IOPS", iops(most)),
        };
        return Answer::resting_on(most.headlines(), statement(Tone::Good, headline, left_out));
    }
    let mut sentences = Vec::new();
    if dimensions.iter().any(|dimension| table.columns()[dimension.column].name == "block_bytes") {
        sentences
            .extend(best(Metric::MibPerS).map(|group| format!("Most MiB/s {}.", best_words(group, Metric::MibPerS))));
    }
    sentences.extend(left_out);
    let headline = format!("Most IOPS {}", best_words(most, Metric::Iops));
    Answer::naming(most.headlines(), headlines(&groups), statement(Tone::Good, headline, sentences))
}

fn headlines<'a>(groups: &'a [Group<'a>]) -> impl Iterator<Item = &'a Headline> {
    groups.iter().flat_map(Group::headlines)
}

fn is_rate_limited(group: &Group<'_>) -> bool {
    group.headlines().any(|headline| headline.is_rate_limited)
}

/// The group with the highest median.
fn best<'a>(groups: &[&'a Group<'a>], metric: ScopedMetric) -> Option<&'a Group<'a>> {
    let known = groups.iter().filter_map(|group| Some((*group, group.median(metric)?)));
    known.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(group, _)| group)
}

fn iops(group: &Group<'_>) -> String {
    group.median((Scope::All, Metric::Iops)).map(grouped).unwrap_or_default()
}

/// `with -b4K -o32: 51,570 (run-12.json)`
fn best_words(table: &RunsTable, dimensions: &[Dimension], group: &Group<'_>, metric: Metric) -> String {
    let typed = dimensions.iter().zip(&group.key).map(|(of, cell)| table.columns()[of.column].typed(cell));
    let value = group.median((Scope::All, metric)).unwrap_or_default();
    let value = if metric == Metric::Iops { grouped(value) } else { crate::quantity::significant_grouped(value) };
    let runs = match &group.rows[..] {
        [only] => table.short_name(only),
        rows => format!("median of {} runs", rows.len()),
    };
    let typed: Vec<String> = typed.filter(|typed| !typed.is_empty()).collect();
    format!("with {}: {value} ({runs})", typed.join(" "))
}

fn in_order_of_columns(mut dimensions: Vec<Dimension>) -> Vec<Dimension> {
    dimensions.sort_by_key(|dimension| dimension.column);
    dimensions
}

/// The names of the hosts of comparable runs, each once; runs without one count as one unknown host.
fn hosts(table: &RunsTable) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for row in table.comparable() {
        let host = match table.cell(row, "host").plain() {
            host if host.is_empty() => "unknown".to_owned(),
            host => host,
        };
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// Sentences on the runs that the answer leaves out.
fn left_out(table: &RunsTable, has_limited: bool) -> Vec<String> {
    let named = |is_it: &dyn Fn(&Row) -> bool| -> Vec<String> {
        table.rows().iter().filter(|row| is_it(row)).map(|row| table.short_name(row)).collect()
    };
    let is_invalid = |row: &Row| row.headline.as_ref().is_some_and(|found| found.severity >= Some(Severity::Fail));
    let is_empty = |row: &Row| row.headline.as_ref().is_none_or(|found| found.ios == 0);
    let is_limited = |row: &Row| has_limited && row.headline.as_ref().is_some_and(|found| found.is_rate_limited);
    let sentence = |names: Vec<String>, what: &str| {
        let count = names.len();
        (count > 0).then(|| format!("Not ranked, {what}: {} ({}).", counted(count, "run"), listed(names, NAMED_MAX)))
    };
    [
        sentence(named(&is_invalid), "INVALID"),
        sentence(named(&is_empty), "without figures"),
        sentence(named(&is_limited), "limited by a rate of its own"),
        sentence(named(&|row: &Row| row.is_preparation), "preparation of a series"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A row for each run: its name, the settings in which runs differ, the most requested figures, the verdict. If there
/// are many settings, the less important ones come last.
fn runs(table: &RunsTable) -> Table {
    let all: Vec<&Row> = table.rows().iter().filter(|row| row.headline.is_some()).collect();
    let [first, last] = settings_of_runs(table, &all);
    let metrics = Headline::shown_metrics(&SHOWN, all.iter().filter_map(|row| row.headline.as_ref()));
    let setting = |index: &usize| {
        let column = &table.columns()[*index];
        let is_number = column.kind == CellKind::Number;
        let spare = rank(&column.name).map(|rank| KEPT_FIRST.len() - rank);
        Column { is_number, is_wrapped: !is_number, spare, ..Column::text(&column.heading) }
    };
    let figure = |(scope, metric): &ScopedMetric| {
        let spare = match metric {
            Metric::Iops => None,
            Metric::Cpu => Some(0),
            _ => Some(KEPT_FIRST.len() + 1),
        };
        Column { spare, ..Column::number(&scope.label(metric.heading())) }
    };
    let columns = std::iter::once(Column::words("run"))
        .chain(first.iter().map(setting))
        .chain(metrics.iter().map(figure))
        .chain([Column::text("verdict")])
        .chain(last.iter().map(setting));
    let row = |row: &Row| {
        let shown = |index: &usize| table.columns()[*index].shown(&row.cells[*index]);
        let mut cells = vec![table.short_name(row)];
        cells.extend(first.iter().map(shown));
        cells.extend(metrics.iter().map(|metric| shown_figure(table, row, *metric)));
        cells.push(match (&row.headline, table.cell(row, "verdict")) {
            (None, _) => "no figures".to_owned(),
            (Some(_), Cell::Text(verdict)) => verdict.clone(),
            (Some(_), _) => dash(),
        });
        cells.extend(last.iter().map(shown));
        cells
    };
    Table {
        label: "The runs",
        columns: columns.collect(),
        rows: table.rows().iter().map(row).collect(),
        note: note(table),
        ..Table::default()
    }
}

/// The settings in which these runs differ: those before the figures and those after them, each in the order of the
/// columns.
fn settings_of_runs(table: &RunsTable, rows: &[&Row]) -> [Vec<usize>; 2] {
    let mut first = table.differing(rows);
    first.sort_by_key(|index| rank(&table.columns()[*index].name));
    let mut last = first.split_off(first.len().min(BEFORE_FIGURES_MAX));
    first.sort_unstable();
    last.sort_unstable();
    [first, last]
}

fn rank(name: &str) -> Option<usize> {
    KEPT_FIRST.iter().position(|kept| *kept == name)
}

fn shown_figure(table: &RunsTable, row: &Row, metric: ScopedMetric) -> String {
    match &row.headline {
        Some(headline) if metric.1 != Metric::Cpu => figure_words::cell(metric, headline),
        // Results of fio lack it.
        Some(_) => table.cell(row, "cpu_percent").as_number().map_or_else(dash, |cpu| format!("{cpu:.2}")),
        None => dash(),
    }
}

/// The rounding of figures: by the table, and by the files.
fn note(table: &RunsTable) -> String {
    let mut parts =
        vec!["Shown to 0.01 IOPS, 0.01 MiB/s, 1 µs and 0.01 % CPU; files of --output have all digits.".to_owned()];
    for rounding in [Rounding::Fio, Rounding::Xml, Rounding::Text] {
        let names: Vec<String> =
            table.rows().iter().filter(|row| row.rounding == rounding).map(|row| table.short_name(row)).collect();
        if !names.is_empty() {
            parts.push(format!("Rounded in the file: {} ({}).", listed(names, NAMED_MAX), rounding.extent()));
        }
    }
    parts.join(" ")
}

fn heading_of_ssds(table: &RunsTable) -> String {
    let words = table.devices().map(|devices| {
        let copies = if devices.copies == 1 { "1 copy".to_owned() } else { format!("{} copies", devices.copies) };
        format!("Per SSD ({}, {copies} of each write)", counted(devices.ssds, "SSD"))
    });
    words.unwrap_or_default()
}

/// The share of one SSD in each run.
fn per_ssd(table: &RunsTable) -> Table {
    const COLUMNS: [&str; 4] = ["amplification", "depth_per_ssd", "iops_per_ssd", "mib_per_s_per_ssd"];
    let columns = COLUMNS.iter().map(|name| Column::number(&table.columns()[table.index(name)].heading));
    let rows = table.rows().iter().map(|row| {
        let shown = |name: &&str| {
            let number = table.cell(row, name).as_number();
            number.map_or_else(dash, |number| format!("{number:.2}"))
        };
        std::iter::once(table.short_name(row)).chain(COLUMNS.iter().map(shown)).collect()
    });
    Table {
        label: "Per SSD",
        columns: std::iter::once(Column::words("run")).chain(columns).collect(),
        rows: rows.collect(),
        note: "Amplification: I/Os of the SSDs for each I/O of the load.".to_owned(),
        ..Table::default()
    }
}

/// All settings that any run has.
fn settings(table: &RunsTable) -> Table {
    let end = table.index("bytes");
    let is_used = |index: &usize| table.rows().iter().any(|row| row.cells[*index] != Cell::Empty);
    let used: Vec<usize> = (0..end).filter(is_used).collect();
    let columns = used.iter().map(|index| {
        let column = &table.columns()[*index];
        Column { is_number: column.kind == CellKind::Number, ..Column::text(&column.name) }
    });
    let rows = table.rows().iter().map(|row| {
        let cells = used.iter().map(|index| row.cells[*index].plain());
        cells.map(|cell| if cell.is_empty() { dash() } else { cell }).collect()
    });
    Table { label: "Settings of each run", columns: columns.collect(), rows: rows.collect(), ..Table::default() }
}

/// Start times of the runs: the first and the last.
fn times(table: &RunsTable) -> Option<String> {
    let mut started: Vec<String> = table.rows().iter().map(|row| table.cell(row, "started_utc").plain()).collect();
    started.retain(|time| !time.is_empty());
    started.sort();
    match &started[..] {
        [] => None,
        [first, .., last] if first != last => Some(format!("{first} to {last} UTC")),
        [only, ..] => Some(format!("{only} UTC")),
    }
}

fn brief(table: &RunsTable, explain: Explain) -> Brief {
    let dimensions = table.dimensions();
    let groups = table.groups(&dimensions);
    let each = |name: &str| {
        let mut found: Vec<String> = Vec::new();
        for value in table.rows().iter().map(|row| table.cell(row, name).plain()) {
            if !value.is_empty() && !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let tools = listed(each("tool"), NAMED_MAX);
    let times = times(table).map(|times| format!(", {times}")).unwrap_or_default();
    let by = if tools.is_empty() { String::new() } else { format!(" by {tools}") };
    let differing =
        dimensions.iter().map(|of| table.columns()[of.column].heading.clone()).collect::<Vec<_>>().join(", ");
    let differing =
        if differing.is_empty() { "Settings: equal.".to_owned() } else { format!("Runs differ in: {differing}.") };
    let (hosts, targets) = (each("host"), each("target_paths"));
    let hosts = if hosts.is_empty() { "unknown".to_owned() } else { listed(hosts, NAMED_MAX) };
    let on = format!("Hosts: {hosts}. Targets: {}.", listed(targets, NAMED_MAX));
    let is_repeated = !groups.is_empty() && groups.iter().all(|group| group.rows.len() > 1);
    let basis = if is_repeated {
        "medians of the runs with the same settings"
    } else {
        "one run of a setting does not show the variation between runs"
    };
    let valid: Vec<&Headline> = table.rows().iter().filter_map(|row| row.headline.as_ref()).collect();
    let next = "Add --output runs.xlsx for a spreadsheet with all columns and a chart, or .csv or .html; diskspd compare says \
                how two of the runs differ.";
    Brief {
        measured: format!("{}{by}{times}. {differing}", counted(table.rows().len(), "run")),
        on,
        trust: Trust::in_answer(valid.iter().copied(), is_repeated, basis),
        next: remedy_of_runs(&valid, explain).map(|remedy| remedy + " ").unwrap_or_default() + next,
        command: String::new(),
    }
}

/// The quantity of a metric on an axis.
pub(crate) fn quantity(metric: Metric) -> Quantity {
    match metric.unit() {
        MetricUnit::IosPerSecond => Quantity::Iops,
        MetricUnit::MibPerSecond => Quantity::MibPerS,
        MetricUnit::Percent => Quantity::Percent,
        MetricUnit::Nanoseconds => Quantity::LatencyNs,
    }
}
