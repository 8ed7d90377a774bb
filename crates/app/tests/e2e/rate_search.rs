//! A search for the highest rate within a limit: its results, for the tests and for pages.

use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;
use testkit::{Faulty, Finished, Service, Workplace, skip, workplace};

/// Output of a search and the files of its directory.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) stdout: String,
    pub(crate) files: Vec<(OsString, Vec<u8>)>,
}

impl Search {
    /// Its sweep.json.
    pub(crate) fn sweep(&self) -> Value {
        let file = self.files.iter().find(|(name, _)| name == "sweep.json");
        serde_json::from_slice(&file.expect("it is kept").1).expect("it is JSON")
    }
}

/// The one search shared by all tests, of a file system that serves at most 800 I/Os per second: each I/O takes 10 ms,
/// eight at a time. If there is none, the null engine completes I/Os at once, and the limit is the rate that this
/// machine can reach, which takes all CPU time.
pub(crate) fn shared_search(place: &Workplace) -> &'static Search {
    static SEARCH: OnceLock<Search> = OnceLock::new();
    SEARCH.get_or_init(|| {
        let slow = Faulty::mounted(place, "slow");
        let target = match &slow {
            Ok(slow) => {
                slow.serve(Service::Each(Duration::from_millis(10)));
                slow.file.display().to_string()
            }
            Err(_) => "-c1M --engine=null a.dat".to_owned(),
        };
        let load = format!("-d1 -W0 -b4K -r -o8 {target}");
        let words = format!("sweep --limit mean=30s --probe 1s --confirm 1s --dir searched -- {load}");
        let search = || {
            let _ = fs::remove_dir_all(place.path("searched"));
            let run = place.diskspd(&words).run();
            let entries = fs::read_dir(place.path("searched")).into_iter().flatten();
            let entries = entries.map(|entry| entry.expect("an entry"));
            let files = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).expect("a result"))).collect();
            (run, Search { stdout: String::new(), files })
        };
        // A machine that stalls for a second can do nothing in a run of a second; it is retried.
        let has_found =
            |(run, search): &(Finished, Search)| run.code() == Some(0) && search.sweep()["limit"]["holds"].is_u64();
        let (run, search) = (0..2).map(|_| search()).find(has_found).unwrap_or_else(search);
        run.expect_status(0);
        Search { stdout: run.stdout, ..search }
    })
}

#[test]
fn a_search_for_commits_judges_commits() {
    let place = workplace!();
    let load = "-c1M -d1 -W0 -b4K -w100 -o1 --fdatasync-every=1 a.dat";
    let words = format!("sweep --limit commit.mean=30s --probe 1s --confirm 1s --dir commits -- {load}");
    let run = place.diskspd(&words).run();
    if run.stderr.contains("--limit needs longer runs") {
        skip!("the disk makes too few writes durable in a second");
    }
    run.expect_status(0).expect_narrow().expect_told(&["mean latency (commit) <= 30000 ms"]);
    let limits = &place.json::<Value>("commits/sweep.json")["limit"]["limits"];
    assert_eq!((&limits[0]["figure"], &limits[0]["scope"]), (&"mean".into(), &"commit".into()), "{limits}");
}

#[test]
fn the_highest_rate_that_keeps_a_limit_is_found_and_confirmed() {
    let place = workplace!();
    let search = shared_search(&place);
    let sweep = search.sweep();
    let found = &sweep["limit"];
    // A busy machine may turn it into an estimate, or disturb so many runs that noise decides.
    let answer = match (found["is_confirmed"] == true, found["noise"].is_object()) {
        (true, _) => "ighest rate that meets ",
        (false, true) => "oise decides whether a run meets ",
        (false, false) => "limit ",
    };
    let told = search.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("{answer}mean response time <= 30000 ms")), "{}", search.stdout);
    let rate = |which: &str| -> Option<f64> {
        let point = found[which].as_u64()? as usize;
        sweep["points"][point]["settings"][0]["value"].as_str()?.parse().ok()
    };
    let capacity = found["capacity_iops"].as_f64().expect("it is measured first");
    let holds = rate("holds").expect("a rate");
    assert!(holds > 0.0 && holds <= capacity && rate("fails").is_none_or(|fails| fails > holds), "{found}");
    assert_eq!(sweep["visits"][0]["purpose"], "capacity");
    let visits = sweep["visits"].as_array().expect("a list");
    assert!(visits.len() >= 3 && visits.iter().any(|visit| visit["purpose"] == "confirm"), "{}", visits.len());
    assert!(search.stdout.lines().any(|line| line.starts_with("Param -o 8 -t 1 --rate ")), "{}", search.stdout);
    let refused = place.diskspd("sweep --limit p99=1 -- -c1M b.dat").run();
    refused.expect_status(3).expect_stderr(&["as in p99=1ms"]);
}
