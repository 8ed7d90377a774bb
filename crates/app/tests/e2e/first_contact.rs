//! Typical first command lines of a new user, and the first line of the output.

use testkit::{Workplace, workplace};

/// A file to read, and files of other tools.
fn prepared() -> Workplace {
    let place = workplace!();
    place.create_file("f", "-c1M");
    place
        .file("job.fio", b"[global]\nioengine=libaio\ndirect=1\n[reads]\nrw=randread\nbs=4k\niodepth=16\nfilename=f\n");
    place.file("load.vdb", b"sd=sd1,lun=/dev/sdx,threads=8\nwd=w,sd=sd1,xfersize=4k,rdpct=70\nrd=r,wd=w,elapsed=60\n");
    let fio = r#"{"fio version": "fio-3.36", "global options": {"bs": "8k"}, "jobs": [{"job options": {"rw": "randwrite", "iodepth": "4"}}]}"#;
    place.file("fio.json", fio.as_bytes());
    place
}

/// Arguments, exit status, and the first line of stdout or else of stderr, in which * stands for the path of the
/// program.
type Answer = (&'static str, i32, &'static str);

const MISTAKES: [Answer; 10] = [
    (
        "--rw=randread f",
        3,
        "ERROR: '--rw=randread' is an option of fio; the nearest command here: diskspd -r -b4K -o1 f",
    ),
    (
        "--name=t --rw=randrw --rwmixread=70 --bs=4k --iodepth=32 --runtime=60 --filename=f",
        3,
        "ERROR: '--name=t' is an option of fio; the nearest command here: diskspd -r -w30 -b4K -o32 -d60 f",
    ),
    (
        "job.fio",
        3,
        "ERROR: 'job.fio' is a job file of fio; the nearest command here: diskspd --engine=aio -Su -r -b4K -o16 f",
    ),
    ("-Xfio.json", 3, "ERROR: 'fio.json' is JSON of fio; the nearest command here: diskspd -b8K -o4 -r -w100 test.dat"),
    (
        "run load.vdb",
        3,
        "ERROR: 'load.vdb' is a job file of vdbench; the nearest command here: diskspd -o8 -b4K -w30 -d60 -r /dev/sdx",
    ),
    (
        "elbencho --rand --block 4k f",
        3,
        "ERROR: 'elbencho' is another program; the nearest command here: diskspd -r -b4K -o1 f",
    ),
    (
        "vdbench -f load.vdb",
        3,
        "ERROR: 'vdbench' is another program; the nearest command here: diskspd -o8 -b4K -w30 -d60 -r /dev/sdx",
    ),
    ("nowhere", 1, "ERROR: 'nowhere' does not exist; -c<size> creates it"),
    (
        "sweep --vary o=1-4 -- f",
        3,
        "ERROR: --vary 'o=1-4': '1-4' is not a value; write 1..4 for a range; see diskspd sweep --help",
    ),
    (
        "-d 10 f",
        3,
        "ERROR: '-d 10': write -d10, without a space between option and value (for a file of that name, write ./10)",
    ),
];

const FIRST_WISHES: [Answer; 15] = [
    ("", 3, "Usage: *diskspd [options] target1 [ target2 [ target3 ...] ]"),
    ("help", 0, "Usage: diskspd [options] target1 [target2 ...]"),
    ("--help", 0, "Usage: diskspd [options] target1 [target2 ...]"),
    ("help sweep", 0, "Usage: diskspd sweep --vary OPTION=VALUES [...] -- <options and targets of the load>"),
    ("--help iodepth", 0, "fio: iodepth is -o32 here."),
    ("--help numjobs", 0, "fio: numjobs is -t4 here."),
    ("--help rw", 0, "fio: rw is -r -w30 here."),
    (
        "help raw disk",
        0,
        "Give the device as the target, such as /dev/nvme0n1; 'diskspd devices' lists them. Reads need no",
    ),
    ("--help percentile", 0, "3-nines is the 99.9th percentile: one I/O in a thousand takes longer."),
    ("--help -o", 0, "-o<count>"),
    ("--help xyzzyq", 3, "ERROR: no help for 'xyzzyq'; nearest: "),
    (
        "--version",
        0,
        concat!("diskspd ", env!("CARGO_PKG_VERSION"), " for Linux, behaves like DiskSpd 2.3.0 (2026/06/15)"),
    ),
    ("-Rp f", 0, "Command Line: *diskspd -Rp f"),
    ("explain", 0, "FINDING                 REPORTED BY    SEVERITY"),
    ("--plan f", 0, "Timespan 1: warm-up 5 s, measurement 10 s, cool-down 0 s"),
];

#[test]
fn the_first_line_answers() {
    let place = prepared();
    for (words, status, expected) in MISTAKES.into_iter().chain(FIRST_WISHES) {
        let run = place.diskspd(words).run();
        run.expect_status(status);
        let text = if run.stdout.is_empty() { &run.stderr } else { &run.stdout };
        let first = text.lines().find(|line| !line.is_empty()).unwrap_or_default();
        let (start, end) = expected.split_once('*').unwrap_or((expected, ""));
        assert!(first.starts_with(start) && first.contains(end), "{words}: {run}");
    }
}

/// Each question has a one-word answer: the help for that word shows the option with an example.
#[test]
fn questions_are_answered_by_one_word() {
    let place = workplace!();
    for (question, word, option) in [
        ("how do I limit IOPS", "iops", "--rate"),
        ("how do I limit the bandwidth", "bandwidth", "-g"),
        ("test a raw disk", "raw", "--destroy"),
        ("get JSON", "json", "--json"),
        ("what is 3-nines", "3-nines", "-L"),
        ("where are the percentiles", "percentile", "-L"),
        ("where is iodepth", "iodepth", "-o"),
        ("where is numjobs", "numjobs", "-t"),
        ("where is rwmixread", "rwmixread", "-w"),
        ("bypass the page cache", "direct", "-S"),
        ("flush after writes", "fsync", "--fsync-every"),
        ("run for a minute", "runtime", "-d"),
        ("set the block size", "bs", "-b"),
        ("measure latency", "latency", "-L"),
        ("fail the build if it is too slow", "threshold", "--require"),
    ] {
        for words in [format!("--help {word}"), format!("--help={word}"), format!("help {word}")] {
            let run = place.diskspd(&words).run();
            run.expect_status(0);
            let name = |line: &str| line.trim_start().split(['=', '[', '(', '<', ' ']).next() == Some(option);
            let is_example = |line: &&str| line.trim_start().to_lowercase().starts_with("example: ");
            let example = run.stdout.lines().skip_while(|line| !name(line)).find(is_example).unwrap_or_default();
            assert!(example.split(' ').any(|word| word.starts_with(option)), "{question}: {run}");
        }
    }
}

/// Covers all arguments that expect one of our files.
#[test]
fn files_of_other_tools_are_recognised_everywhere() {
    let place = prepared();
    place.file("job.toml", &place.content("job.fio"));
    place.file("only.fio", b"[global]\nbs=8k\nrw=randread\n");
    place.file("load.parm", &place.content("load.vdb"));
    let (fio, vdbench) = ("diskspd --engine=aio -Su -r -b4K -o16 f", "diskspd -o8 -b4K -w30 -d60 -r /dev/sdx");
    let json = "diskspd -b8K -o4 -r -w100 test.dat";
    for (words, status, named, command) in [
        ("-Xonly.fio", 3, "'only.fio' is a job file of fio", "diskspd -b8K -r -o1 test.dat"),
        ("run fio.json", 3, "'fio.json' is JSON of fio", json),
        ("-Xfio.json", 3, "'fio.json' is JSON of fio", json),
        ("preset run ./job.toml f", 3, "'./job.toml' is a job file of fio", fio),
        ("preset run job.fio f", 3, "'job.fio' is a job file of fio", fio),
        ("preset show load.parm", 3, "'load.parm' is a job file of vdbench", vdbench),
        ("report job.fio", 1, "'job.fio' is a job file of fio", fio),
        ("report load.vdb", 1, "'load.vdb' is a job file of vdbench", vdbench),
        ("compare job.fio job.fio", 1, "'job.fio' is a job file of fio", fio),
        ("job.fio", 3, "'job.fio' is a job file of fio", fio),
        ("-w100 load.vdb", 3, "'load.vdb' is a job file of vdbench", vdbench),
        ("fio job.fio", 3, "'fio' is another program", fio),
        ("vdbench -fload.vdb", 3, "'vdbench' is another program", vdbench),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(status);
        assert_eq!(run.stderr, format!("ERROR: {named}; the nearest command here: {command}\n"), "{words}");
    }
    let run = place.diskspd("sweep --vary o=1,2 --dir d -- job.fio").run();
    run.expect_status(3).expect_stderr(&["'job.fio' is a job file of fio; the nearest command here: ", fio]);
}

/// The subcommands listed by help.
#[test]
fn options_of_other_tools_are_recognised_by_every_subcommand() {
    let place = workplace!();
    let help = place.diskspd("--help").run().stdout;
    let (_, listed) = help.split_once("\nSubcommands").expect("a list of subcommands");
    let names =
        listed.lines().skip(1).take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"sweep") && names.contains(&"agent"), "{names:?}");
    for name in names {
        let run = place.diskspd(name).arg("--rw=randread").run();
        run.expect_status(3).expect_stderr(&[
            "ERROR: '--rw=randread' is an option of fio; the nearest command here: diskspd -r -b4K -o1 test.dat",
        ]);
    }
}

#[test]
fn two_dashes_end_the_options() {
    let place = workplace!();
    place.file("-r", &vec![0; 1 << 20]);
    place.short_run("-b4K").args("-- -r").run().expect_status(0).expect_stdout(&["path: '-r'", "sequential"]);
    place.short_run("-b4K").args("-- -r -x").run().expect_status(1).expect_stderr(&["'-x' does not exist"]);
    place.diskspd("-d1 --").run().expect_status(3).expect_stderr(&["at least one target"]);
    let run = place.diskspd("sweep --vary o=1,2 --dir d -- -d1 -W0 -b4K -- -r").run();
    run.expect_status(0).expect_stdout(&["Param -o 1", "Param -o 2"]);
}
