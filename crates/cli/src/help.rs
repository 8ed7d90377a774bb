//! The usage text, `--help` and `--version`, generated from the table of options.

mod find;

use crate::options::{self, Group, OptionRow, Repeat, Scope, SinceVersion};
use crate::subcommand;
use model::printable::wrapped;
use model::version::{DISKSPD_VERSION, DISKSPD_VERSION_DATE};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Width of a line in columns.
const LINE_WIDTH: usize = 100;

/// Column where the second column of a list starts.
const TEXT_COLUMN: usize = 30;

/// Description and arguments of each example.
pub(crate) const EXAMPLES: [(&str, &str); 3] = [
    ("Create a file of 8192 KiB and read it for one second:", "-c8192K -d1 testfile.dat"),
    (
        "Random uncached reads of 4 KiB with 2 threads and 32 outstanding I/Os each:",
        "-b4K -r -Su -t2 -o32 -d10 testfile.dat",
    ),
    (
        "Random reads of two 1 GiB files, two threads per file, on CPUs 0 and 1:",
        "-c1G -b4K -r -t2 -a0,1 -d10 testfile1.dat testfile2.dat",
    ),
];

/// Kinds of targets, and their meaning.
pub(crate) const TARGETS: [(&str, &str); 3] = [
    ("path", "a regular file; it must exist unless -c creates it"),
    ("/dev/...", "a block device, such as /dev/nvme0n1, or /dev/zero, /dev/null (with -f<size>)"),
    ("*<n>", "a placeholder in an XML profile: -Rp writes it, -X replaces it with a target"),
];

pub(crate) const SIZES: &str = "\
Sizes are whole numbers of bytes. Suffixes K, M, G and T mean KiB, MiB, GiB and TiB; suffix b means
blocks: with -b64K, -T2b is 128 KiB.
";

/// The output of `--version`.
pub fn version() -> String {
    format!(
        "diskspd {} for Linux, behaves like DiskSpd {DISKSPD_VERSION} ({DISKSPD_VERSION_DATE})\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The output of `-?`: every option of `DiskSpd` in alphabetical order. `program` is argv\[0\].
pub fn usage(program: &str) -> String {
    let mut text = format!(
        "\nUsage: {program} [options] target1 [ target2 [ target3 ...] ]\nversion {DISKSPD_VERSION} ({DISKSPD_VERSION_DATE}), \
         diskspd {} for Linux\n\n{}\n{SIZES}\nOptions:\n",
        env!("CARGO_PKG_VERSION"),
        targets()
    );
    let at_the_end = [Group::WriteBuffers, Group::Synchronization, Group::EventTracing];
    let mut rows: Vec<&OptionRow> =
        options::all().filter(|row| !row.is_long() && !at_the_end.contains(&row.group)).collect();
    // Stable: rows that share a name keep the table's order.
    rows.sort_by_key(|row| {
        let letter = row.name.chars().nth(1).unwrap_or_default();
        (letter.to_ascii_lowercase(), letter.is_uppercase(), row.name)
    });
    for row in rows {
        list_row(&mut text, row);
    }
    for group in at_the_end {
        list_group(&mut text, group, |row| !row.is_long());
    }
    text.push_str(&examples(program));
    text.push_str(
        "\nRun --help for the options that DiskSpd does not have, or --help <option> for details of one option\n",
    );
    text
}

/// The output of `--help`: all options in groups, including ours.
pub fn help() -> String {
    let mut text = format!("Usage: diskspd [options] target1 [target2 ...]\n\n{}\n{SIZES}", targets());
    for group in Group::ALL {
        list_group(&mut text, group, |_| true);
    }
    text.push_str("\nSubcommands (each has its own --help):\n");
    for name in subcommand::NAMES {
        let _ = writeln!(text, "  {name:<width$}{}", subcommand::summary(name), width = TEXT_COLUMN - 2);
    }
    text.push_str(&examples("diskspd"));
    text
}

fn targets() -> String {
    let lines = TARGETS.map(|(target, text)| format!("  {target:<15}{text}\n"));
    format!("Targets:\n{}", lines.concat())
}

fn examples(program: &str) -> String {
    let examples = EXAMPLES.map(|(what, words)| format!("{what}\n  {program} {words}\n"));
    format!("\nExamples:\n{}", examples.join("\n"))
}

/// Words without blanks that have a topic.
pub(crate) fn words() -> Vec<&'static str> {
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    find::words().filter(is_word).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The names and words closest to one that has no topic.
pub(crate) fn near(word: &str) -> Vec<&'static str> {
    find::near(word)
}

/// The full help of the options that `word` names: `-rd`, `rd`, `-rdpct90/10`, `--plan`, `plan`; or of a subcommand,
/// whose name takes precedence: `verify` is not `--verify`; or else the search results for the word.
pub fn topic(word: &str) -> Option<String> {
    if let Some(help) = subcommand::help(word) {
        return Some(help);
    }
    let rows = rows_named(word);
    if rows.is_empty() {
        return find::find(word);
    }
    // A word without dashes may also be an option of another tool, with another meaning.
    let others = if word.starts_with('-') { None } else { find::others(word, &rows) };
    let sections: Vec<String> = rows.into_iter().map(describe).chain(others).collect();
    Some(sections.join("\n"))
}

fn rows_named(word: &str) -> Vec<&'static OptionRow> {
    let bare = word.trim_start_matches('-');
    let named = |name: &str| options::all().filter(|row| row.name == name).collect::<Vec<_>>();
    // Names first: `overwrite` is not -o.
    let short = if word.starts_with("--") { String::new() } else { format!("-{bare}") };
    for name in [word.to_owned(), format!("--{bare}"), short] {
        let rows = named(&name);
        if !rows.is_empty() {
            return rows;
        }
    }
    if !word.starts_with('-') || word.starts_with("--") {
        return Vec::new();
    }
    options::find_short(word).map(|(row, _)| vec![row]).unwrap_or_default()
}

fn list_group(text: &mut String, group: Group, is_listed: impl Fn(&OptionRow) -> bool) {
    let _ = writeln!(text, "\n{}:", group.title());
    for row in options::all().filter(|row| row.group == group && is_listed(row)) {
        list_row(text, row);
    }
}

fn list_row(text: &mut String, row: &OptionRow) {
    let synopsis = row.synopsis();
    let _ = write!(text, "  {synopsis}");
    let used = 2 + synopsis.chars().count();
    if used >= TEXT_COLUMN {
        text.push('\n');
    }
    for (index, line) in wrapped(row.short, LINE_WIDTH - TEXT_COLUMN).iter().enumerate() {
        let indent = if index == 0 && used < TEXT_COLUMN { TEXT_COLUMN - used } else { TEXT_COLUMN };
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

fn describe(row: &OptionRow) -> String {
    let mut text = format!("{}\n", row.synopsis());
    paragraph(&mut text, "", &row.description());
    if !row.on_linux.is_empty() {
        paragraph(&mut text, "On Linux: ", row.on_linux);
    }
    text.push('\n');
    for (name, value) in facts(row) {
        let _ = writeln!(text, "    {:<13}{value}", format!("{name}:"));
    }
    text
}

/// Facts about an option beside its text.
pub fn facts(row: &OptionRow) -> Vec<(&'static str, String)> {
    let scope = match row.scope {
        Scope::Invocation => "this invocation, not the profile",
        Scope::Profile => "the whole profile",
        Scope::TimeSpan => "the timespan",
        Scope::Target => "every target",
    };
    let repeat = match row.repeat {
        Repeat::Harmless => "no further effect",
        Repeat::LastWins => "the last value is used",
        Repeat::Accumulates => "the values are combined",
        Repeat::Error => "refused",
    };
    let since = match row.since {
        SinceVersion::DiskSpd(version) => format!("DiskSpd {version}"),
        SinceVersion::Own => "not in DiskSpd".to_owned(),
    };
    let mut facts = vec![("Applies to", scope.to_owned()), ("Given again", repeat.to_owned())];
    if !row.xml.is_empty() {
        facts.push(("In XML", row.xml.join(", ")));
    }
    facts.push(("With -X", if row.with_profile { "allowed" } else { "refused" }.to_owned()));
    facts.push(("Since", since));
    facts.push(("Example", row.example.to_owned()));
    facts
}

fn paragraph(text: &mut String, lead: &str, body: &str) {
    for line in wrapped(&format!("{lead}{body}"), LINE_WIDTH - 4) {
        let _ = writeln!(text, "    {line}");
    }
}

#[cfg(test)]
mod tests;
