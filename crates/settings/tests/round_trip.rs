//! Written XML reads back, and invalid documents are refused without a crash.

use model::profile::Profile;
use model::validate::{Purpose, validate};
use proptest::prelude::*;
use proptest::sample::Index;
use settings::arbitrary;
use settings::xml::{read_profile, write_profile};

fn written(profile: &Profile) -> String {
    write_profile(profile, profile.result_format)
}

/// Reading, and all that follows it before a plan, survives the document.
fn survives(bytes: &[u8]) {
    match read_profile(bytes, "p.xml") {
        Ok(profile) => {
            validate(&profile, Purpose::Run);
            let text = written(&profile);
            assert_eq!(read_profile(text.as_bytes(), "p.xml").map(|again| written(&again)), Ok(text));
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
}

/// One change of a document: a piece of it is removed, duplicated, or replaced.
#[derive(Clone, Debug)]
struct Change {
    from: Index,
    length: usize,
    instead: Vec<u8>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let instead = prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 1..8),
        "[<>/a-zA-Z0-9\"'= &;!?-]{1,12}".prop_map(String::into_bytes),
        proptest::sample::select(vec![
            "<Linux/>",
            "<Target>",
            "</Target>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<?x",
            "&#0;",
            "&#xd800;",
            "&amp",
            "\u{feff}",
            "18446744073709551616",
            "-1",
            "<!DOCTYPE a>",
            " xmlns='x'",
            "*0",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change =
        (any::<Index>(), 0..40_usize, instead).prop_map(|(from, length, instead)| Change { from, length, instead });
    proptest::collection::vec(change, 1..4)
}

proptest! {
    #[test]
    fn a_profile_in_utf_16_is_the_same(seed in any::<u64>(), is_big in any::<bool>()) {
        let profile = arbitrary::profile(seed);
        let read = read_profile(written(&profile).as_bytes(), "p.xml");
        let units = "\u{feff}".encode_utf16().collect::<Vec<_>>().into_iter().chain(written(&profile).encode_utf16().collect::<Vec<_>>());
        let bytes: Vec<u8> = units.flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
        prop_assert_eq!(read_profile(&bytes, "p.xml"), read);
    }

    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
    }

    #[test]
    fn no_text_does_harm(text in "(<|>|/|Profile|TimeSpans?|Targets?|Path|[ a-z0-9\"'=&;!?-])*") {
        survives(text.as_bytes());
    }

    #[test]
    fn no_change_of_a_profile_does_harm(seed in any::<u64>(), changes in changes()) {
        let mut bytes = written(&arbitrary::profile(seed)).into_bytes();
        for Change { from, length, instead } in changes {
            let start = from.index(bytes.len() + 1);
            let end = (start + length).min(bytes.len());
            bytes.splice(start..end, instead);
        }
        survives(&bytes);
    }
}
