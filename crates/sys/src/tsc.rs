//! The processor's time stamp counter as a clock: 10 ns a look where `clock_gettime` takes 22.
//!
//! It is used only where the kernel itself keeps time with it and the processor says that it
//! neither stops nor changes its rate; its rate is measured against `CLOCK_MONOTONIC`, whose
//! origin it shares.

use crate::clock::monotonic_ns;

/// Shortest time over which the rate is measured: the two looks at its ends are each uncertain by
/// some 50 ns, so the rate is known to 10 ppm.
const CALIBRATION_NS: u64 = 10_000_000;

/// A monotonic clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineClock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// The time stamp counter.
    Tsc(Tsc),
}

/// A calibrated time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsc {
    /// What is added to the nanoseconds of all ticks; wraps.
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
            Self::Tsc(tsc) => tsc.now_ns(),
            Self::Monotonic => monotonic_ns(),
        }
    }

    /// The best clock here. `earlier` is a look taken before, the longer ago the better the
    /// calibration; it is waited until it is long enough ago. The counter is used only if the kernel trusts it.
    pub fn choose(earlier: Option<Moment>, is_trusted: bool) -> Self {
        match earlier.filter(|_| is_trusted) {
            Some(earlier) => Tsc::calibrate(earlier).map_or(Self::Monotonic, Self::Tsc),
            None => Self::Monotonic,
        }
    }

    /// How far this clock is from `CLOCK_MONOTONIC` now, in nanoseconds: the least of several looks,
    /// any of which may be interrupted between the two clocks.
    pub fn deviation_ns(&self) -> u64 {
        (0..16).map(|_| self.now_ns().abs_diff(monotonic_ns())).min().unwrap_or(0)
    }
}

impl Tsc {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.offset_ns.wrapping_add(ns_of(ticks(), self.ns_per_tick))
    }

    fn calibrate(earlier: Moment) -> Option<Self> {
        while monotonic_ns() < earlier.ns + CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let now = look()?;
        let (ns, ticks) = (now.ns.checked_sub(earlier.ns)?, now.ticks.checked_sub(earlier.ticks)?);
        let ns_per_tick = u64::try_from((u128::from(ns) << 32).checked_div(u128::from(ticks))?).ok()?;
        // A counter below 100 MHz or above 100 GHz is none that was ever built.
        let plausible = (1 << 32) / 100..=(1u64 << 32) * 10;
        plausible.contains(&ns_per_tick).then_some(Self::at(now, ns_per_tick))
    }

    /// A clock that is right at one moment and has this rate.
    fn at(moment: Moment, ns_per_tick: u64) -> Self {
        Self { offset_ns: moment.ns.wrapping_sub(ns_of(moment.ticks, ns_per_tick)), ns_per_tick }
    }
}

/// Nanoseconds of so many ticks, as far as they fit.
#[inline]
fn ns_of(ticks: u64, ns_per_tick: u64) -> u64 {
    ((u128::from(ticks) * u128::from(ns_per_tick)) >> 32) as u64
}

/// Counter and clock together: of several tries the one in which the clock took least, so that
/// the two belong together within some 50 ns. `None` where there is no counter.
pub fn look() -> Option<Moment> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let one = || {
        let before = ticks();
        let ns = monotonic_ns();
        let after = ticks();
        (after.wrapping_sub(before), Moment { ticks: before + after.wrapping_sub(before) / 2, ns })
    };
    (0..16).map(|_| one()).min_by_key(|&(width, _)| width).map(|(_, moment)| moment)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: RDTSC reads a counter and touches no memory. A kernel that forbids it to user space
    // (prctl PR_SET_TSC) does not use it as its own clock source for the vDSO either.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other counters may stand still or change their rate.
    fn is_trusted() -> bool {
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        source.is_ok_and(|source| source.trim() == "tsc")
    }

    #[test]
    fn the_chosen_clock_stays_with_the_kernels() {
        // 10 ppm of 50 ms are 500 ns. The best of several: a busy machine disturbs calibrations and readings alike.
        let deviations = (0..20).map(|_| {
            let clock = MachineClock::choose(look(), is_trusted());
            std::thread::sleep(std::time::Duration::from_millis(50));
            clock.deviation_ns()
        });
        let apart: Vec<u64> = deviations.take_while(|deviation| *deviation >= 20_000).collect();
        assert!(apart.len() < 20, "{apart:?} ns apart");
    }

    // Shows faults: The clock of the latencies stops or is slow
    #[test]
    fn a_counter_with_another_rate_is_found_out() {
        let MachineClock::Tsc(tsc) = MachineClock::choose(look(), is_trusted()) else {
            return println!("skipped: the counter is not used here");
        };
        let now = look().expect("there is a counter");
        let hasty = MachineClock::Tsc(Tsc::at(now, tsc.ns_per_tick / 10 * 11));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(hasty.deviation_ns() >= 4_900_000, "{} ns apart", hasty.deviation_ns());
    }

    #[test]
    fn it_never_goes_backwards() {
        let clock = MachineClock::choose(look(), is_trusted());
        let mut last = 0;
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn an_untrusted_counter_is_not_used() {
        assert_eq!(MachineClock::choose(look(), false), MachineClock::Monotonic);
        assert_eq!(MachineClock::choose(None, true), MachineClock::Monotonic);
    }
}
