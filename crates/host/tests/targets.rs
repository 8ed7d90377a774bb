//! Facts about real paths: kinds, links, marks, alignment, and that inspection changes nothing.

#[allow(dead_code)]
mod support;

use host::{Root, TargetQuestion};
use model::device_guard::FileIdentity;
use model::facts::{
    CharacterDevice, DirectIo, Fill, MissingFacts, Openers, Origin, RegularFacts, TargetFacts, TargetKind,
};
use model::mark::{ATTRIBUTE, Mark, MarkState};
use model::units::Bytes;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::Machine;

const MIB: usize = 1 << 20;

fn directory() -> tempfile::TempDir {
    // Beside the build, not in /tmp, which may be a file system of another kind.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

fn reading(path: &Path) -> TargetQuestion {
    TargetQuestion { path: path.to_owned(), direct: true, ..TargetQuestion::default() }
}

fn writing(path: &Path) -> TargetQuestion {
    TargetQuestion { writes: true, ..reading(path) }
}

fn creating(path: &Path, size: usize) -> TargetQuestion {
    TargetQuestion { creates: Some((Bytes(size as u64), Fill::Ramp)), ..reading(path) }
}

fn ask_on(root: &Root, question: TargetQuestion) -> TargetFacts {
    let path = question.path.clone();
    host::targets(root, &[question]).remove(&path).expect("an answer for each path")
}

fn ask(question: TargetQuestion) -> TargetFacts {
    ask_on(&Root::machine(), question)
}

fn regular(question: TargetQuestion) -> RegularFacts {
    match ask(question).kind {
        TargetKind::Regular(facts) => facts,
        other => panic!("no regular file: {other:?}"),
    }
}

fn missing(question: TargetQuestion) -> MissingFacts {
    match ask(question).kind {
        TargetKind::Missing(facts) => facts,
        other => panic!("not missing: {other:?}"),
    }
}

/// False, with a printed reason, where files cannot have a mark.
fn marked(path: &Path, text: &str) -> bool {
    let file = File::options().write(true).open(path).expect("opens");
    match sys::xattr::set(&file, ATTRIBUTE, text.as_bytes()) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("skipped: no extended attributes here: {error}");
            false
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("proc is mounted").uid() == 0
}

#[test]
fn a_run_that_only_reads_asks_nothing_about_owners_and_users() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, vec![1; MIB]).expect("written");
    let facts = regular(reading(&path));
    let metadata = fs::metadata(&path).expect("exists");
    assert_eq!(facts.identity, FileIdentity { device: metadata.dev(), inode: metadata.ino() });
    assert_eq!(facts.size_bytes, MIB as u64);
    assert_eq!((facts.origin, facts.openers), (Origin::NotAsked, Openers::NotAsked));
    assert_eq!((facts.fully_written, facts.not_writable), (None, None));
    assert!(!facts.file_system.is_pseudo && !facts.file_system.name.is_empty());
    assert!(facts.file_system.free_bytes > 0);
}

#[test]
fn an_unmarked_file_is_foreign_and_looking_does_not_touch_it() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, "somebody's data").expect("written");
    let before = fs::metadata(&path).expect("exists");
    let facts = regular(TargetQuestion { writes: true, ..creating(&path, MIB) });
    let after = fs::metadata(&path).expect("exists");
    assert!(matches!(facts.origin, Origin::Foreign { .. }), "{:?}", facts.origin);
    assert_eq!(facts.fully_written, None);
    assert_eq!(fs::read(&path).expect("read"), b"somebody's data");
    assert_eq!((before.mtime_nsec(), before.ctime_nsec()), (after.mtime_nsec(), after.ctime_nsec()));
}

/// The mark that fits a file's current state.
fn fitting_mark(path: &Path, content: Fill) -> Mark {
    let file = File::open(path).expect("opens");
    let state = sys::file_identity::state(&file).expect("a state");
    Mark {
        state: MarkState::Closed,
        size_bytes: state.size_bytes,
        fill: content,
        modified_ns: state.modified_ns,
        file: sys::file_identity::lasting_identity(&file).expect("an identity"),
    }
}

fn evidence(path: &Path) -> String {
    let Origin::Foreign { evidence } = regular(writing(path)).origin else { panic!("taken for ours") };
    evidence
}

#[test]
fn a_marked_file_is_ours_until_it_is_changed() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, vec![7; MIB]).expect("written");
    let mark = fitting_mark(&path, Fill::Random);
    if !marked(&path, &mark.to_string()) {
        return;
    }
    assert_eq!(regular(writing(&path)).origin, Origin::Ours { size_bytes: MIB as u64, fill: Fill::Random });
    assert_eq!(regular(writing(&path)).fully_written, None, "only who would create it asks");
    assert_eq!(regular(creating(&path, MIB)).fully_written, Some(true));
    let copy = directory.path().join("copy");
    fs::copy(&path, &copy).expect("copied");
    assert!(marked(&copy, &mark.to_string()));
    assert!(evidence(&copy).contains("this file seems to be a copy"));
    assert!(marked(&path, &Mark { state: MarkState::Open, ..mark.clone() }.to_string()));
    assert!(evidence(&path).contains("is still active"));
    assert!(marked(&path, &mark.to_string()));
    File::options().write(true).open(&path).expect("opens").write_all(b"x").expect("written");
    assert!(evidence(&path).contains("another program has written"));
    File::options().write(true).open(&path).expect("opens").set_len(2 * MIB as u64).expect("set");
    assert!(evidence(&path).contains("resized (from 1048576 bytes)"));
    assert!(marked(&path, "v1 size=2097152 fill=random"));
    assert!(evidence(&path).contains("older version"));
}

#[test]
fn a_marked_file_with_a_hole_is_not_fully_written() {
    let directory = directory();
    let path = directory.path().join("file");
    File::create(&path).expect("created").set_len(MIB as u64).expect("set");
    if marked(&path, &fitting_mark(&path, Fill::Zero).to_string()) {
        assert_eq!(regular(creating(&path, MIB)).fully_written, Some(false));
    }
}

#[test]
fn a_mark_that_is_not_understood_protects_the_file() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, vec![0; 4096]).expect("written");
    if marked(&path, "v9 size=4096 fill=ramp") {
        assert!(matches!(regular(writing(&path)).origin, Origin::Foreign { .. }));
    }
}

#[test]
fn an_empty_file_holds_nothing_to_lose() {
    let directory = directory();
    let path = directory.path().join("file");
    File::create(&path).expect("created");
    assert_eq!(regular(creating(&path, MIB)).origin, Origin::Empty);
}

#[test]
fn links_are_followed_and_named() {
    let directory = directory();
    let base = fs::canonicalize(directory.path()).expect("exists");
    fs::write(base.join("file"), "x").expect("written");
    symlink("file", base.join("link")).expect("linked");
    symlink("nothing", base.join("dangling")).expect("linked");
    assert_eq!(ask(reading(&base.join("file"))).resolved, None);
    let followed = ask(reading(&base.join("link")));
    assert_eq!(followed.resolved, Some(base.join("file")));
    assert!(matches!(followed.kind, TargetKind::Regular(_)));
    let dangling = ask(reading(&base.join("dangling")));
    assert_eq!(dangling.resolved, Some(base.join("nothing")));
    assert!(matches!(dangling.kind, TargetKind::Missing(_)));
}

#[test]
fn a_missing_file_knows_where_it_would_go() {
    let directory = directory();
    let here = missing(creating(&directory.path().join("new"), MIB));
    assert_eq!((here.existing_parent.as_path(), here.parent_exists), (directory.path(), true));
    assert_eq!(here.device, fs::metadata(directory.path()).expect("exists").dev());
    assert!(here.file_system.free_bytes > 0 && !here.file_system.is_pseudo);
    let below = missing(creating(&directory.path().join("a/b/new"), MIB));
    assert_eq!((below.existing_parent.as_path(), below.parent_exists), (directory.path(), false));
    let relative = missing(reading(Path::new("no-such-file")));
    assert_eq!((relative.existing_parent.as_path(), relative.parent_exists), (Path::new("."), true));
    assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 0, "nothing is left behind");
}

#[test]
fn a_new_file_needs_the_alignment_that_a_real_one_tells() {
    let directory = directory();
    let path = directory.path().join("file");
    let before = missing(creating(&path, MIB)).direct_io;
    fs::write(&path, vec![1; MIB]).expect("written");
    let after = regular(reading(&path)).direct_io;
    assert_eq!(before, after);
    if let DirectIo::Aligned { memory_bytes, offset_bytes } = after {
        assert!(memory_bytes.is_power_of_two() && offset_bytes.is_power_of_two());
    }
}

#[test]
fn what_can_be_no_target_is_named_without_waiting_for_it() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    let made = Command::new("mkfifo").arg(at("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    // In the short-named system directory, since the names of sockets are limited to 107 bytes.
    let short = tempfile::tempdir().expect("a temporary directory");
    let socket = short.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    fs::write(at("file"), "").expect("written");
    let what = |path: PathBuf| match ask(creating(&path, MIB)).kind {
        TargetKind::Unusable { what } => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(at("fifo")), "a FIFO");
    assert_eq!(what(socket), "a socket");
    assert_eq!(what(directory.path().to_owned()), "a directory");
    assert_eq!(what(at("new/")), "a directory name (it ends with '/')");
    for path in [PathBuf::new(), at("file/below")] {
        let kind = ask(creating(&path, MIB)).kind;
        assert!(matches!(kind, TargetKind::Inaccessible { .. }), "{kind:?}");
    }
}

#[test]
fn character_devices_are_told_apart_by_number() {
    for (path, device) in [
        ("/dev/null", CharacterDevice::Null),
        ("/dev/zero", CharacterDevice::Zero),
        ("/dev/full", CharacterDevice::Other),
    ] {
        assert_eq!(ask(writing(Path::new(path))).kind, TargetKind::Character(device), "{path}");
    }
}

#[test]
fn doors_to_the_kernel_are_no_storage() {
    let facts = regular(writing(Path::new("/proc/self/comm")));
    assert_eq!(facts.file_system.name, "proc");
    assert!(facts.file_system.is_pseudo && facts.not_writable.is_some());
    assert!(matches!(facts.origin, Origin::Foreign { .. }));
    assert!(missing(creating(Path::new("/proc/no-such-file"), MIB)).file_system.is_pseudo);
    let device_of = |path: &str| fs::metadata(path).expect("exists").dev();
    if device_of("/dev") == device_of("/") {
        return eprintln!("skipped: /dev is a plain directory here");
    }
    let devices = missing(creating(Path::new("/dev/no-such-disk"), MIB)).file_system;
    assert!(devices.is_pseudo, "{devices:?}");
}

#[test]
fn a_tmpfs_at_dev_is_no_storage_and_elsewhere_it_is() {
    let shared_memory = Path::new("/dev/shm");
    let Ok(metadata) = fs::metadata(shared_memory) else { return eprintln!("skipped: no /dev/shm here") };
    let (major, minor) = sys::file::major_minor(metadata.dev());
    let at = |point: &str| {
        let machine = Machine::new(&format!(
            "proc/self/mountinfo = 24 27 {major}:{minor} / {point} rw,relatime - tmpfs tmpfs rw"
        ));
        match ask_on(&machine.root(), creating(&shared_memory.join("no-such-file"), MIB)).kind {
            TargetKind::Missing(facts) => facts.file_system.is_pseudo,
            other => panic!("{other:?}"),
        }
    };
    assert!(at("/dev"));
    assert!(!at("/dev/shm"));
}

/// A mounted file system without extended attributes; unmounted when dropped.
struct Unmarkable(tempfile::TempDir);

impl Unmarkable {
    /// `None`, with a printed reason, where this process may not mount.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "ramfs", "none"]).arg(directory.path()).stderr(Stdio::null());
        if !is_root() || !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: mounting is not possible here");
            return None;
        }
        Some(Self(directory))
    }
}

impl Drop for Unmarkable {
    fn drop(&mut self) {
        // A failure cannot be handled here; the removal of the directory would then fail too.
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn without_marks_nothing_is_ours() {
    let Some(place) = Unmarkable::mount() else { return };
    let path = place.0.path().join("file");
    fs::write(&path, (0..MIB).map(|index| index as u8).collect::<Vec<_>>()).expect("written");
    assert_eq!(regular(creating(&path, MIB)).file_system.name, "ramfs");
    assert!(evidence(&path).contains("does not support extended attributes"));
}

#[test]
fn a_read_only_file_system_says_so() {
    let Some(place) = Unmarkable::mount() else { return };
    let path = place.0.path().join("file");
    fs::write(&path, "x").expect("written");
    let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(place.0.path()).status();
    assert!(mounted.expect("mount runs").success());
    let facts = regular(writing(&path));
    assert!(facts.file_system.read_only);
    assert_eq!(facts.not_writable.as_deref(), Some("its file system is mounted read-only"));
    assert!(missing(creating(&place.0.path().join("new"), MIB)).file_system.read_only);
}

#[test]
fn a_read_only_file_says_why_it_cannot_be_written() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, "x").expect("written");
    assert_eq!(regular(writing(&path)).not_writable, None);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("set");
    if is_root() {
        return eprintln!("skipped: root may write to anything");
    }
    let reason = regular(writing(&path)).not_writable.expect("not writable");
    assert!(reason.contains("ermission denied"), "{reason}");
}

#[test]
fn an_immutable_file_cannot_be_written_even_by_root() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, "x").expect("written");
    let change = |flag: &str| Command::new("chattr").arg(flag).arg(&path).status().is_ok_and(|status| status.success());
    if !change("+i") {
        return eprintln!("skipped: chattr +i is not possible here");
    }
    let reason = regular(writing(&path)).not_writable;
    assert!(change("-i"));
    assert!(reason.is_some());
}

#[test]
fn questions_about_the_same_path_are_answered_together() {
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, "x").expect("written");
    let answers = host::targets(&Root::machine(), &[reading(&path), writing(&path), reading(&path)]);
    assert_eq!(answers.len(), 1);
    let TargetKind::Regular(facts) = &answers[&path].kind else { panic!("a regular file") };
    assert_ne!(facts.openers, Openers::NotAsked);
}

#[test]
fn a_block_device_tells_its_size() {
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let size_of =
        |name: &str| -> Option<u64> { fs::read_to_string(format!("/sys/block/{name}/size")).ok()?.trim().parse().ok() };
    let mut names = disks.filter_map(|entry| entry.file_name().into_string().ok());
    let Some(name) =
        names.find(|name| size_of(name).is_some_and(|size| size > 0) && Path::new("/dev").join(name).exists())
    else {
        return eprintln!("skipped: no block device here");
    };
    let TargetKind::Block(facts) = ask(reading(&Path::new("/dev").join(&name))).kind else { panic!("a block device") };
    assert_eq!(Some(facts.size_bytes), size_of(&name).map(|size| size * 512));
    assert!(facts.logical_block_bytes.is_power_of_two());
    assert_eq!(facts.not_readable.is_none(), File::open(Path::new("/dev").join(&name)).is_ok());
}
