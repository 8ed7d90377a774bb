//! The verdicts of several runs, taken together.

use crate::finding::Severity;
use crate::headline::Headline;
use std::collections::BTreeMap;
use std::fmt;

/// Why some runs cannot be relied on: the warnings and more severe findings of their verdicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWarnings {
    /// The most severe verdict; a warning at least.
    pub worst: Severity,
    /// All runs.
    pub runs: usize,
    /// Those with a warning or a more severe finding.
    pub warned: usize,
    /// Those whose results are invalid.
    pub invalid: usize,
    /// Names of the findings, each with the number of its runs: those that make runs INVALID first, then the most
    /// frequent. Older documents do not name them.
    pub causes: Vec<(String, usize)>,
}

impl RunWarnings {
    /// `None` if no verdict is worse than a note.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> Option<Self> {
        let runs: Vec<&Headline> = runs.into_iter().collect();
        let count = |least: Severity| runs.iter().filter(|run| run.severity >= Some(least)).count();
        let worst = runs.iter().filter_map(|run| run.severity).max().filter(|worst| *worst >= Severity::Warn)?;
        let mut counts = BTreeMap::<&str, usize>::new();
        // A verdict has its most severe finding first.
        let gravest = |name: &str| {
            let mut invalid = runs.iter().filter(|run| run.severity >= Some(Severity::Invalid));
            invalid.any(|run| run.warnings.first().is_some_and(|first| first == name))
        };
        for name in runs.iter().flat_map(|run| &run.warnings) {
            *counts.entry(name).or_default() += 1;
        }
        let mut causes: Vec<(String, usize)> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        causes.sort_by_key(|(name, count)| std::cmp::Reverse((gravest(name), *count)));
        let (warned, invalid) = (count(Severity::Warn), count(Severity::Invalid));
        Some(Self { worst, runs: runs.len(), warned, invalid, causes })
    }
}

/// Names of findings in a headline at most.
const NAMED_MAX: usize = 2;

impl RunWarnings {
    /// `measured in runs with warnings (steal, drift and 2 more)`, for results without a sound run; `None` if one is
    /// sound.
    pub fn of_all(&self) -> Option<String> {
        if self.warned < self.runs {
            return None;
        }
        let what = match (self.invalid == self.runs, self.runs) {
            (true, 1) => "an INVALID run",
            (true, _) => "INVALID runs",
            (false, 1) => "a run with warnings",
            (false, _) => "runs with warnings",
        };
        let names: Vec<&str> = self.causes.iter().take(NAMED_MAX).map(|(name, _)| name.as_str()).collect();
        let more = match self.causes.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let causes = if names.is_empty() { String::new() } else { format!(" ({}{more})", names.join(", ")) };
        Some(format!("measured in {what}{causes}"))
    }
}

/// `all 12 runs have warnings: cpu-contention in 10, steal in 3`
impl fmt::Display for RunWarnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

/// The words of a doubt about some of the runs.
struct WarningText<'a>(&'a RunWarnings, &'a str);

impl fmt::Display for WarningText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, self.1)
    }
}

impl RunWarnings {
    /// The same for some of the runs: `which` names them, as in `all 3 runs of oltp have warnings`.
    pub fn of_which(&self, which: &str) -> String {
        WarningText(self, &format!(" {which}")).to_string()
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, which: &str) -> fmt::Result {
        let Self { runs, warned, invalid, causes, .. } = self;
        match (*warned, *runs) {
            (1, 1) => write!(f, "the run{which} has warnings"),
            (2, 2) => write!(f, "both runs{which} have warnings"),
            (warned, runs) if warned == runs => write!(f, "all {runs} runs{which} have warnings"),
            (1, runs) => write!(f, "1 of {runs} runs{which} has warnings"),
            (warned, runs) => write!(f, "{warned} of {runs} runs{which} have warnings"),
        }?;
        match *invalid {
            0 => Ok(()),
            1 if *runs == 1 => write!(f, " and is INVALID"),
            1 => write!(f, ", 1 is INVALID"),
            invalid => write!(f, ", {invalid} are INVALID"),
        }?;
        for (index, (name, count)) in causes.iter().enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            match *runs {
                1 => write!(f, "{separator}{name}"),
                _ => write!(f, "{separator}{name} in {count}"),
            }?;
        }
        Ok(())
    }
}

/// The notes in the verdicts of several runs: limits that the runs have although their results are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedRuns {
    /// All runs.
    pub runs: usize,
    /// Names of the notes, each with the number of its runs, the most frequent first. Older documents do not name them.
    pub notes: Vec<(String, usize)>,
}

impl NotedRuns {
    /// `None` if no verdict has a note.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> Option<Self> {
        let runs: Vec<&Headline> = runs.into_iter().collect();
        let mut notes: Vec<(String, usize)> = Vec::new();
        for name in runs.iter().flat_map(|run| &run.notes) {
            match notes.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => notes.push((name.clone(), 1)),
            }
        }
        // Notes of one frequency stay in the order of the verdict.
        notes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        (!notes.is_empty()).then_some(Self { runs: runs.len(), notes })
    }
}

/// `notes: short-run in all 6 runs, small-for-host in 2 of 6`
impl fmt::Display for NotedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, notes } = self;
        f.write_str("notes")?;
        for (index, (name, count)) in notes.iter().enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            match (*count, *runs) {
                (1, 1) => write!(f, "{separator}{name}"),
                (2, 2) => write!(f, "{separator}{name} in both runs"),
                (count, runs) if count == runs => write!(f, "{separator}{name} in all {runs} runs"),
                (count, runs) => write!(f, "{separator}{name} in {count} of {runs}"),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(severity: Severity, warnings: &[&str]) -> Headline {
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Headline { severity: Some(severity), warnings, ..Headline::default() }
    }

    fn words(runs: &[Headline]) -> String {
        RunWarnings::from_runs(runs).map(|doubt| format!("{} {doubt}", doubt.worst)).unwrap_or_default()
    }

    #[test]
    fn notes_are_counted() {
        let run =
            |notes: &[&str]| Headline { notes: notes.iter().map(ToString::to_string).collect(), ..Headline::default() };
        let words = |runs: &[Headline]| NotedRuns::from_runs(runs).map(|noted| noted.to_string()).unwrap_or_default();
        assert_eq!(words(&[run(&[])]), "");
        assert_eq!(words(&[run(&["short-run", "small-for-host"])]), "notes: short-run, small-for-host");
        let (both, one) = (run(&["small-for-host", "short-run"]), run(&["short-run"]));
        assert_eq!(words(&[both.clone(), one.clone()]), "notes: short-run in both runs, small-for-host in 1 of 2");
        assert_eq!(words(&[both, one.clone(), one]), "notes: short-run in all 3 runs, small-for-host in 1 of 3");
    }

    #[test]
    fn the_worst_verdict_counts_and_its_causes_are_named() {
        let (note, steal) = (run(Severity::Note, &[]), run(Severity::Warn, &["steal"]));
        let both = run(Severity::Warn, &["cpu-contention", "steal"]);
        let invalid = run(Severity::Invalid, &["lost-ios"]);
        let invalid_run = invalid.clone();
        assert_eq!(words(&[]), "");
        assert_eq!(words(&[note.clone(), Headline::default()]), "");
        assert_eq!(words(std::slice::from_ref(&steal)), "WARN the run has warnings: steal");
        assert_eq!(words(&[note.clone(), steal.clone()]), "WARN 1 of 2 runs has warnings: steal in 1");
        let all = [steal, both];
        assert_eq!(words(&all), "WARN both runs have warnings: steal in 2, cpu-contention in 1");
        let of_some = RunWarnings::from_runs(&all).map(|doubt| doubt.of_which("of oltp"));
        assert_eq!(of_some.as_deref(), Some("both runs of oltp have warnings: steal in 2, cpu-contention in 1"));
        let three = [all[0].clone(), all[0].clone(), all[1].clone()];
        assert_eq!(words(&three), "WARN all 3 runs have warnings: steal in 3, cpu-contention in 1");
        let mixed = [note, all[0].clone(), invalid.clone()];
        assert_eq!(words(&mixed), "INVALID 2 of 3 runs have warnings, 1 is INVALID: lost-ios in 1, steal in 1");
        assert_eq!(words(&[invalid]), "INVALID the run has warnings and is INVALID: lost-ios");
        let of_all = |runs: &[Headline]| RunWarnings::from_runs(runs).and_then(|doubt| doubt.of_all());
        assert_eq!(of_all(&all).as_deref(), Some("measured in runs with warnings (steal, cpu-contention)"));
        assert_eq!(of_all(&[all[0].clone(), Headline::default()]), None, "one is sound");
        let both = [invalid_run.clone(), invalid_run.clone()];
        assert_eq!(of_all(&both).as_deref(), Some("measured in INVALID runs (lost-ios)"));
        assert_eq!(of_all(&both[..1]).as_deref(), Some("measured in an INVALID run (lost-ios)"));
        let four = [run(Severity::Warn, &["a", "b", "c", "d"])];
        assert_eq!(of_all(&four).as_deref(), Some("measured in a run with warnings (a, b and 2 more)"));
        let frequent = run(Severity::Warn, &["a", "b", "c"]);
        let grave = run(Severity::Invalid, &["z", "a", "b", "c"]);
        let found = RunWarnings::from_runs(&[frequent.clone(), frequent, grave]).expect("it is there");
        assert_eq!(found.of_all().as_deref(), Some("measured in runs with warnings (z, a and 2 more)"));
        assert_eq!(of_all(&[run(Severity::Warn, &[])]).as_deref(), Some("measured in a run with warnings"));
        assert_eq!(words(&[run(Severity::Warn, &[])]), "WARN the run has warnings", "older documents name none");
    }
}
