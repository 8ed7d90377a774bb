//! Settings of a profile whose effect does not exist yet. On a command line the options
//! themselves tell; a profile is asked what it would take to type it.

use crate::options;
use model::profile::Profile;

/// An option that says the same as an element, and whether a profile says it.
struct Setting {
    option: &'static str,
    element: &'static str,
    is_said: fn(&Profile) -> bool,
}

const fn setting(option: &'static str, element: &'static str, is_said: fn(&Profile) -> bool) -> Setting {
    Setting { option, element, is_said }
}

const SETTINGS: &[Setting] = &[setting("-ePROCESS", "ETW", |profile| profile.tracing.is_some())];

/// What a run of this profile would need and does not exist yet, as elements and options.
pub(crate) fn unsupported(profile: &Profile) -> Vec<String> {
    let is_later = |setting: &&Setting| {
        options::find_short(setting.option).is_some_and(|(row, value)| row.support.is_later(value))
    };
    let said = SETTINGS.iter().filter(is_later).filter(|setting| (setting.is_said)(profile));
    said.map(|setting| format!("<{}> ({})", setting.element, setting.option)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Nothing};
    use crate::options::Support;
    use std::ffi::OsString;

    fn profile(option: &str) -> Profile {
        let args: Vec<OsString> = [option, "-Rpxml", "f"].iter().map(OsString::from).collect();
        match crate::parse(&args, &Nothing) {
            Ok(Command::ShowProfile(request)) => request.profile,
            other => panic!("{option}: {other:?}"),
        }
    }

    #[test]
    fn each_setting_is_what_its_option_says() {
        for setting in SETTINGS {
            assert!((setting.is_said)(&profile(setting.option)), "{}", setting.option);
            assert!(!(setting.is_said)(&profile("-b4K")), "{}", setting.option);
            let (row, _) = options::find_short(setting.option).unwrap();
            assert!(row.xml.contains(&setting.element), "{}: {:?}", setting.option, row.xml);
        }
    }

    /// -R is left out: what of the results does not exist yet, their writer knows.
    #[test]
    fn no_option_without_effect_is_forgotten() {
        let is_in_profiles = |row: &&options::OptionRow| !row.xml.is_empty() && row.name != "-R";
        for row in options::all().filter(|row| !matches!(row.support, Support::Complete)).filter(is_in_profiles) {
            let is_known = SETTINGS.iter().any(|setting| {
                options::find_short(setting.option).is_some_and(|(found, _)| found.synopsis() == row.synopsis())
            });
            assert!(is_known, "{}", row.synopsis());
        }
    }

    #[test]
    fn a_profile_of_defaults_needs_nothing_that_is_missing() {
        let defaults = profile("-b4K");
        let read = crate::read_profile(crate::write_profile(&defaults, defaults.result_format).as_bytes(), "p");
        assert_eq!(unsupported(&read.unwrap()), Vec::<String>::new());
    }
}
