//! Validity of the figures of a timespan.
//!
//! Made by `rules` from a result; the rules and their names are listed in docs/verdict.md.

use crate::finding::{Finding, Severity};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// The findings of a timespan, the most severe first. Without any, nothing was found that would make the figures wrong.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Verdict {
    /// At most one per rule for each target or device.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The highest severity of the findings; `None` if there are none.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// How far the figures can be trusted.
    pub fn level(&self) -> Level {
        match self.severity() {
            None | Some(Severity::Pass | Severity::Unknown) => Level::Ok,
            Some(Severity::Note) => Level::Note,
            Some(Severity::Warn) => Level::Warn,
            Some(Severity::Fail | Severity::Invalid) => Level::Invalid,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Source;

    #[test]
    fn the_gravest_finding_decides() {
        let finding = |severity| Finding {
            name: "a-rule".to_owned(),
            severity,
            subject: String::new(),
            figure: String::new(),
            value: None,
            advice: String::new(),
            basis: String::new(),
            source: Source::Verdict,
        };
        let verdict = |severities: &[Severity]| Verdict { findings: severities.iter().copied().map(finding).collect() };
        assert_eq!(verdict(&[]).severity(), None);
        assert_eq!(verdict(&[Severity::Note]).severity(), Some(Severity::Note));
        let all = [Severity::Warn, Severity::Invalid, Severity::Note];
        assert_eq!(verdict(&all).severity(), Some(Severity::Invalid));
    }
}
