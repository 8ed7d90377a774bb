//! What each I/O does.

use crate::rng::Rng;
use crate::stream::percent_threshold;
use model::operation::Operation;

/// Decides what each I/O does; the achieved shares are not corrected towards the wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// All do this.
    Fixed(Operation),
    /// They read or write.
    Transfers(Transfers),
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

impl Mix {
    /// `write_percent` of the I/Os write, the others read.
    pub fn new(write_percent: u32, rng: &mut Rng) -> Self {
        Self(match write_percent {
            0 => Kind::Fixed(Operation::Read),
            100.. => Kind::Fixed(Operation::Write),
            _ => {
                let write_below = percent_threshold(write_percent);
                let mut transfers = Transfers { write_below, latest: Operation::Read };
                transfers.next(false, rng);
                Kind::Transfers(transfers)
            }
        })
    }

    /// True if an I/O may do this.
    pub fn may(&self, operation: Operation) -> bool {
        match self.0 {
            Kind::Fixed(fixed) => fixed == operation,
            Kind::Transfers(_) => true,
        }
    }

    /// What all I/Os do, if it is one thing.
    #[inline]
    pub fn fixed(&self) -> Option<Operation> {
        match self.0 {
            Kind::Fixed(operation) => Some(operation),
            Kind::Transfers(_) => None,
        }
    }

    /// What the next I/O does. One that continues a sequential run does as the one before.
    #[inline]
    pub fn next(&mut self, continues: bool, rng: &mut Rng) -> Operation {
        match &mut self.0 {
            Kind::Fixed(operation) => *operation,
            Kind::Transfers(transfers) => transfers.next(continues, rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept() {
        let mut rng = Rng::new(11);
        for percent in [0, 1, 30, 99, 100] {
            let mut mix = Mix::new(percent, &mut rng);
            let writes = (0..100_000).filter(|_| mix.next(false, &mut rng) == Operation::Write).count() as f64;
            assert!((writes - f64::from(percent) * 1000.0).abs() < 800.0, "{percent}: {writes}");
            assert_eq!((mix.may(Operation::Read), mix.may(Operation::Write)), (percent < 100, percent > 0));
        }
    }

    #[test]
    fn a_sequential_run_keeps_its_direction() {
        let mut rng = Rng::new(2);
        let mut mix = Mix::new(50, &mut rng);
        for _ in 0..100 {
            let operation = mix.next(false, &mut rng);
            assert!((0..10).all(|_| mix.next(true, &mut rng) == operation));
        }
    }
}
