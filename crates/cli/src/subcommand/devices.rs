//! Arguments of `diskspd devices`.

use super::{Arguments, TypedArguments};
use crate::request::Environment;
use std::path::PathBuf;

/// List the block devices of this machine
///
/// Shows their size, model, identity, type, mount points and users. Opens no device.
///
/// With PATH, shows what lies under a file, directory or device: the mount, the file system, each layer down to the
/// disks, and how many bytes of the file are on each. Tables of the device mapper and chunks of btrfs need root.
///
/// With --mark-scratch, adds a device to this machine's list of scratch disks, /etc/diskspd/scratch. The device must be
/// empty and not in use. Tests may write to it without --destroy as long as it has no partition table, file system or
/// other signature. Needs root.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(override_usage = "diskspd devices [--all] [--json]
       diskspd devices PATH... [--json]
       diskspd devices --mark-scratch=DEVICE...")]
pub struct DevicesRequest {
    /// show what lies under this file, directory or device
    #[arg(value_name = "PATH", conflicts_with_all = ["all", "mark_scratch"])]
    pub paths: Vec<PathBuf>,
    /// also list devices without a medium, such as free loop devices
    #[arg(short, long)]
    pub all: bool,
    /// print JSON instead of a table: an array with one object per device, or per PATH
    #[arg(long)]
    pub json: bool,
    /// add this device to the list; may be given again
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["all", "json"])]
    pub mark_scratch: Vec<PathBuf>,
}

impl Arguments for DevicesRequest {
    type Request = Self;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<Self, String> {
        Ok(self)
    }
}
