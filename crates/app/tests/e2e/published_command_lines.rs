//! Published command lines run unchanged, except for sizes and times shortened for a test.

use testkit::{Report, or_skip, workplace};

/// Each with a text that its report must contain.
const LINES: [(&str, &str); 8] = [
    ("-c64M -d1 -W0 -r -w0 -t8 -o8 -b8K -h -L file.dat", "using random I/O (alignment: 8KiB)"),
    ("-c64M -d1 -W0 -w0 -t2 -o8 -b512K -h -L file.dat", "using sequential I/O (stride: 512KiB)"),
    ("-c64M -W0 -w0 -b64K -F4 -T1b -s8b -o8 -d1 -h file.dat", "thread stride size: 64KiB"),
    ("-d1 -W0 -F1 -w0 -r -b8k -o10 file.dat", "thread pool with 1 threads"),
    ("-r -w30 -d1 -W0 -b8K -t8 -o15 -h -L -Z1M -c64M file.dat", "write buffer size: 1MiB"),
    ("-b4K -d1 -W0 -h -L -o32 -t2 -r -w30 -c64M file1.dat file2.dat", "path: 'file2.dat'"),
    ("-t2 -o32 -b4k -r4k -w0 -d1 -W0 -Sh -D -L -c64M file.dat", "gathering IOPS at intervals of 1000ms"),
    ("-t4 -o32 -b4k -r4k -w0 -d1 -W0 -Sh -D -L file.dat", "threads per file: 4"),
];

/// The first command line of the README.
const README: &str = "-c64M -d1 -W0 -r -b8K -t2 -o8 -w30 -Sh -L -D testfile.dat";

#[test]
fn the_lines_of_the_documents_run() {
    let place = workplace!();
    or_skip!(place.direct_io());
    place.create_file("file.dat", "-c64M");
    for (line, part) in LINES.into_iter().chain([(README, "performing mix test (read/write ratio: 70/30)")]) {
        // A busy machine may give a run no time in one second.
        let mut seconds = 1;
        let (run, report) = loop {
            let line = line.replace("-d1 ", &format!("-d{seconds} "));
            let run = place.diskspd(&line).run();
            let typed = format!("Command Line: {} {line}\n", place.program().display());
            run.expect_status(0).expect_stdout(&[&typed, part]);
            let report = Report::parse(&run.stdout);
            assert!(report.seconds >= 0.99, "{run}");
            let has_writes = report.write.sum.ios > 0 || !line.contains("-w30");
            if report.total.sum.ios > 0 && has_writes {
                break (run, report);
            }
            seconds *= 4;
            assert!(seconds < 100, "{run}");
        };
        assert_eq!(report.write.sum.ios > 0, line.contains("-w30"), "{run}");
        assert_eq!(run.stdout.contains("%-ile"), line.contains("-L"), "{run}");
    }
}

#[test]
fn forms_that_guides_use_although_they_look_wrong_are_taken() {
    let place = workplace!();
    place.create_file("file.dat", "-c1M");
    let blank = place.short_run("-b4K").arg("-o 8").arg("-t 2").arg("-r").arg("file.dat").run();
    blank.expect_status(0).expect_stdout(&["number of outstanding I/O operations per thread: 8", "thread count:\t\t2"]);
    let text = place.short_run("-b4K -n953 file.dat").run();
    text.expect_status(0).expect_stderr(&["WARNING", "-n953"]).expect_stdout(&["affinity disabled"]);
    let dash = place.diskspd("\u{2013}d1 \u{2013}W0 -b4K file.dat").run();
    dash.expect_status(0).expect_stderr(&["WARNING", "\u{2013}W0"]).expect_stdout(&["warm up time: 0s"]);
    // Unless it is the name of a file.
    place.file("\u{2013}W0", &vec![0; 65_536]);
    place.short_run("-b4K \u{2013}W0").run().expect_status(0).expect_stdout(&["path: '\u{2013}W0'"]);
}

#[test]
fn scripts_find_the_figures_where_they_always_were() {
    let place = workplace!();
    place.create_file("file.dat", "-c1M");
    let run = place.diskspd("-d1 -W0 -b4K -r -w50 -L -D -t2 file.dat").run();
    let lines: Vec<&str> = run.expect_status(0).stdout.lines().collect();
    // First line that begins with `total:`, split at bars: bytes, I/Os, MiB/s, I/O per s, AvgLat.
    let total = lines.iter().find(|line| line.starts_with("total:")).expect("a line of totals");
    let cells: Vec<f64> = total[6..].split('|').map(|cell| cell.trim().parse().expect("a number")).collect();
    assert_eq!(cells.len(), 7, "{total}");
    let report = Report::parse(&run.stdout);
    assert!(
        (cells[0] - report.total.sum.bytes as f64).abs() < 0.5 && (cells[3] - report.total.sum.ios_per_s).abs() < 0.01
    );
    // First line that begins with `avg.`: usage, user, kernel, idle.
    let average = lines.iter().find(|line| line.starts_with("avg.")).expect("a line of averages");
    let percent = |cell: &str| -> f64 { cell.trim().trim_end_matches('%').parse().expect("a percentage") };
    let cells: Vec<f64> = average.split('|').skip(1).map(percent).collect();
    assert_eq!(cells.len(), 4, "{average}");
    assert!((cells[0] + cells[3] - 100.0).abs() < 0.02 && (cells[1] + cells[2] - cells[0]).abs() < 0.02, "{average}");
}
