//! A report for a terminal: the answer, tables, findings to know before use, the next step.

use crate::Detail;
use crate::table_text::{COLUMNS, lines};
use model::finding::{Finding, Severity};
use model::printable::{printable, wrapped};
use report::numbers::grouped;
use report::{Answer, Banner, Block, Brief, Report, Section, Table, Tile, Tone, VerdictLine};
use std::io::{self, Write};

/// The column at which the texts of labelled lines begin.
const TEXT_COLUMN: usize = 10;

/// Indent of the further lines of a headline.
const FURTHER: &str = "  ";

/// Findings of one name that a verdict without details shows; the others are counted.
const ALIKE_MAX: usize = 3;

/// Writes a report in lines of 80 columns; tables omit columns that do not fit. Without details each warning takes a
/// line, and sections of details are omitted.
pub fn report_text(report: &Report, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let Report { load, lead, before_use, brief, sections, .. } = report;
    labelled(out, "Load", load)?;
    lead.iter().try_for_each(|block| self::block(out, block, detail))?;
    let shown = sections.iter().filter(|section| !section.is_detail);
    shown.into_iter().try_for_each(|section| self::section(out, section, detail))?;
    if sections.iter().any(|section| !section.is_detail) {
        writeln!(out)?;
    }
    before_use.iter().try_for_each(|block| self::block(out, block, detail))?;
    self::brief(out, brief)?;
    let details = sections.iter().filter(|section| section.is_detail && detail == Detail::Full);
    details.into_iter().try_for_each(|section| self::section(out, section, detail))
}

/// Writes only the answers of a report, each with the sentence that has its figures, below `about`, and a sentence on
/// their trust.
pub fn answers(about: &str, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    sentence(out, about)?;
    for answer in report.answers() {
        let of = if answer.about().is_empty() { String::new() } else { format!("{}: ", answer.about()) };
        labelled(out, "Answer", &format!("{of}{}", answer.headline()))?;
        answer.sentences().first().map_or(Ok(()), |words| labelled(out, "", words))?;
    }
    let trust = &report.brief.trust.words;
    labelled(out, "Trust", trust.split_inclusive(". ").next().unwrap_or(trust))
}

fn brief(out: &mut dyn Write, brief: &Brief) -> io::Result<()> {
    let Brief { measured, on, trust, next, command } = brief;
    for (label, text) in [("Measured", measured), ("On", on), ("Trust", &trust.words), ("Next", next)] {
        labelled(out, label, text)?;
    }
    // A command is typed again, so it is never wrapped.
    if command.is_empty() { Ok(()) } else { writeln!(out, "{:TEXT_COLUMN$}{}", "", printable(command)) }
}

pub(crate) fn section(out: &mut dyn Write, section: &Section, detail: Detail) -> io::Result<()> {
    let is_shown = |block: &&Block| !matches!(block, Block::Charts { .. } | Block::Absent { .. });
    let mut blocks = section.blocks.iter().filter(is_shown).peekable();
    if blocks.peek().is_some() {
        writeln!(out)?;
        sentence(out, &section.heading)?;
    }
    blocks.try_for_each(|block| self::block(out, block, detail))
}

pub(crate) fn block(out: &mut dyn Write, block: &Block, detail: Detail) -> io::Result<()> {
    match block {
        Block::Answers { answers } => answers.iter().try_for_each(|answer| self::answer(out, answer)),
        Block::Verdict(banner) => findings(out, banner, detail, ""),
        Block::Load { line } => sentence(out, line),
        Block::Tiles { tiles, note } => {
            let figure =
                |Tile { label, value, unit, .. }: &Tile| format!("{label} {value} {unit}").trim_end().to_owned();
            labelled(out, "Figures", &tiles.iter().map(figure).collect::<Vec<_>>().join(", "))?;
            sentence(out, note)
        }
        // Charts are not text.
        Block::Charts { .. } | Block::Absent { .. } => Ok(()),
        Block::Table(table) => self::table(out, table),
        Block::Facts { facts } => facts.iter().try_for_each(|fact| labelled(out, fact.name, &fact.value)),
        Block::Command { words, hint } => {
            writeln!(out, "  {}", printable(words))?;
            sentence(out, hint)
        }
        Block::Notes { heading, sentences } => {
            if !heading.is_empty() {
                writeln!(out, "{}", printable(heading))?;
            }
            sentences.iter().try_for_each(|words| sentence(out, words))
        }
    }
}

fn answer(out: &mut dyn Write, answer: &Answer) -> io::Result<()> {
    let about = if answer.about().is_empty() { String::new() } else { format!("{}: ", answer.about()) };
    labelled(out, "Answer", &format!("{about}{}", answer.headline()))?;
    answer.sentences().iter().try_for_each(|words| labelled(out, "", words))
}

/// The headline on a line of its own, then the findings with advice.
pub(crate) fn banner(out: &mut dyn Write, headline: &str, banner: &Banner, detail: Detail) -> io::Result<()> {
    let lines = wrapped(headline, COLUMNS - FURTHER.len()).into_iter();
    let mut lines = lines.zip([""].into_iter().chain(std::iter::repeat(FURTHER)));
    lines.try_for_each(|(line, indent)| writeln!(out, "{indent}{}", printable(&line)))?;
    findings(out, banner, detail, FURTHER)
}

/// A line for each warning and, with details, for each note; otherwise the names of all notes share one. Indented lines
/// contain the advice.
pub(crate) fn findings(out: &mut dyn Write, banner: &Banner, detail: Detail, indent: &str) -> io::Result<()> {
    let is_full = detail == Detail::Full;
    let is_listed = |found: &&VerdictLine| is_full || found.tone > Tone::Good;
    let listed: Vec<&VerdictLine> = banner.findings.iter().filter(is_listed).collect();
    for alike in listed.chunk_by(|one, other| one.name == other.name) {
        let shown = if is_full || indent.is_empty() { alike.len() } else { alike.len().min(ALIKE_MAX) };
        for VerdictLine { word, name, figure, more, meaning, advice, .. } in &alike[..shown] {
            let figure = if name.is_empty() { figure.clone() } else { format!("{name}: {figure}") };
            labelled(out, &format!("{indent}{word}"), &figure)?;
            match (is_full, indent) {
                (true, _) => [more, advice, meaning].into_iter().try_for_each(|words| labelled(out, "", words))?,
                (false, "") => {}
                (false, _) => labelled(out, "", Finding::action(advice))?,
            }
        }
        if let Some(VerdictLine { word, name, .. }) = alike.get(shown) {
            let more = grouped((alike.len() - shown) as f64);
            labelled(out, &format!("{indent}{word}"), &format!("{name}: {more} more"))?;
        }
    }
    let notes = banner.findings.iter().filter(|found| !is_listed(found));
    let mut notes: Vec<&str> = notes.map(|found| found.name.as_str()).collect();
    notes.dedup();
    labelled(out, &format!("{indent}{}", Severity::Note.word()), &notes.join(", "))
}

pub(crate) fn table(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    let Table { heading, note, .. } = table;
    if !heading.is_empty() {
        writeln!(out, "{}", printable(heading))?;
    }
    lines(table).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    sentence(out, note)
}

pub(crate) fn sentence(out: &mut dyn Write, words: &str) -> io::Result<()> {
    wrapped(words, COLUMNS).iter().try_for_each(|line| writeln!(out, "{}", printable(line)))
}

/// `Next      Run it again: ...`; the further lines begin below its text.
pub(crate) fn labelled(out: &mut dyn Write, label: &str, words: &str) -> io::Result<()> {
    let mut label = format!("{label} ");
    for line in wrapped(words, COLUMNS - TEXT_COLUMN.max(label.chars().count())) {
        writeln!(out, "{label:<TEXT_COLUMN$}{}", printable(&line))?;
        label.clear();
    }
    Ok(())
}
