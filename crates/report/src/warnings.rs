//! Warnings in the verdicts of several runs: what each means, and which runs it affects.

use super::block::{Banner, Block, Tone, VerdictLine};
use super::foreign_text::text;
use super::quantity::{significant, size};
use model::doubt::{NotedRuns, RunWarnings};
use model::finding::{Finding, Severity};
use model::headline::Headline;

/// Runs that are named for a warning at most.
const NAMED_MAX: usize = 6;

/// Prefix of the advice on a finding of several runs.
const WHAT_TO_DO: &str = "What to do: ";

/// The documentation of a finding.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The severity of its rule.
    pub severity: Severity,
    /// The unit of the values of its findings; may be empty.
    pub unit: &'static str,
    /// The threshold from which it is reported.
    pub computed_from: &'static str,
    /// The advice.
    pub advice: &'static str,
}

impl VerdictLine {
    /// Replaces the advice.
    pub(crate) fn advise(&mut self, advice: &str) {
        let advice = plain(advice);
        let is_whole = self.advice.starts_with(WHAT_TO_DO);
        self.advice = if is_whole { format!("{WHAT_TO_DO}{advice}.") } else { advice };
    }
}

impl Meaning {
    /// `Meaning: measured time, if below 60 s.`
    pub(crate) fn sentence(&self) -> String {
        format!("Meaning: {}.", plain(self.computed_from))
    }
}

/// The documentation of findings; `None` of an unknown name.
pub type Explain = fn(name: &str) -> Option<Meaning>;

/// A run and its name in the report.
pub(crate) type NamedRun<'a> = (String, &'a Headline);

/// A line for each finding of the runs: warnings, then notes, the most frequent first.
pub(crate) fn warnings(runs: &[NamedRun<'_>], explain: Explain) -> Vec<VerdictLine> {
    let headlines = || runs.iter().map(|(_, run)| *run);
    let causes = RunWarnings::from_runs(headlines()).map(|doubt| doubt.causes).unwrap_or_default();
    let notes = NotedRuns::from_runs(headlines()).map(|noted| noted.notes).unwrap_or_default();
    let is_warning = |name: &String| causes.iter().any(|(cause, _)| cause == name);
    let warning_of = |name: &str, kind| warning(name, &having(name, runs, kind), runs.len(), explain);
    let warned = causes.iter().map(|(name, _)| warning_of(name, |run| &run.warnings));
    // A finding that is a warning in other runs is listed there.
    let milder = notes.iter().filter(|(name, _)| !is_warning(name)).map(|(name, _)| {
        let (tone, word) = (Tone::Plain, Severity::Note.word().to_owned());
        VerdictLine { tone, word, ..warning_of(name, |run| &run.notes) }
    });
    warned.chain(milder).collect()
}

/// [`warnings`] for intervals from the differences between runs: no run need be long enough for an interval of its own.
pub(crate) fn warnings_of_repeats(runs: &[NamedRun<'_>], explain: Explain) -> Vec<VerdictLine> {
    let mut all = warnings(runs, explain);
    if let Some((short, meaning)) = all.iter_mut().find(|found| found.name == "short-run").zip(explain("short-run")) {
        short.advise(meaning.advice);
    }
    all
}

/// The findings of several runs, if there are any.
pub(crate) fn banner(findings: Vec<VerdictLine>) -> Option<Block> {
    let tone = findings.iter().map(|found| found.tone).max()?;
    let headline = match tone {
        Tone::Bad => "Some runs failed or are invalid",
        Tone::Warn => "Look at these before using the results",
        Tone::Plain | Tone::Good => "No warnings; these notes limit what the figures show",
    };
    Some(Block::Verdict(Banner { tone, headline: headline.to_owned(), findings }))
}

/// The runs that have a finding among those of one kind.
fn having<'a>(name: &str, runs: &[NamedRun<'a>], kind: fn(&Headline) -> &[String]) -> Vec<NamedRun<'a>> {
    runs.iter().filter(|(_, run)| kind(run).iter().any(|found| found == name)).cloned().collect()
}

/// `all`: the number of runs, including those `affected`.
fn warning(name: &str, affected: &[NamedRun<'_>], all: usize, explain: Explain) -> VerdictLine {
    let count = affected.len();
    let affected = || affected.iter();
    // The rule may be graver than its finding.
    let worst = affected().filter_map(|(_, run)| run.severity).max().unwrap_or(Severity::Warn);
    let meaning = explain(name);
    let severity = meaning.map_or(worst, |meaning| meaning.severity.clamp(Severity::Warn, worst.max(Severity::Warn)));
    let which = if all == 1 {
        "in the only run".to_owned()
    } else if (count, all) == (2, 2) {
        "in both runs".to_owned()
    } else if count == all {
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
        // Names of loads contain commas.
        format!("in {count} of {all} runs: {}{more}", names.join("; "))
    };
    let advice = advice_for_all(affected().filter_map(|(_, run)| run.finding_advice(name)), meaning);
    let spread = Spread::from_runs(&affected().collect::<Vec<_>>(), name, meaning);
    VerdictLine {
        tone: Tone::from_severity(Some(severity)),
        word: severity.word().to_owned(),
        name: text(name),
        figure: spread.as_ref().map_or_else(|| which.clone(), |Spread { words, .. }| format!("{words}, {which}")),
        more: spread.map(|Spread { largest, .. }| text(&largest)).unwrap_or_default(),
        meaning: meaning.map(|meaning| meaning.sentence()).unwrap_or_default(),
        advice: advice.map(|advice| format!("{WHAT_TO_DO}{}.", text(&plain(advice)))).unwrap_or_default(),
    }
}

/// The advice on a finding of several runs or loads: of advice with different numbers, that with the largest; if the
/// words differ, that of the rule.
pub(crate) fn advice_for_all<'a>(own: impl IntoIterator<Item = &'a str>, meaning: Option<Meaning>) -> Option<&'a str> {
    let own: Vec<&str> = own.into_iter().filter(|advice| !advice.is_empty()).collect();
    let words = |advice: &str| advice.replace(|character: char| character.is_ascii_digit(), "");
    let is_alike = own.windows(2).all(|pair| words(pair[0]) == words(pair[1]));
    let largest = own.into_iter().max_by_key(|advice| (advice.len(), *advice));
    let of_rule = meaning.map(|meaning| meaning.advice).filter(|advice| !advice.is_empty());
    if is_alike { largest.or(of_rule) } else { of_rule.or(largest) }
}

/// The values of a finding that several runs have.
struct Spread {
    /// `1.5 to 12.2 % (largest: run 3)`; of runs with the same value, the figure of one.
    words: String,
    /// The figure of the run with the largest value, if the words do not have it.
    largest: String,
}

impl Spread {
    fn from_runs(affected: &[&NamedRun<'_>], name: &str, meaning: Option<Meaning>) -> Option<Self> {
        let value = |(_, run): &&NamedRun<'_>| run.finding_value(name);
        let by_value = |one: &&&NamedRun<'_>, other: &&&NamedRun<'_>| {
            value(one).unwrap_or_default().total_cmp(&value(other).unwrap_or_default())
        };
        let (least, most) = (affected.iter().min_by(by_value)?, affected.iter().max_by(by_value)?);
        let figure = most.1.finding_figure(name).unwrap_or_default();
        let of_unit = |value: f64| shown(value, meaning.map_or("", |meaning| meaning.unit));
        // The unit of an unknown rule is in its figures alone.
        let is_known = meaning.is_some() && affected.iter().all(|run| value(run).is_some());
        let ends = is_known.then(|| [least, most].map(value));
        let is_range = |ends: &[Option<f64>; 2]| ends[0].map(of_unit) != ends[1].map(of_unit);
        let Some([Some(low), Some(high)]) = ends.filter(is_range) else {
            let (head, rest) = Finding::parts(figure);
            let words = text(head);
            return (!words.is_empty()).then(|| Self { words, largest: rest.to_owned() });
        };
        let is_grave = meaning.is_none_or(|meaning| meaning.severity > Severity::Note);
        let run = if is_grave { format!(" (largest: {})", most.0) } else { String::new() };
        let low = if meaning.is_some_and(|meaning| meaning.unit == "bytes") { of_unit(low) } else { significant(low) };
        let high = of_unit(high);
        Some(Self { words: format!("{low} to {high}{run}"), largest: figure.to_owned() })
    }
}

/// A value in the unit of a rule.
fn shown(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => size(value as u64),
        "" => significant(value),
        unit if unit.ends_with("percent") => format!("{} %", significant(value)),
        unit => {
            let number = significant(value);
            // `1 contradiction`
            let unit = unit.strip_suffix('s').filter(|_| number == "1").unwrap_or(unit);
            format!("{number} {unit}")
        }
    }
}

/// Documentation without its marks of code.
pub(crate) fn plain(documentation: &str) -> String {
    documentation.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(name: &str) -> Option<Meaning> {
        let severity = if name == "lost-ios" { Severity::Invalid } else { Severity::Warn };
        (name != "unheard-of").then_some(Meaning {
            severity,
            unit: "percent",
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
    fn warnings_have_their_values() {
        let with = |value: Option<f64>, figure: &str| Headline {
            warning_figures: vec!["8 I/Os".to_owned(), figure.to_owned()],
            warning_values: vec![Some(8.0), value],
            ..run(Severity::Warn, &["drift", "steal"])
        };
        let value_and_more = |runs: &[Headline]| {
            let named: Vec<NamedRun<'_>> =
                (1..).zip(runs).map(|(number, run)| (format!("run {number}"), run)).collect();
            let found = warnings(&named, explain).into_iter().find(|found| found.name == "steal").expect("it is there");
            (found.figure, found.more)
        };
        let runs: Vec<Headline> =
            (1..=4).map(|value| with(Some(f64::from(value)), &format!("{value} % stolen; idle 1 %"))).collect();
        let (figure, more) = value_and_more(&runs[..2]);
        assert_eq!(figure, "1 to 2 % (largest: run 2), in both runs");
        assert_eq!(more, "2 % stolen; idle 1 %");
        assert_eq!(value_and_more(&runs).0, "1 to 4 % (largest: run 4), in all 4 runs");
        let alike = vec![with(Some(2.0), "2 % stolen; idle 1 %"); 3];
        assert_eq!(value_and_more(&alike), ("2 % stolen, in all 3 runs".to_owned(), "idle 1 %".to_owned()));
        let earlier = vec![with(None, "2 % stolen"), with(None, "3 % stolen")];
        assert_eq!(value_and_more(&earlier).0, "3 % stolen, in both runs", "older documents have no values");
        assert_eq!((shown(67_108_864.0, "bytes"), shown(3.25, "requests")), ("64 MiB".into(), "3.25 requests".into()));
        assert_eq!(shown(1.0, "contradictions"), "1 contradiction");
    }

    /// A page advised to bind threads because other programs had no CPU time, next to 64 % CPU usage.
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
        let lines_and_banner = |runs: &[&Headline]| {
            let named: Vec<NamedRun<'_>> =
                (1..).zip(runs).map(|(number, run)| (format!("run {number}"), *run)).collect();
            let found = warnings(&named, explain);
            let lines = found.iter().map(|found| format!("{} {}: {}", found.word, found.name, found.figure)).collect();
            let Some(Block::Verdict(banner)) = banner(found) else { panic!("no banner") };
            let lines: Vec<String> = lines;
            (banner.headline, lines)
        };
        let (headline, lines) = lines_and_banner(&[&short, &short]);
        assert_eq!(headline, "No warnings; these notes limit what the figures show");
        assert_eq!(lines, ["NOTE short-run: measured for 1.0 s, in both runs"]);
        let (headline, lines) = lines_and_banner(&[&warned, &short]);
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
