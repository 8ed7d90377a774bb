//! Commands of several loads, and those that read or write files other than their targets.

use super::{Command, Load, amounts, destroy, permissions, target, targets};
use crate::torment::random::Random;
use crate::torment::stack::Stack;

/// Files that a run with --journal creates in its directory.
const JOURNAL: [&str; 5] = ["map", "map.new", "run", "log.0", "log.1"];
/// Files that `verify --cycles` creates in the directory of a cycle.
const CYCLE: [&str; 7] = ["map", "map.new", "run", "log.0", "log.1", "load.txt", "verify.json"];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Puts other people's data, or a link to it, where a command would create a file.
fn plant(stack: &mut Stack, random: &mut Random, name: &str) {
    let file = random.pick(&stack.files()).cloned().unwrap_or_else(|| "missing".to_owned());
    let line = match random.below(5) {
        0 => format!("head -c 64K /dev/urandom >{name}"),
        1 => format!("ln -L {file} {name}"),
        2 => format!("ln -sr {file} {name}"),
        3 => format!("ln -s {} {name}", stack.new_name("missing")),
        _ => format!("cp -a {file} {name}"),
    };
    stack.shell(&line);
}

/// Records the files below a directory just filled by diskspd as its own.
fn own_results(stack: &mut Stack, folder: &str) -> Vec<String> {
    let below = |name: &String| std::path::Path::new(name).parent().is_some_and(|parent| parent.ends_with(folder));
    let files: Vec<String> = stack.files().into_iter().filter(below).collect();
    let nodes: Vec<_> = files.iter().filter_map(|file| stack.node(file)).collect();
    stack.results.extend(nodes);
    files
}

/// `ab`: each side with its own options and permissions.
pub(super) fn pairs(stack: &mut Stack, random: &mut Random) -> Command {
    let mut command = Command { statuses: &[4, 6], ..Command::default() };
    let mut base = targets(stack, random);
    let mut common = Vec::new();
    amounts(&mut base, &mut common, random);
    if random.percent(30) {
        permissions(&mut base, &mut common, stack, random);
    }
    let folder = stack.new_name("pairs");
    command.words = words(&["ab", "--pairs", "3", "--dir", &folder]);
    command.folders.push(folder);
    for side in ["--a", "--b"] {
        let mut load = base.clone();
        let mut own = vec![if side == "--a" { "-t1" } else { "-o4" }.to_owned()];
        if random.percent(40) {
            load.writes = random.percent(50);
            own.push(if load.writes { "-w50" } else { "-w0" }.to_owned());
        }
        if random.percent(20) && !load.creates {
            load.creates = true;
            own.push("-c64K".to_owned());
        }
        if random.percent(60) {
            permissions(&mut load, &mut own, stack, random);
        }
        command.add(side);
        command.add(own.join(" "));
        command.loads.push(load);
    }
    command.add("--");
    command.words.extend(common);
    command.words.extend(base.targets);
    command
}

/// A series that was stopped, possibly changed, and continued.
pub(super) fn resumed_series(stack: &mut Stack, random: &mut Random) -> Command {
    // Most loads on other people's files are refused, and then there is nothing to continue.
    let mut load = if random.percent(50) {
        Load { targets: vec![stack.new_name("f")], ..Load::default() }
    } else {
        targets(stack, random)
    };
    let mut typed = Vec::new();
    amounts(&mut load, &mut typed, random);
    if !load.creates && load.targets.iter().all(|name| stack.node(name).is_none()) {
        load.creates = true;
        typed.push("-c64K".to_owned());
    }
    permissions(&mut load, &mut typed, stack, random);
    if !load.overwrites && random.percent(50) {
        load.overwrites = true;
        typed.push("--overwrite".to_owned());
    }
    let folder = stack.new_name("series");
    let (kind, before) =
        [("sweep", "--before-point"), ("repeat", "--before-run"), ("ab", "--before-a")][random.below(3)];
    let mut started = Command { words: words(&[kind, "--dir", &folder]), ..Command::default() };
    started.words.extend(words(match kind {
        "sweep" => &["--vary", "o=1,2", "--runs", "2"],
        "repeat" => &["--runs", "3"],
        _ => &["--pairs", "3"],
    }));
    // It stops itself at its second run, once.
    let stop =
        format!("ls {folder}/*-*.json && ! ls {folder}.stopped && touch {folder}.stopped && kill -INT $PPID; true");
    started.words.extend([before.to_owned(), stop, "--".to_owned()]);
    started.words.extend(typed);
    started.words.extend(load.targets.iter().cloned());
    let unmade: Vec<String> = load.targets.iter().filter(|name| stack.node(name).is_none()).cloned().collect();
    stack.shell(&format!("{} >/dev/null 2>&1 || true", started.line()));
    if load.creates {
        let made: Vec<_> = unmade.iter().filter_map(|name| stack.node(name)).collect();
        stack.ours.extend(made);
    }
    let outputs = own_results(stack, &folder);
    let mut command = Command { outputs, statuses: &[4, 6], ..Command::default() };
    disturb_series(stack, random, &folder, kind, &load);
    if stack.is_root && random.percent(15) {
        stack.shell(&format!("chown -R 65534 {folder}"));
        load.is_unconfirmed = true;
    }
    command.words = words(&[kind, "--resume", &folder]);
    if random.percent(90) {
        command.add("--run-commands");
    }
    let may_overwrite = random.percent(60);
    if may_overwrite {
        command.add("--overwrite");
    }
    let saved = std::mem::take(&mut load.destroyed);
    if random.percent(60) {
        destroy(&mut load, &mut command.words, stack, random);
    }
    load.destroyed.retain(|name| saved.contains(name));
    // Typed permissions also apply to the load of another user.
    load.is_unconfirmed &= !may_overwrite && load.destroyed.is_empty();
    load.overwrites &= may_overwrite;
    command.loads.push(load);
    command.folders.push(folder);
    command
}

/// Possible changes to the files of a series and to its targets since it was stopped.
fn disturb_series(stack: &mut Stack, random: &mut Random, folder: &str, kind: &str, load: &Load) {
    for name in [format!("{folder}/table.csv"), format!("{folder}/{kind}.json")] {
        if random.percent(15) {
            stack.shell(&format!("rm -f {name}"));
            plant(stack, random, &name);
        }
    }
    if let Some(name) = random.pick(&load.targets).filter(|name| !name.starts_with('$')).cloned() {
        match random.below(6) {
            0 => change(stack, &name, &format!("head -c 64K /dev/urandom >{name}")),
            1 => change(stack, &name, &format!("printf x | dd of={name} bs=1 seek=77 conv=notrunc")),
            _ => {}
        }
    }
}

fn change(stack: &mut Stack, name: &str, line: &str) {
    let Some(node) = stack.node(name).filter(|node| !stack.is_mounted_or_swap(*node)) else { return };
    stack.touch(node);
    stack.shell(line);
}

/// Simultaneous loads, each with its own options and possibly its own targets.
pub(super) fn streams(stack: &mut Stack, random: &mut Random) -> Command {
    let mut command = Command::default();
    let mut all = targets(stack, random);
    // Used by streams without targets.
    let common = all.targets.clone();
    let mut is_common_used = false;
    let mut loads = Vec::new();
    for name in ["one", "two"] {
        let mut load = Load::default();
        let mut own = words(&["-b4K", random.word(&["-o1", "-o4"])]);
        if random.percent(50) {
            load.writes = true;
            own.push(random.word(&["-w50", "-w100"]).to_owned());
        }
        if random.percent(40) {
            load.creates = true;
            own.push("-c64K".to_owned());
        }
        if random.percent(60) {
            load.targets.push(target(stack, random));
            own.extend(load.targets.iter().cloned());
        } else {
            load.targets.clone_from(&common);
            is_common_used = true;
        }
        command.add("--stream");
        command.add(format!("{name}: {}", own.join(" ")));
        all.targets.extend(load.targets.iter().cloned());
        loads.push(load);
    }
    command.words.extend(words(&["-d1", "-W0", "--max-ios=32"]));
    permissions(&mut all, &mut command.words, stack, random);
    for load in &mut loads {
        (load.overwrites, load.deletes) = (all.overwrites, all.deletes);
        load.destroyed.clone_from(&all.destroyed);
    }
    if is_common_used {
        command.words.extend(common);
    }
    command.loads = loads;
    command
}

/// `--append`: a file for each thread, whose names may be in use.
pub(super) fn appending(stack: &mut Stack, random: &mut Random) -> Command {
    let mut command = Command::default();
    let size = random.word(&["--append=64K", "--append=64K,preallocate", "--append=32K,recycle"]);
    let mut load = Load { creates: true, writes: true, ..Load::default() };
    let (name, threads) = if random.percent(20) {
        let name = target(stack, random);
        load.targets.push(name.clone());
        command.add(format!("{size},single"));
        (name, 1)
    } else {
        let name = stack.new_name("wal");
        let threads = 1 + random.below(2);
        if random.percent(30) {
            stack.shell(&format!("diskspd {size} -b4K -o1 -d1 -W0 --max-ios=8 {name} >/dev/null"));
            let node = stack.node(&format!("{name}.0"));
            stack.ours.extend(node);
        }
        for thread in 0..threads {
            let file = format!("{name}.{thread}");
            if stack.node(&file).is_none() && random.percent(50) {
                plant(stack, random, &file);
            }
            load.targets.push(file);
        }
        command.add(size);
        (name, threads)
    };
    command.words.extend([format!("-t{threads}")]);
    command.words.extend(words(&["-b4K", "-d1", "-W0", "--max-ios=40"]));
    permissions(&mut load, &mut command.words, stack, random);
    command.add(name);
    command.loads.push(load);
    command
}

/// `diskspd run`: a load in a file, with typed permissions.
pub(super) fn job(stack: &mut Stack, random: &mut Random) -> Command {
    let mut command = Command::default();
    let mut all = targets(stack, random);
    let file = stack.new_name("job");
    let mut lines = vec!["form = \"diskspd-job/1\"".to_owned(), "[[time_spans]]".to_owned()];
    lines.extend(words(&["duration_s = 1", "warm_up_s = 0"]));
    if random.percent(20) {
        // The job itself, by another name.
        let alias = stack.new_name("alias");
        stack.shell(&format!("touch {file} && {} {file} {alias}", random.word(&["ln", "ln -s"])));
        all.targets[0] = alias;
    }
    let mut typed = Vec::new();
    let mut loads = Vec::new();
    for name in &all.targets {
        let mut load = Load { targets: vec![name.clone()], ..Load::default() };
        lines.push("[[time_spans.targets]]".to_owned());
        if random.percent(50) || name.contains('\\') {
            typed.push(name.clone());
            lines.push(format!("path = \"*{}\"", typed.len()));
        } else {
            lines.push(format!("path = \"{name}\""));
        }
        if random.percent(50) {
            load.creates = true;
            lines.push("create_size = \"64K\"".to_owned());
        }
        if random.percent(60) {
            load.writes = true;
            lines.push("write_percent = 50".to_owned());
        }
        lines.extend(words(&["block_size = \"4K\"", "outstanding = 2"]));
        loads.push(load);
    }
    stack.shell(&format!("cat >{file} <<end\n{}\nend", lines.join("\n")));
    command.words = words(&["run", &file, "--max-ios=32"]);
    permissions(&mut all, &mut command.words, stack, random);
    for load in &mut loads {
        (load.overwrites, load.deletes) = (all.overwrites, all.deletes);
        load.destroyed.clone_from(&all.destroyed);
    }
    command.words.extend(typed);
    command.loads = loads;
    command.inputs.push(file);
    command
}

/// A directory for the files of a journal, with some of the names in use.
fn journal_folder(stack: &mut Stack, random: &mut Random, names: &[&str]) -> String {
    let folder = stack.new_name("journal");
    let elsewhere = random.pick(&stack.folders()).cloned();
    match elsewhere {
        Some(elsewhere) if random.percent(20) => stack.shell(&format!("ln -s {elsewhere} {folder}")),
        _ => stack.shell(&format!("mkdir {folder}")),
    };
    for name in names {
        if random.percent(15) {
            plant(stack, random, &format!("{folder}/{name}"));
        }
    }
    folder
}

/// `--verify --journal`: maps and logs in a directory.
pub(super) fn journal(stack: &mut Stack, random: &mut Random) -> Command {
    let folder = journal_folder(stack, random, &JOURNAL);
    let given = words(&["--verify", &format!("--journal={folder}"), "--journal-here"]);
    let mut command = Command { words: given, ..Command::default() };
    if random.percent(30) {
        // A file of an earlier run.
        let file = stack.new_name("f");
        let line = format!("diskspd -c64K -w100 -b4K -o1 -d1 -W0 --max-ios=8 {} {file}", command.words.join(" "));
        stack.shell(&format!("{line} >/dev/null"));
        let (file, map) = (stack.node(&file), stack.node(&format!("{folder}/map")));
        stack.ours.extend(file);
        if let Some(map) = map.filter(|_| file.is_some()) {
            stack.results.insert(map);
        }
    }
    let mut load = targets(stack, random);
    if random.percent(10) {
        load.targets[0] = format!("{folder}/{}", random.word(&JOURNAL));
    }
    let mut typed = Vec::new();
    amounts(&mut load, &mut typed, random);
    typed.retain(|word| !word.starts_with("-Z"));
    command.words.append(&mut typed);
    permissions(&mut load, &mut command.words, stack, random);
    command.words.extend(load.targets.iter().cloned());
    command.loads.push(load);
    // The directory itself is given, possibly through a link.
    let path = std::fs::canonicalize(stack.folder.join(&folder)).ok();
    let below = path.as_deref().and_then(|path| path.strip_prefix(&stack.folder).ok());
    let folder = below.map_or(folder, |path| path.display().to_string());
    command.owned.push((folder, &JOURNAL));
    command
}

/// `verify --cycles`: a load that is killed and verified, in separate directories.
pub(super) fn cycles(stack: &mut Stack, random: &mut Random) -> Command {
    let folder = stack.new_name("cycles");
    stack.shell(&format!("mkdir {folder}"));
    for cycle in ["cycle-1", "cycle-2"] {
        let folder = format!("{folder}/{cycle}");
        if random.percent(50) {
            stack.shell(&format!("mkdir {folder}"));
            for name in CYCLE {
                if random.percent(5) {
                    plant(stack, random, &format!("{folder}/{name}"));
                }
            }
        } else if let Some(other) = random.pick(&stack.folders()).filter(|_| random.percent(20)).cloned() {
            stack.shell(&format!("ln -sr {other} {folder}"));
        }
    }
    let mut command = Command { statuses: &[6], ..Command::default() };
    command.words = words(&["verify", "--cycles", "2", "--cut", "kill -KILL $DISKSPD_PID", "--journal", &folder, "--"]);
    let mut load = Load { targets: vec![target(stack, random)], creates: true, writes: true, ..Load::default() };
    let typed = ["-c64K", "-b4K", "-r", "-w50", "-o2", "-t2", "-g100i", "-d1", "-W0", "--journal-here"];
    command.words.extend(words(&typed));
    permissions(&mut load, &mut command.words, stack, random);
    command.words.extend(load.targets.iter().cloned());
    command.loads.push(load);
    for cycle in ["cycle-1", "cycle-2"] {
        command.owned.push((format!("{folder}/{cycle}"), &CYCLE));
    }
    command
}
