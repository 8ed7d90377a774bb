//! When the next I/O may be issued: one absolute schedule per thread and target.
//!
//! The schedule is kept in whole nanoseconds and an exact remainder, so that a rate does not
//! drift however long the run; an I/O that starts late moves nothing behind it.

/// A meter: asked before each I/O, charged when it is issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pacer {
    /// No limit.
    Unlimited,
    /// Evenly spaced starts.
    Throughput(Schedule),
    /// Bursts with pauses.
    Burst(Bursts),
}

/// Starts at whole multiples of a rational interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    whole_ns: u64,
    remainder: u64,
    denominator: u64,
    due_ns: u64,
    carried: u64,
}

/// So many starts at once, then a pause.
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
        let denominator = denominator.max(1);
        Self::Throughput(Schedule {
            whole_ns: numerator / denominator,
            remainder: numerator % denominator,
            denominator,
            due_ns: 0,
            carried: 0,
        })
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
                schedule.advance();
            }
            Self::Burst(bursts) => bursts.resume_ns = now_ns,
        }
    }

    /// The time from which the next I/O may be issued; 0 = at once.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match self {
            Self::Unlimited => 0,
            Self::Throughput(schedule) => schedule.due_ns,
            Self::Burst(bursts) => bursts.resume_ns,
        }
    }

    /// An I/O was issued at `now_ns`.
    #[inline]
    pub fn charge(&mut self, now_ns: u64) {
        match self {
            Self::Unlimited => {}
            Self::Throughput(schedule) => schedule.advance(),
            Self::Burst(bursts) => {
                bursts.left -= 1;
                if bursts.left == 0 {
                    bursts.left = bursts.ios;
                    bursts.resume_ns = now_ns.saturating_add(bursts.pause_ns);
                }
            }
        }
    }

    /// True if there is a limit.
    pub fn is_limited(&self) -> bool {
        *self != Self::Unlimited
    }
}

impl Schedule {
    #[inline]
    fn advance(&mut self) {
        self.due_ns = self.due_ns.saturating_add(self.whole_ns);
        self.carried += self.remainder;
        if self.carried >= self.denominator {
            self.carried -= self.denominator;
            self.due_ns = self.due_ns.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
