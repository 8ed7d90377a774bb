//! Warnings in the verdicts of several runs: what each means, and which runs it affects.

use super::block::{Banner, Block, Found, Tone};
use super::foreign_text::text;
use model::doubt::{Doubt, NotedRuns};
use model::finding::Severity;
use model::headline::Headline;
use std::borrow::Cow;
use std::fmt;

/// Runs that are named for a warning at most.
const NAMED_MAX: usize = 6;

/// Figures of different wording that are shown for a warning at most.
const FIGURES_MAX: usize = 2;

/// Before what to do about a finding of several runs.
const WHAT_TO_DO: &str = "What to do: ";

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

impl Found {
    /// Gives another advice.
    pub(super) fn advise(&mut self, advice: &str) {
        let advice = plain(advice);
        let is_whole = self.advice.starts_with(WHAT_TO_DO);
        self.advice = if is_whole { format!("{WHAT_TO_DO}{advice}.") } else { advice };
    }
}

impl Meaning {
    /// `Meaning: measured time, if below 60 s.`
    pub(super) fn sentence(&self) -> String {
        format!("Meaning: {}.", plain(self.computed_from))
    }
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

/// [`warnings`] where intervals come from the differences between runs: no run need be long enough for one of its own.
pub(super) fn warnings_of_repeats(runs: &[NamedRun<'_>], explain: Explain) -> Vec<Found> {
    let mut all = warnings(runs, explain);
    if let Some((short, meaning)) = all.iter_mut().find(|found| found.name == "short-run").zip(explain("short-run")) {
        short.advise(meaning.advice);
    }
    all
}

/// What was found in several runs, if anything was.
pub(super) fn banner(findings: Vec<Found>) -> Option<Block> {
    let tone = findings.iter().map(|found| found.tone).max()?;
    let headline = match tone {
        Tone::Bad => "Some runs failed or are invalid",
        Tone::Warn => "Look at these before using the results",
        Tone::Plain | Tone::Good => "No warnings; these notes limit what the figures show",
    };
    Some(Block::Verdict(Banner { tone, headline: headline.to_owned(), findings }))
}

fn warning(name: &str, count: usize, runs: &[NamedRun<'_>], explain: Explain) -> Found {
    let affected = || runs.iter().filter(|(_, run)| run.finding_names().any(|found| found == name));
    // The rule may be graver than what it found.
    let worst = affected().filter_map(|(_, run)| run.severity).max().unwrap_or(Severity::Warn);
    let meaning = explain(name);
    let severity = meaning.map_or(worst, |meaning| meaning.severity.clamp(Severity::Warn, worst.max(Severity::Warn)));
    let which = if runs.len() == 1 {
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
        // Names of loads have commas in them.
        format!("in {count} of {} runs: {}{more}", runs.len(), names.join("; "))
    };
    let advice = advice_for_all(affected().filter_map(|(_, run)| run.finding_advice(name)), meaning);
    Found {
        tone: Tone::of(Some(severity)),
        word: severity.word().to_owned(),
        name: text(name.as_bytes()),
        figure: match figures(affected().map(|(_, run)| *run), name) {
            Some(figures) => {
                let affected: Vec<&NamedRun<'_>> = affected().collect();
                let is_grave = meaning.is_none_or(|meaning| meaning.severity > Severity::Note);
                let largest = largest(&affected, name).filter(|_| is_grave);
                let largest = largest.map(|run| format!(" (largest: {run})")).unwrap_or_default();
                format!("{}{largest}, {which}", text(figures.as_bytes()))
            }
            None => which,
        },
        meaning: meaning.map(|meaning| meaning.sentence()).unwrap_or_default(),
        advice: advice.map(|advice| format!("{WHAT_TO_DO}{}.", text(plain(advice).as_bytes()))).unwrap_or_default(),
    }
}

/// What to do about a finding that several runs or loads have: of advice with different numbers that with the largest; where the
/// words differ, that of the rule.
pub(super) fn advice_for_all<'a>(own: impl IntoIterator<Item = &'a str>, meaning: Option<Meaning>) -> Option<&'a str> {
    let own: Vec<&str> = own.into_iter().filter(|advice| !advice.is_empty()).collect();
    let words = |advice: &str| advice.replace(|character: char| character.is_ascii_digit(), "");
    let is_alike = own.windows(2).all(|pair| words(pair[0]) == words(pair[1]));
    let largest = own.into_iter().max_by_key(|advice| (advice.len(), *advice));
    let of_rule = meaning.map(|meaning| meaning.advice).filter(|advice| !advice.is_empty());
    if is_alike { largest.or(of_rule) } else { of_rule.or(largest) }
}

/// What the figures of a finding say together: `1.5 to 12.2 % of the CPU time was stolen`.
pub(super) fn figures<'a>(runs: impl IntoIterator<Item = &'a Headline>, name: &str) -> Option<String> {
    let mut wordings: Vec<Wording<'_>> = Vec::new();
    let figures: Vec<Cow<'_, str>> =
        runs.into_iter().filter_map(|run| run.finding_figure(name)).map(with_share_of_others).collect();
    for figure in &figures {
        let wording = Wording::of(figure);
        match wordings.iter_mut().find(|known| known.words == wording.words) {
            Some(known) => known.merge(wording),
            None => wordings.push(wording),
        }
    }
    let more = if wordings.len() > FIGURES_MAX { "; others differ" } else { "" };
    let shown: Vec<String> = wordings.iter().take(FIGURES_MAX).map(Wording::to_string).collect();
    (!shown.is_empty()).then(|| shown.join("; ") + more)
}

/// A figure with the share of the CPU time that others had, in place of all shares: these add up to 100 % in each run, so that their
/// ranges say nothing.
fn with_share_of_others(figure: &str) -> Cow<'_, str> {
    let Some((figure, shares)) = figure.split_once("; time of all CPUs: ") else { return Cow::Borrowed(figure) };
    match shares.split(", ").find_map(|share| share.strip_prefix("other programs ")) {
        Some(others) => Cow::Owned(format!("{figure}; other programs had {others} of the time of all CPUs")),
        None => Cow::Borrowed(figure),
    }
}

/// The run with the largest figure, where the figures differ in one number.
fn largest<'a>(affected: &[&'a NamedRun<'_>], name: &str) -> Option<&'a str> {
    let wordings: Vec<(&str, Wording<'_>)> = affected
        .iter()
        .filter_map(|(label, run)| Some((label.as_str(), Wording::of(run.finding_figure(name)?))))
        .collect();
    let (_, first) = wordings.first()?;
    if wordings.iter().any(|(_, wording)| wording.words != first.words) {
        return None;
    }
    let is_varied = |at: &usize| wordings.iter().any(|(_, wording)| wording.ranges[*at] != first.ranges[*at]);
    let mut varied = (0..first.ranges.len()).filter(is_varied);
    let (at, None) = (varied.next()?, varied.next()) else { return None };
    let of = |(_, wording): &(&str, Wording<'_>)| value(wording.ranges[at].1);
    wordings.iter().max_by(|a, b| of(a).total_cmp(&of(b))).map(|(label, _)| *label)
}

/// A number of a figure.
fn value(number: &str) -> f64 {
    number.replace(',', "").parse().unwrap_or_default()
}

/// A figure in words, with the smallest and the largest of each of its numbers.
struct Wording<'a> {
    /// What is before, between and behind the numbers.
    words: Vec<&'a str>,
    ranges: Vec<(&'a str, &'a str)>,
}

impl<'a> Wording<'a> {
    fn of(figure: &'a str) -> Self {
        let (mut words, mut ranges, mut rest, mut from) = (Vec::new(), Vec::new(), figure, 0);
        while let Some(at) = rest[from..].find(|first: char| first.is_ascii_digit()).map(|at| at + from) {
            let length = rest[at..]
                .find(|next: char| !next.is_ascii_digit() && !matches!(next, '.' | ','))
                .unwrap_or(rest.len() - at);
            let number = rest[at..at + length].trim_end_matches(['.', ',']);
            // Digits of names, such as nvme0n1, are no numbers.
            if rest[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '-' | '/' | '.'))
            {
                from = at + number.len();
                continue;
            }
            words.push(&rest[..at]);
            ranges.push((number, number));
            (rest, from) = (&rest[at + number.len()..], 0);
        }
        words.push(rest);
        Self { words, ranges }
    }

    /// With the numbers of the same words.
    fn merge(&mut self, other: Self) {
        for ((least, most), (number, _)) in self.ranges.iter_mut().zip(other.ranges) {
            if value(number) < value(least) {
                *least = number;
            }
            if value(number) > value(most) {
                *most = number;
            }
        }
    }
}

impl fmt::Display for Wording<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (words, (least, most)) in self.words.iter().zip(&self.ranges) {
            write!(f, "{words}{least}")?;
            if least != most {
                write!(f, " to {most}")?;
            }
        }
        f.write_str(self.words.last().unwrap_or(&""))
    }
}

/// Documentation without its marks of code.
pub(super) fn plain(documentation: &str) -> String {
    documentation.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::cpu_shares::CpuShares;

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
                ("INVALID", "lost-ios", "in 1 of 4 runs: run 4"),
                ("WARN", "steal", "in 3 of 4 runs: run 1; run 3; run 4"),
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
        assert_eq!(of_steal(&named[..2]), "1 to 2 % stolen (largest: run 2), in both runs");
        assert_eq!(of_steal(&named), "1 to 4 % stolen (largest: run 4), in all 4 runs");
        let of = |figures: &[&str]| {
            let runs: Vec<Headline> = figures.iter().map(|figure| with(figure)).collect();
            super::figures(&runs, "steal").expect("there is one")
        };
        assert_eq!(of(&["measured for 4.0 s"; 3]), "measured for 4.0 s");
        let of_disks = ["vda1's mean depth was 12.2; -o16", "vda1's mean depth was 1.5; -o16"];
        assert_eq!(of(&of_disks), "vda1's mean depth was 1.5 to 12.2; -o16");
        let of_cpus = [(2, 50.0), (3, 60.5)].map(|(waited, others_percent)| {
            let shares = CpuShares { others_percent, idle_percent: 100.0 - others_percent, ..CpuShares::default() };
            format!("waited for {waited} %; time of all CPUs: {shares}")
        });
        let expected = "waited for 2 to 3 %; other programs had 50.0 to 60.5 % of the time of all CPUs";
        assert_eq!(of(&of_cpus.each_ref().map(String::as_str)), expected);
        assert_eq!(of(&["waited for 2 %; time of all CPUs: idle 1 %"]), "waited for 2 %");
        assert_eq!(of(&["1,024 of 5-nines.", "999 of 4-nines."]), "999 to 1,024 of 4 to 5-nines.");
        assert_eq!(of(&["sda: 1 %", "nvme0n1: 1 %", "sdb: 2 %"]), "sda: 1 %; nvme0n1: 1 %; others differ");
    }

    /// A page advised to bind threads because other programs had no CPU time, beside 64 % of it.
    #[test]
    fn advice_for_all_contradicts_none() {
        let advice = |own: &[&'static str]| advice_for_all(own.iter().copied(), explain("steal"));
        assert_eq!(
            advice(&["measure for 60 s (-d60)", "", "measure for 150 s (-d150)"]),
            Some("measure for 150 s (-d150)")
        );
        assert_eq!(advice(&["stop other programs", "bind threads"]), Some("measure again"));
        assert_eq!(advice(&[]), Some("measure again"));
        assert_eq!(advice_for_all(["stop other programs", "bind threads"], None), Some("stop other programs"));
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
        assert_eq!(headline, "No warnings; these notes limit what the figures show");
        assert_eq!(lines, ["NOTE short-run: measured for 1.0 s, in both runs"]);
        let (headline, lines) = told(&[&warned, &short]);
        assert_eq!(headline, "Look at these before using the results");
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("WARN steal: in 1 of 2 runs: run 1")
                && lines[1].starts_with("NOTE short-run: measured for 1.0 s, in both")
        );
    }

    #[test]
    fn many_runs_are_not_all_named() {
        let runs: Vec<Headline> =
            (0..20).map(|index| run(Severity::Warn, if index == 0 { &[] } else { &["steal"] })).collect();
        let named: Vec<NamedRun<'_>> = (1..).zip(&runs).map(|(number, run)| (number.to_string(), run)).collect();
        let found = warnings(&named, explain);
        assert_eq!(found[0].figure, "in 19 of 20 runs: 2; 3; 4; 5; 6; 7 and 13 more");
    }
}
