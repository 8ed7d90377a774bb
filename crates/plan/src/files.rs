//! The files of a run in their state at each step: facts, and the changes by the plan so far.

use crate::alignment;
use crate::device_guard;
use crate::findings::{Findings, RefusalKind};
use crate::guard::{self, Touch};
use crate::space::Space;
use crate::words;
use model::by_path::ByPath;
use model::device_guard::FileIdentity;
use model::facts::{
    CharacterDevice, DirectIo, Facts, Fill, MissingFacts, Origin, RegularFacts, TargetFacts, TargetKind,
};
use model::note::Note;
use model::operation::Operation;
use model::plan::{Blocks, Creation, Expected, Preparation};
use model::profile::{Append, Rotation};
use model::units::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The user's choices outside the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// `--overwrite`: foreign files may be replaced and written to.
    pub overwrite: bool,
    /// Our own files that are reused.
    pub reuse: Reuse,
    /// `--delete-after`: files that the run makes or reuses are deleted once it is over.
    pub delete_after: bool,
    /// `--destroy`: names of block devices that may be written to.
    pub destroy: Vec<String>,
    /// `--shared`: files that several hosts use together.
    pub shared: SharedFiles,
    /// `--strict`: no directory is created.
    pub strict: bool,
}

/// Files that several hosts use together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFiles {
    /// Their paths, the same on all hosts.
    pub paths: BTreeSet<PathBuf>,
    /// The run of all hosts, whose first host marks the files.
    pub run: String,
    /// The role of this host.
    pub stage: SharedStage,
}

/// The role of a host for files that several hosts share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedStage {
    /// It creates them, like a single host: the first host.
    #[default]
    Creates,
    /// It waits until the first host has created them: the other hosts, before that.
    Waits,
    /// It uses them as created by the first host.
    Uses,
}

impl SharedFiles {
    /// True if the first host made the file of this path, or will make it.
    fn is_of_another_host(&self, path: &Path) -> bool {
        self.stage != SharedStage::Creates && self.paths.contains(path)
    }

    /// The shared run whose hosts write to the file, if other hosts do.
    pub(crate) fn shared_run(&self, path: &Path) -> Option<String> {
        (self.stage == SharedStage::Uses && self.paths.contains(path)).then(|| self.run.clone())
    }
}

/// The files of this program with the size of `-c` that are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// None: they are recreated (`--recreate`).
    Nothing,
    /// Those with their initial content.
    #[default]
    AsMade,
    /// Also those that tests have overwritten since, as between the points of a sweep.
    WrittenOver,
}

/// Identity of the file of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileKey {
    Existing(FileIdentity),
    New(PathBuf),
}

/// A file as requested by `-c` or `--append`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedFile {
    pub(crate) size_bytes: u64,
    pub(crate) fill: Fill,
    pub(crate) blocks: Blocks,
    /// The option, for messages.
    pub(crate) option: &'static str,
}

/// The option for files that threads append to.
const APPEND: &str = "--append";

impl RequestedFile {
    /// Written from start to end (`-c`).
    pub(crate) const fn whole(size_bytes: u64, fill: Fill) -> Self {
        Self { size_bytes, fill, blocks: Blocks::Written, option: "-c" }
    }

    /// The file that the only thread of a target appends to; a recycled one gets `fill`.
    pub(crate) const fn log(append: Append, fill: Fill) -> Self {
        // The content of a file that is truncated repeatedly is unknown beforehand.
        let (blocks, fill) = match append.rotation {
            Rotation::Truncate => (Blocks::None, Fill::Mixed),
            Rotation::Preallocate => (Blocks::Reserved, Fill::Mixed),
            Rotation::Recycle => (Blocks::Written, fill),
        };
        Self { size_bytes: append.size.get(), fill, blocks, option: APPEND }
    }

    /// True if a file that was made for the first request may be used for the second.
    fn is_as_good_as(self, other: Self) -> bool {
        let Self { size_bytes, fill, blocks, option: _ } = other;
        blocks == Blocks::Written && (self.size_bytes, self.fill, self.blocks) == (size_bytes, fill, blocks)
    }
}

/// A file that an entry of the plan makes or reuses.
#[derive(Clone, Copy, Debug)]
struct PlannedFile {
    wanted: RequestedFile,
    /// True if a test has written other content to it since.
    is_mixed: bool,
    /// True if it is reused, and not written from start to end.
    is_reused: bool,
}

/// The state of a target when threads open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetState {
    pub(crate) size_bytes: u64,
    pub(crate) expect: Expected,
    pub(crate) direct_io: DirectIo,
    /// Its file system, or its kind if it is not a file.
    pub(crate) place: String,
    /// Preparation before that, if this target does not create it.
    pub(crate) preparation: Preparation,
}

/// Facts about the targets, changed by the plan as it grows.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    facts: &'a Facts,
    targets: ByPath<'a, TargetFacts>,
    choices: &'a Choices,
    made: BTreeMap<FileKey, PlannedFile>,
    precreated: BTreeSet<PathBuf>,
    space: Space,
}

impl PlannedFile {
    const fn new(wanted: RequestedFile, is_reused: bool) -> Self {
        Self { wanted, is_mixed: false, is_reused }
    }
}

impl<'a> Files<'a> {
    pub(crate) fn new(facts: &'a Facts, choices: &'a Choices) -> Self {
        let targets = ByPath::new(&facts.targets);
        Self { facts, targets, choices, made: BTreeMap::new(), precreated: BTreeSet::new(), space: Space::default() }
    }

    pub(crate) fn facts(&self) -> &'a Facts {
        self.facts
    }

    /// Known facts of a target.
    pub(crate) fn target_facts(&self, path: &Path) -> Option<&'a TargetFacts> {
        self.targets.get(path)
    }

    /// See [`SharedFiles::shared_run`].
    pub(crate) fn shared_run(&self, path: &Path) -> Option<String> {
        self.choices.shared.shared_run(path)
    }

    /// Refuses creations that do not fit into the free space together.
    pub(crate) fn check_space(&self, findings: &mut Findings) {
        self.space.check(findings);
    }

    /// Prevents targets of this path from being created again before their timespan.
    pub(crate) fn mark_precreated(&mut self, path: &Path) {
        self.precreated.insert(path.to_owned());
    }

    fn target(&self, path: &Path, findings: &mut Findings) -> Option<&'a TargetFacts> {
        let Some(target) = self.target_facts(path) else {
            findings
                .refuse_file(RefusalKind::Impossible, format!("'{}' was not checked before the run", path.display()));
            return None;
        };
        guard::check_name(path, target, findings).then_some(target)
    }

    /// True if an entry of the plan makes or reuses the file of this path.
    pub(crate) fn makes(&self, path: &Path) -> bool {
        self.facts
            .targets
            .get(path)
            .and_then(|target| file_key(path, target))
            .is_some_and(|key| self.made.contains_key(&key))
    }

    /// The effect of `-c` on this path. `None` = refused.
    pub(crate) fn create(
        &mut self,
        path: &Path,
        wanted: RequestedFile,
        findings: &mut Findings,
    ) -> Option<Preparation> {
        if self.precreated.contains(path) {
            return Some(Preparation::MadeBefore);
        }
        let target = self.target(path, findings)?;
        let name = words::path(path, target);
        match &target.kind {
            TargetKind::Missing(_) | TargetKind::Regular(_) if self.choices.shared.is_of_another_host(path) => {
                self.create_shared(path, target, wanted, findings)
            }
            TargetKind::Missing(missing) => self.make(path, target, missing, wanted, findings),
            TargetKind::Regular(file) => self.remake(path, target, file, wanted, findings),
            TargetKind::Block(_) | TargetKind::Character(_) if wanted.option == APPEND => {
                findings.refuse_file(RefusalKind::Invalid, format!("{name} is a device; {APPEND} needs a file"));
                None
            }
            // As in DiskSpd, -c creates the files on its line and leaves devices as they are.
            TargetKind::Block(_) | TargetKind::Character(_) => {
                let reason = format!("{name} is a device, whose size it does not change");
                findings.note(Note::OptionWithoutEffect { option: wanted.option.to_owned(), reason });
                Some(Preparation::Keep)
            }
            TargetKind::Unusable { what } => {
                findings.refuse_file(
                    RefusalKind::Invalid,
                    format!("{name} is {what}; {} creates regular files only", wanted.option),
                );
                None
            }
            TargetKind::Inaccessible { reason } => {
                findings.refuse_file(RefusalKind::Impossible, format!("{name} cannot be checked: {reason}"));
                None
            }
        }
    }

    /// The effect of `-c` if the first of several hosts makes the file for all.
    fn create_shared(
        &mut self,
        path: &Path,
        target: &TargetFacts,
        wanted: RequestedFile,
        findings: &mut Findings,
    ) -> Option<Preparation> {
        let name = words::path(path, target);
        let key = file_key(path, target)?;
        let is_there = self.choices.shared.stage == SharedStage::Uses;
        let RequestedFile { size_bytes, .. } = wanted;
        match &target.kind {
            TargetKind::Regular(file) if is_there || is_good(file, wanted, self.choices.reuse) => {
                let is_it = matches!(&file.origin, Origin::Ours { size_bytes: made, .. } if *made == size_bytes);
                if !is_it || file.size_bytes != size_bytes {
                    let found = guard::foreign(&file.origin).unwrap_or_else(|| counted(file.size_bytes, "byte"));
                    findings.refuse_file(
                        RefusalKind::Impossible,
                        format!(
                            "{name} is not the file of {} that the first host made: {found}",
                            counted(size_bytes, "byte")
                        ),
                    );
                    return None;
                }
                self.made.insert(key, PlannedFile::new(wanted, true));
                Some(Preparation::Reuse { path: path.to_owned() })
            }
            TargetKind::Regular(file) => {
                self.made.insert(key, PlannedFile::new(wanted, false));
                let touch = Touch::Replace(wanted.option);
                let may = guard::may_touch(&name, path, file, touch, self.choices.overwrite, findings);
                may.then_some(Preparation::MadeBefore)
            }
            _ if is_there => {
                findings.refuse_file(
                    RefusalKind::Impossible,
                    format!("{name} does not exist although the first host has made it: the hosts do not share its directory"),
                );
                None
            }
            _ => {
                self.made.insert(key, PlannedFile::new(wanted, false));
                Some(Preparation::MadeBefore)
            }
        }
    }

    /// Creates a missing file.
    fn make(
        &mut self,
        path: &Path,
        target: &TargetFacts,
        missing: &MissingFacts,
        wanted: RequestedFile,
        findings: &mut Findings,
    ) -> Option<Preparation> {
        let key = new_key(path, target);
        if self.is_made(&key, wanted) {
            return Some(Preparation::MadeBefore);
        }
        // Known from here on, even if refused: later uses do not report it as missing.
        self.made.insert(key, PlannedFile::new(wanted, false));
        let name = words::path(path, target);
        if !guard::may_make(&name, path, missing, findings) {
            return None;
        }
        let disks = self.facts.disks.get(path).into_iter().flatten().map(|disk| disk.name.as_str());
        let new_directory = missing.new_directory(target.resolved.as_deref().unwrap_or(path), disks);
        if let Some(directory) = &new_directory
            && !guard::may_make_directory(&name, directory, self.choices.strict, findings)
        {
            return None;
        }
        self.space.add(missing.device, &missing.file_system, name, wanted.size_bytes, 0);
        Some(Preparation::Create(Creation {
            path: path.to_owned(),
            size_bytes: wanted.size_bytes,
            fill: wanted.fill,
            blocks: wanted.blocks,
            replaces: None,
            new_directory,
            direct_alignment_bytes: alignment::of_creation(missing.direct_io),
        }))
    }

    /// Reuses or rewrites the existing file.
    fn remake(
        &mut self,
        path: &Path,
        target: &TargetFacts,
        file: &RegularFacts,
        wanted: RequestedFile,
        findings: &mut Findings,
    ) -> Option<Preparation> {
        let key = FileKey::Existing(file.identity);
        if self.is_made(&key, wanted) {
            return Some(Preparation::MadeBefore);
        }
        let is_first = !self.made.contains_key(&key);
        if is_first && wanted.blocks == Blocks::Written && is_good(file, wanted, self.choices.reuse) {
            self.made.insert(key, PlannedFile::new(wanted, true));
            return Some(Preparation::Reuse { path: path.to_owned() });
        }
        self.made.insert(key, PlannedFile::new(wanted, false));
        let name = words::path(path, target);
        if !guard::may_touch(&name, path, file, Touch::Replace(wanted.option), self.choices.overwrite, findings) {
            return None;
        }
        self.space.add(file.identity.device, &file.file_system, name, wanted.size_bytes, file.allocated_bytes);
        Some(Preparation::Create(Creation {
            path: path.to_owned(),
            size_bytes: wanted.size_bytes,
            fill: wanted.fill,
            blocks: wanted.blocks,
            replaces: Some(file.stamp()),
            new_directory: None,
            direct_alignment_bytes: alignment::of_creation(file.direct_io),
        }))
    }

    fn is_made(&self, key: &FileKey, wanted: RequestedFile) -> bool {
        self.made.get(key).is_some_and(|made| made.wanted.is_as_good_as(wanted) && !made.is_mixed)
    }

    /// Records that threads write `content` to `path`.
    pub(crate) fn mark_written(&mut self, path: &Path, content: Fill) {
        let Some(target) = self.target_facts(path) else { return };
        let Some(key) = file_key(path, target) else { return };
        if let Some(made) = self.made.get_mut(&key) {
            made.is_mixed |= made.wanted.fill != content;
        }
    }

    /// The state of `path` for the threads of a timespan, after its creations. `None` = refused.
    pub(crate) fn standing(
        &self,
        path: &Path,
        change: Option<Operation>,
        max_offset_bytes: u64,
        findings: &mut Findings,
    ) -> Option<TargetState> {
        let target = self.target(path, findings)?;
        let name = words::path(path, target);
        let standing = match &target.kind {
            TargetKind::Missing(missing) => {
                let key = new_key(path, target);
                let Some(made) = self.made.get(&key) else {
                    findings
                        .refuse_file(RefusalKind::Impossible, format!("{name} does not exist; -c<size> creates it"));
                    return None;
                };
                made_standing(made, Expected::Prepared, missing.direct_io, &missing.file_system.name)
            }
            TargetKind::Regular(file) => self.regular(path, &name, file, change, findings)?,
            TargetKind::Block(device) => {
                if !device_guard::may_use(&name, path, device, change, &self.choices.destroy, findings) {
                    return None;
                }
                TargetState {
                    size_bytes: device.size_bytes,
                    expect: Expected::Block {
                        device: device.device,
                        disk_sequence: device.guard.as_ref().and_then(|guard| guard.disk_sequence),
                        backing: device.guard.as_ref().and_then(|guard| guard.backing),
                        below: device.guard.as_ref().map(|guard| guard.below.clone()).unwrap_or_default(),
                    },
                    direct_io: alignment::of_device(device.logical_block_bytes),
                    place: "this block device".to_owned(),
                    preparation: Preparation::Keep,
                }
            }
            TargetKind::Character(device) => character(&name, *device, change.is_some(), max_offset_bytes, findings)?,
            TargetKind::Unusable { what } => {
                let message = format!("{name} is {what}; a target is a regular file or a block device");
                findings.refuse_file(RefusalKind::Impossible, message);
                return None;
            }
            TargetKind::Inaccessible { reason } => {
                findings.refuse_file(RefusalKind::Impossible, format!("{name} cannot be checked: {reason}"));
                return None;
            }
        };
        if standing.size_bytes == 0 {
            findings.refuse_file(RefusalKind::Impossible, format!("{name} is empty; -c<size> sets its size"));
            return None;
        }
        Some(standing)
    }

    fn regular(
        &self,
        path: &Path,
        name: &str,
        file: &RegularFacts,
        change: Option<Operation>,
        findings: &mut Findings,
    ) -> Option<TargetState> {
        let made = self.made.get(&FileKey::Existing(file.identity));
        // A file that the plan rewrites was checked when that was decided.
        let is_judged = made.is_some_and(|made| !made.is_reused);
        if let Some(by) = change.filter(|_| !is_judged)
            && !guard::may_touch(name, path, file, Touch::Change(by), self.choices.overwrite, findings)
        {
            return None;
        }
        Some(match made {
            Some(made) => made_standing(made, Expected::File(file.stamp()), file.direct_io, &file.file_system.name),
            None => TargetState {
                size_bytes: file.size_bytes,
                expect: Expected::File(file.stamp()),
                direct_io: file.direct_io,
                place: file.file_system.name.clone(),
                preparation: Preparation::Keep,
            },
        })
    }
}

/// A rewritten file keeps its identity, so that its other names still refer to it.
fn made_standing(made: &PlannedFile, expect: Expected, direct_io: DirectIo, file_system: &str) -> TargetState {
    TargetState {
        size_bytes: made.wanted.size_bytes,
        expect,
        direct_io,
        place: file_system.to_owned(),
        preparation: Preparation::MadeBefore,
    }
}

fn character(
    name: &str,
    device: CharacterDevice,
    writes: bool,
    size_bytes: u64,
    findings: &mut Findings,
) -> Option<TargetState> {
    guard::may_use_character(name, device, writes, size_bytes, findings).then(|| TargetState {
        size_bytes,
        expect: Expected::Character,
        direct_io: DirectIo::Unsupported,
        place: "a character device".to_owned(),
        preparation: Preparation::Keep,
    })
}

/// True if the file need not be rewritten.
fn is_good(file: &RegularFacts, wanted: RequestedFile, reuse: Reuse) -> bool {
    let RequestedFile { size_bytes, fill, .. } = wanted;
    let is_content_good = match reuse {
        Reuse::Nothing => false,
        Reuse::AsMade => file.origin == Origin::Ours { size_bytes, fill },
        Reuse::WrittenOver => [fill, Fill::Mixed].map(|fill| Origin::Ours { size_bytes, fill }).contains(&file.origin),
    };
    is_content_good && file.size_bytes == size_bytes && file.fully_written == Some(true)
}

fn file_key(path: &Path, target: &TargetFacts) -> Option<FileKey> {
    match &target.kind {
        TargetKind::Missing(_) => Some(new_key(path, target)),
        TargetKind::Regular(file) => Some(FileKey::Existing(file.identity)),
        _ => None,
    }
}

/// A missing file is identified by its path, without `.` components.
fn new_key(path: &Path, target: &TargetFacts) -> FileKey {
    let path = target.resolved.as_deref().unwrap_or(path);
    FileKey::New(path.components().filter(|part| *part != Component::CurDir).collect())
}
