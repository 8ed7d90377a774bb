//! Man pages, for `man(7)`, generated from the table of options and the declarations of subcommands.

use crate::exit_status::ExitStatus;
use crate::help::{EXAMPLES, SIZES, TARGETS, facts};
use crate::options::{self, Group, OptionRow};
use crate::subcommand;
use roff::{Roff, bold, italic, roman};

/// Environment variables that the program reads.
const VARIABLES: [(&str, &str); 4] = [
    ("DISKSPD_OVERWRITE", "1 does the same as --overwrite, for scripts that cannot be changed."),
    (
        "DISKSPD_RESULTS",
        "Directory in which every run keeps its result as JSON, in a file named by date and labels. The subcommands \
         report and compare take last, last~1 and so on for the newest of these results.",
    ),
    ("NO_COLOR", "If set to a non-empty value, output is not coloured."),
    ("TERM", "If set to dumb, the live progress line is not shown."),
];

/// Files with a special meaning.
const FILES: [(&str, &str); 1] = [(
    "/etc/diskspd/scratch",
    "List of disks that may be written to without --destroy as long as no signature is found on them.",
)];

/// The page of the command, or of the subcommand with this name.
pub fn page(subcommand: Option<&str>) -> String {
    match subcommand.and_then(|name| Some((name, subcommand::command(name)?))) {
        None => command(),
        Some((name, declared)) => of_subcommand(name, declared),
    }
}

/// The name of the page, as in `man diskspd-sweep`.
pub fn name(subcommand: Option<&str>) -> String {
    subcommand.map_or_else(|| "diskspd".to_owned(), |subcommand| format!("diskspd-{subcommand}"))
}

fn head(page: &mut Roff, subcommand: Option<&str>, summary: &str) {
    let name = name(subcommand);
    let version = concat!("diskspd ", env!("CARGO_PKG_VERSION"));
    // The version in place of a date: equal sources make equal pages.
    page.control("TH", [name.to_uppercase().as_str(), "1", version, "diskspd for Linux", "User Commands"]);
    // No hyphenation: it would split options.
    page.control("nh", []);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {summary}"))]);
}

fn command() -> String {
    let mut page = Roff::new();
    let page = &mut page;
    head(page, None, "storage load generator and benchmark, compatible with DiskSpd");
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold("diskspd"), roman(" [options] target1 [target2 ...]")]);
    page.control("br", []);
    page.text([bold("diskspd"), roman(" subcommand [arguments]")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "Runs I/O against files and block devices and reports throughput, latency and CPU usage, with the command \
         line, profiles and result formats of DiskSpd. Options come before targets; a value follows its option without \
         a space.",
    )]);
    paragraph(page, "Targets:");
    for (target, text) in TARGETS {
        entry(page, target, text);
    }
    paragraph(page, SIZES);
    page.control("SH", ["OPTIONS"]);
    for group in Group::ALL {
        page.control("SS", [group.title()]);
        for row in options::all().filter(|row| row.group == group) {
            option(page, row);
        }
    }
    page.control("SH", ["SUBCOMMANDS"]);
    for subcommand in subcommand::NAMES {
        entry(page, &format!("diskspd {subcommand}"), &subcommand::summary(subcommand));
    }
    tail(page);
    page.control("SH", ["EXAMPLES"]);
    for (what, words) in EXAMPLES {
        page.control("PP", []);
        page.text([roman(what)]);
        verbatim(page, &format!("diskspd {words}"));
    }
    see_also(page, None);
    page.to_roff()
}

fn of_subcommand(name: &str, declared: clap::Command) -> String {
    let (mut first, mut last) = (Roff::new(), Roff::new());
    head(&mut first, Some(name), &subcommand::summary(name));
    for notes in declared.get_after_help().map(ToString::to_string).unwrap_or_default().split("\n\n") {
        paragraph(&mut last, notes);
    }
    tail(&mut last);
    see_also(&mut last, Some(name));
    let declared = clap_mangen::Man::new(declared);
    let mut arguments = Vec::new();
    let written = declared
        .render_synopsis_section(&mut arguments)
        .and_then(|()| declared.render_description_section(&mut arguments))
        .and_then(|()| declared.render_options_section(&mut arguments));
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
    [first.to_roff(), String::from_utf8_lossy(&arguments).into_owned(), last.to_roff()].concat()
}

/// The part common to all pages.
fn tail(page: &mut Roff) {
    for (title, entries) in [("EXIT STATUS", &ExitStatus::TABLE[..]), ("ENVIRONMENT", &VARIABLES), ("FILES", &FILES)] {
        page.control("SH", [title]);
        for (term, text) in entries {
            entry(page, term, text);
        }
    }
}

fn see_also(page: &mut Roff, this: Option<&str>) {
    page.control("SH", ["SEE ALSO"]);
    let all = std::iter::once(None).chain(subcommand::NAMES.iter().copied().map(Some));
    let others: Vec<String> = all.filter(|other| *other != this).map(|other| format!("{}(1)", name(other))).collect();
    page.text([roman(others.join(", "))]);
}

fn paragraph(page: &mut Roff, text: &str) {
    page.control("PP", []);
    page.text([roman(text.split_whitespace().collect::<Vec<_>>().join(" "))]);
}

fn entry(page: &mut Roff, term: &str, text: &str) {
    page.control("TP", []);
    page.text([bold(term)]);
    page.text([roman(text)]);
}

fn option(page: &mut Roff, row: &OptionRow) {
    page.control("TP", []);
    page.text([bold(row.name), italic(row.value)]);
    page.text([roman(row.description())]);
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
        for subcommand in subcommand::NAMES {
            assert!(page.contains(&format!("\\fBdiskspd {subcommand}\\fR")));
        }
    }

    #[test]
    fn every_subcommand_has_a_page_with_all_of_its_arguments() {
        for subcommand in subcommand::NAMES {
            let page = page(Some(subcommand)).replace("\\-", "-");
            assert!(page.starts_with(&format!(".TH DISKSPD-{} 1", subcommand.to_uppercase())), "{page}");
            for argument in subcommand::command(subcommand).expect("it is declared").get_arguments() {
                let long = argument.get_long().map(|long| format!("\\fB--{long}\\fR"));
                let shown = long.unwrap_or_else(|| format!("\\fI{}\\fR", argument.get_value_names().unwrap()[0]));
                assert!(page.contains(&shown), "{shown} is not in\n{page}");
            }
        }
    }
}
