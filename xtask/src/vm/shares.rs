//! Devices of a server of shares and its client: a disk with the servers' programs, a network of the two, and a
//! directory of this machine for 9p.

use super::machine;
use super::suite::Suite;
use super::{Step, Stop, failed, kernel, output_of};
use crate::surroundings::installed;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The servers of NFS and SMB.
const PACKAGES: [&str; 3] = ["nfs-kernel-server", "samba", "nfs-common"];

/// Size of the disk that the server exports, in bytes.
const EXPORT_BYTES: u64 = 256 << 20;

/// Room on the disk of programs beside the programs, in bytes.
const SPARE_BYTES: u64 = 128 << 20;

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) client_devices: Vec<String>,
    pub(super) _machine: machine::Server,
}

/// qemu's arguments for both sides.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) server_devices: Vec<String>,
    pub(super) client_devices: Vec<String>,
}

impl Share {
    /// Makes the disks at `place`; the programs are fetched once, into the cache.
    pub(super) fn make(cache: &Path, place: &Path) -> Step<Self> {
        let programs = programs(cache)?;
        let export = place.join("disks/export.img");
        let folder = place.join("disks");
        fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
        format(&export, EXPORT_BYTES, None)?;
        let ninth = place.join("9p");
        let _ = fs::remove_dir_all(&ninth);
        fs::create_dir_all(&ninth).map_err(|error| failed("make", &ninth, &error))?;
        let socket = place.join("net.sock");
        let _ = fs::remove_file(&socket);
        let socket = socket.display();
        let programs = format!("if=none,id=programs,format=raw,readonly=on,file={}", programs.display());
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let common = ["-drive", &programs, "-device", "virtio-blk-pci,drive=programs,serial=programs"];
        let export = format!("if=none,id=export,format=raw,cache=unsafe,file={}", export.display());
        let served = format!("stream,id=net,server=on,addr.type=unix,addr.path={socket}");
        let joined = format!("stream,id=net,server=off,addr.type=unix,addr.path={socket}");
        let shared = format!("local,path={},mount_tag=host,security_model=mapped-xattr,id=host", ninth.display());
        let mut server_devices = words(&common);
        server_devices.extend(words(&["-drive", &export, "-device", "virtio-blk-pci,drive=export,serial=export"]));
        server_devices.extend(words(&[
            "-netdev",
            &served,
            "-device",
            "virtio-net-pci,netdev=net,mac=52:54:00:00:00:01",
        ]));
        let mut client_devices = words(&common);
        client_devices.extend(words(&[
            "-netdev",
            &joined,
            "-device",
            "virtio-net-pci,netdev=net,mac=52:54:00:00:00:02",
        ]));
        client_devices.extend(words(&["-virtfs", &shared]));
        Ok(Self { server_devices, client_devices })
    }
}

/// An ext4 with the servers' programs and all that they need, of the suite whose kernel runs them.
fn programs(cache: &Path) -> Step<PathBuf> {
    let image = cache.join("servers.img");
    if image.exists() {
        return Ok(image);
    }
    let tree = cache.join("servers");
    let suite = Suite::fetched(cache, kernel::USUAL_SUITE)?;
    suite.unpack_with_all_needed(&PACKAGES, &tree)?;
    for unused in ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"] {
        let _ = fs::remove_dir_all(tree.join(unused));
    }
    for folder in
        ["proc", "sys", "dev", "run", "tmp", "export", "var/lib/nfs", "var/log/samba", "var/lib/samba/private"]
    {
        let folder = tree.join(folder);
        fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
    }
    let used = output_of(Command::new("du").args(["-sb"]).arg(&tree)).map_err(Stop::Failed)?;
    let bytes: u64 = used.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(EXPORT_BYTES);
    let unfinished = cache.join("servers.new");
    format(&unfinished, bytes * 5 / 4 + SPARE_BYTES, Some(&tree))?;
    fs::rename(&unfinished, &image).map_err(|error| failed("rename", &unfinished, &error))?;
    let _ = fs::remove_dir_all(&tree);
    Ok(image)
}

/// Makes an ext4 of this size, with a copy of this directory.
fn format(image: &Path, size_bytes: u64, content: Option<&Path>) -> Step<()> {
    let made = File::create(image).and_then(|file| file.set_len(size_bytes));
    made.map_err(|error| failed("make", image, &error))?;
    let mkfs = installed("mkfs.ext4").ok_or_else(|| Stop::Skipped("mkfs.ext4 is not installed".to_owned()))?;
    let mut command = Command::new(mkfs);
    command.args(["-q", "-F", "-m0"]);
    if let Some(content) = content {
        command.arg("-d").arg(content);
    }
    output_of(command.arg(image)).map(drop).map_err(Stop::Failed)
}
