//! Rules: facts and results to findings.
//!
//! A rule is declared once, in the list of its subject: name, severity, unit of its value, computation of the value,
//! advice and the function that evaluates it. The tables of docs/verdict.md, docs/check.md, docs/expect.md and
//! docs/sweeps.md are views of these lists. No file, clock or environment is read here.

pub mod check;
pub mod expect;
pub mod require;
mod rule;
pub mod runs;
pub mod verdict;

pub use rule::{Observation, Rule, RuleSet};

use model::expectation::StatedLimits;
use model::latency_band::BandKind;
use model::requirement::Requirement;
use model::result::RunResult;

/// A result with the findings of all rules; `stated` are the rated limits of the storage (`--expect`).
pub fn judged(
    mut result: RunResult,
    stated: Option<&StatedLimits>,
    requirements: &[Requirement],
    bands: &[Option<BandKind>],
) -> RunResult {
    verdict::judge(&mut result);
    if let Some(stated) = stated {
        expect::judge(&mut result, stated);
    }
    require::judge(&mut result, requirements, bands);
    result
}
