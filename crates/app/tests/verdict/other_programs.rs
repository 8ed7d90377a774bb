//! CPU time that other programs take. Tests begin in the order of their names, and this one waits until no other needs
//! CPU time: in the last module, all others begin before it.

use super::{document, found, without_others};
use testkit::{Running, skip, workplace};

// Shows verdict: cpu-contention
#[test]
fn threads_that_wait_for_a_cpu_are_warned_of() {
    let _cpus = without_others();
    let place = workplace!();
    if std::fs::read_to_string("/proc/self/schedstat").is_err() {
        skip!("this kernel does not count how long threads wait for a CPU");
    }
    // Beside two of them, the thread waits for more than half of the time; with less it would be reported as bound by
    // the CPU. The kernel may balance CPUs unevenly, so there are five for each.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // One kind uses user time, the other nearly only system time.
    for busy in ["echo busy; while :; do :; done", "echo busy; exec dd if=/dev/zero of=/dev/null bs=1M 2>/dev/null"] {
        let start = |_| place.tool("sh").arg("-c").arg(busy).start();
        let mut others: Vec<Running> = (0..5 * cpus).map(start).collect();
        for other in &mut others {
            other.wait_for_stdout("busy");
        }
        let run = place.diskspd("-d2 -W0 -b4K -o1 -f1M --json r.json /dev/zero").run();
        run.expect_status(0);
        let finding = found(&place, &run, "cpu-contention");
        assert!(finding["value"].as_f64().is_some_and(|percent| percent > 2.0), "{finding}");
        let says = |key: &str, words: &str| finding[key].as_str().is_some_and(|text| text.contains(words));
        assert!(says("figure", "; time of all CPUs: diskspd ") && says("figure", "kernel threads"), "{finding}");
        assert!(says("advice", "stop other programs"), "{busy}: {finding}");
        let metrics = &document(&place)["time_spans"][0]["metrics"];
        let [all, own] = ["cpu", "io-cpu"].map(|name| metrics[name].as_f64().expect(name));
        assert!(own + 20.0 < all, "what other programs use is no part of io-cpu: {own} of {all}");
    }
}
