//! A study: rate at which the verdict calls a clean run invalid or biased. Its command and results are in
//! docs/verdict.md.
//!
//! ```text
//! cargo test --test studies clean_runs:: -- --ignored --nocapture
//! ```

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use testkit::{Faulty, LoopDevice, Service, Workplace, or_skip, workplace};

const RUNS: usize = 200;

/// Number of runs in parallel.
const LANES: usize = 4;

/// Findings about the machine, which are true there: counted by the kernel, independently of the target.
const OF_THE_MACHINE: [&str; 4] = ["steal", "cpu-contention", "process-paused", "interrupt-cpu"];

/// A reply later than this was not served according to the law: the machine has too little time for it.
const LATE: Duration = Duration::from_millis(10);

/// A target and the load on it.
struct Case {
    target: Target,
    words: String,
}

#[derive(Clone, Copy)]
enum Target {
    /// A file system that keeps to this law.
    Served(Service),
    /// A loop device past the page cache.
    Loop,
}

/// A linear congruential generator (Knuth, MMIX): the same cases each time.
struct Random(u64);

impl Random {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(self.0 >> 33) as usize % from.len()]
    }
}

fn case(random: &mut Random, number: usize) -> Case {
    let ms = Duration::from_millis;
    let capped = Target::Served(Service::InTurn(ms(10), ms(10)));
    let block = random.pick(&["4K", "8K", "64K"]);
    let pattern = random.pick(&["-r", "-r", "-s"]);
    let writes = random.pick(&["", "", "-w30", "-w100"]);
    let warm_up = random.pick(&["-W0", "-W1"]);
    let (threads, depth) = (random.pick(&[1, 2, 8]), random.pick(&[1, 4, 32]));
    let (target, load) = match number % 8 {
        // 100 I/Os per second, and a queue that takes seconds to drain.
        0 => (capped, format!("-t8 -o32 {writes}")),
        1 => (capped, format!("-t{threads} -o{depth} {writes}")),
        // A disk with one head.
        2 => (Target::Served(Service::InTurn(ms(4), ms(16))), format!("-t1 -o{depth} {writes}")),
        // Many heads, all as slow.
        3 => (Target::Served(Service::Each(ms(10))), format!("-t{threads} -o{depth} {writes}")),
        4 => (Target::Served(Service::Each(ms(10))), "-t2 -o2 --rate=100".to_owned()),
        // A queue that is much deeper than that of any device.
        5 => (Target::Served(Service::Each(ms(1))), format!("-t1 -o5000 {writes}")),
        6 => (Target::Loop, format!("-t{} -o5000", random.pick(&[1, 2]))),
        _ => (Target::Loop, format!("-t{threads} -o{depth}")),
    };
    Case { target, words: format!("-d1 {warm_up} -b{block} {pattern} {load} -Su") }
}

/// Severity, name and value of the findings against the run, and true if the target kept to its law.
fn against(place: &Workplace, case: &Case, device: &LoopDevice<'_>, number: usize) -> (Vec<[String; 3]>, bool) {
    let served = match case.target {
        Target::Served(service) => {
            let faulty = Faulty::mounted(place, &format!("served{number}")).expect("it could be mounted before");
            faulty.serve(service);
            Some(faulty)
        }
        Target::Loop => None,
    };
    let path: PathBuf = served.as_ref().map_or_else(|| device.path.clone(), |faulty| faulty.file.clone());
    let run = place.diskspd(&case.words).args("--overwrite --json r.json").arg(path).run();
    run.expect_status(0);
    let document: Value = place.json("r.json");
    let findings = document["time_spans"][0]["verdict"]["findings"].as_array().expect("a verdict").clone();
    let word = |finding: &Value, key: &str| finding[key].as_str().expect("a word").to_owned();
    let all = findings.iter().map(|finding| ["severity", "name", "figure"].map(|key| word(finding, key)));
    let is_lawful = served.is_none_or(|faulty| faulty.latest() < LATE);
    (all.filter(|[severity, ..]| severity != "note").collect(), is_lawful)
}

#[test]
#[ignore = "a study of minutes"]
fn clean_runs_are_neither_invalid_nor_warned_of() {
    let place = workplace!();
    or_skip!(place.direct_io());
    drop(or_skip!(Faulty::mounted(&place, "first")));
    let image = place.file("first.img", &vec![1; 1 << 20]);
    drop(or_skip!(LoopDevice::direct(&place, &image)));
    let mut random = Random(20);
    let cases: Vec<Case> = (0..RUNS).map(|number| case(&mut random, number)).collect();
    let next = AtomicUsize::new(0);
    let seen = Mutex::new((Vec::new(), BTreeMap::<String, usize>::new()));
    // Most of the time all of them sleep.
    let lane = || {
        let place = workplace!();
        let image = place.file("own.img", &vec![1; 64 << 20]);
        let device = LoopDevice::direct(&place, &image).expect("it could be made before");
        while let Some((number, case)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, cases.get(at)?))) {
            let (against, is_lawful) = against(&place, case, &device, number);
            let mut seen = seen.lock().expect("no lane failed");
            let (false_alarms, of_the_machine) = &mut *seen;
            for [severity, name, figure] in against {
                if OF_THE_MACHINE.contains(&name.as_str()) {
                    *of_the_machine.entry(name).or_default() += 1;
                    continue;
                }
                if severity == "warn" && !is_lawful {
                    *of_the_machine.entry(format!("{name} of a target that answered late")).or_default() += 1;
                    continue;
                }
                println!("run {number}: {} -> {severity} {name}: {figure}", case.words);
                false_alarms.push(format!("{}: {severity} {name}: {figure}", case.words));
            }
        }
    };
    std::thread::scope(|scope| (0..LANES).for_each(|_| drop(scope.spawn(lane))));
    let (false_alarms, of_the_machine) = seen.into_inner().expect("no lane failed");
    println!("{RUNS} runs: {} false; of the machine: {of_the_machine:?}", false_alarms.len());
    assert!(false_alarms.is_empty(), "{false_alarms:#?}");
}
