//! The guest's root file system: an archive that the kernel unpacks into memory.

use super::kernel::Kernel;
use super::programs::Programs;
use super::rows::Name;
use super::{Step, Stop, failed, output_of};
use crate::surroundings::installed;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tools that the tests call. A test whose tool is missing skips itself; busybox provides the rest.
const TOOLS: [&str; 29] = [
    "addpart",
    "blockdev",
    "btrfs",
    "cryptsetup",
    "delpart",
    "dmsetup",
    "flock",
    "losetup",
    "lvm",
    "mdadm",
    "mkfs.btrfs",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkswap",
    "mount",
    "nbd-client",
    "partx",
    "setpriv",
    "sfdisk",
    // The shell of busybox prefers its own commands to the tools.
    "sh",
    "strace",
    "swapoff",
    "swapon",
    "timeout",
    "umount",
    "unshare",
    "wipefs",
    "xfs_io",
    "zramctl",
];

/// The guest's first process, and scripts that it and the tests call.
const SCRIPTS: [(&str, &str); 5] = [
    ("/init", include_str!("../../vm/init")),
    ("/bin/killed", include_str!("../../vm/killed")),
    ("/bin/load-nvme", include_str!("../../vm/load-nvme")),
    ("/bin/serve", include_str!("../../vm/serve")),
    ("/bin/unload", include_str!("../../vm/unload")),
];

/// Puts the archive together in the cache.
pub(super) fn make(cache: &Path, kernel: &Kernel, programs: &Programs, rows: &[Name]) -> Step<PathBuf> {
    let folder = cache.join("root");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failed("remove", &folder, &error))?;
    }
    let tree = Tree { folder };
    let busybox = static_busybox()?;
    tree.copy(&busybox, Path::new("/bin/busybox"))?;
    for (path, text) in SCRIPTS {
        tree.write(path, text)?;
    }
    tree.write("/workplaces", &format!("{}\n", programs.workplaces.display()))?;
    tree.write("/program", &format!("{}\n", programs.diskspd.display()))?;
    tree.write("/rows", &rows_with_paths(programs, rows))?;
    let tools = TOOLS.iter().filter_map(|name| installed(name)).map(|path| tree.add_tool(&path));
    tools.collect::<Step<()>>()?;
    for program in programs.tests.values().chain([&programs.diskspd]) {
        tree.add_stripped(program)?;
    }
    let modules = PathBuf::from("/lib/modules").join(&kernel.version);
    // Makes the lists, too, if the kernel was only unpacked.
    let needed = kernel.needed()?;
    for file in ["modules.alias", "modules.symbols", "modules.builtin", "modules.order"] {
        let from = kernel.modules.join(file);
        // Kernels come with different lists.
        if from.exists() {
            tree.copy(&from, &modules.join(file))?;
        }
    }
    for file in needed {
        tree.add_module(&kernel.modules.join(&file), &modules.join(unpacked_name(&file)))?;
    }
    let list = kernel.modules.join("modules.dep");
    let text = fs::read_to_string(&list).map_err(|error| failed("read", &list, &error))?;
    tree.write(&modules.join("modules.dep").display().to_string(), &text.replace(".ko.xz", ".ko"))?;
    tree.pack(&busybox, &cache.join("root.cpio"))
}

/// The name of a module after [`Tree::add_module`].
fn unpacked_name(file: &str) -> &str {
    file.strip_suffix(".xz").unwrap_or(file)
}

/// A busybox without shared libraries.
fn static_busybox() -> Step<PathBuf> {
    let hint = "is not installed (Debian: busybox-static)";
    let path = installed("busybox").ok_or_else(|| Stop::Skipped(format!("busybox {hint}")))?;
    if libraries(&path).is_empty() { Ok(path) } else { Err(Stop::Skipped(format!("a static busybox {hint}"))) }
}

/// A line for each test: name of the program, its path, name of the test.
fn rows_with_paths(programs: &Programs, rows: &[Name]) -> String {
    let line = |row: &Name| format!("{} {} {}\n", row.program, programs.tests[&row.program].display(), row.test);
    rows.iter().map(line).collect()
}

/// The directory to be packed.
struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// The local path of a path in the guest.
    fn place(&self, path: &Path) -> Step<PathBuf> {
        let place = self.folder.join(path.strip_prefix("/").unwrap_or(path));
        let parent = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(|error| failed("make", parent, &error))?;
        Ok(place)
    }

    fn write(&self, path: &str, text: &str) -> Step<()> {
        let place = self.place(Path::new(path))?;
        let written = fs::write(&place, text).and_then(|()| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&place, mode)
        });
        written.map_err(|error| failed("write", &place, &error))
    }

    fn copy(&self, from: &Path, to: &Path) -> Step<()> {
        let place = self.place(to)?;
        fs::copy(from, &place).map(drop).map_err(|error| failed("copy", from, &error))
    }

    /// Unpacked here, which takes long on an emulated CPU.
    fn add_module(&self, from: &Path, to: &Path) -> Step<()> {
        if from.extension().is_none_or(|extension| extension != "xz") {
            return self.copy(from, to);
        }
        let place = self.place(to)?;
        let output = fs::File::create(&place).map_err(|error| failed("make", &place, &error))?;
        let unpacked = Command::new("xz").arg("-dc").arg(from).stdout(output).status();
        match unpacked {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Stop::Failed(format!("xz -dc '{}': {status}", from.display()))),
            Err(error) => Err(Stop::Skipped(format!("xz is not installed: {error}"))),
        }
    }

    fn add_tool(&self, path: &Path) -> Step<()> {
        self.copy(path, path)?;
        self.add_libraries(path)
    }

    /// A program of ours without debug information, which is most of it.
    fn add_stripped(&self, path: &Path) -> Step<()> {
        let place = self.place(path)?;
        let stripped = Command::new("strip").arg("-o").arg(&place).arg(path).status();
        if !stripped.is_ok_and(|status| status.success()) {
            self.copy(path, path)?;
        }
        self.add_libraries(path)
    }

    fn add_libraries(&self, program: &Path) -> Step<()> {
        for library in libraries(program) {
            if !self.place(&library)?.exists() {
                self.copy(&library, &library)?;
            }
        }
        Ok(())
    }

    /// Packs the directory as an archive for the kernel.
    fn pack(&self, busybox: &Path, archive: &Path) -> Step<PathBuf> {
        let output = fs::File::create(archive).map_err(|error| failed("make", archive, &error))?;
        let script = r#"find . | "$0" cpio -o -H newc"#;
        let packed = Command::new(busybox)
            .args(["sh", "-c", script])
            .arg(busybox)
            .current_dir(&self.folder)
            .stdout(output)
            .stderr(Stdio::null())
            .status();
        match packed {
            Ok(status) if status.success() => Ok(archive.to_owned()),
            Ok(status) => Err(Stop::Failed(format!("packing '{}': {status}", archive.display()))),
            Err(error) => Err(failed("pack", archive, &error)),
        }
    }
}

/// The shared libraries of a program, and their loader: the absolute paths that `ldd` prints. None for static programs.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let told = output_of(Command::new("ldd").arg(program)).unwrap_or_default();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    told.lines().filter_map(path).collect()
}
