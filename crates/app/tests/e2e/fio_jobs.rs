//! Jobs of fio as our loads: their translation, and a comparison of both programs as the kernel sees them.

use std::collections::BTreeMap;
use std::time::Duration;
use testkit::{Call, Faulty, IoRange, Service, or_skip, tool, workplace};

const MIB: u64 = 1 << 20;

/// The I/Os of a load as a file system saw them.
#[derive(Debug, Default)]
struct IoPattern {
    /// Percent of the I/Os by kind and size in bytes.
    kinds: BTreeMap<(bool, u64), f64>,
    /// Percent that begin at the end of one of the last 64.
    in_sequence: f64,
    /// Percent in the hottest hundredth of the blocks.
    hot: f64,
    flushes_per_write: f64,
    depth: usize,
    range: (u64, u64),
    ios: usize,
}

impl IoPattern {
    fn from_calls(calls: &[Call]) -> Self {
        let ios: Vec<(bool, IoRange)> = calls
            .iter()
            .filter_map(|call| match call {
                Call::Read(asked) => Some((false, *asked)),
                Call::Write(asked) => Some((true, *asked)),
                Call::Flush { .. } => None,
            })
            .collect();
        let percent = |count: usize| count as f64 * 100.0 / ios.len().max(1) as f64;
        let mut counts: BTreeMap<(bool, u64), usize> = BTreeMap::new();
        let mut of_blocks: BTreeMap<u64, usize> = BTreeMap::new();
        for (is_write, asked) in &ios {
            *counts.entry((*is_write, asked.bytes)).or_default() += 1;
            *of_blocks.entry(asked.offset / 4096).or_default() += 1;
        }
        let mut hottest: Vec<usize> = of_blocks.into_values().collect();
        hottest.sort_unstable_by(|a, b| b.cmp(a));
        let follows = |at: usize| {
            let (_, asked) = ios[at];
            ios[at.saturating_sub(64)..at].iter().any(|(_, before)| before.offset + before.bytes == asked.offset)
        };
        let writes = ios.iter().filter(|(is_write, _)| *is_write).count();
        Self {
            kinds: counts.into_iter().map(|(kind, count)| (kind, percent(count))).collect(),
            in_sequence: percent((0..ios.len()).filter(|at| follows(*at)).count()),
            hot: percent(hottest.iter().take(163).sum()),
            flushes_per_write: (calls.len() - ios.len()) as f64 / writes.max(1) as f64,
            depth: ios.iter().map(|(_, asked)| asked.outstanding + 1).max().unwrap_or(0),
            range: (
                ios.iter().map(|(_, asked)| asked.offset).min().unwrap_or(0),
                ios.iter().map(|(_, asked)| asked.offset + asked.bytes).max().unwrap_or(0),
            ),
            ios: ios.len(),
        }
    }
}

/// Typical loads, on a file of 64 MiB; of those with `time_based` the rate is compared.
const JOBS: [&str; 15] = [
    "rw=randread bs=4k iodepth=16 ioengine=libaio norandommap=1 number_ios=6000",
    "rw=randread bs=4k iodepth=32 ioengine=io_uring number_ios=6000",
    "rw=randwrite bs=8k iodepth=8 numjobs=2 ioengine=io_uring norandommap=1 number_ios=3000",
    "rw=randrw rwmixread=70 bs=8k iodepth=16 ioengine=libaio norandommap=1 number_ios=6000",
    "rw=randrw rwmixwrite=20 bs=4k,16k iodepth=8 ioengine=libaio norandommap=1 number_ios=6000",
    "rw=read bs=64k iodepth=4 ioengine=libaio number_ios=1000",
    "rw=write bs=128k ioengine=psync number_ios=400",
    "rw=write bs=2300 ioengine=sync fdatasync=1 number_ios=500",
    "rw=randwrite bs=4k iodepth=16 ioengine=libaio fsync=32 norandommap=1 number_ios=3200",
    "rw=randread bssplit=4k/60:16k/30:64k/10 iodepth=16 ioengine=libaio norandommap=1 number_ios=4000",
    "rw=randread bs=4k offset=16m size=8m iodepth=4 ioengine=libaio norandommap=1 number_ios=2000",
    "rw=randread bs=4k random_distribution=zipf:1.2 iodepth=16 ioengine=libaio number_ios=6000",
    "rw=randread bs=4k percentage_random=40 iodepth=1 norandommap=1 number_ios=2000",
    "rw=randread bs=4k rate_iops=200 iodepth=4 ioengine=libaio norandommap=1 runtime=3 time_based=1",
    "rw=read bs=16k numjobs=4 offset_increment=8m size=4m iodepth=2 ioengine=libaio number_ios=200",
];

#[test]
fn the_kernel_sees_of_a_job_of_fio_the_same_of_both_programs() {
    let program = or_skip!(tool("fio"));
    let place = workplace!();
    let file_system = or_skip!(Faulty::mounted(&place, "fuse"));
    file_system.resize(64 * MIB);
    // Longer than a busy machine takes to submit the outstanding I/Os.
    file_system.serve(Service::Each(Duration::from_millis(3)));
    file_system.flush_takes(Duration::from_millis(1));
    for job in JOBS {
        let has_size = job.contains(" size=");
        let size = if has_size { "" } else { "size=64m\n" };
        let options = job.replace(' ', "\n");
        // Not a link: fio would open the file by another name.
        let text = format!(
            "[t]\nfilename={}\n{size}invalidate=0\nallow_file_create=0\ngroup_reporting=1\n{options}\n",
            file_system.file.display()
        );
        place.file("t.fio", text.as_bytes());
        file_system.take_calls();
        let fio = place.tool(&program).args("--output=fio.txt t.fio").run();
        fio.expect_status(0);
        let of_fio = IoPattern::from_calls(&file_system.take_calls());
        let run = place.diskspd("run t.fio --overwrite").run();
        run.expect_status(0);
        let ours = IoPattern::from_calls(&file_system.take_calls());
        expect_alike(job, &of_fio, &ours);
    }
}

fn expect_alike(job: &str, fio: &IoPattern, ours: &IoPattern) {
    let shown = format!("{job}\nfio {fio:?}\nours {ours:?}");
    assert!(fio.kinds.keys().eq(ours.kinds.keys()), "{shown}");
    for (kind, percent) in &fio.kinds {
        assert!((percent - ours.kinds[kind]).abs() < 2.0, "{kind:?} {shown}");
    }
    assert!((fio.flushes_per_write - ours.flushes_per_write).abs() <= 0.02 * fio.flushes_per_write, "{shown}");
    // By default fio reads each block once before it reads any again, which is reported as a difference.
    let is_timed = job.contains("time_based");
    let is_again = !is_timed && (job.contains("norandommap") || job.contains("random_distribution"));
    // Its hash of hot blocks is not one to one: the hottest 163 of 16,384 receive 79.7 to 81 % of 6,000 I/Os, ours 78.7
    // %; the distribution itself gives 77.7 %, and 1 % more with so few.
    let hot_percent = if job.contains("zipf") { 3.0 } else { 2.0 };
    assert!(!is_again || (fio.hot - ours.hot).abs() < hot_percent, "{shown}");
    assert!((fio.in_sequence - ours.in_sequence).abs() < 3.0, "{shown}");
    let near = |a: u64, b: u64| a.abs_diff(b) < MIB;
    assert!(near(fio.range.0, ours.range.0) && near(fio.range.1, ours.range.1), "{shown}");
    if is_timed {
        // 200 per second for three seconds; a busy machine may make fewer.
        assert!((300..=612).contains(&ours.ios), "{shown}");
    } else {
        assert_eq!(fio.ios, ours.ios, "{shown}");
        assert_eq!(fio.depth, ours.depth, "{shown}");
    }
}

const MIX: &str = "[global]\nioengine=io_uring\ndirect=1\nsize=1m\nruntime=1\ntime_based\nwrite_lat_log=x\n\
                   [mix]\nfilename=new.dat\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=4\nnumjobs=2\n\
                   [log]\nstonewall\nfilename=log.dat\nrw=write\nfdatasync=1\nend_fsync=1\n";

#[test]
fn an_import_prints_the_commands_and_what_becomes_of_each_option() {
    let place = workplace!();
    place.file("t.fio", MIX.as_bytes());
    let run = place.diskspd("import fio t.fio").run();
    run.expect_status(0).expect_stdout(&[
        "diskspd -w30 -b8K -r -t2 -o4 -Su -Z1M -c1M -d1 -W0 --engine=io_uring -n -L new.dat\n",
        "diskspd -w100 -b4K -s -t1 -o1 -Su -Z1M -c1M -d1 -W0 --engine=io_uring --fdatasync-every=1 -n -L log.dat\n\n",
        " exact, 1 without effect, ",
        "\napproximate     end_fsync=1 ",
        "\nwithout effect  write_lat_log=x ",
        "\nexact           fdatasync=1  ",
    ]);
    assert!(run.stdout.lines().skip(2).all(|line| line.chars().count() <= 80), "{run}");
    assert!(!place.path("new.dat").exists());
    let one = place.diskspd("import fio t.fio --section log").run();
    one.expect_status(0);
    assert!(one.stdout.starts_with("diskspd -w100 ") && !one.stdout.contains("new.dat"), "{one}");
    place.diskspd("import fio t.fio --section none").run().expect_status(3).expect_stderr(&["mix, log"]);
    let words = "import fio -- --name=t --rw=randread --size=1m --runtime=1 --time_based --filename=f --direct=1";
    place.diskspd(words).run().expect_status(0).expect_stdout(&["diskspd -b4K -r -t1 -o1 -Su -c1M -d1 -W0 "]);
}

#[test]
fn a_job_of_fio_runs_and_is_written_in_our_forms() {
    let place = workplace!();
    or_skip!(place.direct_io());
    place.file("t.fio", MIX.as_bytes());
    let run = place.diskspd("run t.fio --json r.json").run();
    run.expect_status(0).expect_stderr(&["NOTE: fio's end_fsync=1: nothing is flushed after the last I/O"]);
    let spans = place.json::<serde_json::Value>("r.json")["time_spans"].as_array().map(Vec::len);
    assert_eq!((spans, place.content("new.dat").len()), (Some(2), 1 << 20));
    let plan = |words: &str| {
        let run = place.diskspd(words).run();
        // The amount of free memory changes.
        let lines = run.stdout.lines().filter(|line| !line.contains(" is available"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let plan_of_fio = plan("run t.fio --plan");
    assert!(plan_of_fio.len() > 20, "{plan_of_fio:?}");
    for (file, words) in [("job.toml", "run job.toml --plan"), ("job.xml", "-Xjob.xml --plan")] {
        place.diskspd(&format!("import fio t.fio --output {file}")).run().expect_status(0);
        assert_eq!(plan(words), plan_of_fio, "{file}");
        // Neither an existing file nor the job itself is overwritten.
        let before = place.content(file);
        place.diskspd(&format!("import fio t.fio --output {file}")).run().expect_status(3);
        assert_eq!(place.content(file), before);
    }
    place.file("t.toml", MIX.as_bytes());
    place.diskspd("import fio t.toml --output t.toml --replace-output").run().expect_status(3);
    assert_eq!(place.content("t.toml"), MIX.as_bytes());
}

#[test]
fn a_rate_that_a_job_demands_is_judged() {
    let place = workplace!();
    place.create_file("f", "-c1M");
    let job = "[t]\nfilename=f\nrw=randread\nruntime=1\ntime_based\nioengine=null\nrate_iops_min=";
    for (least, status) in [("10", 0), ("4000000000", 4)] {
        place.file("t.fio", format!("{job}{least}\n").as_bytes());
        place.diskspd("run t.fio").run().expect_status(status);
    }
}

#[test]
fn a_refused_job_does_nothing() {
    let place = workplace!();
    std::os::unix::fs::symlink("/etc/hostname", place.path("link")).expect("a link");
    let job = |option: &str| format!("[t]\nfilename=new.dat\nsize=1m\nrw=write\nruntime=1\n{option}\n");
    for (option, says) in [
        ("exec_prerun=touch ran", "exec_prerun=touch ran: a job file must not run commands"),
        ("ioengine=rbd", "ioengine=rbd: diskspd has no engine 'rbd'"),
        ("zonemode=zbd", "zonemode=zbd: diskspd does not know zones"),
        ("no_such_option=1", "no_such_option=1: fio has no such option"),
        ("bs=0", "bs=0: 0 bytes"),
        ("filename=${HOME}/x", "is a variable of the environment, which only --env reads"),
        ("include ../secret", "only files below the directory of the job are read"),
        ("include /etc/hostname", "only files below the directory of the job are read"),
        ("include link", "include 'link'"),
    ] {
        place.file("t.fio", job(option).as_bytes());
        for words in ["run t.fio", "run t.fio --overwrite --plan"] {
            place.diskspd(words).run().expect_status(3).expect_stderr(&[says]);
        }
        assert!(!place.path("new.dat").exists() && !place.path("ran").exists(), "{option}");
    }
}

/// A job from an untrusted source names files, devices and commands.
#[test]
fn the_import_of_a_hostile_job_opens_none_of_its_files_and_runs_nothing() {
    let place = workplace!();
    let strace = or_skip!(tool("strace"));
    place.file("secret", b"[x]\nbs=8k\n");
    place.file("read.me", b"rw=randread\n");
    let long = "x".repeat(70_000);
    for (options, status) in [
        ("filename=secret:/dev/sda:/etc/shadow\nsize=1m\nruntime=1\ninclude read.me".to_owned(), 0),
        ("filename=secret\nexec_prerun=touch ran\nwrite_lat_log=secret\nread_iolog=secret".to_owned(), 3),
        ("filename=|secret\nverify_state_load=1\nioscheduler=none\ntrigger=touch ran".to_owned(), 3),
        ("directory=/etc\nfilename=`touch ran`\nsize=1m\nfile_service_type=$(touch ran)".to_owned(), 0),
        ("nrfiles=4000000000\nnumjobs=4000000000\nsize=100%\nbssplit=1/1:1/1".to_owned(), 3),
        (format!("filename={long}\nsize=1m"), 0),
    ] {
        place.file("t.fio", format!("[t]\n{options}\n").as_bytes());
        let run = place.tool(&strace).args("-f -s 4096 -e trace=%file,%process -o calls.txt");
        let run = run.arg(place.program()).args("import fio t.fio").run();
        let shown: String = options.chars().take(200).collect();
        assert_eq!(run.code(), Some(status), "{shown}: {}", run.stderr);
        let calls = String::from_utf8_lossy(&place.content("calls.txt")).into_owned();
        assert_eq!(calls.lines().filter(|line| line.contains("execve(")).count(), 1, "{calls}");
        let names = ["secret", "shadow", "/dev/sd", "ran\""];
        let opens = |line: &&str| line.contains("open") && names.iter().any(|name| line.contains(name));
        assert_eq!(calls.lines().find(opens), None, "{shown}");
        let writes = |line: &&str| line.contains("O_CREAT") || line.contains("O_WRONLY") || line.contains("O_RDWR");
        assert_eq!(calls.lines().find(writes), None, "{shown}");
        assert!(!place.path("ran").exists());
    }
}
