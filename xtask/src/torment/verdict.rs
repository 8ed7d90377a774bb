//! Permitted changes of a command, and its other changes. Judged by the construction of the case and by the kernel's
//! numbers; shares nothing with the program under test.

use super::command::{Command, Load, backing_name};
use super::snapshot::{Entry, Kind, Node, Snapshot, difference};
use super::stack::{LoopDevice, Stack};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The permitted changes of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed {
    /// Nodes whose bytes, size and attributes may change.
    content: BTreeSet<Node>,
    /// Names that may appear, disappear, or refer to another file.
    names: BTreeSet<PathBuf>,
    /// Of these, those that may disappear.
    gone: BTreeSet<PathBuf>,
    /// Directories that may get new files.
    folders: Vec<PathBuf>,
}

/// The permitted changes, determined before the command runs.
pub(super) fn allowed(stack: &Stack, command: &Command, before: &Snapshot) -> Allowed {
    let mut allowed = Allowed::default();
    let inputs: Vec<Node> = command.inputs.iter().filter_map(|input| stack.node(input)).collect();
    let is_denied = |load: &Load| is_denied(stack, load, before, &inputs);
    // All loads are checked before the first of them runs.
    if !command.loads.iter().any(is_denied) {
        for load in &command.loads {
            allow_load(stack, load, before, &mut allowed);
        }
    }
    for output in &command.outputs {
        let Some(named) = resolve(stack, output) else { continue };
        let node = stack.node(output);
        if node.is_none_or(|node| is_replaceable(stack, before, node)) {
            allowed.content.extend(node);
            allowed.names.insert(named);
        }
    }
    for (folder, names) in &command.owned {
        allow_owned(stack, folder, names, before, &mut allowed);
    }
    allowed.folders.extend(command.folders.iter().filter_map(|folder| resolve(stack, folder)));
    allowed
}

fn allow_load(stack: &Stack, load: &Load, before: &Snapshot, allowed: &mut Allowed) {
    for target in &load.targets {
        let named = resolve(stack, target);
        match stack.node(target) {
            Some(Node::Device(_)) => allow_device(stack, load, target, allowed),
            Some(node) => {
                let Some(named) = named else { continue };
                allow_file(stack, load, before, (node, named), allowed);
            }
            None if load.creates => allowed.names.extend(named),
            None => {}
        }
        if load.deletes && load.creates && stack.node(target).is_none() {
            allowed.gone.extend(resolve(stack, target));
        }
    }
}

/// True if a load may write to none of its targets, and no other load of its command to any: a target belongs to
/// someone else, and no option typed for this load permits writing there.
fn is_denied(stack: &Stack, load: &Load, before: &Snapshot, inputs: &[Node]) -> bool {
    let asks = load.creates || load.writes;
    (asks && load.is_unconfirmed)
        || load.targets.iter().any(|target| match stack.node(target) {
            Some(node) if asks && stack.related(node).iter().any(|node| inputs.contains(node)) => true,
            Some(Node::Device(_)) => load.writes && !is_named(stack, load, target),
            Some(node) => {
                let is_empty = before.bytes.get(&node).is_some_and(Vec::is_empty);
                load.writes && !(load.overwrites || is_empty || is_ours(stack, node))
            }
            None => false,
        })
}

/// Permits files that a command creates in a directory under reserved names: links are not followed, and files that are
/// not of diskspd remain.
fn allow_owned(stack: &Stack, folder: &str, names: &[&str], before: &Snapshot, allowed: &mut Allowed) {
    let path = stack.folder.join(stack.expanded(folder));
    let last_is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
    let Some(folder) = resolve(stack, folder).filter(|_| !last_is_link) else { return };
    if !before.names.contains_key(&folder) {
        allowed.names.insert(folder.clone());
    }
    for name in names {
        let name = folder.join(name);
        let is_free = match before.names.get(&name) {
            None => true,
            Some(entry) => entry.kind == Kind::File && is_replaceable(stack, before, entry.node),
        };
        if is_free {
            allowed.content.extend(before.names.get(&name).map(|entry| entry.node));
            allowed.gone.insert(name.clone());
            allowed.names.insert(name);
        }
    }
}

/// True if a device was named with --destroy.
fn is_named(stack: &Stack, load: &Load, target: &str) -> bool {
    let device = stack.loops.iter().find(|device| stack.node(target) == Some(device.node));
    device.and_then(|device| backing_name(&device.path)).is_some_and(|name| load.destroyed.contains(&name))
}

fn allow_device(stack: &Stack, load: &Load, target: &str, allowed: &mut Allowed) {
    let is_it = |device: &&LoopDevice| stack.node(target) == Some(device.node);
    let Some(device) = stack.loops.iter().find(is_it) else { return };
    let is_named = is_named(stack, load, target);
    let related = stack.related(device.node);
    // Only this device and the storage below it, nothing beside or above.
    let others = stack.loops.iter().filter(|other| related.contains(&other.node) && other.node != device.node);
    let is_alone = others.into_iter().all(|other| is_below(stack, other.node, device));
    let is_used = related.iter().any(|node| is_used_itself(stack, *node));
    if load.writes && is_named && is_alone && !is_used && !device.is_read_only {
        allowed.content.extend(related);
    }
}

/// True if a loop device is backed by a node, directly or through others.
fn is_below(stack: &Stack, node: Node, device: &LoopDevice) -> bool {
    device.backing == node
        || stack.loops.iter().any(|lower| lower.node == device.backing && is_below(stack, node, lower))
}

/// True for files created, or possibly created, by diskspd.
fn is_ours(stack: &Stack, node: Node) -> bool {
    stack.related(node).iter().any(|node| stack.ours.contains(node) || stack.unsure.contains(node))
        || stack.lower_of(node).is_some_and(|lower| stack.ours.contains(&lower))
}

fn allow_file(stack: &Stack, load: &Load, before: &Snapshot, target: (Node, PathBuf), allowed: &mut Allowed) {
    let (node, named) = target;
    let related = stack.related(node);
    let is_ours = is_ours(stack, node);
    let is_empty = before.bytes.get(&node).is_some_and(Vec::is_empty);
    let asks = load.creates || load.writes;
    let may = asks && !is_used(stack, node) && (is_ours || load.overwrites || is_empty);
    let is_reused = is_ours && !is_used(stack, node);
    if may {
        allowed.content.extend(related);
        allowed.names.insert(named.clone());
    }
    if load.deletes && (may || is_reused) {
        allowed.gone.insert(named.clone());
        allowed.names.insert(named);
    }
}

/// True for a result document, or for an empty file that is not in use.
fn is_replaceable(stack: &Stack, before: &Snapshot, node: Node) -> bool {
    let is_empty = before.bytes.get(&node).is_some_and(Vec::is_empty);
    is_result(stack, before, node) || (is_empty && !is_used(stack, node))
}

/// True for a result document or a copy of one.
fn is_result(stack: &Stack, before: &Snapshot, node: Node) -> bool {
    let bytes = before.bytes.get(&node);
    stack.results.iter().any(|result| *result == node || bytes.is_some() && before.bytes.get(result) == bytes)
}

/// True if it is in use under any of its names.
fn is_used(stack: &Stack, node: Node) -> bool {
    stack.related(node).iter().any(|node| is_used_itself(stack, *node))
        || stack.loops.iter().any(|device| stack.related(node).contains(&device.backing))
}

fn is_used_itself(stack: &Stack, node: Node) -> bool {
    stack.uses.iter().any(|(used, _)| *used == node)
}

/// The path of a name below the case's directory, through links, existing or not.
fn resolve(stack: &Stack, name: &str) -> Option<PathBuf> {
    let mut path = stack.folder.join(stack.expanded(name));
    for _ in 0..8 {
        if let Ok(real) = fs::canonicalize(&path) {
            return real.strip_prefix(&stack.folder).ok().map(Path::to_owned);
        }
        let parent = fs::canonicalize(path.parent()?).ok()?;
        path = parent.join(path.file_name()?);
        match fs::read_link(&path) {
            Ok(link) => path = parent.join(link),
            Err(_) => return path.strip_prefix(&stack.folder).ok().map(Path::to_owned),
        }
    }
    None
}

/// All changes that were not permitted. `below`: only names below this directory.
pub(super) fn losses(
    stack: &Stack,
    before: &Snapshot,
    after: &Snapshot,
    allowed: &Allowed,
    below: Option<&Path>,
) -> Vec<String> {
    let mut losses = Vec::new();
    let is_meant = |path: &Path| below.is_none_or(|folder| path.starts_with(folder));
    let meaning = Meaning { stack, before, after, allowed };
    for (path, entry) in before.names.iter().filter(|(path, _)| is_meant(path)) {
        let what = match after.names.get(path) {
            None => (!meaning.may(path, &allowed.gone)).then(|| "is gone".to_owned()),
            Some(_) if allowed.content.contains(&entry.node) || meaning.may(path, &allowed.names) => None,
            // I/Os of the killed run may still have been in flight.
            Some(_) if stack.is_unsure(entry.node) => None,
            // A file with several names gets another number when an overlay copies it.
            Some(now) if meaning.is_in_overlay(path) => meaning.changed(entry, &now.with_node(entry.node), now.node),
            Some(now) => meaning.changed(entry, now, now.node),
        };
        losses.extend(what.map(|what| format!("'{}' {what}", path.display())));
    }
    for (path, entry) in after.names.iter().filter(|(path, _)| is_meant(path)) {
        if !before.names.contains_key(path) && !meaning.may_be_new(path, entry) {
            losses.push(format!("'{}' is new: a {:?} of {} bytes", path.display(), entry.kind, entry.size));
        }
    }
    if below.is_none() {
        losses.extend(meaning.nameless());
    }
    losses
}

/// The compared snapshots, and the permitted differences.
struct Meaning<'a> {
    stack: &'a Stack,
    before: &'a Snapshot,
    after: &'a Snapshot,
    allowed: &'a Allowed,
}

impl Meaning<'_> {
    fn changed(&self, entry: &Entry, now: &Entry, node: Node) -> Option<String> {
        if entry.kind == Kind::File && self.stack.is_left_to_the_file_system(entry.node) {
            return None;
        }
        let bytes = self.before.bytes.get(&entry.node).zip(self.after.bytes.get(&node));
        let content = bytes.and_then(|(before, after)| difference(before, after));
        match (content, entry.difference(now)) {
            (Some(content), Some(itself)) => Some(format!("has lost data: {content} ({itself})")),
            (Some(content), None) => Some(format!("has lost data: {content}")),
            (None, itself) => itself,
        }
    }

    /// Bytes without a name in the directory: of loop devices and of deleted files that are open.
    fn nameless(&self) -> Vec<String> {
        let named: BTreeSet<Node> = self.before.names.values().map(|entry| entry.node).collect();
        let others = self.before.bytes.iter().filter(|(node, _)| !named.contains(node));
        let others = others.filter(|(node, _)| !self.allowed.content.contains(node));
        let mut losses = Vec::new();
        for (node, bytes) in others {
            let label = self.before.labels.get(node).cloned().unwrap_or_default();
            let what = match self.after.bytes.get(node) {
                Some(after) => difference(bytes, after).map(|what| format!("'{label}' has lost data: {what}")),
                None if self.stack.is_left_to_the_file_system(*node) => None,
                None => Some(format!("'{label}' cannot be read any more")),
            };
            losses.extend(what);
        }
        losses
    }

    /// True if a name is one of these, under any of its names in mounts.
    fn may(&self, path: &Path, names: &BTreeSet<PathBuf>) -> bool {
        names.iter().any(|name| self.is_same_place(path, name))
    }

    fn may_be_new(&self, path: &Path, entry: &Entry) -> bool {
        let is_below = |folder: &PathBuf| {
            path == folder || path.file_name().is_some_and(|name| self.is_same_place(path, &folder.join(name)))
        };
        if self.allowed.folders.iter().any(is_below) || self.may(path, &self.allowed.names) {
            return true;
        }
        // A file opened for writing in an overlay is first copied into its upper directory, with its parents, and may
        // be visible there through other mounts. With unchanged bytes, no difference is visible.
        let is_copy = || {
            let bytes = self.after.bytes.get(&entry.node);
            !self.stack.overlays.is_empty() && self.before.bytes.values().any(|before| Some(before) == bytes)
        };
        let others = self.places(path);
        let mut was = others.iter().filter_map(|other| self.before.names.get(other));
        if entry.kind == Kind::Folder {
            was.next().is_some()
        } else {
            was.any(|was| self.allowed.content.contains(&was.node)) || is_copy()
        }
    }

    fn is_in_overlay(&self, path: &Path) -> bool {
        self.stack.overlays.iter().any(|overlay| path.starts_with(&overlay.merged))
    }

    /// A path and all paths where overlays, which may be stacked, show or keep the same.
    fn places(&self, path: &Path) -> BTreeSet<PathBuf> {
        let mut places = BTreeSet::from([path.to_owned()]);
        loop {
            let before = places.len();
            for overlay in &self.stack.overlays {
                let layers = [&overlay.merged, &overlay.upper, &overlay.lower];
                let parts = places.iter().flat_map(|path| layers.map(|layer| path.strip_prefix(layer)));
                let parts: Vec<PathBuf> = parts.flatten().map(Path::to_owned).collect();
                places.extend(parts.iter().flat_map(|part| layers.map(|layer| layer.join(part))));
            }
            if places.len() == before {
                return places;
            }
        }
    }

    /// True if two names are the same one in the same directory, which mounts may show in several places.
    fn is_same_place(&self, one: &Path, other: &Path) -> bool {
        if one.file_name() != other.file_name() {
            return false;
        }
        let folder = |path: &Path| path.parent().and_then(|path| self.after.names.get(path)).map(|entry| entry.node);
        let others = self.places(other);
        let nodes: BTreeSet<Node> = others.iter().filter_map(|path| folder(path)).collect();
        self.places(one)
            .iter()
            .any(|path| others.contains(path) || folder(path).is_some_and(|node| nodes.contains(&node)))
    }
}

/// The error in the program's end, if any.
pub(super) fn bad_end(command: &Command, code: Option<i32>, stderr: &str) -> Option<String> {
    if stderr.contains("panicked at") {
        return Some("the program panicked".to_owned());
    }
    match code {
        Some(0 | 1 | 3) => None,
        Some(code) if command.statuses.contains(&code) => None,
        Some(code) => Some(format!("exit status {code} is not among 0, 1, 3 {:?}", command.statuses)),
        None => Some("the program did not end by itself".to_owned()),
    }
}
