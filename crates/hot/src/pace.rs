//! Schedule of the starts of I/Os: one absolute schedule per thread and target.
//!
//! The schedule is kept in whole nanoseconds and an exact remainder, so that a rate does not drift however long the
//! run; an I/O that starts late delays none after it.

use crate::rate_curve::Curve;
use crate::rng::Rng;

/// A pacer: queried before each I/O, charged when it is issued.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacer {
    /// No limit.
    Unlimited,
    /// Evenly spaced starts.
    Throughput(Schedule),
    /// Starts spaced by the bytes before them.
    Bytes(ByteSchedule),
    /// Starts at random, independent times.
    Poisson(Arrivals),
    /// Starts at a rate that changes with time.
    Varying(Varying),
    /// Bursts with pauses.
    Burst(Bursts),
}

/// Starts at whole multiples of a rational interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    first: Step,
    interval: Step,
    denominator: u64,
    due_ns: u64,
    carried: u64,
}

/// Starts of I/Os of several sizes at a limited throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteSchedule {
    schedule: Schedule,
    /// By size.
    steps: Box<[Step]>,
}

/// A distance in time: whole nanoseconds, and a rest in parts of the schedule's denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    whole_ns: u64,
    remainder: u64,
}

/// Starts of a Poisson process: the gaps are independent and exponentially distributed.
///
/// Draws come from a generator of its own, so that the starts are a function of the seed alone,
/// whatever the I/Os do.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    mean_ns: f64,
    rng: Rng,
    due_ns: u64,
    /// Fraction of `due_ns`, below one nanosecond.
    fraction_ns: f64,
}

/// Starts at a rate that changes with time: each follows from its number among those of all threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    curve: Curve,
    starts_before: f64,
    first: f64,
    every: f64,
    /// `None` = every `every`-th start of the curve; otherwise starts are random.
    rng: Option<Rng>,
    number: f64,
    begun_ns: u64,
    due_ns: u64,
}

/// A number of starts at once, then a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bursts {
    ios: u32,
    pause_ns: u64,
    left: u32,
    resume_ns: u64,
}

impl Pacer {
    /// The k-th start (k from 1) no earlier than k × `numerator` / `denominator` nanoseconds after
    /// the start signal.
    pub fn throughput(numerator: u64, denominator: u64) -> Self {
        Self::schedule(numerator, numerator, denominator)
    }

    /// The k-th start (k from 0) no earlier than (`first` + k × `interval`) / `denominator`
    /// nanoseconds after the start signal.
    pub fn schedule(first: u64, interval: u64, denominator: u64) -> Self {
        let denominator = denominator.max(1);
        let step = |numerator| Step { whole_ns: numerator / denominator, remainder: numerator % denominator };
        Self::Throughput(Schedule { first: step(first), interval: step(interval), denominator, due_ns: 0, carried: 0 })
    }

    /// The first start with the start signal, each other one no earlier than all bytes before it take at `numerator` /
    /// `denominator` nanoseconds each; `sizes` are those that I/Os may have.
    pub fn bytes(sizes: &[u32], numerator: u64, denominator: u64) -> Self {
        let denominator = denominator.max(1);
        let step = |&bytes: &u32| {
            let ns = u128::from(bytes) * u128::from(numerator);
            let (whole, remainder) = (ns / u128::from(denominator), ns % u128::from(denominator));
            Step { whole_ns: u64::try_from(whole).unwrap_or(u64::MAX), remainder: remainder as u64 }
        };
        let none = Step { whole_ns: 0, remainder: 0 };
        let schedule = Schedule { first: none, interval: none, denominator, due_ns: 0, carried: 0 };
        Self::Bytes(ByteSchedule { schedule, steps: sizes.iter().map(step).collect() })
    }

    /// Starts of a Poisson process with a mean gap of `numerator` / `denominator` nanoseconds.
    pub fn poisson(numerator: u64, denominator: u64, rng: Rng) -> Self {
        let mean_ns = numerator as f64 / denominator.max(1) as f64;
        Self::Poisson(Arrivals { mean_ns, rng, due_ns: 0, fraction_ns: 0.0 })
    }

    /// Of the starts of a curve the one with the number `first` (from 1) and every `every`-th after it; with a
    /// generator they are random, at the same mean rate.
    pub fn varying(curve: Curve, first: u32, every: u32, rng: Option<Rng>) -> Self {
        let starts_before = curve.starts_before();
        let (first, every) = (f64::from(first), f64::from(every));
        Self::Varying(Varying { curve, starts_before, first, every, rng, number: 0.0, begun_ns: 0, due_ns: 0 })
    }

    /// `ios` starts, then none for `pause_ns`.
    pub fn burst(ios: u32, pause_ns: u64) -> Self {
        let ios = ios.max(1);
        Self::Burst(Bursts { ios, pause_ns, left: ios, resume_ns: 0 })
    }

    /// The start signal was given: the schedule counts from `now_ns`.
    pub fn start(&mut self, now_ns: u64) {
        match self {
            Self::Unlimited => {}
            Self::Throughput(schedule) => {
                schedule.due_ns = now_ns;
                schedule.carried = 0;
                schedule.advance(schedule.first);
            }
            Self::Bytes(bytes) => {
                bytes.schedule.due_ns = now_ns;
                bytes.schedule.carried = 0;
            }
            Self::Poisson(arrivals) => {
                arrivals.due_ns = now_ns;
                arrivals.fraction_ns = 0.0;
                arrivals.advance();
            }
            Self::Varying(varying) => varying.start(now_ns),
            Self::Burst(bursts) => bursts.resume_ns = now_ns,
        }
    }

    /// The time from which the next I/O may be issued; 0 = at once.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match self {
            Self::Unlimited => 0,
            Self::Throughput(schedule) => schedule.due_ns,
            Self::Bytes(bytes) => bytes.schedule.due_ns,
            Self::Poisson(arrivals) => arrivals.due_ns,
            Self::Varying(varying) => varying.due_ns,
            Self::Burst(bursts) => bursts.resume_ns,
        }
    }

    /// An I/O of the size with this index was issued at `now_ns`.
    #[inline]
    pub fn charge_size(&mut self, now_ns: u64, size: u8) {
        match self {
            Self::Bytes(bytes) => bytes.schedule.advance(bytes.steps[usize::from(size)]),
            _ => self.charge(now_ns),
        }
    }

    /// An I/O was issued at `now_ns`.
    #[inline]
    pub fn charge(&mut self, now_ns: u64) {
        match self {
            Self::Unlimited | Self::Bytes(_) => {}
            Self::Throughput(schedule) => schedule.advance(schedule.interval),
            Self::Poisson(arrivals) => arrivals.advance(),
            Self::Varying(varying) => varying.advance(),
            Self::Burst(bursts) => {
                bursts.left -= 1;
                if bursts.left == 0 {
                    bursts.left = bursts.ios;
                    bursts.resume_ns = now_ns.saturating_add(bursts.pause_ns);
                }
            }
        }
    }

    /// Skips the starts before `end_ns` as if they had been made; returns their number. Bursts, which depend on
    /// completions, have none.
    pub fn pass(&mut self, end_ns: u64) -> u64 {
        match self {
            Self::Unlimited | Self::Bytes(_) | Self::Burst(_) => 0,
            Self::Throughput(schedule) => schedule.pass(end_ns),
            Self::Varying(varying) => {
                let mut passed = 0;
                while varying.due_ns < end_ns {
                    varying.advance();
                    passed += 1;
                }
                passed
            }
            Self::Poisson(arrivals) => {
                let mut passed = 0;
                while arrivals.due_ns < end_ns {
                    arrivals.advance();
                    passed += 1;
                }
                passed
            }
        }
    }

    /// True if there is a limit.
    pub fn is_limited(&self) -> bool {
        !matches!(self, Self::Unlimited)
    }
}

impl Schedule {
    /// In one step, however many there are.
    fn pass(&mut self, end_ns: u64) -> u64 {
        let Some(distance_ns) = end_ns.checked_sub(self.due_ns).filter(|&distance_ns| distance_ns > 0) else {
            return 0;
        };
        let denominator = u128::from(self.denominator);
        let interval = u128::from(self.interval.whole_ns) * denominator + u128::from(self.interval.remainder);
        let carried = u128::from(self.carried);
        // The k-th start from here comes floor((carried + k × interval) / denominator) later.
        let passed = (u128::from(distance_ns) * denominator - carried).div_ceil(interval.max(1));
        let sum = carried + passed * interval;
        self.due_ns = self.due_ns.saturating_add(u64::try_from(sum / denominator).unwrap_or(u64::MAX));
        self.carried = (sum % denominator) as u64;
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    #[inline]
    fn advance(&mut self, step: Step) {
        self.due_ns = self.due_ns.saturating_add(step.whole_ns);
        self.carried += step.remainder;
        if self.carried >= self.denominator {
            self.carried -= self.denominator;
            self.due_ns = self.due_ns.saturating_add(1);
        }
    }
}

impl Varying {
    fn start(&mut self, now_ns: u64) {
        self.begun_ns = now_ns;
        self.number = 0.0;
        let first = self.rng.as_mut().map_or(self.first, |rng| exponential(rng) * self.every);
        self.go_on(first);
    }

    #[inline]
    fn advance(&mut self) {
        let step = self.rng.as_mut().map_or(1.0, exponential) * self.every;
        self.go_on(step);
    }

    #[inline]
    fn go_on(&mut self, step: f64) {
        self.number += step;
        self.due_ns = self.begun_ns.saturating_add(self.curve.due_ns(self.number, self.starts_before));
    }
}

/// A number with an exponential distribution and the mean 1, by inverse transform: -ln(u) for u uniform in (0, 1]
/// (Devroye, Non-Uniform Random Variate Generation, II.2.1, <https://luc.devroye.org/rnbookindex.html>).
fn exponential(rng: &mut Rng) -> f64 {
    // 53 random bits, the precision of a double; never 0, whose logarithm is infinite.
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
    -uniform.ln()
}

impl Arrivals {
    /// One gap.
    fn advance(&mut self) {
        let gap_ns = self.fraction_ns + exponential(&mut self.rng) * self.mean_ns;
        let whole_ns = gap_ns.floor();
        self.fraction_ns = gap_ns - whole_ns;
        self.due_ns = self.due_ns.saturating_add(whole_ns as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::RateCurve;

    #[test]
    fn bytes_of_several_sizes_are_paced_exactly() {
        // 3 bytes per ns / 7: 2^32 - 1 and 512 bytes alternately.
        let mut pacer = Pacer::bytes(&[512, u32::MAX], 7, 3);
        pacer.start(1000);
        let mut bytes = 0_u128;
        for turn in 0..10_001_u64 {
            assert_eq!(u128::from(pacer.due_ns()), 1000 + bytes * 7 / 3, "turn {turn}");
            let size = (turn % 2) as u8;
            pacer.charge_size(0, size);
            bytes += if size == 0 { 512 } else { u128::from(u32::MAX) };
        }
        assert!(pacer.is_limited());
    }

    #[test]
    fn a_rate_never_drifts() {
        // 7 per second: 142,857,142 6/7 ns each.
        let mut pacer = Pacer::throughput(1_000_000_000, 7);
        pacer.start(1000);
        for k in 1..=700_000u64 {
            let exact = u128::from(k) * 1_000_000_000 / 7;
            assert_eq!(u128::from(pacer.due_ns()), 1000 + exact, "start {k}");
            pacer.charge(5);
        }
    }

    #[test]
    fn a_late_start_moves_nothing_behind_it() {
        let mut pacer = Pacer::throughput(100, 1);
        pacer.start(0);
        pacer.charge(1_000_000);
        assert_eq!(pacer.due_ns(), 200);
    }

    #[test]
    fn bursts_pause() {
        let mut pacer = Pacer::burst(2, 1000);
        pacer.start(50);
        assert_eq!(pacer.due_ns(), 50);
        pacer.charge(60);
        assert_eq!(pacer.due_ns(), 50);
        pacer.charge(70);
        assert_eq!(pacer.due_ns(), 1070);
        pacer.charge(1070);
        assert_eq!(pacer.due_ns(), 1070);
    }

    #[test]
    fn no_limit_is_always_due() {
        let mut pacer = Pacer::Unlimited;
        pacer.start(99);
        pacer.charge(100);
        assert_eq!(pacer.due_ns(), 0);
        assert!(!pacer.is_limited());
        assert!(Pacer::burst(0, 1).is_limited());
    }

    #[test]
    fn a_phase_moves_every_start_alike() {
        // 3 rows at 7 per second together; the second of them.
        let mut pacer = Pacer::schedule(2_000_000_000, 3_000_000_000, 7);
        pacer.start(1000);
        for k in 0..100_000u64 {
            let exact = u128::from(2 + 3 * k) * 1_000_000_000 / 7;
            assert_eq!(u128::from(pacer.due_ns()), 1000 + exact, "start {k}");
            pacer.charge(5);
        }
    }

    /// The first starts of a Poisson process with a mean gap of `mean_ns`.
    fn arrivals(mean_ns: u64, seed: u64, count: usize) -> Vec<u64> {
        let mut pacer = Pacer::poisson(mean_ns, 1, Rng::new(seed));
        pacer.start(0);
        let mut next = || {
            let due_ns = pacer.due_ns();
            pacer.charge(due_ns);
            due_ns
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn as_many_random_starts_come_as_the_rate_means() {
        for (mean_ns, seed) in [(100_000_u64, 1), (3_333, 2), (2_000, 3), (7, 4), (1, 5)] {
            // 10^6 are expected; the deviation of a Poisson count is the root of its mean.
            let expected = 1_000_000_u64;
            let end_ns = expected * mean_ns;
            let count = arrivals(mean_ns, seed, 1_010_000).partition_point(|&due_ns| due_ns <= end_ns) as u64;
            assert!(count.abs_diff(expected) <= 4 * 1000, "{count} of {expected}, mean gap {mean_ns}");
        }
    }

    #[test]
    fn gaps_of_random_starts_are_exponential() {
        // Kolmogorov-Smirnov: the largest distance of the empirical from the exponential law.
        // 1.95 / sqrt(n) is exceeded with a chance of 0.1 %; gaps in whole nanoseconds add less than
        // 1 / mean.
        const MEAN_NS: u64 = 1_000_000;
        for seed in 1..=5 {
            let starts = arrivals(MEAN_NS, seed, 100_001);
            let mut gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_unstable();
            let n = gaps.len() as f64;
            let distance = |(index, &gap): (usize, &u64)| {
                let law = 1.0 - (-(gap as f64) / MEAN_NS as f64).exp();
                (law - index as f64 / n).abs().max((law - (index + 1) as f64 / n).abs())
            };
            let largest = gaps.iter().enumerate().map(distance).fold(0.0, f64::max);
            assert!(largest <= 1.95 / n.sqrt() + 1.0 / MEAN_NS as f64, "seed {seed}: {largest}");
        }
    }

    #[test]
    fn random_starts_follow_from_the_seed_alone() {
        let mut late = Pacer::poisson(1000, 1, Rng::new(9));
        late.start(0);
        for due_ns in arrivals(1000, 9, 1000) {
            assert_eq!(late.due_ns(), due_ns);
            late.charge(due_ns + 1_000_000);
        }
    }

    /// From 1 to 3 starts per microsecond over 1 ms, after 100 us; the second of two rows.
    fn ramp(rng: Option<Rng>) -> Pacer {
        let (from_iops, to_iops, before_ns, over_ns) = (1_000_000, 3_000_000, 100_000, 1_000_000);
        Pacer::varying(Curve::new(RateCurve::Ramp { from_iops, to_iops, before_ns, over_ns }), 2, 2, rng)
    }

    #[test]
    fn random_starts_follow_a_curve_too() {
        let starts_until = |seed: Option<u64>, end_ns: u64| {
            let mut pacer = ramp(seed.map(Rng::new));
            pacer.start(50);
            pacer.pass(50 + end_ns)
        };
        // 50 before, 1,000 over the ramp, of which 312.5 in its first half.
        assert_eq!([100_000, 600_000, 1_100_001].map(|end_ns| starts_until(None, end_ns)), [49, 424, 1050]);
        let sum = |end_ns| (0..200).map(|seed| starts_until(Some(seed), end_ns)).sum::<u64>() as f64 / 200.0;
        for (end_ns, mean) in [(100_000, 50.0), (600_000, 425.0), (1_100_000, 1050.0_f64)] {
            // Four deviations of the mean of 200 Poisson counts.
            assert!((sum(end_ns) - mean).abs() < 4.0 * (mean / 200.0).sqrt(), "{} {mean}", sum(end_ns));
        }
    }

    #[test]
    fn starts_are_passed_over_as_if_they_were_made() {
        for pacer in [
            Pacer::schedule(3, 10, 7),
            Pacer::schedule(5_000, 123_456, 1),
            Pacer::poisson(100, 3, Rng::new(1)),
            ramp(None),
        ] {
            let (mut stepped, mut passed) = (pacer.clone(), pacer);
            stepped.start(1000);
            passed.start(1000);
            for end_ns in [0, 1000, 1001, 1002, 5_000, 200_000, 200_000, 1_000_000] {
                let mut steps = 0;
                while stepped.due_ns() < end_ns {
                    stepped.charge(0);
                    steps += 1;
                }
                assert_eq!(passed.pass(end_ns), steps, "to {end_ns}");
                assert_eq!(passed, stepped, "to {end_ns}");
            }
        }
        assert_eq!(Pacer::burst(1, 1).pass(1000), 0);
    }
}
