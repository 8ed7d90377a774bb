//! Declaration of rules, and findings from their observations.

use model::finding::{Finding, Severity, Source};

/// Rules over the same facts.
pub trait RuleSet: 'static {
    /// The source of their findings.
    const SOURCE: Source;
    /// The facts.
    type Context<'a>;
    /// The documentation of each rule beside its other fields.
    type Documentation: 'static;
}

/// A rule, with its row in the documentation.
pub struct Rule<S: RuleSet> {
    /// Lower-case words joined by hyphens. A name never changes.
    pub name: &'static str,
    /// The severity of its findings; a single one may be milder.
    pub severity: Severity,
    /// Unit of the findings' value; empty = they have none.
    pub unit: &'static str,
    /// The computation of the value, and its threshold.
    pub computed_from: S::Documentation,
    /// The advice; a finding may replace it.
    pub advice: &'static str,
    /// Evaluates the facts. If they are unknown, there is no observation.
    pub evaluate: fn(&S::Context<'_>) -> Vec<Observation>,
}

impl<S: RuleSet> Rule<S> {
    /// The findings of the rule.
    pub fn findings(&self, context: &S::Context<'_>) -> Vec<Finding> {
        (self.evaluate)(context).into_iter().map(|observation| self.finding(observation)).collect()
    }

    fn finding(&self, observation: Observation) -> Finding {
        let Observation { figure, value, subject, severity, advice, basis } = observation;
        let severity = severity.unwrap_or(self.severity);
        let is_good = matches!(severity, Severity::Pass | Severity::Unknown);
        let own = if is_good { "" } else { self.advice };
        Finding {
            name: self.name.to_owned(),
            severity,
            subject,
            figure,
            value: value.map(rounded),
            advice: advice.unwrap_or_else(|| own.to_owned()),
            basis,
            source: S::SOURCE,
        }
    }
}

/// An observation of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// A sentence without a full stop.
    figure: String,
    /// In the rule's unit.
    value: Option<f64>,
    /// A target's path, a device's name ...; empty = the whole run.
    subject: String,
    /// `None` = the rule's.
    severity: Option<Severity>,
    /// `None` = the rule's.
    advice: Option<String>,
    /// Source of the bound; empty = the user's own, or there is none.
    basis: String,
}

impl Observation {
    /// A figure and its value.
    pub(crate) fn new(figure: impl Into<String>, value: f64) -> Self {
        Self { value: Some(value), ..Self::without_value(figure) }
    }

    /// An observation without a number.
    pub(crate) fn without_value(figure: impl Into<String>) -> Self {
        let (subject, basis) = (String::new(), String::new());
        Self { figure: figure.into(), value: None, subject, severity: None, advice: None, basis }
    }

    /// The same, about a part of the run or the machine.
    pub(crate) fn with_subject(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }

    /// The same, with another severity than the rule's.
    pub(crate) fn with_severity(self, severity: Severity) -> Self {
        Self { severity: Some(severity), ..self }
    }

    /// The same, with other advice than the rule's.
    pub(crate) fn with_advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// The same, with the source of its bound.
    pub(crate) fn with_basis(self, basis: &str) -> Self {
        Self { basis: basis.to_owned(), ..self }
    }
}

/// Evaluates rules in their order.
pub(crate) fn evaluate<'r, S: RuleSet>(
    rules: impl IntoIterator<Item = &'r Rule<S>>,
    context: &S::Context<'_>,
) -> Vec<Finding> {
    rules.into_iter().flat_map(|rule| rule.findings(context)).collect()
}

/// A figure with 12 significant digits: arithmetic noise does not belong in a document.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A share as percent with one decimal.
pub(crate) fn percent(share: f64) -> String {
    // Only the whole is 100 %.
    let most = if share < 1.0 { 99.9 } else { f64::INFINITY };
    format!("{:.1} %", (share * 100.0).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl RuleSet for Numbers {
        const SOURCE: Source = Source::Check;
        type Context<'a> = &'a [f64];
        type Documentation = &'static str;
    }

    const LARGE: Rule<Numbers> = Rule {
        name: "large",
        severity: Severity::Warn,
        unit: "count",
        computed_from: "the numbers",
        advice: "make it smaller",
        evaluate: |numbers| {
            let observation = |number: &f64| match *number {
                number if number > 100.0 => Some(Observation::new("huge", number).with_advice("remove it")),
                number if number > 10.0 => Some(Observation::new("large", number)),
                number if number > 9.0 => Some(Observation::new("fits", number).with_severity(Severity::Pass)),
                _ => None,
            };
            numbers.iter().filter_map(observation).collect()
        },
    };

    #[test]
    fn what_a_rule_declares_is_in_its_findings_unless_one_knows_better() {
        let findings = evaluate([&LARGE], &&[1.0, 10.5, 0.1 + 0.2 + 10.0, 101.0, 9.5][..]);
        let seen: Vec<_> =
            findings.iter().map(|finding| (finding.severity, finding.value, finding.advice.as_str())).collect();
        assert_eq!(
            seen,
            [
                (Severity::Warn, Some(10.5), "make it smaller"),
                (Severity::Warn, Some(10.3), "make it smaller"),
                (Severity::Warn, Some(101.0), "remove it"),
                (Severity::Pass, Some(9.5), ""),
            ]
        );
        assert!(findings.iter().all(|finding| finding.name == "large" && finding.source == Source::Check));
    }
}
