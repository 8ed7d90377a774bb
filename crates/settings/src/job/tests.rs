use super::*;
use crate::arbitrary;
use crate::setting::Setting;
use crate::xml::{read_profile, write_profile};
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use model::profile::Profile;
use model::profile::{ResultFormat, Target, TimeSpan};
use model::units::Bytes;
use proptest::prelude::*;

fn read(text: &str) -> Profile {
    let job = read_job(text.as_bytes(), "job.toml", |text| Ok(text.to_owned()));
    job.unwrap_or_else(|faults| panic!("{}\n{text}", lines(&faults))).profile
}

fn lines(faults: &[JobFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The profile as read back from XML.
fn of_xml(profile: &Profile) -> Profile {
    let text = write_profile(profile, profile.result_format);
    read_profile(text.as_bytes(), "p.xml").unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"))
}

fn comes_back(profile: &Profile) {
    let text = write_job(profile, &[]);
    assert_eq!(xml(&read(&text)), xml(&of_xml(profile)), "{text}");
}

fn xml(profile: &Profile) -> String {
    write_profile(profile, profile.result_format)
}

fn plain() -> Profile {
    let span = TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() };
    Profile { time_spans: vec![span], ..Profile::default() }
}

fn every_example_comes_back<T>(table: &'static [Setting<T>], of: fn(&mut Profile) -> &mut T) {
    for setting in table.iter().filter(|row| !matches!(row.element, "TimeSpans" | "Targets" | "Linux")) {
        // Many rows have few examples.
        let mut seen = Vec::new();
        for random in 0..24_u64 {
            for random_percent in [0, 100] {
                let mut profile = plain();
                profile.time_spans[0].targets[0].random_percent = random_percent;
                setting.set_example(of(&mut profile), random.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                if !seen.contains(&profile) {
                    comes_back(&profile);
                    seen.push(profile);
                }
            }
        }
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
    #[test]
    fn profiles_come_back(seed in any::<u64>()) {
        comes_back(&arbitrary::profile(seed));
    }

    #[test]
    fn any_path_that_can_be_said_comes_back(path in "[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u{fffe}\\u{ffff}*]{1,20}") {
        let mut profile = plain();
        profile.time_spans[0].targets[0].path = path.clone().into();
        prop_assert_eq!(&read(&write_job(&profile, &[])).time_spans[0].targets[0].path, std::path::Path::new(&path));
    }

    #[test]
    fn no_text_does_harm(text in "(form|=|\"diskspd-job/1\"|\n|\\[|\\]|time_spans|targets|path|[ a-z0-9\"'.{},-])*") {
        let _ = read_job(text.as_bytes(), "job.toml", |text| Ok(text.to_owned()));
    }
}

#[test]
fn only_what_differs_from_the_default_is_written() {
    assert_eq!(
        write_job(&plain(), &["p99<10ms".to_owned()]),
        "form = \"diskspd-job/1\"\nrequire = [\"p99<10ms\"]\n\n[[time_spans]]\n\n[[time_spans.targets]]\npath = \"f\"\n"
    );
    let mut profile = plain();
    let span = &mut profile.time_spans[0];
    span.duration_s = 30;
    span.rate_iops = Some(500.into());
    span.end_after.bytes = Some(10 << 30);
    span.targets[0] = Target {
        block_size: Bytes(8192),
        random_percent: 100,
        write_percent: 30,
        create_size: Some(Bytes(1 << 30)),
        ..Target::new("a \"b\"")
    };
    span.targets.push(Target { block_size: Bytes(8192), alignment: Some(Bytes(65536)), ..Target::new("123") });
    insta::assert_snapshot!(write_job(&profile, &[]), @r#"
    form = "diskspd-job/1"

    [[time_spans]]
    duration_s = 30
    max_bytes = "10G"
    rate_iops = 500

    [[time_spans.targets]]
    path = "a \"b\""
    block_size = "8K"
    create_size = "1G"
    random = "8K"
    write_percent = 30

    [[time_spans.targets]]
    path = "123"
    block_size = "8K"
    stride_size = "64K"
    "#);
    comes_back(&profile);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let job = |rest: &str| format!("form = \"diskspd-job/1\"\n{rest}");
    let target = |rest: &str| job(&format!("[[time_spans]]\n[[time_spans.targets]]\npath = \"f\"\n{rest}\n"));
    for (text, expected) in [
        (String::new(), "job.toml:1:1: the first line of a job must be: form = \"diskspd-job/1\""),
        ("form = \"x\"".to_owned(), "job.toml:1:8: form: expected \"diskspd-job/1\", found 'x'"),
        (job("a = ["), "job.toml:2:6: not valid TOML: "),
        (job(""), "job.toml:1:1: the required key time_spans is missing"),
        (job("[[time_spans]]\nduration_s = 3\n"), "job.toml:2:1: time_spans: the required key targets is missing"),
        (job("[time_spans]\n"), "job.toml:2:2: time_spans: expected a list, as with [[time_spans]]"),
        (
            target("block_siz = 1"),
            "job.toml:5:1: time_spans.targets.block_siz: unknown key in time_spans.targets; did you mean block_size? \
             allowed there: path, block_size",
        ),
        (target("duration_s = 3"), "unknown key in time_spans.targets; it belongs inside [[time_spans]]; allowed"),
        (
            target("block_size = \"8Q\""),
            "job.toml:5:1: time_spans.targets.block_size: expected a size in bytes, as in 4096, \"8K\" or \"1G\"",
        ),
        (
            target("block_size = 8192.5"),
            "job.toml:5:1: time_spans.targets.block_size: expected a size in bytes, as in 4096, \"8K\" or \"1G\" (K, M, G, \
             T: powers of 1024), found '8192.5'",
        ),
        (target("random = true"), "powers of 1024), found 'true'; 0: multiples of block_size"),
        (target("stride_size = true"), "powers of 1024), found 'true'"),
        (job("[[time_spans]]\nduration_s = \"3s\"\n"), "found '3s'; write the number without a unit"),
        (
            target("block_size = -1"),
            "job.toml:5:1: time_spans.targets.block_size: expected a whole number from 1 to 4294967294, found '-1'",
        ),
        (target("write_percent = 101"), "write_percent: expected a whole number from 0 to 100, found '101'"),
        (target("write_percent = 1.5"), "write_percent: expected a whole number from 0 to 100, found '1.5'"),
        (target("write_percent = 1979-05-27"), "write_percent: expected a string, a number, true or false"),
        (target("compress_ratio = 0.5"), "compress_ratio: '0.5' is not a compression ratio"),
        (target("write_percent = [1]"), "write_percent: expected a single value, found a list"),
        (target("write_percent = { a = 1 }"), "write_percent: expected a single value, found a table"),
        (target("io_priority = \"high\""), "io_priority: expected a whole number from 0 to 3, found 'high'"),
        (
            target("random = \"8K\"\nstride_size = \"8K\""),
            "job.toml:6:1: time_spans.targets.stride_size: cannot be combined with random or random_percent",
        ),
        (target("distribution = 1"), "distribution: expected a table with some of: percent, absolute"),
        (target("distribution = {}"), "distribution: must contain percent or absolute"),
        (
            target("random = 1\ndistribution.percent = [{ value = 1 }]"),
            "job.toml:6:25: time_spans.targets.distribution.percent: the key io is missing",
        ),
        (target("throughput = { units = 1 }"), "throughput.units: unknown key in time_spans.targets.throughput; did"),
        (job("require = \"p99\""), "job.toml:2:11: require: expected a list of requirements"),
        (job("require = [1]"), "job.toml:2:12: require: expected a text"),
        (job("require = [\"no\"]"), "job.toml:2:12: require: it is no"),
    ] {
        let refuse = |_: &str| Err::<(), _>("it is no".to_owned());
        let faults = read_job(text.as_bytes(), "job.toml", refuse).map(|job| job.profile);
        let faults = lines(&faults.expect_err(&text));
        assert!(faults.contains(expected), "{text}\n{faults}");
        // No mention of a unit where there is none.
        assert_eq!(faults.contains("unit"), expected.contains("unit"), "{text}\n{faults}");
    }
    let control = read_job(target("content = \"\\u0001\"").as_bytes(), "j", |_| Ok(())).unwrap_err();
    assert!(lines(&control).contains("unknown key"), "{control:?}");
}

#[test]
fn paths_that_cannot_be_said_are_named() {
    let mut profile = plain();
    profile.time_spans[0].targets[0].path = "a\u{1}b".into();
    assert_eq!(
        unsayable_paths(&profile),
        ["the path 'a\\x01b' cannot be written to a job file, and the job names another file: correct it before \
          running the job"]
    );
    assert_eq!(unsayable_paths(&plain()), [""; 0]);
    assert_eq!(profile.result_format, ResultFormat::Text);
}
