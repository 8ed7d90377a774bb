//! Bands of mean latency for databases.

/// How the guides for SQL Server judge the mean latency of data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBand {
    /// At most 10 ms.
    Ideal,
    /// More than 10 ms, at most 20 ms.
    SomeImpact,
    /// More than 20 ms.
    Impacted,
}

impl LatencyBand {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ideal => "ideal (at most 10 ms)",
            Self::SomeImpact => "some impact (10 to 20 ms)",
            Self::Impacted => "impacted (more than 20 ms)",
        }
    }
}

/// The band of a mean latency in nanoseconds.
pub fn latency_band(mean_ns: f64) -> LatencyBand {
    if mean_ns <= 10e6 {
        LatencyBand::Ideal
    } else if mean_ns <= 20e6 {
        LatencyBand::SomeImpact
    } else {
        LatencyBand::Impacted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_belong_to_the_better_band() {
        for (mean_ns, band) in [
            (0.0, LatencyBand::Ideal),
            (10e6, LatencyBand::Ideal),
            (10e6 + 1.0, LatencyBand::SomeImpact),
            (20e6, LatencyBand::SomeImpact),
            (20e6 + 1.0, LatencyBand::Impacted),
        ] {
            assert_eq!(latency_band(mean_ns), band, "{mean_ns}");
        }
    }
}
