//! Performance counters as people who know Windows write them: `\\HOST\LogicalDisk(*)\Avg. Disk sec/Read`.

use model::performance_counter::{Counter, CounterObject, CounterPattern, matches};

/// Reads one. What it leaves out is everything: `\PhysicalDisk\% Idle Time` is of all instances.
pub(crate) fn parse(text: &str) -> Result<CounterPattern, String> {
    let text = text.trim();
    let wrong = || {
        format!(
            "'{text}' is not a counter (for example \\PhysicalDisk(sda)\\Avg. Disk sec/Read, with * for any device)"
        )
    };
    let path = match text.strip_prefix("\\\\") {
        // The machine is always this one.
        Some(with_host) => with_host.split_once('\\').ok_or_else(wrong)?.1,
        None => text.strip_prefix('\\').unwrap_or(text),
    };
    let (object, counter) = path.split_once('\\').ok_or_else(wrong)?;
    let (object, instance) = match object.split_once('(') {
        Some((object, rest)) => (object, rest.strip_suffix(')').ok_or_else(wrong)?),
        None => (object, "*"),
    };
    let object =
        CounterObject::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(object)).ok_or_else(|| {
            let known = CounterObject::ALL.map(CounterObject::name).join(" or ");
            format!("'{text}': unknown object '{object}' (expected: {known})")
        })?;
    let counters: Vec<Counter> = Counter::ALL.into_iter().filter(|known| matches(counter, known.name())).collect();
    if counters.is_empty() {
        let known = Counter::ALL.map(|counter| format!("\n  \\{}(*)\\{}", object.name(), counter.name())).concat();
        return Err(format!("'{text}': unknown counter '{counter}'. Expected one of:{known}\n"));
    }
    Ok(CounterPattern { object, instance: instance.to_owned(), counters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_forms_of_windows_are_understood() {
        let pattern = |object, instance: &str, counters: &[Counter]| {
            Ok(CounterPattern { object, instance: instance.to_owned(), counters: counters.to_vec() })
        };
        let (physical, logical) = (CounterObject::PhysicalDisk, CounterObject::LogicalDisk);
        let read = &[Counter::SecondsPerRead];
        assert_eq!(parse(r"\LogicalDisk(*)\Avg. Disk sec/Read"), pattern(logical, "*", read));
        assert_eq!(parse(r"\\SERVER\logicaldisk(dm-0)\avg. disk SEC/read"), pattern(logical, "dm-0", read));
        assert_eq!(
            parse(r"PhysicalDisk(_Total)\% Idle Time"),
            pattern(physical, "_Total", &[Counter::IdleTimePercent])
        );
        let of_reads = [Counter::SecondsPerRead, Counter::BytesPerRead];
        assert_eq!(parse(r"\PhysicalDisk\Avg*/Read"), pattern(physical, "*", &of_reads));
        assert_eq!(parse(r"\PhysicalDisk(sda)\*"), pattern(physical, "sda", &Counter::ALL));
    }

    #[test]
    fn what_is_no_counter_is_told_what_would_be() {
        for (text, expected) in [
            ("", "'' is not a counter (for example \\PhysicalDisk(sda)"),
            ("sda", "is not a counter"),
            (r"\\host", "is not a counter"),
            (r"\PhysicalDisk(sda\% Idle Time", "is not a counter"),
            (r"\Processor(_Total)\% Idle Time", "unknown object 'Processor' (expected: PhysicalDisk or LogicalDisk)"),
            (
                r"\LogicalDisk(*)\Free Megabytes",
                "unknown counter 'Free Megabytes'. Expected one of:\n  \\LogicalDisk(*)\\Disk Reads/sec\n",
            ),
        ] {
            let failure = parse(text).expect_err(text);
            assert!(failure.contains(expected), "{text}: {failure}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC*|[\\\\()*%a-zA-Z ]{0,40}") {
            if let Ok(pattern) = parse(&text) {
                prop_assert!(!pattern.counters.is_empty());
                let _ = pattern.takes_instance(&text);
            }
        }
    }
}
