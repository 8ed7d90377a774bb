//! The CPU's own counter as a clock: 10 ns per read where `clock_gettime` takes 22.
//!
//! It is used only where the kernel itself keeps time with it and it neither stops nor changes its rate; its rate is
//! measured against `CLOCK_MONOTONIC`, whose origin it shares. The counter is the time stamp counter of x86-64 and the
//! generic timer of ARM64.

use crate::clock::{monotonic_ns, monotonic_step_ns};

/// The kernel's name of the CPU's counter as its clock source; `None` if no counter is known.
pub const COUNTER_SOURCE: Option<&str> = cpu::CLOCK_SOURCE;

/// Shortest time over which the rate is measured: the two readings at its ends are each uncertain by some 50 ns, so the
/// rate is known to 10 ppm.
const CALIBRATION_NS: u64 = 10_000_000;

/// Steps of the kernel's clock sources that are coarser than reported by `clock_getres`, in nanoseconds: the ACPI power
/// management timer of 3.579545 MHz and the programmable interval timer of 1.193182 MHz.
const COARSE_SOURCES: [(&str, u64); 2] = [("acpi_pm", 280), ("pit", 839)];

/// A monotonic clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineClock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// The CPU's counter.
    Counter(CpuCounter),
}

/// A calibrated counter of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCounter {
    /// Added to the nanoseconds of all ticks; wraps.
    offset_ns: u64,
    /// Nanoseconds per tick in units of 2^-32.
    ns_per_tick: u64,
}

/// The counter and the clock at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    ticks: u64,
    ns: u64,
}

impl MachineClock {
    /// Nanoseconds since the origin of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Self::Counter(counter) => counter.now_ns(),
            Self::Monotonic => monotonic_ns(),
        }
    }

    /// The best clock available. `earlier` is an earlier reading; the longer ago, the better the calibration. Waits
    /// until it is long enough ago. The counter is used only if the kernel trusts it.
    pub fn choose(earlier: Option<Moment>, is_trusted: bool) -> Self {
        match earlier.filter(|_| is_trusted) {
            Some(earlier) => CpuCounter::calibrate(earlier).map_or(Self::Monotonic, Self::Counter),
            None => Self::Monotonic,
        }
    }

    /// Resolution in whole nanoseconds, at least one, if `source` is the kernel's clock source.
    pub fn step_ns(&self, source: &str) -> u64 {
        match self {
            Self::Counter(counter) => counter.ns_per_tick.div_ceil(1 << 32),
            Self::Monotonic => {
                let known = COARSE_SOURCES.iter().find(|(name, _)| *name == source);
                known.map_or(1, |&(_, step_ns)| step_ns).max(monotonic_step_ns())
            }
        }
    }

    /// Deviation of this clock from `CLOCK_MONOTONIC` now, in nanoseconds: the minimum of several readings, any of
    /// which may be interrupted between the two clocks.
    pub fn deviation_ns(&self) -> u64 {
        (0..16).map(|_| self.now_ns().abs_diff(monotonic_ns())).min().unwrap_or(0)
    }
}

impl CpuCounter {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.offset_ns.wrapping_add(ns_of(cpu::ticks(), self.ns_per_tick))
    }

    fn calibrate(earlier: Moment) -> Option<Self> {
        while monotonic_ns() < earlier.ns + CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let now = sample()?;
        let (ns, ticks) = (now.ns.checked_sub(earlier.ns)?, now.ticks.checked_sub(earlier.ticks)?);
        let ns_per_tick = u64::try_from((u128::from(ns) << 32).checked_div(u128::from(ticks))?).ok()?;
        let slowest = (1 << 32) * 1_000_000_000 / cpu::HZ_MIN;
        // No counter faster than 100 GHz exists.
        ((1 << 32) / 100..=slowest).contains(&ns_per_tick).then_some(Self::at(now, ns_per_tick))
    }

    /// A clock that is right at one moment and has this rate.
    fn at(moment: Moment, ns_per_tick: u64) -> Self {
        Self { offset_ns: moment.ns.wrapping_sub(ns_of(moment.ticks, ns_per_tick)), ns_per_tick }
    }
}

/// Nanoseconds of this number of ticks, truncated to 64 bits.
#[inline]
fn ns_of(ticks: u64, ns_per_tick: u64) -> u64 {
    ((u128::from(ticks) * u128::from(ns_per_tick)) >> 32) as u64
}

/// Counter and clock together: of several attempts the one with the fastest read of the clock, so that the two are of
/// the same time within some 50 ns. `None` where there is no counter.
pub fn sample() -> Option<Moment> {
    COUNTER_SOURCE?;
    let one = || {
        let before = cpu::ticks();
        let ns = monotonic_ns();
        let after = cpu::ticks();
        (after.wrapping_sub(before), Moment { ticks: before + after.wrapping_sub(before) / 2, ns })
    };
    (0..16).map(|_| one()).min_by_key(|&(width, _)| width).map(|(_, moment)| moment)
}

/// The time stamp counter.
#[cfg(target_arch = "x86_64")]
mod cpu {
    /// The kernel's name of the counter as its clock source; `None` if there is no counter.
    pub(super) const CLOCK_SOURCE: Option<&str> = Some("tsc");
    /// No slower counter exists.
    pub(super) const HZ_MIN: u64 = 100_000_000;

    #[inline]
    pub(super) fn ticks() -> u64 {
        // SAFETY: RDTSC reads a counter and touches no memory. A kernel that forbids it to user space
        // (prctl PR_SET_TSC) does not use it as its own clock source for the vDSO either.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

/// The virtual count of the generic timer, from which the kernel's vDSO reads the time too.
#[cfg(target_arch = "aarch64")]
mod cpu {
    /// The kernel's name of the counter as its clock source; `None` if there is no counter.
    pub(super) const CLOCK_SOURCE: Option<&str> = Some("arch_sys_counter");
    /// The architecture recommends 1 to 50 MHz before ARMv8.6, which fixes 1 GHz.
    pub(super) const HZ_MIN: u64 = 1_000_000;

    #[inline]
    pub(super) fn ticks() -> u64 {
        let ticks: u64;
        // SAFETY: the instructions read a counter and touch no memory. Linux lets user space read it, and
        // emulates the read on CPUs whose counter has an erratum. Without ISB the counter could be read
        // ahead of the loads before it, such as that of a completion.
        unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) }
        ticks
    }
}

/// No counter is known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod cpu {
    pub(super) const CLOCK_SOURCE: Option<&str> = None;
    pub(super) const HZ_MIN: u64 = 1_000_000;

    pub(super) fn ticks() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> String {
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        source.unwrap_or_default().trim().to_owned()
    }

    /// Other counters may stand still or change their rate.
    fn is_trusted() -> bool {
        COUNTER_SOURCE.is_some_and(|name| name == source())
    }

    #[test]
    fn the_chosen_clock_stays_with_the_kernels() {
        // 10 ppm of 50 ms are 500 ns. The best of several: a busy machine disturbs calibrations and readings alike.
        let deviations = (0..20).map(|_| {
            let clock = MachineClock::choose(sample(), is_trusted());
            std::thread::sleep(std::time::Duration::from_millis(50));
            clock.deviation_ns()
        });
        let apart: Vec<u64> = deviations.take_while(|deviation| *deviation >= 20_000).collect();
        assert!(apart.len() < 20, "{apart:?} ns apart");
    }

    // Shows faults: The clock of the latencies stops or is slow
    #[test]
    fn a_counter_with_another_rate_is_found_out() {
        let MachineClock::Counter(counter) = MachineClock::choose(sample(), is_trusted()) else {
            testkit::skip!("the counter of the CPU is not used here");
        };
        let now = sample().expect("there is a counter");
        let hasty = MachineClock::Counter(CpuCounter::at(now, counter.ns_per_tick / 10 * 11));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(hasty.deviation_ns() >= 4_900_000, "{} ns apart", hasty.deviation_ns());
    }

    #[test]
    fn it_never_goes_backwards() {
        let clock = MachineClock::choose(sample(), is_trusted());
        let mut last = 0;
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn an_untrusted_counter_is_not_used() {
        assert_eq!(MachineClock::choose(sample(), false), MachineClock::Monotonic);
        assert_eq!(MachineClock::choose(None, true), MachineClock::Monotonic);
    }

    #[test]
    fn steps_are_those_of_the_counter_or_of_the_kernels_source() {
        let counter =
            |hz: u64| MachineClock::Counter(CpuCounter { offset_ns: 0, ns_per_tick: (1_000_000_000 << 32) / hz });
        let steps = [2_500_000_000, 1_000_000_000, 24_000_000, 1_000_000].map(|hz| counter(hz).step_ns(""));
        assert_eq!(steps, [1, 1, 42, 1000]);
        let kernels = MachineClock::Monotonic.step_ns("");
        assert!(kernels >= 1);
        for (source, least) in [("acpi_pm", 280), ("pit", 839), ("kvm-clock", 1)] {
            assert_eq!(MachineClock::Monotonic.step_ns(source), kernels.max(least), "{source}");
        }
    }

    #[test]
    fn the_counter_counts() {
        let Some(before) = sample() else { return };
        std::thread::sleep(std::time::Duration::from_millis(2));
        let after = sample().expect("as before");
        let (ns, ticks) = (after.ns - before.ns, after.ticks - before.ticks);
        let hz = u128::from(ticks) * 1_000_000_000 / u128::from(ns);
        assert!((u128::from(cpu::HZ_MIN)..100_000_000_000).contains(&hz), "{hz} Hz");
    }
}
