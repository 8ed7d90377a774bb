//! `diskspd run` and `-Rptoml`: loads in TOML.

use testkit::workplace;

const JOB: &str = r#"form = "diskspd-job/1"
require = ["iops>0", "p99<1h"]

[[time_spans]]
duration_s = 60
warm_up_s = 0

[[time_spans.targets]]
path = "*1"
create_size = "1M"
block_size = "4K"
random = "4K"
outstanding = 1

[[time_spans.targets]]
path = "second.dat"
create_size = "2M"
block_size = "64K"
write_percent = 100
outstanding = 1

[[time_spans]]
duration_s = 60
warm_up_s = 0

[[time_spans.targets]]
path = "*1"
block_size = "8K"
"#;

#[test]
fn a_job_runs_its_timespans_on_its_targets_and_is_judged_by_its_requirements() {
    let place = workplace!();
    place.file("job.toml", JOB.as_bytes());
    let run = place.diskspd("run job.toml --json r.json --require iops>1000G first.dat").run();
    run.expect_status(3).expect_stderr(&["'1000G' is not a bound for iops"]);
    let run = place.diskspd("run job.toml --json r.json --max-ios=1000 --require mib>0 first.dat").run();
    run.expect_status(0);
    let sizes = ["first.dat", "second.dat"].map(|name| std::fs::metadata(place.path(name)).expect("made").len());
    assert_eq!(sizes, [1 << 20, 2 << 20]);
    let result: serde_json::Value = place.json("r.json");
    let spans = result["time_spans"].as_array().expect("timespans");
    assert_eq!(spans.len(), 2, "{run}");
    for span in spans {
        let kept: Vec<_> =
            span["requirements"].as_array().expect("a list").iter().map(|f| f["subject"].clone()).collect();
        assert_eq!(kept, ["iops>0", "p99<1h", "bandwidth>0"], "{run}");
    }
    let span = &result["profile"]["time_spans"][0];
    // A requirement on a latency enables its measurement.
    assert_eq!((&span["measure_latency"], &span["duration_s"]), (&true.into(), &60.into()));
    assert_eq!(span["targets"][1]["write_percent"], 100);
    let failed = place.diskspd("run job.toml --require iops<1 -d60 --max-ios=1000 first.dat").run();
    failed.expect_status(4);
}

#[test]
fn a_command_line_and_its_job_have_the_same_plan() {
    let place = workplace!();
    for line in [
        "-c1M -d1 -b8K -r -w30 -o8 -t2 -Su -L a.dat b.dat",
        "-c1M -F2 -O4 -rs50 -b4K -D200 -z7 -rdpct90/10 a.dat",
        "-c1M -r -b4K -o4 --rate-process=poisson --rate=100 a.dat",
        "-c1M -Zr -si8K -i3 -j4 -a0 --max-bytes=1G a.dat",
    ] {
        let shown = place.diskspd("-Rptoml").args(line).run();
        shown.expect_status(0);
        let job = place.file("job.toml", shown.stdout.as_bytes());
        assert!(shown.stdout.starts_with("form = \"diskspd-job/1\"\n"), "{shown}");
        let again = place.diskspd("run job.toml -Rptoml").run();
        assert_eq!(again.stdout, shown.stdout);
        let xml = |program: testkit::Program| program.run().stdout;
        assert_eq!(xml(place.diskspd("run job.toml -Rpxml")), xml(place.diskspd("-Rpxml").args(line)), "{line}");
        let plan = |program: testkit::Program| {
            let run = program.run();
            run.expect_status(0);
            // The amount of free memory changes all the time.
            run.stdout.lines().filter(|line| !line.contains(" is available, ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(plan(place.diskspd("run job.toml --plan")), plan(place.diskspd("--plan").args(line)), "{line}");
        std::fs::remove_file(job).expect("it is there");
    }
}

#[test]
fn a_profile_becomes_a_job_and_a_job_may_be_a_profile() {
    let place = workplace!();
    let xml = place.diskspd("-Rpxml -b8K -r -w30 *1").run();
    place.file("p.xml", xml.stdout.as_bytes());
    let job = place.diskspd("-Xp.xml -Rptoml --require p99<1s").run();
    job.expect_status(0).expect_stdout(&["require = [\"p99<1s\"]", "measure_latency = true", "random = \"8K\""]);
    place.file("job.toml", job.stdout.as_bytes());
    place
        .diskspd("run p.xml --plan -c1M a.dat")
        .run()
        .expect_status(3)
        .expect_stderr(&["'-c1M' cannot be combined with"]);
    place.diskspd("run p.xml -Rptoml").run().expect_status(0).expect_stdout(&["path = \"*1\""]);
    place.diskspd("-Xjob.toml a.dat").run().expect_status(3).expect_stderr(&["run it with diskspd run job.toml"]);
}

#[test]
fn what_is_wrong_with_a_job_is_listed_and_nothing_is_touched() {
    let place = workplace!();
    place.file(
        "job.toml",
        JOB.replace("block_size = \"4K\"", "blok_size = \"4K\"").replace("p99<1h", "p98<1h").as_bytes(),
    );
    let refused = place.diskspd("run job.toml first.dat").run();
    refused.expect_status(3).expect_stderr(&[
        "ERROR: job.toml:2:22: require: unknown metric 'p98'",
        "ERROR: job.toml:11:1: time_spans.targets.blok_size: unknown key in time_spans.targets; did you mean \
         block_size?",
    ]);
    assert!(!place.path("first.dat").exists() && !place.path("second.dat").exists());
    place.file("good.toml", JOB.as_bytes());
    for (words, expected) in [
        ("run good.toml", "target '*1' is a placeholder (template)"),
        ("run good.toml -b4K first.dat", "'-b4K' cannot be combined with a job file"),
        ("run good.toml -Xp.xml first.dat", "a job file cannot be combined with an XML profile (-X)"),
        ("run good.toml --json good.toml first.dat", "the file is the job of this run"),
        ("run nothing.toml first.dat", "cannot read the job 'nothing.toml'"),
        ("run", "JOB is missing"),
    ] {
        let refused = place.diskspd(words).run();
        refused.expect_status(3).expect_stderr(&[expected]);
        assert!(!place.path("first.dat").exists(), "{words}");
    }
    place.file("preset.toml", b"form = \"diskspd-preset/1\"\ntitle = \"t\"\n");
    place
        .diskspd("run preset.toml a")
        .run()
        .expect_status(3)
        .expect_stderr(&["to run a preset, use 'diskspd preset run'"]);
    let theirs = place.file("second.dat", b"theirs");
    let refused = place.diskspd("run good.toml first.dat").run();
    refused.expect_status(3).expect_stderr(&["second.dat", "--overwrite"]);
    assert_eq!(std::fs::read(theirs).expect("still there"), b"theirs");
}

#[test]
fn no_error_repeats_a_long_text_of_a_file() {
    let place = workplace!();
    let long = "k".repeat(7_000_000);
    let half = &long[..3_500_000];
    let form = "form = \"diskspd-job/1\"\n";
    for (command, text) in [
        ("run long", format!("{form}{long} = 1\n")),
        ("run long", format!("{form}[[{long}]]\n")),
        ("run long", format!("{form}verbose = \"{long}\"\n")),
        ("run long", format!("form = \"{long}\"\n")),
        ("run long", format!("{form}[[time_spans]]\n{long} = 1\n")),
        ("run long", format!("{form}{half} = 1\n{half} = 2\n")),
        ("run long", format!("<Profile><{half}>1</{half}></Profile>")),
        ("run long", format!("<{half}>1</{half}>")),
        ("run long", format!("<Profile><a>1</{long}></Profile>")),
        ("run long", format!("<Profile>&{long};</Profile>")),
        ("run long", format!("<Profile {long}=\"1\"/>")),
        ("run long", format!("<Profile {half}=\"1\" {half}=\"2\"/>")),
        ("run long", format!("<Profile><Verbose>{long}</Verbose></Profile>")),
        ("run long", format!("<Profile><Verbose><{half}>1</{half}></Verbose></Profile>")),
        ("run long", format!("{form}require = [\"{long}<1\"]\n")),
        ("run long", format!("{form}[[time_spans]]\n[[time_spans.targets]]\npath = \"{long}\"\n")),
        ("preset run ./long -d1 t.dat", format!("{long} = 1\n")),
        ("preset run ./long -d1 t.dat", format!("form = \"{long}\"\ntitle = \"t\"\nload = []\n")),
        ("--plan --expect volume=io2,volumes=long t.dat", format!("{long} = 1\n")),
        ("report long", format!("<Results><{half}>1</{half}")),
        ("report long", format!("{{\"schema\":\"{long}\"}}")),
        ("report long", format!("{{\"schema\":\"diskspd-result\",\"schema_version\":\"{long}\"}}")),
        ("report long", format!("{{\"schema\":\"diskspd-result\",\"{long}\"")),
        ("report long", format!("{{\"schema\":\"diskspd-monitor\",\"kind\":\"{long}\"}}\n")),
    ] {
        place.file("long", text.as_bytes());
        let refused = place.diskspd(command).run();
        refused.expect_status(if command == "report long" { 1 } else { 3 }).expect_stderr(&["ERROR: "]);
        assert!(
            refused.stderr.len() + refused.stdout.len() < 4096,
            "{} bytes: {command}, {}",
            refused.stderr.len(),
            &text[..60]
        );
    }
}
