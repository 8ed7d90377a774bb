//! Parts that the reports of all series of runs have in common.

use super::block::{Block, Brief, Report, Section, Tone, VerdictLine};
use super::environment::subtitle_of_runs;
use super::foreign_text::text;
use super::warnings::{Explain, NamedRun, banner, warnings, warnings_of_repeats};
use crate::words::limit::without_overload;
use crate::words::load_line;
use model::finding::Severity;
use model::headline::Headline;
use model::printable::command_line;
use model::result::RunResult;
use model::sweep::{Sweep, Visit, VisitOutcome};

/// The note on intervals of runs that all have warnings.
pub(crate) const EVERY_RUN_WARNED: &str = "every run has a warning: the 95 % confidence intervals cover the variation between the \
                                    runs, not errors that all of them share";

/// The report of a method; `example` is the result of one of its runs.
pub(crate) fn report_of_runs(
    method: &str,
    name: &str,
    sweep: &Sweep,
    example: Option<&RunResult>,
    brief: Brief,
    sections: Vec<Section>,
) -> Report {
    let subtitle = example.map_or_else(|| text(&sweep.program), subtitle_of_runs);
    Report::new(name.to_owned(), load_line::of_runs(sweep, example), subtitle, brief, sections).of_method(method)
}

/// The command line as it was typed.
pub(crate) fn command(subcommand: &str, sweep: &Sweep) -> Section {
    let words: Vec<String> = sweep.words.iter().map(|word| text(word)).collect();
    let words = format!("diskspd {subcommand} {}", command_line(words.iter().map(String::as_str)));
    let hint = format!("Measured with {}.", text(&sweep.program));
    Section::of_details("Command line", vec![Block::Command { words, hint }])
}

/// Runs that failed, the warnings of the others, and the findings of the series; `name` is that of a run.
pub(crate) fn verdicts(sweep: &Sweep, explain: Explain, name: fn(&Sweep, &Visit) -> String) -> Option<Block> {
    let mut findings = Vec::new();
    for visit in &sweep.visits {
        if let VisitOutcome::Failed { reasons } = &visit.outcome {
            findings.push(VerdictLine {
                tone: Tone::Bad,
                word: "FAILED".to_owned(),
                name: name(sweep, visit),
                figure: text(&reasons.join("; ")),
                ..VerdictLine::default()
            });
        }
    }
    let of_points = || sweep.visits.iter().filter(|visit| visit.is_of_point());
    let all = of_points().filter_map(|visit| Some((name(sweep, visit), visit.headline()?)));
    let all: Vec<NamedRun<'_>> = all.collect();
    let each = match &sweep.limit {
        Some(found) => {
            let judged = of_points().filter_map(|visit| Some(without_overload(found, visit.point, visit.headline()?)));
            let judged: Vec<Headline> = judged.collect();
            let names = all.iter().map(|(name, _)| name.clone());
            let mut each = warnings(&names.zip(&judged).collect::<Vec<_>>(), explain);
            let overload =
                warnings(&all, explain).into_iter().filter(|all| each.iter().all(|one| one.name != all.name));
            let overload = overload.map(|found| VerdictLine {
                tone: Tone::Plain,
                word: Severity::Note.word().to_owned(),
                ..found
            });
            each.extend(overload.collect::<Vec<_>>());
            each.iter_mut().for_each(advise);
            each
        }
        None => warnings_of_repeats(&all, explain),
    };
    // The finding that there are warnings is needed only for older documents, which do not name them.
    let others = sweep.findings.iter().filter(|finding| each.is_empty() || finding.name != "warned-runs");
    let others = others.map(|finding| VerdictLine {
        tone: Tone::from_severity(Some(finding.severity)),
        word: finding.severity.word().to_owned(),
        name: text(&finding.name),
        figure: text(&finding.figure),
        advice: text(&finding.advice),
        ..VerdictLine::default()
    });
    let others: Vec<VerdictLine> = others.collect();
    findings.extend(each);
    findings.extend(others);
    banner(findings)
}

/// Sets the advice for a search, where the program chooses the rates and other options set the run lengths.
pub(crate) fn advise(found: &mut VerdictLine) {
    if let Some(advice) = crate::words::limit::advice(&found.name) {
        found.advise(advice);
    }
}
