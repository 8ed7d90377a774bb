//! One command line of ours over the names of a stack.

use super::random::Random;
use super::stack::Stack;
use std::fs;

/// Names that only Windows knows: refused, and nothing is made.
const WINDOWS_NAMES: [&str; 5] = ["F:x", "C:", "#1", r"\\host\x", r"\\.\E:"];

/// What the command asks for, as far as it decides what may change.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    /// After `diskspd`, with `$L1` for the nodes of loop devices.
    pub(super) words: Vec<String>,
    pub(super) targets: Vec<String>,
    pub(super) creates: bool,
    pub(super) writes: bool,
    pub(super) overwrites: bool,
    pub(super) deletes: bool,
    /// Names given with --destroy.
    pub(super) destroyed: Vec<String>,
    /// Files that results go to.
    pub(super) outputs: Vec<String>,
    /// The folder of a sweep.
    pub(super) folder: Option<String>,
}

impl Command {
    /// As a line of the shell.
    pub(super) fn line(&self) -> String {
        let quoted = self.words.iter().map(|word| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,+:$".contains(c);
            if word.chars().all(is_plain) { word.clone() } else { format!("'{word}'") }
        });
        std::iter::once("diskspd".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }
}

/// The command line of a case. `with_outputs`: results go over names that are there, too.
pub(super) fn choose(stack: &mut Stack, random: &mut Random, with_outputs: bool) -> Command {
    let mut command = Command::default();
    for _ in 0..[1, 1, 1, 1, 2, 3][random.below(6)] {
        let target = target(stack, random);
        command.targets.push(target);
    }
    if random.percent(4) {
        let folder = if random.percent(50) { random.pick(&stack.folders()).cloned() } else { None };
        let folder = folder.unwrap_or_else(|| stack.new_name("sweep"));
        command.words = ["sweep", "--dir", &folder, "--vary", "o=1,2", "--"].map(str::to_owned).to_vec();
        command.folder = Some(folder);
    }
    load(&mut command, random);
    if random.percent(30) {
        command.add("--overwrite");
        command.overwrites = true;
    }
    if random.percent(10) {
        command.add("--recreate");
    }
    if random.percent(12) {
        command.add("--delete-after");
        command.deletes = true;
    }
    destroy(&mut command, stack, random);
    if random.percent(20) && command.folder.is_none() {
        output(&mut command, stack, random, with_outputs);
    }
    let targets = command.targets.clone();
    command.words.extend(targets);
    command
}

/// How much of what is written, and how.
fn load(command: &mut Command, random: &mut Random) {
    if random.percent(50) {
        command.creates = true;
        command.add(random.word(&["-c64K", "-c64K", "-c128K", "-c1M", "-c4M"]));
    }
    if random.percent(75) {
        command.writes = true;
        command.add(random.word(&["-w50", "-w100"]));
    } else {
        command.add("-w0");
    }
    for words in [["", "-Zr", "-Z"], ["-o1", "-o8", "-o2"], ["-r", "", "-r"], ["", "-t2", ""]] {
        let word = random.word(&words);
        if !word.is_empty() {
            command.add(word);
        }
    }
    let way = random.word(&["", "", "-Su", "-Sm", "-Sw", "-Sh", "--engine=aio", "--engine=io_uring", "--engine=sync"]);
    if !way.is_empty() {
        command.add(way);
    }
    for word in ["-b4K", "-d1", "-W0", "--max-ios=32"] {
        command.add(word);
    }
}

fn target(stack: &mut Stack, random: &mut Random) -> String {
    let device = random.pick(&stack.loops).filter(|_| random.percent(55));
    if let Some(device) = device {
        return format!("${}", device.variable);
    }
    let name = match random.below(20) {
        0 => return random.word(&WINDOWS_NAMES).to_owned(),
        1 | 2 => {
            let folders = stack.folders();
            let name = stack.new_name("new");
            random
                .pick(&folders)
                .filter(|_| random.percent(50))
                .map_or(name.clone(), |folder| format!("{folder}/{name}"))
        }
        3 => {
            // Folders, links to nothing and what else is there.
            let names: Vec<_> = stack.names().into_keys().map(|path| path.display().to_string()).collect();
            random.pick(&names).cloned().unwrap_or_default()
        }
        _ => random.pick(&stack.files()).cloned().unwrap_or_else(|| "new".to_owned()),
    };
    let parent = random.pick(&stack.folders()).filter(|folder| !folder.contains('/')).cloned();
    match random.below(8) {
        0 => format!("$PWD/{name}"),
        1 => format!("./{name}"),
        2 if parent.is_some() => format!("{}/../{name}", parent.unwrap_or_default()),
        _ if name.is_empty() => ".".to_owned(),
        _ => name,
    }
}

/// The right name of a loop device that is a target, or a wrong one.
fn destroy(command: &mut Command, stack: &Stack, random: &mut Random) {
    for target in command.targets.clone() {
        let Some(device) = stack.loops.iter().find(|device| target == format!("${}", device.variable)) else {
            continue;
        };
        if random.percent(20) {
            continue;
        }
        let identity = backing_name(&device.path).unwrap_or_default();
        let name = match random.below(6) {
            0 => random.pick(&stack.files()).map_or_else(|| "x".to_owned(), |file| format!("$PWD/{file}")),
            1 => target,
            _ => identity.replace(&stack.folder.display().to_string(), "$PWD"),
        };
        command.add(format!("--destroy={name}"));
        command.destroyed.push(stack.expanded(&name));
    }
}

/// What the kernel says that a loop device was made over.
pub(super) fn backing_name(device: &std::path::Path) -> Option<String> {
    let name = device.file_name()?.to_str()?;
    let text = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

fn output(command: &mut Command, stack: &mut Stack, random: &mut Random, with_outputs: bool) {
    let option = random.word(&["--json", "--xml", "--csv", "--text", "--live-json"]);
    let name = if with_outputs && random.percent(70) { random.pick(&stack.files()).cloned() } else { None };
    let name = name.unwrap_or_else(|| stack.new_name("out"));
    command.add(format!("{option}={name}"));
    command.outputs.push(name);
}
