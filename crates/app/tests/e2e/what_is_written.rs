//! The bytes written by a write test.

use std::collections::BTreeSet;
use testkit::{Workplace, or_skip, workplace};

fn place() -> Workplace {
    let place = workplace!();
    place.create_file("a.dat", "-c256K -Z");
    place
}

/// First bytes of each write of a run of this many I/Os.
fn starts(place: &Workplace, ios: u32, words: &str) -> Result<Vec<Vec<u8>>, String> {
    let ios = place.traced(&format!("-d100 -W0 -o1 -w100 --max-ios={ios} {words} a.dat"))?;
    Ok(ios.into_iter().map(|io| io.start).filter(|start| !start.is_empty()).collect())
}

#[test]
fn by_default_bytes_00_to_ff() {
    let place = place();
    let ramp: Vec<u8> = (0..64).collect();
    let starts = or_skip!(starts(&place, 2000, "-b4K -r"));
    assert!(!starts.is_empty() && starts.iter().all(|start| *start == ramp));
    // As a file: whole blocks of it, wherever they were written.
    place.short_run("-w100 -b4K -o4 a.dat").run().expect_status(0);
    assert!(place.content("a.dat").iter().enumerate().all(|(index, byte)| *byte == index as u8));
}

// Shows switches: -Z
#[test]
fn zeros_with_z() {
    let place = place();
    place.create_file("a.dat", "-c256K");
    let starts = or_skip!(starts(&place, 2000, "-b4K -Z"));
    assert!(!starts.is_empty() && starts.iter().all(|start| *start == [0; 64]));
    place.short_run("-w100 -b64K -o4 -Z a.dat").run().expect_status(0);
    assert!(place.content("a.dat").iter().all(|byte| *byte == 0));
}

// Shows switches: -Zr
#[test]
fn new_random_bytes_for_every_write_with_zr() {
    let place = place();
    let starts = or_skip!(starts(&place, 2000, "-b4K -Zr"));
    let distinct: BTreeSet<&Vec<u8>> = starts.iter().collect();
    assert!(starts.len() > 100);
    assert_eq!(distinct.len(), starts.len(), "the same bytes twice");
    place.short_run("-w100 -b4K -o4 -Zr a.dat").run().expect_status(0);
    let content = place.content("a.dat");
    let blocks: BTreeSet<&[u8]> = content.chunks(4096).collect();
    assert_eq!(blocks.len(), 64);
}

// Shows switches: -Z<size>[K|M|G|T|b][,<file>]
#[test]
fn pieces_of_a_random_source_with_a_size() {
    let place = place();
    let starts = or_skip!(starts(&place, 2000, "-b4K -Z8K"));
    // 4097 places to start from, so many writes repeat a piece, and none is a single repeated byte.
    let distinct: BTreeSet<&Vec<u8>> = starts.iter().collect();
    assert!(distinct.len() <= 4097, "{} pieces of a source with 4097", distinct.len());
    assert!(distinct.len() > starts.len().min(1000) / 2, "{} pieces in {} writes", distinct.len(), starts.len());
    assert!(distinct.iter().all(|start| start.iter().collect::<BTreeSet<_>>().len() > 16));
    // The source does not depend on -z, so that runs can be compared.
    let again = or_skip!(self::starts(&place, 2000, "-b4K -Z8K -z5"));
    let known = again.iter().filter(|start| distinct.contains(start)).count();
    // Each run has only a part of the pieces; random bytes of another source would have none.
    assert!(known > 0, "none of {} pieces is of the same source", again.len());
}

// Shows switches: -Z<size>[K|M|G|T|b][,<file>]
#[test]
fn pieces_of_a_file() {
    let place = place();
    let text: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).take(10_000).collect();
    place.file("source", &text);
    // Longer than the file, which is repeated, and shorter.
    for (words, length) in [("-b4K -Z20000,source", 20_000), ("-b4K -Z5000,source", 5000)] {
        let source: Vec<u8> = text.iter().copied().cycle().take(length).collect();
        let pieces: BTreeSet<&[u8]> = source.windows(64).collect();
        let starts = or_skip!(starts(&place, 2000, words));
        assert!(!starts.is_empty() && starts.iter().all(|start| pieces.contains(&start[..])), "{words}");
        let distinct: BTreeSet<&Vec<u8>> = starts.iter().collect();
        assert!(distinct.len() > 100, "{words}: always the same piece");
    }
    // Past the cache, pieces start at offsets that the device supports.
    if place.direct_io().is_ok() {
        let starts = or_skip!(starts(&place, 200, "-b4K -Z9K,source -Su"));
        let pieces: BTreeSet<&[u8]> = (0..=10).map(|step| &text[step * 512..step * 512 + 64]).collect();
        assert!(!starts.is_empty() && starts.iter().all(|start| pieces.contains(&start[..])));
    }
}

#[test]
fn a_source_that_cannot_be_read_ends_the_run() {
    let place = place();
    place.file("empty", b"");
    for source in ["missing", "empty"] {
        let run = place.short_run(&format!("-w100 -b4K -Z8K,{source} a.dat")).run();
        assert!(matches!(run.code(), Some(1 | 3)), "{run}");
        run.expect_stderr(&[source]);
    }
    place.short_run("-w100 -b64K -Z4K a.dat").run().expect_status(3).expect_stderr(&["-Z"]);
    assert!(place.content("a.dat").iter().all(|byte| *byte == 0));
}
