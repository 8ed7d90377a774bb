//! Read or write.

use crate::rng::Rng;
use crate::stream::percent_threshold;

/// Decides the direction of each I/O; the achieved share is not corrected towards the wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    write_percent: u32,
    write_below: u64,
    last_was_write: bool,
}

impl Mix {
    /// `write_percent` of the I/Os write.
    pub fn new(write_percent: u32, rng: &mut Rng) -> Self {
        let mut mix = Self { write_percent, write_below: percent_threshold(write_percent), last_was_write: false };
        mix.last_was_write = mix.next_is_write(false, rng);
        mix
    }

    /// True if any I/O may be a write.
    pub fn may_write(&self) -> bool {
        self.write_percent > 0
    }

    /// The direction of all I/Os, if it is one.
    #[inline]
    pub fn fixed(&self) -> Option<bool> {
        match self.write_percent {
            0 => Some(false),
            100 => Some(true),
            _ => None,
        }
    }

    /// True if the next I/O writes. One that continues a sequential run does as the one before.
    #[inline]
    pub fn next_is_write(&mut self, continues: bool, rng: &mut Rng) -> bool {
        self.fixed().unwrap_or_else(|| {
            if !continues {
                self.last_was_write = (rng.next_u64() >> 32) < self.write_below;
            }
            self.last_was_write
        })
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
            let writes = (0..100_000).filter(|_| mix.next_is_write(false, &mut rng)).count() as f64;
            assert!((writes - f64::from(percent) * 1000.0).abs() < 800.0, "{percent}: {writes}");
        }
    }

    #[test]
    fn a_sequential_run_keeps_its_direction() {
        let mut rng = Rng::new(2);
        let mut mix = Mix::new(50, &mut rng);
        for _ in 0..100 {
            let direction = mix.next_is_write(false, &mut rng);
            assert!((0..10).all(|_| mix.next_is_write(true, &mut rng) == direction));
        }
    }
}
