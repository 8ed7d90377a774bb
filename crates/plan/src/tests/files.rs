//! Changes of files, over all targets and timespans.

use crate::fixture::{facts, missing, ours, planned, profile, refusals, span, target, theirs};
use crate::{Choices, Reuse, SharedFiles, SharedStage};
use model::facts::{BlockFacts, CharacterDevice, Facts, Fill, Openers, RegularFacts, TargetKind};
use model::note::Note;
use model::plan::{Expected, Plan, Preparation};
use model::profile::{CacheMode, Profile, Target};
use model::units::Bytes;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

fn creating(path: &str, size: u64) -> Target {
    target(path, |target| target.create_size = Some(Bytes(size)))
}

fn writing(path: &str) -> Target {
    target(path, |target| target.write_percent = 10)
}

fn regular(file: RegularFacts) -> TargetKind {
    TargetKind::Regular(file)
}

/// Preparations of all targets: `keep`, `before`, `reuse`, `new` or `anew`, with sizes in MiB.
fn steps(plan: &Plan) -> Vec<String> {
    let word = |preparation: &Preparation| match preparation {
        Preparation::Keep => "keep".to_owned(),
        Preparation::MadeBefore => "before".to_owned(),
        Preparation::Reuse { .. } => "reuse".to_owned(),
        Preparation::Create(creation) => {
            let word = if creation.replaces.is_some() { "anew" } else { "new" };
            format!("{word} {}", creation.size_bytes / MIB)
        }
    };
    plan.time_spans.iter().flat_map(|span| &span.targets).map(|target| word(&target.preparation)).collect()
}

fn spans(targets: impl IntoIterator<Item = Vec<Target>>) -> Profile {
    Profile { time_spans: targets.into_iter().map(span).collect(), ..Profile::default() }
}

#[test]
fn a_file_is_made_reused_or_made_anew() {
    let wanted = profile(span([creating("a", MIB)]));
    let other_fill = ours(1, MIB, Fill::Zero);
    let sparse = RegularFacts { fully_written: Some(false), ..ours(1, MIB, Fill::Ramp) };
    let unmarked = RegularFacts { origin: model::facts::Origin::Empty, ..ours(1, MIB, Fill::Ramp) };
    for (kind, step, recreated) in [
        (missing(), "new 1", "new 1"),
        (regular(ours(1, MIB, Fill::Ramp)), "reuse", "anew 1"),
        (regular(ours(1, 2 * MIB, Fill::Ramp)), "anew 1", "anew 1"),
        (regular(other_fill), "anew 1", "anew 1"),
        (regular(sparse), "anew 1", "anew 1"),
        (regular(unmarked), "anew 1", "anew 1"),
    ] {
        let facts = facts([("a", kind)]);
        assert_eq!(steps(&planned(&wanted, &facts)), [step], "{facts:?}");
        let again = crate::plan(&wanted, &facts, &Choices { reuse: Reuse::Nothing, ..Choices::default() });
        assert_eq!(steps(&again.expect("a plan")), [recreated], "{facts:?}");
    }
}

#[test]
fn between_points_of_a_sweep_what_was_written_over_is_good() {
    let wanted = profile(span([creating("a", MIB)]));
    let choices = Choices { reuse: Reuse::WrittenOver, ..Choices::default() };
    for (kind, step) in [
        (regular(ours(1, MIB, Fill::Ramp)), "reuse"),
        (regular(ours(1, MIB, Fill::Mixed)), "reuse"),
        (regular(ours(1, MIB, Fill::Zero)), "anew 1"),
        (regular(ours(1, 2 * MIB, Fill::Mixed)), "anew 1"),
        (regular(RegularFacts { fully_written: Some(false), ..ours(1, MIB, Fill::Mixed) }), "anew 1"),
    ] {
        let facts = facts([("a", kind)]);
        assert_eq!(steps(&crate::plan(&wanted, &facts, &choices).expect("a plan")), [step], "{facts:?}");
    }
}

#[test]
fn a_file_that_is_only_read_may_be_anybodys_and_in_use() {
    let openers = Openers::Some { who: vec!["process 7 (postgres)".to_owned()] };
    let facts = facts([("a", regular(RegularFacts { openers, ..theirs(1, MIB) }))]);
    let plan = planned(&profile(span([target("a", |_| ())])), &facts);
    assert_eq!(steps(&plan), ["keep"]);
    assert_eq!(plan.time_spans[0].targets[0].expect, Expected::File(ours(1, MIB, Fill::Ramp).stamp()));
}

#[test]
fn a_file_in_use_is_reused_for_reading_and_refused_for_writing() {
    let openers = Openers::Some { who: vec!["process 7 (diskspd)".to_owned()] };
    let facts = facts([("a", regular(RegularFacts { openers, ..ours(1, MIB, Fill::Ramp) }))]);
    let plan = planned(&profile(span([creating("a", MIB)])), &facts);
    assert_eq!(steps(&plan), ["reuse"]);
    let mut writer = creating("a", MIB);
    writer.write_percent = 1;
    let overwrite = Choices { overwrite: true, ..Choices::default() };
    let refused = refusals(&profile(span([writer])), &facts, &overwrite);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].0 == 3 && refused[0].1.contains("process 7 (diskspd)"), "{refused:?}");
}

#[test]
fn other_peoples_files_are_refused_until_overwrite_is_given() {
    let facts = facts([("a", regular(theirs(1, 4 * MIB)))]);
    for asked in [creating("a", MIB), writing("a")] {
        let asked = profile(span([asked]));
        let refused = refusals(&asked, &facts, &Choices::default());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].0 == 3 && refused[0].1.contains("--overwrite"), "{refused:?}");
        let overwrite = Choices { overwrite: true, ..Choices::default() };
        assert!(crate::plan(&asked, &facts, &overwrite).is_ok());
    }
}

#[test]
fn symbolic_links_are_followed_and_named() {
    let mut facts = facts([("a", regular(theirs(1, MIB)))]);
    facts.targets.get_mut(&PathBuf::from("a")).expect("it is there").resolved = Some("/data/b".into());
    let refused = refusals(&profile(span([writing("a")])), &facts, &Choices::default());
    assert!(
        refused[0].1.starts_with("'a' (a symbolic link to '/data/b') may hold data that diskspd did not write"),
        "{refused:?}"
    );
}

#[test]
fn one_path_is_made_once_and_again_if_something_else_is_wanted() {
    let facts = facts([("a", missing()), ("./a", missing())]);
    let plan = planned(&spans([vec![creating("a", MIB), creating("./a", MIB)], vec![creating("a", MIB)]]), &facts);
    assert_eq!(steps(&plan), ["new 1", "before", "before"]);
    let plan =
        planned(&spans([vec![creating("a", MIB)], vec![target("a", |_| ())], vec![creating("a", 2 * MIB)]]), &facts);
    assert_eq!(steps(&plan), ["new 1", "before", "new 2"]);
    let sizes: Vec<u64> = plan.time_spans.iter().map(|span| span.targets[0].size_bytes / MIB).collect();
    assert_eq!(sizes, [1, 1, 2]);
    assert!(plan.time_spans.iter().all(|span| span.targets[0].expect == Expected::Prepared));
}

#[test]
fn all_targets_of_a_timespan_have_the_size_that_its_creations_leave() {
    let facts = facts([("a", missing())]);
    let plan = planned(&profile(span([target("a", |_| ()), creating("a", MIB), creating("a", 3 * MIB)])), &facts);
    assert_eq!(steps(&plan), ["before", "new 1", "new 3"]);
    assert!(plan.time_spans[0].targets.iter().all(|target| target.size_bytes == 3 * MIB));
}

#[test]
fn what_a_test_wrote_over_is_made_anew_if_its_content_was_wanted() {
    let facts = facts([("a", regular(ours(1, MIB, Fill::Ramp)))]);
    let zeros = |target: &mut Target| (target.write_percent, target.zero_write_buffers) = (50, true);
    let plan = planned(&spans([vec![creating("a", MIB)], vec![target("a", zeros)], vec![creating("a", MIB)]]), &facts);
    assert_eq!(steps(&plan), ["reuse", "before", "anew 1"]);
    let same = planned(&spans([vec![creating("a", MIB)], vec![writing("a")], vec![creating("a", MIB)]]), &facts);
    assert_eq!(steps(&same), ["reuse", "before", "before"]);
}

#[test]
fn hard_links_are_one_file() {
    let facts = facts([("a", regular(ours(1, MIB, Fill::Zero))), ("b", regular(ours(1, MIB, Fill::Zero)))]);
    let plan = planned(&profile(span([creating("a", MIB), creating("b", MIB)])), &facts);
    assert_eq!(steps(&plan), ["anew 1", "before"]);
    let expected: Vec<Expected> = plan.time_spans[0].targets.iter().map(|target| target.expect.clone()).collect();
    assert_eq!(expected, [Expected::Prepared, Expected::File(ours(1, MIB, Fill::Ramp).stamp())]);
}

#[test]
fn files_that_will_be_made_are_opened_as_prepared_and_reused_ones_as_themselves() {
    let facts = facts([("a", regular(ours(1, MIB, Fill::Ramp))), ("b", regular(ours(2, MIB, Fill::Ramp)))]);
    let plan = planned(&profile(span([creating("a", MIB), creating("b", 2 * MIB)])), &facts);
    let expected: Vec<Expected> = plan.time_spans[0].targets.iter().map(|target| target.expect.clone()).collect();
    assert_eq!(expected, [Expected::File(ours(1, MIB, Fill::Ramp).stamp()), Expected::Prepared]);
}

fn device(size_bytes: u64) -> TargetKind {
    TargetKind::Block(BlockFacts { device: 8, size_bytes, logical_block_bytes: 4096, ..BlockFacts::default() })
}

#[test]
fn creation_leaves_devices_alone() {
    let facts = facts([("/dev/sdb", device(MIB)), ("/dev/zero", TargetKind::Character(CharacterDevice::Zero))]);
    let mut zero = creating("/dev/zero", MIB);
    zero.max_offset = Bytes(1 << 40);
    let plan = planned(&profile(span([creating("/dev/sdb", 9 * MIB), zero])), &facts);
    assert_eq!(steps(&plan), ["keep", "keep"]);
    let targets = &plan.time_spans[0].targets;
    assert_eq!(
        (targets[0].size_bytes, targets[0].expect.clone()),
        (MIB, Expected::Block { device: 8, disk_sequence: None, backing: None, below: Vec::new() })
    );
    assert_eq!((targets[1].size_bytes, targets[1].expect.clone()), (1 << 40, Expected::Character));
}

#[test]
fn direct_io_on_devices_needs_their_logical_blocks() {
    let facts = facts([("/dev/sdb", device(MIB)), ("/dev/zero", TargetKind::Character(CharacterDevice::Zero))]);
    let direct = |path, block| {
        target(path, |target| {
            target.cache_mode = CacheMode::Unbuffered;
            target.block_size = Bytes(block);
            target.max_offset = Bytes(MIB);
        })
    };
    assert!(refusals(&profile(span([direct("/dev/sdb", 4096)])), &facts, &Choices::default()).is_empty());
    let refused =
        refusals(&profile(span([direct("/dev/sdb", 512), direct("/dev/zero", 4096)])), &facts, &Choices::default());
    assert_eq!(refused.iter().map(|refusal| refusal.0).collect::<Vec<_>>(), [3, 1], "{refused:?}");
}

#[test]
fn every_problem_of_every_target_is_reported_once() {
    let too_small = target("small", |target| target.base_offset = Bytes(MIB));
    let facts = Facts {
        targets: facts([
            ("theirs", regular(theirs(1, MIB))),
            ("gone", missing()),
            ("small", regular(theirs(2, 100))),
            ("dir", TargetKind::Unusable { what: "a directory".into() }),
            ("locked", TargetKind::Inaccessible { reason: "Permission denied (EACCES)".to_owned() }),
            ("/dev/sdb", device(MIB)),
            ("empty", regular(theirs(3, 0))),
            ("huge", missing()),
            ("tty", TargetKind::Character(CharacterDevice::Other)),
            ("/dev/null", TargetKind::Character(CharacterDevice::Null)),
            ("#1", missing()),
        ])
        .targets,
        ..facts([])
    };
    let first = vec![
        writing("theirs"),
        target("gone", |_| ()),
        too_small,
        creating("dir", MIB),
        target("locked", |_| ()),
        writing("/dev/sdb"),
    ];
    let second = vec![
        writing("theirs"),
        target("empty", |_| ()),
        creating("huge", 1 << 50),
        target("tty", |_| ()),
        target("/dev/null", |_| ()),
        target("#1", |_| ()),
        target("unknown", |_| ()),
    ];
    let refused = refusals(&spans([first, second]), &facts, &Choices::default());
    let lines: Vec<String> = refused.iter().map(|(status, message)| format!("{status} {message}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
        3 'dir' is a directory; -c creates regular files only
        3 'theirs' may hold data that diskspd did not write: it has no diskspd mark. Writing (-w) would destroy its contents; --overwrite allows it
        1 'gone' does not exist; -c<size> creates it
        1 timespan 1: 'small' is too small: the base offset (-B) 1MiB is at or beyond its end at 100 bytes
        1 'locked' cannot be checked: Permission denied (EACCES)
        3 '/dev/sdb' is a block device that was not checked for use
        1 'empty' is empty; -c<size> sets its size
        3 'tty' is a character device without a size; give one with -f<size>
        3 '/dev/null' is a character device without a size; give one with -f<size>
        3 '#1' is the Windows name of a physical drive: give a Linux file (/mnt/test.dat) or a block device (/dev/sdb, /dev/nvme0n1p1; lsblk lists them), or write './#1' for a file of that name
        1 'unknown' was not checked before the run
        1 no space for 'huge': 1PiB needed, 100GiB free on its ext4 file system (1125792532660224 bytes short)
        "#);
}

#[test]
fn what_is_ignored_or_assumed_is_noted() {
    let facts = facts([("a", regular(theirs(1, MIB)))]);
    let odd = target("a", |target| {
        target.max_offset = Bytes(2 * MIB);
        target.temporary_hint = true;
        target.throughput = model::profile::Throughput::Iops(5);
        target.burst_ios = Some(1);
        target.think_time_ms = Some(1);
    });
    let mut time_span = span([odd]);
    time_span.request_count = 4;
    let plan = planned(&profile(time_span), &facts);
    let notes: Vec<String> = plan.notes.iter().map(Note::to_string).collect();
    insta::assert_snapshot!(notes.join("\n"), @r#"
        -O has no effect: it needs -F
        -ft has no effect: Linux has no attribute for temporary files
        -i, -j has no effect: -g limits the rate instead
        'a' is 1048576 bytes long, less than the maximum offset (-f, -B) of 2097152 bytes; I/O ends at its last byte
        "#);
}

#[test]
fn a_file_that_hosts_share_is_made_by_the_first_and_checked_by_the_others() {
    let both = target("a", |target| (target.create_size, target.write_percent) = (Some(Bytes(MIB)), 10));
    let wanted = profile(span([both]));
    let choices = |stage| {
        let shared = SharedFiles { paths: [PathBuf::from("a")].into(), run: "r".to_owned(), stage };
        Choices { shared, ..Choices::default() }
    };
    let smaller = || regular(ours(1, MIB / 2, Fill::Ramp));
    let mixed = || regular(ours(1, MIB, Fill::Mixed));
    let refused = "refused";
    for (kind, creates, waits, uses) in [
        (missing(), "new 1", "before", refused),
        (regular(ours(1, MIB, Fill::Ramp)), "reuse", "reuse", "reuse"),
        (smaller(), "anew 1", "before", refused),
        // Other hosts may write to it already.
        (mixed(), "anew 1", "before", "reuse"),
        (regular(theirs(1, MIB)), refused, refused, refused),
    ] {
        let facts = facts([("a", kind)]);
        for (stage, step) in [(SharedStage::Creates, creates), (SharedStage::Waits, waits), (SharedStage::Uses, uses)] {
            let plan = crate::plan(&wanted, &facts, &choices(stage));
            let found = plan.as_ref().map_or(vec![refused.to_owned()], steps);
            assert_eq!(found, [step], "{stage:?} {facts:?}");
            let shared_run = plan.ok().and_then(|plan| plan.time_spans[0].targets[0].shared_run.clone());
            assert_eq!(shared_run.is_some(), stage == SharedStage::Uses && step != refused);
        }
    }
}
