//! Collection of the observations of a check.

use crate::rule::Observation;
use model::check::CheckFacts;
use model::finding::Severity;

/// Subject of observations about the whole machine.
pub(super) const MACHINE: &str = "machine";
/// Subject of observations about storage whose devices are unknown.
pub(super) const ALL_TARGETS: &str = "targets";

/// The observations of one check.
#[derive(Debug, Default)]
pub(super) struct Checklist(Vec<Observation>);

/// The observations of a check.
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

    /// Nothing biases the results, but the user should know; the advice is the rule's.
    pub(super) fn note(&mut self, subject: &str, found: impl Into<String>) {
        self.add(subject, Severity::Note, found);
    }

    /// The same with advice of its own.
    pub(super) fn note_with(&mut self, subject: &str, found: impl Into<String>, advice: impl Into<String>) {
        self.add_with(subject, Severity::Note, found, advice);
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
        self.0.push(Observation::without_value(found).with_subject(subject).with_severity(severity));
    }

    fn add_with(&mut self, subject: &str, severity: Severity, found: impl Into<String>, advice: impl Into<String>) {
        self.0
            .push(Observation::without_value(found).with_subject(subject).with_severity(severity).with_advice(advice));
    }
}
