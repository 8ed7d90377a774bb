//! Facts about the targets that planning needs.

use crate::content;
use model::facts::TargetQuestion;
use model::profile::{CacheMode, Profile};
use model::rw_flags::RwFlags;
use std::collections::BTreeMap;
use std::path::Path;

/// One question per distinct path, in order of first appearance.
pub fn questions(profile: &Profile) -> Vec<TargetQuestion> {
    let mut questions: Vec<TargetQuestion> = Vec::new();
    let mut places: BTreeMap<&Path, usize> = BTreeMap::new();
    for time_span in &profile.time_spans {
        for target in time_span.targets.iter().filter(|target| !target.is_template()) {
            let place = *places.entry(&target.path).or_insert_with(|| {
                questions.push(TargetQuestion { path: target.path.clone(), ..TargetQuestion::default() });
                questions.len() - 1
            });
            let question = &mut questions[place];
            question.writes |= target.writes();
            question.direct |= target.cache_mode != CacheMode::Cached;
            question.rw_flags |= RwFlags::from_target(target);
            if let Some(size) = target.size_to_create()
                && question.creates.is_none_or(|(largest, _)| size > largest)
            {
                question.creates = Some((size, content::fill(time_span, target)));
            }
        }
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::Fill;
    use model::profile::{Target, TimeSpan};
    use model::units::Bytes;

    #[test]
    fn a_path_is_asked_about_once_with_everything_that_is_done_to_it() {
        let quiet = Target::new("a");
        let mut writer = Target::new("a");
        writer.write_percent = 1;
        writer.cache_mode = CacheMode::Unbuffered;
        let mut creator = Target::new("b");
        creator.create_size = Some(Bytes(5));
        let mut larger = Target::new("b");
        larger.create_size = Some(Bytes(7));
        larger.zero_write_buffers = true;
        let spans = [vec![quiet, creator], vec![larger, writer, Target::new("*1")]];
        let time_spans = spans.map(|targets| TimeSpan { targets, ..TimeSpan::default() });
        let asked = questions(&Profile { time_spans: time_spans.into(), ..Profile::default() });
        let a =
            TargetQuestion { path: "a".into(), writes: true, creates: None, direct: true, ..TargetQuestion::default() };
        let b = TargetQuestion { path: "b".into(), creates: Some((Bytes(7), Fill::Zero)), ..TargetQuestion::default() };
        assert_eq!(asked, [a, b]);
    }
}
