//! The files at the paths of a profile's targets.

use crate::file_system::FileSystems;
use crate::root::Root;
use crate::{file_system, guard, mounts, openers, origin, resolve};
use model::device_guard::FileIdentity;
use model::facts::{
    AtomicWrites, BlockFacts, CharacterDevice, FileSystem, MissingFacts, Openers, Origin, RegularFacts, TargetFacts,
    TargetKind, TargetQuestion, UnwrittenPart,
};
use model::rw_flags::RwFlags;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::file_identity::FileState;
use sys::folder::Folder;

/// Inspects each distinct path once; questions about the same path are merged.
pub fn targets(root: &Root, questions: &[TargetQuestion]) -> BTreeMap<PathBuf, TargetFacts> {
    let mut merged: BTreeMap<&Path, TargetQuestion> = BTreeMap::new();
    for question in questions {
        let all = merged.entry(&question.path).or_insert_with(|| question.clone());
        all.writes |= question.writes;
        all.direct |= question.direct;
        all.rw_flags |= question.rw_flags;
        all.shared |= question.shared;
        all.shared_run = all.shared_run.take().or_else(|| question.shared_run.clone());
        all.creates = all.creates.into_iter().chain(question.creates).max_by_key(|(size, _)| *size);
    }
    let mut file_systems = FileSystems::new(root);
    let facts =
        |(path, question): (&Path, TargetQuestion)| (path.to_owned(), read_facts(root, &mut file_systems, &question));
    merged.into_iter().map(facts).collect()
}

fn read_facts(root: &Root, file_systems: &mut FileSystems<'_>, question: &TargetQuestion) -> TargetFacts {
    // A confined process follows no links inside its directories, and opens its targets by the given paths.
    let is_confined = sys::confinement::covers(&question.path);
    let resolved = if is_confined { None } else { resolve::through_links(&question.path) };
    let place = resolved.as_deref().unwrap_or(&question.path);
    let kind = kind(root, file_systems, place, question);
    let mut facts = TargetFacts { resolved: resolved.clone(), ..TargetFacts::new(kind) };
    if !question.rw_flags.is_empty() {
        look_at_flags(&mut facts, place, question.rw_flags);
    }
    facts
}

/// Flags that the kernel refuses at reads of the target, and its atomic writes. Flags that cannot be tested, as those
/// of writes alone, count as not refused.
fn look_at_flags(facts: &mut TargetFacts, place: &Path, asked: RwFlags) {
    let file = match &facts.kind {
        TargetKind::Missing(missing) if !missing.file_system.is_pseudo => {
            Folder::open(&missing.existing_parent).and_then(|folder| folder.create_nameless())
        }
        TargetKind::Regular(_) | TargetKind::Block(_) => sys::file::open_to_look(place),
        TargetKind::Character(_) => {
            // Their drivers support none.
            facts.refused_flags = asked;
            return;
        }
        TargetKind::Missing(_) | TargetKind::Unusable { .. } | TargetKind::Inaccessible { .. } => return,
    };
    let Ok(file) = file else { return };
    for flag in asked.iter().filter(|flag| flag.operation.is_none()).map(|flag| flag.flag) {
        if sys::rw_flags::refuses_reads(&file, flag.bits()) {
            facts.refused_flags |= flag;
        }
    }
    let sizes = sys::direct_io::atomic_writes(&file);
    facts.atomic_writes = sizes.map(|(min_bytes, max_bytes)| AtomicWrites { min_bytes, max_bytes });
}

fn inaccessible(reason: impl Into<String>) -> TargetKind {
    TargetKind::Inaccessible { reason: reason.into() }
}

fn kind(root: &Root, file_systems: &mut FileSystems<'_>, place: &Path, question: &TargetQuestion) -> TargetKind {
    if place.as_os_str().is_empty() {
        return inaccessible("the path is empty");
    }
    // The type comes first, without opening: merely opening some devices has side effects.
    let metadata = match fs::metadata(&question.path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return missing(root, file_systems, place, question),
        Err(error) => return inaccessible(error.to_string()),
    };
    let file_type = metadata.file_type();
    if file_type.is_file() {
        regular(root, file_systems, place, question)
    } else if file_type.is_block_device() {
        let mut facts = block(root, place, metadata.rdev());
        if question.writes {
            facts.guard = Some(Box::new(guard::inspect(root, place, facts.device, facts.size_bytes)));
        }
        TargetKind::Block(facts)
    } else if file_type.is_char_device() {
        TargetKind::Character(character(metadata.rdev()))
    } else {
        TargetKind::Unusable { what: unusable(&metadata).into() }
    }
}

fn unusable(metadata: &Metadata) -> &'static str {
    let file_type = metadata.file_type();
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "neither a file nor a device"
    }
}

fn character(device: u64) -> CharacterDevice {
    match sys::file::major_minor(device) {
        (1, 3) => CharacterDevice::Null,
        (1, 5) => CharacterDevice::Zero,
        _ => CharacterDevice::Other,
    }
}

fn block(root: &Root, path: &Path, device: u64) -> BlockFacts {
    let completion_polling = file_system::completion_polling(root, device);
    let discard_bytes_max = file_system::discard_bytes_max(root, device);
    let read_by_ioctl = |file: File| -> io::Result<BlockFacts> {
        Ok(BlockFacts {
            device,
            size_bytes: sys::block::size_bytes(&file)?,
            logical_block_bytes: sys::block::logical_block_bytes(&file)?,
            completion_polling,
            discard_bytes_max,
            ..BlockFacts::default()
        })
    };
    sys::file::open_to_look(path).and_then(read_by_ioctl).unwrap_or_else(|error| {
        // /sys counts in units of 512 bytes, whatever the sector size.
        let units = root.number(format!("{}/size", file_system::block_directory(device))).unwrap_or(0);
        BlockFacts {
            device,
            size_bytes: units.saturating_mul(512),
            logical_block_bytes: file_system::logical_block_bytes(root, device).unwrap_or(0),
            completion_polling,
            discard_bytes_max,
            not_readable: Some(error.to_string()),
            ..BlockFacts::default()
        }
    })
}

fn missing(root: &Root, file_systems: &mut FileSystems<'_>, place: &Path, question: &TargetQuestion) -> TargetKind {
    if place.as_os_str().as_bytes().ends_with(b"/") {
        return TargetKind::Unusable { what: "a directory name (it ends with '/')".into() };
    }
    let Some(existing) = resolve::existing_directory(place) else {
        return inaccessible("no directory above it exists");
    };
    let parent_exists = place.parent() == Some(&existing);
    let existing_parent = if existing.as_os_str().is_empty() { PathBuf::from(".") } else { existing };
    let mut described = || -> io::Result<(u64, FileSystem)> {
        // A directory with search but without read permission cannot be opened; its metadata can be read.
        let device = fs::metadata(&existing_parent)?.dev();
        let stat = sys::file::file_system(&sys::file::open_place(&existing_parent)?)?;
        Ok((device, file_systems.describe(device, stat)))
    };
    let (device, file_system) = match described() {
        Ok(described) => described,
        Err(error) => return inaccessible(format!("{}: {error}", existing_parent.display())),
    };
    let is_asked = question.direct || question.writes || question.creates.is_some();
    let mut direct_io = model::facts::DirectIo::Unknown;
    if is_asked && !file_system.is_pseudo {
        direct_io = match Folder::open(&existing_parent).and_then(|folder| folder.create_nameless()) {
            Ok(file) => file_system::direct_io(root, &file, device),
            Err(_) => file_system::direct_io_of_device(root, device),
        };
    }
    let mounts = if parent_exists { Vec::new() } else { mounts::read(root) };
    let mount_point =
        mounts::holding(&mounts, &resolve::on_machine(root, &existing_parent)).map(|mount| mount.point.clone());
    let not_writable = sys::file::may_write(&existing_parent).err().map(|error| error.to_string());
    TargetKind::Missing(MissingFacts {
        existing_parent,
        device,
        parent_exists,
        not_writable,
        mount_point,
        direct_io,
        file_system,
    })
}

fn regular(root: &Root, file_systems: &mut FileSystems<'_>, path: &Path, question: &TargetQuestion) -> TargetKind {
    // All facts are those of one opened file, whatever happens to its name meanwhile. A write-only file can still be a
    // target.
    let opened = sys::file::open_to_look(path).or_else(|error| sys::file::open_to_try_writing(path).map_err(|_| error));
    let looked = || -> io::Result<(File, Metadata, FileState, sys::file::FileSystemStat)> {
        let file = opened?;
        let metadata = file.metadata()?;
        let state = sys::file_identity::state(&file)?;
        let stat = sys::file::file_system(&file)?;
        Ok((file, metadata, state, stat))
    };
    let (file, metadata, state, stat) = match looked() {
        Ok((_, metadata, ..)) if !metadata.is_file() => return inaccessible("the file was replaced during the check"),
        Ok(looked) => looked,
        Err(error) => return inaccessible(error.to_string()),
    };
    let device = state.device;
    let mut facts = RegularFacts {
        identity: FileIdentity { device, inode: state.inode },
        size_bytes: state.size_bytes,
        modified_ns: state.modified_ns,
        allocated_bytes: metadata.blocks().saturating_mul(512),
        direct_io: file_system::direct_io(root, &file, device),
        file_system: file_systems.describe(device, stat),
        ..RegularFacts::default()
    };
    if question.creates.is_none() && !facts.file_system.is_pseudo {
        look_at_layout(&file, &mut facts);
    }
    if question.writes || question.creates.is_some() {
        look_for_owners(root, &file, path, &state, question, &mut facts);
    }
    TargetKind::Regular(facts)
}

/// The parts without data, and the form of the others. With too many parts, the last one covers the rest.
fn look_at_layout(file: &File, facts: &mut RegularFacts) {
    const PARTS_MAX: usize = 256;
    let mut parts: Vec<UnwrittenPart> = Vec::new();
    let add = |range: std::ops::Range<u64>| {
        let unwritten_bytes = range.end - range.start;
        let is_full = parts.len() == PARTS_MAX;
        match parts.last_mut() {
            Some(last) if is_full => {
                last.length_bytes = range.end - last.start_bytes;
                last.unwritten_bytes += unwritten_bytes;
            }
            _ => parts.push(UnwrittenPart { start_bytes: range.start, length_bytes: unwritten_bytes, unwritten_bytes }),
        }
    };
    if let Ok(forms) = sys::extents::for_each_unwritten(file, facts.size_bytes, add) {
        facts.unwritten = Some(parts);
        facts.encoded_bytes = forms.map(|forms| forms.encoded_bytes);
        facts.shared_bytes = forms.map(|forms| forms.shared_bytes);
    }
}

/// Facts needed before anything is written to a file.
fn look_for_owners(
    root: &Root,
    file: &File,
    path: &Path,
    state: &FileState,
    question: &TargetQuestion,
    facts: &mut RegularFacts,
) {
    if facts.file_system.is_pseudo {
        let name = &facts.file_system.name;
        facts.origin = Origin::Foreign { evidence: format!("it is on {name}, a pseudo file system without storage") };
        facts.openers = Openers::NoneFoundInProc { reason: format!("files on {name} are not checked") };
        facts.not_writable = Some(format!("it is on {name}, a pseudo file system without storage"));
        return;
    }
    facts.origin = origin::determine(file, state, question.shared_run.as_deref());
    if question.creates.is_some() && matches!(facts.origin, Origin::Ours { .. }) {
        facts.fully_written = sys::extents::is_fully_written(file, facts.size_bytes).ok();
    }
    facts.openers =
        if question.shared { openers::of_shared(root, file, path) } else { openers::find(root, file, path) };
    facts.not_writable = not_writable(path, facts);
}

fn not_writable(path: &Path, facts: &RegularFacts) -> Option<String> {
    if facts.file_system.read_only {
        return Some("its file system is mounted read-only".to_owned());
    }
    let allowed = sys::file::may_write(path);
    // Opening shows more (a program that is running, for one), but would break another user's lease on the file, and
    // makes an overlay copy a foreign file to its upper layer. While another process uses it nothing is written anyway.
    let tried = match (&facts.openers, &facts.origin) {
        (Openers::Some { .. }, _) | (_, Origin::Foreign { .. }) => allowed,
        _ => allowed.and_then(|()| sys::file::open_to_try_writing(path).map(drop)),
    };
    tried.err().map(|error| error.to_string())
}
