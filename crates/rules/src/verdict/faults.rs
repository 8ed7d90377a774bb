//! Failed, lost and short I/Os, and device errors.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::finding::Severity;
use model::note::Note;
use model::units::counted;
use model::verification::CorruptUnits;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "io-errors",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "errors that ended the timespan",
        advice: "remove the cause of the error, then measure again",
        evaluate: |context| {
            let Some(first) = context.span_result.errors.first() else { return Vec::new() };
            let count = context.span_result.errors.len();
            let figure = format!("{} ended the timespan; the first: {first}", counted(count, "error"));
            vec![Observation::new(figure, count as f64)]
        },
    },
    VerdictRule {
        name: "data-corruption",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "units whose data is not what was written, from the start of load to the last completion (--verify)",
        advice: "do not trust this storage with data: check its cables, memory, firmware and health, and see which data is \
                 affected with --json",
        evaluate: |context| {
            let Some(found) = &context.span_result.verification else { return Vec::new() };
            let (units, read) = (found.corrupt_units(), found.checked_units);
            let class = |class: &CorruptUnits| format!("{} {}", class.units, class.class.name());
            let classes: Vec<String> = found.corrupt.iter().map(class).collect();
            let corrupt = counted(units, "corrupt unit");
            let figure = format!("{corrupt} ({}) among {read} that were checked", classes.join(", "));
            (units > 0).then(|| Observation::new(figure, units as f64)).into_iter().collect()
        },
    },
    VerdictRule {
        name: "lost-ios",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "I/Os that never completed: at its end, the run waits for the outstanding I/Os, and gives up \
                        once none has completed for 5 s",
        advice: "find out why the target hangs: the results omit the slowest I/Os",
        evaluate: |context| {
            context.noted(|note| match note {
                Note::IosNeverReturned { count } => {
                    let figure = format!("{} never completed (not counted)", counted(*count, "I/O"));
                    Some(Observation::new(figure, *count as f64))
                }
                _ => None,
            })
        },
    },
    VerdictRule {
        name: "queue-drained-late",
        severity: Severity::Note,
        unit: "seconds",
        computed_from: "time that the I/Os outstanding at the end took to complete, if more than 2 s",
        advice: "use fewer outstanding I/Os (-o, -t): the target needs seconds to work through a queue of this length",
        evaluate: |context| {
            context.noted(|note| match note {
                Note::QueueDrainedLate { drain_ns, .. } => {
                    Some(Observation::new(note.to_string(), *drain_ns as f64 / 1e9))
                }
                _ => None,
            })
        },
    },
    VerdictRule {
        name: "device-faults",
        severity: Severity::Invalid,
        unit: "count",
        computed_from: "kernel log messages about the devices below the targets, and increases of their error counters \
                        in /sys, from the start to the end of the whole run. Reported in every timespan",
        advice: "check the kernel log and the device's cables, firmware and health, then measure again",
        evaluate: |context| {
            context.noted(|note| match note {
                Note::DeviceFaultsLogged { device, fault, count, .. } => {
                    let figure = format!("{device} had {}, {count} in the kernel log", fault.words());
                    Some(Observation::new(figure, *count as f64).with_subject(device))
                }
                Note::DeviceErrorsCounted { device, counter, count } => {
                    let figure = format!("{device} recorded {} ({counter})", counted(*count, "error"));
                    Some(Observation::new(figure, *count as f64).with_subject(device))
                }
                _ => None,
            })
        },
    },
    VerdictRule {
        name: "short-transfers",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "transfers shorter than the block size, if they exceed 2 % of all transfers on the target",
        advice: "short reads and writes count as full I/Os in IOPS: make sure that the target does not shrink during \
                 the run, or limit the run to its current size (-f)",
        evaluate: |context| context.noted(|note| short_transfers(context, note)),
    },
];

fn short_transfers(context: &RuleContext<'_>, note: &Note) -> Option<Observation> {
    let Note::ShortTransfers { path, count } = note else { return None };
    let on_it = context.measured.rows.iter().filter(|row| row.path == *path);
    let ios: u64 = on_it.map(|row| row.figures.total.ios).sum();
    let share = *count as f64 / ios.max(1) as f64;
    let path = path.display().to_string();
    let figure = format!("{count} of {ios} transfers on '{path}' were cut short");
    let counts = share > super::WORTH_A_WARNING;
    counts.then(|| Observation::new(figure, share * 100.0).with_subject(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{self, CaseResult};
    use model::kernel_log::DeviceFault;
    use std::path::PathBuf;

    fn found(notes: &[Note]) -> Vec<String> {
        let mut built = CaseResult::sound();
        built.span_result().notes = notes.to_vec();
        built.found(RULES)
    }

    #[test]
    fn a_sound_result_has_no_faults() {
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[Note::CpuStolen { percent_hundredths: 900 }]), [""; 0]);
    }

    // Shows verdict: data-corruption
    #[test]
    fn corrupt_units_are_found_with_their_classes() {
        use model::corruption::CorruptionClass;
        use model::verification::VerificationFigures;
        let mut built = CaseResult::sound();
        let sound = VerificationFigures { checked_units: 9, ..VerificationFigures::default() };
        built.span_result().verification = Some(sound.clone());
        assert_eq!(built.found(RULES), [""; 0]);
        let corrupt = [(CorruptionClass::Lost, 2), (CorruptionClass::Rot, 1)];
        let corrupt = corrupt.map(|(class, units)| CorruptUnits { class, units }).to_vec();
        built.span_result().verification = Some(VerificationFigures { corrupt, ..sound });
        assert_eq!(
            built.found(RULES),
            ["INVALID data-corruption: 3 corrupt units (2 lost, 1 rot) among 9 that were checked"]
        );
    }

    #[test]
    fn an_error_that_ended_the_run_is_found() {
        let mut built = CaseResult::sound();
        built.span_result().errors = vec!["reading failed".to_owned(), "again".to_owned()];
        assert_eq!(built.found(RULES), ["INVALID io-errors: 2 errors ended the timespan; the first: reading failed"]);
    }

    #[test]
    fn ios_that_never_came_back_are_found() {
        let lost = found(&[Note::IosNeverReturned { count: 3 }]);
        assert_eq!(lost, ["INVALID lost-ios: 3 I/Os never completed (not counted)"]);
    }

    // Shows verdict: queue-drained-late
    #[test]
    fn a_queue_that_drained_late_is_noted() {
        let late = found(&[Note::QueueDrainedLate { drain_ns: 2_600_000_000, outstanding: 256, left: 0 }]);
        assert_eq!(
            late,
            ["NOTE queue-drained-late: the 256 I/Os outstanding at the end took 2.6 s to complete (not counted)"]
        );
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
        let mut built = CaseResult::sound();
        built.result.notes = vec![logged];
        built.span_result().notes = vec![counted];
        let found = built.found(RULES);
        assert_eq!(found[0], "INVALID device-faults: sdb recorded 5 errors (iotmo_cnt)");
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
