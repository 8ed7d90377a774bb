use super::*;
use crate::argv::LineCommand;
use crate::builder::{Builder, GivenOption};
use crate::command::Command;
use crate::help;
use crate::request::FakeEnv;
use std::collections::BTreeSet;
use std::ffi::OsString;

#[test]
fn no_two_rows_are_the_same() {
    let mut seen = BTreeSet::new();
    for row in all() {
        assert!(seen.insert((row.name, format!("{:?}", row.lead))), "{} twice", row.synopsis());
    }
}

#[test]
fn every_row_is_documented() {
    for row in all() {
        let name = row.synopsis();
        assert!(row.name.starts_with('-') && row.name.len() >= 2, "{name}");
        assert!(!row.short.is_empty() && row.short.len() <= 110 && !row.short.ends_with('.'), "{name}: {}", row.short);
        assert!(row.long.ends_with('.'), "{name}: {}", row.long);
        assert!(row.on_linux.is_empty() || row.on_linux.ends_with('.'), "{name}");
        let is_said_in_xml = row.scope != Scope::Invocation && row.name != "-X";
        assert_eq!(is_said_in_xml, !row.xml.is_empty(), "{name}: elements {:?}", row.xml);
        assert_eq!(row.is_long(), row.since == SinceVersion::Own, "{name}");
        assert_eq!(row.is_long(), row.pass == Pass::Zero, "{name}");
        assert!(row.kind != Kind::Flag || row.value.is_empty(), "{name}: a flag has no value");
    }
}

#[test]
fn every_row_is_listed_by_the_help_texts() {
    let (help, usage) = (help::help(), help::usage("diskspd"));
    for row in all() {
        let line = format!("\n  {}", row.synopsis());
        assert!(help.contains(&line), "{line}");
        assert_eq!(usage.contains(&line), row.since != SinceVersion::Own, "{line}");
        let topic = help::topic(row.name).unwrap_or_default();
        assert!(topic.contains(&format!("Example:     {}", row.example)), "{topic}");
    }
}

#[test]
fn every_example_leads_to_its_row_and_is_accepted() {
    for row in all() {
        let (found, value) = if row.is_long() {
            let (name, value) = row.example.split_once('=').unwrap_or((row.example, ""));
            (find_long(name).unwrap(), value)
        } else {
            find_short(row.example).unwrap_or_else(|| panic!("{} leads nowhere", row.example))
        };
        assert_eq!(found.synopsis(), row.synopsis(), "{}", row.example);
        let given = GivenOption { argument: row.example, value, environment: &FakeEnv };
        let mut builder = Builder::default();
        assert_eq!(row.apply(&mut builder, &given), Ok(()), "{}", row.example);
        assert_eq!(builder.warnings, Vec::<String>::new(), "{}", row.example);
    }
}

/// Rows whose effect is visible in `-Rpxml`: the example changes the profile.
#[test]
fn every_example_with_an_xml_element_changes_the_profile() {
    let show = |arguments: &[&str]| {
        let args: Vec<OsString> = arguments.iter().chain(&["-Rpxml", "f"]).map(OsString::from).collect();
        match crate::parse(&args, &FakeEnv) {
            Ok(Command::Line(LineCommand::ShowProfile(request))) => {
                crate::write_profile(&request.profile, request.format)
            }
            other => panic!("{arguments:?}: {other:?}"),
        }
    };
    // A neighbour is needed for -rd to be shown. The others' examples state the default.
    let company = |name: &str| if name == "-rd" { vec!["-r"] } else { vec![] };
    let states_the_default = ["-Rtext", "-I3"];
    for row in all().filter(|row| !row.xml.is_empty() && !states_the_default.contains(&row.example)) {
        let without = company(row.name);
        let mut with = without.clone();
        with.push(row.example);
        assert_ne!(show(&with), show(&without), "{} has no effect", row.example);
        assert!(row.xml.iter().any(|element| show(&with).contains(element)), "{}: {:?}", row.example, row.xml);
    }
}

#[test]
fn repeating_an_example_does_what_its_row_says() {
    for row in all().filter(|row| !row.is_long() && row.scope != Scope::Invocation) {
        let args: Vec<OsString> = [row.example, row.example, "f"].iter().map(OsString::from).collect();
        let is_accepted = crate::parse(&args, &FakeEnv).is_ok();
        // Letters of -S and one of -a can be given once each, though -S and -a accumulate.
        let accumulates_once = ["-Suw"].contains(&row.example);
        assert_eq!(is_accepted, row.repeat != Repeat::Error && !accumulates_once, "{}", row.example);
    }
}

/// Of options of ours the last one used to count, even if the help states that it is refused.
#[test]
fn options_of_ours_that_can_be_given_once_are_refused_twice() {
    let once: Vec<&OptionRow> = all().filter(|row| row.is_long() && row.repeat == Repeat::Error).collect();
    assert!(once.iter().any(|row| row.name == "--on") && once.iter().any(|row| row.name == "--journal"));
    for row in once {
        let args: Vec<OsString> = [row.example, row.example, "f"].iter().map(OsString::from).collect();
        let failure = crate::parse(&args, &FakeEnv).expect_err(row.example).messages.join("\n");
        assert!(failure.contains(&format!("{} was already given", row.name)), "{failure}");
    }
}

#[test]
fn only_what_may_stand_beside_a_profile_does() {
    for row in all().filter(|row| !row.is_long() && row.name != "-X") {
        for order in [["-Xp", row.example], [row.example, "-Xp"]] {
            let args: Vec<OsString> = order.iter().map(OsString::from).collect();
            let parsed = crate::parse(&args, &FakeEnv);
            assert_eq!(parsed.is_ok(), row.with_profile, "{order:?}: {parsed:?}");
        }
    }
}

#[test]
fn the_longest_name_wins_then_the_value_decides() {
    for (argument, synopsis) in [
        ("-b4K", "-b<size>[K|M|G|T|b]"),
        ("-bsn", "-bs(n|p)"),
        ("-f1M", "-f<size>[K|M|G|T|b]"),
        ("-frs", "-f<rst>"),
        ("-f", "-f<rst>"),
        ("-Z", "-Z"),
        ("-Zr", "-Zr"),
        ("-Z1M", "-Z<size>[K|M|G|T|b][,<file>]"),
        ("-acs", "-a<cspPeE>"),
        ("-aup", "-aup"),
        ("-ag0,1", "-a[g<group>,]<cpu>[-<cpu>],..."),
        ("-a", "-a[g<group>,]<cpu>[-<cpu>],..."),
        ("-o8", "-o<count>"),
        ("-oc8", "-oc<count>"),
        ("-o 8", "-o<count>"),
        ("-vs", "-vs"),
        ("-v", "-v"),
        ("-rs50", "-rs<percent>"),
        ("-r4k", "-r[<align>[K|M|G|T|b]]"),
    ] {
        assert_eq!(find_short(argument).unwrap().0.synopsis(), synopsis, "{argument}");
    }
    for argument in ["-q", "-", "-E", "-yq", "-1"] {
        assert!(find_short(argument).is_none(), "{argument}");
    }
}

#[test]
fn the_options_name_elements_that_exist() {
    for row in all() {
        for element in row.xml {
            assert!(settings::xml::knows(element), "{}: <{element}>", row.name);
        }
    }
}

/// Each row of a setting names the option that sets it.
#[test]
fn the_settings_name_options_that_exist() {
    fn check<T>(table: &'static [settings::Setting<T>]) {
        for setting in table.iter().filter(|setting| !setting.option.is_empty()) {
            let says = |row: &OptionRow| setting.option.starts_with(row.name) && row.xml.contains(&setting.element);
            assert!(all().any(says), "<{}>: {}", setting.element, setting.option);
        }
    }
    check(settings::PROFILE);
    check(settings::TIME_SPAN);
    check(settings::LINUX_IN_TIME_SPAN);
    check(settings::TARGET);
    check(settings::LINUX_IN_TARGET);
}
