//! One case: a directory with names, devices, mounts and their users, and the known properties of each.

use super::process::{self, ProgramResult};
use super::snapshot::{self, Entry, Node, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A loop device.
#[derive(Clone, Debug)]
pub(super) struct LoopDevice {
    /// The shell variable with its node, like `L1`.
    pub(super) variable: String,
    /// Path like `/dev/loop3`.
    pub(super) path: PathBuf,
    pub(super) node: Node,
    pub(super) backing: Node,
    pub(super) is_read_only: bool,
}

/// A file system that was mounted from a loop device.
#[derive(Clone, Debug)]
pub(super) struct DeviceMount {
    /// Path below the case's directory.
    pub(super) point: PathBuf,
    pub(super) device: PathBuf,
    pub(super) is_read_only: bool,
}

/// An overlay; all paths are below the case's directory.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    pub(super) merged: PathBuf,
    pub(super) lower: PathBuf,
    pub(super) upper: PathBuf,
}

/// A file of an overlay, and its source.
#[derive(Clone, Copy, Debug)]
struct Layer {
    merged: Node,
    below: Node,
    /// False for one that is copied before it is written to.
    is_upper: bool,
}

/// The way to revert a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    Unmount(PathBuf),
    Detach(PathBuf),
    SwapOff(PathBuf),
}

/// The stack of a case.
#[derive(Debug)]
pub(super) struct Stack {
    /// Its directory.
    pub(super) folder: PathBuf,
    /// The directory for output of programs; outside of `folder`.
    scratch: PathBuf,
    /// The directory with `diskspd`.
    programs: PathBuf,
    pub(super) is_root: bool,
    /// The actions, as commands.
    pub(super) lines: Vec<String>,
    pub(super) loops: Vec<LoopDevice>,
    pub(super) device_mounts: Vec<DeviceMount>,
    pub(super) overlays: Vec<Overlay>,
    /// Nodes that other programs have open, mapped, mounted or swapped to.
    pub(super) uses: Vec<(Node, &'static str)>,
    /// Created by diskspd, closed by it, and unchanged since.
    pub(super) ours: BTreeSet<Node>,
    /// Ours, in a state that depends on the time when a run was killed.
    pub(super) unsure: BTreeSet<Node>,
    /// Our result documents, unchanged since.
    pub(super) results: BTreeSet<Node>,
    /// Pages that the kernel had written to swap before the case began.
    swapped_out: u64,
    holders: Vec<Child>,
    pub(super) undo: Vec<Undo>,
    next_name: u32,
}

impl Stack {
    pub(super) fn new(folder: PathBuf, scratch: PathBuf, programs: PathBuf, is_root: bool) -> Self {
        Self {
            folder,
            scratch,
            programs,
            is_root,
            lines: Vec::new(),
            loops: Vec::new(),
            device_mounts: Vec::new(),
            overlays: Vec::new(),
            uses: Vec::new(),
            ours: BTreeSet::new(),
            unsure: BTreeSet::new(),
            results: BTreeSet::new(),
            swapped_out: swapped_out(),
            holders: Vec::new(),
            undo: Vec::new(),
            next_name: 0,
        }
    }

    /// An unused name, like `f3`.
    pub(super) fn new_name(&mut self, prefix: &str) -> String {
        self.next_name += 1;
        format!("{prefix}{}", self.next_name)
    }

    fn command(&self, program: &Path) -> std::process::Command {
        let mut command = process::command(program, &self.folder, &self.programs);
        command.envs(self.loops.iter().map(|device| (&device.variable, &device.path)));
        command
    }

    /// Runs a line of the shell in the directory, records it, and returns its output if it succeeded.
    pub(super) fn shell(&mut self, line: &str) -> Option<String> {
        self.shell_as(line, line)
    }

    /// The same, recorded in another form.
    pub(super) fn shell_as(&mut self, line: &str, noted: &str) -> Option<String> {
        let mut command = self.command(Path::new("sh"));
        command.arg("-c").arg(line);
        let ended = process::run(command, &self.scratch);
        match ended {
            Ok(ended) if ended.is_good() => {
                self.lines.push(noted.to_owned());
                Some(ended.stdout)
            }
            Ok(ended) => {
                let reason = ended.stderr.lines().last().unwrap_or_default().to_owned();
                self.lines.push(format!("{noted}   # status {}: {reason}", ended.status_text()));
                None
            }
            Err(error) => {
                self.lines.push(format!("# {noted}: {error}"));
                None
            }
        }
    }

    /// Runs diskspd with these arguments, without a shell.
    pub(super) fn diskspd(&self, words: &[String]) -> std::io::Result<ProgramResult> {
        let mut command = self.command(&self.programs.join("diskspd"));
        command.args(words.iter().map(|word| self.expanded(word)));
        process::run(command, &self.scratch)
    }

    /// An argument with `$L1` and `$PWD` replaced by the nodes of loop devices and the directory.
    pub(super) fn expanded(&self, word: &str) -> String {
        let mut text = word.replace("$PWD", &self.folder.display().to_string());
        for device in self.loops.iter().rev() {
            text = text.replace(&format!("${}", device.variable), &device.path.display().to_string());
        }
        text
    }

    /// Starts a process that prints "ready" and then keeps its files open.
    pub(super) fn hold(&mut self, program: &str, words: &[&str], noted: &str) -> bool {
        let mut command = self.command(Path::new(program));
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return false };
        let mut line = String::new();
        let is_ready =
            child.stdout.take().is_some_and(|stdout| BufReader::new(stdout).read_line(&mut line).is_ok_and(|n| n > 0));
        if is_ready {
            self.lines.push(format!("{noted} &"));
            self.holders.push(child);
        } else {
            self.lines.push(format!("{noted}   # failed"));
            process::kill(&mut child);
        }
        is_ready
    }

    /// All names in the directory.
    pub(super) fn names(&self) -> BTreeMap<PathBuf, Entry> {
        snapshot::names(&self.folder)
    }

    /// Names of regular files, including symbolic links to them.
    pub(super) fn files(&self) -> Vec<String> {
        self.leading_to(Path::is_file)
    }

    /// Names of directories, except the case's directory.
    pub(super) fn folders(&self) -> Vec<String> {
        self.leading_to(Path::is_dir)
    }

    fn leading_to(&self, is_it: impl Fn(&Path) -> bool) -> Vec<String> {
        let names = self.names().into_keys().filter(|path| !path.as_os_str().is_empty());
        let wanted = names.filter(|path| !path.ends_with("lost+found") && is_it(&self.folder.join(path)));
        wanted
            .filter(|path| path.extension().is_none_or(|extension| extension != "work"))
            .map(|path| path.display().to_string())
            .collect()
    }

    /// The node of a name in commands: a path, or a variable.
    pub(super) fn node(&self, name: &str) -> Option<Node> {
        Node::at(&self.folder.join(self.expanded(name)))
    }

    /// All nodes whose bytes change with those of a node: below and above it through loop devices, and the same file in
    /// overlays. An overlay shows a lower file, and writes to a copy of it.
    pub(super) fn related(&self, node: Node) -> BTreeSet<Node> {
        let layers = self.layers();
        let mut related = BTreeSet::from([node]);
        loop {
            let before = related.len();
            for device in &self.loops {
                if related.contains(&device.node) || related.contains(&device.backing) {
                    related.extend([device.node, device.backing]);
                }
            }
            for layer in &layers {
                if related.contains(&layer.below) || (layer.is_upper && related.contains(&layer.merged)) {
                    related.extend([layer.merged, layer.below]);
                }
            }
            if related.len() == before {
                return related;
            }
        }
    }

    /// The lower file that an overlay shows as this one.
    pub(super) fn lower_of(&self, node: Node) -> Option<Node> {
        let layers = self.layers();
        let lower = layers.iter().find(|layer| !layer.is_upper && layer.merged == node)?;
        Some(lower.below)
    }

    /// The source of each file of an overlay.
    fn layers(&self) -> Vec<Layer> {
        let mut layers = Vec::new();
        for overlay in &self.overlays {
            let merged = self.folder.join(&overlay.merged);
            let [upper, lower] = [&overlay.upper, &overlay.lower].map(|path| self.folder.join(path));
            for (path, entry) in snapshot::names(&merged) {
                let at =
                    |folder: &Path| fs::symlink_metadata(folder.join(&path)).ok().as_ref().map(Node::from_metadata);
                let (upper, lower) = (at(&upper), at(&lower));
                let below = upper.or(lower);
                let is_upper = upper.is_some();
                layers.extend(below.map(|below| Layer { merged: entry.node, below, is_upper }));
            }
        }
        layers
    }

    /// True if a mounted file system or swap space shares bytes with it.
    pub(super) fn is_mounted_or_swap(&self, node: Node) -> bool {
        let related = self.related(node);
        self.uses.iter().any(|(used, how)| related.contains(used) && matches!(*how, "mounted" | "swap"))
    }

    /// Records that another program has changed it.
    pub(super) fn touch(&mut self, node: Node) {
        for related in self.related(node) {
            self.ours.remove(&related);
            self.unsure.remove(&related);
            self.results.remove(&related);
        }
    }

    /// True for a file that a killed run was writing to.
    pub(super) fn is_unsure(&self, node: Node) -> bool {
        self.related(node).iter().any(|node| self.unsure.contains(node))
    }

    /// Forgets files without a name: their numbers may be reused.
    pub(super) fn forget_nameless(&mut self) {
        let named: BTreeSet<Node> = self.names().values().map(|entry| entry.node).collect();
        for set in [&mut self.ours, &mut self.unsure, &mut self.results] {
            set.retain(|node| named.contains(node));
        }
    }

    /// Rereads the numbers of files below loop devices. One in an overlay changes when the lower file that it was
    /// copied from is deleted.
    pub(super) fn renumber(&mut self) {
        let numbers: Vec<Option<Node>> = self.loops.iter().map(|device| self.backing_of(device)).collect();
        for (device, number) in self.loops.iter_mut().zip(numbers) {
            device.backing = number.unwrap_or(device.backing);
        }
    }

    /// The file below a loop device, as open in the kernel; `None` for a device.
    fn backing_of(&self, device: &LoopDevice) -> Option<Node> {
        if matches!(device.backing, Node::Device(_)) {
            return None;
        }
        let mut command = self.command(Path::new("losetup"));
        command.args(["--noheadings", "--output", "BACK-MAJ:MIN,BACK-INO"]).arg(&device.path);
        let listed = process::run(command, &self.scratch).ok()?.stdout;
        let (file_system, inode) = listed.trim().split_once(char::is_whitespace)?;
        let (major, minor) = file_system.split_once(':')?;
        let file_system = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        Some(Node::File(file_system, inode.trim().parse().ok()?))
    }

    /// All current bytes.
    pub(super) fn snapshot(&self) -> std::io::Result<Snapshot> {
        for mount in self.device_mounts.iter().filter(|mount| !mount.is_read_only) {
            rustix::fs::syncfs(File::open(self.folder.join(&mount.point))?)?;
        }
        let devices: Vec<PathBuf> = self.loops.iter().rev().map(|device| device.path.clone()).collect();
        // Unwritten data of one device would change the storage below it, which others show, too.
        for device in &devices {
            let _ = File::open(device).and_then(|device| device.sync_all());
        }
        // All processes that hold something open are listed there.
        let held: Vec<PathBuf> =
            self.holders.iter().map(|holder| format!("/proc/{}/fd/3", holder.id()).into()).collect();
        let mut snapshot = Snapshot::take(&self.folder, &devices, &held)?;
        snapshot.bytes.retain(|node, _| !self.is_left_to_the_file_system(*node));
        Ok(snapshot)
    }

    /// True for the storage below a writable mounted file system, whose files are compared instead, and for swap space
    /// to which the kernel has written pages.
    pub(super) fn is_left_to_the_file_system(&self, node: Node) -> bool {
        let writing = self.device_mounts.iter().filter(|mount| !mount.is_read_only);
        let mounted = writing.filter_map(|mount| Node::at(&mount.device));
        mounted.into_iter().any(|device| self.related(device).contains(&node))
            || (self.uses.iter().any(|(used, how)| *how == "swap" && self.related(*used).contains(&node))
                && (is_swapping() || swapped_out() != self.swapped_out))
    }

    /// An error if a process that should hold something has ended: its files would be considered in use.
    pub(super) fn check_holders(&self) -> std::io::Result<()> {
        match self.holders.iter().find(|holder| process::has_ended(holder)) {
            Some(holder) => {
                Err(std::io::Error::other(format!("process {} does not hold its file any more", holder.id())))
            }
            None => Ok(()),
        }
    }

    /// Ends the processes that hold something.
    pub(super) fn release(&mut self) {
        for holder in &mut self.holders {
            process::kill(holder);
        }
        self.holders.clear();
    }

    /// Reverts a step; true if that succeeded.
    pub(super) fn take_back(&mut self, undo: &Undo) -> bool {
        let (program, path) = match undo {
            Undo::Unmount(path) => ("umount", path),
            Undo::Detach(path) => ("losetup", path),
            Undo::SwapOff(path) => ("swapoff", path),
        };
        let mut command = self.command(Path::new(program));
        if program == "losetup" {
            command.arg("--detach");
        }
        command.arg(path);
        process::run(command, &self.scratch).is_ok_and(|ended| ended.is_good())
    }

    /// Runs a program without recording it; an error if it failed.
    pub(super) fn quietly(&self, program: &str, words: &[&std::ffi::OsStr]) -> Result<(), String> {
        let mut command = self.command(Path::new(program));
        command.args(words);
        let ended = process::run(command, &self.scratch).map_err(|error| error.to_string())?;
        if ended.is_good() { Ok(()) } else { Err(format!("{}{}", ended.stdout, ended.stderr)) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.release();
        while let Some(undo) = self.undo.pop() {
            self.take_back(&undo);
        }
    }
}

/// Pages that the kernel has written to swap since it started.
fn swapped_out() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counters.lines().find_map(|line| line.strip_prefix("pswpout ")?.parse().ok());
    count.unwrap_or(0)
}

/// True if any swap space is in use.
fn is_swapping() -> bool {
    let list = fs::read_to_string("/proc/swaps").unwrap_or_default();
    list.lines().skip(1).any(|line| line.split_whitespace().nth(3).is_some_and(|used| used != "0"))
}
