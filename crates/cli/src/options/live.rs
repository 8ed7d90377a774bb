//! Options for live output during a run.

use super::own::OWN;
use super::row::{Group, Kind, OptionRow, Repeat};
use crate::builder::{Builder, GivenOption};
use model::live::StreamTarget;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Intervals from a tenth of a second to an hour.
const INTERVAL_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--live",
        group: Group::Live,
        short: "show live progress in full-screen mode",
        long: "Shows the phase and the time left, I/Os per second and MiB/s over the last minutes, read and write \
               latencies of the last interval and of the whole run, CPU usage, and the devices below the targets. \
               Press t for targets, h for threads, q to end the run. The screen is drawn on stderr, which must be a \
               terminal; the report follows on stdout. Turns on latency measurement, as -L does.",
        example: "--live",
        apply: |builder, _| {
            builder.options.live.screen = true;
            builder.overrides.measure_latency();
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--live-json",
        group: Group::Live,
        value: "=<file|fd:n|unix:path>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        short: "write one line of JSON per interval to a file, a file descriptor or a socket",
        long: "First the plan, then one line per interval with its counters and percentiles, and last the result \
               (docs/formats/live.md). A slow or disconnected reader does not slow the run: unread lines are dropped, \
               and the next line gives their count. A file is replaced only if it is empty or holds an earlier stream, \
               and only once the first line is written. fd:<n> is an inherited file descriptor: a pipe, a socket, a \
               terminal, or a file that is empty or to whose earlier stream lines are appended; unix:<path> a \
               listening socket. Turns on latency measurement, as -L does.",
        example: "--live-json=live.jsonl",
        apply: stream,
        ..OWN
    },
    OptionRow {
        name: "--metrics",
        group: Group::Live,
        value: "=<[address:]port>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        short: "serve Prometheus metrics at http://127.0.0.1:<port>/metrics during the run",
        long: "I/O counts, byte counts and latency histograms per target and direction as OpenMetrics text. With an \
               address, any host that can reach it can connect. Port 0 picks a free port and prints it on stderr. \
               Turns on latency measurement, as -L does.",
        example: "--metrics=9101",
        apply: metrics,
        ..OWN
    },
    OptionRow {
        name: "--live-interval",
        group: Group::Live,
        value: "=<ms>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        short: "update interval of --live, --live-json and --metrics in milliseconds (default 1000)",
        long: "From 100 to 3600000 milliseconds. Each interval reports its actual length, because reading the counters \
               takes time when there are many threads and targets.",
        example: "--live-interval=500",
        apply: interval,
        ..OWN
    },
];

fn stream(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    builder.options.live.stream = Some(stream_target(given.value)?);
    builder.overrides.measure_latency();
    Ok(())
}

fn stream_target(text: &str) -> Result<StreamTarget, String> {
    if let Some(number) = text.strip_prefix("fd:") {
        return match number.parse() {
            Ok(0) => Err("fd:0 is stdin; use fd:2 or above".to_owned()),
            Ok(1) => Err("fd:1 is stdout, which carries the report; use fd:2 or above".to_owned()),
            Ok(number) => Ok(StreamTarget::Descriptor(number)),
            Err(_) => Err(format!("'{number}' is not a file descriptor number (for example fd:3)")),
        };
    }
    match (text, text.strip_prefix("unix:")) {
        ("", _) => Err("the destination is missing (expected: a file name, fd:<n> or unix:<path>)".to_owned()),
        ("-", _) => Err("stdout carries the report; give a file, fd:<n> or unix:<path>".to_owned()),
        (_, Some("")) => Err("the socket path is missing after unix:".to_owned()),
        (_, Some(path)) => Ok(StreamTarget::Socket(path.into())),
        (path, None) => Ok(StreamTarget::File(path.into())),
    }
}

fn metrics(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let text = given.value.trim();
    let port = text.strip_prefix(':').unwrap_or(text);
    let on_loopback = port.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = on_loopback.or_else(|_| text.parse()).map_err(|_| {
        format!("'{text}' is not a port or an address with a port (for example 9101, 127.0.0.1:9101 or [::1]:9101)")
    })?;
    builder.options.live.metrics = Some(address);
    builder.overrides.measure_latency();
    Ok(())
}

fn interval(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let text = given.value.trim();
    let interval = text.parse().ok().filter(|interval| INTERVAL_MS.contains(interval));
    builder.options.live.interval_ms = interval.ok_or_else(|| {
        let (least, most) = INTERVAL_MS.into_inner();
        format!("'{text}' is not a number of milliseconds from {least} to {most}")
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::LineCommand;
    use crate::command::Command;
    use crate::request::{FakeEnv, RunRequest};
    use std::ffi::OsString;

    fn parsed(line: &str) -> Result<RunRequest, String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match crate::parse(&args, &FakeEnv) {
            Ok(Command::Line(LineCommand::Run(request))) => Ok(request),
            Ok(other) => Err(format!("{other:?}")),
            Err(failure) => Err(failure.messages.join("\n")),
        }
    }

    #[test]
    fn each_way_of_showing_measures_latencies() {
        for option in ["--live", "--live-json=a", "--metrics=9101"] {
            let request = parsed(&format!("{option} f")).expect(option);
            assert!(request.profile.time_spans[0].measure_latency, "{option}");
            assert_eq!(request.options.live.asked().count(), 1, "{option}");
        }
        assert!(!parsed("--live-interval=100 f").expect("it is a run").profile.time_spans[0].measure_latency);
    }

    #[test]
    fn streams_go_to_files_descriptors_and_sockets() {
        let target = |line: &str| parsed(line).expect(line).options.live.stream.expect("a stream");
        assert_eq!(target("--live-json=./fd:3 f"), StreamTarget::File("./fd:3".into()));
        assert_eq!(target("--live-json fd:3 f"), StreamTarget::Descriptor(3));
        assert_eq!(target("--live-json=unix:/tmp/s f"), StreamTarget::Socket("/tmp/s".into()));
    }

    #[test]
    fn metrics_stay_on_this_machine_unless_an_address_is_given() {
        let address = |line: &str| parsed(line).expect(line).options.live.metrics.expect("an address").to_string();
        assert_eq!(address("--metrics=9101 f"), "127.0.0.1:9101");
        assert_eq!(address("--metrics=:0 f"), "127.0.0.1:0");
        assert_eq!(address("--metrics=[::]:9101 f"), "[::]:9101");
        assert_eq!(address("--metrics=0.0.0.0:80 f"), "0.0.0.0:80");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (option, expected) in [
            ("--live-json=fd:0", "fd:0 is stdin"),
            ("--live-json=fd:1", "fd:1 is stdout"),
            ("--live-json=fd:x", "for example fd:3"),
            ("--live-json=-", "stdout carries the report"),
            ("--live-json=", "the destination is missing"),
            ("--live-json=unix:", "the socket path is missing"),
            ("--metrics=localhost", "for example 9101"),
            ("--metrics=70000", "for example 9101"),
            ("--metrics=1.2.3.4", "for example 9101"),
            ("--live-interval=99", "from 100 to 3600000"),
            ("--live-interval=1s", "from 100 to 3600000"),
        ] {
            let failure = parsed(&format!("{option} f")).expect_err(option);
            assert!(failure.contains(expected), "{option}: {failure}");
        }
    }
}
