//! Series with known distributions, for the tests of intervals and of steadiness.

use hot::rng::Rng;

/// Where a series comes from: the count of each 100 ms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Normal with a deviation of a tenth of the mean; neighbours correlate with `correlation`, those that
    /// are k apart with its k-th power.
    Autoregressive { correlation: f64 },
    /// Slow for a while, then fast for a while: each ends with a fixed chance per 100 ms.
    Bursts { slow_cells: f64, fast_cells: f64 },
}

const MEAN: f64 = 1000.0;
const DEVIATION: f64 = 100.0;
const SLOW: f64 = 100.0;
const NOISE_OF_BURSTS: f64 = 30.0;

impl Source {
    pub(crate) const INDEPENDENT: Self = Self::Autoregressive { correlation: 0.0 };
    pub(crate) const AUTOREGRESSIVE_50: Self = Self::Autoregressive { correlation: 0.5 };
    pub(crate) const AUTOREGRESSIVE_90: Self = Self::Autoregressive { correlation: 0.9 };

    /// All that are alike from start to end.
    pub(crate) const STATIONARY: [Self; 5] = [
        Self::INDEPENDENT,
        Self::AUTOREGRESSIVE_50,
        Self::AUTOREGRESSIVE_90,
        Self::Bursts { slow_cells: 2.0, fast_cells: 20.0 },
        Self::Bursts { slow_cells: 10.0, fast_cells: 30.0 },
    ];

    /// The true mean.
    pub(crate) fn mean(self) -> f64 {
        match self {
            Self::Autoregressive { .. } => MEAN,
            Self::Bursts { slow_cells, fast_cells } => {
                (SLOW * slow_cells + MEAN * fast_cells) / (slow_cells + fast_cells)
            }
        }
    }

    /// This many values, from a start that is like any other moment.
    pub(crate) fn series(self, count: usize, rng: &mut Rng) -> Vec<f64> {
        match self {
            Self::Autoregressive { correlation } => {
                let innovation = (1.0 - correlation * correlation).sqrt();
                let mut state = normal(rng);
                let mut next = || {
                    state = correlation * state + innovation * normal(rng);
                    MEAN + DEVIATION * state
                };
                (0..count).map(|_| next()).collect()
            }
            Self::Bursts { slow_cells, fast_cells } => {
                let mut is_slow = uniform(rng) < slow_cells / (slow_cells + fast_cells);
                let mut next = || {
                    let ends = uniform(rng) < 1.0 / if is_slow { slow_cells } else { fast_cells };
                    is_slow ^= ends;
                    (if is_slow { SLOW } else { MEAN }) + NOISE_OF_BURSTS * normal(rng)
                };
                (0..count).map(|_| next()).collect()
            }
        }
    }
}

/// A device that serves one request at a time (`-o1`), each after an exponential time.
pub(crate) struct Server<'a> {
    /// Length of the measurement.
    pub(crate) seconds: usize,
    /// I/Os per second that it does at a time in seconds.
    pub(crate) rate: &'a dyn Fn(f64) -> f64,
    /// When it goes on, if it stands still at a time.
    pub(crate) stalled_until: &'a dyn Fn(f64) -> Option<f64>,
}

impl Server<'_> {
    /// End and latency of each I/O, in seconds.
    pub(crate) fn ios(&self, rng: &mut Rng) -> Vec<(f64, f64)> {
        let (mut ios, mut now) = (Vec::new(), 0.0);
        loop {
            let mut end = now + exponential(rng) / (self.rate)(now);
            // The rest of an exponential time is one of the same law.
            if let Some(until) = (self.stalled_until)(end) {
                end = until + exponential(rng) / (self.rate)(until);
            }
            if end >= self.seconds as f64 {
                return ios;
            }
            ios.push((end, end - now));
            now = end;
        }
    }
}

/// Between 0 and 1, both excluded.
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Box and Muller's.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * uniform(rng).ln()).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// With mean 1.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -uniform(rng).ln()
}

/// How many of 100 runs meet the condition, the same every time.
pub(crate) fn coverage_percent(runs: u32, mut does: impl FnMut(&mut Rng) -> bool) -> f64 {
    let mut rng = Rng::new(6);
    let count = (0..runs).filter(|_| does(&mut rng)).count();
    count as f64 / f64::from(runs) * 100.0
}
