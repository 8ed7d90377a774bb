//! `-e`: kernel events during the measurement are counted, and devices are shown beside diskspd.

use serde_json::Value;
use std::net::UdpSocket;
use testkit::{Metronome, Mounted, Workplace, or_skip, workplace};

fn events(place: &Workplace) -> Value {
    place.span_result("r.json")["kernel_events"].take()
}

/// Number of attempts on a busy machine.
const TRIES: usize = 5;

/// A counter of a class.
fn counter(events: &Value, class: &str, event: &str) -> u64 {
    let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let class = all(&events["classes"]).into_iter().find(|one| one["class"] == class);
    let class = class.unwrap_or_else(|| panic!("no class in {events}"));
    let counter = all(&class["counters"]).into_iter().find(|one| one["event"] == event);
    counter.and_then(|counter| counter["count"].as_u64()).unwrap_or_else(|| panic!("no {event} in {class}"))
}

// Shows switches: -e(<class>|q|c|s|p)
#[test]
fn a_device_of_ones_own_does_what_the_program_asks_and_takes_a_part_of_the_time() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "own", 64 << 20));
    let device = mounted.device.as_ref().expect("it is on one").name();
    let target = mounted.path.join("a.dat");
    place.briefly("-c16M").arg(&target).run_until_measuring().expect_status(0);
    place.tool("sync").run().expect_status(0);
    let ios = |figures: &Value| figures["ios"].as_u64().expect("a count");
    let metronome = Metronome::start();
    // The device's counters are read a moment after the first I/O: the busier the machine, the later.
    let mut left = TRIES;
    let events = loop {
        let words = "-d1 -W0 -Su -r -b4K -o4 -eDISK_IO --json r.json --xml r.xml";
        let run = place.diskspd(words).arg(&target).run();
        run.expect_status(0).expect_stdout(&["\nETW:\n----\n\n\tDisk I/O\n\t\tRead: ", "\nI/O at each level below '"]);
        let events = events(&place);
        let levels = &events["stacks"][0]["levels"];
        let (own, below) = (ios(&levels[0]["read"]), ios(&levels[1]["read"]));
        if own.abs_diff(below) <= 16 + own / 100 {
            break events;
        }
        left -= 1;
        if left == 0 {
            or_skip!(metronome.verdict());
            panic!("{own} I/Os and {below} of the device: {events}");
        }
    };
    let levels = events["stacks"][0]["levels"].as_array().expect("levels");
    let (own, below) = (&levels[0]["read"], &levels[1]["read"]);
    assert_eq!((&levels[0]["device"], &levels[1]["device"]), (&Value::Null, &device.as_str().into()));
    assert_eq!(counter(&events, "disk_io", "read"), ios(below));
    let mean = |figures: &Value| figures["latency_mean_ns"].as_f64().expect("there was I/O");
    // The kernel's sum is in whole milliseconds.
    assert!(mean(below) <= mean(own) + 2e6 / ios(own) as f64, "{events}");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    let read = format!("<DiskIO>\n        <Read>{}</Read>", ios(below));
    assert!(xml.contains(&read) && xml.contains(&format!("Device=\"{device}\"")), "{xml}");
    for format in ["r.json", "r.xml"] {
        let again = place.diskspd("report").arg(format).run();
        again.expect_status(0).expect_stdout(&[&format!("\n \u{2003}{device} ")]);
    }
}

// Shows switches: -e(<class>|q|c|s|p)
#[test]
fn processes_datagrams_and_faults_are_counted_while_it_measures() {
    const OTHERS: u64 = 20;
    let place = workplace!();
    place.file("a.dat", &vec![7; 65_536]);
    let words = "-d60 -W0 -v -ePROCESS -eTHREAD -eNETWORK -eMEMORY_PAGE_FAULTS --json r.json a.dat";
    let mut running = place.diskspd(words).start();
    running.wait_for_stderr("starting measurements");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port of our own");
    let address = socket.local_addr().expect("it is bound");
    for _ in 0..OTHERS {
        place.tool("true").run().expect_status(0);
        socket.send_to(b"x", address).expect("it is sent");
        socket.recv(&mut [0; 8]).expect("it comes back");
    }
    running.end().expect_status(0);
    let events = events(&place);
    for class in ["process", "thread"] {
        assert!(counter(&events, class, "start") >= OTHERS, "{events}");
        assert!(counter(&events, class, "end") >= OTHERS, "{events}");
    }
    assert!(counter(&events, "network", "udp_send") >= OTHERS, "{events}");
    assert!(counter(&events, "network", "udp_receive") >= OTHERS, "{events}");
    // Each process that starts touches its own pages.
    assert!(counter(&events, "memory_page_faults", "soft_page_fault") >= OTHERS, "{events}");
    let own = counter(&events, "memory_page_faults", "own_soft_page_fault");
    assert!(own <= counter(&events, "memory_page_faults", "soft_page_fault"), "{events}");
}

// Shows switches: -e(<class>|q|c|s|p)
#[test]
fn what_linux_does_not_have_is_said() {
    let place = workplace!();
    place.file("a.dat", &vec![7; 65_536]);
    let run = place.diskspd("-d1 -W0 -eIMAGE_LOAD -eREGISTRY -eq -eMEMORY_HARD_FAULTS a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "NOTE: -eIMAGE_LOAD has no effect",
        "NOTE: -eREGISTRY has no effect: Linux has no registry",
        "NOTE: -eq has no effect",
        "\tMemory Hard Faults\n\t\tHard page fault: ",
    ]);
    let without = place.diskspd("-d1 -W0 --json r.json a.dat").run();
    without.expect_status(0);
    assert!(!without.stdout.contains("ETW:"), "{without}");
    assert_eq!(events(&place), Value::Null);
}
