//! Verdicts and requirements in a few words.

use model::finding::{Finding, Severity};
use model::verdict::Verdict;

/// The head line where nothing was found.
const SOUND: &str = "no conditions found that invalidate or bias the results";

/// The head line where nothing is worse than a note, before the names of the notes.
const VALID: &str = "no conditions found that invalidate the results; notes limit what they show";

/// The beginning of a verdict without warnings: it names the notes, which it would otherwise contradict.
pub fn sum_up(verdict: &Verdict) -> String {
    let mut names: Vec<&str> = verdict.findings.iter().map(|finding| finding.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { SOUND.to_owned() } else { format!("{VALID}: {}", names.join(", ")) }
}

/// All of them in a few words: `1 of 2 not met`.
pub fn requirements_summary(requirements: &[Finding]) -> String {
    let count = |wanted| requirements.iter().filter(|finding| finding.severity == wanted).count();
    let all = requirements.len();
    match (count(Severity::Fail), count(Severity::Unknown)) {
        (0, 0) => "all met".to_owned(),
        (0, unknown) => format!("{unknown} of {all} not measured"),
        (failed, 0) => format!("{failed} of {all} not met"),
        (failed, unknown) => format!("{failed} of {all} not met, {unknown} not measured"),
    }
}
