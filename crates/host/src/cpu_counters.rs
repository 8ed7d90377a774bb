//! How fast CPUs run, and how often heat made them slower.

use crate::cpus::directory;
use crate::root::Root;
use model::kernel_counters::CpuCounters;

/// The most that are looked at: some kernels take 10 ms for the clock of one that has nothing to do.
const CPUS_MAX: usize = 16;

/// Looks at `cpus`, at the first of them if they are many. Those of which nothing is told are left out.
pub fn cpu_counters(root: &Root, cpus: impl IntoIterator<Item = u32>) -> Vec<CpuCounters> {
    let counters = |cpu: u32| {
        let number = |file: &str| root.number(format!("{}/{file}", directory(cpu)));
        let found = CpuCounters {
            cpu,
            clock_khz: number("cpufreq/scaling_cur_freq"),
            core_throttled_count: number("thermal_throttle/core_throttle_count"),
            package_throttled_count: number("thermal_throttle/package_throttle_count"),
        };
        (found != CpuCounters { cpu, ..CpuCounters::default() }).then_some(found)
    };
    cpus.into_iter().take(CPUS_MAX).filter_map(counters).collect()
}
