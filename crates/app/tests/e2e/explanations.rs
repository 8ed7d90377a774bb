//! `diskspd explain`: every finding is explained.

use std::path::Path;
use testkit::workplace;

/// The names in the tables of rules of a page of the documentation.
fn names(page: &str) -> Vec<String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(page);
    let text = std::fs::read_to_string(path).expect("a page of the documentation");
    let (_, table) = text.split_once("made by: cargo xtask docs").expect("a generated table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_finding_of_the_documentation_is_explained() {
    let place = workplace!();
    let list = place.diskspd("explain").run();
    list.expect_status(0).expect_stdout(&["FINDING", "served-from-cache", "requirement"]);
    for (page, reported_by) in [("verdict.md", "verdict"), ("check.md", "check"), ("expect.md", "--expect")] {
        let names = names(page);
        assert!(!names.is_empty(), "{page}");
        let is_listed = |name: &String| {
            let mut rows = list.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            rows.any(|row| row.first() == Some(&name.as_str()) && row.get(1) == Some(&reported_by))
        };
        assert!(names.iter().all(is_listed), "{page}: {list}");
        let explained = place.diskspd("explain").args(&names.join(" ")).run();
        explained.expect_status(0);
        for name in names {
            explained.expect_stdout(&[&format!("{name} ({reported_by}: ")]);
        }
        assert!(!explained.stdout.contains(['`', '[']), "no marks of the page's form: {explained}");
        assert!(explained.stdout.lines().all(|line| line.chars().count() <= 100), "{explained}");
    }
}

#[test]
fn a_finding_of_a_run_is_explained_and_one_that_does_not_exist_is_refused() {
    let place = workplace!();
    place.short_run("-c64K -b4K a.dat").run().expect_status(0).expect_stdout(&["short-run"]);
    place.diskspd("explain short-run").run().expect_status(0).expect_stdout(&[
        "short-run (verdict: NOTE)\n",
        "\n  Computed from ",
        "\n  What to do    measure for 60 s or longer",
    ]);
    // Two rules have this name.
    place.diskspd("explain other-io").run().expect_status(0).expect_stdout(&["(verdict: WARN)", "(check: WARN)"]);
    let refused = place.diskspd("explain short-run shrot-run nonsense").run();
    refused.expect_status(3).expect_stderr(&[
        "ERROR: unknown finding 'shrot-run'; did you mean short-run? 'diskspd explain' lists all findings",
        "ERROR: unknown finding 'nonsense'; 'diskspd explain' lists all findings",
    ]);
    assert_eq!(refused.stdout, "");
}

#[test]
fn findings_that_suppress_others_are_explained_in_both_directions() {
    let place = workplace!();
    place.diskspd("explain steal").run().expect_status(0).expect_stdout(&[
        "\n  Suppresses    device-depth: a thread whose CPU the hypervisor has taken submits no I/O\n",
        "\n  Suppresses    cpu-contention, depth-limited, starts-not-made, if its value is larger: the",
    ]);
    let explained = place.diskspd("explain cpu-contention").run();
    explained.expect_status(0).expect_stdout(&[
        "\n  Suppresses    cpu-bound, if its value is more than half of the other value: ",
        "\n  Suppressed by steal, if its value is larger: the threads waited for CPUs that the hypervisor",
    ]);
    let alone = place.diskspd("explain device-faults").run();
    assert!(!alone.stdout.contains("Suppressed by"), "{alone}");
}
