//! Whether the figures of a timespan are what they claim to be.
//!
//! Made by `rules` from a result; the rules and their names are listed in docs/verdict.md.

use crate::finding::{Finding, Severity};
use serde::{Deserialize, Serialize};

/// What was found, the gravest first. Without findings nothing was seen that would make the
/// figures wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Each rule's at most once for each target or device.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The gravest of the findings; `None` if there are none.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
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
            source: Source::Verdict,
        };
        let verdict = |severities: &[Severity]| Verdict { findings: severities.iter().copied().map(finding).collect() };
        assert_eq!(verdict(&[]).severity(), None);
        assert_eq!(verdict(&[Severity::Note]).severity(), Some(Severity::Note));
        let all = [Severity::Warn, Severity::Invalid, Severity::Note];
        assert_eq!(verdict(&all).severity(), Some(Severity::Invalid));
    }
}
