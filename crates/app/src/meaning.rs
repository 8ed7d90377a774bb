//! The meaning of findings.

use report::Meaning;
use rules::verdict;

/// The documentation of a finding of the verdict.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let rule = verdict::rules().find(|rule| rule.name == name)?;
    Some(Meaning { severity: rule.severity, unit: rule.unit, computed_from: rule.computed_from, advice: rule.advice })
}
