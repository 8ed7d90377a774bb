//! The storage below a path, for people: the mount, the layers down to the disks, and the bytes of the file on each.

use crate::table_text::lines_of_any_width;
use model::block_device::{BlockDevice, DeviceKind};
use model::environment::{Backing, TargetEnvironment};
use model::placement::{DeviceShare, Placement};
use model::printable::printable;
use model::units::Bytes;
use report::{Column, Table};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Printed for an unknown value.
const UNKNOWN: &str = "-";

/// The storage below one path.
pub fn text(path: &Path, environment: &TargetEnvironment, placement: Option<&Placement>) -> String {
    let mut text = format!("{}\n", shown(path));
    // Writing to a String cannot fail, here and below.
    if let Some(mount) = &environment.mount {
        let (point, options) = (shown(&mount.point), mount.mount_options.join(","));
        let _ = writeln!(text, "  {} from {}, mounted at {point} ({options})", mount.file_system, mount.source);
    }
    let _ = write!(text, "{}", place(&environment.backing));
    if let Some(placement) = placement.filter(|placement| placement.extents > 0) {
        let _ = writeln!(text, "  {}", placement.size_in_words());
    }
    let devices = environment.devices();
    if !devices.is_empty() {
        let [layer, kind, media, model] = ["LAYER", "KIND", "MEDIA", "MODEL"].map(Column::text);
        let [size, bytes, share] = ["SIZE", "BYTES", "SHARE"].map(Column::number);
        let mut table = Table::with_columns([layer, kind, media, size, model, bytes, share]);
        for device in devices {
            add(&mut table, device, 0, placement);
        }
        text.extend(lines_of_any_width(&table).iter().map(|line| format!("  {line}\n")));
    }
    let media = placement.map(Placement::bytes_by_media).filter(|media| media.len() > 1).unwrap_or_default();
    if !media.is_empty() {
        let on = media.iter().map(|(media, bytes)| format!("{} on {}", Bytes(*bytes), media.word()));
        let _ = writeln!(text, "  {}", on.collect::<Vec<_>>().join(", "));
    }
    for unknown in placement.iter().flat_map(|placement| &placement.unknown) {
        let _ = writeln!(text, "  {}", unknown.words());
    }
    text
}

/// The location of the bytes of a run's targets, for its plan; empty if no file system reports it.
pub fn of_targets(placements: &BTreeMap<PathBuf, Placement>) -> String {
    if placements.is_empty() {
        return String::new();
    }
    let lines = placements.iter().map(|(path, placement)| format!("  '{}': {}\n", shown(path), placement.words()));
    format!("\nDisks that hold the existing files\n{}", lines.collect::<String>())
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

fn place(backing: &Backing) -> String {
    match backing {
        Backing::Devices(_) => String::new(),
        Backing::Unknown => "  on unknown storage\n".to_owned(),
        Backing::Memory => "  in memory\n".to_owned(),
        Backing::Remote { address } => format!("  on the server {address}\n"),
        Backing::Process => "  served by a process (FUSE)\n".to_owned(),
        Backing::Zfs(dataset) => format!("  ZFS dataset {} of the pool {}\n", dataset.dataset, dataset.pool),
        Backing::Overlay { upper: Some(upper), .. } => {
            format!("  overlayfs; writes go to {}\n", shown(upper))
        }
        Backing::Overlay { .. } => "  overlay, read-only\n".to_owned(),
    }
}

fn add(table: &mut Table, device: &BlockDevice, depth: usize, placement: Option<&Placement>) {
    let shares = placement.map(|placement| placement.shares.as_slice()).unwrap_or_default();
    let share = shares.iter().find(|share| share.device == device.name);
    let percent = |share: &DeviceShare| {
        let about = if share.is_even { "about " } else { "" };
        placement.map(|placement| format!("{about}{:.1} %", placement.percent(share)))
    };
    let role = device.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let model = [device.identity.vendor.as_deref(), device.identity.model.as_deref()];
    let model = model.into_iter().flatten().collect::<Vec<_>>().join(" ");
    table.rows.push(vec![
        format!("{}{}{}", "  ".repeat(depth), device.name, name_of(device)),
        device.kind.word() + &role,
        known(device.is_disk().then(|| device.media_type().word().to_owned())),
        known(device.size_bytes.map(|bytes| Bytes(bytes).to_string())),
        known(Some(model).filter(|model| !model.is_empty())),
        known(share.map(|share| Bytes(share.bytes).to_string())),
        known(share.and_then(percent)),
    ]);
    for below in &device.below {
        add(table, below, depth + 1, placement);
    }
}

/// Its common name, if that is not its device name.
fn name_of(device: &BlockDevice) -> String {
    let name = match &device.kind {
        DeviceKind::Mapper { name, .. } => name.clone(),
        DeviceKind::Loop { file, .. } => file.clone(),
        _ => None,
    };
    name.map(|name| format!(" {}", printable(&name))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::MediaType;
    use model::environment::MountedFileSystem;
    use model::placement::UnknownPlace;

    #[test]
    fn layers_are_indented_and_bytes_are_beside_them() {
        let disk = BlockDevice {
            name: "sda".to_owned(),
            kind: DeviceKind::Disk,
            size_bytes: Some(1 << 40),
            ..BlockDevice::default()
        };
        let volume = BlockDevice {
            name: "dm-0".to_owned(),
            kind: DeviceKind::Mapper { maker: None, name: Some("vg-data".to_owned()), uuid: None },
            size_bytes: Some(1 << 30),
            below: vec![disk],
            ..BlockDevice::default()
        };
        let mount = MountedFileSystem {
            file_system: "xfs".to_owned(),
            source: "/dev/mapper/vg-data".to_owned(),
            point: "/data".into(),
            mount_options: vec!["rw".to_owned(), "noatime".to_owned()],
            ..MountedFileSystem::default()
        };
        let environment = TargetEnvironment { mount: Some(mount), backing: Backing::Devices(vec![volume]) };
        let share = |device: &str, bytes, is_even| DeviceShare {
            device: device.to_owned(),
            bytes,
            is_even,
            is_disk: device == "sda",
            media: MediaType::Unknown,
        };
        let placement = Placement {
            placed_bytes: 8192,
            encoded_bytes: 8192,
            extents: 2,
            shares: vec![share("dm-0", 8192, false), share("sda", 4096, true)],
            unknown: vec![UnknownPlace { below: "dm-0".into(), bytes: 4096, reason: "needs root".into() }],
        };
        insta::assert_snapshot!(text(Path::new("/data/f"), &environment, Some(&placement)), @"
        /data/f
          xfs from /dev/mapper/vg-data, mounted at /data (rw,noatime)
          8KiB in 2 extents, compressed or encrypted
           LAYER         KIND  MEDIA    SIZE  MODEL  BYTES         SHARE
           dm-0 vg-data  dm    -        1GiB  -       8KiB       100.0 %
             sda         disk  unknown  1TiB  -       4KiB  about 50.0 %
          below dm-0 unknown (needs root)
        ");
        let targets = BTreeMap::from([(PathBuf::from("/data/f"), placement)]);
        assert_eq!(
            of_targets(&targets),
            "\nDisks that hold the existing files\n  '/data/f': sda about 50 %, below dm-0 unknown (needs root) (8KiB in 2 \
             extents, compressed or encrypted)\n"
        );
        assert_eq!(of_targets(&BTreeMap::new()), "");
    }
}
