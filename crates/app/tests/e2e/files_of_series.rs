//! Files of series are written like results: in a directory that is held open, without following links, and without
//! replacing files that diskspd did not write. `verify --cycles` used to truncate load.txt and verify.json in place,
//! through symbolic and hard links to other files, and `--resume` ran the command line that another user had saved.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use testkit::{Program, Snapshot, Workplace, is_root, skip, workplace};

/// A series of one cut, which creates the file `cut` if it gets that far.
fn cycles(place: &Workplace, target: &str) -> Program {
    let cut = "touch cut; kill -KILL $DISKSPD_PID";
    let words = ["verify", "--cycles", "1", "--cut", cut, "--journal", "journal", "--"];
    let program = words.into_iter().fold(place.diskspd(""), Program::arg);
    program.args("-c1M -b4K -r -w100 -d2 -W0 -C600 -g2000i --overwrite --journal-here").arg(target)
}

// Shows data-safety: files load.txt and verify.json in DIR/cycle-N
#[test]
fn what_stands_where_a_cycle_would_write_is_refused_before_the_first_load() {
    type Obstacle = fn(&Workplace);
    let obstacles: [(&str, Obstacle, &[&str]); 9] = [
        (
            "a link",
            |place| symlink("../../theirs", place.path("journal/cycle-1/load.txt")).expect("free"),
            &["journal/cycle-1/load.txt': it is a symbolic link"],
        ),
        (
            "a link, too",
            |place| symlink("../../theirs", place.path("journal/cycle-1/verify.json")).expect("free"),
            &["journal/cycle-1/verify.json': it is a symbolic link"],
        ),
        (
            "a hard link",
            |place| fs::hard_link(place.path("theirs"), place.path("journal/cycle-1/load.txt")).expect("free"),
            &["load.txt': the existing file is not the output of the load", "give another directory"],
        ),
        (
            "another hard link",
            |place| fs::hard_link(place.path("theirs"), place.path("journal/cycle-1/verify.json")).expect("free"),
            &["verify.json': the existing file is not a verification report"],
        ),
        (
            "notes",
            |place| _ = place.file("journal/cycle-1/load.txt", b"Load: 7 kg\n"),
            &["load.txt", "is not the output"],
        ),
        ("a map", |place| _ = place.file("journal/cycle-1/map", b"here be dragons"), &["is not a saved map"]),
        ("a log", |place| _ = place.file("journal/cycle-1/log.3", b"diary"), &["log.3' is not a log of diskspd"]),
        (
            "a link for the directory",
            |place| {
                fs::remove_dir(place.path("journal/cycle-1")).expect("it is empty");
                symlink("../elsewhere", place.path("journal/cycle-1")).expect("free");
            },
            &["journal/cycle-1' cannot be used as the directory of a cycle", "Not a directory"],
        ),
        (
            "a file for the directory",
            |place| {
                fs::remove_dir(place.path("journal/cycle-1")).expect("it is empty");
                place.file("journal/cycle-1", b"first cycle");
            },
            &["journal/cycle-1' cannot be used", "Not a directory"],
        ),
    ];
    for (name, obstacle, parts) in obstacles {
        let place = workplace!();
        fs::create_dir_all(place.path("journal/cycle-1")).expect("a new directory");
        fs::create_dir(place.path("elsewhere")).expect("a new directory");
        let theirs = place.file("theirs", b"somebody's");
        obstacle(&place);
        let before = Snapshot::take(&theirs);
        cycles(&place, "a.dat").run().expect_status(3).expect_stderr(parts);
        assert_eq!(Snapshot::take(&theirs), before, "{name}");
        assert_eq!(fs::read_dir(place.path("elsewhere")).expect("a directory").count(), 0, "{name}");
        assert!(!place.path("a.dat").exists() && !place.path("cut").exists(), "{name}: the load was begun");
    }
    let place = workplace!();
    fs::create_dir(place.path("journal")).expect("a new directory");
    let reason = "lies in the directory of a cycle";
    for target in ["journal/cycle-1/load.txt", "journal/cycle-1/a.dat", "journal/cycle-7"] {
        cycles(&place, target).run().expect_status(3).expect_stderr(&[reason]);
    }
    let output = cycles(&place, "--json=journal/cycle-1/r.json").arg("a.dat").run();
    output.expect_status(3).expect_stderr(&[reason, "a result file of this run"]);
    assert_eq!(fs::read_dir(place.path("journal")).expect("a directory").count(), 0);
}

// Shows data-safety: files load.txt and verify.json in DIR/cycle-N
#[test]
fn a_second_series_replaces_the_names_and_not_the_contents_of_the_first() {
    let place = workplace!();
    fs::create_dir(place.path("journal")).expect("a new directory");
    cycles(&place, "a.dat").run().expect_status(0);
    let mut kept = Vec::new();
    for name in ["load.txt", "verify.json"] {
        let path = place.path("journal/cycle-1").join(name);
        fs::hard_link(&path, place.path(name)).expect("free");
        kept.push((path, Snapshot::take(place.path(name))));
    }
    let title = b"Output of the load of cycle 1 (diskspd for Linux)\n";
    assert!(place.content("load.txt").starts_with(title));
    cycles(&place, "a.dat").run().expect_status(0);
    for (path, before) in kept {
        let name = path.file_name().expect("a name").to_str().expect("text");
        assert_eq!(Snapshot::take(place.path(name)), before, "the file was written in place");
        assert_ne!(inode(&path), inode(&place.path(name)), "{name}");
    }
    assert!(place.content("journal/cycle-1/load.txt").starts_with(title));
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).expect("it is there").ino()
}

/// Each kind of series: its name and the arguments before and after `--dir`.
const SERIES: [(&str, &str, &str); 4] = [
    ("sweep", "--vary o=1,2", "-- -c64K -d60 -W0 -b4K --max-ios=20 a.dat"),
    ("repeat", "--runs 2", "-- -c64K -d60 -W0 -b4K --max-ios=20 a.dat"),
    ("ab", "--pairs 3", "-- -c64K -d60 -W0 -b4K --max-ios=20 a.dat"),
    ("interference", "", "-- -c64K -d1 -W0 -b4K --stream=one:a.dat --stream=two:b.dat"),
];

fn begun(place: &Workplace, (name, before, behind): (&str, &str, &str)) -> String {
    place.diskspd(&format!("{name} {before} --dir {name}-dir {behind}")).run();
    assert!(place.path(&format!("{name}-dir/{name}.json")).exists(), "{name} kept nothing");
    format!("{name} --resume {name}-dir")
}

// Shows data-safety: files in the directory of a series
#[test]
fn a_saved_command_line_that_others_may_have_written_is_not_run() {
    let place = workplace!();
    for series in SERIES {
        let resume = begun(&place, series);
        let (dir, file) = (format!("{}-dir", series.0), format!("{0}-dir/{0}.json", series.0));
        for (path, mode) in [(&dir, 0o775), (&dir, 0o777), (&dir, 0o757), (&file, 0o664), (&file, 0o606)] {
            let path = place.path(path);
            let own = fs::metadata(&path).expect("it is there").permissions();
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("our file");
            let refused = place.diskspd(&resume).run();
            refused.expect_status(3).expect_stderr(&[
                "can be written to by others",
                &format!("{mode:04o}"),
                "chmod go-w",
            ]);
            fs::set_permissions(&path, own).expect("our file");
        }
        // A link may lead to a file saved by another series of this user.
        fs::rename(place.path(&file), place.path("moved")).expect("our file");
        symlink("../moved", place.path(&file)).expect("free");
        place.diskspd(&resume).run().expect_status(3).expect_stderr(&["is not a regular file; links are not followed"]);
        fs::rename(place.path("moved"), place.path(&file)).expect("our file");
        let resumed = place.diskspd(&resume).run();
        assert!(resumed.stderr.contains("already done: "), "{resumed}");
    }
}

// Shows data-safety: files in the directory of a series
#[test]
fn a_saved_command_line_of_another_user_is_not_run() {
    const NOBODY: u32 = 65534;
    if !is_root() {
        skip!("only root can give files away");
    }
    let place = workplace!();
    let resume = begun(&place, SERIES[0]);
    for path in ["sweep-dir", "sweep-dir/sweep.json"] {
        chown(place.path(path), Some(NOBODY), None).expect("root may");
        let before = fs::read_dir(place.path("sweep-dir")).expect("a directory").count();
        place.diskspd(&resume).run().expect_status(3).expect_stderr(&["belongs to another user (ID 65534)", path]);
        assert_eq!(fs::read_dir(place.path("sweep-dir")).expect("a directory").count(), before);
        chown(place.path(path), Some(0), None).expect("root may");
    }
    place.diskspd(&resume).run().expect_status(0);
}

#[test]
fn a_series_can_be_resumed_whatever_the_umask_is() {
    let place = workplace!();
    let words = "sweep --vary o=1,2 --dir d -- -c64K -d60 -W0 -b4K --max-ios=20 a.dat";
    let run = place.tool("sh").arg("-c").arg("umask 0; exec \"$0\" \"$@\"").arg(place.program()).args(words).run();
    run.expect_status(0);
    place.diskspd("sweep --resume d").run().expect_status(0).expect_stderr(&["already done: "]);
}

// Shows data-safety: files in the directory of a series
#[test]
fn links_in_the_directory_of_a_series_are_not_followed() {
    let place = workplace!();
    fs::create_dir(place.path("d")).expect("a new directory");
    let theirs = place.file("theirs", b"somebody's");
    let before = Snapshot::take(&theirs);
    let series = "sweep --vary o=1,2 --dir d --replace-output -- -c64K -d60 -W0 -b4K --max-ios=20 a.dat";
    for name in ["d/sweep.json", "d/table.csv"] {
        symlink("../theirs", place.path(name)).expect("free");
        place.diskspd(series).run().expect_status(3).expect_stderr(&[name, "it is a symbolic link"]);
        fs::remove_file(place.path(name)).expect("a link");
    }
    // A name in use is not available for a result.
    symlink("../nowhere", place.path("d/point-0001.json")).expect("free");
    symlink("../theirs", place.path("d/point-0002.json")).expect("free");
    place.diskspd(series).run().expect_status(0);
    assert!(!place.path("nowhere").exists());
    assert_eq!(Snapshot::take(&theirs), before);
    assert!(["d/point-0003.json", "d/point-0004.json"].iter().all(|name| place.path(name).exists()));
}
