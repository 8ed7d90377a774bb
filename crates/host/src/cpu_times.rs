//! CPU times of the whole machine, from /proc/stat.

use crate::root::Root;
use model::record::CpuTimes;

/// The times of every online CPU since boot, in clock ticks.
///
/// # Errors
///
/// A sentence with the reason.
pub fn cpu_times(root: &Root) -> Result<Vec<CpuTimes>, String> {
    let text = std::fs::read_to_string(root.path("/proc/stat"));
    let text = text.map_err(|error| format!("cannot read /proc/stat: {error}"))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<CpuTimes> {
    text.lines().filter_map(parse_line).collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; guest times are included in user and nice.
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
}
