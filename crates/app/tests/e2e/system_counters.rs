//! `diskspd monitor`: counters of the system, devices by file and mount point, and the table in a pipe.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use testkit::{Workplace, or_skip, skip, workplace};

/// Bytes sent through the loopback interface.
const SENT_BYTES: usize = 8 << 20;

fn has_devices() -> Result<(), String> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    if text.trim().is_empty() { Err("there are no block devices here".to_owned()) } else { Ok(()) }
}

fn intervals(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Bytes received by the loopback interface since the start of the system.
fn loopback_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn send_through_loopback() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let sending = std::thread::spawn(move || sender.write_all(&vec![7; SENT_BYTES]));
    let mut bytes = Vec::new();
    receiver.read_to_end(&mut bytes)?;
    assert_eq!(bytes.len(), SENT_BYTES);
    sending.join().expect("it does not panic")
}

#[test]
fn the_network_is_what_the_kernel_counts() {
    let place = workplace!();
    or_skip!(has_devices());
    let before = loopback_bytes();
    let line_count =
        || std::fs::read(place.path("m.jsonl")).map_or(0, |text| text.split(|byte| *byte == b'\n').count() - 1);
    let mut monitor = place.diskspd("monitor all -o m.jsonl -i 100ms").start();
    monitor.wait_until("a first interval", |_| line_count() > 0);
    let inside = loopback_bytes();
    if let Err(error) = send_through_loopback() {
        skip!("no connection through the loopback interface: {error}");
    }
    let sent = loopback_bytes() - inside;
    let so_far = line_count();
    monitor.wait_until("an interval after it", |_| line_count() > so_far + 1);
    monitor.end();
    let all = loopback_bytes() - before;
    let text = String::from_utf8(place.content("m.jsonl")).expect("it is text");
    let counted: f64 = intervals(&text)
        .iter()
        .map(|interval| {
            let rate = interval["system"]["Network Interface"]["lo"]["Bytes Received/sec"].as_f64().expect("a rate");
            rate * interval["interval_ns"].as_u64().expect("a time") as f64 / 1e9
        })
        .sum();
    assert!(sent as usize >= SENT_BYTES, "{sent}");
    assert!(counted.round() as u64 >= sent && counted.round() as u64 <= all, "{sent} <= {counted} <= {all}");
}

#[test]
fn processors_and_memory_are_those_of_proc() {
    let place = workplace!();
    or_skip!(has_devices());
    let running = place.diskspd("monitor all --jsonl -n3 -i 200ms").start();
    let begun = Instant::now();
    // Keeps the processors busy.
    while begun.elapsed() < Duration::from_millis(700) {
        std::hint::spin_loop();
    }
    let run = running.finish();
    run.expect_status(0);
    let stat = std::fs::read_to_string("/proc/stat").expect("it is there");
    let cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    let meminfo = std::fs::read_to_string("/proc/meminfo").expect("it is there");
    let bytes = |label: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib * 1024.0)
    };
    let all = intervals(&run.stdout);
    let mut busy = 0.0;
    for interval in &all {
        let processors = &interval["system"]["Processor"];
        assert_eq!(processors.as_object().map(serde_json::Map::len), Some(cpus + 1), "all and their total");
        let percent = |name: &str| processors["_Total"][name].as_f64().expect(name);
        let parts = percent("% Processor Time") + percent("% Idle Time");
        assert!((parts - 100.0).abs() < 1e-6, "{processors}");
        assert!(percent("% User Time") + percent("% Privileged Time") <= percent("% Processor Time") + 1e-6);
        busy += percent("% Processor Time");
        let memory = &interval["system"]["Memory"]["_Total"];
        let available = memory["Available Bytes"].as_f64().expect("a size");
        assert!(available > 0.0 && Some(available) < bytes("MemTotal"), "{memory}");
        assert_eq!(memory["Commit Limit"].as_f64(), bytes("CommitLimit"));
        assert_eq!(memory["Available MBytes"].as_f64(), Some(available / 1_048_576.0));
    }
    assert!(all.len() == 3 && busy > 0.0, "{run}");
}

/// The header of CSV with these counters, or the status and the errors on stderr.
fn header(place: &Workplace, counters: &[&str]) -> Result<Vec<String>, (Option<i32>, String)> {
    let mut program = place.diskspd("monitor -n1 -i 100ms");
    for counter in counters {
        program = program.arg(counter);
    }
    let run = program.run();
    if run.code() != Some(0) {
        return Err((run.code(), run.stderr));
    }
    let header = run.stdout.lines().next().unwrap_or_default().trim_matches('"').to_owned();
    Ok(header.split("\",\"").skip(1).map(str::to_owned).collect())
}

#[test]
fn counters_of_the_system_are_columns() {
    let place = workplace!();
    or_skip!(has_devices());
    let asked = [
        r"\Processor(_Total)\% Processor Time",
        r"\Processor(0)\% Interrupt Time",
        r"\Processor Information(0,0)\% Privileged Time",
        r"\Memory\Available MBytes",
        r"\Network Interface(lo)\Packets/sec",
    ];
    let columns = header(&place, &asked).expect("this machine has them");
    assert_eq!(columns.len(), asked.len(), "{columns:?}");
    for (column, asked) in columns.iter().zip(asked) {
        assert!(column.starts_with(r"\\") && column.ends_with(asked), "{column}");
    }
    let listed = place.diskspd("monitor -n1 -i 100ms -c").arg(format!("{},{}", asked[2], asked[3])).run();
    listed.expect_status(0).expect_stdout(&["Processor Information(0,0)", "Available MBytes"]);
}

/// Counters recommended by guides for SQL Server, Azure Stack and Storage Spaces.
#[test]
fn counters_of_published_guides_match_or_name_what_there_is() {
    let place = workplace!();
    or_skip!(has_devices());
    for counter in [
        r"\LogicalDisk(*)\Avg. Disk sec/Read",
        r"\LogicalDisk(*)\Avg. Disk sec/Write",
        r"\LogicalDisk(*)\Current Disk Queue Length",
        r"\LogicalDisk(*)\Disk Bytes/sec",
        r"\LogicalDisk(*)\Disk Reads/sec",
        r"\LogicalDisk(*)\Disk Writes/sec",
        r"\PhysicalDisk(*)\Avg. Disk Queue Length",
        r"\PhysicalDisk(_Total)\Avg. Disk Bytes/Transfer",
        r"\PhysicalDisk(*)\% Idle Time",
        r"\Processor(_Total)\% Processor Time",
        r"\Processor(*)\% DPC Time",
        r"\Processor Information(*)\% Processor Time",
        r"\Processor Information(_Total)\% Privileged Time",
        r"\Memory\Available MBytes",
        r"\Memory\Pages/sec",
        r"\Network Interface(*)\Bytes Total/sec",
        r"\Network Interface(*)\Packets Outbound Errors",
    ] {
        match header(&place, &[counter]) {
            Ok(columns) => assert!(!columns.is_empty(), "{counter}"),
            // A machine without disks or without volumes.
            Err((code, text)) => assert!(code == Some(3) && text.contains("matches \\"), "{counter}: {text}"),
        }
    }
    for (counter, instead) in [
        (r"\SQLServer:Buffer Manager\Page life expectancy", "sys.dm_os_performance_counters"),
        (r"\SQLServer:Databases(*)\Log Flush Wait Time", "sys.dm_os_performance_counters"),
        (r"\Cluster Storage Hybrid Disks(*)\Cache Hit Reads/sec", "\\Storage Cache(*)"),
        (r"\Process(sqlservr)\% Processor Time", "pidstat"),
        (r"\System\Processor Queue Length", "vmstat 1"),
        (r"\Network Interface(*)\Output Queue Length", "tc -s qdisc"),
        (r"\SMB Client Shares(*)\Avg. sec/Data Request", "no times of SMB"),
        (r"\LogicalDisk(G:)\Disk Reads/sec", "drive letters are mount points here"),
        (r"\PhysicalDisk(0 C:)\Disk Reads/sec", "drive letters are mount points here"),
    ] {
        let (code, text) = header(&place, &[counter]).expect_err(counter);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(3) && text.contains(instead), "{counter}: {text}");
    }
}

#[test]
fn a_file_names_the_device_that_it_is_on() {
    let place = workplace!();
    or_skip!(has_devices());
    place.file("test.dat", b"x");
    let run = place.diskspd("monitor test.dat --jsonl -n1 -i 100ms").run();
    if run.stderr.contains("is not a block device and on none") {
        skip!("this directory is on no block device: {}", run.stderr);
    }
    run.expect_status(0).expect_stderr(&["'test.dat' is on "]);
    let interval = intervals(&run.stdout).pop().expect("an interval");
    let devices = interval["devices"].as_object().expect("devices");
    let (name, _) = devices.iter().next().expect("the device");
    assert!(run.stderr.contains(name.as_str()), "{run}");
    let folder = place.folder().display().to_string();
    let counter = format!("\\LogicalDisk({folder})\\Disk Writes/sec");
    let columns = header(&place, &[&counter]).expect("a volume");
    assert!(columns.iter().any(|column| column.ends_with(&format!("\\LogicalDisk({name})\\Disk Writes/sec"))));
    let (code, text) = header(&place, &[r"\LogicalDisk(/no/such)\Disk Writes/sec"]).expect_err("it is missing");
    assert!(code == Some(3) && text.contains("no device '/no/such'"), "{text}");
}

#[test]
fn a_pipe_gets_a_table_and_csv_if_asked_for() {
    let place = workplace!();
    or_skip!(has_devices());
    let table = place.diskspd("monitor all -n2 -i 100ms").run();
    table.expect_status(0).expect_stdout(&["CPU ", "MiB available", "r/s"]);
    assert_eq!(table.stdout.lines().filter(|line| line.starts_with("Device ")).count(), 2, "{table}");
    assert!(!table.stdout.contains("PDH-CSV") && table.stderr.is_empty(), "{table}");
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 80), "{table}");
    let csv = place.diskspd("monitor all --csv -n1 -i 100ms").run();
    csv.expect_status(0).expect_stdout(&["\"(PDH-CSV 4.0)", "\\Processor(_Total)\\% Processor Time", "\\Memory\\"]);
}

#[test]
fn recordings_report_counters_of_the_system() {
    let place = workplace!();
    or_skip!(has_devices());
    place.diskspd("monitor all --record m.jsonl -n2 -i 100ms").run().expect_status(0);
    place.diskspd("report m.jsonl").run().expect_status(0).expect_stdout(&[" Memory ", " Available Bytes "]);
    place.diskspd("report m.jsonl -o p.html").run().expect_status(0);
    let page = String::from_utf8(place.content("p.html")).expect("it is text");
    assert!(page.contains("Available Bytes"));
}

#[test]
fn programs_of_windows_lead_to_monitor() {
    let place = workplace!();
    let typed = place.diskspd("typeperf").arg(r"\LogicalDisk(*)\Disk Reads/sec").args("-si 1 -sc 2").run();
    let expected =
        r"'typeperf' is another program; the same here: diskspd monitor '\LogicalDisk(*)\Disk Reads/sec' -si 1 -sc 2";
    typed.expect_status(3);
    assert!(typed.stderr.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected), "{typed}");
    place.diskspd("perfmon").run().expect_status(3).expect_stderr(&["diskspd monitor"]);
    for words in ["--help perfmon", "--help=typeperf", "help typeperf"] {
        place.diskspd(words).run().expect_status(0).expect_stdout(&["'diskspd monitor'", "-si 1 -sc 60"]);
    }
}
