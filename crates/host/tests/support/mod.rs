//! Recorded machines, written as compact text.

use host::Root;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A recorded machine; its tree goes away with it.
pub(crate) struct Machine {
    directory: TempDir,
}

impl Machine {
    /// Each line is `path = content`. `cpu[LIST]/` at the start of a path stands for each CPU of
    /// the list under /sys/devices/system/cpu; `\n` in a content is a line end, and `{}` the
    /// number of the CPU.
    pub(crate) fn new(table: &str) -> Self {
        let machine = Self { directory: TempDir::new().expect("a temporary directory") };
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
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
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("has a directory")).expect("made");
        fs::write(path, format!("{content}\n")).expect("written");
    }

    /// Where the tree lies.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The root to read.
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
