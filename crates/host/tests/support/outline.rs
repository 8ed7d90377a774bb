//! Storage as an indented outline.

use model::block_device::BlockDevice;
use model::environment::ZfsMember;

/// One line per device: name, kind, and role if it has one, indented by depth.
pub(crate) fn of_devices<'a>(devices: impl IntoIterator<Item = &'a BlockDevice>) -> Vec<String> {
    let mut lines = Vec::new();
    for device in devices {
        add_device(device, 0, &mut lines);
    }
    lines
}

fn add_device(device: &BlockDevice, depth: usize, lines: &mut Vec<String>) {
    let role = device.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    lines.push(format!("{}{} {}{role}", "  ".repeat(depth), device.name, device.kind.word()));
    for below in &device.below {
        add_device(below, depth + 1, lines);
    }
}

/// One line per member: kind, role, and device if they have any.
pub(crate) fn of_members(members: &[ZfsMember]) -> Vec<String> {
    let mut lines = Vec::new();
    for member in members {
        add_member(member, 0, &mut lines);
    }
    lines
}

fn add_member(member: &ZfsMember, depth: usize, lines: &mut Vec<String>) {
    let role = member.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    let device = member.device.as_ref().map(|device| format!(" {}", device.name)).unwrap_or_default();
    lines.push(format!("{}{}{role}{device}", "  ".repeat(depth), member.kind));
    for below in &member.members {
        add_member(below, depth + 1, lines);
    }
}
