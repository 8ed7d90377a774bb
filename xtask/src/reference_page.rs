//! The reference: pages of all options and of all subcommands, generated from the sources of the program's help.

use cli::options::{self, Group, OptionRow};
use cli::subcommand;
use cli::volumes::{self, Caps, Table};
use model::counter_object::CounterObject;
use model::metric::{Metric, Scope};
use model::performance_counter::NamedCounter;
use model::system_counter::SYSTEM_COUNTERS;
use report::runs_table::{CellKind, RunColumn};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The head of the page of options; [`is_usual`] leaves out what it states.
const OPTIONS_HEAD: &str = "\
# Options

All options of a run; `diskspd --help OPTION` prints the entry of one. Unless its last line says otherwise, an option

* applies to every target if it has one hyphen, to this invocation and not to a profile if it has two,
* counts with its last value if it is given again,
* is refused with `-X` if it has one hyphen, and allowed if it has two,
* is as old as DiskSpd 2.0 if it has one hyphen, and unknown to DiskSpd if it has two.

[System calls behind switches](../switches.md) says where the kernel shows them.
";

/// `docs/reference/options.md`
pub(crate) fn options_page() -> String {
    let mut page = OPTIONS_HEAD.to_owned();
    for group in Group::ALL {
        let _ = writeln!(page, "\n## {}", group.title());
        for row in options::all().filter(|row| row.group == group) {
            option(&mut page, row);
        }
    }
    page
}

/// The end of `docs/jobs.md`: the keys of all tables.
pub(crate) fn job_tables() -> String {
    let mut text = String::new();
    for table in settings::job::key_tables() {
        let header = if table.header.is_empty() { "the file itself".to_owned() } else { format!("`{}`", table.header) };
        let _ = writeln!(text, "\n## Keys of {header}\n\n| Key | Option | In XML | Meaning |\n|---|---|---|---|");
        for key in table.keys {
            let option = if key.option.is_empty() { String::new() } else { format!("`{}`", key.option) };
            let size = key.is_size.then(|| "size".to_owned());
            let inner = (!key.inner.is_empty()).then(|| format!("with {}", code_list(&key.inner)));
            // The short help of an option of ours is that of the option.
            let is_elsewhere = key.doc.is_empty() || key.doc == key.option || setting_help(key.option).is_some();
            let doc = (!is_elsewhere).then(|| escaped(key.doc));
            let meaning: Vec<String> = [doc, size, inner].into_iter().flatten().collect();
            let cells = [format!("`{}`", key.name), option, format!("`{}`", key.element), meaning.join("; ")];
            let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
    }
    text
}

fn code_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn option(page: &mut String, row: &OptionRow) {
    let _ = writeln!(page, "\n### `{}`\n\n{}", row.synopsis(), escaped(&row.description()));
    if !row.on_linux.is_empty() {
        let _ = writeln!(page, "\nOn Linux: {}", escaped(row.on_linux));
    }
    if let Some(help) = setting_help(row.name) {
        let _ = writeln!(page, "\nIn the kernel: {}. Seen in: {}.", help.kernel, help.seen_in);
    }
    let default = row.short.split_once("[default ").filter(|_| !row.is_long());
    let default = default.map(|(_, value)| ("Default", value.trim_end_matches(']').to_owned()));
    let facts = cli::help::facts(row).into_iter().filter(|fact| !is_usual(row, fact));
    let facts = default.into_iter().chain(facts).map(|(name, value)| match name {
        "Example" => format!("{name}: `{value}`"),
        _ => format!("{name}: {value}"),
    });
    let facts = facts.collect::<Vec<_>>().join(" · ");
    if !facts.is_empty() {
        let _ = writeln!(page, "\n{facts}");
    }
}

/// The help of an option that sets one field of a timespan or target.
fn setting_help(option: &str) -> Option<&'static settings::OwnOption> {
    let of_time_spans = settings::LINUX_IN_TIME_SPAN.iter().map(|setting| (setting.option, setting.own));
    let of_targets = settings::LINUX_IN_TARGET.iter().map(|setting| (setting.option, setting.own));
    of_time_spans.chain(of_targets).find(|(name, _)| *name == option)?.1
}

/// True for facts that the head of the page states for all options.
fn is_usual(row: &OptionRow, (name, value): &(&str, String)) -> bool {
    match *name {
        "Applies to" => value == if row.is_long() { "this invocation, not the profile" } else { "every target" },
        "Given again" => value == "the last value is used" || value == "no further effect",
        "With -X" => row.with_profile == row.is_long(),
        "Since" => row.is_long() || value == "DiskSpd 2.0",
        "Example" => *value == row.synopsis(),
        _ => false,
    }
}

/// The end of `docs/metrics.md`.
pub(crate) fn metrics_tables() -> String {
    let mut page = "\n## Statistics\n\n| statistic | unit | meaning |\n|---|---|---|\n".to_owned();
    for metric in Metric::ALL {
        let _ = writeln!(page, "| `{}` | {} | {} |", metric.name(), metric.unit().name(), metric.meaning());
    }
    page += "\n## Scopes\n\n| scope | I/Os | needs | beside latencies |\n|---|---|---|---|\n";
    for scope in Scope::ALL {
        let prefix = if scope == Scope::All { "(none)".to_owned() } else { format!("`{}`", scope.prefix()) };
        let rates = Metric::ALL.into_iter().filter(|metric| !metric.needs_latency() && scope.has(*metric));
        let rates = rates.map(|metric| format!("`{}`", metric.name())).collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| {prefix} | {} | {} | {rates} |", scope.meaning(), scope.needs());
    }
    page += "| `NAME:` | reads and writes of the stream NAME | `--stream` | `iops`, `bandwidth` |\n";
    page
}

/// The end of `docs/monitor.md`: counters of the system.
pub(crate) fn counters_tables() -> String {
    let mut page = "\n## Counters of the system\n\n| object | read from | instances |\n|---|---|---|\n".to_owned();
    let objects = || CounterObject::ALL.into_iter().filter(|object| !object.is_disk());
    for object in objects() {
        let (source, instances) = object.source();
        let _ = writeln!(page, "| `{}` | {source} | {instances} |", object.name());
    }
    page += "\n| counter | computed from the kernel's values | by default |\n|---|---|---|\n";
    for counter in SYSTEM_COUNTERS {
        let path = counter.object.path("*", NamedCounter::System(counter));
        let usual = if counter.is_usual { "yes" } else { "" };
        let _ = writeln!(page, "| `{path}` | {} | {usual} |", counter.rule.describe());
    }
    page
}

/// The end of `docs/formats/runs.md`: the columns of a table of runs, those of the same I/Os on one row.
pub(crate) fn runs_columns() -> String {
    let mut page = "\n| column | cells | unit | meaning |\n|---|---|---|---|\n".to_owned();
    let columns = report::runs_table::columns();
    for group in columns.chunk_by(|one, next| are_percentiles(one, next) || ios(one).is_some() && ios(one) == ios(next))
    {
        let [first, rest @ ..] = group else { continue };
        let cells = if first.kind == CellKind::Number { "number" } else { "text" };
        let (unit, meaning) = match (ios(first), rest) {
            (_, []) => (first.unit, first.meaning.clone()),
            (None, _) => (first.unit, first.meaning.replace("median", "percentiles of the")),
            (Some(ios), _) => ("by name", ios.to_owned()),
        };
        let names = group.chunk_by(are_percentiles).map(|names| match names {
            [first, .., last] => format!("`{}` ... `{}`", first.name, last.name),
            _ => format!("`{}`", names[0].name),
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| {names} | {cells} | {unit} | {meaning} |");
    }
    page
}

/// The I/Os that a metric is of, if it is not one of all reads and writes: `reads`.
fn ios(column: &RunColumn) -> Option<&str> {
    let (_, ios) = column.meaning.split_once(": ")?;
    (column.kind == CellKind::Number && ios != Scope::All.meaning()).then_some(ios)
}

fn are_percentiles(one: &RunColumn, next: &RunColumn) -> bool {
    is_percentile(&one.name) && is_percentile(&next.name)
}

/// True for `read_p99_9_ns`.
fn is_percentile(column: &str) -> bool {
    let rank = column.strip_suffix("_ns").and_then(|name| name.rsplit_once("_p"));
    rank.is_some_and(|(_, rank)| rank.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_'))
}

/// The head of the page of subcommands.
const SUBCOMMANDS_HEAD: &str = "\
# Subcommands

What `diskspd SUBCOMMAND --help` prints; options that several subcommands have stand at the first of them. To measure a file
with the name of a subcommand, write `./sweep`.
";

/// `docs/reference/subcommands.md`
pub(crate) fn subcommands_page() -> String {
    let mut page = SUBCOMMANDS_HEAD.to_owned();
    let mut seen = BTreeMap::new();
    for name in subcommand::NAMES {
        let help = subcommand::help(name).unwrap_or_default();
        let is_for_each = |paragraph: &&str| !paragraph.starts_with("To measure a file named");
        let paragraphs = help.trim_end().split("\n\n").filter(is_for_each).map(|paragraph| {
            let first = *seen.entry(paragraph.to_owned()).or_insert(name);
            match paragraph.split_once('\n') {
                Some((heading, _)) if first != name => format!("{heading} those of {first}"),
                _ => paragraph.to_owned(),
            }
        });
        let text = paragraphs.collect::<Vec<_>>().join("\n\n");
        let _ = write!(page, "\n## {name}\n\n```text\n{text}\n```\n");
    }
    page
}

/// A text with characters escaped that are special on a page.
fn escaped(text: &str) -> String {
    let mut plain = String::new();
    for sign in text.chars() {
        if matches!(sign, '*' | '_' | '<' | '[' | ']' | '\\') {
            plain.push('\\');
        }
        plain.push(sign);
    }
    plain
}

/// Caps of cloud volumes and of virtual machines.
pub(crate) fn volumes_table() -> String {
    let Table { volumes, machines, .. } = volumes::read(volumes::BUILTIN).unwrap_or_default();
    [("volume=", "volume", volumes), ("vm=", "virtual machine", machines)].map(caps_table).concat()
}

fn caps_table((key, noun, all): (&str, &str, Vec<Caps>)) -> String {
    let mut table = format!("\n| `{key}` | {noun} | I/Os per s | throughput | source |\n|---|---|---|---|---|\n");
    for caps in all {
        let Caps { name, title, source, as_of, .. } = &caps;
        let iops = caps.iops.map_or("-".to_owned(), |iops| iops.to_string());
        let throughput = caps.throughput_as_stated().unwrap_or_else(|| "-".to_owned());
        let _ = writeln!(table, "| `{name}` | {title} | {iops} | {throughput} | [{as_of}]({source}) |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_pages_are_escaped() {
        assert_eq!(escaped("a_b <n> *1"), "a\\_b \\<n> \\*1");
    }
}
