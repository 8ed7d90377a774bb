//! Findings as they are made.

use model::check::{Check, Finding, Outcome};

/// What the machine as a whole is called.
pub(super) const MACHINE: &str = "machine";
/// What is below the targets is called so where it is not known.
pub(super) const ALL_TARGETS: &str = "targets";

/// Collects findings.
#[derive(Debug, Default)]
pub(super) struct Checklist(Vec<Finding>);

impl Checklist {
    /// No problem found.
    pub(super) fn pass(&mut self, check: Check, subject: &str, found: impl Into<String>) {
        self.add(check, subject, Outcome::Pass, found.into(), None);
    }

    /// Unknown, for this reason.
    pub(super) fn unknown(&mut self, check: Check, subject: &str, reason: impl Into<String>) {
        self.add(check, subject, Outcome::Unknown, reason.into(), None);
    }

    /// Results may be worse than the target's best.
    pub(super) fn warn(&mut self, check: Check, subject: &str, found: impl Into<String>, advice: impl Into<String>) {
        self.add(check, subject, Outcome::Warn, found.into(), Some(advice.into()));
    }

    /// A run is not possible, or would measure something broken.
    pub(super) fn fail(&mut self, check: Check, subject: &str, found: impl Into<String>, advice: impl Into<String>) {
        self.add(check, subject, Outcome::Fail, found.into(), Some(advice.into()));
    }

    /// Removes the passed findings.
    pub(super) fn withdraw(&mut self, check: Check) {
        self.0.retain(|finding| finding.check != check || finding.outcome != Outcome::Pass);
    }

    fn add(&mut self, check: Check, subject: &str, outcome: Outcome, found: String, advice: Option<String>) {
        self.0.push(Finding { check, subject: subject.to_owned(), outcome, found, advice });
    }

    /// In the order of [`Check::ALL`].
    pub(super) fn into_findings(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| finding.check);
        self.0
    }
}
