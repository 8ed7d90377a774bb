//! `-X` with the built program: settings that only a profile has, and errors if it cannot be run.

use std::fmt::Write as _;
use testkit::{Report, Row, Workplace};

/// The report of each timespan.
fn timespans(stdout: &str) -> Vec<Report> {
    stdout.split("Results for timespan ").skip(1).map(Report::parse).collect()
}

/// The file of a row.
fn file(row: &Row) -> &str {
    row.others.last().expect("the last column is the file")
}

fn profile(place: &Workplace, name: &str, text: &str) {
    place.file(name, text.as_bytes());
}

const TWO_TIMESPANS: &str = "
<Profile>
  <PrecreateFiles>UseMaxSize</PrecreateFiles>
  <TimeSpans>
    <TimeSpan>
      <Duration>1</Duration><Warmup>0</Warmup>
      <Targets>
        <Target>
          <Path>*1</Path><BlockSize>65536</BlockSize><FileSize>1048576</FileSize><WriteRatio>100</WriteRatio>
          <RequestCount>4</RequestCount>
        </Target>
        <Target>
          <Path>*2</Path><BlockSize>4096</BlockSize><Random>4096</Random><FileSize>2097152</FileSize>
          <ThreadsPerFile>2</ThreadsPerFile><RequestCount>1</RequestCount>
        </Target>
      </Targets>
    </TimeSpan>
    <TimeSpan>
      <Duration>1</Duration><Warmup>0</Warmup><MeasureLatency>true</MeasureLatency>
      <Targets>
        <Target>
          <Path>*1</Path><BlockSize>8192</BlockSize><Random>8192</Random><FileSize>4194304</FileSize>
          <WriteRatio>30</WriteRatio>
        </Target>
      </Targets>
    </TimeSpan>
  </TimeSpans>
</Profile>
";

// Shows switches: -X<file>
#[test]
fn timespans_run_in_turn_on_files_made_before_the_first_each_target_with_its_own_settings() {
    let place = testkit::workplace!();
    profile(&place, "two.xml", TWO_TIMESPANS);
    let run = place.diskspd("-v -Xtwo.xml a.dat b.dat").run();
    run.expect_status(0).expect_stderr(&["Generating requests for timespan 2."]);
    let created: Vec<&str> = run.stderr.lines().filter(|line| line.contains("Creating file")).collect();
    assert_eq!(created.len(), 2, "each is made once\n{run}");
    assert!(created[0].contains("'a.dat' of size 4194304"), "with its largest size\n{run}");
    assert!(created[1].contains("'b.dat' of size 2097152"), "{run}");

    let reports = timespans(&run.stdout);
    assert_eq!(reports.len(), 2, "{run}");
    let [first, second] = [&reports[0], &reports[1]];
    let files: Vec<&str> = first.total.rows.iter().map(file).collect();
    assert_eq!(files, ["a.dat (4MiB)", "b.dat (2MiB)", "b.dat (2MiB)"]);
    for (row, block_bytes) in first.total.rows.iter().zip([65536, 4096, 4096]) {
        assert_eq!(row.bytes, row.ios * block_bytes, "{run}");
    }
    let (all, written) = (&first.total.rows, &first.write.rows);
    assert_eq!([written[0].ios, written[1].ios, written[2].ios], [all[0].ios, 0, 0], "{run}");
    assert_eq!(first.total.sum_of("AvgLat"), None, "only the second measures latency\n{run}");

    assert_eq!(second.total.rows.len(), 1, "{run}");
    assert_eq!(file(&second.total.rows[0]), "a.dat (4MiB)");
    assert_eq!(second.total.sum.bytes, second.total.sum.ios * 8192, "{run}");
    assert!(second.total.sum_of("AvgLat").is_some(), "{run}");
    // A busy machine may give them too little time in one second.
    let mut reports = reports;
    let mut seconds = 1;
    while reports[0].total.rows.iter().any(|row| row.ios == 0) || reports[1].total.sum.ios < 2000 {
        seconds *= 4;
        assert!(seconds < 100, "rows without I/Os: {reports:?}");
        reports = timespans(&place.diskspd(&format!("-d{seconds} -Xtwo.xml a.dat b.dat")).run().stdout);
    }
    let [written, all] = [&reports[1].write.sum, &reports[1].total.sum].map(|sum| sum.ios as f64);
    assert!((written / all - 0.3).abs() < 0.05, "{written} of {all} written");
}

#[test]
fn a_file_of_two_sizes_is_made_anew_between_the_timespans() {
    let place = testkit::workplace!();
    profile(&place, "two.xml", &TWO_TIMESPANS.replace("<PrecreateFiles>UseMaxSize</PrecreateFiles>", ""));
    let run = place.diskspd("-v -Xtwo.xml a.dat b.dat").run();
    run.expect_status(0);
    let sizes: Vec<&str> =
        run.stderr.lines().filter_map(|line| line.split_once("Creating file '")).map(|at| at.1).collect();
    assert_eq!(sizes, ["a.dat' of size 1048576.", "b.dat' of size 2097152.", "a.dat' of size 4194304."], "{run}");
    let reports = timespans(&run.stdout);
    assert_eq!(file(&reports[0].total.rows[0]), "a.dat (1MiB)");
    assert_eq!(file(&reports[1].total.rows[0]), "a.dat (4MiB)");
}

// Shows switches: -:<flags>
#[test]
fn options_count_instead_of_what_every_timespan_says() {
    let place = testkit::workplace!();
    profile(&place, "two.xml", TWO_TIMESPANS);
    let run = place.diskspd("-d2 -W1 -C3 -z7 -vs -:1 -Rp -Xtwo.xml a.dat b.dat").run();
    run.expect_status(0);
    for said in ["duration: 2s", "warm up time: 1s", "cool down time: 3s", "random seed: 7"] {
        assert_eq!(run.stdout.matches(said).count(), 2, "{said}\n{run}");
    }
    assert!(!place.path("a.dat").exists(), "nothing is made for a profile that is shown");
    let shown = place.diskspd("-Rpxml -vs -:1 -Xtwo.xml").run();
    shown.expect_status(0);
    shown.expect_stdout(&[
        "<VerboseStats>true<",
        "<ExperimentFlags>1<",
        "<ResultFormat>xml<",
        "<Path>*1<",
        "<Path>*2<",
    ]);
}

/// Two targets on thread 0, 30 to 60; one on thread 1; three on thread 2, 30 to 10 to 10.
const WEIGHTS: &str = "
<Profile>
  <TimeSpans>
    <TimeSpan>
      <Duration>2</Duration><Warmup>0</Warmup><ThreadCount>3</ThreadCount><RequestCount>4</RequestCount>
      <Targets>
        <Target>
          <Path>a.dat</Path><BlockSize>512</BlockSize><Random>512</Random><Weight>30</Weight>
        </Target>
        <Target>
          <Path>b.dat</Path><BlockSize>1024</BlockSize><Random>1024</Random><Weight>10</Weight>
          <ThreadTargets>
            <ThreadTarget><Thread>0</Thread><Weight>60</Weight></ThreadTarget>
            <ThreadTarget><Thread>2</Thread></ThreadTarget>
          </ThreadTargets>
        </Target>
        <Target>
          <Path>c.dat</Path><BlockSize>2048</BlockSize><Random>2048</Random><Weight>10</Weight>
          <ThreadTargets><ThreadTarget><Thread>2</Thread></ThreadTarget></ThreadTargets>
        </Target>
      </Targets>
    </TimeSpan>
  </TimeSpans>
</Profile>
";

/// Rows of a thread, with the file and the weight that each should have.
type Share<'a> = (&'a [Row], &'a [(&'a str, f64)]);

#[test]
fn threads_share_their_ios_among_their_targets_by_weight() {
    const IOS_MIN: u64 = 25_000;
    let place = testkit::workplace!();
    for name in ["a.dat", "b.dat", "c.dat"] {
        place.file(name, &vec![0; 65536]);
    }
    profile(&place, "weights.xml", WEIGHTS);
    let mut seconds = 2;
    let rows = loop {
        let run = place.diskspd(&format!("-d{seconds} -Xweights.xml")).run();
        run.expect_status(0);
        let rows = Report::parse(&run.stdout).total.rows;
        assert_eq!(rows.len(), 6, "{run}");
        let of_thread = |range: std::ops::Range<usize>| rows[range].iter().map(|row| row.ios).sum::<u64>();
        if of_thread(0..2).min(of_thread(2..3)).min(of_thread(3..6)) >= IOS_MIN {
            break rows;
        }
        // A machine that is slow, or busy with other tests.
        seconds *= 2;
        assert!(seconds <= 64, "{run}");
    };
    let threads: [Share<'_>; 3] = [
        (&rows[..2], &[("a.dat (64KiB)", 30.0), ("b.dat (64KiB)", 60.0)]),
        (&rows[2..3], &[("a.dat (64KiB)", 30.0)]),
        (&rows[3..], &[("a.dat (64KiB)", 30.0), ("b.dat (64KiB)", 10.0), ("c.dat (64KiB)", 10.0)]),
    ];
    for (rows, expected) in threads {
        let ios: u64 = rows.iter().map(|row| row.ios).sum();
        let weights: f64 = expected.iter().map(|(_, weight)| weight).sum();
        for (row, (name, weight)) in rows.iter().zip(expected) {
            assert_eq!(file(row), *name);
            let percent = 100.0 * row.ios as f64 / ios as f64;
            assert!((percent - 100.0 * weight / weights).abs() < 1.5, "{name}: {percent} of {ios}");
        }
    }
}

#[test]
fn a_thread_without_a_target_is_refused() {
    let place = testkit::workplace!();
    place.file("a.dat", &vec![0; 65536]);
    let text = WEIGHTS.replace(
        "<Path>a.dat</Path>",
        "<Path>a.dat</Path><ThreadTargets><ThreadTarget><Thread>0</Thread></ThreadTarget></ThreadTargets>",
    );
    profile(&place, "weights.xml", &text.replace("b.dat", "a.dat").replace("c.dat", "a.dat"));
    place.diskspd("-Xweights.xml").run().expect_status(3).expect_stderr(&["thread 1", "has no target"]);
}

#[test]
fn a_command_line_becomes_a_template_that_runs_on_any_target() {
    let place = testkit::workplace!();
    let shown = place.short_run("-b4K -r -w50 -c1M -L -Rpxml *1").run();
    shown.expect_status(0);
    profile(&place, "template.xml", &shown.stdout);
    for target in ["a.dat", "b&<>\u{e4}.dat"] {
        let run = place.diskspd("-Xtemplate.xml -Rtext").arg(target).run();
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        assert_eq!(file(&report.total.rows[0]), format!("{target} (1MiB)"));
        assert!(report.write.sum.ios > 0 && report.read.sum.ios > 0, "{run}");
    }
    place.diskspd("-Xtemplate.xml").run().expect_status(3).expect_stderr(&["'*1'"]);
    let unused = place.diskspd("-Xtemplate.xml a.dat b.dat c.dat").run();
    unused.expect_status(3).expect_stderr(&["ERROR: target 'b.dat' is not used", "ERROR: target 'c.dat' is not used"]);
}

#[test]
fn files_of_others_are_as_safe_from_a_profile_as_from_a_command_line() {
    let place = testkit::workplace!();
    place.file("a.dat", &[7; 8192]);
    profile(&place, "two.xml", TWO_TIMESPANS);
    let run = place.diskspd("-Xtwo.xml a.dat b.dat").run();
    run.expect_status(3).expect_stderr(&["'a.dat'"]);
    assert_eq!(place.content("a.dat"), [7; 8192]);
    assert!(!place.path("b.dat").exists(), "nothing is made where anything is refused");
    let taken = place.diskspd("--overwrite -d1 -Xtwo.xml a.dat b.dat").run();
    taken.expect_status(0);
    assert_eq!(place.content("a.dat").len(), 4 << 20);
}

#[test]
fn a_profile_that_powershell_wrote_is_read() {
    let place = testkit::workplace!();
    let text = TWO_TIMESPANS.replace('\n', "\r\n").replace("true", "True");
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.file("two.xml", &utf16);
    let shown = place.diskspd("-Rpxml -Xtwo.xml").run();
    profile(&place, "plain.xml", TWO_TIMESPANS);
    let plain = place.diskspd("-Rpxml -Xplain.xml").run();
    assert_eq!(shown.expect_status(0).stdout, plain.expect_status(0).stdout);
}

#[test]
fn faults_are_told_with_their_places_and_nothing_is_touched() {
    let place = testkit::workplace!();
    let text = TWO_TIMESPANS.replace("<Duration>1<", "<Duration>1s<").replace("*2", "new.dat");
    profile(&place, "bad.xml", &text);
    let run = place.diskspd("-Xbad.xml").run();
    run.expect_status(3).expect_stderr(&[
        "ERROR: bad.xml:6:7: <Duration>: ",
        "ERROR: bad.xml:19:7: <Duration>: ",
        "'1s'",
    ]);
    assert_eq!(run.stdout, "");
    assert!(!place.path("new.dat").exists());
    for (name, reason) in
        [("-Xmissing.xml", "missing.xml"), ("-X.", "cannot read the profile '.'"), ("-X/dev/zero", "8 MiB")]
    {
        place.diskspd(name).run().expect_status(3).expect_stderr(&[reason]);
    }
}

#[test]
fn a_fault_of_meaning_names_timespan_and_target() {
    let place = testkit::workplace!();
    let text = TWO_TIMESPANS.replace("<WriteRatio>30</WriteRatio>", "<ThreadStride>512</ThreadStride>");
    profile(&place, "bad.xml", &text);
    let run = place.diskspd("-Xbad.xml a.dat b.dat").run();
    run.expect_status(3).expect_stderr(&["ERROR: timespan 2: ", "-T conflicts with -r"]);
}

#[test]
fn paths_of_windows_are_told_how_to_become_targets() {
    let place = testkit::workplace!();
    profile(&place, "windows.xml", &TWO_TIMESPANS.replace("*1", r"C:\a.dat").replace("*2", r"\\host\share\b.dat"));
    let run = place.diskspd("--plan -Xwindows.xml").run();
    run.expect_status(3);
    run.expect_stderr(&[r"'C:\a.dat' is a Windows path", r"'\\host\share\b.dat'", "use the template *1"]);
    assert_eq!(run.stderr.lines().count(), 2, "one message for each: {run}");
    profile(&place, "drive.xml", &TWO_TIMESPANS.replace("*1", "#1").replace("*2", "E:"));
    place.diskspd("-Xdrive.xml").run().expect_status(3).expect_stderr(&["'#1'", "'E:'", "use the template *1"]);
}

#[test]
fn hundreds_of_timespans_and_targets_are_planned() {
    let place = testkit::workplace!();
    place.file("a.dat", &vec![0; 65536]);
    let target = "<Target><Path>a.dat</Path><BlockSize>512</BlockSize></Target>".repeat(200);
    let mut text = "<Profile><TimeSpans>".to_owned();
    for duration in 1..=50 {
        let _ = write!(text, "<TimeSpan><Duration>{duration}</Duration><Targets>{target}</Targets></TimeSpan>");
    }
    text.push_str("</TimeSpans></Profile>");
    profile(&place, "many.xml", &text);
    let run = place.diskspd("--plan -Xmany.xml").run();
    run.expect_status(0).expect_stdout(&["Timespan 50: warm-up 5 s, measurement 50 s"]);
}
