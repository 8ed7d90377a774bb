//! Volumes and rates.

use model::figures::Figures;

/// Bytes and I/Os before they are divided by a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) bytes: u64,
    pub(crate) ios: u64,
}

impl Volume {
    pub(crate) fn from_figures(figures: &Figures) -> Self {
        Self { bytes: figures.bytes, ios: figures.ios }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ios = self.ios.saturating_add(other.ios);
    }

    /// The figures that need no more than volume and time.
    pub(crate) fn figures(self, elapsed_ns: u64) -> Figures {
        Figures {
            bytes: self.bytes,
            ios: self.ios,
            bytes_per_s: per_second(self.bytes, elapsed_ns),
            iops: per_second(self.ios, elapsed_ns),
            latency: None,
            iops_std_dev: None,
        }
    }
}

/// A rate over the real elapsed time; 0 if no time passed, never infinite.
pub fn per_second(amount: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { amount as f64 / (elapsed_ns as f64 / 1e9) }
}

/// The amount that a rate comes from, to the nearest whole: for results that contain the rate only.
pub fn amount(per_second: f64, elapsed_ns: u64) -> u64 {
    (per_second * (elapsed_ns as f64 / 1e9)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= b.abs() * 1e-12
    }

    #[test]
    fn rates_divide_by_the_real_time() {
        let figures = Volume { bytes: 365_789_184, ios: 44_652 }.figures(10_013_000_000);
        assert_eq!(format!("{:.2} {:.2}", figures.bytes_per_s / 1_048_576.0, figures.iops), "34.84 4459.40");
    }

    #[test]
    fn an_amount_is_the_rate_over_the_time() {
        assert_eq!(amount(per_second(61_250, 10_013_000_000), 10_013_000_000), 61_250);
        assert_eq!((amount(0.4, 1_000_000_000), amount(f64::NAN, 1)), (0, 0));
    }

    #[test]
    fn no_time_gives_no_rate() {
        let figures = Volume { bytes: 1, ios: 1 }.figures(0);
        assert!(figures.bytes_per_s == 0.0 && figures.iops == 0.0);
    }

    #[test]
    fn a_million_million_ios_of_nine_tebibytes_do_not_overflow() {
        let volume = Volume { bytes: 9 << 40, ios: 1_000_000_000_000 };
        let figures = volume.figures(1_000_000_000_000);
        assert!(close(figures.bytes_per_s / 1_048_576.0, 9.0 * 1024.0 * 1024.0 / 1000.0));
        assert!(close(figures.iops, 1e9));
        let mut sum = Volume { bytes: u64::MAX - 1, ios: 0 };
        sum.add(volume);
        assert_eq!(sum.bytes, u64::MAX);
    }
}
