//! Whether the figures of a timespan are what they claim to be.
//!
//! Made by `stats` from a result; the rules and their names are listed in docs/verdict.md.

use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// What was found, the gravest first. Without findings nothing was seen that would make the
/// figures wrong.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Verdict {
    /// Each rule's at most once for each target or device.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The gravest of the findings; `None` if there are none.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// How far the figures can be trusted.
    pub fn level(&self) -> Level {
        match self.severity() {
            None => Level::Ok,
            Some(Severity::Note) => Level::Note,
            Some(Severity::Warn) => Level::Warn,
            Some(Severity::Invalid) => Level::Invalid,
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenVerdict { level: self.level(), findings: Cow::Borrowed(&self.findings) }.serialize(serializer)
    }
}

/// A verdict.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Verdict"))]
pub(crate) struct WrittenVerdict<'a> {
    /// That of the most severe finding.
    #[cfg_attr(feature = "schema", serde(default))]
    level: Level,
    /// The most severe first.
    findings: Cow<'a, [Finding]>,
}

/// How far the figures can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// There are no findings.
    #[default]
    Ok,
    /// Notes only.
    Note,
    /// A warning.
    Warn,
    /// The figures are invalid.
    Invalid,
}

impl Level {
    /// All, the best first.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Note, Self::Warn, Self::Invalid];

    /// The word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Invalid => "invalid",
        }
    }
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures hold, but for less than a reader might think.
    Note,
    /// Something that is not the target is thought to have moved a headline figure by more than 2 %.
    Warn,
    /// The figures are not what they claim to be.
    Invalid,
}

impl Severity {
    /// All, the gravest first.
    pub const ALL: [Self; 3] = [Self::Invalid, Self::Warn, Self::Note];

    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Invalid => "INVALID",
            Self::Warn => "WARN",
            Self::Note => "NOTE",
        }
    }

    /// The severity with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.word() == word)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's name: lower-case words joined by hyphens. It never changes.
    pub name: String,
    /// How grave it is.
    pub severity: Severity,
    /// What was seen, with its figure, as a sentence without a full stop.
    pub figure: String,
    /// That figure as a number, in the unit that the rule's description names; `None` = there is
    /// none, or it was read from a text.
    pub value: Option<f64>,
    /// What to do about it.
    pub advice: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_finding_decides() {
        let finding = |severity| Finding {
            name: "a-rule".to_owned(),
            severity,
            figure: String::new(),
            value: None,
            advice: String::new(),
        };
        let verdict = |severities: &[Severity]| Verdict { findings: severities.iter().copied().map(finding).collect() };
        assert_eq!(verdict(&[]).severity(), None);
        assert_eq!(verdict(&[Severity::Note]).severity(), Some(Severity::Note));
        let all = [Severity::Warn, Severity::Invalid, Severity::Note];
        assert_eq!(verdict(&all).severity(), Some(Severity::Invalid));
    }

    #[test]
    fn severities_are_known_by_their_words() {
        for severity in Severity::ALL {
            assert_eq!(Severity::from_word(severity.word()), Some(severity));
        }
        assert_eq!(Severity::from_word("invalid"), None);
    }
}
