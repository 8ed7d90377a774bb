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

/// The medium that a device stores its data on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Flash.
    Flash,
    /// A hard disk.
    HardDisk,
    /// One of the two.
    Unknown,
}

impl BandKind {
    /// The limits for a medium: two sets where it decides and is not known.
    pub const fn bands(self, medium: Medium) -> &'static [LatencyBands] {
        const DATA: LatencyBands = LatencyBands { ideal_ms: 10, impact_ms: 20, medium: "" };
        const DISK: LatencyBands = LatencyBands { ideal_ms: 5, impact_ms: 10, medium: "a hard disk" };
        const FLASH: LatencyBands = LatencyBands { ideal_ms: 1, impact_ms: 5, medium: "flash" };
        match (self, medium) {
            (Self::Data, _) => &[DATA],
            (Self::Log, Medium::Flash) => &[FLASH],
            (Self::Log, Medium::HardDisk) => &[DISK],
            (Self::Log, Medium::Unknown) => &[DISK, FLASH],
        }
    }

    /// The latency that is judged.
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
    /// The medium that the limits are for; empty for all.
    pub medium: &'static str,
}

/// Rating of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBand {
    /// Up to the first limit.
    Ideal,
    /// Up to the second limit.
    SomeImpact,
    /// Above both.
    Impacted,
}

impl LatencyBand {
    const fn word(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::SomeImpact => "some impact",
            Self::Impacted => "impacted",
        }
    }
}

impl LatencyBands {
    /// The band of a latency in nanoseconds.
    pub fn classify(self, latency_ns: f64) -> LatencyBand {
        match latency_ns / 1e6 {
            ms if ms <= f64::from(self.ideal_ms) => LatencyBand::Ideal,
            ms if ms <= f64::from(self.impact_ms) => LatencyBand::SomeImpact,
            _ => LatencyBand::Impacted,
        }
    }

    /// As tables show it: `ideal (up to 10 ms)`.
    fn words(self, latency_ns: f64) -> String {
        let Self { ideal_ms, impact_ms, .. } = self;
        let (band, on) = (self.classify(latency_ns), self.on());
        let limits = match band {
            LatencyBand::Ideal => format!("up to {ideal_ms} ms"),
            LatencyBand::SomeImpact => format!("{ideal_ms} to {impact_ms} ms"),
            LatencyBand::Impacted => format!("above {impact_ms} ms"),
        };
        format!("{} ({limits}{on})", band.word())
    }

    /// The upper limit: `up to 10 ms on a hard disk`.
    pub fn upper_limit(self) -> String {
        format!("up to {} ms{}", self.impact_ms, self.on())
    }

    fn on(self) -> String {
        if self.medium.is_empty() { String::new() } else { format!(" on {}", self.medium) }
    }
}

/// The band of a latency in words: `ideal (up to 10 ms)`, or where it depends on what is not known,
/// `ideal for a hard disk, some impact for flash`.
pub fn words(bands: &[LatencyBands], latency_ns: f64) -> String {
    match bands {
        [only] => only.words(latency_ns),
        [first, others @ ..] if others.iter().all(|other| other.classify(latency_ns) == first.classify(latency_ns)) => {
            let media: Vec<&str> = bands.iter().map(|bands| bands.medium).collect();
            format!("{} for {}", first.classify(latency_ns).word(), media.join(" and "))
        }
        _ => {
            let each = |bands: &LatencyBands| format!("{} for {}", bands.classify(latency_ns).word(), bands.medium);
            bands.iter().map(each).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_its_upper_end() {
        let data = BandKind::Data.bands(Medium::HardDisk);
        assert_eq!(data, BandKind::Data.bands(Medium::Flash), "data files have one set of bands");
        for (ms, band, shown) in [
            (0.0, LatencyBand::Ideal, "ideal (up to 10 ms)"),
            (10.0, LatencyBand::Ideal, "ideal (up to 10 ms)"),
            (10.000_1, LatencyBand::SomeImpact, "some impact (10 to 20 ms)"),
            (20.0, LatencyBand::SomeImpact, "some impact (10 to 20 ms)"),
            (20.1, LatencyBand::Impacted, "impacted (above 20 ms)"),
        ] {
            assert_eq!((data[0].classify(ms * 1e6), words(data, ms * 1e6).as_str()), (band, shown), "{ms} ms");
        }
    }

    #[test]
    fn the_log_has_limits_of_its_own_for_flash_and_hard_disks() {
        let words = |medium, ms: f64| words(BandKind::Log.bands(medium), ms * 1e6);
        assert_eq!(words(Medium::Flash, 1.0), "ideal (up to 1 ms on flash)");
        assert_eq!(words(Medium::Flash, 1.1), "some impact (1 to 5 ms on flash)");
        assert_eq!(words(Medium::HardDisk, 5.0), "ideal (up to 5 ms on a hard disk)");
        assert_eq!(words(Medium::HardDisk, 10.1), "impacted (above 10 ms on a hard disk)");
        assert_eq!(words(Medium::Unknown, 0.9), "ideal for a hard disk and flash");
        assert_eq!(words(Medium::Unknown, 3.0), "ideal for a hard disk, some impact for flash");
        assert_eq!(words(Medium::Unknown, 7.0), "some impact for a hard disk, impacted for flash");
    }
}
