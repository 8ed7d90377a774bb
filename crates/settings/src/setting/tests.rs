use crate::arbitrary;
use crate::setting::{EmitCondition, Setting};
use crate::xml::{read_profile, read_profile_of_results, write_profile};
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use model::profile::{Profile, ResultFormat, Target, TimeSpan};
use proptest::prelude::*;
use roxmltree::Document;
use std::collections::BTreeSet;

/// `profile` written and read back: to be run, and as part of a result.
fn read_back(profile: &Profile) -> [Profile; 2] {
    let text = write_profile(profile, profile.result_format);
    let strict = read_profile(text.as_bytes(), "p").unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"));
    let document = Document::parse(&text).unwrap();
    let lenient = read_profile_of_results(document.root_element()).unwrap();
    [strict, lenient]
}

fn plain() -> Profile {
    let span = TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() };
    Profile { time_spans: vec![span], ..Profile::default() }
}

/// Each example of each row reads back from XML unchanged.
fn every_example_comes_back<T>(table: &'static [Setting<T>], of: fn(&mut Profile) -> &mut T) {
    for setting in table.iter().filter(|row| !matches!(row.element, "TimeSpans" | "Targets" | "Linux")) {
        let mut shown = BTreeSet::new();
        // Many rows have few examples.
        let mut seen = Vec::new();
        for random in 0..64_u64 {
            let mut profile = plain();
            // Without it there is neither a share nor a distribution.
            if matches!(setting.element, "RandomRatio" | "Distribution") {
                profile.time_spans[0].targets[0].random_percent = 100;
            }
            setting.set_example(of(&mut profile), random.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            if seen.contains(&profile) {
                continue;
            }
            let expected = setting.shown(of(&mut profile));
            for mut read in read_back(&profile) {
                assert_eq!(setting.shown(of(&mut read)), expected, "<{}>", setting.element);
            }
            shown.insert(expected);
            seen.push(profile);
        }
        let is_written = !matches!(setting.emit, EmitCondition::Never);
        assert_eq!(
            shown.len() > 1,
            is_written && setting.element != "ThreadTargets",
            "<{}>: {shown:?}",
            setting.element
        );
    }
}

#[test]
fn every_example_of_every_row_comes_back() {
    every_example_comes_back(PROFILE, |profile| profile);
    every_example_comes_back(TIME_SPAN, |profile| &mut profile.time_spans[0]);
    every_example_comes_back(LINUX_IN_TIME_SPAN, |profile| &mut profile.time_spans[0]);
    every_example_comes_back(TARGET, |profile| &mut profile.time_spans[0].targets[0]);
    every_example_comes_back(LINUX_IN_TARGET, |profile| &mut profile.time_spans[0].targets[0]);
}

proptest! {
    /// Valid or not: a profile that was read once is written and read back unchanged, to be run and as part of a
    /// result, in XML and JSON.
    #[test]
    fn profiles_come_back(seed in any::<u64>()) {
        let profile = arbitrary::profile(seed);
        let [written, of_results] = read_back(&profile);
        prop_assert_eq!(&of_results, &written);
        prop_assert_eq!(&read_back(&written)[0], &written);
        prop_assert_eq!(crate::difference::differences(&profile, &written), []);
        let json = serde_json::to_string(&profile).unwrap();
        prop_assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
    }

    #[test]
    fn any_path_gives_a_document_that_says_it(path in "[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u{fffe}\\u{ffff}*]{1,20}") {
        let mut profile = plain();
        profile.time_spans[0].targets[0].path = path.into();
        prop_assert_eq!(&read_back(&profile)[0].time_spans[0].targets[0].path, &profile.time_spans[0].targets[0].path);
    }

    #[test]
    fn no_path_makes_a_faulty_document(path in any::<String>()) {
        let mut profile = plain();
        profile.time_spans[0].targets[0].path = path.into();
        prop_assert!(Document::parse(&write_profile(&profile, ResultFormat::Text)).is_ok());
    }
}

/// The JSON of results has the profile keys of the rows.
#[test]
fn the_json_schema_has_the_keys_of_the_rows() {
    fn keys<T>(tables: &[&'static [Setting<T>]]) -> BTreeSet<&'static str> {
        let all = tables.iter().flat_map(|table| table.iter());
        all.map(|setting| setting.key).filter(|key| !key.is_empty()).collect()
    }
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/formats/diskspd-result.schema.json")).unwrap();
    let properties = |of: &str| {
        let names = schema["$defs"][of]["properties"].as_object().unwrap_or_else(|| panic!("{of}"));
        names.keys().map(String::as_str).collect::<BTreeSet<_>>()
    };
    assert_eq!(properties("Profile"), keys(&[PROFILE]));
    // A replay is asked for by a subcommand.
    let with_replay = |mut keys: BTreeSet<&'static str>| {
        keys.insert("replay");
        keys
    };
    assert_eq!(properties("TimeSpan"), with_replay(keys(&[TIME_SPAN, LINUX_IN_TIME_SPAN])));
    let content = crate::target_parts::CONTENT;
    assert_eq!(properties("Target"), keys(&[TARGET, LINUX_IN_TARGET, content]));
}
