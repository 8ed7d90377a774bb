//! CPU time spent between two readings.

use model::record::CpuTimes;

/// What was spent between two readings; CPUs that were not there in both are left out. A counter
/// that went backwards (iowait may) counts as standing still.
pub(crate) fn difference(before: &[CpuTimes], after: &[CpuTimes]) -> Vec<CpuTimes> {
    let spent = |after: &CpuTimes| {
        let before = before.iter().find(|before| before.cpu == after.cpu)?;
        Some(CpuTimes {
            cpu: after.cpu,
            user: after.user.saturating_sub(before.user),
            kernel: after.kernel.saturating_sub(before.kernel),
            idle: after.idle.saturating_sub(before.idle),
            steal: after.steal.saturating_sub(before.steal),
        })
    };
    after.iter().filter_map(spent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero() {
        let before = [CpuTimes { cpu: 0, user: 5, kernel: 5, idle: 50, steal: 0 }];
        let after =
            [CpuTimes { cpu: 0, user: 8, kernel: 5, idle: 40, steal: 1 }, CpuTimes { cpu: 1, ..CpuTimes::default() }];
        assert_eq!(difference(&before, &after), [CpuTimes { cpu: 0, user: 3, kernel: 0, idle: 0, steal: 1 }]);
    }
}
