//! Locks belong to open files, so two events in one process behave like those of two processes.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn place() -> (TempDir, EventFolder) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let folder = EventFolder::at(&place.path().join("events")).expect("a new folder");
    (place, folder)
}

fn files(place: &TempDir) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(place.path().join("events")).expect("the folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Leftovers of a killed process: the file, set, without a lock.
fn leave_behind(place: &TempDir, name: &[u8]) -> std::path::PathBuf {
    let path = place.path().join("events").join(file_name(name));
    std::fs::write(&path, [&[1, 0, 0, 0], name].concat()).expect("written");
    path
}

#[test]
fn an_event_lives_as_long_as_somebody_holds_it() {
    let _no_child = testkit::no_child();
    let (place, folder) = place();
    assert!(folder.open(b"a").expect("looked").is_none());
    let first = folder.create(b"a").expect("created");
    assert!(!first.is_set());
    let second = folder.create(b"a").expect("opened");
    let third = folder.open(b"a").expect("looked").expect("exists");
    third.set();
    drop(third);
    drop(first);
    assert!(second.is_set(), "held on by the second");
    assert!(folder.create(b"a").expect("opened").is_set());
    drop(second);
    assert!(folder.open(b"a").expect("looked").is_none());
    assert_eq!(files(&place), Vec::<std::path::PathBuf>::new());
    assert!(!folder.create(b"a").expect("created").is_set(), "a new one");
}

#[test]
fn odd_names_are_different_events_and_leave_the_folder_alone() {
    let _no_child = testkit::no_child();
    let (place, folder) = place();
    let long = vec![b'x'; 10_000];
    let longer = vec![b'x'; 10_001];
    let names: [&[u8]; 14] = [
        b"",
        b".",
        b"..",
        b"/",
        b"../../../../etc/passwd",
        b"/dev/null",
        b"a b",
        b" ",
        b"a\nb",
        b"a\0b",
        b"\xff\xfe",
        b"\xef\xbf\xbd",
        &long,
        &longer,
    ];
    let events: Vec<NamedEvent> = names.iter().map(|name| folder.create(name).expect("created")).collect();
    for (index, name) in names.iter().enumerate() {
        assert!(!events[index].is_set(), "{index}");
        folder.open(name).expect("looked").expect("exists").set();
        assert!(events[index].is_set(), "{index}");
    }
    assert_eq!(files(&place).len(), names.len());
    drop(events);
    assert_eq!(files(&place).len(), 0);
    let beside = std::fs::read_dir(place.path()).expect("the place").count();
    assert_eq!(beside, 1, "nothing beside the folder");
    let beyond = vec![0; NAME_BYTES_MAX + 1];
    assert_eq!(folder.create(&beyond).expect_err("too long").kind(), ErrorKind::InvalidInput);
}

#[test]
fn what_a_killed_process_left_is_no_event() {
    let _no_child = testkit::no_child();
    let (place, folder) = place();
    let path = leave_behind(&place, b"a");
    assert!(folder.open(b"a").expect("looked").is_none());
    assert!(!path.exists(), "removed by who looked");
    leave_behind(&place, b"a");
    assert!(!folder.create(b"a").expect("created").is_set());
    let other = leave_behind(&place, b"other");
    let kept = place.path().join("events/somebody's");
    std::fs::write(&kept, "").expect("written");
    let _event = folder.create(b"c").expect("created");
    assert!(!other.exists(), "removed by who created another one");
    assert!(kept.exists(), "not one of ours");
}

#[test]
fn only_a_private_folder_of_this_user_is_used() {
    let (place, folder) = place();
    let path = place.path().join("events");
    let status = std::fs::metadata(&path).expect("the folder");
    assert_eq!(status.permissions().mode() & 0o777, 0o700);
    let _event = folder.create(b"a").expect("created");
    let mode = std::fs::metadata(&files(&place)[0]).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    EventFolder::at(&path).expect("it is used again");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).expect("our own");
    let error = EventFolder::at(&path).expect_err("others can look into it");
    assert!(error.to_string().contains("0700"), "{error}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("our own");
    let link = place.path().join("link");
    symlink(&path, &link).expect("a link");
    assert!(EventFolder::at(&link).is_err(), "a link may lead anywhere");
    std::fs::write(place.path().join("file"), "").expect("written");
    assert!(EventFolder::at(&place.path().join("file")).is_err());
    if rustix::process::geteuid().is_root() {
        let theirs = place.path().join("theirs");
        std::fs::create_dir(&theirs).expect("a folder");
        std::os::unix::fs::chown(&theirs, Some(65534), None).expect("root may");
        std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(0o700)).expect("root may");
        let error = EventFolder::at(&theirs).expect_err("of another user");
        assert!(error.to_string().contains("another user"), "{error}");
    } else {
        testkit::skip!("only root can make another user's folder");
    }
}

#[test]
fn links_pipes_and_names_with_the_same_hash_are_not_taken_for_events() {
    let (place, folder) = place();
    let at = |name: &[u8]| place.path().join("events").join(file_name(name));
    let victim = place.path().join("victim");
    std::fs::write(&victim, "content").expect("written");
    symlink(&victim, at(b"link")).expect("a link");
    assert!(folder.create(b"link").is_err());
    assert!(folder.open(b"link").is_err());
    rustix::fs::mknodat(CWD, at(b"pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    assert!(folder.create(b"pipe").is_err());
    assert_eq!(std::fs::read(&victim).expect("read"), b"content");

    let taken = folder.create(b"a").expect("created");
    std::fs::rename(at(b"a"), at(b"b")).expect("as if both had one hash");
    let error = folder.create(b"b").expect_err("another event");
    assert!(error.to_string().contains("another name"), "{error}");
    drop(taken);
}

#[test]
fn who_comes_while_others_leave_finds_the_one_event_or_makes_it() {
    let _no_child = testkit::no_child();
    let (place, folder) = place();
    let inode = |event: &NamedEvent| event.file.metadata().expect("our file").ino();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for round in 0..2000 {
                    let event = folder.create(b"contended").expect("created");
                    if thread == 0 && round % 7 == 0 {
                        event.set();
                    }
                    let again = folder.open(b"contended").expect("looked").expect("we hold it");
                    assert_eq!(inode(&event), inode(&again), "two events of one name");
                    assert_eq!(event.file.metadata().expect("our file").nlink(), 1);
                }
            });
        }
    });
    assert_eq!(files(&place).len(), 0);
}
