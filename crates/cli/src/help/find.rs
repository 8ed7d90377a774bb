//! `--help WORD`: a search for a word that is not an option in the names and texts of options, in subcommands, in the
//! titles of the guide and among the terms of the field and of other tools.

use super::{LINE_WIDTH, TEXT_COLUMN, list_row};
use crate::foreign::{self, Tool};
use crate::options::{self, OptionRow};
use crate::preset::BUILTIN;
use crate::subcommand;
use model::printable::wrapped;
use settings::suggest::nearest;
use std::fmt::Write as _;

/// Maximum number of options listed.
const OPTIONS_MAX: usize = 8;

/// Common search terms, the options that they refer to, and further notes.
const TERMS: &[(&[&str], &[&str], &str)] = &[
    (&["iops", "limit", "throttle", "qos"], &["-g", "--rate"], ""),
    (&["bandwidth", "throughput", "mb/s"], &["-g", "--rate"], ""),
    (
        &["percentile", "nines", "3-nines", "p99", "p99.9", "tail latency", "latency", "clat", "histogram"],
        &["-L"],
        "3-nines is the 99.9th percentile: one I/O in a thousand takes longer.",
    ),
    (
        &["raw disk", "raw device", "raw", "block device", "disk", "destroy"],
        &["--destroy"],
        "Give the device as the target, such as /dev/nvme0n1; 'diskspd devices' lists them. Reads need no option.",
    ),
    (&["queue depth", "qd", "depth", "outstanding"], &["-o"], ""),
    (&["json", "machine readable", "script"], &["--json", "--live-json"], ""),
    (&["buffered", "page cache", "o_direct", "unbuffered", "cache", "directio"], &["-S", "--cold"], ""),
    (&["fsync", "fdatasync", "flush", "durable", "o_dsync", "sync"], &["--fsync-every", "--fdatasync-every", "-S"], ""),
    (&["trim", "unmap"], &["--discard"], ""),
    (&["random"], &["-r", "-rs"], ""),
    (
        &["randread", "randwrite", "randrw"],
        &["-r", "-w"],
        "fio: randread is -r here, randwrite is -r -w100, randrw is -r -w50.",
    ),
    (&["libaio", "aio", "io uring", "uring", "psync", "mmap", "ioengine"], &["--engine"], ""),
    (&["sequential"], &["-s", "-si"], ""),
    (&["write", "mix", "read write"], &["-w"], "Without -w, a load only reads."),
    (&["overwrite", "existing file"], &["--overwrite"], ""),
    (&["block size", "io size"], &["-b", "--sizes"], ""),
    (&["duration", "time", "how long"], &["-d", "-W"], ""),
    (&["threads", "jobs", "workers"], &["-t", "-F"], ""),
    (&["hosts", "cluster", "servers"], &["--on"], ""),
    (&["pass", "fail", "sla", "threshold"], &["--require", "--strict"], ""),
    (&["grafana", "prometheus"], &["--metrics"], ""),
    (&["warm up", "ramp"], &["-W"], ""),
    (
        &["pivot", "pivottable", "pivot table", "powershell", "excel", "spreadsheet", "xlsx", "csv table"],
        &[],
        "'diskspd report FILE... --output runs.xlsx' (or .csv) puts many results, also those of Windows, into one table with a \
         pivot: docs/guide/spreadsheets.md.",
    ),
    (
        &["typeperf", "perfmon", "performance monitor", "performance counter", "counter", "logman", "iostat"],
        &[],
        "'diskspd monitor' shows block devices live and takes typeperf's counters and options: \
         diskspd monitor '\\LogicalDisk(*)\\Avg. Disk sec/Read' -si 1 -sc 60. Processor, Memory, Network Interface, shares and \
         caches too: docs/monitor.md.",
    ),
    (
        &["baseline", "balance", "array", "storage pool", "storage spaces", "volume"],
        &[],
        "'diskspd preset run volume-baseline --plan -c64G FILE' is the procedure of guides for pools and arrays, \
         'diskspd sweep --total-depth 120' the balance of threads and I/Os: docs/guide/volumes.md.",
    ),
    (
        &["amplification", "storage spaces", "copies", "mirror", "per ssd"],
        &[],
        "'diskspd report FILE... --ssds N --copies M' and 'diskspd sweep --ssds N --copies M' show what each SSD has to do: \
         docs/guide/spreadsheets.md.",
    ),
];

/// The search results for a word, each option with an example; `None` if there are none.
pub(super) fn find(words: &str) -> Option<String> {
    let word = normalised(words);
    if word.len() < 2 {
        return None;
    }
    let (mut rows, notes) = meant(&word);
    let named = |row: &&OptionRow| row.is_long() && row.name.contains(&word.replace(' ', "-"));
    let summed_up = |row: &&OptionRow| has_word(row.short, &word);
    add(&mut rows, options::all().filter(named));
    add(&mut rows, options::all().filter(summed_up));
    if rows.is_empty() {
        add(&mut rows, options::all().filter(|row| has_word(row.long, &word) || has_word(row.on_linux, &word)));
    }
    let subcommands: Vec<&str> = subcommand::NAMES
        .iter()
        .copied()
        .filter(|name| *name == word || has_word(&subcommand::summary(name), &word))
        .collect();
    let presets: Vec<(&str, String)> =
        presets().filter(|(name, title)| *name == word || has_word(title, &word)).collect();
    let pages: Vec<(&str, String)> = guide().filter(|(title, _)| has_word(title, &word)).collect();
    if rows.is_empty() && notes.is_empty() && subcommands.is_empty() && presets.is_empty() && pages.is_empty() {
        return None;
    }
    Some(text(&rows, &notes, &subcommands, &presets, &pages))
}

/// The meanings of a word other than the options that it names; `None` if there are none.
pub(super) fn others(word: &str, named: &[&OptionRow]) -> Option<String> {
    let (rows, notes) = meant(&normalised(word));
    let others: Vec<&OptionRow> =
        rows.into_iter().filter(|row| named.iter().all(|known| known.name != row.name)).collect();
    (!others.is_empty()).then(|| text(&others, &notes, &[], &[], &[]))
}

/// The known words closest to one without search results.
pub(crate) fn near(word: &str) -> Vec<&'static str> {
    nearest(&normalised(word), words(), 3)
}

/// Names of options and subcommands, and the terms of the field and of other tools.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    let names = options::long_named().map(|row| row.name.trim_start_matches('-'));
    let terms = TERMS.iter().flat_map(|(words, ..)| words.iter().copied());
    let foreign = foreign::words_of_tools().map(|word| word.name);
    let tools = Tool::ALL.into_iter().map(Tool::name);
    let presets = BUILTIN.iter().map(|preset| preset.name);
    names.chain(subcommand::NAMES.iter().copied()).chain(terms).chain(foreign).chain(tools).chain(presets)
}

/// The presets with their titles.
fn presets() -> impl Iterator<Item = (&'static str, String)> {
    BUILTIN.iter().filter_map(|builtin| Some((builtin.name, builtin.preset().ok()?.title)))
}

/// The titles of the guide and of the pages that it links to, with their pages.
fn guide() -> impl Iterator<Item = (&'static str, String)> {
    let links = include_str!("../../../../docs/guide/README.md").split('[').skip(1);
    links.filter_map(|link| {
        let (title, rest) = link.split_once("](")?;
        let page = rest.split_once(')')?.0;
        Some((
            title,
            page.strip_prefix("../").map_or_else(|| format!("docs/guide/{page}"), |page| format!("docs/{page}")),
        ))
    })
}

fn normalised(word: &str) -> String {
    let words = word.trim_start_matches('-').to_lowercase().replace('_', " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The options that a term of the field or of another tool refers to, and notes on it.
fn meant(word: &str) -> (Vec<&'static OptionRow>, Vec<String>) {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let singular = word.strip_suffix('s').unwrap_or(word);
    let is_it = |term: &&str| **term == *word || term.trim_end_matches('s') == singular;
    for (_, names, note) in TERMS.iter().filter(|(terms, ..)| terms.iter().any(is_it)) {
        add(&mut rows, names.iter().flat_map(|name| options::all().filter(move |row| row.name == *name)));
        notes.extend((!note.is_empty()).then(|| (*note).to_owned()));
    }
    for tool in Tool::ALL.into_iter().filter(|tool| tool.name() == word) {
        let known: Vec<&str> =
            foreign::words_of_tools().filter(|known| known.tool == tool).map(|known| known.name).collect();
        notes.push(format!(
            "A command line or job file of {word} is answered with the nearest command here. --help explains its words {}.",
            known.join(", ")
        ));
    }
    for known in foreign::words_of_tools().filter(|known| known.name.replace('_', " ") == word) {
        let arguments = known.example.split_whitespace();
        let (tool, name) = (known.tool.name(), known.name);
        notes.push(match known.example {
            "" => format!("{tool}: {name} needs no option here."),
            example => format!("{tool}: {name} is {example} here."),
        });
        add(&mut rows, arguments.filter_map(crate::words::row_of));
    }
    (rows, notes)
}

fn add(rows: &mut Vec<&'static OptionRow>, more: impl Iterator<Item = &'static OptionRow>) {
    for row in more {
        if rows.iter().all(|known| known.synopsis() != row.synopsis()) {
            rows.push(row);
        }
    }
}

/// True if every part of `word` is the beginning of a word of the text.
fn has_word(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    let begins = |part: &str| {
        text.match_indices(part).any(|(at, _)| !text[..at].ends_with(|before: char| before.is_alphanumeric()))
    };
    word.split(' ').all(|part| begins(part.strip_suffix('s').filter(|stem| stem.len() > 3).unwrap_or(part)))
}

fn text(
    rows: &[&OptionRow],
    notes: &[String],
    subcommands: &[&str],
    presets: &[(&str, String)],
    pages: &[(&str, String)],
) -> String {
    let mut text = String::new();
    for note in notes {
        for line in wrapped(note, LINE_WIDTH) {
            let _ = writeln!(text, "{line}");
        }
    }
    if !rows.is_empty() {
        let _ = writeln!(text, "{}Options (--help OPTION shows one in full):", if text.is_empty() { "" } else { "\n" });
        for row in rows.iter().take(OPTIONS_MAX) {
            list_row(&mut text, row);
            let _ = writeln!(text, "{:TEXT_COLUMN$}example: diskspd {} test.dat", "", row.example);
        }
        let more: Vec<&str> = rows.iter().skip(OPTIONS_MAX).map(|row| row.name).collect();
        for line in wrapped(&format!("also: {}", more.join(" ")), LINE_WIDTH - 2).iter().filter(|_| !more.is_empty()) {
            let _ = writeln!(text, "  {line}");
        }
    }
    if !subcommands.is_empty() {
        text.push_str("\nSubcommands:\n");
        for name in subcommands {
            let _ = writeln!(text, "  {name:<width$}{}", subcommand::summary(name), width = TEXT_COLUMN - 2);
        }
    }
    if !presets.is_empty() {
        text.push_str("\nPresets (diskspd preset show PRESET):\n");
        for (name, title) in presets {
            let _ = writeln!(text, "  {name:<width$}{title}", width = TEXT_COLUMN - 2);
        }
    }
    if !pages.is_empty() {
        text.push_str("\nGuide:\n");
        for (title, page) in pages {
            let _ = writeln!(text, "  {page}: {title}");
        }
    }
    text.trim_start_matches('\n').to_owned()
}
