//! The bands in which guides to SQL Server judge latencies.

use serde::{Deserialize, Serialize};

/// Which latency is judged, and by which limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BandKind {
    /// Mean latency of I/Os of data files: the bands of SQL Server's guides.
    Data,
    /// Time of a commit: a write to the log that is durable when it ends, or a write and the flush after it.
    Log,
}

impl BandKind {
    /// The limits on devices that the kernel reports as rotational, or on others.
    pub const fn bands(self, is_rotational: bool) -> LatencyBands {
        match (self, is_rotational) {
            (Self::Data, _) => LatencyBands { ideal_ms: 10, impact_ms: 20, medium: "" },
            (Self::Log, false) => LatencyBands { ideal_ms: 1, impact_ms: 5, medium: " on flash" },
            (Self::Log, true) => LatencyBands { ideal_ms: 5, impact_ms: 10, medium: " on a disk" },
        }
    }

    /// What is judged.
    pub const fn figure(self) -> &'static str {
        match self {
            Self::Data => "mean latency",
            Self::Log => "commit",
        }
    }
}

/// The limits of bands, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyBands {
    /// Up to here it is ideal.
    pub ideal_ms: u32,
    /// Up to here it has some impact.
    pub impact_ms: u32,
    /// For which medium the limits are, with a blank before it; empty for all.
    pub medium: &'static str,
}

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBand {
    /// Ideal.
    Ideal,
    /// Some impact.
    SomeImpact,
    /// Impacted.
    Impacted,
}

impl LatencyBands {
    /// The band of a latency in nanoseconds.
    pub fn of(self, latency_ns: f64) -> LatencyBand {
        match latency_ns / 1e6 {
            ms if ms <= f64::from(self.ideal_ms) => LatencyBand::Ideal,
            ms if ms <= f64::from(self.impact_ms) => LatencyBand::SomeImpact,
            _ => LatencyBand::Impacted,
        }
    }

    /// As tables show it: `ideal (up to 10 ms)`.
    pub fn words(self, latency_ns: f64) -> String {
        let Self { ideal_ms, impact_ms, medium } = self;
        match self.of(latency_ns) {
            LatencyBand::Ideal => format!("ideal (up to {ideal_ms} ms{medium})"),
            LatencyBand::SomeImpact => format!("some impact ({ideal_ms} to {impact_ms} ms{medium})"),
            LatencyBand::Impacted => format!("impacted (above {impact_ms} ms{medium})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_its_upper_end() {
        let data = BandKind::Data.bands(true);
        assert_eq!(data, BandKind::Data.bands(false), "data files have one set of bands");
        for (ms, band, words) in [
            (0.0, LatencyBand::Ideal, "ideal (up to 10 ms)"),
            (10.0, LatencyBand::Ideal, "ideal (up to 10 ms)"),
            (10.000_1, LatencyBand::SomeImpact, "some impact (10 to 20 ms)"),
            (20.0, LatencyBand::SomeImpact, "some impact (10 to 20 ms)"),
            (20.1, LatencyBand::Impacted, "impacted (above 20 ms)"),
        ] {
            assert_eq!((data.of(ms * 1e6), data.words(ms * 1e6).as_str()), (band, words), "{ms} ms");
        }
    }

    #[test]
    fn the_log_has_limits_of_its_own_for_flash_and_disks() {
        let words = |is_rotational, ms: f64| BandKind::Log.bands(is_rotational).words(ms * 1e6);
        assert_eq!(words(false, 1.0), "ideal (up to 1 ms on flash)");
        assert_eq!(words(false, 1.1), "some impact (1 to 5 ms on flash)");
        assert_eq!(words(true, 5.0), "ideal (up to 5 ms on a disk)");
        assert_eq!(words(true, 10.1), "impacted (above 10 ms on a disk)");
    }
}
