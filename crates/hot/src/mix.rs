//! The operation of each I/O.

use crate::rng::Rng;
use crate::stream::percent_threshold;
use model::operation::{Operation, Shares};

/// Draws the operation of each I/O; the achieved shares are not corrected towards the requested ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// One operation for all.
    Fixed(Operation),
    /// Reads and writes.
    Transfers(Transfers),
    /// Also discards or write-zeroes.
    Any(Any),
}

/// Reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Transfers {
    write_below: u64,
    latest: Operation,
}

impl Transfers {
    #[inline]
    fn next(&mut self, continues: bool, rng: &mut Rng) -> Operation {
        if !continues {
            let writes = (rng.next_u64() >> 32) < self.write_below;
            self.latest = if writes { Operation::Write } else { Operation::Read };
        }
        self.latest
    }
}

/// All operations: the first draw decides whether one is without data, the second between reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Any {
    discard_below: u64,
    write_zeroes_below: u64,
    write_below: u64,
    latest: Operation,
}

impl Any {
    #[inline(never)]
    fn next(&mut self, continues: bool, rng: &mut Rng) -> Operation {
        if !continues {
            let draw = rng.next_u64() >> 32;
            self.latest = if draw < self.discard_below {
                Operation::Discard
            } else if draw < self.write_zeroes_below {
                Operation::WriteZeroes
            } else if (rng.next_u64() >> 32) < self.write_below {
                Operation::Write
            } else {
                Operation::Read
            };
        }
        self.latest
    }
}

impl Mix {
    /// A mix in these shares.
    pub fn new(shares: Shares, rng: &mut Rng) -> Self {
        let mut done = Operation::ALL.into_iter().filter(|&operation| shares.does(operation));
        if let (Some(only), None) = (done.next(), done.next()) {
            return Self(Kind::Fixed(only));
        }
        let write_below = percent_threshold(shares.write_percent.min(100));
        let mut mix = Self(if shares.transfer_percent() == 100 {
            Kind::Transfers(Transfers { write_below, latest: Operation::Read })
        } else {
            let without_data = shares.discard_percent.saturating_add(shares.write_zeroes_percent).min(100);
            Kind::Any(Any {
                discard_below: percent_threshold(shares.discard_percent.min(100)),
                write_zeroes_below: percent_threshold(without_data),
                write_below,
                latest: Operation::Read,
            })
        });
        // The operation of a run that begins sequentially.
        mix.next(false, rng);
        mix
    }

    /// The operation of all I/Os, if there is only one.
    #[inline]
    pub fn fixed(&self) -> Option<Operation> {
        match self.0 {
            Kind::Fixed(operation) => Some(operation),
            Kind::Transfers(_) | Kind::Any(_) => None,
        }
    }

    /// Operation of the next I/O. One that continues a sequential run has the operation of the one before.
    #[inline]
    pub fn next(&mut self, continues: bool, rng: &mut Rng) -> Operation {
        match &mut self.0 {
            Kind::Fixed(operation) => *operation,
            Kind::Transfers(transfers) => transfers.next(continues, rng),
            Kind::Any(any) => any.next(continues, rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::operation::ByOperation;

    #[test]
    fn shares_are_kept() {
        let mut rng = Rng::new(11);
        for percent in [0, 1, 30, 99, 100] {
            let mut mix = Mix::new(Shares { write_percent: percent, ..Shares::default() }, &mut rng);
            let writes = (0..100_000).filter(|_| mix.next(false, &mut rng) == Operation::Write).count() as f64;
            assert!((writes - f64::from(percent) * 1000.0).abs() < 800.0, "{percent}: {writes}");
        }
    }

    #[test]
    fn operations_without_data_have_their_shares_of_all_and_writes_theirs_of_the_others() {
        const DRAWS: u32 = 1_000_000;
        let mut rng = Rng::new(3);
        for (discard_percent, write_zeroes_percent, write_percent) in
            [(10, 30, 50), (5, 0, 0), (0, 40, 100), (60, 40, 70), (1, 1, 1)]
        {
            let shares = Shares { discard_percent, write_zeroes_percent, write_percent };
            let mut mix = Mix::new(shares, &mut rng);
            let mut seen = ByOperation([0_u32; Operation::COUNT]);
            for _ in 0..DRAWS {
                seen[mix.next(false, &mut rng)] += 1;
            }
            for operation in Operation::ALL {
                let (expected, count) = (shares.expected(operation) * f64::from(DRAWS), f64::from(seen[operation]));
                // Five standard deviations of a binomial count.
                assert!((count - expected).abs() <= 5.0 * expected.sqrt(), "{shares:?}: {seen:?}");
            }
        }
    }

    #[test]
    fn one_kind_alone_is_not_drawn() {
        let mut rng = Rng::new(4);
        let only = |shares| Mix::new(shares, &mut Rng::new(4)).fixed();
        assert_eq!(only(Shares { discard_percent: 100, ..Shares::default() }), Some(Operation::Discard));
        let zeroes = Shares { write_zeroes_percent: 100, write_percent: 50, ..Shares::default() };
        assert_eq!(only(zeroes), Some(Operation::WriteZeroes));
        Mix::new(zeroes, &mut rng);
        assert_eq!(rng.next_u64(), Rng::new(4).next_u64());
    }

    #[test]
    fn a_sequential_run_keeps_its_direction() {
        let mut rng = Rng::new(2);
        for discard_percent in [0, 50] {
            let mut mix = Mix::new(Shares { write_percent: 50, discard_percent, ..Shares::default() }, &mut rng);
            for _ in 0..100 {
                let operation = mix.next(false, &mut rng);
                assert!((0..10).all(|_| mix.next(true, &mut rng) == operation));
            }
        }
    }
}
