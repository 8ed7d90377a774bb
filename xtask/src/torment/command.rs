//! One command line of ours over the names of a stack.

mod forms;

use super::random::Random;
use super::stack::Stack;
use std::fs;

/// Names valid only on Windows: refused, and nothing is created.
const WINDOWS_NAMES: [&str; 5] = ["F:x", "C:", "#1", r"\\host\x", r"\\.\E:"];

/// One load of a command, with its own permissions: a side of a pair, a stream, or all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    pub(super) targets: Vec<String>,
    pub(super) creates: bool,
    pub(super) writes: bool,
    pub(super) overwrites: bool,
    pub(super) deletes: bool,
    /// Names given with --destroy.
    pub(super) destroyed: Vec<String>,
    /// It is from a directory of another user, and its permissions have not been typed.
    pub(super) is_unconfirmed: bool,
}

/// The parts of a command that determine permitted changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    pub(super) kind: &'static str,
    /// Arguments after `diskspd`, with `$L1` for the nodes of loop devices.
    pub(super) words: Vec<String>,
    pub(super) loads: Vec<Load>,
    /// Files for results.
    pub(super) outputs: Vec<String>,
    /// Directories for results.
    pub(super) folders: Vec<String>,
    /// Files with these names in a directory are created, or replaced if they are of diskspd.
    pub(super) owned: Vec<(String, &'static [&'static str])>,
    /// Files from which it reads its load.
    pub(super) inputs: Vec<String>,
    /// Exit statuses besides 0, 1 and 3.
    pub(super) statuses: &'static [i32],
}

impl Command {
    /// The command as a line of the shell.
    pub(super) fn line(&self) -> String {
        let quoted = self.words.iter().map(|word| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,+:$*".contains(c);
            if word.chars().all(is_plain) { word.clone() } else { format!("'{word}'") }
        });
        std::iter::once("diskspd".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn add(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }
}

/// The command line of a case. `with_outputs`: results may also replace existing names.
pub(super) fn choose(stack: &mut Stack, random: &mut Random, with_outputs: bool) -> Command {
    let (kind, command) = match random.below(100) {
        0..8 => ("ab", forms::pairs(stack, random)),
        8..16 => ("--resume", forms::resumed_series(stack, random)),
        16..22 => ("--stream", forms::streams(stack, random)),
        22..28 => ("--append", forms::appending(stack, random)),
        28..34 => ("run", forms::job(stack, random)),
        34..41 => ("--journal", forms::journal(stack, random)),
        41..43 => ("--cycles", forms::cycles(stack, random)),
        43..46 => ("sweep", one_load(stack, random, with_outputs, true)),
        _ => ("one load", one_load(stack, random, with_outputs, false)),
    };
    Command { kind, ..command }
}

/// A load, perhaps in a sweep.
fn one_load(stack: &mut Stack, random: &mut Random, with_outputs: bool, is_sweep: bool) -> Command {
    let mut command = Command::default();
    if is_sweep {
        let folder = if random.percent(50) { random.pick(&stack.folders()).cloned() } else { None };
        let folder = folder.unwrap_or_else(|| stack.new_name("sweep"));
        command.words = ["sweep", "--dir", &folder, "--vary", "o=1,2", "--"].map(str::to_owned).to_vec();
        command.folders.push(folder);
    }
    let mut load = targets(stack, random);
    amounts(&mut load, &mut command.words, random);
    permissions(&mut load, &mut command.words, stack, random);
    if random.percent(20) && !is_sweep {
        output(&mut command, stack, random, with_outputs);
    }
    command.words.extend(load.targets.iter().cloned());
    command.loads.push(load);
    command
}

/// One to three targets.
pub(super) fn targets(stack: &mut Stack, random: &mut Random) -> Load {
    let count = [1, 1, 1, 1, 2, 3][random.below(6)];
    Load { targets: (0..count).map(|_| target(stack, random)).collect(), ..Load::default() }
}

/// Adds options that permit a load more than other loads.
pub(super) fn permissions(load: &mut Load, words: &mut Vec<String>, stack: &Stack, random: &mut Random) {
    if random.percent(30) {
        words.push("--overwrite".to_owned());
        load.overwrites = true;
    }
    if random.percent(10) {
        words.push("--recreate".to_owned());
    }
    if random.percent(12) {
        words.push("--delete-after".to_owned());
        load.deletes = true;
    }
    destroy(load, words, stack, random);
}

/// Adds the amount and kind of writes.
pub(super) fn amounts(load: &mut Load, words: &mut Vec<String>, random: &mut Random) {
    let mut add = |word: &str| words.push(word.to_owned());
    if random.percent(50) {
        load.creates = true;
        add(random.word(&["-c64K", "-c64K", "-c128K", "-c1M", "-c4M"]));
    }
    if random.percent(75) {
        load.writes = true;
        add(random.word(&["-w50", "-w100"]));
    } else {
        add("-w0");
    }
    for choices in [["", "-Zr", "-Z"], ["-o1", "-o8", "-o2"], ["-r", "", "-r"], ["", "-t2", ""]] {
        let word = random.word(&choices);
        if !word.is_empty() {
            add(word);
        }
    }
    let way = random.word(&["", "", "-Su", "-Sm", "-Sw", "-Sh", "--engine=aio", "--engine=io_uring", "--engine=sync"]);
    if !way.is_empty() {
        add(way);
    }
    ["-b4K", "-d1", "-W0", "--max-ios=32"].into_iter().for_each(add);
}

pub(super) fn target(stack: &mut Stack, random: &mut Random) -> String {
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
            // Directories, dangling links and other names.
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
pub(super) fn destroy(load: &mut Load, words: &mut Vec<String>, stack: &Stack, random: &mut Random) {
    for target in load.targets.clone() {
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
        words.push(format!("--destroy={name}"));
        load.destroyed.push(stack.expanded(&name));
    }
}

/// The backing file of a loop device according to the kernel.
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
