//! Efficiency classes: the relative speed of cores.

use crate::root::{Root, cpu_directory};
use std::collections::BTreeSet;

/// Lists of the CPUs of hybrid x86 processors, slowest first.
const HYBRID_LISTS: [&str; 3] =
    ["/sys/devices/cpu_lowpower/cpus", "/sys/devices/cpu_atom/cpus", "/sys/devices/cpu_core/cpus"];

/// Files in a CPU's directory that rate it; more is faster.
const RATINGS: [&str; 3] = ["cpu_capacity", "acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"];

/// The class of each online CPU: 0 = slowest, all threads of a core alike. The first source that distinguishes CPUs is
/// used; if none does, all are of class 0.
pub(crate) fn rank(root: &Root, online: &[u32], cores: &[u32]) -> Vec<u32> {
    let hybrid = || hybrid_ranks(root, online).map(|ranks| renumbered(&per_core(&ranks, cores)));
    let rated = |file: &&str| {
        let ratings: Option<Vec<u64>> =
            online.iter().map(|cpu| root.number(format!("{}/{file}", cpu_directory(*cpu)))).collect();
        ratings.map(|ratings| clustered(&per_core(&ratings, cores)))
    };
    let differs = |classes: &Vec<u32>| classes.iter().any(|class| *class != 0);
    hybrid()
        .filter(differs)
        .or_else(|| RATINGS.iter().filter_map(rated).find(differs))
        .unwrap_or_else(|| vec![0; online.len()])
}

/// Index into [`HYBRID_LISTS`] for each CPU; `None` if a CPU is in no list.
fn hybrid_ranks(root: &Root, online: &[u32]) -> Option<Vec<u64>> {
    let lists = HYBRID_LISTS.map(|path| root.cpu_list(path).unwrap_or_default());
    online
        .iter()
        .map(|cpu| lists.iter().rposition(|list| list.binary_search(cpu).is_ok()).map(|rank| rank as u64))
        .collect()
}

/// The best value of each CPU's core.
fn per_core(values: &[u64], cores: &[u32]) -> Vec<u64> {
    let count = cores.iter().max().map_or(0, |core| *core as usize + 1);
    let mut best = vec![0; count];
    for (value, core) in values.iter().zip(cores) {
        best[*core as usize] = (*value).max(best[*core as usize]);
    }
    cores.iter().map(|core| best[*core as usize]).collect()
}

/// Distinct values numbered from 0, ascending.
fn renumbered(values: &[u64]) -> Vec<u32> {
    let distinct: Vec<u64> = values.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    values.iter().map(|value| distinct.partition_point(|other| other < value) as u32).collect()
}

/// Classes of similar values. A class begins where a value exceeds the smallest of the class before by more than 10 %:
/// single cores are often rated a few percent above their equals, and that must not make classes.
fn clustered(values: &[u64]) -> Vec<u32> {
    let mut floors: Vec<u64> = Vec::new();
    for value in values.iter().copied().collect::<BTreeSet<_>>() {
        let opens = floors.last().is_none_or(|floor| u128::from(value) * 10 > u128::from(*floor) * 11);
        if opens {
            floors.push(value);
        }
    }
    values.iter().map(|value| floors.partition_point(|floor| floor <= value).saturating_sub(1) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_percent_is_no_difference_and_more_is() {
        assert_eq!(clustered(&[1000, 1100]), [0, 0]);
        assert_eq!(clustered(&[1000, 1101]), [0, 1]);
        // Measured from the smallest of the class, so that small steps cannot creep.
        assert_eq!(clustered(&[1000, 1050, 1100, 1150]), [0, 0, 0, 1]);
        assert_eq!(clustered(&[1024, 446, 446, 1024, 871]), [2, 0, 0, 2, 1]);
        assert_eq!(clustered(&[0, 0, 1]), [0, 0, 1]);
        assert_eq!(clustered(&[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn more_is_never_a_lower_class(values in proptest::collection::vec(any::<u64>(), 1..40)) {
            let classes = clustered(&values);
            for (a, class_a) in values.iter().zip(&classes) {
                for (b, class_b) in values.iter().zip(&classes) {
                    prop_assert!(a < b || class_a >= class_b);
                }
            }
            prop_assert!(classes.contains(&0));
        }
    }
}
