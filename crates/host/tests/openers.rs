//! Other users of a file: the kernel's answer and the names of the users.
//!
//! Children inherit copies of all descriptors for a moment when they are started, which the kernel would report as
//! users; so the tests here run one after the other.

use host::{Root, TargetQuestion};
use model::device_guard::FileIdentity;
use model::facts::{Openers, TargetKind};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A file of some content in a directory of its own.
struct Subject {
    _turn: MutexGuard<'static, ()>,
    directory: tempfile::TempDir,
    path: PathBuf,
}

fn subject() -> Subject {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let path = directory.path().join("file");
    fs::write(&path, vec![1; 1 << 20]).expect("written");
    Subject { _turn: turn, directory, path }
}

fn openers_on(root: &Root, path: &Path) -> Openers {
    let question = TargetQuestion { path: path.to_owned(), writes: true, ..TargetQuestion::default() };
    match host::targets(root, &[question]).remove(path).map(|facts| facts.kind) {
        Some(TargetKind::Regular(facts)) => facts.openers,
        other => panic!("no regular file: {other:?}"),
    }
}

fn openers(path: &Path) -> Openers {
    openers_on(&Root::machine(), path)
}

/// The users, as one text.
fn users(openers: Openers) -> String {
    match openers {
        Openers::Some { who } => who.join(", "),
        other => panic!("nobody found: {other:?}"),
    }
}

/// False, with a printed reason, where the kernel grants no leases at all.
fn leases_work(subject: &Subject) -> bool {
    let works = openers(&subject.path) == Openers::None;
    if !works {
        eprintln!("skipped: no leases on this file system");
    }
    works
}

/// A shell that runs `script` with `path` as $1, and then waits for its standard input to end.
/// Returns once the script has run.
fn holder(program: &[&str], script: &str, path: &Path) -> Child {
    let script = format!("{script} && echo ready && read -r wait");
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .args(["sh", "-c", &script, "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    let mut ready = [0; 6];
    let read = child.stdout.as_mut().expect("piped").read_exact(&mut ready);
    if read.is_err() {
        eprintln!("the holder said nothing");
    }
    child
}

fn release(mut child: Child) {
    // Closing its input ends it.
    drop(child.stdin.take());
    child.wait().expect("it ends");
}

fn succeeds(program: &str, arguments: &[&Path]) -> bool {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("proc is mounted").uid() == 0
}

#[test]
fn a_file_of_nobody_elses_is_free_and_stays_so() {
    let subject = subject();
    if leases_work(&subject) {
        assert_eq!(openers(&subject.path), Openers::None, "looking twice changes nothing");
        File::create(&subject.path).expect("no lease is left behind");
    }
}

#[test]
fn another_process_is_named_even_through_a_hard_link() {
    let subject = subject();
    let link = subject.directory.path().join("link");
    fs::hard_link(&subject.path, &link).expect("linked");
    for script in ["exec 3<\"$1\"", "exec 3>>\"$1\""] {
        let child = holder(&["env"], script, &link);
        let found = openers(&subject.path);
        let id = child.id();
        release(child);
        assert_eq!(users(found), format!("process {id} (sh)"));
    }
    if leases_work(&subject) {
        assert_eq!(openers(&subject.path), Openers::None, "free again afterwards");
    }
}

#[test]
fn a_process_that_only_maps_the_file_is_named() {
    let subject = subject();
    let program = subject.directory.path().join("program");
    fs::copy("/bin/sleep", &program).expect("copied");
    let mut running = Command::new(&program).arg("60").spawn().expect("runs");
    let id = running.id();
    // A new process continues before its program has been mapped.
    let is_mapped = || fs::read_to_string(format!("/proc/{id}/maps")).is_ok_and(|maps| maps.contains("/program"));
    while !is_mapped() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let found = openers(&program);
    running.kill().expect("ended");
    running.wait().expect("ended");
    assert_eq!(users(found), format!("process {id} (program), which has it mapped"));
}

#[test]
fn this_process_itself_is_no_stranger() {
    let subject = subject();
    if !leases_work(&subject) {
        return;
    }
    let _open = File::open(&subject.path).expect("opens");
    let Openers::NoneFoundInProc { reason } = openers(&subject.path) else { panic!("not told apart") };
    assert!(reason.contains("this process has the file open"), "{reason}");
}

#[test]
fn a_file_behind_a_loop_device_is_in_use() {
    let subject = subject();
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&subject.path).output();
    let Some(output) = attached.ok().filter(|output| output.status.success()) else {
        return eprintln!("skipped: losetup is not possible here");
    };
    let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let found = openers(&subject.path);
    let detached = succeeds("losetup", &[Path::new("--detach"), Path::new(&device)]);
    assert!(detached);
    assert_eq!(users(found), format!("loop device {device}"));
}

#[test]
fn active_swap_is_in_use() {
    let subject = subject();
    fs::set_permissions(&subject.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
    if !succeeds("mkswap", &[&subject.path]) || !succeeds("swapon", &[&subject.path]) {
        return eprintln!("skipped: swapon is not possible here");
    }
    let found = openers(&subject.path);
    assert!(succeeds("swapoff", &[&subject.path]));
    assert_eq!(users(found), "active swap");
}

#[test]
fn a_process_in_another_mount_namespace_is_named() {
    let subject = subject();
    if !succeeds("unshare", &[Path::new("--mount"), Path::new("true")]) {
        return eprintln!("skipped: unshare --mount is not possible here");
    }
    let child = holder(&["unshare", "--mount"], "exec 3<\"$1\"", &subject.path);
    let found = openers(&subject.path);
    release(child);
    assert!(users(found).contains("(sh)"));
}

#[test]
fn a_user_that_proc_does_not_show_is_reported_all_the_same() {
    let subject = subject();
    if !leases_work(&subject) {
        return;
    }
    let child = holder(&["env"], "exec 3<\"$1\"", &subject.path);
    // As in a container: a /proc that shows none of the others.
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let found = openers_on(&Root::recorded(elsewhere.path()), &subject.path);
    release(child);
    assert!(users(found).contains("not visible from here"));
}

#[test]
fn without_a_lease_proc_is_searched_and_that_is_said() {
    // A file that is not ours and that nobody writes to; only root could lease it.
    if is_root() {
        return eprintln!("skipped: root may lease any file");
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Openers::NoneFoundInProc { reason } = openers(Path::new("/etc/hostname")) else {
        return eprintln!("skipped: /etc/hostname is in use");
    };
    assert!(reason.contains("only the file's owner"), "{reason}");
}

#[test]
fn recorded_lists_of_the_kernel_name_the_file_by_any_way_to_it() {
    let subject = subject();
    if !leases_work(&subject) {
        return;
    }
    let metadata = fs::metadata(&subject.path).expect("exists");
    let machine = tempfile::tempdir().expect("a temporary directory");
    let write = |path: &str, content: &str| {
        let path = machine.path().join(path);
        fs::create_dir_all(path.parent().expect("has a directory")).expect("made");
        fs::write(path, content).expect("written");
    };
    let (major, minor) = sys::file::major_minor(metadata.dev());
    let (inode, name) = (metadata.ino(), subject.path.display());
    write("proc/7/status", "Name:\tpostgres\n");
    fs::create_dir_all(machine.path().join("proc/7/fd")).expect("made");
    symlink(&subject.path, machine.path().join("proc/7/fd/3")).expect("linked");
    write("proc/8/status", "Name:\tmapper\n");
    write("proc/8/maps", &format!("7f00-7f01 rw-s 00000000 {major:02x}:{minor:02x} {inode}   /another/name\n"));
    write("proc/9/maps", &format!("7f00-7f01 rw-s 00000000 ff:ff {inode}   {name}\n"));
    write("proc/10/maps", &format!("7f00-7f01 rw-s 00000000 ff:ff {inode}   /another/file\ngarbage\n"));
    write("proc/swaps", &format!("Filename Type Size\n{name} file 1024\n"));
    write("sys/block/loop3/loop/backing_file", &format!("{name}\n"));
    write("sys/kernel/config/nvmet/subsystems/a/namespaces/1/device_path", &format!("{name}\n"));
    fs::create_dir_all(machine.path().join("proc/11/ns")).expect("made");
    symlink("mnt:[7]", machine.path().join("proc/11/ns/mnt")).expect("linked");
    symlink("/", machine.path().join("proc/11/root")).expect("linked");
    write("proc/11/mountinfo", &format!("30 1 0:50 / /image rw - erofs {name} ro\n"));
    // Another process must really have it open, or the kernel would grant a lease.
    let child = holder(&["env"], "exec 3<\"$1\"", &subject.path);
    let found = openers_on(&Root::recorded(machine.path()), &subject.path);
    release(child);
    assert_eq!(
        users(found),
        "active swap, loop device /dev/loop3, the NVMe target of subsystem a, process 7 (postgres), process 8 (mapper), \
         which has it mapped, process 9, which has it mapped, the file system mounted at '/image'"
    );
}

#[test]
fn users_of_several_files_are_found_at_once() {
    let subject = subject();
    let other = subject.directory.path().join("other");
    fs::write(&other, [1; 4096]).expect("written");
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).expect("exists");
        FileIdentity { device: metadata.dev(), inode: metadata.ino() }
    };
    let files = [(subject.path.clone(), identity(&subject.path)), (other.clone(), identity(&other))];
    // Files open in this process do not count.
    let _open = File::open(&subject.path).expect("opens");
    assert_eq!(host::users_of_files(&Root::machine(), &files), BTreeMap::new());
    let child = holder(&["env"], "exec 3<\"$1\"", &other);
    let found = host::users_of_files(&Root::machine(), &files);
    let id = child.id();
    release(child);
    assert_eq!(found, BTreeMap::from([(files[1].1, vec![format!("process {id} (sh)")])]));
    assert_eq!(host::users_of_files(&Root::machine(), &[]), BTreeMap::new());
}

#[test]
fn a_loop_device_is_found_whatever_its_file_is_called_now() {
    let subject = subject();
    let link = subject.directory.path().join("link");
    fs::hard_link(&subject.path, &link).expect("linked");
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&link).output();
    let Some(output) = attached.ok().filter(|output| output.status.success()) else {
        return eprintln!("skipped: losetup is not possible here");
    };
    let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let by_another_name = openers(&subject.path);
    fs::remove_file(&link).expect("removed");
    let by_a_deleted_name = openers(&subject.path);
    fs::write(&link, "another file").expect("written");
    let name_of_another = openers(&link);
    assert!(succeeds("losetup", &[Path::new("--detach"), Path::new(&device)]));
    assert_eq!(users(by_another_name), format!("loop device {device}"));
    assert_eq!(users(by_a_deleted_name), format!("loop device {device}"));
    assert!(!matches!(name_of_another, Openers::Some { .. }), "{name_of_another:?}");
}

#[test]
fn whoever_opens_a_file_while_it_is_asked_about_sends_no_deadly_signal() {
    let subject = subject();
    if !leases_work(&subject) {
        return;
    }
    let mut child = Command::new("sh")
        .args(["-c", "while :; do : <\"$1\"; : >>\"$1\"; done", "sh"])
        .arg(&subject.path)
        .spawn()
        .expect("a shell starts");
    for _ in 0..200 {
        openers(&subject.path);
    }
    child.kill().expect("ended");
    child.wait().expect("ended");
    std::io::stderr().flush().expect("this process is still there");
}
