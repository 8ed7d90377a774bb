//! Destinations of the result of a run, and the exit status that follows from it.

use crate::kept_results::KeptResults;
use crate::output::{say, say_each};
use crate::outputs::{Destinations, Protected, has_figures};
use crate::status::{Status, fail};
use cli::{Outputs, RunOptions, RunRequest};
use model::finding::{Severity, Source};
use model::preset::PresetRun;
use model::result::{RunResult, TimeSpanResult};
use std::io::IsTerminal as _;

/// Destinations of a result.
pub(crate) struct RunReport {
    destinations: Destinations,
    kept: Option<KeptResults>,
}

impl RunReport {
    /// Destinations of the results of a request; the errors name everything wrong with it.
    pub(crate) fn check(request: &RunRequest, protected: &[Protected]) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let destinations = destinations(request, protected).map_err(|reasons| errors.extend(reasons)).ok();
        let kept = KeptResults::check(request).map_err(|reason| errors.push(reason)).ok().flatten();
        let report = destinations.map(|destinations| Self { destinations, kept });
        report.filter(|_| errors.is_empty()).ok_or(errors)
    }

    /// Writes a result and its errors. On a terminal errors come last, where they are seen. A run that was not begun
    /// writes its errors, and only documents for programs.
    pub(crate) fn write(&self, result: &RunResult, errors: &[String], status: Status) -> Status {
        let is_terminal = std::io::stdout().is_terminal();
        if !is_terminal {
            say_each("ERROR", errors);
        }
        // The hosts of a combined result have separate plans.
        let is_begun = result.plan.is_some() || has_figures(result);
        let written = self.destinations.write(result, is_begun);
        if status == Status::Failed && is_begun {
            say("Error generating I/O requests");
        }
        if is_terminal {
            say_each("ERROR", errors);
        }
        let written = written.and_then(|()| self.keep(result));
        written.map_or_else(|reason| fail(&reason), |()| status)
    }

    /// Saves a result with measurements in the user's directory of results, if there is one.
    fn keep(&self, result: &RunResult) -> Result<(), String> {
        let Some(kept) = self.kept.as_ref().filter(|_| has_figures(result)) else { return Ok(()) };
        kept.keep(result).map(|path| say(&format!("result saved to '{}'", path.display())))
    }
}

/// Destinations of the results: must not be anything that this run reads or writes.
fn destinations(request: &RunRequest, protected: &[Protected]) -> Result<Destinations, Vec<String>> {
    if request.options.plan_only {
        return Destinations::check(&Outputs::default(), request.profile.result_format, false, &[]);
    }
    let RunOptions { outputs, replace_output, .. } = &request.options;
    let format = request.profile.result_format;
    let destinations = Destinations::check(outputs, format, *replace_output, protected)?;
    Ok(match request.options.short_report {
        Some(form) => destinations.with(form, outputs),
        None => destinations,
    })
}

/// The status of a run that succeeded, by the findings of its result as `--strict` and `--require` demand.
pub(crate) fn judged(result: &RunResult, options: &RunOptions) -> Status {
    let found = |source, severity| {
        let mut findings = result.time_spans.iter().flat_map(TimeSpanResult::findings);
        findings.any(|finding| (finding.source, finding.severity) == (source, severity))
    };
    let is_invalid = options.strict && found(Source::Verdict, Severity::Invalid);
    let is_corrupt = |span: &TimeSpanResult| span.verification.as_ref().is_some_and(|found| found.corrupt_units() > 0);
    match () {
        () if result.time_spans.iter().any(is_corrupt) => Status::Corrupt,
        () if is_invalid || found(Source::Requirement, Severity::Fail) => Status::No,
        () if found(Source::Requirement, Severity::Unknown) => Status::CannotTell,
        () if options.strict && has_unproven_pass(result) => Status::CannotTell,
        () => Status::Done,
    }
}

/// True if a load of a preset passes in a run whose verdict is WARN or worse.
fn has_unproven_pass(result: &RunResult) -> bool {
    let passes = |span: &TimeSpanResult| span.requirements.iter().any(|of| of.severity == Severity::Pass);
    let is_unproven = |preset: &PresetRun| {
        result.time_spans.iter().any(|span| passes(span) && preset.is_unproven(span.verdict.as_ref()))
    };
    result.preset.as_ref().is_some_and(is_unproven)
}
