//! Differences of two profiles, as options.

use crate::setting::Setting;
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use model::profile::{Profile, Target, TimeSpan};

/// One setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `-o4 against -o8`, after the timespan and target if there are several.
    pub text: String,
    /// True if it makes the profiles different loads; false for names, durations and output formats.
    pub is_load: bool,
    /// True for the seed of random numbers, of which each of several runs has its own.
    pub is_seed: bool,
}

/// All settings that differ, in the order of the rows.
pub fn differences(first: &Profile, second: &Profile) -> Vec<Difference> {
    known_differences(first, second, &|_| true)
}

/// The same, only for settings whose options are known on both sides, and the numbers of timespans and targets.
pub fn known_differences(first: &Profile, second: &Profile, is_known: &dyn Fn(&str) -> bool) -> Vec<Difference> {
    let is_known = |element: &str, option: &str| ["TimeSpans", "Targets"].contains(&element) || is_known(option);
    let mut found = DifferenceList { differences: Vec::new(), is_known: &is_known };
    rows("", PROFILE, first, second, &mut found);
    let several = first.time_spans.len() > 1;
    for (number, (a, b)) in (1..).zip(first.time_spans.iter().zip(&second.time_spans)) {
        let place = if several { format!("timespan {number}: ") } else { String::new() };
        time_span(&place, a, b, &mut found);
    }
    found.differences
}

/// Differences found, and a filter of settings by element and option.
struct DifferenceList<'a> {
    differences: Vec<Difference>,
    is_known: &'a dyn Fn(&str, &str) -> bool,
}

fn time_span(place: &str, first: &TimeSpan, second: &TimeSpan, found: &mut DifferenceList<'_>) {
    rows(place, TIME_SPAN, first, second, found);
    rows(place, LINUX_IN_TIME_SPAN, first, second, found);
    let several = first.targets.len() > 1;
    for (number, (a, b)) in (1..).zip(first.targets.iter().zip(&second.targets)) {
        let place = if several { format!("{place}target {number}: ") } else { place.to_owned() };
        target(&place, a, b, found);
    }
}

fn target(place: &str, first: &Target, second: &Target, found: &mut DifferenceList<'_>) {
    rows(place, TARGET, first, second, found);
    rows(place, LINUX_IN_TARGET, first, second, found);
}

fn rows<T>(place: &str, table: &'static [Setting<T>], first: &T, second: &T, found: &mut DifferenceList<'_>) {
    // The rows inside `Linux` are compared one by one.
    let is_known = found.is_known;
    for setting in
        table.iter().filter(|setting| setting.element != "Linux" && is_known(setting.element, setting.option))
    {
        let (a, b) = (setting.shown(first), setting.shown(second));
        if a != b {
            let shown_or_absent = |shown: Option<String>| shown.unwrap_or_else(|| setting.absent());
            found.differences.push(Difference {
                text: format!("{place}{} against {}", shown_or_absent(a), shown_or_absent(b)),
                is_load: setting.is_load,
                is_seed: setting.element == "RandSeed",
            });
        }
    }
}

/// The settings that define the load of a profile, as options, with those of all timespans and targets in their order.
/// Profiles of one load have the same; names, durations and output formats are not among them.
pub fn load_settings(profile: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    shown_rows(PROFILE, profile, &mut found);
    for span in &profile.time_spans {
        shown_rows(TIME_SPAN, span, &mut found);
        shown_rows(LINUX_IN_TIME_SPAN, span, &mut found);
        for target in &span.targets {
            shown_rows(TARGET, target, &mut found);
            shown_rows(LINUX_IN_TARGET, target, &mut found);
        }
    }
    found
}

fn shown_rows<T>(table: &'static [Setting<T>], of: &T, found: &mut Vec<String>) {
    let is_of_load = |setting: &&Setting<T>| setting.element != "Linux" && setting.is_load;
    found.extend(table.iter().filter(is_of_load).filter_map(|setting| setting.shown(of)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Bytes;

    fn profile(change: impl FnOnce(&mut TimeSpan)) -> Profile {
        let mut span = TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() };
        change(&mut span);
        Profile { time_spans: vec![span], ..Profile::default() }
    }

    fn texts(change: impl FnOnce(&mut TimeSpan)) -> Vec<String> {
        differences(&profile(|_| {}), &profile(change)).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn differences_are_named_as_options() {
        assert_eq!(texts(|_| {}), [""; 0]);
        assert_eq!(texts(|span| span.targets[0].outstanding = 8), ["-o2 against -o8"]);
        assert_eq!(
            texts(|span| span.targets[0].block_size = Bytes(4096)),
            ["-b64K against -b4K", "-s64K against -s4K"]
        );
        assert_eq!(texts(|span| span.rate_iops = Some(500.into())), ["no --rate against --rate=500"]);
        assert_eq!(texts(|span| span.near_device = true), ["no --near-device against --near-device"]);
        assert_eq!(texts(|span| span.end_after.bytes = Some(10 << 30)), ["no --max-bytes against --max-bytes=10G"]);
        assert_eq!(texts(|span| span.targets[0].random_percent = 100), ["-s64K against no -s", "no -r against -r64K"]);
    }

    #[test]
    fn places_are_named_where_there_are_several() {
        let two = |outstanding| {
            let mut profile = profile(|span| span.targets.push(Target::new("g")));
            profile.time_spans.push(profile.time_spans[0].clone());
            profile.time_spans[1].targets[1].outstanding = outstanding;
            profile
        };
        let found = differences(&two(4), &two(8));
        let text = "timespan 2: target 2: -o4 against -o8".to_owned();
        assert_eq!(found, [Difference { text, is_load: true, is_seed: false }]);
        let found = differences(&profile(|_| {}), &two(2));
        assert_eq!(found[0].text, "1 timespan against 2 timespans");
    }

    #[test]
    fn profiles_of_one_load_have_the_same_settings() {
        let settings_with = |change: fn(&mut TimeSpan)| load_settings(&profile(change));
        let same = settings_with(|span| (span.duration_s, span.random_seed) = (60, 7));
        assert_eq!(settings_with(|span| span.targets[0].path = "g".into()), same);
        let other = settings_with(|span| span.targets[0].outstanding = 8);
        assert!(other.contains(&"-o8".to_owned()) && other != same, "{other:?}");
    }

    #[test]
    fn durations_names_seeds_and_intervals_leave_the_load_as_it_is() {
        let found = differences(
            &profile(|_| {}),
            &profile(|span| {
                span.duration_s = 60;
                span.random_seed = 7;
                span.calculate_iops_std_dev = true;
                span.interval_ms = 500;
                span.targets[0].path = "g".into();
            }),
        );
        assert!(found.len() == 5 && found.iter().all(|found| !found.is_load), "{found:?}");
        let seeds: Vec<&str> = found.iter().filter(|found| found.is_seed).map(|found| found.text.as_str()).collect();
        assert_eq!(seeds, ["-z0 against -z7"]);
    }
}
