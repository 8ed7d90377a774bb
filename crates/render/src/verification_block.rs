//! What verification found (`--verify`): a block of its own.

use crate::foreign;
use model::units::percent_rounded_down;
use model::verification::{CorruptUnit, UnitHeader, VerificationFigures, places_words};
use std::io::{self, Write};

/// Corrupt units that are printed one by one; documents have more.
const SHOWN_MAX: usize = 10;

/// The whole block, beginning with an empty line.
pub(crate) fn block(out: &mut dyn Write, figures: &VerificationFigures) -> io::Result<()> {
    let VerificationFigures { unit_bytes, is_exact, checked_units, unchecked_units, .. } = figures;
    writeln!(out, "\nData verification (--verify, experimental), units of {unit_bytes} bytes:")?;
    let against = if *is_exact { "what was written" } else { "themselves only (place, run, checksum)" };
    writeln!(out, "  units checked:        {checked_units}, compared with {against}")?;
    let share = figures.unchecked_percent.map(|percent| percent_rounded_down(percent, 2));
    let share = share.map(|percent| format!(" ({percent}% of the units read)")).unwrap_or_default();
    writeln!(
        out,
        "  units not checkable:  {unchecked_units}{share}: not written by this run, or changed during the read"
    )?;
    writeln!(out, "  I/Os that waited:     {} for another I/O on the same units", figures.waiting_ios)?;
    if figures.unreadable_ios > 0 {
        writeln!(out, "  reads that failed:    {}, in no rate or latency", figures.unreadable_ios)?;
    }
    writeln!(out, "  corrupt units:        {}", figures.corrupt_units())?;
    for class in &figures.corrupt {
        writeln!(out, "    {} {}: {}", class.units, class.class.name(), class.class.words())?;
    }
    for unit in figures.first.iter().take(SHOWN_MAX) {
        corrupt(out, unit)?;
    }
    let left = figures.first.len().saturating_sub(SHOWN_MAX);
    if left > 0 {
        writeln!(out, "  {left} more corrupt units are in the JSON result")?;
    }
    Ok(())
}

fn corrupt(out: &mut dyn Write, unit: &CorruptUnit) -> io::Result<()> {
    let CorruptUnit { offset_bytes, class, at_ns, thread, .. } = unit;
    write!(out, "  {} at offset {offset_bytes} of '", class.name())?;
    foreign::write_bytes(out, unit.path.as_os_str().as_encoded_bytes())?;
    writeln!(out, "', read by thread {thread} at {:.6} s", *at_ns as f64 / 1e9)?;
    writeln!(out, "    expected: {}", unit.expected.words())?;
    match &unit.found {
        Some(header) => writeln!(out, "    found:    {}", found(header))?,
        None if unit.first_bytes.is_empty() => {}
        None => writeln!(out, "    found:    no header; the first bytes are {}", &unit.first_bytes[..32])?,
    }
    if let Some(second) = unit.second_read {
        writeln!(out, "    read again: {}", second.words())?;
    }
    if !unit.places.is_empty() {
        writeln!(out, "    on:       {} (bytes)", places_words(&unit.places))?;
    }
    for message in &unit.kernel_messages {
        write!(out, "    ")?;
        foreign::write_bytes(out, message.words().as_bytes())?;
        writeln!(out)?;
    }
    Ok(())
}

fn found(header: &UnitHeader) -> String {
    let run = if header.is_of_this_run { "" } else { ", of another run" };
    let damaged = if header.is_intact { "" } else { ", with a wrong checksum" };
    format!("{}{run}{damaged}", header.write.words(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::corruption::CorruptionClass;
    use model::placement::DevicePlace;
    use model::verification::{CorruptUnits, ExpectedContent, NearMessage, SecondRead, UnitWrite};

    fn text(figures: &VerificationFigures) -> String {
        let mut out = Vec::new();
        block(&mut out, figures).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn sound_data_has_counts_only() {
        let figures = VerificationFigures {
            unit_bytes: 4096,
            is_exact: true,
            checked_units: 75,
            unchecked_units: 25,
            unchecked_percent: Some(25.0),
            ..VerificationFigures::default()
        };
        let text = text(&figures);
        assert!(text.contains("units checked:        75, compared with what was written"), "{text}");
        assert!(text.contains("units not checkable:  25 (25.00% of the units read)"), "{text}");
        assert!(text.ends_with("corrupt units:        0\n"), "{text}");
    }

    #[test]
    fn the_first_corrupt_units_are_described_and_the_others_counted() {
        let header = UnitHeader {
            is_intact: true,
            is_of_this_run: true,
            write: UnitWrite {
                target: 0,
                offset_bytes: 8192,
                number: 5,
                written_ns: 1_500_000_000,
                thread: 2,
                sequence: 77,
                io_offset_bytes: 8192,
                io_length_bytes: 16384,
            },
        };
        let unit = CorruptUnit {
            path: "a\x1b.dat".into(),
            offset_bytes: 8192,
            class: CorruptionClass::Lost,
            at_ns: 2_000_000_000,
            thread: 1,
            expected: ExpectedContent::Write(6),
            found: Some(header),
            first_bytes: "00".repeat(64),
            second_read: Some(SecondRead::Same),
            places: vec![
                DevicePlace { device: "sda1".to_owned(), offset_bytes: 4096, is_disk: false },
                DevicePlace { device: "sda".to_owned(), offset_bytes: 1_052_672, is_disk: true },
            ],
            kernel_messages: vec![NearMessage { after_read_ns: -200_000_000, text: "sda: \x1bI/O error".to_owned() }],
        };
        let figures = VerificationFigures {
            corrupt: vec![CorruptUnits { class: CorruptionClass::Lost, units: 12 }],
            first: vec![unit; 12],
            ..VerificationFigures::default()
        };
        let text = text(&figures);
        assert!(text.contains("12 lost: an acknowledged write is missing"), "{text}");
        assert_eq!(text.matches("lost at offset 8192").count(), 10, "{text}");
        assert!(
            text.contains("expected: write 6 to this unit") && text.contains("read again: the same data"),
            "{text}"
        );
        assert!(
            text.contains("write 5 to offset 8192 of target 0, made by thread 2 at 1.500000 s as I/O 77"),
            "{text}"
        );
        assert!(text.contains("    on:       sda1 at 4096, sda at 1052672 (bytes)\n"), "{text}");
        assert!(text.contains("    kernel, 0.2 s before: sda: ") && text.contains("I/O error\n"), "{text}");
        assert!(text.contains("2 more corrupt units") && !text.contains('\x1b'), "{text}");
    }
}
