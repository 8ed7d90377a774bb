//! CPU time that the run did not get.

use super::{Case, Rule, rule};
use model::note::Note;
use model::verdict::{Finding, Severity};

pub(super) const STEAL: Rule = Rule {
    name: "steal",
    severity: Severity::Warn,
    advice: "measure on a host, or at a time, at which other virtual machines leave the CPUs alone",
};

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let steal = |note: &Note| match note {
        Note::CpuStolen { percent_hundredths } => {
            let share = f64::from(*percent_hundredths) / 10_000.0;
            let figure = format!("the hypervisor took {} of the CPU time", rule::percent(share));
            (share > super::WORTH_A_WARNING).then(|| STEAL.finding(figure, share * 100.0))
        }
        _ => None,
    };
    case.notes().filter_map(steal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;

    #[test]
    fn steal_counts_above_two_percent() {
        let mut built = Built::sound();
        assert_eq!(built.found(look), [""; 0]);
        built.happened().notes = vec![Note::CpuStolen { percent_hundredths: 200 }];
        assert_eq!(built.found(look), [""; 0]);
        built.happened().notes = vec![Note::CpuStolen { percent_hundredths: 531 }];
        assert_eq!(built.found(look), ["WARN steal: the hypervisor took 5.3 % of the CPU time"]);
    }
}
