//! The bands in which guides to SQL Server judge mean latency.

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBand {
    /// At most 10 ms.
    Ideal,
    /// Above 10, at most 20 ms.
    SomeImpact,
    /// Above 20 ms.
    Impacted,
}

impl LatencyBand {
    /// The band of a mean latency in nanoseconds.
    pub fn of(mean_ns: f64) -> Self {
        match mean_ns / 1e6 {
            ms if ms <= 10.0 => Self::Ideal,
            ms if ms <= 20.0 => Self::SomeImpact,
            _ => Self::Impacted,
        }
    }

    /// As tables show it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ideal => "ideal (up to 10 ms)",
            Self::SomeImpact => "some impact (10 to 20 ms)",
            Self::Impacted => "impacted (above 20 ms)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_its_upper_end() {
        for (ms, band) in [
            (0.0, LatencyBand::Ideal),
            (10.0, LatencyBand::Ideal),
            (10.000_1, LatencyBand::SomeImpact),
            (20.0, LatencyBand::SomeImpact),
            (20.1, LatencyBand::Impacted),
        ] {
            assert_eq!(LatencyBand::of(ms * 1e6), band, "{ms} ms");
        }
    }
}
