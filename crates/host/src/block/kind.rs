//! Kind of a block device.

use super::members;
use crate::root::Root;
use crate::syntax::bracketed;
use model::block_device::{DeviceKind, MapperMaker, Raid};
use std::path::Path;

/// Drivers whose devices have no attributes of their own, by the prefix of their names before a number.
const BY_NAME: [(&str, DeviceKind); 6] = [
    ("ram", DeviceKind::Ram),
    ("zd", DeviceKind::ZfsVolume),
    ("nbd", DeviceKind::Network),
    ("rbd", DeviceKind::Network),
    ("drbd", DeviceKind::Network),
    ("sr", DeviceKind::Optical),
];

/// The kind of the device at `directory`, a real one.
pub(crate) fn detect(root: &Root, name: &str, directory: &Path) -> DeviceKind {
    let word = |file: &str| root.word(directory.join(file));
    let is_named = |start: &str| {
        let number = name.strip_prefix(start);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if root.exists(directory.join("partition")) {
        return DeviceKind::Partition { number: root.small_number(directory.join("partition")) };
    }
    if root.exists(directory.join("dm")) {
        let uuid = word("dm/uuid");
        return DeviceKind::Mapper { maker: uuid.as_deref().and_then(maker), name: word("dm/name"), uuid };
    }
    if root.exists(directory.join("md")) {
        return DeviceKind::Raid(raid(root, directory));
    }
    if is_named("loop") {
        return loop_device(root, directory);
    }
    if is_named("bcache") {
        let cache_mode = word("bcache/cache_mode").and_then(|modes| bracketed(&modes).map(str::to_owned));
        return DeviceKind::Bcache { cache_mode, state: word("bcache/state") };
    }
    if is_named("zram") {
        let algorithm = word("comp_algorithm").and_then(|names| bracketed(&names).map(str::to_owned));
        return DeviceKind::Zram { algorithm };
    }
    if let Some(kind) = nvme(root, name, directory) {
        return kind;
    }
    if let Some((_, kind)) = BY_NAME.iter().find(|(start, _)| is_named(start)) {
        return kind.clone();
    }
    // A device without parent hardware is a driver's own.
    if root.exists(directory.join("device")) { DeviceKind::Disk } else { DeviceKind::Other }
}

/// The maker is named at the start of the UUID: `LVM-...`, `CRYPT-LUKS2-...`, `mpath-...`, `part1-mpath-...`.
fn maker(uuid: &str) -> Option<MapperMaker> {
    let (start, _) = uuid.split_once('-')?;
    let word = start.to_ascii_lowercase();
    let is_part =
        |word: &str| word.strip_prefix("part").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    Some(match word.as_str() {
        "" => return None,
        "lvm" => MapperMaker::Lvm,
        "crypt" => MapperMaker::Crypt,
        "mpath" => MapperMaker::Multipath,
        other if is_part(other) => MapperMaker::Partition,
        _ => MapperMaker::Other(word),
    })
}

fn raid(root: &Root, directory: &Path) -> Raid {
    let at = |file: &str| directory.join("md").join(file);
    Raid {
        level: root.word(at("level")),
        state: root.word(at("array_state")),
        // While a reshape is in progress, the old number follows in brackets.
        disk_count: root.word(at("raid_disks")).and_then(|text| text.split_whitespace().next()?.parse().ok()),
        missing_count: root.small_number(at("degraded")),
        chunk_bytes: root.number(at("chunk_size")),
        activity: root.word(at("sync_action")),
    }
}

fn loop_device(root: &Root, directory: &Path) -> DeviceKind {
    let at = |file: &str| directory.join("loop").join(file);
    DeviceKind::Loop {
        file: root.word(at("backing_file")),
        offset_bytes: root.number(at("offset")),
        direct: root.switch(at("dio")),
        // The file's mount is found later, on the way down.
        file_system: None,
    }
}

/// The two kinds of devices that native `NVMe` multipath has; `None` for plain disks and others.
fn nvme(root: &Root, name: &str, directory: &Path) -> Option<DeviceKind> {
    let word = |file: &str| root.word(directory.join("device").join(file));
    if members::nvme_head_of_path(name).is_some() {
        let controller = root.real(directory.join("device"));
        return Some(DeviceKind::NvmePath {
            controller: controller.and_then(|place| Some(place.file_name()?.to_str()?.to_owned())),
            state: word("state"),
            address: word("address"),
        });
    }
    let is_head = directory.parent()?.file_name()?.to_str()?.starts_with("nvme-subsys");
    is_head.then(|| DeviceKind::NvmeMultipath { policy: word("iopolicy"), subsystem: word("subsysnqn") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_sign_in_the_uuid() {
        for (uuid, word) in [
            ("LVM-6mvyJ2mDmhbGdUXl3ZGd4RPx8Ab3JfLq", Some("lvm")),
            ("CRYPT-LUKS2-0123-luks-0123", Some("crypt")),
            ("mpath-360000000000000000e00000000010001", Some("multipath")),
            ("part1-mpath-36000", Some("partition")),
            ("partly-36000", Some("partly")),
            ("VDO-1234", Some("vdo")),
            ("-1234", None),
            ("1234", None),
        ] {
            assert_eq!(maker(uuid).as_ref().map(MapperMaker::word), word, "{uuid}");
        }
    }
}
