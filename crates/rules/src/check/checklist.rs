//! Answers as they are made.

use crate::rule::Observation;
use model::check::CheckFacts;
use model::finding::Severity;

/// What the machine as a whole is called.
pub(super) const MACHINE: &str = "machine";
/// What is below the targets is called so where it is not known.
pub(super) const ALL_TARGETS: &str = "targets";

/// Collects the answers to one question.
#[derive(Debug, Default)]
pub(super) struct Checklist(Vec<Observation>);

/// What a question finds.
pub(super) fn answers(facts: &CheckFacts, ask: fn(&CheckFacts, &mut Checklist)) -> Vec<Observation> {
    let mut list = Checklist::default();
    ask(facts, &mut list);
    list.0
}

impl Checklist {
    /// No problem found.
    pub(super) fn pass(&mut self, subject: &str, found: impl Into<String>) {
        self.add(subject, Severity::Pass, found);
    }

    /// Unknown, for this reason.
    pub(super) fn unknown(&mut self, subject: &str, reason: impl Into<String>) {
        self.add(subject, Severity::Unknown, reason);
    }

    /// Results may be worse than the target's best; the advice is the rule's.
    pub(super) fn warn(&mut self, subject: &str, found: impl Into<String>) {
        self.add(subject, Severity::Warn, found);
    }

    /// The same with advice of its own.
    pub(super) fn warn_with(&mut self, subject: &str, found: impl Into<String>, advice: impl Into<String>) {
        self.add_with(subject, Severity::Warn, found, advice);
    }

    /// A run is not possible, or would measure something broken; the advice is the rule's.
    pub(super) fn fail(&mut self, subject: &str, found: impl Into<String>) {
        self.add(subject, Severity::Fail, found);
    }

    /// The same with advice of its own.
    pub(super) fn fail_with(&mut self, subject: &str, found: impl Into<String>, advice: impl Into<String>) {
        self.add_with(subject, Severity::Fail, found, advice);
    }

    fn add(&mut self, subject: &str, severity: Severity, found: impl Into<String>) {
        self.0.push(Observation::without_value(found).of(subject).with_severity(severity));
    }

    fn add_with(&mut self, subject: &str, severity: Severity, found: impl Into<String>, advice: impl Into<String>) {
        self.0.push(Observation::without_value(found).of(subject).with_severity(severity).with_advice(advice));
    }
}
