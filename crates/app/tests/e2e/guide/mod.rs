//! The guide is correct: its commands print what its pages show, and no command on them, or on other pages, is refused.
//!
//! `GUIDE_REWRITE=/path/to/diskspd cargo test --test e2e guide::` replaces the output shown on the pages by that of
//! this program here: after a change of the output, and because every value in the guide is to be a measured one.

mod accepted;
mod output;
mod page;

use page::{Page, Step, root};
use std::path::{Path, PathBuf};
use testkit::{LoopDevice, Workplace, is_root, or_skip, skip, tool, workplace};

/// Pages whose commands are run, by the names of their files; tests below are called like each of them.
const REPLAYED: [&str; 16] = [
    "acceptance",
    "clouds",
    "compare",
    "containers",
    "first-test",
    "from-diskspd",
    "from-fio",
    "how-much",
    "pipelines",
    "queue-depth",
    "raw-disks",
    "reading-the-report",
    "sharing",
    "spreadsheets",
    "sql-server",
    "volumes",
];

/// A step that was run, and its output.
struct Replayed {
    step: Step,
    printed: Vec<String>,
}

/// Number of attempts per page: a run of a second during which the machine stalled does not match.
const TRIES: usize = 3;

/// Checks that a page is replayed in one of a few new directories.
fn expect_replayed(replay: impl Fn(&Workplace) -> Result<(), String>) {
    let tried = (0..TRIES).map(|_| replay(&workplace!()));
    let failed: Vec<String> = tried.map_while(Result::err).collect();
    assert!(failed.len() < TRIES, "{}", failed.join("\n"));
}

/// Runs the commands of a page in order, in one directory, and compares their output.
fn replay(name: &str, place: &Workplace) -> Result<(), String> {
    let page = Page::read(&format!("docs/guide/{name}.md"));
    let rewriter = std::env::var_os("GUIDE_REWRITE").map(PathBuf::from);
    let steps: Vec<Step> = page.blocks("console").iter().flat_map(|block| page.steps(block)).collect();
    assert!(!steps.is_empty(), "{name} has commands");
    let mut replayed = Vec::new();
    for step in steps {
        let printed = run(place, rewriter.as_deref().unwrap_or(place.program()), &step, &page)?;
        let fits = output::aligned(&step.expected, &printed, &step.varying).is_some();
        let (at, command) = (page.place(step.index), &step.command);
        let (expected, got) = (step.expected.join("\n"), printed.join("\n"));
        if !fits && rewriter.is_none() {
            return Err(format!("{at}: $ {command}\n--- the page says\n{expected}\n--- printed\n{got}"));
        }
        replayed.push(Replayed { step, printed });
    }
    if rewriter.is_some() {
        rewrite(page, &replayed);
    }
    Ok(())
}

/// The terminal output; with the status, if it is not a good one.
fn run(place: &Workplace, program: &Path, step: &Step, page: &Page) -> Result<Vec<String>, String> {
    let folder = program.parent().expect("a program is in a folder").display();
    let path = format!("{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let script = format!("exec 2>&1\n{}", step.command);
    let run = place.tool("/bin/sh").arg("-c").arg(script).env("PATH", path).run();
    let at = page.place(step.index);
    if !run.status.success() {
        return Err(format!("{at}: $ {}\n{}\n{}", step.command, run.status, run.stdout));
    }
    let here = place.folder().display().to_string();
    Ok(run.stdout.lines().map(|line| elsewhere(line, &here).trim_end().to_owned()).collect())
}

/// A line with paths as in the directory of the guide, in tables too.
fn elsewhere(line: &str, here: &str) -> String {
    const THERE: &str = "/data";
    let Some((before, path)) = line.split_once(here) else {
        return line.to_owned();
    };
    let (name, behind) = path.split_at(path.find("  ").unwrap_or(path.len()));
    let width = if behind.is_empty() { 0 } else { here.len() - THERE.len().min(here.len()) };
    format!("{before}{THERE}{name}{:width$}{behind}", "")
}

/// Writes the output to the page: where the page's lines match printed ones, only these, else all.
fn rewrite(page: Page, replayed: &[Replayed]) {
    let mut lines = page.lines;
    for Replayed { step, printed } in replayed.iter().rev() {
        let shown: Vec<String> = match output::aligned(&step.expected, printed, &step.varying) {
            Some(places) => {
                let line = |(place, expected): (&Option<usize>, &String)| {
                    place.map_or_else(|| expected.clone(), |place| printed[place].clone())
                };
                places.iter().zip(&step.expected).map(line).collect()
            }
            None => printed.clone(),
        };
        lines.splice(step.output..step.output + step.expected.len(), shown);
    }
    std::fs::write(&page.path, lines.join("\n") + "\n").expect("the page can be written");
}

/// Error if this machine's output would be worded differently from the guide's.
fn is_like_the_guides(place: &Workplace) -> Result<(), String> {
    place.direct_io()?;
    place.attributes()?;
    let version = place.diskspd("--version").run();
    let has_ring = version.stdout.contains("io_uring: yes");
    has_ring.then_some(()).ok_or_else(|| "the pages were made with io_uring, which this kernel refuses".to_owned())
}

/// Runs a page that needs files only.
fn replay_with_files(name: &str) {
    or_skip!(is_like_the_guides(&workplace!()));
    expect_replayed(|place| replay(name, place));
}

/// A test for each page that needs files only.
macro_rules! pages {
    ($($test:ident: $name:literal,)*) => {$(
        #[test]
        fn $test() {
            replay_with_files($name);
        }
    )*};
}

/// A page that begins with results of `DiskSpd` on Windows.
#[test]
fn spreadsheets() {
    const WINDOWS: [(&str, &[u8]); 3] = [
        ("windows/b64K.txt", include_bytes!("../../../../import/tests/data/layout-2.3.txt")),
        ("windows/b8K-old.xml", include_bytes!("../../../../import/tests/data/layout-2.0.12.xml")),
        ("windows/mix.xml", include_bytes!("../../../../import/tests/data/01-basic_mix.xml")),
    ];
    or_skip!(is_like_the_guides(&workplace!()));
    expect_replayed(|place| {
        std::fs::create_dir(place.path("windows")).expect("a new directory");
        for (name, bytes) in WINDOWS {
            place.file(name, bytes);
        }
        replay("spreadsheets", place)
    });
}

pages! {
    acceptance: "acceptance",
    clouds: "clouds",
    volumes: "volumes",
    compare: "compare",
    containers: "containers",
    first_test: "first-test",
    from_diskspd: "from-diskspd",
    from_fio: "from-fio",
    how_much: "how-much",
    pipelines: "pipelines",
    queue_depth: "queue-depth",
    reading_the_report: "reading-the-report",
    sharing: "sharing",
}

#[test]
fn sql_server() {
    let place = workplace!();
    or_skip!(is_like_the_guides(&place));
    if !place.diskspd("--plan -c1M -b512 -Su small.dat").run().status.success() {
        skip!("the disk of the build has no sectors of 512 bytes, which the preset of the log writes");
    }
    expect_replayed(|place| replay("sql-server", place));
}

#[test]
fn raw_disks() {
    if !is_root() {
        skip!("loop devices are made by root");
    }
    or_skip!(tool("losetup"));
    let place = workplace!();
    or_skip!(is_like_the_guides(&place));
    or_skip!(LoopDevice::over(&place, &place.file("probe.img", &[0; 8192])));
    expect_replayed(|place| {
        let _detached = Detached(place);
        replay("raw-disks", place)
    });
}

/// Detaches loop devices even if a page fails in the middle.
struct Detached<'a>(&'a Workplace);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        let left = self.0.tool("losetup").args("--noheadings --output NAME --associated disk.img").run();
        for device in left.stdout.split_whitespace() {
            self.0.tool("losetup").arg("--detach").arg(device).run();
        }
    }
}

#[test]
fn every_page_with_commands_to_run_is_run() {
    let mut with_commands: Vec<String> = pages_in("docs/guide")
        .into_iter()
        .filter(|path| !Page::read(path).blocks("console").is_empty())
        .map(|path| path.trim_start_matches("docs/guide/").trim_end_matches(".md").to_owned())
        .collect();
    with_commands.sort();
    assert_eq!(with_commands, REPLAYED);
}

#[test]
fn no_command_on_any_page_is_refused() {
    let place = workplace!();
    let table = place.file("volumes.toml", accepted::table_of_volumes().as_bytes());
    let mut count = 0;
    let mut refused = Vec::new();
    let pages = ["docs", "docs/guide", "docs/concepts"].into_iter().flat_map(pages_in);
    for path in pages.chain(["README.md".to_owned()]) {
        let page = Page::read(&path);
        let mut commands = accepted::commands(&page, "sh");
        commands.extend(accepted::commands(&page, "text"));
        commands.extend(accepted::commands_in_tables(&page));
        commands.extend(accepted::arguments_in_manifests(&page));
        count += commands.len();
        for (index, words) in commands {
            let reason = accepted::refusal(&place, &words);
            refused.extend(reason.map(|reason| format!("{path}:{}: {}: {reason}", index + 1, words.join(" "))));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(count > 50, "{count} commands");
    std::fs::remove_file(table).expect("it is there");
    let left: Vec<_> = std::fs::read_dir(place.folder()).expect("our own folder").collect();
    assert!(left.is_empty(), "looking at commands made {left:?}");
}

#[test]
fn manifests_name_what_is_there() {
    let pages: Vec<Page> = pages_in("docs/guide").iter().map(|path| Page::read(path)).collect();
    let documents: Vec<_> =
        pages.iter().flat_map(|page| accepted::manifests(page).into_iter().map(move |of| (page, of))).collect();
    assert!(documents.len() > 10, "{} documents", documents.len());
    for (page, (index, document)) in documents {
        let faults = accepted::faults(&document);
        assert!(faults.is_empty(), "{}: {faults:?}", page.place(index));
    }
}

#[test]
fn units_run_what_is_accepted_and_systemd_understands_them() {
    let place = workplace!();
    let pages: Vec<Page> = pages_in("docs/guide").iter().map(|path| Page::read(path)).collect();
    let units: Vec<_> =
        pages.iter().flat_map(|page| page.blocks("ini").into_iter().map(move |of| (page, of))).collect();
    assert!(!units.is_empty(), "the guide has units");
    for (page, block) in &units {
        let starts: Vec<_> = accepted::commands_in_unit(page, block);
        assert!(!starts.is_empty(), "{}: runs nothing", page.place(block.first));
        for words in starts {
            assert_eq!(accepted::refusal(&place, &words), None, "{}: {}", page.place(block.first), words.join(" "));
        }
    }
    let analyze = or_skip!(tool("systemd-analyze"));
    for (number, (page, block)) in units.iter().enumerate() {
        let text = page.lines[block.first..block.first + block.count].join("\n");
        // A missing program is an error.
        let text = text.replace(accepted::INSTALLED, &place.program().display().to_string());
        let unit = place.file(&format!("unit{number}.service"), text.as_bytes());
        let verified = place.tool(&analyze).arg("verify").arg(&unit).run();
        assert!(verified.status.success() && verified.stderr.is_empty(), "{}: {verified}", page.place(block.first));
    }
}

/// Paths of the pages in a directory of the project, below its root.
fn pages_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let names = pages.map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    names.map(|name| format!("{folder}/{name}")).collect()
}
