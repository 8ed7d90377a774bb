//! Figures of data verification, and the kernel's messages beside corrupt units.

use model::kernel_log::KernelMessage;
use model::record::TimeSpanRecord;
use model::verification::{NearMessage, VerificationFigures};

/// How far a message may be from the read of a corrupt unit.
const NEAR_NS: u64 = 5_000_000_000;

/// Messages that are kept of each unit.
const MESSAGES_MAX: usize = 5;

/// Results of verification in a timespan, with the messages by `CLOCK_MONOTONIC`.
pub(crate) fn figures(record: &TimeSpanRecord, messages: &[KernelMessage]) -> Option<VerificationFigures> {
    let mut figures = record.verification.clone()?;
    figures.unchecked_percent = unchecked_percent(figures.checked_units, figures.unchecked_units);
    for unit in &mut figures.first {
        unit.kernel_messages = near_messages(record.verified_from_ns.saturating_add(unit.at_ns), messages);
    }
    Some(figures)
}

/// Percent of the units read that were not comparable; `None` = none was read.
pub fn unchecked_percent(checked_units: u64, unchecked_units: u64) -> Option<f64> {
    let read = checked_units.saturating_add(unchecked_units);
    (read > 0).then(|| 100.0 * unchecked_units as f64 / read as f64)
}

/// Kernel messages near a read, in the order of time; the nearest messages if there are more than 5. All times are by
/// `CLOCK_MONOTONIC`.
pub fn near_messages(read_at_ns: u64, messages: &[KernelMessage]) -> Vec<NearMessage> {
    let after_read_ns = |message: &KernelMessage| message.at_ns.saturating_sub(read_at_ns.cast_signed());
    let mut near: Vec<(i64, &KernelMessage)> =
        messages.iter().map(|message| (after_read_ns(message), message)).collect();
    near.retain(|(after_ns, _)| after_ns.unsigned_abs() <= NEAR_NS);
    near.sort_by_key(|(after_ns, _)| after_ns.unsigned_abs());
    near.truncate(MESSAGES_MAX);
    near.sort_by_key(|(after_ns, _)| *after_ns);
    near.into_iter().map(|(after_read_ns, message)| NearMessage { after_read_ns, text: message.text.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::corruption::CorruptionClass;
    use model::verification::{CorruptUnit, ExpectedContent};

    const S: u64 = 1_000_000_000;

    fn messages(seconds: impl IntoIterator<Item = i64>) -> Vec<KernelMessage> {
        let message = |second: i64| KernelMessage { at_ns: second * S.cast_signed(), text: format!("at {second} s") };
        seconds.into_iter().map(message).collect()
    }

    #[test]
    fn a_corrupt_unit_has_the_messages_near_its_read() {
        let unit = CorruptUnit {
            path: "a.dat".into(),
            offset_bytes: 0,
            class: CorruptionClass::Unreadable,
            at_ns: 10 * S,
            thread: 0,
            expected: ExpectedContent::Unknown,
            found: None,
            first_bytes: String::new(),
            second_read: None,
            places: Vec::new(),
            kernel_messages: Vec::new(),
        };
        let found = VerificationFigures {
            checked_units: 3,
            unchecked_units: 1,
            first: vec![unit],
            ..VerificationFigures::default()
        };
        let record =
            TimeSpanRecord { verification: Some(found), verified_from_ns: 100 * S, ..TimeSpanRecord::default() };
        let figures = figures(&record, &messages([104, 105, 110, 115, 116])).expect("there are some");
        assert_eq!(figures.unchecked_percent, Some(25.0));
        let near: Vec<String> = figures.first[0].kernel_messages.iter().map(NearMessage::words).collect();
        let expected =
            ["kernel, 5.0 s before: at 105 s", "kernel, 0.0 s after: at 110 s", "kernel, 5.0 s after: at 115 s"];
        assert_eq!(near, expected);
    }

    #[test]
    fn of_many_messages_the_nearest_are_kept() {
        let texts = |read_s: u64| -> Vec<String> {
            let near = near_messages(read_s * S, &messages(90..110));
            near.into_iter().map(|message| message.text).collect()
        };
        assert_eq!(texts(100), ["at 98 s", "at 99 s", "at 100 s", "at 101 s", "at 102 s"]);
        assert!(texts(50).is_empty());
        assert_eq!((unchecked_percent(0, 0), unchecked_percent(0, 7)), (None, Some(100.0)));
    }
}
