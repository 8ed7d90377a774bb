//! Combines a profile from a file with the command line that names it.

use crate::request::{Environment, Events, LoadRequest, LoadedProfile, ParseFailure, RunRequest, ShowRequest};
use crate::{preset, requirement, targets, templates};
use model::profile::{Profile, ResultFormat};
use model::requirement::Requirement;
use settings::job::{self, Job, JobFault};
use settings::xml::unsayable_paths;
use std::collections::BTreeSet;
use std::path::Path;

/// For a path that is only valid on another machine.
const TEMPLATE_HINT: &str = "use the template *1 in the profile, and give the target on the command line";

/// Reads a job file; `name` is for messages.
///
/// # Errors
///
/// All errors in it.
pub fn read_job(bytes: &[u8], name: &str) -> Result<Job<Requirement>, Vec<JobFault>> {
    job::read_job(bytes, name, requirement::parse).map_err(|mut faults| {
        // Both are TOML files that name a load.
        for fault in faults.iter_mut().filter(|fault| fault.message.contains(preset::FORM)) {
            fault.message.push_str("; to run a preset, use 'diskspd preset run'");
        }
        faults
    })
}

impl LoadRequest {
    /// With the requirements of a job file before those of the command line.
    #[must_use]
    pub fn with_requirements(mut self, mut requirements: Vec<Requirement>) -> Self {
        if requirements.iter().any(|requirement| requirement.name.metric.needs_latency()) {
            self.overrides.measure_latency();
        }
        let all = &mut self.options.criteria.requirements;
        requirements.append(all);
        *all = requirements;
        self
    }

    /// Puts targets and overrides into the profile that was read from [`Self::path`].
    ///
    /// # Errors
    ///
    /// Targets and templates that do not match, and targets that no run can use.
    pub fn load(mut self, mut profile: Profile, environment: &dyn Environment) -> Result<LoadedProfile, ParseFailure> {
        let mut refusals = Vec::new();
        if !self.show {
            targets::check_number(&profile)?;
            self.check_given(environment, &mut refusals);
            refusals.extend(refused_in(&profile, environment));
        }
        refusals.extend(templates::substitute(&mut profile, &self.targets));
        if !refusals.is_empty() {
            // Earlier warnings help to understand the errors.
            let warnings = self.warnings.iter().map(|warning| format!("WARNING: {warning}"));
            let errors = refusals.iter().map(|refusal| format!("ERROR: {refusal}"));
            return Err(ParseFailure { messages: warnings.chain(errors).collect(), exit_status: 3 });
        }
        self.overrides.apply(&mut profile);
        self.warnings.extend(self.overrides.apply_rate(&mut profile).map_err(ParseFailure::because)?);
        if self.show {
            let format = profile.result_format;
            if self.show_job {
                self.warnings.extend(job::unsayable_paths(&profile));
            } else if format == ResultFormat::Xml {
                self.warnings.extend(unsayable_paths(&profile));
            }
            return Ok(LoadedProfile::Show(ShowRequest {
                job: self.show_job.then(|| self.options.requirements_typed()),
                profile,
                format,
                warnings: self.warnings,
            }));
        }
        let (mut options, warnings) = (self.options, self.warnings);
        options.source = Some(self.path);
        Ok(LoadedProfile::Run(Box::new(RunRequest { profile, events: Events::default(), options, warnings })))
    }

    /// Targets of the command line.
    fn check_given(&mut self, environment: &dyn Environment, refusals: &mut Vec<String>) {
        for target in self.targets.iter().map(|target| target.as_os_str()) {
            refusals.extend(targets::refusal(target, environment));
            self.warnings.extend(targets::warning(target, environment));
        }
    }
}

/// Errors of the targets of a profile, each path once.
fn refused_in(profile: &Profile, environment: &dyn Environment) -> Vec<String> {
    let all = profile.time_spans.iter().flat_map(|span| &span.targets);
    let written: BTreeSet<&Path> = all.filter(|target| !target.is_template()).map(|target| &*target.path).collect();
    let with_hint = |message: String| format!("{message}; {TEMPLATE_HINT}");
    written.into_iter().filter_map(|path| targets::refusal(path.as_os_str(), environment).map(with_hint)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::LineCommand;
    use crate::command::Command;
    use model::profile::{Target, TimeSpan};
    use std::ffi::OsString;

    /// An environment in which these files exist.
    struct EnvironmentWithFiles(&'static [&'static str]);

    impl Environment for EnvironmentWithFiles {
        fn milliseconds_since_boot(&self) -> u32 {
            0
        }

        fn file_exists(&self, path: &Path) -> bool {
            self.0.iter().any(|existing| Path::new(existing) == path)
        }
    }

    fn request(line: &str) -> LoadRequest {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match crate::parse(&args, &EnvironmentWithFiles(&[])) {
            Ok(Command::Line(LineCommand::LoadProfile(request))) => request,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn profile(paths: &[&str]) -> Profile {
        let targets = paths.iter().map(|path| Target::new(*path)).collect();
        Profile { time_spans: vec![TimeSpan { targets, ..TimeSpan::default() }], ..Profile::default() }
    }

    fn run(line: &str, paths: &[&str], existing: &'static [&'static str]) -> RunRequest {
        match request(line).load(profile(paths), &EnvironmentWithFiles(existing)) {
            Ok(LoadedProfile::Run(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str, paths: &[&str]) -> Vec<String> {
        let failure = request(line).load(profile(paths), &EnvironmentWithFiles(&[])).unwrap_err();
        assert_eq!(failure.exit_status, 3);
        failure.messages
    }

    #[test]
    fn targets_and_overrides_go_into_the_profile() {
        let request = run("-d7 -v --overwrite -Xp.xml a b", &["*2", "own", "*1"], &[]);
        let span = &request.profile.time_spans[0];
        assert_eq!(span.duration_s, 7);
        assert!(request.profile.verbose && request.options.overwrite);
        let paths: Vec<_> = span.targets.iter().map(|target| target.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["b", "own", "a"]);
        assert_eq!(request.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_shown_profile_keeps_templates_and_has_the_format_of_the_profile_or_of_the_option() {
        for (line, seen, format) in [
            ("-Xp -Rp", ResultFormat::Xml, ResultFormat::Xml),
            ("-Xp -Rp", ResultFormat::Text, ResultFormat::Text),
            ("-Xp -Rptext", ResultFormat::Xml, ResultFormat::Text),
            ("-Xp -Rpxml", ResultFormat::Text, ResultFormat::Xml),
        ] {
            let profile = Profile { result_format: seen, ..profile(&["*1", "#1", "C:"]) };
            let Ok(LoadedProfile::Show(request)) = request(line).load(profile.clone(), &EnvironmentWithFiles(&[]))
            else {
                panic!("{line}")
            };
            assert_eq!(request.format, format, "{line}");
            assert_eq!(request.profile, Profile { result_format: format, ..profile });
        }
    }

    #[test]
    fn paths_of_windows_get_a_hint_unless_they_exist() {
        let paths = [r"C:\a.dat", r"\\host\share\b", "c", r"C:\a.dat"];
        let all = refusal("-Xp", &paths);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.iter().all(|error| error.ends_with(TEMPLATE_HINT)), "{all:?}");
        assert!(all[0].contains(r"'C:\a.dat'") && all[1].contains(r"'\\host\share\b'"), "{all:?}");
        assert_eq!(run("-Xp", &paths, &[r"C:\a.dat", r"\\host\share\b"]).warnings, Vec::<String>::new());
    }

    #[test]
    fn drives_are_refused_wherever_they_are_named() {
        let in_profile = refusal("-Xp", &["#1", "D:"]);
        assert_eq!(in_profile.len(), 2, "{in_profile:?}");
        assert!(in_profile.iter().all(|message| message.starts_with("ERROR: target '")), "{in_profile:?}");
        assert!(in_profile[0].contains("'#1'") && in_profile[0].ends_with(TEMPLATE_HINT), "{in_profile:?}");
        let on_line = refusal("-Xp #1", &["*1"]);
        assert!(on_line.len() == 1 && on_line[0].contains("'#1'"), "{on_line:?}");
    }

    #[test]
    fn everything_that_does_not_fit_is_told_at_once_behind_the_warnings() {
        let messages = refusal(r"-Xp C:\x /b4K #2", &["*4", "#1", r"D:\y"]);
        let (warnings, errors): (Vec<_>, Vec<_>) =
            messages.iter().partition(|message| message.starts_with("WARNING: "));
        assert_eq!(warnings.len(), 1, "{messages:?}");
        // Two drives, two paths of Windows, one template without a target, three targets without a template.
        assert_eq!(errors.len(), 8, "{messages:?}");
        assert!(messages[..1].iter().all(|message| message.starts_with("WARNING: ")), "{messages:?}");
    }
}
