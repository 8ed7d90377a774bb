use super::*;
use crate::request::FakeEnv;
use crate::{Command, LineCommand};

fn args(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// True if the command line starts a run.
fn is_run(command: &str) -> bool {
    let args = args(command.strip_prefix("diskspd ").expect("a command"));
    matches!(crate::parse(&args, &FakeEnv), Ok(Command::Line(LineCommand::Run(_))))
}

#[test]
fn command_lines_of_others_have_a_nearest_one_of_ours() {
    for (line, argument, tool, expected) in [
        ("--rw=randread", "--rw=randread", "fio", "diskspd -r -b4K -o1 test.dat"),
        (
            "--name=t --rw=randrw --rwmixread=70 --bs=4k --iodepth=32 --numjobs=4 --runtime=60 --time_based --direct=1 \
             --ioengine=libaio --size=1g --filename=/data/f",
            "--name=t",
            "fio",
            "diskspd -r -w30 -b4K -o32 -t4 -d60 -Su --engine=aio -c1G /data/f",
        ),
        ("--rw randwrite --bs 64KiB f", "--rw", "fio", "diskspd -r -w100 -b64K -o1 f"),
        ("--rate=1m --rw=rw --rate_iops=100", "--rw=rw", "fio", "diskspd -g1M/s -w50 -b4K -o1 test.dat"),
        ("-rw=read -bs=4k f", "-rw=read", "fio", "diskspd -b4K -o1 f"),
        ("rw=trim direct=0 sync=none", "rw=trim", "fio", "diskspd --discard=100 -b4K -o1 test.dat"),
        ("--numjobs=4 --unknown f", "--numjobs=4", "fio", "diskspd -t4 -b4K -o1 f"),
        ("-w30 --rwmixread 70 f", "--rwmixread", "fio", "diskspd -w30 f"),
        ("--iodepth=0x f", "--iodepth=0x", "fio", "diskspd -b4K f"),
        ("-b4K --iodepth=8 --json r.json f", "--iodepth=8", "fio", "diskspd -b4K --json r.json -o8 f"),
        (
            "--filename=a:b --random_distribution=zipf:1.2",
            "--filename=a:b",
            "fio",
            "diskspd --skew=zipf:1.2 -b4K -o1 a b",
        ),
        (
            "--threads 8 --block 4k --rand --timelimit 30",
            "--threads",
            "elbencho",
            "diskspd -t8 -b4K -r -d30 -o1 test.dat",
        ),
        ("elbencho -t 4 --rand --block 4k f", "elbencho", "elbencho", "diskspd -r -b4K -o1 f"),
        (
            "sd=s,lun=/dev/sdx,threads=8 wd=w,sd=s,rdpct=100",
            "sd=s,lun=/dev/sdx,threads=8",
            "vdbench",
            "diskspd -o8 -w0 -b4K -r /dev/sdx",
        ),
    ] {
        let found = recognise(&args(line), &FakeEnv).expect(line);
        assert_eq!(found.argument, argument, "{line}");
        assert_eq!((found.tool.name(), found.command.as_deref()), (tool, Some(expected)), "{line}");
        assert!(is_run(expected), "{expected}");
    }
    for line in ["", "--nothing", "-r -b4K f", "--verify --json size f"] {
        assert!(recognise(&args(line), &FakeEnv).is_none(), "{line}");
    }
    assert!(recognise(&args("fio job.fio"), &FakeEnv).is_some_and(|found| found.command.is_none()));
}

#[test]
fn job_files_of_others_are_recognised() {
    let recognise = |text: &str| of_job_file(text.as_bytes()).map(|(tool, command)| (tool.name(), command));
    let job = "; a job\n[global]\nioengine=io_uring\ndirect=1\n[one]\nrw=randread\nbs=8k\n[two]\nbs=1m\n";
    assert_eq!(recognise(job), Some(("fio", "diskspd --engine=io_uring -Su -r -b8K -o1 test.dat".to_owned())));
    assert_eq!(recognise("[global]\nbs=8k\n"), Some(("fio", "diskspd -b8K -o1 test.dat".to_owned())));
    let parameters =
        "sd=sd1,lun=/dev/sdx,threads=8\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\nrd=r,wd=wd1,iorate=max,elapsed=60\n";
    assert_eq!(recognise(parameters), Some(("vdbench", "diskspd -o8 -b4K -w30 -d60 -r /dev/sdx".to_owned())));
    assert_eq!(recognise("sd=s\nwd=w,seekpct=seq\n"), Some(("vdbench", "diskspd -b4K -o8 test.dat".to_owned())));
    assert_eq!(recognise("sd=s\nwd=w,seekpct=40\n"), Some(("vdbench", "diskspd -rs40 -b4K -o8 test.dat".to_owned())));
    for text in ["", "form = \"diskspd-job\"\n[[time_spans]]\nduration_s = 1\n", "[a]\nrw=\"x\"\n", "<Profile/>"] {
        assert_eq!(recognise(text), None, "{text}");
    }
}

#[test]
fn every_suggested_command_is_accepted() {
    let values = ["", "0", "1", "100", "4k", "1g", "none", "randrw", "trim", "zipf:1.1", "io_uring", "mmap", "#1"];
    let ours = [vec!["-w30".to_owned()], vec!["-q1".to_owned()], vec!["-w30".to_owned()]];
    let settings = |words: &[Word], value: &str| -> Settings {
        words.iter().map(|word| (word.name.to_owned(), value.to_owned())).collect()
    };
    for value in values {
        for tool in Tool::ALL {
            let all = settings(&words_of_tools().collect::<Vec<_>>(), value);
            for found in [command(tool, &all), nearest(tool, &all, &ours, &["#1".to_owned()])] {
                assert!(is_run(&found), "{value}: {found}");
            }
        }
        for word in words_of_tools() {
            let found = command(word.tool, &settings(std::slice::from_ref(&word), value));
            assert!(is_run(&found), "{} {value}: {found}", word.name);
        }
    }
}

#[test]
fn every_example_is_an_argument_of_ours() {
    for word in words_of_tools() {
        for argument in word.example.split_whitespace() {
            assert!(crate::words::row_of(argument).is_some(), "{}: {argument}", word.name);
        }
    }
}
