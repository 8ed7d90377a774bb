//! Optional features, as these tests are built: with a feature its commands work, without it they are refused and the
//! error names it. `cargo test -p app --no-default-features --test e2e features::`.

use testkit::{Finished, Workplace, or_skip, tool, workplace};

const FEATURES: [(&str, bool); 5] = [
    ("ebpf", cfg!(feature = "ebpf")),
    ("fleet", cfg!(feature = "fleet")),
    ("pages", cfg!(feature = "pages")),
    ("screens", cfg!(feature = "screens")),
    ("sheets", cfg!(feature = "sheets")),
];

fn has(name: &str) -> bool {
    FEATURES.contains(&(name, true))
}

/// Nothing was done, and the error names the missing feature.
fn is_refused(run: &Finished, what: &str, name: &str) {
    let reason = format!("ERROR: {what}: this build has no {name}: build with --features {name}");
    run.expect_status(3).expect_stderr(&[&reason]);
    assert_eq!(run.stdout, "");
}

#[test]
fn version_and_help_say_what_is_missing_and_the_rest_is_that_of_all_builds() {
    let place = workplace!();
    let missing: Vec<&str> = FEATURES.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let missing = missing.join(", ");
    let version = place.diskspd("--version").run();
    let build =
        version.expect_status(0).stdout.lines().find(|line| line.starts_with("build:")).expect("how it is built");
    let without = build.split_once(", without ").map_or("", |(_, names)| names);
    assert_eq!(without, missing);
    for words in ["--help", "--help=--live", "monitor --help"] {
        let help = place.diskspd(words).run();
        let is_said = help.expect_status(0).stdout.contains("\nThis build has no ");
        assert_eq!(is_said, !missing.is_empty(), "{help}");
        assert!(help.stdout.contains(&missing), "{help}");
    }
    for (words, parts) in [
        ("--help", ["--live", "--live-json", "monitor"]),
        ("report --help", ["--output", ".html", "--chart"]),
        ("--man=monitor", ["histogram", "live table", "counters"]),
        ("--completions=bash", ["--histogram", "--live", "--chart"]),
    ] {
        place.diskspd(words).run().expect_status(0).expect_stdout(&parts);
    }
}

#[test]
fn pages_and_charts_are_made_or_refused() {
    let place = workplace!();
    place.diskspd("-c64K -b4K -d1 -W0 --json r.json a.dat").run().expect_status(0);
    for name in ["r.html", "r.svg", "r.png"] {
        let run = place.diskspd(&format!("report r.json --output {name}")).run();
        if has("pages") {
            run.expect_status(0);
        } else {
            is_refused(&run, &format!("--output '{name}'"), "pages");
        }
        assert_eq!(place.path(name).exists(), has("pages"), "{name}");
    }
    // Other forms are available in every build.
    place.diskspd("report r.json").run().expect_status(0).expect_stdout(&["Total IO"]);
    place.diskspd("report r.json --output r.csv").run().expect_status(0);
    place.diskspd("report r.json --output r.prom").run().expect_status(0);
    place.diskspd("compare r.json r.json").run().expect_status(0);
}

#[test]
fn workbooks_are_made_or_refused() {
    let place = workplace!();
    place.diskspd("-c64K -b4K -d1 -W0 --json r.json a.dat").run().expect_status(0);
    let run = place.diskspd("report r.json r.json --output r.xlsx").run();
    if has("sheets") {
        run.expect_status(0);
    } else {
        is_refused(&run, "--output 'r.xlsx'", "sheets");
    }
    assert_eq!(place.path("r.xlsx").exists(), has("sheets"));
    // Tables in other forms are available in every build.
    place.diskspd("report r.json r.json --output r.csv").run().expect_status(0);
    place.diskspd("report r.json r.json").run().expect_status(0).expect_stdout(&["The runs\n"]);
}

/// Runs a command in a terminal and appends its status.
fn in_a_terminal(place: &Workplace, words: &str) -> Result<String, String> {
    let script = tool("script")?;
    let line = format!("stty cols 200 rows 24; {} {words}; echo STATUS $?", place.program().display());
    let run = place.tool(script).env("TERM", "xterm").env("SHELL", "/bin/sh").arg("-qec").arg(line).arg("/dev/null");
    Ok(run.run().expect_status(0).stdout.clone())
}

#[test]
fn screens_are_shown_or_refused() {
    let place = workplace!();
    let run = place.diskspd("--live -c64K -b4K -d1 -W0 a.dat").run();
    if has("screens") {
        run.expect_status(3).expect_stderr(&["--live needs stderr to be a terminal"]);
    } else {
        is_refused(&run, "--live", "screens");
    }
    let run = or_skip!(in_a_terminal(&place, "--live -c64K -b4K -d1 -W0 a.dat"));
    assert_eq!(run.contains("\x1b[?1049h"), has("screens"), "{run:?}");
    assert_eq!(place.path("a.dat").exists(), has("screens"), "a run that is refused makes no file");
    assert!(run.contains(if has("screens") { "STATUS 0" } else { "STATUS 3" }), "{run:?}");
    let run = or_skip!(in_a_terminal(&place, "monitor all -n1 -i 100ms"));
    assert_eq!(run.contains("this build has no screens"), !has("screens"), "{run:?}");
    let run = or_skip!(in_a_terminal(&place, "monitor all -n1 -i 100ms --jsonl"));
    assert!(!run.contains("this build has no screens"), "{run:?}");
}

#[test]
fn latency_distributions_are_counted_or_refused() {
    let place = workplace!();
    let run = place.diskspd("monitor --histogram -n1 -i 100ms").run();
    if has("ebpf") {
        // Such programs are not permitted everywhere.
        assert_ne!(run.code(), Some(3), "{run}");
    } else {
        is_refused(&run, "--histogram", "ebpf");
    }
}

#[test]
fn loads_on_other_hosts_are_run_or_refused() {
    let place = workplace!();
    let key = place.diskspd("fleet key --output k").run();
    let run = place.diskspd("--on=nats://127.0.0.1:1/h1 --key=k.key -c64K -d1 /none/{host}.dat").run();
    let agent = place.diskspd("agent --server 127.0.0.1:1 --trust k.pub --state state").run();
    if has("fleet") {
        key.expect_status(0);
        run.expect_status(3).expect_stderr(&["cannot connect"]);
        agent.expect_status(3).expect_stderr(&["cannot connect"]);
    } else {
        is_refused(&run, "--on", "fleet");
        is_refused(&key, "fleet", "fleet");
        is_refused(&agent, "agent", "fleet");
    }
    assert_eq!(place.path("k.key").exists(), has("fleet"));
}
