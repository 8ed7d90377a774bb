//! The steps that a stack is built from. Each is one line of the shell, so that a loss can be reproduced by hand.

use super::random::Random;
use super::snapshot::Node;
use super::stack::{DeviceMount, LoopDevice, Overlay, Stack, Undo};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A step: its weight, true if it needs root, and its function.
type Step = (usize, bool, fn(&mut Stack, &mut Random) -> Option<()>);

const STEPS: [Step; 21] = [
    (8, false, somebodys_file),
    (14, false, our_file),
    (9, false, change),
    (7, false, copy),
    (5, false, hard_link),
    (5, false, symbolic_link),
    (4, false, rename),
    (4, false, folder),
    (2, false, folder_behind_link),
    (3, false, delete),
    (3, false, killed_run),
    (4, false, result),
    (5, false, open),
    (2, false, mapped),
    (5, true, bind_mount),
    (5, true, overlay),
    (14, true, attach),
    (7, true, attach_over_loop),
    (7, true, mount),
    (3, true, mount_elsewhere),
    (4, true, swap),
];

/// Sizes of created files.
const SIZES: [&str; 6] = ["64K", "64K", "128K", "256K", "1M", "4M"];

/// Builds a stack of one to six steps; the first ones make files.
pub(super) fn build(stack: &mut Stack, random: &mut Random) {
    let steps = 1 + random.below(6).max(random.below(6));
    if random.percent(60) {
        our_file(stack, random)
    } else {
        somebodys_file(stack, random)
    };
    for _ in 1..steps {
        let possible: Vec<&Step> = STEPS.iter().filter(|(_, needs_root, _)| stack.is_root || !needs_root).collect();
        let mut ticket = random.below(possible.iter().map(|(weight, ..)| weight).sum());
        let chosen = possible.into_iter().find(|(weight, ..)| {
            let is_it = ticket < *weight;
            ticket = ticket.wrapping_sub(*weight);
            is_it
        });
        if let Some((_, _, step)) = chosen {
            // A step without a suitable object is left out.
            step(stack, random);
            stack.forget_nameless();
            stack.renumber();
        }
    }
}

/// A new name, in the directory or in one below it.
fn new_path(stack: &mut Stack, random: &mut Random, prefix: &str) -> String {
    let name = stack.new_name(prefix);
    let folders = stack.folders();
    match random.pick(&folders) {
        Some(folder) if random.percent(50) => format!("{folder}/{name}"),
        _ => name,
    }
}

fn any_file(stack: &Stack, random: &mut Random) -> Option<String> {
    random.pick(&stack.files()).cloned()
}

/// A file whose bytes may be changed without damage to a mounted file system or swap space.
fn quiet_file(stack: &Stack, random: &mut Random) -> Option<(String, Node)> {
    let name = any_file(stack, random)?;
    let node = stack.node(&name)?;
    (!stack.is_mounted_or_swap(node)).then_some((name, node))
}

fn any_loop(stack: &Stack, random: &mut Random) -> Option<LoopDevice> {
    random.pick(&stack.loops).cloned()
}

fn somebodys_file(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let path = new_path(stack, random, "f");
    let size = random.word(&SIZES);
    let line = match random.below(4) {
        0 => format!("truncate -s {size} {path}"),
        1 => format!("yes somebody | head -c {size} >{path}"),
        _ => format!("head -c {size} /dev/urandom >{path}"),
    };
    stack.shell(&line).map(drop)
}

fn our_file(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let path = new_path(stack, random, "f");
    let (size, fill) = (random.word(&SIZES), random.word(&["", "-Z", "-Zr"]));
    let load = random.word(&["-w0", "-w0", "-w50", "-w100 -Zr"]);
    stack.shell(&format!("diskspd -c{size} {fill} {load} -b4K -o1 -d1 -W0 --max-ios=8 {path} >/dev/null"))?;
    let node = stack.node(&path)?;
    let nodes = stack.related(node);
    stack.ours.extend(nodes);
    Some(())
}

fn change(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let on_device = random.percent(20);
    let (name, node) = match any_loop(stack, random).filter(|device| on_device && !device.is_read_only) {
        Some(device) if !stack.is_mounted_or_swap(device.node) => (format!("${}", device.variable), device.node),
        _ => quiet_file(stack, random)?,
    };
    let other = any_file(stack, random)?;
    let offset = random.below(16);
    let (block, line) = match random.below(9) {
        0 | 1 => (true, format!("dd if=/dev/urandom of={name} bs=4096 count=1 seek={offset} conv=notrunc")),
        2 => (true, format!("printf x | dd of={name} bs=1 seek={offset}77 conv=notrunc")),
        3 => (true, format!("mkfs.ext4 -q -F {name}")),
        4 => (false, format!("truncate -s {} {name}", random.word(&["0", "4K", "64K", "128K", "1M"]))),
        5 => (false, format!("cat {other} >{name}")),
        6 => (false, format!("touch {name}")),
        7 => (false, format!("printf line >>{name}")),
        _ => (false, format!("chmod 640 {name}")),
    };
    if matches!(node, Node::Device(_)) && !block {
        return None;
    }
    // Even if it fails: it may have begun. A change of the mode alone does not change bytes.
    if !line.starts_with("chmod") {
        stack.touch(node);
    }
    stack.shell(&line).map(drop)
}

fn copy(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let file = any_file(stack, random)?;
    let path = new_path(stack, random, "copy");
    let folder = Path::new(&path).parent().map_or(".".to_owned(), |folder| format!("./{}", folder.display()));
    let line = match random.below(5) {
        0 => format!("cp -a --reflink=always {file} {path} || cp -a {file} {path}"),
        1 => format!("cp -aL --sparse=always {file} {path}"),
        2 => {
            let options = "--xattrs --xattrs-include='user.*'";
            let from = format!("{options} -hcf - --transform='s,.*,{}_,' {file}", path.replace('/', "_"));
            format!("tar {from} | tar {options} -xf - -C {folder}")
        }
        3 => format!("cat {file} >{path}"),
        _ => format!("cp -aL {file} {path}"),
    };
    stack.shell(&line).map(drop)
}

fn hard_link(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let file = any_file(stack, random)?;
    let path = new_path(stack, random, "link");
    stack.shell(&format!("ln -L {file} {path}")).map(drop)
}

fn symbolic_link(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let name = stack.new_name("sym");
    let to = match random.below(6) {
        0 => stack.new_name("missing"),
        1 => random.pick(&stack.folders())?.clone(),
        2 => format!("$PWD/{}", any_file(stack, random)?),
        3 => format!("${}", any_loop(stack, random)?.variable),
        _ => any_file(stack, random)?,
    };
    stack.shell(&format!("ln -s {to} {name}")).map(drop)
}

fn rename(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let file = any_file(stack, random)?;
    let to = if random.percent(30) { any_file(stack, random)? } else { new_path(stack, random, "new") };
    stack.shell(&format!("mv -T {file} {to}")).map(drop)
}

fn folder(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let path = new_path(stack, random, "d");
    let file = stack.new_name("f");
    stack.shell(&format!("mkdir {path} && yes data | head -c 64K >{path}/{file}")).map(drop)
}

fn folder_behind_link(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let folders = stack.folders();
    let folder = random.pick(&folders)?;
    let is_part = |path: &Path| path.starts_with(folder);
    if stack
        .overlays
        .iter()
        .any(|overlay| [&overlay.upper, &overlay.lower, &overlay.merged].into_iter().any(|path| is_part(path)))
        || stack
            .undo
            .iter()
            .any(|undo| matches!(undo, Undo::Unmount(path) if path.starts_with(stack.folder.join(folder))))
    {
        return None;
    }
    let old = stack.new_name("old");
    stack.shell(&format!("mv {folder} {old} && ln -s $PWD/{old} {folder}")).map(drop)
}

fn delete(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let file = any_file(stack, random)?;
    stack.shell(&format!("rm {file}")).map(drop)
}

fn killed_run(stack: &mut Stack, random: &mut Random) -> Option<()> {
    if random.percent(40) {
        let path = new_path(stack, random, "killed");
        let seconds = random.word(&["0.01", "0.03", "0.1", "0.2"]);
        stack.shell(&format!("timeout -s KILL {seconds} diskspd -c4M -w100 -b4K -d9 -W0 {path} || true"));
        let node = stack.node(&path)?;
        stack.unsure.insert(node);
        return Some(());
    }
    let files = stack.files();
    let ours: Vec<_> =
        files.into_iter().filter(|name| stack.node(name).is_some_and(|node| stack.ours.contains(&node))).collect();
    let name = random.pick(&ours)?;
    let node = stack.node(name)?;
    let line = format!(
        "diskspd -v -w100 -Zr -b4K -o1 -g100i -d9 -W0 {name} >/dev/null 2>.said & \
         while kill -0 $! && ! grep -q 'starting measurements' .said; do sleep 0.01; done 2>/dev/null; \
         kill -9 $!; rm .said"
    );
    stack.shell(&line)?;
    // Its mark states that a run has not ended.
    stack.touch(node);
    Some(())
}

fn result(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let (file, path) = (stack.new_name("f"), new_path(stack, random, "result"));
    let form = random.word(&["json", "json", "xml", "csv", "text", "live-json"]);
    stack.shell(&format!("diskspd -c64K -b4K -o1 -d1 -W0 --max-ios=8 --{form}={path} {file} >/dev/null"))?;
    let (file, result) = (stack.node(&file)?, stack.node(&path)?);
    stack.ours.insert(file);
    stack.results.insert(result);
    Some(())
}

/// A file or a loop device that another program may use.
fn usable(stack: &Stack, random: &mut Random) -> Option<(String, Node)> {
    match any_loop(stack, random) {
        Some(device) if random.percent(30) => Some((format!("${}", device.variable), device.node)),
        _ => {
            let name = any_file(stack, random)?;
            let node = stack.node(&name)?;
            Some((name, node))
        }
    }
}

fn open(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let (name, node) = usable(stack, random)?;
    let redirection = random.word(&["<", "<>"]);
    let script = format!("exec 3{redirection}{name} && echo ready && exec sleep infinity >/dev/null");
    let is_elsewhere = stack.is_root && random.percent(25);
    let is_held = if is_elsewhere {
        let words = ["--mount", "--pid", "--fork", "sh", "-c", &script];
        stack.hold("unshare", &words, &format!("unshare --mount --pid --fork sh -c '{script}'"))
    } else {
        stack.hold("sh", &["-c", &script], &format!("sh -c '{script}'"))
    };
    if is_held {
        stack.uses.push((node, "open"));
    }
    Some(())
}

fn mapped(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let name = any_file(stack, random)?;
    let node = stack.node(&name)?;
    let script = format!(
        "import mmap,os,threading; f=os.open(\"{name}\",os.O_RDWR); m=mmap.mmap(f,0); \
         os.closerange(3,64); print(\"ready\",flush=True); threading.Event().wait()"
    );
    if stack.hold("python3", &["-c", &script], &format!("python3 -c '{script}'")) {
        stack.uses.push((node, "mapped"));
    }
    Some(())
}

fn bind_mount(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let point = stack.new_name("bind");
    let (kind, source) = if random.percent(50) {
        ("touch", any_file(stack, random)?)
    } else {
        ("mkdir", random.pick(&stack.folders())?.clone())
    };
    stack.shell(&format!("{kind} {point} && mount --bind {source} {point}"))?;
    stack.undo.push(Undo::Unmount(stack.folder.join(point)));
    Some(())
}

fn overlay(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let name = stack.new_name("over");
    let folders = stack.folders();
    let lower = random.pick(&folders).cloned();
    let made = lower.is_none().then(|| format!("mkdir {name}.lower && yes data | head -c 64K >{name}.lower/data && "));
    let (made, lower) = (made.unwrap_or_default(), lower.unwrap_or_else(|| format!("{name}.lower")));
    let options = format!("lowerdir={lower},upperdir={name}.upper,workdir={name}.work");
    stack.shell(&format!(
        "{made}mkdir {name} {name}.upper {name}.work && mount -t overlay -o {options} overlay {name}"
    ))?;
    stack.undo.push(Undo::Unmount(stack.folder.join(&name)));
    // By its own name, if this one refers to it.
    let real = std::fs::canonicalize(stack.folder.join(&lower)).ok();
    let real = real.as_deref().and_then(|real| real.strip_prefix(&stack.folder).ok());
    let lower = real.map_or_else(|| lower.clone().into(), Path::to_owned);
    stack.overlays.push(Overlay { lower, upper: format!("{name}.upper").into(), merged: name.into() });
    Some(())
}

fn attach(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let file = any_file(stack, random)?;
    attached(stack, random, &file)
}

fn attach_over_loop(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let device = any_loop(stack, random)?;
    attached(stack, random, &format!("${}", device.variable))
}

fn attached(stack: &mut Stack, random: &mut Random, backing: &str) -> Option<()> {
    let node = stack.node(backing)?;
    let variable = format!("L{}", stack.loops.len() + 1);
    let options = random.word(&["", "", "", "--direct-io=on ", "--read-only ", "--partscan "]);
    let line = format!("losetup {options}--find --show {backing}");
    let path = {
        // The tests of the project also find free devices under this lock.
        let turn = std::env::temp_dir().join("diskspd-tests-losetup.lock");
        let turn = File::options().create(true).truncate(false).write(true).open(turn).ok()?;
        turn.lock().ok()?;
        PathBuf::from(stack.shell_as(&line, &format!("{variable}=$({line})"))?.trim())
    };
    let device = Node::at(&path)?;
    stack.undo.push(Undo::Detach(path.clone()));
    let is_read_only = options.contains("read-only");
    stack.loops.push(LoopDevice { variable, path, node: device, backing: node, is_read_only });
    Some(())
}

fn mount(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let device = any_loop(stack, random).filter(|device| !device.is_read_only)?;
    if stack.is_mounted_or_swap(device.node) {
        return None;
    }
    let (name, point) = (format!("${}", device.variable), stack.new_name("mount"));
    stack.touch(device.node);
    stack.shell(&format!("mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0 {name}"))?;
    stack.shell(&format!("mkdir {point} && mount {name} {point}"))?;
    let path = stack.folder.join(&point);
    stack.undo.push(Undo::Unmount(path));
    stack.uses.push((device.node, "mounted"));
    let is_read_only = random.percent(40);
    stack.device_mounts.push(DeviceMount { point: point.clone().into(), device: device.path, is_read_only: false });
    stack.shell(&format!("yes inside | head -c 16K >{point}/inside"));
    if is_read_only && stack.shell(&format!("mount -o remount,ro {point}")).is_some() {
        stack.device_mounts.last_mut()?.is_read_only = true;
    }
    Some(())
}

/// In a mount namespace that the run does not see.
fn mount_elsewhere(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let device = any_loop(stack, random).filter(|device| !device.is_read_only)?;
    if stack.is_mounted_or_swap(device.node) {
        return None;
    }
    let (name, point) = (format!("${}", device.variable), stack.new_name("elsewhere"));
    stack.touch(device.node);
    stack.shell(&format!("mkfs.ext4 -q -F {name} && mkdir {point}"))?;
    let script = format!("mount -o ro,noload {name} {point} && echo ready && exec sleep infinity >/dev/null");
    let words = ["--mount", "--propagation", "private", "sh", "-c", &script];
    if stack.hold("unshare", &words, &format!("unshare --mount --propagation private sh -c '{script}'")) {
        stack.uses.push((device.node, "mounted"));
    }
    Some(())
}

fn swap(stack: &mut Stack, random: &mut Random) -> Option<()> {
    let (name, node) = usable(stack, random)?;
    if stack.is_mounted_or_swap(node) {
        return None;
    }
    stack.touch(node);
    stack.shell(&format!("chmod 600 {name}; mkswap -q {name} && swapon {name}"))?;
    let path = stack.folder.join(stack.expanded(&name));
    stack.undo.push(Undo::SwapOff(path));
    stack.uses.push((node, "swap"));
    Some(())
}
