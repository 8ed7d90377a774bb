//! The random generator: xoshiro256++ (Blackman and Vigna, <https://prng.di.unimi.it/>).
//!
//! Written here and not taken from a crate because the same seed must mean the same sequence of
//! I/Os for years; the tests compare it with `rand_xoshiro`.

/// The last step of splitmix64: a permutation of 64 bits whose result looks random.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One generator. Streams of different threads are 2^128 draws apart ([`Rng::stream`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator for `seed`, its state filled by splitmix64 as the authors advise.
    pub fn new(seed: u64) -> Self {
        let mut filler = seed;
        let mut next = || {
            filler = filler.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix(filler)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    /// The generator for `seed`, jumped `stream` times: threads never share numbers.
    pub fn stream(seed: u64, stream: u32) -> Self {
        Streams::default().generator(seed, stream)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`, by multiplication and shift: no division, and a bias of at most
    /// `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        scale(self.next_u64(), bound)
    }

    /// Moves 2^128 draws ahead.
    fn jump(&mut self) {
        const JUMP: [u64; 4] =
            [0x180E_C6D3_3CFD_0ABA, 0xD5A6_1266_F0C9_392C, 0xA958_2618_E03F_C9AA, 0x39AB_DC45_29B1_661C];
        let mut sum = [0u64; 4];
        for word in JUMP {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    for (total, part) in sum.iter_mut().zip(self.state) {
                        *total ^= part;
                    }
                }
                self.next_u64();
            }
        }
        self.state = sum;
    }
}

/// 64 random bits as a number below `bound`.
#[inline]
pub fn scale(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// The generators of many threads. Each is reached from the one before: a jump costs as much as 256 draws, and one
/// thread after the other would begin at the first.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: u64,
    stream: u32,
    last: Rng,
}

impl Default for Streams {
    fn default() -> Self {
        Self { seed: 0, stream: 0, last: Rng::new(0) }
    }
}

impl Streams {
    /// As [`Rng::stream`]; cheap if the seed is that of the last call and the stream not below it.
    pub fn generator(&mut self, seed: u64, stream: u32) -> Rng {
        if seed != self.seed || stream < self.stream {
            *self = Self { seed, stream: 0, last: Rng::new(seed) };
        }
        for _ in self.stream..stream {
            self.last.jump();
        }
        self.stream = stream;
        self.last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

    #[test]
    fn draws_are_those_of_the_reference() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut ours = Rng::new(seed);
            let mut reference = Xoshiro256PlusPlus::seed_from_u64(seed);
            for _ in 0..1000 {
                assert_eq!(ours.next_u64(), reference.next_u64());
            }
        }
    }

    #[test]
    fn streams_are_jumps_of_the_reference() {
        let mut reference = Xoshiro256PlusPlus::seed_from_u64(7);
        reference.jump();
        reference.jump();
        let mut ours = Rng::stream(7, 2);
        assert_eq!(ours.next_u64(), reference.next_u64());
    }

    #[test]
    fn generators_are_the_same_in_any_order() {
        let mut streams = Streams::default();
        for (seed, stream) in [(0, 1), (0, 1), (0, 5), (7, 5), (7, 2), (7, 3), (0, 0)] {
            let mut reference = Rng::new(seed);
            (0..stream).for_each(|_| reference.jump());
            assert_eq!(streams.generator(seed, stream), reference, "{seed}, {stream}");
        }
    }

    #[test]
    fn bounded_draws_are_uniform_and_reach_both_ends() {
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[rng.below(10) as usize] += 1;
        }
        // Standard deviation of each cell is 95.
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(1), 0);
    }
}
