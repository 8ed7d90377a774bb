//! Runs of thousands of targets and threads: their cost in system calls, bytes and memory, and what is refused.

use std::fmt::Write as _;
use std::time::Duration;
use testkit::{Finished, KernelIo, Report, Workplace, or_skip, skip, tool, workplace};

const FEW: u64 = 1_000;
/// Nearly 10,000: each written target needs two open files, and machines allow 20,000 of them.
const MANY: u64 = 9_900;

/// Empty but for their size, so that thousands cost next to nothing.
const TARGET_BYTES: u64 = 64 << 10;

/// Time limit of such a run on a slow machine, under strace.
const PATIENCE: Duration = Duration::from_mins(5);

/// One thread that serves all targets, one I/O at a time.
const LOAD: &str = "-b4K -r -F1 -O1 -d60 -W0 --max-ios=100";

fn place() -> Result<Workplace, String> {
    let place = workplace!();
    for number in 0..MANY {
        place.sparse(&format!("f{number}"), TARGET_BYTES).map_err(|error| error.to_string())?;
    }
    Ok(place)
}

fn names(count: u64) -> String {
    (0..count).map(|number| format!("f{number}")).collect::<Vec<_>>().join(" ")
}

/// A profile of one thread and as many targets, each by its name.
fn profile(count: u64, name: &str) -> String {
    let mut targets = String::new();
    for number in 0..count {
        write!(targets, "<Target><Path>{name}{number}</Path></Target>").expect("strings grow");
    }
    format!(
        "<Profile><TimeSpans><TimeSpan><Duration>60</Duration><Warmup>0</Warmup><ThreadCount>1</ThreadCount>\
         <RequestCount>1</RequestCount><Targets>{targets}</Targets></TimeSpan></TimeSpans></Profile>"
    )
}

/// A run of all its targets, or the reason why that many are not possible here.
fn whole(run: &Finished, rows: u64) -> Result<KernelIo, String> {
    if run.stderr.contains("open files; the limit of this process is ") {
        return Err(format!("fewer than {rows} files may be open here"));
    }
    run.expect_status(0);
    let report = Report::parse(&run.stdout);
    assert_eq!(report.total.rows.len() as u64, rows);
    assert!(report.total.sum.ios > 0, "{:?}", report.total.sum);
    run.kernel_io.ok_or_else(|| "the kernel's account of the process cannot be read here".to_owned())
}

/// Ten times the targets may cost twelve times as much, and each additional one no more than `bound`.
fn assert_per_target(what: &str, [few, many]: [u64; 2], counts: [u64; 2], bound: u64) {
    assert!(many <= 12 * few, "{what}: {few} with {} targets, {many} with {}", counts[0], counts[1]);
    let each = many.saturating_sub(few) / (counts[1] - counts[0]);
    assert!(each <= bound, "{what}: {each} for each target; the bound is {bound}");
}

// Shows faults: 10,000 targets
#[test]
fn ten_times_the_targets_cost_ten_times_as_much() {
    let place = or_skip!(place());
    // The second also has the measurements of 60 intervals for each target.
    for (options, memory) in [("", 16 << 10), ("-L -D -w50 --overwrite", 40 << 10)] {
        let run = |count| {
            let program = place.diskspd(LOAD).args(options).args(&names(count)).limit(PATIENCE);
            whole(&program.run_counted(), count)
        };
        let [few, many] = [or_skip!(run(FEW)), or_skip!(run(MANY))];
        let pair = |of: fn(&KernelIo) -> u64| [of(&few), of(&many)];
        assert_per_target(&format!("bytes, {options}"), pair(|io| io.transferred_bytes), [FEW, MANY], 100);
        assert_per_target(&format!("memory, {options}"), pair(|io| io.peak_bytes), [FEW, MANY], memory);
    }
}

#[test]
fn system_calls_grow_with_targets_and_files_of_the_kernel_are_read_once() {
    let place = or_skip!(place());
    let calls_of = |count| -> Result<(u64, [usize; 2], bool), String> {
        place.file("profile.xml", profile(count, "f").as_bytes());
        let calls = place.system_calls("-e trace=!futex,brk", "-Xprofile.xml --max-ios=100")?;
        let files = ["/proc/self/mountinfo", "/queue/io_poll"].map(|name| calls.matches(name).count());
        // A call that another thread interrupts has a second line.
        let count = calls.lines().filter(|line| !line.contains(" resumed>")).count() as u64;
        Ok((count, files, calls.contains("F_SETFL, ")))
    };
    // Half as many as in other runs: strace is slow.
    let counts = [FEW / 2, MANY / 2];
    let (few, read_with_few, _) = or_skip!(calls_of(counts[0]));
    let (many, read_with_many, tries_direct) = or_skip!(calls_of(counts[1]));
    // A path is resolved with a call for each of its folders.
    let folders = place.path("f0").ancestors().count() as u64 - 2;
    // tmpfs and overlayfs do not state what direct I/O needs: the flag is set and cleared, and lseek searches for data.
    let trial = if tries_direct { 4 } else { 0 };
    assert_per_target("system calls", [few, many], counts, 25 + folders + trial);
    assert_eq!(read_with_few, read_with_many);
}

#[test]
fn a_thread_for_each_of_many_targets() {
    let place = or_skip!(place());
    let run = place.diskspd("-b4K -r -o1 -t1 -d60 -W0 --max-ios=100").args(&names(MANY)).limit(PATIENCE).run_counted();
    if run.stderr.contains("cannot start thread") {
        skip!("fewer than {MANY} threads may be started here");
    }
    or_skip!(whole(&run, MANY));
}

// Shows faults: More than 65,536 targets or threads in a timespan
#[test]
fn too_many_targets_are_refused_before_any_is_looked_at() {
    let place = workplace!();
    let strace = or_skip!(tool("strace"));
    or_skip!(place.system_calls("-e trace=%file", "--version"));
    place.file("profile.xml", profile(200_000, "t").as_bytes());
    // Arguments that could be options of Windows are checked in other runs.
    let line = format!("-b4K -F1{}", " /t1".repeat(65_537));
    for (words, name, count) in [("-Xprofile.xml", "\"t", 200_000), (line.as_str(), "\"/t1\"", 65_537)] {
        let traced = place.tool(&strace).args("-f -e trace=%file -o calls.txt").arg(place.program());
        // The argument of execve is shown truncated, without the targets.
        let run = traced.args("-d1 -W0 --json=r.json").args(words).limit(PATIENCE).run();
        let message = format!("ERROR: too many targets: {count} (maximum 65536 per timespan): use fewer");
        run.expect_status(3).expect_stderr(&[&message]);
        assert_eq!(run.stdout, "", "nothing is reported");
        let calls = String::from_utf8(place.content("calls.txt")).expect("strace's output is text");
        let looks: Vec<&str> = calls.lines().filter(|call| call.contains(name) && !call.contains("execve(")).collect();
        assert!(looks.is_empty(), "{:?}", &looks[..looks.len().min(5)]);
    }
}

// Shows faults: 1,024 threads on few CPUs
#[test]
fn a_thousand_threads_end_well_and_each_counts() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for words in ["-b4K -r -t1024 -o1 -g20i", "-b4K -r -t1024 -o2 -g20i -L"] {
        let plan = place.diskspd("--plan").args(words).arg("a.dat").run();
        let planned = planned_bytes(&plan.expect_status(0).stdout);
        let run = place.diskspd("-d60 -W0 --max-ios=20480").args(words).arg("a.dat").limit(PATIENCE).run_counted();
        let kernel = or_skip!(whole(&run, 1024));
        let report = Report::parse(&run.stdout);
        assert!(report.total.rows.iter().all(|row| row.ios > 0), "{run}");
        assert_eq!(report.total.rows.iter().map(|row| row.ios).sum::<u64>(), report.total.sum.ios);
        // The program itself is not part of the plan.
        assert!(kernel.peak_bytes <= planned + (32 << 20), "{} bytes, {planned} planned", kernel.peak_bytes);
    }
}

/// The additional memory for more requests matches the plan: the rest of the program is the same.
#[test]
fn requests_take_no_more_than_is_planned_for_them() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let measured = |depth: &str| {
        let words = format!("-b512 -r -t1 -W0 -d60 -L --max-ios=100000 -o{depth} a.dat");
        let plan = place.diskspd("--plan").args(&words).run();
        let run = place.diskspd(&words).limit(PATIENCE).run_counted();
        Ok::<_, String>((planned_bytes(&plan.expect_status(0).stdout), whole(&run, 1)?.peak_bytes))
    };
    // An unoptimised program searches all free requests whenever one becomes free.
    let ((plan_of_few, peak_of_few), (plan_of_many, peak_of_many)) =
        (or_skip!(measured("1")), or_skip!(measured("16384")));
    let (planned, taken) = (plan_of_many - plan_of_few, peak_of_many.saturating_sub(peak_of_few));
    assert!(taken <= planned + (2 << 20), "{taken} bytes more, {planned} planned");
}

/// The value of a line like `Memory: needs at most 72.25MiB; ...`.
fn planned_bytes(plan: &str) -> u64 {
    let text = plan.split_once("Memory: needs at most ").and_then(|(_, text)| text.split_once(';'));
    let (figure, _) = text.unwrap_or_else(|| panic!("no memory in the plan:\n{plan}"));
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find_map(|(name, shift)| Some((figure.strip_suffix(name)?, shift)));
    let (number, shift) = unit.unwrap_or_else(|| panic!("'{figure}' is no size"));
    (number.parse::<f64>().expect("a number") * f64::from(1 << shift)) as u64
}
