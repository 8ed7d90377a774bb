//! Settings through every document: command line, profile, XML, results in XML and JSON, and back.

use crate::{written, xml};
use ::settings::difference::differences;
use cli::options;
use cli::{Command, Environment, LineCommand};
use model::profile::Profile;
use model::result::{RunResult, TimeSpanResult};
use std::ffi::OsString;
use std::path::Path;

struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        7
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

/// The profile of a command line, if it is valid.
fn profile(options: &[&str]) -> Option<Profile> {
    let args: Vec<OsString> = options.iter().copied().chain(["-Rpxml", "f"]).map(OsString::from).collect();
    match cli::parse(&args, &FakeEnv) {
        Ok(Command::Line(LineCommand::ShowProfile(request))) => Some(request.profile),
        _ => None,
    }
}

/// The same through a result in XML, read and written as JSON, and read again.
fn through_results(profile: &Profile) -> Profile {
    let result = RunResult { profile: profile.clone(), ..RunResult::default() };
    let mut result = RunResult { time_spans: vec![TimeSpanResult::default(); profile.time_spans.len()], ..result };
    let document = xml(&result);
    result = import::read(document.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let json = written(|out| render::json::write(&result, |_| None, out));
    import::json::read(json.as_bytes()).expect("we wrote it").profile
}

#[test]
fn every_option_of_a_profile_survives_every_document() {
    let plain = profile(&[]).expect("a target alone is a profile");
    let mut survived = 0;
    for row in options::all().filter(|row| !row.xml.is_empty()) {
        // Some have a meaning only beside others.
        let with = [&[row.example][..], &[row.example, "-r"], &[row.example, "-F2"]];
        let Some(given) = with.into_iter().filter_map(profile).find(|given| !differences(&plain, given).is_empty())
        else {
            continue;
        };
        let text = cli::write_profile(&given, given.result_format);
        let read =
            cli::read_profile(text.as_bytes(), "p").unwrap_or_else(|faults| panic!("{}: {faults:?}", row.example));
        let back = through_results(&read);
        assert_eq!(differences(&given, &back), [], "{}", row.example);
        let (before, after) = (differences(&plain, &given), differences(&plain, &back));
        assert_eq!(before, after, "{}", row.example);
        survived += 1;
    }
    assert!(survived > 50, "{survived}");
}
