//! Man pages, for `man(7)`: views of the table of options and of the subcommands' help texts.

use crate::command::Subcommand;
use crate::exit_status::ExitStatus;
use crate::help::parts::{Part, parts};
use crate::help::{EXAMPLES, SIZES, TARGETS, facts};
use crate::options::{self, Group, OptionRow};
use roff::{Inline, Roff, bold, italic, roman};

/// What it reads of its environment.
const VARIABLES: [(&str, &str); 3] = [
    ("DISKSPD_OVERWRITE", "1 does the same as --overwrite, for scripts that cannot be changed."),
    ("NO_COLOR", "If not empty, output is not coloured."),
    ("TERM", "If dumb, the live progress line is not shown."),
];

/// Files with a meaning of their own.
const FILES: [(&str, &str); 1] = [(
    "/etc/diskspd/scratch",
    "List of disks that may be written to without --destroy as long as no signature is found on them.",
)];

/// The page of the command, or of a subcommand.
pub fn page(subcommand: Option<Subcommand>) -> String {
    let mut page = Roff::new();
    match subcommand {
        None => command(&mut page),
        Some(subcommand) => of_subcommand(&mut page, subcommand),
    }
    page.to_roff()
}

/// The name of the page, as in `man diskspd-sweep`.
pub fn name(subcommand: Option<Subcommand>) -> String {
    subcommand.map_or_else(|| "diskspd".to_owned(), |subcommand| format!("diskspd-{}", subcommand.name()))
}

fn head(page: &mut Roff, subcommand: Option<Subcommand>, summary: &str) {
    let name = name(subcommand);
    let version = concat!("diskspd ", env!("CARGO_PKG_VERSION"));
    // The version in place of a date: equal sources make equal pages.
    page.control("TH", [name.to_uppercase().as_str(), "1", version, "diskspd for Linux", "User Commands"]);
    // No hyphens: words of options would fall apart.
    page.control("nh", []);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {summary}"))]);
}

fn command(page: &mut Roff) {
    head(page, None, "storage load generator and benchmark, compatible with DiskSpd");
    page.control("SH", ["SYNOPSIS"]);
    synopsis(page, ["diskspd [options] target1 [target2 ...]", "diskspd subcommand [arguments]"]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "Runs I/O against files and block devices and reports throughput, latency and CPU usage, with the command \
         line, profiles and result formats of DiskSpd. Options come before targets; a value follows its option without \
         a space.",
    )]);
    for part in parts(TARGETS).into_iter().chain(parts(SIZES)) {
        show(page, &part);
    }
    page.control("SH", ["OPTIONS"]);
    for group in Group::ALL {
        page.control("SS", [group.title()]);
        for row in options::all().filter(|row| row.group == group) {
            option(page, row);
        }
    }
    page.control("SH", ["SUBCOMMANDS"]);
    for subcommand in Subcommand::ALL {
        entry(page, &name(Some(subcommand)).replacen('-', " ", 1), subcommand.summary());
    }
    tail(page);
    page.control("SH", ["EXAMPLES"]);
    for (what, words) in EXAMPLES {
        page.control("PP", []);
        page.text([roman(what)]);
        verbatim(page, &format!("diskspd {words}"));
    }
    see_also(page, None);
}

fn of_subcommand(page: &mut Roff, subcommand: Subcommand) {
    head(page, Some(subcommand), subcommand.summary());
    let parts = parts(subcommand.help());
    for part in &parts {
        if let Part::Usage(lines) = part {
            page.control("SH", ["SYNOPSIS"]);
            synopsis(page, lines.iter().map(String::as_str));
            page.control("SH", ["DESCRIPTION"]);
        } else {
            show(page, part);
        }
    }
    tail(page);
    see_also(page, Some(subcommand));
}

/// What all pages have.
fn tail(page: &mut Roff) {
    for (title, entries) in [("EXIT STATUS", &ExitStatus::TABLE[..]), ("ENVIRONMENT", &VARIABLES), ("FILES", &FILES)] {
        page.control("SH", [title]);
        for (term, text) in entries {
            entry(page, term, text);
        }
    }
}

fn see_also(page: &mut Roff, this: Option<Subcommand>) {
    page.control("SH", ["SEE ALSO"]);
    let all = std::iter::once(None).chain(Subcommand::ALL.map(Some));
    let others: Vec<String> = all.filter(|other| *other != this).map(|other| format!("{}(1)", name(other))).collect();
    page.text([roman(others.join(", "))]);
}

fn synopsis<'a>(page: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            page.control("br", []);
        }
        page.text(emphasised(line));
    }
}

/// The program in bold, the rest as it is.
fn emphasised(line: &str) -> Vec<Inline> {
    let (program, rest) = line.split_once(' ').unwrap_or((line, ""));
    vec![bold(program), roman(format!(" {rest}"))]
}

fn show(page: &mut Roff, part: &Part) {
    match part {
        Part::Usage(lines) => synopsis(page, lines.iter().map(String::as_str)),
        Part::Paragraph(text) => {
            page.control("PP", []);
            page.text([roman(text.as_str())]);
        }
        Part::Item { term, text } => entry(page, term, text),
    }
}

fn entry(page: &mut Roff, term: &str, text: &str) {
    page.control("TP", []);
    page.text([bold(term)]);
    page.text([roman(text)]);
}

fn option(page: &mut Roff, row: &OptionRow) {
    page.control("TP", []);
    page.text([bold(row.name), italic(row.value)]);
    page.text([roman(row.long)]);
    if !row.on_linux.is_empty() {
        page.control("IP", []);
        page.text([roman(format!("On Linux: {}", row.on_linux))]);
    }
    page.control("IP", []);
    let facts: Vec<String> = facts(row).into_iter().map(|(name, value)| format!("{name}: {value}.")).collect();
    page.text([roman(facts.join(" "))]);
}

fn verbatim(page: &mut Roff, text: &str) {
    page.control("PP", []);
    page.control("in", ["+4n"]);
    page.control("nf", []);
    page.text([roman(text)]);
    page.control("fi", []);
    page.control("in", []);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_command_has_every_option_and_subcommand() {
        let page = page(None).replace("\\-", "-");
        for row in options::all() {
            let head = format!(".TP\n\\fB{}\\fR", row.name);
            assert!(page.contains(&head), "{}", row.synopsis());
            assert!(page.contains(&format!("Example: {}.", row.example.replace('\\', "\\\\"))), "{}", row.example);
        }
        for subcommand in Subcommand::ALL {
            assert!(page.contains(&format!("\\fBdiskspd {}\\fR", subcommand.name())));
        }
    }

    #[test]
    fn every_subcommand_has_a_page_with_all_of_its_options() {
        for subcommand in Subcommand::ALL {
            let page = page(Some(subcommand)).replace("\\-", "-");
            assert!(page.starts_with(&format!(".TH DISKSPD-{} 1", subcommand.name().to_uppercase())), "{page}");
            let mut terms = 0;
            for part in parts(subcommand.help()) {
                if let Part::Item { term, .. } = part {
                    assert!(page.contains(&format!(".TP\n\\fB{term}\\fR")), "{term} is not in\n{page}");
                    terms += 1;
                }
            }
            assert!(terms > 2, "{}: its help has a list of options", subcommand.name());
        }
    }
}
