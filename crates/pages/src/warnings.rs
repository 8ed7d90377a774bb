//! Warnings in the verdicts of several runs: what each means, and which runs it affects.

use super::block::{Banner, Block, Found, Tone};
use super::foreign_text::text;
use model::doubt::{Doubt, NotedRuns};
use model::finding::Severity;
use model::headline::Headline;

/// Runs that are named for a warning at most.
const NAMED_MAX: usize = 6;

/// Runs whose figure is shown for a warning at most.
const FIGURES_MAX: usize = 2;

/// What a finding of this name means.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The severity of its rule.
    pub severity: Severity,
    /// From when on it is reported.
    pub computed_from: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// The documentation of findings; `None` of an unknown name.
pub type Explain = fn(name: &str) -> Option<Meaning>;

/// A run and its name on the page.
pub(super) type NamedRun<'a> = (String, &'a Headline);

/// A line for each finding of the runs: warnings, then notes, the most frequent first.
pub(super) fn warnings(runs: &[NamedRun<'_>], explain: Explain) -> Vec<Found> {
    let headlines = || runs.iter().map(|(_, run)| *run);
    let causes = Doubt::of(headlines()).map(|doubt| doubt.causes).unwrap_or_default();
    let notes = NotedRuns::of(headlines()).map(|noted| noted.notes).unwrap_or_default();
    let is_warning = |name: &String| causes.iter().any(|(cause, _)| cause == name);
    let warned = causes.iter().map(|(name, count)| warning(name, *count, runs, explain));
    // What is a warning in other runs stands there.
    let milder = notes.iter().filter(|(name, _)| !is_warning(name)).map(|(name, count)| {
        let (tone, word) = (Tone::Plain, Severity::Note.word().to_owned());
        Found { tone, word, ..warning(name, *count, runs, explain) }
    });
    warned.chain(milder).collect()
}

/// What was found in several runs, if anything was.
pub(super) fn banner(findings: Vec<Found>) -> Option<Block> {
    let tone = findings.iter().map(|found| found.tone).max()?;
    let headline = match tone {
        Tone::Bad => "Some runs failed or are invalid",
        Tone::Warn => "Look at these before using the results",
        Tone::Plain | Tone::Good => "The results are valid, with these limits",
    };
    Some(Block::Verdict(Banner { tone, headline: headline.to_owned(), findings }))
}

fn warning(name: &str, count: usize, runs: &[NamedRun<'_>], explain: Explain) -> Found {
    let affected = || runs.iter().filter(|(_, run)| run.finding_names().any(|found| found == name));
    // The rule may be graver than what it found.
    let worst = affected().filter_map(|(_, run)| run.severity).max().unwrap_or(Severity::Warn);
    let meaning = explain(name);
    let severity = meaning.map_or(worst, |meaning| meaning.severity.clamp(Severity::Warn, worst.max(Severity::Warn)));
    let figure = if runs.len() == 1 {
        "in the only run".to_owned()
    } else if (count, runs.len()) == (2, 2) {
        "in both runs".to_owned()
    } else if count == runs.len() {
        format!("in all {count} runs")
    } else {
        let mut names: Vec<&str> = Vec::new();
        for (label, _) in affected() {
            if !names.contains(&label.as_str()) {
                names.push(label);
            }
        }
        let more = names.len().saturating_sub(NAMED_MAX);
        names.truncate(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let why = match (meaning, count) {
            (None, _) => "",
            (Some(_), 1) => ", the only one that meets its condition (see meaning)",
            (Some(_), _) => ", the only ones that meet its condition (see meaning)",
        };
        // Names of loads have commas in them.
        format!("in {count} of {} runs{why}: {}{more}", runs.len(), names.join("; "))
    };
    // Of advice with different numbers, that with the largest.
    let own = affected().filter_map(|(_, run)| run.finding_advice(name)).max_by_key(|advice| (advice.len(), *advice));
    let advice = own.or(meaning.map(|meaning| meaning.advice)).filter(|advice| !advice.is_empty());
    Found {
        tone: Tone::of(Some(severity)),
        word: severity.word().to_owned(),
        name: text(name.as_bytes()),
        figure: figures(&affected().collect::<Vec<_>>(), name).into_iter().fold(figure, |all, one| all + ". " + &one),
        meaning: meaning.map(|meaning| format!("Meaning: {}.", plain(meaning.computed_from))).unwrap_or_default(),
        advice: advice.map(|advice| format!("What to do: {}.", text(plain(advice).as_bytes()))).unwrap_or_default(),
    }
}

/// `run 1: 12.3 % of the CPU time was stolen`, for the first runs that it affects.
fn figures(affected: &[&NamedRun<'_>], name: &str) -> Option<String> {
    let figure =
        |(run, headline): &&NamedRun<'_>| Some(format!("{run}: {}", text(headline.finding_figure(name)?.as_bytes())));
    let shown: Vec<String> = affected.iter().take(FIGURES_MAX).filter_map(figure).collect();
    let more = if affected.len() > FIGURES_MAX { " · ..." } else { "" };
    (!shown.is_empty()).then(|| shown.join(" · ") + more)
}

/// Documentation without its marks of code.
pub(super) fn plain(documentation: &str) -> String {
    documentation.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(name: &str) -> Option<Meaning> {
        let severity = if name == "lost-ios" { Severity::Invalid } else { Severity::Warn };
        (name != "unheard-of").then_some(Meaning {
            severity,
            computed_from: "the share of `/proc/stat`, if above 2 %",
            advice: "measure again",
        })
    }

    fn run(severity: Severity, warnings: &[&str]) -> Headline {
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Headline { severity: Some(severity), warnings, ..Headline::default() }
    }

    #[test]
    fn each_warning_has_its_meaning_and_its_runs() {
        let runs = [
            run(Severity::Warn, &["steal"]),
            run(Severity::Note, &[]),
            run(Severity::Warn, &["steal", "unheard-of"]),
            run(Severity::Invalid, &["lost-ios", "steal"]),
        ];
        let named: Vec<NamedRun<'_>> = (1..).zip(&runs).map(|(number, run)| (format!("run {number}"), run)).collect();
        let found = warnings(&named, explain);
        let seen: Vec<(&str, &str, &str)> =
            found.iter().map(|found| (found.word.as_str(), found.name.as_str(), found.figure.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("INVALID", "lost-ios", "in 1 of 4 runs, the only one that meets its condition (see meaning): run 4"),
                (
                    "WARN",
                    "steal",
                    "in 3 of 4 runs, the only ones that meet its condition (see meaning): run 1; run 3; run 4"
                ),
                ("WARN", "unheard-of", "in 1 of 4 runs: run 3"),
            ]
        );
        assert_eq!(found[1].meaning, "Meaning: the share of /proc/stat, if above 2 %.");
        assert_eq!((found[1].advice.as_str(), found[2].advice.as_str()), ("What to do: measure again.", ""));
        let all: Vec<NamedRun<'_>> = named.iter().take(1).cloned().collect();
        assert_eq!(warnings(&all, explain)[0].figure, "in the only run");
        assert!(warnings(&named[1..2], explain).is_empty());
    }

    #[test]
    fn warnings_have_their_figures() {
        let with = |figure: &str| Headline {
            warning_figures: vec!["8 I/Os".to_owned(), figure.to_owned()],
            ..run(Severity::Warn, &["drift", "steal"])
        };
        let runs: Vec<Headline> = (1..=4).map(|number| with(&format!("{number} % stolen"))).collect();
        let named: Vec<NamedRun<'_>> = (1..).zip(&runs).map(|(number, run)| (format!("run {number}"), run)).collect();
        let of_steal = |runs: &[NamedRun<'_>]| {
            let found = warnings(runs, explain);
            found.into_iter().find(|found| found.name == "steal").map(|found| found.figure).expect("it is there")
        };
        assert_eq!(of_steal(&named[..2]), "in both runs. run 1: 1 % stolen · run 2: 2 % stolen");
        let all = "in all 4 runs. run 1: 1 % stolen · run 2: 2 % stolen · ...";
        assert_eq!(of_steal(&named), all);
    }

    #[test]
    fn notes_follow_the_warnings() {
        let short = Headline {
            notes: vec!["short-run".to_owned()],
            note_figures: vec!["measured for 1.0 s".to_owned()],
            ..run(Severity::Note, &[])
        };
        let warned = Headline { notes: short.notes.clone(), ..run(Severity::Warn, &["steal"]) };
        let told = |runs: &[&Headline]| {
            let named: Vec<NamedRun<'_>> =
                (1..).zip(runs).map(|(number, run)| (format!("run {number}"), *run)).collect();
            let found = warnings(&named, explain);
            let lines = found.iter().map(|found| format!("{} {}: {}", found.word, found.name, found.figure)).collect();
            let Some(Block::Verdict(banner)) = banner(found) else { panic!("no banner") };
            let lines: Vec<String> = lines;
            (banner.headline, lines)
        };
        let (headline, lines) = told(&[&short, &short]);
        assert_eq!(headline, "The results are valid, with these limits");
        let figures = "run 1: measured for 1.0 s \u{b7} run 2: measured for 1.0 s";
        assert_eq!(lines, [format!("NOTE short-run: in both runs. {figures}")]);
        let (headline, lines) = told(&[&warned, &short]);
        assert_eq!(headline, "Look at these before using the results");
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0]
                .starts_with("WARN steal: in 1 of 2 runs, the only one that meets its condition (see meaning): run 1")
                && lines[1].starts_with("NOTE short-run: in both")
        );
    }

    #[test]
    fn many_runs_are_not_all_named() {
        let runs: Vec<Headline> =
            (0..20).map(|index| run(Severity::Warn, if index == 0 { &[] } else { &["steal"] })).collect();
        let named: Vec<NamedRun<'_>> = (1..).zip(&runs).map(|(number, run)| (number.to_string(), run)).collect();
        let found = warnings(&named, explain);
        assert_eq!(
            found[0].figure,
            "in 19 of 20 runs, the only ones that meet its condition (see meaning): 2; 3; 4; 5; 6; 7 and 13 more"
        );
    }
}
