//! The kernel to boot and its modules.

use super::{Step, Stop, failed, output_of};
use crate::surroundings::installed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's name for its current kernel.
const PACKAGE: &str = "linux-image-amd64";

/// Modules for the tests and the guest's start; their dependencies are added.
const MODULES: [&str; 36] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "sd_mod",
    "ext4",
    "crc32c_generic",
    "nvme",
    "nvme_tcp",
    "nvmet",
    "nvmet_tcp",
    "loop",
    "null_blk",
    "brd",
    "zram",
    "lzo_rle",
    "md_mod",
    "raid0",
    "raid1",
    "dm_mod",
    "dm_crypt",
    "dm_snapshot",
    "dm_thin_pool",
    "dm_flakey",
    "dm_log_writes",
    "dm_multipath",
    "dm_round_robin",
    "xts",
    "aesni_intel",
    "ecb",
    "cbc",
    "algif_skcipher",
    "crypto_user",
    "sha512_generic",
    "configfs",
    "bcache",
    "fuse",
];

/// A kernel that can be booted.
#[derive(Debug)]
pub(super) struct Kernel {
    /// `6.1.0-56-amd64`.
    pub(super) version: String,
    /// The compressed kernel.
    pub(super) image: PathBuf,
    /// The directory of the modules.
    pub(super) modules: PathBuf,
}

/// The kernel below `given`, or Debian's, fetched once.
pub(super) fn find(cache: &Path, given: Option<&Path>) -> Step<Kernel> {
    if let Some(tree) = given {
        return below(tree).ok_or_else(|| {
            Stop::Failed(format!("there is no boot/vmlinuz-* with its lib/modules/* below '{}'", tree.display()))
        });
    }
    let tree = cache.join("kernel");
    if let Some(kernel) = below(&tree) {
        return Ok(kernel);
    }
    fetch(cache, &tree)?;
    below(&tree).ok_or_else(|| Stop::Failed(format!("{PACKAGE} holds no kernel")))
}

fn below(tree: &Path) -> Option<Kernel> {
    let versions = std::fs::read_dir(tree.join("lib/modules")).ok()?.flatten();
    let mut kernels: Vec<Kernel> = versions
        .filter_map(|entry| {
            let version = entry.file_name().into_string().ok()?;
            let image = tree.join(format!("boot/vmlinuz-{version}"));
            image.is_file().then(|| Kernel { version, image, modules: entry.path() })
        })
        .collect();
    kernels.sort_by(|a, b| a.version.cmp(&b.version));
    kernels.pop()
}

/// Unpacks the package without installing it: its scripts would change this machine's boot.
fn fetch(cache: &Path, tree: &Path) -> Step<()> {
    let unavailable = |reason: String| Stop::Skipped(format!("Debian's kernel package cannot be had: {reason}"));
    let packages = cache.join("packages");
    std::fs::create_dir_all(&packages).map_err(|error| failed("make", &packages, &error))?;
    let depends = output_of(Command::new("apt-cache").args(["depends", PACKAGE])).map_err(unavailable)?;
    let depended = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    let package = depended.ok_or_else(|| unavailable(format!("{PACKAGE} names none")))?;
    println!("fetching {package}");
    output_of(Command::new("apt-get").args(["download", package]).current_dir(&packages)).map_err(unavailable)?;
    let files = std::fs::read_dir(&packages).map_err(|error| failed("read", &packages, &error))?;
    let package = files.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "deb"));
    let package = package.ok_or_else(|| unavailable("apt-get left no file".to_owned()))?;
    output_of(Command::new("dpkg-deb").arg("-x").arg(&package).arg(tree)).map_err(unavailable)?;
    // Only the unpacked files are kept.
    let _ = std::fs::remove_dir_all(&packages);
    Ok(())
}

impl Kernel {
    /// Paths, below [`Kernel::modules`], of the modules that the tests need and that this kernel has as modules, with
    /// all their dependencies.
    pub(super) fn needed(&self) -> Step<BTreeSet<String>> {
        let mut needs = self.dependencies()?;
        let named: BTreeMap<String, String> = needs.keys().map(|path| (module_name(path), path.clone())).collect();
        let mut open: Vec<String> = MODULES.iter().filter_map(|&name| named.get(name).cloned()).collect();
        let mut needed = BTreeSet::new();
        while let Some(path) = open.pop() {
            open.extend(needs.remove(&path).unwrap_or_default());
            needed.insert(path);
        }
        Ok(needed)
    }

    /// Dependencies of the modules, from `modules.dep`: `a.ko: b.ko c.ko`.
    fn dependencies(&self) -> Step<BTreeMap<String, Vec<String>>> {
        let list = self.modules.join("modules.dep");
        if !list.is_file() {
            // Normally created by the package's scripts.
            let busybox = installed("busybox").ok_or_else(|| Stop::Skipped("busybox is not installed".to_owned()))?;
            let tree = self.modules.ancestors().nth(3).unwrap_or(&self.modules);
            let made = output_of(Command::new(busybox).arg("depmod").arg("-b").arg(tree).arg(&self.version));
            made.map_err(Stop::Failed)?;
        }
        let text = std::fs::read_to_string(&list).map_err(|error| failed("read", &list, &error))?;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let row = |line: &str| line.split_once(':').map(|(path, needs)| (path.to_owned(), words(needs)));
        Ok(text.lines().filter_map(row).collect())
    }
}

/// `nvme_core` for `kernel/drivers/nvme/host/nvme-core.ko.xz`.
fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_needed_modules_need_is_needed() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = "kernel/fs/ext4.ko.xz: kernel/lib/crc16.ko kernel/fs/jbd2.ko\n\
                    kernel/fs/jbd2.ko: kernel/lib/crc.ko\nkernel/lib/crc16.ko:\nkernel/lib/crc.ko:\n\
                    kernel/drivers/md/md-mod.ko:\nkernel/sound/beep.ko: kernel/sound/core.ko\n";
        std::fs::write(folder.path().join("modules.dep"), list).expect("written");
        let kernel = Kernel { version: "6".to_owned(), image: PathBuf::new(), modules: folder.path().to_owned() };
        let names: Vec<String> = kernel.needed().expect("a list").iter().map(|path| module_name(path)).collect();
        assert_eq!(names, ["md_mod", "ext4", "jbd2", "crc", "crc16"]);
    }
}
