//! The kernels to boot and their modules.

use super::suite::Suite;
use super::{Step, Stop, failed, output_of};
use crate::surroundings::installed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's name for the current kernel of a suite.
const PACKAGE: &str = "linux-image-amd64";

/// Debian's suites, from the oldest: one for each series of kernels that people have.
pub(super) const SUITES: [&str; 4] = ["bullseye", "bookworm", "trixie", "sid"];

/// The suite whose kernel runs the tests that are about devices.
pub(super) const USUAL_SUITE: &str = "bookworm";

/// Modules for the tests and the guest's start; their dependencies are added.
const MODULES: [&str; 75] = [
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
    "overlay",
    // More of the device mapper, md and file systems.
    "linear",
    "raid10",
    "raid456",
    "dm_delay",
    "dm_cache",
    "dm_cache_smq",
    "dm_service_time",
    "xfs",
    "btrfs",
    "nbd",
    // Shares and their servers.
    "virtio_net",
    "nfs",
    "nfsv3",
    "nfsv4",
    "nfsd",
    "lockd",
    "sunrpc",
    "auth_rpcgss",
    "rpcsec_gss_krb5",
    "cifs",
    "9p",
    "9pnet_virtio",
    "nls_utf8",
    "nls_iso8859_1",
    "nls_ucs2_utils",
    // Which SMB asks for by name.
    "aes_generic",
    "arc4",
    "ccm",
    "cmac",
    "ctr",
    "gcm",
    "hmac",
    "md4",
    "md5",
    "sha256_generic",
    "cryptomgr",
    "des_generic",
    "ghash_generic",
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

/// The kernel below a directory that contains `boot` and `lib/modules`.
pub(super) fn given(tree: &Path) -> Step<Kernel> {
    below(tree).ok_or_else(|| {
        Stop::Failed(format!("there is no boot/vmlinuz-* with its lib/modules/* below '{}'", tree.display()))
    })
}

/// The kernel of a suite, fetched once.
pub(super) fn of_suite(cache: &Path, suite: &str) -> Step<Kernel> {
    let tree = cache.join(format!("kernel-{suite}"));
    if let Some(kernel) = below(&tree) {
        return Ok(kernel);
    }
    fetch(cache, suite, &tree)?;
    below(&tree).ok_or_else(|| Stop::Failed(format!("{PACKAGE} of {suite} holds no kernel")))
}

fn below(tree: &Path) -> Option<Kernel> {
    let versions = std::fs::read_dir(tree.join("lib/modules")).ok()?.flatten();
    let mut kernels: Vec<Kernel> = versions
        .filter_map(|entry| {
            let version = entry.file_name().into_string().ok()?;
            let images = [tree.join(format!("boot/vmlinuz-{version}")), entry.path().join("vmlinuz")];
            let image = images.into_iter().find(|image| image.is_file())?;
            Some(Kernel { version, image, modules: entry.path() })
        })
        .collect();
    kernels.sort_by(|a, b| a.version.cmp(&b.version));
    kernels.pop()
}

/// Unpacks the packages without installing them: their scripts would change this machine's boot.
fn fetch(cache: &Path, suite: &str, tree: &Path) -> Step<()> {
    let suite = Suite::fetched(cache, suite)?;
    let is_kernel = |name: &String| name.starts_with("linux-image-");
    let image = suite.depends(PACKAGE)?.into_iter().find(is_kernel);
    let image = image.ok_or_else(|| Stop::Failed(format!("{PACKAGE} names no kernel")))?;
    // Where they are packages of their own.
    let is_part = |name: &String| name.starts_with("linux-binary-") || name.starts_with("linux-modules-");
    let parts = suite.depends(&image)?.into_iter().filter(is_part);
    suite.unpack(&[image.clone()].into_iter().chain(parts).collect::<Vec<_>>(), tree)?;
    let (old, new) = (tree.join("lib"), tree.join("usr/lib"));
    if !old.exists() {
        std::os::unix::fs::symlink("usr/lib", &old).map_err(|error| failed("link", &new, &error))?;
    }
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
