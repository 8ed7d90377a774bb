//! I/Os that failed, never came back or were cut short, and devices that had trouble.

use super::{Rule, RuleContext};
use model::note::Note;
use model::verdict::{Finding, Severity};

pub(super) const IO_ERRORS: Rule = Rule {
    name: "io-errors",
    severity: Severity::Invalid,
    advice: "remove the cause of the error, then measure again",
};

pub(super) const LOST_IOS: Rule = Rule {
    name: "lost-ios",
    severity: Severity::Invalid,
    advice: "find out why the target hangs: the results omit the slowest I/Os",
};

pub(super) const DEVICE_FAULTS: Rule = Rule {
    name: "device-faults",
    severity: Severity::Invalid,
    advice: "check the kernel log and the device's cables, firmware and health, then measure again",
};

pub(super) const SHORT_TRANSFERS: Rule = Rule {
    name: "short-transfers",
    severity: Severity::Warn,
    advice: "keep the target from shrinking, or limit the run to the target's current size (-f): IOPS counts short \
             I/Os as full ones",
};

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(first) = context.span_result.errors.first() {
        let count = context.span_result.errors.len();
        findings
            .push(IO_ERRORS.finding(format!("{count} errors ended the timespan; the first: {first}"), count as f64));
    }
    findings.extend(context.notes().filter_map(|note| noted(context, note)));
    findings
}

fn noted(context: &RuleContext<'_>, note: &Note) -> Option<Finding> {
    match note {
        Note::IosNeverReturned { count } => {
            Some(LOST_IOS.finding(format!("{count} I/Os never completed and are not counted"), *count as f64))
        }
        Note::DeviceFaultsLogged { device, fault, count, .. } => {
            let figure = format!("{device} had {}, {count} in the kernel log", fault.words());
            Some(DEVICE_FAULTS.finding(figure, *count as f64))
        }
        Note::DeviceErrorsCounted { device, counter, count } => {
            Some(DEVICE_FAULTS.finding(format!("{device} counted {count} errors ({counter})"), *count as f64))
        }
        Note::ShortTransfers { path, count } => {
            let on_it = context.measured.rows.iter().filter(|row| row.path == *path);
            let ios: u64 = on_it.map(|row| row.figures.total.ios).sum();
            let share = *count as f64 / ios.max(1) as f64;
            let figure = format!("{count} of {ios} transfers on '{}' were cut short", path.display());
            (share > super::WORTH_A_WARNING).then(|| SHORT_TRANSFERS.finding(figure, share * 100.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{self, Built};
    use model::device_fault::DeviceFault;
    use std::path::PathBuf;

    fn found(notes: &[Note]) -> Vec<String> {
        let mut built = Built::sound();
        built.span_result().notes = notes.to_vec();
        built.found(evaluate)
    }

    #[test]
    fn a_sound_result_has_no_faults() {
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[Note::CpuStolen { percent_hundredths: 900 }]), [""; 0]);
    }

    #[test]
    fn an_error_that_ended_the_run_is_found() {
        let mut built = Built::sound();
        built.span_result().errors = vec!["reading failed".to_owned(), "again".to_owned()];
        assert_eq!(
            built.found(evaluate),
            ["INVALID io-errors: 2 errors ended the timespan; the first: reading failed"]
        );
    }

    #[test]
    fn ios_that_never_came_back_are_found() {
        let lost = found(&[Note::IosNeverReturned { count: 3 }]);
        assert_eq!(lost, ["INVALID lost-ios: 3 I/Os never completed and are not counted"]);
    }

    #[test]
    fn trouble_of_a_device_is_found_wherever_it_was_noted() {
        let logged = Note::DeviceFaultsLogged {
            device: "sda".to_owned(),
            fault: DeviceFault::Reset,
            count: 2,
            first: "sda: reset".to_owned(),
        };
        let counted = Note::DeviceErrorsCounted { device: "sdb".to_owned(), counter: "iotmo_cnt".to_owned(), count: 5 };
        let mut built = Built::sound();
        built.result.notes = vec![logged];
        built.span_result().notes = vec![counted];
        let found = built.found(evaluate);
        assert_eq!(found[0], "INVALID device-faults: sdb counted 5 errors (iotmo_cnt)");
        assert!(found[1].starts_with("INVALID device-faults: sda had "), "{found:?}");
    }

    // Shows verdict: short-transfers
    #[test]
    fn short_transfers_count_if_they_are_many() {
        let short = |count| Note::ShortTransfers { path: PathBuf::from(cases::PATH), count };
        assert_eq!(found(&[short(cases::IOS / 50)]), [""; 0]);
        let many = found(&[short(cases::IOS / 10)]);
        assert_eq!(many, ["WARN short-transfers: 10000 of 100000 transfers on 'a.dat' were cut short"]);
    }
}
