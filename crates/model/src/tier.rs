//! Tiers of storage: the media that a target is expected to be on, and those that it is on.

use crate::block_device::{BlockDevice, MediaType};
use crate::environment::{Backing, TargetEnvironment};
use crate::placement::{Placement, UnknownPlace};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Media that a target is expected to be on (`--expect-tier`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// `NVMe` flash.
    Nvme,
    /// Any flash.
    Ssd,
    /// Hard disks.
    Hdd,
}

impl Tier {
    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nvme => "nvme",
            Self::Ssd => "ssd",
            Self::Hdd => "hdd",
        }
    }

    /// True if the media belong to the tier.
    pub const fn accepts(self, media: MediaType) -> bool {
        matches!(
            (self, media),
            (Self::Nvme | Self::Ssd, MediaType::Nvme) | (Self::Ssd, MediaType::Ssd) | (Self::Hdd, MediaType::Hdd)
        )
    }
}

/// The media that a target is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetMedia {
    /// Bytes on each type; 0 = it is unknown how many. Copies count on each disk.
    pub bytes: BTreeMap<MediaType, u64>,
    /// True if it is known that each of these types holds data.
    is_placed: bool,
    /// The reasons why the place of some data is unknown.
    unknown: Vec<String>,
}

/// How a target differs from the tier that it is expected to be on.
#[derive(Clone, Debug, PartialEq)]
pub enum TierMismatch {
    /// Data is on other media: percent of its bytes, as far as that is known.
    Other(Option<f64>),
    /// It is unknown which media hold some of the data.
    Unknown,
}

impl TargetMedia {
    /// By the bytes of a file, or else by the disks below the target.
    pub fn new(environment: Option<&TargetEnvironment>, placement: Option<&Placement>) -> Self {
        match (placement.filter(|placement| placement.placed_bytes > 0), environment) {
            (Some(placement), _) => Self {
                bytes: placement.bytes_by_media(),
                is_placed: true,
                unknown: placement.unknown.iter().map(UnknownPlace::words).collect(),
            },
            (None, Some(environment)) => Self::of_backing(&environment.backing),
            (None, None) => Self::default(),
        }
    }

    fn of_backing(backing: &Backing) -> Self {
        let media = match backing {
            Backing::Memory => vec![MediaType::Memory],
            Backing::Remote { .. } => vec![MediaType::Network],
            _ => backing.devices().into_iter().flat_map(lowest_devices).map(BlockDevice::media_type).collect(),
        };
        let bytes: BTreeMap<MediaType, u64> = media.into_iter().map(|media| (media, 0)).collect();
        Self { is_placed: bytes.len() == 1, bytes, unknown: Vec::new() }
    }

    /// How it differs from a tier; `None` = all of it is there.
    pub fn misplaced(&self, tier: Tier) -> Option<TierMismatch> {
        let is_other = |media: &MediaType| !media.is_opaque() && !tier.accepts(*media);
        let mut media = self.bytes.keys();
        let is_wrong = if self.is_placed { media.any(is_other) } else { !self.bytes.is_empty() && media.all(is_other) };
        if is_wrong {
            let all: u64 = self.bytes.values().sum();
            let other: u64 = self.bytes.iter().filter(|(media, _)| is_other(media)).map(|(_, bytes)| bytes).sum();
            return Some(TierMismatch::Other((all > 0).then(|| other as f64 / all as f64 * 100.0)));
        }
        let is_known = self.bytes.keys().all(|media| tier.accepts(*media)) && self.unknown.is_empty();
        (self.bytes.is_empty() || !is_known).then_some(TierMismatch::Unknown)
    }

    /// `2GiB on nvme, 2GiB on hdd`
    pub fn words(&self) -> String {
        let on = |(media, bytes): (&MediaType, &u64)| match bytes {
            0 => format!("on {}", media.word()),
            bytes => format!("{} on {}", Bytes(*bytes), media.word()),
        };
        let all: Vec<String> = self.bytes.iter().map(on).chain(self.unknown.iter().cloned()).collect();
        if all.is_empty() { "on unknown storage".to_owned() } else { all.join(", ") }
    }
}

/// The devices at the bottom of a stack.
fn lowest_devices(device: &BlockDevice) -> Vec<&BlockDevice> {
    if device.is_disk() { vec![device] } else { device.below.iter().flat_map(lowest_devices).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_device::DeviceKind;
    use crate::placement::DeviceShare;

    fn on(shares: &[(MediaType, u64)], unknown: &[&str]) -> TargetMedia {
        let share = |&(media, bytes)| DeviceShare { media, bytes, is_disk: true, ..DeviceShare::default() };
        let reason = |reason: &&str| UnknownPlace { reason: (*reason).to_owned(), ..UnknownPlace::default() };
        let placement = Placement {
            placed_bytes: shares.iter().map(|(_, bytes)| bytes).sum(),
            shares: shares.iter().map(share).collect(),
            unknown: unknown.iter().map(reason).collect(),
            ..Placement::default()
        };
        TargetMedia::new(None, Some(&placement))
    }

    #[test]
    fn bytes_on_other_media_are_misplaced() {
        let both = on(&[(MediaType::Nvme, 3 << 20), (MediaType::Hdd, 1 << 20)], &[]);
        assert_eq!(both.misplaced(Tier::Nvme), Some(TierMismatch::Other(Some(25.0))));
        assert_eq!(both.misplaced(Tier::Hdd), Some(TierMismatch::Other(Some(75.0))));
        assert_eq!(both.words(), "3MiB on nvme, 1MiB on hdd");
        let flash = on(&[(MediaType::Nvme, 1), (MediaType::Ssd, 1)], &[]);
        assert_eq!(flash.misplaced(Tier::Ssd), None, "NVMe is flash");
        assert_eq!(flash.misplaced(Tier::Nvme), Some(TierMismatch::Other(Some(50.0))));
    }

    #[test]
    fn media_that_nothing_reports_are_unknown() {
        assert_eq!(on(&[(MediaType::Virtual, 1)], &[]).misplaced(Tier::Ssd), Some(TierMismatch::Unknown));
        let cached = on(&[(MediaType::Hdd, 1 << 20)], &["its cache may hold copies"]);
        assert_eq!(cached.misplaced(Tier::Hdd), Some(TierMismatch::Unknown));
        assert_eq!(cached.misplaced(Tier::Nvme), Some(TierMismatch::Other(Some(100.0))));
        assert_eq!(cached.words(), "1MiB on hdd, unknown (its cache may hold copies)");
        assert_eq!(TargetMedia::default().misplaced(Tier::Hdd), Some(TierMismatch::Unknown));
        assert_eq!(TargetMedia::default().words(), "on unknown storage");
    }

    #[test]
    fn a_target_without_bytes_is_on_the_disks_below_it() {
        let disk = |rotational| {
            let mut disk = BlockDevice { kind: DeviceKind::Disk, ..BlockDevice::default() };
            disk.queue.rotational = Some(rotational);
            disk
        };
        let on = |below: Vec<BlockDevice>| {
            let raid = BlockDevice { below, ..BlockDevice::default() };
            let environment =
                TargetEnvironment { backing: Backing::Devices(vec![raid]), ..TargetEnvironment::default() };
            TargetMedia::new(Some(&environment), Some(&Placement::default()))
        };
        assert_eq!(on(vec![disk(true), disk(true)]).misplaced(Tier::Hdd), None);
        assert_eq!(on(vec![disk(true), disk(true)]).misplaced(Tier::Ssd), Some(TierMismatch::Other(None)));
        assert_eq!(on(vec![disk(true), disk(false)]).misplaced(Tier::Hdd), Some(TierMismatch::Unknown));
        assert_eq!(on(vec![disk(true), disk(false)]).misplaced(Tier::Nvme), Some(TierMismatch::Other(None)));
        assert_eq!(on(vec![disk(true)]).words(), "on hdd");
        let memory = TargetEnvironment { backing: Backing::Memory, ..TargetEnvironment::default() };
        assert_eq!(TargetMedia::new(Some(&memory), None).misplaced(Tier::Ssd), Some(TierMismatch::Other(None)));
    }
}
