//! CPU times of the whole machine, from /proc/stat.

use model::record::CpuTimes;

/// The times of every online CPU since boot, in clock ticks.
pub fn read() -> Result<Vec<CpuTimes>, String> {
    let text = std::fs::read_to_string("/proc/stat").map_err(|error| format!("cannot read /proc/stat: {error}"))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<CpuTimes> {
    text.lines().filter_map(parse_line).collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; guest times are inside
/// user and nice already.
fn parse_line(line: &str) -> Option<CpuTimes> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next().filter(|_| !line.starts_with("cpu "))?.parse().ok()?;
    let mut times = [0u64; 8];
    for (time, word) in times.iter_mut().zip(words) {
        *time = word.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = times;
    Some(CpuTimes {
        cpu,
        user: user.saturating_add(nice),
        kernel: system.saturating_add(irq).saturating_add(softirq),
        idle: idle.saturating_add(iowait),
        steal,
    })
}

/// What was spent between two readings; CPUs that were not there in both are left out. A counter
/// that went backwards (iowait may) counts as standing still.
pub fn difference(before: &[CpuTimes], after: &[CpuTimes]) -> Vec<CpuTimes> {
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
    fn columns_are_added_as_the_report_needs_them() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 20 300 4 5 6 7 8 9\ncpu12 1 0 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(
            parse(text),
            [
                CpuTimes { cpu: 0, user: 11, kernel: 31, idle: 304, steal: 7 },
                CpuTimes { cpu: 12, user: 1, ..CpuTimes::default() }
            ]
        );
        assert_eq!(parse("cpux 1 2\ncpu1 a b\n"), []);
    }

    #[test]
    fn differences_never_go_below_zero() {
        let before = [CpuTimes { cpu: 0, user: 5, kernel: 5, idle: 50, steal: 0 }];
        let after =
            [CpuTimes { cpu: 0, user: 8, kernel: 5, idle: 40, steal: 1 }, CpuTimes { cpu: 1, ..CpuTimes::default() }];
        assert_eq!(difference(&before, &after), [CpuTimes { cpu: 0, user: 3, kernel: 0, idle: 0, steal: 1 }]);
    }
}
