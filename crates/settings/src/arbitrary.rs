//! Random profiles that set every row, for tests.

use crate::element::reader::{Mode, Reader};
use crate::element::tree::Element;
use crate::setting::{Codec, Setting};
use crate::xml::catalogue::holders_of;
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use model::profile::{Profile, Target, TimeSpan};
use roxmltree::Document;

impl<T> Setting<T> {
    /// Sets one of the values that cover the setting.
    ///
    /// # Panics
    ///
    /// If an example of the row cannot be read.
    pub fn set_example(&self, of: &mut T, random: u64) {
        let among = |count: usize| (random % count.max(1) as u64) as usize;
        match &self.codec {
            Codec::Flag(_, set) => set(of, random.is_multiple_of(2)),
            Codec::Number(field, range) => {
                let inside = range.end().wrapping_sub(*range.start()).wrapping_add(1);
                let value = if inside == 0 { random } else { range.start() + random % inside };
                (field.set)(of, [*range.start(), *range.end(), value][among(3)]);
            }
            Codec::Word(words) => (words[among(words.len())].set)(of),
            Codec::Text(field) => {
                let Some(example) = self.examples.get(among(self.examples.len())) else { return };
                let set = (field.set)(of, example);
                assert!(set.is_ok(), "{example}: {set:?}");
            }
            Codec::Own(_) => {
                let Some(example) = self.examples.get(among(self.examples.len())) else { return };
                let element = self.element;
                let whole = example.starts_with(&format!("<{element} "));
                let text = if whole { (*example).to_owned() } else { format!("<{element}>{example}</{element}>") };
                let document = Document::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                let root = Element::from_xml(document.root_element());
                let mut reader = Reader::new(Mode::Strict, holders_of);
                reader.attributes(&root, self.attributes());
                self.read(&mut reader, &root, of);
                let faults = reader.into_faults();
                assert!(faults.is_empty(), "{text}: {}", faults[0].message);
            }
        }
    }
}

/// The profile of a number: one to three timespans and targets, in each of which about half of all rows are set.
pub fn profile(seed: u64) -> Profile {
    let mut state = seed;
    // splitmix64
    let random: &mut dyn FnMut() -> u64 = &mut || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut profile = Profile::default();
    some(PROFILE, &mut profile, random);
    for _ in 0..=random() % 3 {
        let mut span = TimeSpan::default();
        some(TIME_SPAN, &mut span, random);
        some(LINUX_IN_TIME_SPAN, &mut span, random);
        for _ in 0..=random() % 3 {
            let mut target = Target::new("f");
            some(TARGET, &mut target, random);
            some(LINUX_IN_TARGET, &mut target, random);
            span.targets.push(target);
        }
        profile.time_spans.push(span);
    }
    profile
}

fn some<T>(table: &'static [Setting<T>], of: &mut T, random: &mut dyn FnMut() -> u64) {
    for setting in table {
        let value = random();
        if random().is_multiple_of(2) {
            setting.set_example(of, value);
        }
    }
}
