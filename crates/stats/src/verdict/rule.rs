//! What all rules have.

use model::verdict::{Finding, Severity};

/// A rule of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Lower-case words joined by hyphens. It never changes.
    pub name: &'static str,
    /// How grave what it finds is.
    pub severity: Severity,
    /// What to do about it.
    pub advice: &'static str,
}

impl Rule {
    /// What the rule found.
    pub(super) fn finding(&self, figure: String, value: f64) -> Finding {
        Finding {
            name: self.name.to_owned(),
            severity: self.severity,
            figure,
            value: Some(rounded(value)),
            advice: self.advice.to_owned(),
        }
    }
}

/// A figure with 12 significant digits: what arithmetic adds to it does not belong in a document.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A share as percent with one decimal.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
