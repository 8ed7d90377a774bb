//! What becomes of a profile from a file with the command line that named it.

use crate::command::{Events, LoadRequest, Loaded, ParseFailure, RunRequest, ShowRequest, Surroundings};
use crate::{targets, templates, unsupported};
use model::profile::Profile;
use std::collections::BTreeSet;
use std::path::Path;

/// For a path that makes sense on another machine only.
const TEMPLATE_HINT: &str = "write *1 in its place in the profile to give the target on the command line";

impl LoadRequest {
    /// Puts targets and overrides into the profile that was read from [`Self::path`].
    ///
    /// # Errors
    ///
    /// Targets and templates that do not match, and targets that no run can use.
    pub fn load(mut self, mut profile: Profile, surroundings: &dyn Surroundings) -> Result<Loaded, ParseFailure> {
        let mut refusals = Vec::new();
        if !self.show {
            self.check_given(surroundings, &mut refusals);
            self.check_written(&profile, surroundings, &mut refusals);
        }
        refusals.extend(templates::substitute(&mut profile, &self.targets));
        if !refusals.is_empty() {
            // What was noticed on the way helps to understand it.
            let warnings = self.warnings.iter().map(|warning| format!("WARNING: {warning}"));
            let errors = refusals.iter().map(|refusal| format!("ERROR: {refusal}"));
            return Err(ParseFailure { messages: warnings.chain(errors).collect(), exit_status: 3 });
        }
        self.overrides.apply(&mut profile);
        if self.show {
            let format = profile.result_format;
            return Ok(Loaded::Show(ShowRequest { profile, format, warnings: self.warnings }));
        }
        let unsupported = unsupported::unsupported(&profile);
        let (options, warnings) = (self.options, self.warnings);
        Ok(Loaded::Run(RunRequest { profile, events: Events::default(), options, warnings, unsupported }))
    }

    /// Targets of the command line.
    fn check_given(&mut self, surroundings: &dyn Surroundings, refusals: &mut Vec<String>) {
        for target in self.targets.iter().map(|target| target.as_os_str()) {
            refusals.extend(targets::refusal(target, surroundings));
            self.warnings.extend(targets::warning(target, surroundings));
        }
    }

    /// Targets of the profile, each path once.
    fn check_written(&mut self, profile: &Profile, surroundings: &dyn Surroundings, refusals: &mut Vec<String>) {
        let all = profile.time_spans.iter().flat_map(|span| &span.targets);
        let written: BTreeSet<&Path> = all.filter(|target| !target.is_template()).map(|target| &*target.path).collect();
        let with_hint = |message: String| format!("{message}; {TEMPLATE_HINT}");
        for path in written {
            refusals.extend(targets::refusal(path.as_os_str(), surroundings).map(with_hint));
            if !surroundings.file_exists(path) {
                self.warnings.extend(targets::windows_path(path.as_os_str()).map(with_hint));
            }
        }
    }
}
