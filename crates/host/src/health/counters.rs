//! Error counters of devices.

use crate::block::place;
use crate::root::Root;
use std::collections::BTreeMap;
use std::path::Path;

/// By the path of a counter below the device's directory in /sys.
pub(super) type Counters = BTreeMap<String, u64>;

/// SCSI: commands that timed out. PCI Express: uncorrected errors of the link of an `NVMe` disk. Corrected ones affect
/// no result, and SCSI's `ioerr_cnt` also counts unsupported commands of monitoring programs.
const PLACES: [&str; 3] = ["device/iotmo_cnt", "device/device/aer_dev_nonfatal", "device/device/aer_dev_fatal"];

/// The counters of one device, as far as it has any.
pub(super) fn read(root: &Root, device: &str) -> Counters {
    let Some(directory) = place::directory(root, device) else { return Counters::new() };
    let mut places: Vec<String> = PLACES.iter().map(|&place| place.to_owned()).collect();
    // Errors of each member of a RAID that were corrected from the others.
    let members = root.names(directory.join("md"));
    places.extend(members.iter().filter(|name| name.starts_with("dev-")).map(|name| format!("md/{name}/errors")));
    let counter = |place: String| {
        let count = count(&root.text(directory.join(Path::new(&place)))?)?;
        Some((place, count))
    };
    places.into_iter().filter_map(counter).collect()
}

/// A decimal or hexadecimal number, or the total after a list of names and numbers.
fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let total = text.lines().find_map(|line| line.strip_prefix("TOTAL_")?.split_once(' '));
    let number = total.map_or(text, |(_, number)| number.trim());
    number.strip_prefix("0x").map_or_else(|| number.parse(), |digits| u64::from_str_radix(digits, 16)).ok()
}

/// Increase of each counter that rose.
pub(super) fn risen(before: &Counters, after: &Counters) -> Vec<(String, u64)> {
    let rise = |(place, now): (&String, &u64)| {
        let rise = now.checked_sub(*before.get(place)?)?;
        (rise > 0).then(|| (place.clone(), rise))
    };
    after.iter().filter_map(rise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_three_forms() {
        assert_eq!(count("0x1f\n"), Some(31));
        assert_eq!(count("12\n"), Some(12));
        assert_eq!(count("RxErr 3\nBadTLP 1\nTOTAL_ERR_COR 4\n"), Some(4));
        for text in ["", "x", "RxErr 3", "0x", "-1"] {
            assert_eq!(count(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_what_rose_is_told() {
        let counters = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let before = counters(&[("a", 1), ("b", 5), ("c", 9)]);
        let after = counters(&[("a", 4), ("b", 5), ("c", 2), ("d", 7)]);
        assert_eq!(risen(&before, &after), [("a".to_owned(), 3)]);
    }
}
