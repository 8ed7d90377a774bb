//! XML `PrecreateFiles`: files created before the first timespan.

use crate::content;
use crate::files::{Files, RequestedFile};
use crate::findings::Findings;
use model::facts::Fill;
use model::plan::Preparation;
use model::profile::{PrecreateFiles, Profile};
use model::units::Bytes;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// The requests of all targets of one path for its creation.
#[derive(Debug, Default)]
struct CreationRequests {
    /// Creation sizes; 0 = none requested.
    sizes: Vec<u64>,
    /// `-Z` of each target, created or not.
    zeros: Vec<bool>,
    /// Fills of the created ones.
    fills: Vec<Fill>,
}

/// Makes the files of the mode; their targets will find them created.
pub(crate) fn plan(profile: &Profile, files: &mut Files, findings: &mut Findings) -> Vec<Preparation> {
    let Some(mode) = profile.precreate_files else { return Vec::new() };
    // Keyed by bytes: files are created in this order.
    let mut paths: BTreeMap<&OsStr, CreationRequests> = BTreeMap::new();
    for time_span in &profile.time_spans {
        for target in &time_span.targets {
            let wishes = paths.entry(target.path.as_os_str()).or_default();
            wishes.sizes.push(target.size_to_create().map_or(0, Bytes::get));
            wishes.zeros.push(target.zero_write_buffers);
            if target.size_to_create().is_some() {
                wishes.fills.push(content::fill(time_span, target));
            }
        }
    }
    let mut preparations = Vec::new();
    for (path, wishes) in paths {
        let Some(wanted) = agreed(mode, &wishes) else { continue };
        let path = Path::new(path);
        let preparation = files.create(path, wanted, findings);
        files.mark_precreated(path);
        preparations.extend(preparation.filter(|preparation| *preparation != Preparation::Keep));
    }
    preparations
}

/// The size and fill of a path that is created in advance.
fn agreed(mode: PrecreateFiles, wishes: &CreationRequests) -> Option<RequestedFile> {
    let largest = *wishes.sizes.iter().max()?;
    let fill = *wishes.fills.first()?;
    let is_constant = match mode {
        PrecreateFiles::UseMaxSize => true,
        PrecreateFiles::OnlyConstantSizes => all_equal(&wishes.sizes),
        PrecreateFiles::OnlyConstantOrZeroSizes => wishes.sizes.iter().all(|&size| size == 0 || size == largest),
    };
    (is_constant && all_equal(&wishes.zeros) && all_equal(&wishes.fills)).then(|| RequestedFile::whole(largest, fill))
}

fn all_equal<T: PartialEq>(values: &[T]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choices;
    use crate::fixture;
    use model::operation::Operation;
    use model::profile::{Target, TimeSpan};

    /// Two timespans: sizes per path f1: 100, 150; f2: 0, 200; f3: 0; f4: 300, 300; f5: 300
    /// (pattern), 300 (zero).
    fn profile(mode: PrecreateFiles) -> Profile {
        let target = |path: &str, size, zero| {
            let mut target = Target::new(path);
            target.create_size = Some(Bytes(size));
            target.zero_write_buffers = zero;
            target
        };
        let first = [("f1", 100, false), ("f2", 0, false), ("f3", 0, false), ("f4", 300, false), ("f5", 300, false)];
        let second = [("f1", 150, false), ("f2", 200, false), ("f4", 300, false), ("f5", 300, true)];
        let spans = [first.to_vec(), second.to_vec()].map(|targets| TimeSpan {
            targets: targets.into_iter().map(|(path, size, zero)| target(path, size, zero)).collect(),
            ..TimeSpan::default()
        });
        Profile { time_spans: spans.into(), precreate_files: Some(mode), ..Profile::default() }
    }

    fn planned_files(mode: PrecreateFiles) -> Vec<(String, u64)> {
        let profile = profile(mode);
        let facts = fixture::facts(["f1", "f2", "f3", "f4", "f5"].map(|path| (path, fixture::missing())));
        let choices = Choices::default();
        let mut files = Files::new(&facts, &choices);
        let preparations = plan(&profile, &mut files, &mut Findings::default());
        let name = |preparation| match preparation {
            Preparation::Create(creation) => (creation.path.display().to_string(), creation.size_bytes),
            other => panic!("{other:?}"),
        };
        preparations.into_iter().map(name).collect()
    }

    #[test]
    fn each_mode_makes_the_files_it_names() {
        let named = |list: &[(&str, u64)]| list.iter().map(|&(name, size)| (name.to_owned(), size)).collect::<Vec<_>>();
        assert_eq!(planned_files(PrecreateFiles::UseMaxSize), named(&[("f1", 150), ("f2", 200), ("f4", 300)]));
        assert_eq!(planned_files(PrecreateFiles::OnlyConstantSizes), named(&[("f4", 300)]));
        assert_eq!(planned_files(PrecreateFiles::OnlyConstantOrZeroSizes), named(&[("f2", 200), ("f4", 300)]));
    }

    #[test]
    fn targets_that_differ_in_their_zeros_are_made_in_turn_even_if_one_creates_nothing() {
        let wishes =
            |zeros: &[bool]| CreationRequests { sizes: vec![100, 0], zeros: zeros.to_vec(), fills: vec![Fill::Ramp] };
        let wanted = RequestedFile::whole(100, Fill::Ramp);
        assert_eq!(agreed(PrecreateFiles::UseMaxSize, &wishes(&[false, false])), Some(wanted));
        assert_eq!(agreed(PrecreateFiles::UseMaxSize, &wishes(&[false, true])), None);
    }

    #[test]
    fn files_made_up_front_are_not_made_again() {
        let profile = profile(PrecreateFiles::UseMaxSize);
        let facts = fixture::facts(["f1", "f2", "f3", "f4", "f5"].map(|path| (path, fixture::missing())));
        let choices = Choices::default();
        let mut files = Files::new(&facts, &choices);
        plan(&profile, &mut files, &mut Findings::default());
        let again = files.create(Path::new("f1"), RequestedFile::whole(100, Fill::Ramp), &mut Findings::default());
        assert_eq!(again, Some(Preparation::MadeBefore));
        let standing = files.standing(Path::new("f1"), Some(Operation::Write), 0, &mut Findings::default());
        assert_eq!(standing.map(|standing| standing.size_bytes), Some(150));
    }
}
