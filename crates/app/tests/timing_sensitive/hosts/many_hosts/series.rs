//! `sweep`, `repeat`, `ab` and presets with `--on`.

use super::{Fleet, PATIENCE};
use crate::hosts::server::{run_in_time, start_in_time};
use std::fs;
use testkit::{Finished, Running, or_skip, workplace};

#[test]
fn runs_of_a_sweep_are_runs_of_all_hosts() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let target = fleet.place.path("room-{host}/t.dat");
    let on = format!("--on={}/h*", fleet.url());
    let sweep = |words: &str| fleet.place.diskspd("sweep").limit(PATIENCE * 2).arg(&on).args(words);
    // Nothing is written before all hosts have checked all points, nor here.
    let refused = sweep("--key fleet.key --vary c=1M,2T --dir d -- -b4K -d1").arg(&target).run();
    refused.expect_status(3).expect_stderr(&["-c2T: h1: ", "-c2T: h2: ", "--max-file"]);
    for host in ["h1", "h2"] {
        assert_eq!(fs::read_dir(fleet.room(host)).expect("there").count(), 0, "{host}");
    }
    assert!(!fleet.place.path("d").exists());
    let load = "--key fleet.key --vary o=1,2 --dir d -- -c1M -b4K -r -w50 -d60 --max-ios=200 -W0";
    // A point that started nowhere in time is run in another attempt.
    let run = run_in_time(|| {
        let _ = fs::remove_dir_all(fleet.place.path("d"));
        for host in ["h1", "h2"] {
            let _ = fs::remove_file(fleet.room(host).join("t.dat"));
        }
        sweep(load).arg(&target)
    });
    run.expect_status(0).expect_stdout(&["Param -o 1 -t 1, ", "Param -o 2 -t 1, ", "depth"]);
    run.expect_stderr(&["; on 2 hosts", "2MiB to create targets"]);
    for (point, depth) in [("d/point-0001.json", 1), ("d/point-0002.json", 2)] {
        let result = fleet.result(point);
        assert_eq!(result["fleet"]["hosts"].as_array().expect("a list").len(), 2, "{point}");
        let rows = result["time_spans"][0]["measured"]["rows"].as_array().expect("a list");
        let ios: Vec<_> = rows.iter().map(|row| row["figures"]["total"]["ios"].as_u64()).collect();
        assert_eq!(ios, [Some(200); 2], "{point}");
        let line = result["command_line"].as_str().expect("a text");
        assert!(line.contains("--on=") && line.contains("--key=") && line.contains(&format!("-o{depth}")), "{line}");
        let series = fleet.result("d/sweep.json");
        assert_eq!(series["points"].as_array().expect("a list").len(), 2);
    }
    let table = String::from_utf8(fleet.place.content("d/table.csv")).expect("a text");
    // Depth over all hosts, each of which created its file once before.
    assert!(table.lines().nth(2).is_some_and(|line| line.contains(",4,2,")), "{table}");
    // Hosts and a key are given again by the user who resumes a series of another.
    let resume = || fleet.place.diskspd("sweep --resume d").limit(PATIENCE);
    resume().run().expect_status(3).expect_stderr(&["run the load on hosts of nats://127.0.0.1:", "--key"]);
    resume().arg(&on).args("--key fleet.key").run().expect_status(0).expect_stderr(&["already done: "]);
}

#[test]
fn a_sweep_goes_from_host_to_host() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let target = fleet.place.path("room-{host}/t.dat");
    let url = fleet.url();
    let vary = format!("on={url}/h1,{url}/h2");
    let load = "--key fleet.key --dir d -- -c1M -b4K -r -d60 --max-ios=200 -W0";
    let run = run_in_time(|| {
        let _ = fs::remove_dir_all(fleet.place.path("d"));
        fleet.place.diskspd("sweep --vary").arg(&vary).args(load).arg(&target).limit(PATIENCE * 2)
    });
    run.expect_status(0).expect_stderr(&["; on 1 host", "2MiB to create targets"]);
    for (point, host) in [("d/point-0001.json", "h1"), ("d/point-0002.json", "h2")] {
        let hosts = &fleet.result(point)["fleet"]["hosts"];
        assert_eq!((hosts[0]["name"].as_str(), hosts.as_array().map(Vec::len)), (Some(host), Some(1)), "{point}");
    }
    for host in ["h1", "h2"] {
        assert_eq!(fs::read_dir(fleet.room(host)).expect("there").count(), 1, "{host}");
    }
    // The user who resumes gives permission for both hosts.
    let resume = |hosts: &str| {
        let on = format!("--on={url}/{hosts}");
        fleet.place.diskspd("sweep --resume d").arg(on).args("--key fleet.key").limit(PATIENCE).run()
    };
    resume("h1").expect_status(3).expect_stderr(&["run the load on hosts of nats://127.0.0.1:"]);
    resume("h1,h2").expect_status(0).expect_stderr(&["already done: 2 runs"]);
}

#[test]
fn runs_of_repeat_and_ab_are_runs_of_all_hosts() {
    // Each of the two has separate hosts.
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2", "other"]));
    let target = fleet.place.path("room-{host}/t.dat");
    let load = "-c1M -b4K -r -w50 -d60 --max-ios=200 -W0 -L";
    let place = &fleet.place;
    let run_series = |command: &str, hosts: &str, dir: &str| {
        let words = format!("{command} --dir {dir} --on={}/{hosts} --key fleet.key -- {load}", fleet.url());
        let (target, folder) = (target.clone(), place.path(dir));
        move || {
            run_in_time(|| {
                let _ = fs::remove_dir_all(&folder);
                place.diskspd(&words).arg(&target).limit(PATIENCE * 3)
            })
        }
    };
    let (repeat, ab) =
        (run_series("repeat --runs 2", "h*", "r"), run_series("ab --pairs 3 --vary o=1,2", "other", "ab"));
    let (repeat, ab) = std::thread::scope(|scope| {
        let repeat = scope.spawn(repeat);
        let ab = ab();
        (repeat.join().expect("it ran"), ab)
    });
    repeat.expect_status(0).expect_stderr(&["2 runs"]);
    assert_eq!(fleet.result("r/point-0002.json")["fleet"]["hosts"].as_array().expect("a list").len(), 2);
    // Three pairs may be inconclusive.
    assert!(matches!(ab.code(), Some(0 | 6)), "{ab}");
    ab.expect_stderr(&["3 pairs"]);
    assert_eq!(fleet.result("ab/point-0006.json")["fleet"]["hosts"].as_array().expect("a list").len(), 1);
}

#[test]
fn loads_of_a_preset_are_runs_of_all_hosts() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let target = fleet.place.path("room-{host}/t.dat");
    let words = format!("--on={}/h1,h2 --key=fleet.key -c1M -d60 --max-ios=50 -W0 --json r.json", fleet.url());
    let preset = |words: &str| fleet.place.diskspd("preset run sql-checkpoint").args(words).arg(&target);
    let plan = preset(&format!("{words} --plan")).limit(PATIENCE).run();
    plan.expect_status(0).expect_stdout(&[
        "Timespan 1",
        "Timespan 2",
        "h1
==",
        "h2
==",
    ]);
    assert_eq!(fs::read_dir(fleet.room("h1")).expect("there").count(), 0);
    run_in_time(|| preset(&words).limit(PATIENCE * 3)).expect_status(0);
    let result = fleet.result("r.json");
    let spans = result["time_spans"].as_array().expect("a list");
    assert_eq!((spans.len(), result["fleet"]["time_spans"].as_array().map(Vec::len)), (2, Some(2)));
    for span in spans {
        let rows = span["measured"]["rows"].as_array().expect("a list");
        let is_of = |host: &str| rows.iter().any(|row| row["path"].as_str().is_some_and(|path| path.starts_with(host)));
        assert!(is_of("h1:") && is_of("h2:"), "{span}");
    }
}

#[test]
fn ctrl_c_ends_a_sweep_on_all_hosts_with_the_points_so_far() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let target = fleet.place.path("room-{host}/t.dat");
    let on = format!("--on={}/h*", fleet.url());
    let sweep = || {
        let _ = fs::remove_dir_all(fleet.place.path("d"));
        let sweep = fleet.place.diskspd("sweep --key fleet.key --vary d=1,600 --dir d").arg(&on);
        sweep.args("-- -c1M -b4K -r -W0 -g100i").arg(&target).limit(PATIENCE * 3)
    };
    // The second point is running.
    let is_under_way = |run: &Running| run.stdout().contains(" -d 1, ") && fleet.are(&["h1"], "running");
    let run = start_in_time(sweep, is_under_way);
    run.interrupt();
    run.finish().expect_status(130).expect_stdout(&["verdict"]).expect_stderr(&["stopped; continue with"]);
    fleet.wait_until_idle("h1");
    fleet.wait_until_idle("h2");
    let visits = fleet.result("d/sweep.json")["visits"].as_array().map(Vec::len);
    assert_eq!(visits, Some(1));
}

/// Two runs of two hosts, of which one is killed in the first run.
fn lose_a_host() -> Result<(Fleet, Finished), String> {
    let mut fleet = Fleet::start(workplace!(), &["h1", "h2"])?;
    let target = fleet.place.path("room-{host}/t.dat");
    let on = format!("--on={}/h1,h2", fleet.url());
    let repeat = || {
        let _ = fs::remove_dir_all(fleet.place.path("d"));
        let repeat = fleet.place.diskspd("repeat --key fleet.key --runs 2 --dir d").arg(&on);
        repeat.args("-- -c1M -b4K -r -w50 -d14 -g100i -W0 -L").arg(&target).limit(PATIENCE * 3)
    };
    let run = start_in_time(repeat, |_| fleet.are_writing(&["h1", "h2"]));
    let (_, agent) = fleet.agents.pop().expect("an agent");
    agent.kill_hard();
    Ok((fleet, run.finish()))
}

#[test]
fn a_host_that_is_lost_makes_its_run_of_a_series_invalid() {
    // If the machine stalls for seconds, the other host is lost as well.
    let attempts = || (0..4).map(|_| lose_a_host());
    let is_good = |lost: &Result<(Fleet, Finished), String>| {
        lost.as_ref().map_or(true, |(_, run)| !run.stdout.contains("h1: lost"))
    };
    let (fleet, run) = or_skip!(attempts().find(is_good).expect("one attempt loses only the host that was killed"));
    // The other run has one host less than requested.
    run.expect_status(1).expect_stderr(&["1 run failed"]).expect_stdout(&["no agent h2 answers"]);
    let findings = fleet.result("d/point-0001.json")["time_spans"][0]["verdict"].to_string();
    assert!(findings.contains("lost-host"), "{findings}");
}
