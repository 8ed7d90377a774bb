//! Number of I/Os that reach the kernel, counted by strace: rates, limits, and phases that are not counted.

use testkit::{Report, Workplace, or_skip, workplace};

const BLOCK_BYTES: u64 = 4096;

fn place() -> Workplace {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    place
}

/// Reads issued to the kernel in a run, and those that the run reports.
fn reads(place: &Workplace, words: &str) -> Result<(u64, u64), String> {
    let ios = place.traced(&format!("-b4K -o1 {words} --text=r.txt a.dat"))?;
    assert!(ios.iter().all(|io| !io.write && io.length == BLOCK_BYTES && io.path == "a.dat"), "{words}: {ios:?}");
    let report = String::from_utf8(place.content("r.txt")).expect("a text");
    Ok((ios.len() as u64, Report::parse(&report).total.sum.ios))
}

/// The reason why the last run had too little time, if it reports one.
fn had_time(place: &Workplace) -> Result<(), String> {
    let report = String::from_utf8(place.content("r.txt")).expect("a text");
    let note = report.lines().find(|line| line.starts_with("NOTE: the process did not run for "));
    note.map_or(Ok(()), |note| Err(format!("the machine is too busy: {note}")))
}

// Shows switches: -d<seconds>
#[test]
fn the_kernel_is_asked_as_often_as_is_reported() {
    let place = place();
    for words in ["-d1 -W0 -g100i", "-d1 -W0 -g100i -t3 -si", "-d1 -W0 -i20 -j50"] {
        // A busy machine may give a run little time in one second; it is retried.
        let mut most = 0;
        for _ in 0..5 {
            let (asked, reported) = or_skip!(reads(&place, words));
            // Completions after the end are not counted: one for each thread.
            assert!((reported..=reported + 3).contains(&asked), "{words}: {asked} asked, {reported} told");
            most = most.max(reported);
            if most > 20 {
                break;
            }
        }
        if most <= 20 {
            or_skip!(had_time(&place));
        }
        assert!(most > 20, "{words}: {most} told");
    }
}

// Shows switches: -g(<bytes/ms>|<count>i|<size>/s)
#[test]
fn a_rate_in_ios_or_bytes_is_that_of_the_system_calls() {
    let place = place();
    // 410 bytes a millisecond are a hundred blocks and a bit in a second.
    for (words, limit) in [("-g100i", 100), ("-g410", 101), ("-g50i -t2 -si", 100)] {
        let mut most = 0;
        for _ in 0..5 {
            let (asked, _) = or_skip!(reads(&place, &format!("-d2 -W0 {words}")));
            // Each thread starts a first I/O at once.
            assert!(asked <= 2 * limit + 4, "{words}: {asked}");
            most = most.max(asked);
            if most >= limit {
                break;
            }
        }
        // At most a second is lost, or the machine was too busy five times.
        if most < limit {
            or_skip!(had_time(&place));
        }
        assert!(most >= limit, "{words}: {most}");
    }
}

// Shows switches: -W<seconds>
// Shows switches: -C<seconds>
#[test]
fn warm_up_and_cool_down_are_load_that_is_not_counted() {
    let place = place();
    for words in ["-d1 -W1 -C0", "-d1 -W0 -C1"] {
        // I/Os that a busy machine delayed in the warm-up start after it, so it is retried.
        let mut seen = Vec::new();
        let is_counted = (0..6).any(|_| match reads(&place, &format!("{words} -g100i")) {
            Ok((asked, reported)) => {
                seen.push((asked, reported));
                reported > 20 && reported <= 102 && asked > reported + 20
            }
            Err(_) => true,
        });
        if !is_counted {
            or_skip!(had_time(&place));
        }
        assert!(is_counted, "{words}: asked and told: {seen:?}");
        or_skip!(reads(&place, "-d1 -W0 -g100i"));
    }
}

// Shows switches: --max-ios=<n>
// Shows switches: --max-bytes=<size>[KMGT]
// Shows switches: --max-write=<size>[KMGT]
#[test]
fn nothing_is_asked_for_beyond_a_limit() {
    let place = place();
    for words in ["--max-ios=77", "--max-bytes=308K", "--max-ios=77 -t3 -si", "--max-bytes=311K"] {
        let counts = or_skip!(reads(&place, &format!("-d600 -W0 {words}")));
        assert_eq!(counts, (77, 77), "{words}");
    }
    let ios = or_skip!(place.traced("-d600 -W0 -b4K -o1 -w100 --max-write=308K a.dat"));
    assert_eq!(ios.iter().filter(|io| io.write).count(), 77);
}
