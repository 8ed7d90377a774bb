//! Recorded machines, written as compact text.

pub(crate) mod nvlist;
pub(crate) mod outline;
pub(crate) mod recorded;

use host::Root;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A recorded machine; its tree is removed when it is dropped.
pub(crate) struct Machine {
    directory: TempDir,
    /// Block devices by name, with their directories in /sys.
    devices: BTreeMap<String, String>,
}

impl Machine {
    /// Each line is `path = content`. `cpu[LIST]/` at the start of a path stands for each CPU of
    /// the list under /sys/devices/system/cpu; `\n` in a content is a line end, and `{}` the
    /// number of the CPU.
    ///
    /// `path -> target` is a symbolic link, whose target is written as it is, or, if it begins
    /// with a slash, as seen from the link. `block NAME NUMBER PLACE` is a block device, described
    /// in /sys/devices/PLACE and linked to from the usual places; `-` for the number means that it
    /// has none. `@NAME` at the start of a path or target stands for that place.
    pub(crate) fn new(table: &str) -> Self {
        let mut machine = Self { directory: TempDir::new().expect("a temporary directory"), devices: BTreeMap::new() };
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(words) = line.strip_prefix("block ") {
                machine.block(words);
                continue;
            }
            if let Some((path, target)) = line.split_once(" -> ") {
                machine.link(path.trim(), target.trim());
                continue;
            }
            let (path, content) = line.split_once('=').expect("path = content");
            let (path, content) = (path.trim(), content.trim().replace("\\n", "\n"));
            let Some((list, rest)) = path.strip_prefix("cpu[").and_then(|path| path.split_once("]/")) else {
                machine.write(path, &content);
                continue;
            };
            for cpu in numbers(list) {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/{rest}");
                machine.write(&path, &content.replace("{}", &cpu.to_string()));
            }
        }
        machine
    }

    /// Writes one file, with the line end that kernel files have.
    pub(crate) fn write(&self, path: &str, content: &str) {
        self.write_bytes(path, format!("{content}\n").as_bytes());
    }

    /// Writes one file.
    pub(crate) fn write_bytes(&self, path: &str, content: &[u8]) {
        let path = self.path().join(self.expanded(path));
        fs::create_dir_all(path.parent().expect("has a directory")).expect("made");
        fs::write(path, content).expect("written");
    }

    fn block(&mut self, words: &str) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let [name, number, place] = words[..] else { panic!("block NAME NUMBER PLACE: {words:?}") };
        let directory = format!("sys/devices/{place}");
        fs::create_dir_all(self.path().join(&directory)).expect("made");
        self.devices.insert(name.to_owned(), directory.clone());
        self.link(&format!("sys/class/block/{name}"), &format!("/{directory}"));
        if number != "-" {
            self.link(&format!("sys/dev/block/{number}"), &format!("/{directory}"));
            self.write(&format!("@{name}/dev"), number);
        }
    }

    /// `path` with the leading device name replaced by the device's directory.
    fn expanded(&self, path: &str) -> String {
        let Some(rest) = path.strip_prefix('@') else { return path.to_owned() };
        let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
        let place = self.devices.get(name).unwrap_or_else(|| panic!("no block device {name} above"));
        format!("{place}/{below}").trim_end_matches('/').to_owned()
    }

    /// Creates a symbolic link; all are relative, so that they stay within the tree.
    fn link(&self, path: &str, target: &str) {
        let path = PathBuf::from(self.expanded(path));
        let target = if target.starts_with('@') { format!("/{}", self.expanded(target)) } else { target.to_owned() };
        let parent = path.parent().expect("has a directory");
        let target = match target.strip_prefix('/') {
            Some(target) => parent.components().map(|_| Component::ParentDir).collect::<PathBuf>().join(target),
            None => PathBuf::from(target),
        };
        fs::create_dir_all(self.path().join(parent)).expect("made");
        symlink(target, self.path().join(&path)).expect("linked");
    }

    /// Directory of the tree.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The root for reading the tree.
    pub(crate) fn root(&self) -> Root {
        Root::recorded(self.path())
    }
}

fn numbers(list: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("a number");
    list.split(',')
        .flat_map(|part| match part.split_once('-') {
            Some((from, to)) => number(from)..=number(to),
            None => number(part)..=number(part),
        })
        .collect()
}
