//! Identity of a write among those to a unit.

/// Number of a write to one unit, as in the map: 1 to [`NUMBER_MAX`], then 1 again.
pub type Number = u16;

/// The largest number; the two above are states of the map.
pub const NUMBER_MAX: Number = 0x7FFD;

const NUMBER_BITS: u32 = 15;

/// The longest time that fits, about 17 years.
const TIME_US_MAX: u64 = u64::MAX >> NUMBER_BITS;

/// Number and time of a write to a unit: later writes to the same unit have larger values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(u64);

impl Generation {
    /// The write with this number, made `time_us` microseconds after the run began.
    pub const fn new(number: Number, time_us: u64) -> Self {
        let time_us = if time_us > TIME_US_MAX { TIME_US_MAX } else { time_us };
        Self(time_us << NUMBER_BITS | (number & 0x7FFF) as u64)
    }

    /// From the field of a unit's header.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The field of a unit's header.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The number in the map.
    pub const fn number(self) -> Number {
        (self.0 & 0x7FFF) as Number
    }

    /// Microseconds since the run began.
    pub const fn time_us(self) -> u64 {
        self.0 >> NUMBER_BITS
    }
}

/// The number after `number`.
pub const fn next(number: Number) -> Number {
    if number >= NUMBER_MAX { 1 } else { number + 1 }
}

/// The number of a write to a unit whose last number is not known: unlikely to be one that it had before.
pub const fn first(time_us: u64) -> Number {
    (time_us % NUMBER_MAX as u64) as Number + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_writes_are_larger_even_where_numbers_begin_again() {
        let (before, after) = (Generation::new(NUMBER_MAX, 7), Generation::new(next(NUMBER_MAX), 8));
        assert!(before < after);
        assert_eq!((after.number(), after.time_us()), (1, 8));
        assert_eq!(Generation::from_bits(before.bits()), before);
    }

    #[test]
    fn every_number_is_one_of_a_write() {
        let mut number = first(u64::MAX);
        for time_us in 0..100_000 {
            number = next(number);
            assert!((1..=NUMBER_MAX).contains(&number) && (1..=NUMBER_MAX).contains(&first(time_us)));
        }
    }
}
