//! Facts needed before anything is written to a block device: its users, its identities, and its content.

mod chain;
mod device;
mod scratch;
mod signature;
mod users;

use crate::block::place;
use crate::origin;
use crate::root::Root;
use crate::storage::Walk;
use crate::{devices, loops, mounts};
use chain::Chain;
use device::{claim, disk_sequence, mapped, shares_blocks};
pub(crate) use device::{disk_of, identities};
use model::block_device::{BlockDevice, DeviceKind, DeviceNumber, Transport};
use model::device_guard::{Claim, DeviceContent, DeviceGuard};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use users::{Scope, Users};

/// The maximum number of users that are listed.
const NAMED_MAX: usize = 8;

/// Inspects the device with this number, whose node is at `path`.
pub(crate) fn inspect(root: &Root, path: &Path, device: u64, size_bytes: u64) -> DeviceGuard {
    let (major, minor) = sys::file::major_minor(device);
    let Some(name) = place::by_number(root, DeviceNumber { major, minor }) else {
        let name = format!("{major}:{minor}");
        let claim = Claim::Failed { reason: "this device is not in /sys".to_owned() };
        return DeviceGuard { name, claim, ..DeviceGuard::default() };
    };
    let rows = devices::devices(root);
    let loops = loops::attached(root);
    let row = rows.iter().find(|row| row.name == name).cloned().unwrap_or_default();
    let identities = device::identities(root, &row, &rows);
    let chain = Chain::follow(root, &row, &rows, &loops);
    let scope = Scope { root, rows: &rows, loops: &loops, own_loops: &chain.own_loops };
    // Queried while this process has no descriptor open, which the device mapper would count.
    let mapped = mapped(&row);
    let claim = claim(path);
    let Users { phrases: mut users, mut unseen } = users::find(&scope, &row);
    if let Some(Ok(mapped)) = &mapped
        && mapped.open_count > 0
    {
        users.push(format!("the device mapper reports an open count of {}", mapped.open_count));
    }
    let below = chain.inspect(&scope);
    users.extend(below.users);
    // Each device of the chain is searched for by itself, in the same processes.
    unseen.extend(below.unseen);
    let mut known = BTreeSet::new();
    unseen.retain(|phrase| known.insert(phrase.clone()));
    users.extend(chain::unasked(&loops, &chain.own_loops));
    DeviceGuard {
        disk_sequence: disk_sequence(path),
        backing: chain::backing(&loops, &row),
        below: below.devices,
        claim,
        users: shortened(users),
        unseen,
        shares_blocks: mapped
            .and_then(|answer| shares_blocks(&answer))
            .map(|phrase| format!("it {phrase}"))
            .or(below.shares_blocks),
        is_sequential: crate::file_system::is_sequential(root, device),
        content: content(path, size_bytes),
        network: network(root, &name),
        scratch: scratch::look_up(root, &identities),
        not_writable: not_writable(root, path, &name),
        kind: row.kind,
        identities,
        name,
    }
}

fn shortened(mut users: Vec<String>) -> Vec<String> {
    if users.len() > NAMED_MAX {
        let more = users.len() - NAMED_MAX;
        users.truncate(NAMED_MAX);
        users.push(format!("{more} more"));
    }
    users
}

/// Signatures first: if one is found, no further check is needed.
fn content(path: &Path, size_bytes: u64) -> DeviceContent {
    let looked = || -> io::Result<DeviceContent> {
        let file: File = sys::file::open_to_look(path)?;
        let what = signature::find(&file, size_bytes)?;
        if !what.is_empty() {
            return Ok(DeviceContent::Signed { what });
        }
        Ok(match origin::first_foreign_sample(&file, size_bytes)? {
            Some(offset_bytes) => DeviceContent::Unsigned { offset_bytes },
            None => DeviceContent::Blank,
        })
    };
    looked().unwrap_or_else(|error| DeviceContent::Unknown { reason: error.to_string() })
}

/// The network by which any of the disks below is reached.
fn network(root: &Root, name: &str) -> Option<String> {
    let mounts = mounts::read(root);
    let device = Walk::new(root, &mounts).device(name)?;
    device.walk().into_iter().find_map(network_of)
}

fn network_of(device: &BlockDevice) -> Option<String> {
    match (&device.connection.transport, &device.kind) {
        (Some(Transport::FibreChannel), _) => Some("Fibre Channel".to_owned()),
        (Some(Transport::Iscsi), _) => Some("iSCSI".to_owned()),
        (Some(Transport::NvmeOver(network)), _) => Some(format!("NVMe over {network}")),
        (_, DeviceKind::Network) => Some("a network block device".to_owned()),
        _ => None,
    }
}

fn not_writable(root: &Root, path: &Path, name: &str) -> Option<String> {
    let is_read_only = place::directory(root, name).and_then(|directory| root.switch(directory.join("ro")));
    if is_read_only == Some(true) {
        return Some("the kernel marks the device read-only".to_owned());
    }
    sys::file::may_write(path).err().map(|error| error.to_string())
}
