//! Where the bytes of a file lie: on which of the devices below its file system.

use crate::block_device::MediaType;
use crate::units::{Bytes, counted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The bytes of a file, on each of the devices below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placement {
    /// Bytes that have a place on a device. Holes, and data that is not yet written back, have none.
    pub placed_bytes: u64,
    /// How many of these are on the device in another form, compressed or encrypted: they count with their length in the
    /// file. How much of the device they take is not reported.
    #[serde(default)]
    pub encoded_bytes: u64,
    /// Extents that the file system reports.
    pub extents: u64,
    /// The devices, each before those that it stands on.
    pub shares: Vec<DeviceShare>,
    /// Bytes whose location on the devices below is unknown.
    pub unknown: Vec<UnknownPlace>,
}

/// The bytes of a file that lie on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceShare {
    /// The kernel's name.
    pub device: String,
    /// Bytes of the file on it. Copies on several devices count on each of them.
    pub bytes: u64,
    /// True if the bytes are taken to be spread evenly over stripes, not looked up.
    pub is_even: bool,
    /// True if it stands on no other device.
    pub is_disk: bool,
    /// The type of the media of a disk.
    #[serde(default)]
    pub media: MediaType,
}

/// Where a piece of a target begins on a device below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DevicePlace {
    /// The kernel's name.
    pub device: String,
    /// Offset on the device in bytes.
    pub offset_bytes: u64,
    /// True if it stands on no other device.
    pub is_disk: bool,
}

/// Bytes of a file whose location on the devices below is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownPlace {
    /// The device below which it is; empty = below the file system.
    pub below: String,
    /// How many.
    pub bytes: u64,
    /// Why.
    pub reason: String,
}

impl Placement {
    /// The part of the file that lies on a device, in percent.
    pub fn percent(&self, share: &DeviceShare) -> f64 {
        if self.placed_bytes == 0 { 0.0 } else { share.bytes as f64 / self.placed_bytes as f64 * 100.0 }
    }

    /// Bytes on each type of media. Copies on several disks count on each of them.
    pub fn bytes_by_media(&self) -> BTreeMap<MediaType, u64> {
        let mut bytes = BTreeMap::new();
        for share in self.shares.iter().filter(|share| share.is_disk) {
            let of_media: &mut u64 = bytes.entry(share.media).or_default();
            *of_media = of_media.saturating_add(share.bytes);
        }
        bytes
    }

    /// `1GiB in 3 extents, 512MiB of it compressed or encrypted`
    pub fn size_in_words(&self) -> String {
        let encoded = match self.encoded_bytes {
            0 => String::new(),
            all if all == self.placed_bytes => ", compressed or encrypted".to_owned(),
            some => format!(", {} of it compressed or encrypted", Bytes(some)),
        };
        format!("{} in {}{encoded}", Bytes(self.placed_bytes), counted(self.extents, "extent"))
    }

    /// In one line: `vda 100 % (1GiB in 3 extents)`.
    pub fn words(&self) -> String {
        let disks = self.shares.iter().filter(|share| share.is_disk);
        let about = |share: &DeviceShare| if share.is_even { "about " } else { "" };
        let disks = disks.map(|share| format!("{} {}{:.0} %", share.device, about(share), self.percent(share)));
        let unknown = self.unknown.iter().map(UnknownPlace::words);
        let all: Vec<String> = disks.chain(unknown).collect();
        let size = self.size_in_words();
        match all.as_slice() {
            _ if self.placed_bytes == 0 && self.unknown.is_empty() => "no data is allocated on a device".to_owned(),
            [] => size,
            all if self.placed_bytes == 0 => all.join(", "),
            all => format!("{} ({size})", all.join(", ")),
        }
    }
}

impl UnknownPlace {
    /// `below dm-0 unknown (needs root)`.
    pub fn words(&self) -> String {
        let below = if self.below.is_empty() { String::new() } else { format!("below {} ", self.below) };
        format!("{below}unknown ({})", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_names_disks_and_what_is_unknown() {
        let share = |device: &str, bytes, is_even, is_disk| DeviceShare {
            device: device.to_owned(),
            bytes,
            is_even,
            is_disk,
            media: if device == "sda" { MediaType::Nvme } else { MediaType::Hdd },
        };
        let mut placement = Placement {
            placed_bytes: 4096,
            encoded_bytes: 0,
            extents: 1,
            shares: vec![
                share("md0", 4096, false, false),
                share("sda", 1024, false, true),
                share("sdb", 3072, true, true),
            ],
            unknown: Vec::new(),
        };
        assert_eq!(placement.words(), "sda 25 %, sdb about 75 % (4KiB in 1 extent)");
        placement.encoded_bytes = 1024;
        assert_eq!(placement.size_in_words(), "4KiB in 1 extent, 1KiB of it compressed or encrypted");
        placement.encoded_bytes = 0;
        placement.shares.truncate(1);
        placement.extents = 2;
        placement.unknown.push(UnknownPlace { below: "md0".to_owned(), bytes: 4096, reason: "needs root".to_owned() });
        assert_eq!(placement.words(), "below md0 unknown (needs root) (4KiB in 2 extents)");
        assert_eq!(Placement::default().words(), "no data is allocated on a device");
    }
}
