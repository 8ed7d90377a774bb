use super::*;

fn import_of(text: &str) -> Result<Import, String> {
    let variable = |name: &str| Err(format!("no variable {name}"));
    let include = |path: &str| if path == "more" { Ok("bs=16k\n".to_owned()) } else { Err(format!("no file {path}")) };
    let bytes_of = |path: &str| (path == "/dev/known").then_some(1 << 30);
    read_file(
        text,
        "t.fio",
        &[],
        &Surroundings { variable: &variable, include: &include, bytes_of: &bytes_of, cpus: 4 },
    )
}

fn import_text(text: &str) -> Import {
    import_of(text).unwrap_or_else(|reason| panic!("{text}: {reason}"))
}

fn refusals(text: &str) -> Vec<String> {
    let rows = import_text(text).rows.into_iter().filter(|row| row.level == Level::Refused);
    rows.map(|row| format!("{}: {}", row.option, row.says)).collect()
}

/// The command of a job with these options, without the part common to all.
fn command(options: &str) -> String {
    let text = format!("[t]\nsize=1g\nruntime=60\ntime_based\nfilename=f\nioengine=io_uring\ndirect=1\n{options}\n");
    let import = import_text(&text);
    assert!(!import.is_refused(), "{text}: {:?}", import.rows);
    let [command] = &import.commands()[..] else { panic!("{text}: several commands") };
    command.replace("diskspd ", "").replace(" -c1G -d60 -W0 --engine=io_uring -n -L f", "")
}

#[test]
fn an_option_of_the_load_has_its_counterpart() {
    for (options, expected) in [
        ("", "-b4K -s -t1 -o1 -Su"),
        ("rw=randread\nbs=8k\niodepth=32\nnumjobs=4", "-b8K -r -t4 -o32 -Su"),
        ("rw=randrw\nrwmixread=70", "-w30 -b4K -r -t1 -o1 -Su -Z1M"),
        ("rw=randrw\nrwmixwrite=20\nzero_buffers", "-w20 -b4K -r -t1 -o1 -Su -Z"),
        ("rw=write\nsync=dsync", "-w100 -b4K -s -t1 -o1 -Suw -Z1M"),
        ("rw=randtrim\nbs=64k", "--discard=100 -b64K -r -t1 -o1 -Su"),
        ("rw=randread\nbssplit=4k/60:64k/", "-b64K --sizes=4K/60:64K/40 -r4K -t1 -o1 -Su"),
        ("rw=randrw\nbs=4k,64k", "-w50 -b64K --read-sizes=4K/100 --write-sizes=64K/100 -r -t1 -o1 -Su -Z1M"),
        ("rw=read:12k", "-b4K -s16K -t1 -o1 -Su"),
        ("rw=randread\npercentage_random=60", "-b4K -r -rs60 -t1 -o1 -Su"),
        ("rw=randread\nrandom_distribution=zipf:1.1", "-b4K -r --skew=zipf:1.1 -t1 -o1 -Su"),
        ("rw=randread\nrandom_distribution=zoned:50/5:30/15:20/", "-b4K -r -rdpct50/5:30/15 -t1 -o1 -Su"),
        ("rw=randread\nrate=1m", "-b4K -r -t1 -o1 -Su -g256i"),
        ("rw=randrw\nrwmixread=75\nrate_iops=300,100", "-w25 -b4K -r -t1 -o1 -Su -Z1M -g400i"),
        ("rw=randread\nnumjobs=2\nthinktime=5ms\nthinktime_blocks=10", "-b4K -r -t2 -o1 -Su -i20 -j5"),
    ] {
        assert_eq!(command(options), expected, "{options}");
    }
}

#[test]
fn amounts_places_and_flushes_are_those_of_all_copies() {
    for (options, expected) in [
        (
            "rw=write\nsize=64m",
            "-w100 -b4K -s -t1 -o1 -Sb -Z1M -c64M -d604800 -W0 --max-bytes=64M --engine=sync -n -L t.0.0",
        ),
        (
            "filename=f\nsize=64m\noffset=1g\nruntime=9\ntime_based\ninvalidate=0",
            "-b4K -s -t1 -o1 -Sb -c1088M -B1G:64M -d9 -W0 --engine=sync -n -L f",
        ),
        (
            "filename=/dev/known\nsize=25%\noffset=50%\ndirect=1",
            "-b4K -s -t1 -o1 -Su -B512M:256M -d604800 -W0 --max-bytes=256M --engine=sync -n -L /dev/known",
        ),
        // Measured: of 2,561 blocks fio 3.33 begins 33 % at the 846th, and of 8 KiB at the 423rd.
        (
            "filename=a\nfilesize=10244k\nsize=33%\noffset=33%\ndirect=1",
            "-b4K -s -t1 -o1 -Su -c10244K -B3384K:3380K -d604800 -W0 --max-bytes=3380K --engine=sync -n -L a",
        ),
        (
            "filename=a\nfilesize=10244k\nbs=8k\noffset=33%\nnumber_ios=9\ndirect=1",
            "-b8K -s -t1 -o1 -Su -c10244K -B3384K:6860K -d604800 -W0 --max-bytes=6860K --max-ios=9 --engine=sync -n -L a",
        ),
        (
            "filename=/dev/known\ndirect=1",
            "-b4K -s -t1 -o1 -Su -d604800 -W0 --max-bytes=1G --engine=sync -n -L /dev/known",
        ),
        (
            "filename=/dev/x\nsize=64m\nnumjobs=2\ndirect=1",
            "-b4K -s -t2 -o1 -Su -f64M -d604800 -W0 --max-bytes=128M --engine=sync -n -L /dev/x",
        ),
        (
            "rw=randwrite\nfilename=/dev/x\nsize=50%\noffset=25%\nruntime=9\ndirect=1\nfdatasync=8",
            "-w100 -b4K -r -t1 -o1 -Su -Z1M -rdpct0/25:100/50:0/25 -d9 -W0 --engine=sync --fdatasync-every=8 -n -L /dev/x",
        ),
        (
            "rw=randread\nfilename=a:b\nsize=2g\niodepth=8\nnumjobs=3\nioengine=libaio\ndirect=1\nruntime=9\ntime_based",
            "-b4K -r -F3 -O8 -Su -c1G -d9 -W0 --engine=aio -n -L a b",
        ),
        (
            "rw=randread\nsize=1g\nrate_iops=50\nrate_process=poisson\ndirect=1\nruntime=9\ntime_based\nnumjobs=2",
            "-b4K -r -t1 -o1 -Su -c1G -d9 -W0 --engine=sync --rate=100 --rate-process=poisson -n -L t.0.0 t.1.0",
        ),
    ] {
        let import = import_text(&format!("[t]\n{options}\n"));
        assert!(!import.is_refused(), "{options}: {:?}", import.rows);
        assert_eq!(import.commands(), [format!("diskspd {expected}")], "{options}");
    }
}

#[test]
fn jobs_at_once_are_streams_and_a_stonewall_begins_a_timespan() {
    let import = import_text(
        "[global]\nfilename=f\nsize=1m\nruntime=5\ntime_based\ndirect=1\n[a b]\nrw=randread\n[log]\nrw=write\nfsync=1\n\
                     [after]\nstonewall\nrw=read\n",
    );
    assert_eq!(
        import.commands(),
        [
            "diskspd -d5 -W0 --engine=sync --fsync-every=1 -n -L --stream 'a-b: -b4K -r -t1 -o1 -Su -c1M f' --stream \
             'log: -w100 -b4K -s -t1 -o1 -Su -Z1M -c1M f'",
            "diskspd -b4K -s -t1 -o1 -Su -c1M -d5 -W0 --engine=sync -n -L f",
        ]
    );
    assert_eq!(import.job(&NoFiles).expect("it is a load").profile.time_spans.len(), 2);
    let shares = import_text(
        "[w]\nfilename=a\nfilesize=10244k\nrw=write\nsize=8k\noffset=10%\noffset_increment=20%\nnumjobs=2\n\
                     runtime=5\n",
    );
    assert!(
        shares.commands()[0].contains(" -B1028K:8K a'") && shares.commands()[0].contains(" -B3076K:8K a'"),
        "{shares:?}"
    );
    let apart =
        import_text("[w]\nfilename=/dev/x\nrw=write\nsize=1m\noffset_increment=4m\nnumjobs=2\nruntime=5\ndirect=1\n");
    assert!(apart.commands()[0].contains("--stream 'w.1: ") && apart.commands()[0].contains(" -B4M:1M /dev/x'"));
}

#[test]
fn a_job_that_waits_for_the_one_before_begins_a_timespan() {
    let spans = |waits: [&str; 4]| {
        let jobs = ["a", "b", "c", "d"].into_iter().zip(waits).map(|(name, wait)| format!("[{name}]\n{wait}\n"));
        let text = format!("[global]\nfilename=f\nsize=1m\nruntime=5\n{}", jobs.collect::<String>());
        let import = import_text(&text);
        (!import.is_refused()).then_some(import.spans.len())
    };
    assert_eq!(spans(["", "wait_for=a", "wait_for=b", "wait_for=c"]), Some(4));
    assert_eq!(spans(["", "wait_for=a", "wait_for=a", "stonewall"]), Some(3));
    assert_eq!(spans(["", "", "wait_for=a", ""]), None, "b may still run");
    assert_eq!(spans(["", "wait_for=a", "", ""]), None, "c begins with a");
    assert_eq!(spans(["", "wait_for=a", "wait_for=a", "wait_for=b"]), None, "c may still run");
    assert_eq!(spans(["wait_for=b", "", "", ""]), None, "fio has no such job by then");
    assert_eq!(spans(["startdelay=5", "startdelay=5s", "startdelay=5000ms", "startdelay=5"]), Some(1));
    assert_eq!(spans(["startdelay=5", "", "", ""]), None);
}

#[test]
fn files_have_the_names_that_fio_gives_them() {
    let targets = |options: &str| {
        let [span] = &import_text(&format!("[a/b]\nsize=1m\nruntime=5\ndirect=1\n{options}\n")).spans[..] else {
            panic!()
        };
        let (end, words) = (span.iter().position(|word| word == "-L").unwrap_or(0), span.join(" "));
        (span[end + 1..].join(" "), words.contains(" -t2 "))
    };
    for (options, expected, is_shared) in [
        ("numjobs=2", "a_b.0.0 a_b.1.0", false),
        ("numjobs=2\ndirectory=/x:/y", "/x/a_b.0.0 /y/a_b.1.0", false),
        ("numjobs=2\nfilename_format=$jobname.$jobnum.$filenum", "a_b.0.0 a_b.1.0", false),
        ("numjobs=2\nfilename_format=data-$jobnum", "data-0 data-1", false),
        ("filename=--overwrite", "./--overwrite", false),
        ("filename=-w100:*1", "./-w100 ./*1", false),
        ("directory=-c1G\nfilename=f", "./-c1G/f", false),
        ("filename_format=-Zr", "./-Zr", false),
        ("numjobs=2\ndirectory=/x\nfilename_format=one.$filenum", "/x/one.0", true),
        ("nrfiles=2\nfilename_format=$filenum/f", "0/f 1/f", false),
    ] {
        assert_eq!(targets(options), (expected.to_owned(), is_shared), "{options}");
    }
}

#[test]
fn what_has_no_counterpart_is_refused_by_name() {
    for (options, expected) in [
        ("exec_prerun=rm -rf /", "exec_prerun=rm -rf /: a job file must not run commands"),
        ("ioengine=rbd", "ioengine=rbd: diskspd has no engine 'rbd'"),
        ("rw=rw", "rw=rw: reads and writes each have a place of their own in fio"),
        ("rw=randrw\npercentage_random=0", "percentage_random=0: reads and writes each have a place of their own"),
        ("rw=read:-8k", "rw=read:-8k: steps of '-8k'"),
        ("startdelay=3-5", "startdelay=3-5: '3-5' is not a time"),
        ("filename_format=$clientuid/$jobname", "filename_format=$clientuid/$jobname: name the files with filename="),
        ("nrfiles=2\nfilename_format=$jobname", "filename_format=$jobname: name the files with filename="),
        ("bogus=1", "bogus=1: fio has no such option"),
        ("bs=4q", "bs=4q: '4q' is not a size"),
        ("runtime=1500ms", "runtime=1500ms: durations here are whole seconds"),
        ("rw=randrw\nrwmixread=70\nrate_iops=100", "rate_iops=100: fio limits reads and writes apart"),
        ("rw=randread\nrandom_distribution=zipf:9", "the command: "),
        ("latency_target=2ms", "latency_target=2ms: a search, no run"),
        ("numjobs=4000000000", "numjobs=4000000000: more than 65536"),
    ] {
        let text = format!("[t]\nsize=1m\nruntime=5\n{options}\n");
        let refused = refusals(&text);
        assert!(refused.iter().any(|row| row.starts_with(expected)), "{options}: {refused:?}");
    }
    let mixed = import_text("[t]\nsize=1m\nruntime=5\nrw=randrw\npercentage_random=60\n");
    let row = mixed.rows.iter().find(|row| row.option == "percentage_random=60");
    assert_eq!(row.map(|row| row.level), Some(Level::Approximate), "{:?}", mixed.rows);
    assert!(
        import_text("[t]\nfilename=/dev/x\nruntime=5\nexec_prerun=0\nend_fsync=0")
            .rows
            .iter()
            .all(|row| row.level != Level::Refused)
    );
}

#[test]
fn a_file_is_read_as_fio_reads_it() {
    let import = import_text(
        "; comment\n[global]\nbs=8k\nrw=randread # as well\n[t]\nsize=1m ; here\ninclude more\n[u]\nsize=1m\n",
    );
    assert!(import.commands()[0].contains("-b16K") && import.commands()[0].contains("-b8K"));
    for (text, expected) in [
        ("", "there is no job"),
        ("[global]\nbs=4k", "there is no job"),
        ("bs=4k\n[t]\n", "t.fio:1: 'bs=4k' is before any section"),
        ("[t\n", "t.fio:1: '[t' is no section"),
        ("[t]\nbs=${X}\n", "t.fio:2: no variable X"),
        ("[t]\nbs=${X\n", "t.fio:2: '${X': '}' is missing"),
        ("[t]\ninclude ../x\n", "t.fio:2: no file ../x"),
    ] {
        assert!(import_of(text).expect_err(text).starts_with(expected), "{text}: {:?}", import_of(text));
    }
    let itself = |_: &str| Ok("include x\n".to_owned());
    let variable = |_: &str| Ok(String::new());
    let surroundings = Surroundings { variable: &variable, include: &itself, bytes_of: &|_| None, cpus: 1 };
    assert!(read_file("[t]\ninclude x\n", "t", &[], &surroundings).expect_err("it has no end").contains("8 deep"));
    let many = "[global]\n".to_owned() + &"bs=4k\n".repeat(10_000) + &"[t]\n".repeat(100);
    assert!(import_of(&many).expect_err("too many").contains("more than 65536 settings"));
    let words = ["--name=t", "--rw", "randread", "--size=1m"].map(str::to_owned);
    assert!(read_words(&words, &[], &surroundings).expect("a job").commands()[0].contains(" -r "));
    assert!(read_words(&["t.fio".to_owned()], &[], &surroundings).is_err());
}

/// A short job can require more memory than is available.
#[test]
fn the_names_and_settings_of_all_jobs_are_bounded() {
    let long = "x".repeat(50_000);
    let many = |text: &str| format!("[global]\nsize=1m\nruntime=5\nnumjobs=60000\n{text}");
    for text in [
        many(&format!("[{long}]\n")),
        many(&format!("filename_format={long}.$jobnum\n[t]\n")),
        many(&"[t]\n".repeat(8)),
        format!("[t]\nfilename={}\nsize=1g\nruntime=5\n", "a:".repeat(70_000)),
    ] {
        let refused = refusals(&text);
        assert!(refused.iter().any(|row| row.contains("more than 65536 files or threads")), "{refused:?}");
    }
    let apart = "[t]\nfilename=f\nsize=4k\nruntime=5\nnumjobs=3000\noffset_increment=4k\n";
    assert!(import_text(apart).commands()[0].contains(" 't.2999: "));
    let global = format!("[global]\ndescription={}\n{}", "x".repeat(900_000), "[t]\n".repeat(20));
    assert!(import_of(&global).expect_err("too large").contains("more than 16777216 bytes"));
    let options = (0..5_000).map(|number| format!("o{number}")).collect::<Vec<_>>().join("\n");
    assert!(refusals(&format!("[t]\n{options}")).iter().any(|row| row == "the job: more than 4096 differences"));
}

#[test]
fn nothing_is_dropped_silently() {
    let translated = crate::foreign::fio::OPTIONS.iter().flat_map(|option| option.names);
    for name in translated {
        let import = import_text(&format!("[t]\nsize=1m\nruntime=5\n{name}=1\n"));
        let is_told = import.rows.iter().any(|row| row.option.starts_with(&format!("{name}=")));
        assert!(is_told || import.is_refused(), "{name}: {:?}", import.rows);
    }
}

#[test]
fn the_table_has_eighty_columns_and_the_worst_first() {
    let import = import_text("[t]\nsize=1m\nruntime=5\ntime_based\nrw=randread\nexec_prerun=true\nthread\n");
    let table = import.table();
    assert!(table.starts_with("refused         exec_prerun=true  "), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(import.summary().ends_with(", 1 refused"), "{}", import.summary());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\[[a-z]{0,6}\\]\n|(rw|bs|bssplit|size|offset|rate|numjobs|nrfiles|runtime|random_distribution|thinktime|iodepth|filename|bsrange)=[0-9a-z%/:,.=-]{0,12}\n){0,12}") {
        drop(import_of(&text));
    }
}
