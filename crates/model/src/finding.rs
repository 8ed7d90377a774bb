//! Findings of rules: in a result, or before a run. Made by `rules`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's name: lower-case words joined by hyphens. It never changes.
    pub name: String,
    /// How severe it is.
    pub severity: Severity,
    /// The subject: a target's path, a device's name or a requirement as typed; empty = the whole run.
    #[serde(default)]
    pub subject: String,
    /// The observation with its figure, as a sentence without a full stop.
    pub figure: String,
    /// The figure as a number, in the unit given in the rule's description; `None` = there is none.
    pub value: Option<f64>,
    /// Recommended action; empty = none.
    pub advice: String,
    /// Where the bound of a requirement comes from, as the preset states it; empty = there is no such bound, or it is
    /// the user's own.
    #[serde(default)]
    pub basis: String,
    /// The group of rules that it belongs to.
    #[serde(default)]
    pub source: Source,
}

/// The group of rules that a finding belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Unknown, in a document of an older version.
    #[default]
    Unknown,
    /// The verdict's.
    Verdict,
    /// That of the rated limits (`--expect`).
    Expectation,
    /// That of the requirements (`--require`).
    Requirement,
    /// That of `diskspd check`.
    Check,
    /// That of several runs together (`diskspd repeat`, `diskspd sweep`).
    Runs,
}

impl Finding {
    /// The action of an advice, without its reasons, which follow a colon or a full stop.
    pub fn action(advice: &str) -> &str {
        let action = advice.split_once(": ").map_or(advice, |(action, _)| action);
        action.split_once(". ").map_or(action, |(action, _)| action)
    }

    /// The main part of a figure, and what follows the first semicolon, which may be empty.
    pub fn parts(figure: &str) -> (&str, &str) {
        figure.split_once("; ").unwrap_or((figure, ""))
    }
}

/// How severe a finding is, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is wrong.
    Pass,
    /// It could not be determined.
    Unknown,
    /// The results are valid, but have a limitation.
    Note,
    /// Something other than the target probably changed a headline figure by more than 2 %.
    Warn,
    /// A requirement is not met; or a run is not possible, or would measure a faulty target.
    Fail,
    /// The results do not measure what they claim to.
    Invalid,
}

impl Severity {
    /// All, the most severe first.
    pub const ALL: [Self; 6] = [Self::Invalid, Self::Fail, Self::Warn, Self::Note, Self::Unknown, Self::Pass];

    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Invalid => "INVALID",
            Self::Fail => "FAIL",
            Self::Warn => "WARN",
            Self::Note => "NOTE",
            Self::Unknown => "UNKNOWN",
            Self::Pass => "PASS",
        }
    }

    /// The word in JSON and in the answers of `diskspd check`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Pass => "pass",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_known_by_their_words_and_ordered() {
        for severity in Severity::ALL {
            assert_eq!(Severity::from_word(severity.word()), Some(severity));
            assert_eq!(severity.name().to_uppercase(), severity.word());
        }
        assert_eq!(Severity::from_word("invalid"), None);
        assert!(Severity::ALL.is_sorted_by(|a, b| a > b));
    }
}
