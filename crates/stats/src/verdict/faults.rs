//! I/Os that failed, never came back or were cut short, and devices that had trouble.

use super::{Case, Rule};
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
    advice: "find out why the target hangs: the slowest I/Os are in no figure",
};

pub(super) const DEVICE_FAULTS: Rule = Rule {
    name: "device-faults",
    severity: Severity::Invalid,
    advice: "look into the kernel's log and at the device's cables, firmware and health, then measure again",
};

pub(super) const SHORT_TRANSFERS: Rule = Rule {
    name: "short-transfers",
    severity: Severity::Warn,
    advice: "keep the target from shrinking, or use its present size with -f: I/Os per second count short I/Os as whole ones",
};

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(first) = case.happened.errors.first() {
        let count = case.happened.errors.len();
        findings.push(IO_ERRORS.finding(format!("errors ended it ({count}), the first: {first}"), count as f64));
    }
    findings.extend(case.notes().filter_map(|note| noted(case, note)));
    findings
}

fn noted(case: &Case<'_>, note: &Note) -> Option<Finding> {
    match note {
        Note::IosNeverReturned { count } => {
            Some(LOST_IOS.finding(format!("{count} I/Os never came back and are not counted"), *count as f64))
        }
        Note::DeviceFaultsLogged { device, fault, count, .. } => {
            let figure = format!("{device} had {}, {count} in the kernel's log", fault.words());
            Some(DEVICE_FAULTS.finding(figure, *count as f64))
        }
        Note::DeviceErrorsCounted { device, counter, count } => {
            Some(DEVICE_FAULTS.finding(format!("{device} counted {count} errors ({counter})"), *count as f64))
        }
        Note::ShortTransfers { path, count } => {
            let on_it = case.measured.rows.iter().filter(|row| row.path == *path);
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
        built.happened().notes = notes.to_vec();
        built.found(look)
    }

    #[test]
    fn a_sound_result_has_no_faults() {
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[Note::CpuStolen { percent_hundredths: 900 }]), [""; 0]);
    }

    #[test]
    fn an_error_that_ended_the_run_is_found() {
        let mut built = Built::sound();
        built.happened().errors = vec!["reading failed".to_owned(), "again".to_owned()];
        assert_eq!(built.found(look), ["INVALID io-errors: errors ended it (2), the first: reading failed"]);
    }

    #[test]
    fn ios_that_never_came_back_are_found() {
        let lost = found(&[Note::IosNeverReturned { count: 3 }]);
        assert_eq!(lost, ["INVALID lost-ios: 3 I/Os never came back and are not counted"]);
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
        built.happened().notes = vec![counted];
        let found = built.found(look);
        assert_eq!(found[0], "INVALID device-faults: sdb counted 5 errors (iotmo_cnt)");
        assert!(found[1].starts_with("INVALID device-faults: sda had "), "{found:?}");
    }

    #[test]
    fn short_transfers_count_if_they_are_many() {
        let short = |count| Note::ShortTransfers { path: PathBuf::from(cases::PATH), count };
        assert_eq!(found(&[short(cases::IOS / 50)]), [""; 0]);
        let many = found(&[short(cases::IOS / 10)]);
        assert_eq!(many, ["WARN short-transfers: 10000 of 100000 transfers on 'a.dat' were cut short"]);
    }
}
