//! Answers: the first part of a report.

use super::block::Tone;
use super::foreign_text::text;
use crate::block::Answer;
use model::doubt::RunWarnings;
use model::headline::Headline;

/// The answer to the question of the measurement, if its runs can be relied on.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) tone: Tone,
    /// The setting or the sides that it applies to; may be empty.
    pub(crate) about: String,
    pub(crate) headline: String,
    pub(crate) sentences: Vec<String>,
}

impl Statement {
    /// An answer that applies to the whole measurement.
    pub(crate) fn new(tone: Tone, headline: impl Into<String>, sentences: impl IntoIterator<Item = String>) -> Self {
        let sentences = sentences.into_iter().collect();
        Self { tone, about: String::new(), headline: headline.into(), sentences }
    }
}

impl Answer {
    /// An answer with the verdicts of its runs: the only constructor, so no report can omit them.
    pub(crate) fn resting_on<'a>(runs: impl IntoIterator<Item = &'a Headline>, statement: Statement) -> Self {
        Self::resting_on_some(runs, "", statement)
    }

    /// The same for some of the runs only: `which` names them, as in `that decide`.
    pub(crate) fn resting_on_some<'a>(
        runs: impl IntoIterator<Item = &'a Headline>,
        which: &str,
        statement: Statement,
    ) -> Self {
        let runs: Vec<&Headline> = runs.into_iter().collect();
        Self::new(&runs, which, &runs, statement)
    }

    /// The same for a headline that names something: `named` are its runs.
    pub(crate) fn naming<'a>(
        named: impl IntoIterator<Item = &'a Headline>,
        runs: impl IntoIterator<Item = &'a Headline>,
        statement: Statement,
    ) -> Self {
        let named: Vec<&Headline> = named.into_iter().collect();
        let runs: Vec<&Headline> = runs.into_iter().collect();
        Self::new(&runs, "", if named.is_empty() { &runs } else { &named }, statement)
    }

    fn new(runs: &[&Headline], which: &str, named: &[&Headline], statement: Statement) -> Self {
        let Statement { tone, about, mut headline, mut sentences } = statement;
        let Some(doubt) = RunWarnings::from_runs(runs.iter().copied()) else {
            return Self { tone, about, headline, sentences };
        };
        // Colours are lost in black-and-white print.
        if let Some(words) = RunWarnings::from_runs(named.iter().copied()).and_then(|doubt| doubt.of_all()) {
            headline = format!("{headline}, {}", text(&words));
        }
        // A doubt that covers all runs is in the headline and not repeated.
        let is_told = doubt.of_all().is_some() && [0, doubt.runs].contains(&doubt.invalid) && named.len() == runs.len();
        if !is_told || !which.is_empty() {
            let words = if which.is_empty() { doubt.to_string() } else { doubt.of_which(which) };
            sentences.insert(0, sentence(&words));
        }
        Self { tone: tone.max(Tone::from_severity(Some(doubt.worst))), about, headline, sentences }
    }
}

/// Words as a sentence.
pub(crate) fn sentence(words: &str) -> String {
    format!("{}.", capitalised(words))
}

/// A sentence after a word.
pub(crate) fn lower(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().into_iter().flat_map(char::to_lowercase).chain(characters).collect()
}

/// Words as the beginning of a sentence.
pub(crate) fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    text(&first.into_iter().chain(characters).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;

    fn answer(tone: Tone, severities: &[Option<Severity>]) -> Answer {
        let runs: Vec<Headline> = severities
            .iter()
            .map(|severity| Headline { severity: *severity, warnings: vec!["steal".to_owned()], ..Headline::default() })
            .collect();
        let sentences = vec!["The median of the runs.".to_owned()];
        Answer::resting_on(&runs, Statement::new(tone, "Use -o8", sentences))
    }

    #[test]
    fn an_answer_is_no_greener_than_its_runs() {
        for (tone, severities, expected, sentences) in [
            (Tone::Good, &[None, Some(Severity::Note)][..], Tone::Good, 1),
            (Tone::Good, &[Some(Severity::Warn), None], Tone::Warn, 2),
            (Tone::Plain, &[Some(Severity::Warn)], Tone::Warn, 1),
            (Tone::Good, &[Some(Severity::Warn), Some(Severity::Invalid)], Tone::Bad, 2),
            (Tone::Bad, &[Some(Severity::Warn)], Tone::Bad, 1),
        ] {
            let found = answer(tone, severities);
            assert_eq!((found.tone, found.sentences.len()), (expected, sentences), "{tone:?} {severities:?}");
        }
        let found = answer(Tone::Good, &[Some(Severity::Warn); 2]);
        assert_eq!(found.sentences, ["The median of the runs."], "the headline says it");
        assert_eq!(found.headline, "Use -o8, measured in runs with warnings (steal)");
        assert_eq!(answer(Tone::Good, &[Some(Severity::Warn), None]).headline, "Use -o8", "one run is sound");
        let [warned, sound] = [Some(Severity::Warn), None].map(|severity| Headline {
            severity,
            warnings: vec!["steal".to_owned()],
            ..Headline::default()
        });
        let naming = |named| {
            let headline = "Use -o8".to_owned();
            let statement = Statement::new(Tone::Good, headline, Vec::new());
            Answer::naming([named], [&warned, &sound], statement).headline
        };
        assert_eq!(naming(&warned), "Use -o8, measured in a run with warnings (steal)", "another run is sound");
        assert_eq!(naming(&sound), "Use -o8");
        let noted = Headline { notes: vec!["short-run".to_owned()], ..Headline::default() };
        let statement = Statement::new(Tone::Good, "Use -o8", []);
        let found = Answer::resting_on([&noted, &Headline::default()], statement);
        assert_eq!((found.tone, found.sentences), (Tone::Good, Vec::new()), "notes stand in the brief and the banner");
    }
}
