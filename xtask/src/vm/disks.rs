//! The disks of the virtual machine. The tests identify them by their serial numbers and WWIDs, which
//! `crates/app/tests/vm/disks.rs` repeats.

use super::{Step, Stop, failed, output_of};
use crate::surroundings::installed;
use std::fs::File;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Size of each test disk in bytes: small, since it is read completely before and after each refusal.
const DISK_BYTES: u64 = 8 * MIB;

/// Size of the disk for the tests' directories.
const WORK_BYTES: u64 = 512 * MIB;

/// Creates the disks; returns qemu's arguments for them.
pub(super) fn make(cache: &Path) -> Step<Vec<String>> {
    let folder = cache.join("disks");
    std::fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
    let image = |name: &str, size_bytes: u64| -> Step<String> {
        let path = folder.join(format!("{name}.img"));
        let made = File::create(&path).and_then(|file| file.set_len(size_bytes));
        made.map_err(|error| failed("make", &path, &error))?;
        Ok(path.display().to_string())
    };
    let drive = |name: &str, size_bytes: u64| -> Step<String> {
        Ok(format!("if=none,id={name},format=raw,cache=unsafe,file={}", image(name, size_bytes)?))
    };
    let work = formatted(&folder.join("work.img"), WORK_BYTES)?;
    let work = format!("if=none,id=work,format=raw,cache=unsafe,file={work}");
    let mut arguments = vec!["-drive".to_owned(), work];
    for name in ["shared1", "shared2", "plain0", "plain1", "sectors", "scsi0"] {
        arguments.extend(["-drive".to_owned(), drive(name, DISK_BYTES)?]);
    }
    for device in [
        "virtio-blk-pci,drive=work,serial=diskspd-work",
        // Two namespaces behind two controllers each.
        "nvme-subsys,id=shared,nqn=shared",
        "nvme,id=left,serial=SHARED,subsys=shared",
        "nvme,id=right,serial=SHARED,subsys=shared",
        "nvme-ns,drive=shared1,bus=left,nsid=1,shared=on,eui64=0x5254000000000001,uuid=00000000-0000-0000-0000-000000000000",
        "nvme-ns,drive=shared2,bus=left,nsid=2,shared=on,uuid=5e1f0000-0000-4000-8000-000000000002",
        // Two without a WWID.
        "nvme,drive=plain0,serial=PLAIN0",
        "nvme,drive=plain1,serial=PLAIN1",
        // As new drives are formatted.
        "nvme,drive=sectors,serial=SECTORS4096,logical_block_size=4096,physical_block_size=4096",
        "virtio-scsi-pci,id=scsi",
        "scsi-hd,bus=scsi.0,drive=scsi0,serial=SCSI0,wwn=0x5000c50000000001",
    ] {
        arguments.extend(["-device".to_owned(), device.to_owned()]);
    }
    Ok(arguments)
}

/// A new image with an ext4, made here because that is slow in the virtual machine; returns its path.
pub(super) fn formatted(path: &Path, size_bytes: u64) -> Step<String> {
    let made = File::create(path).and_then(|file| file.set_len(size_bytes));
    made.map_err(|error| failed("make", path, &error))?;
    let mkfs = installed("mkfs.ext4").ok_or_else(|| Stop::Skipped("mkfs.ext4 is not installed".to_owned()))?;
    output_of(Command::new(mkfs).args(["-q", "-F", "-m0"]).arg(path)).map_err(Stop::Failed)?;
    Ok(path.display().to_string())
}
