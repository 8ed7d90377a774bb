//! Template targets: `*1`, `*2` ... in a profile are replaced by the targets of the command line.

use model::profile::Profile;
use settings::xml::template;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Replaces templates by their targets; without targets nothing is changed. Reports templates without a target, and
/// targets without a template.
pub(crate) fn substitute(profile: &mut Profile, targets: &[PathBuf]) -> Vec<String> {
    if targets.is_empty() {
        return Vec::new();
    }
    let mut used = vec![false; targets.len()];
    let mut missing = BTreeSet::new();
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        let Some(number) = target.path.to_str().and_then(|path| template(path).ok().flatten()) else { continue };
        let index = number as usize - 1;
        match targets.get(index) {
            Some(path) => {
                target.path.clone_from(path);
                used[index] = true;
            }
            None => {
                missing.insert(number);
            }
        }
    }
    let given = match targets.len() {
        1 => "only one target is given".to_owned(),
        count => format!("{count} targets are given"),
    };
    let missing = missing.into_iter().map(|number| format!("no target for template *{number}: {given}"));
    let unused = targets.iter().zip(&used).enumerate().filter(|(_, (_, used))| !**used).map(|(index, (path, _))| {
        format!("target '{}' is not used: the profile has no template *{}", path.display(), index + 1)
    });
    missing.chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Target, TimeSpan};

    fn profile(spans: &[&[&str]]) -> Profile {
        let span = |paths: &&[&str]| TimeSpan {
            targets: paths.iter().map(|path| Target::new(*path)).collect(),
            ..TimeSpan::default()
        };
        Profile { time_spans: spans.iter().map(span).collect(), ..Profile::default() }
    }

    /// Paths after substitution, or the errors.
    fn substituted(spans: &[&[&str]], targets: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let mut profile = profile(spans);
        let targets: Vec<PathBuf> = targets.iter().map(PathBuf::from).collect();
        let faults = substitute(&mut profile, &targets);
        if !faults.is_empty() {
            return Err(faults);
        }
        let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
        Ok(targets.map(|target| target.path.display().to_string()).collect())
    }

    #[test]
    fn every_use_of_a_template_is_filled_in_every_timespan() {
        let spans: &[&[&str]] = &[&["*1", "own", "*2"], &["*2", "*1"]];
        assert_eq!(substituted(spans, &["a", "b"]).unwrap(), ["a", "own", "b", "b", "a"]);
        assert_eq!(substituted(spans, &[]).unwrap(), ["*1", "own", "*2", "*2", "*1"]);
    }

    #[test]
    fn a_target_may_itself_look_like_a_template() {
        assert_eq!(substituted(&[&["*1", "*2"]], &["*2", "*1"]).unwrap(), ["*2", "*1"]);
    }

    #[test]
    fn templates_and_targets_must_match() {
        assert_eq!(
            substituted(&[&["*1", "*3", "*3"], &["*4"]], &["a", "b"]).unwrap_err(),
            [
                "no target for template *3: 2 targets are given",
                "no target for template *4: 2 targets are given",
                "target 'b' is not used: the profile has no template *2",
            ]
        );
        assert_eq!(
            substituted(&[&["own"]], &["a"]).unwrap_err(),
            ["target 'a' is not used: the profile has no template *1"]
        );
    }
}
