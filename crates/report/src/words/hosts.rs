//! The hosts of a fleet.

use crate::block::{Column, Table};
use crate::foreign_text::text;
use crate::numbers::{latency, ms};
use model::ending::Ending;
use model::fleet::{CommonWindow, Fleet, FleetHost, FleetTimeSpan, HostEnding, HostTimeSpan, few_names};
use model::printable::printable;
use model::units::mib;

/// A row for each host.
pub fn table(fleet: &Fleet, time_span: &FleetTimeSpan) -> Table {
    let names = ["I/O per s", "MiB/s", "mean ms", "p99 ms", "start late us", "clock \u{b1} us"];
    let spare = |name: &str| ["clock \u{b1} us", "start late us", "MiB/s"].iter().position(|spare| *spare == name);
    let numbers = names.map(|name| Column { spare: spare(name), ..Column::number(name) });
    let measured = |host: &FleetHost| time_span.hosts.iter().find(|of| of.host == host.name);
    Table {
        label: "Hosts",
        columns: [Column::text("host")].into_iter().chain(numbers).chain([Column::text("verdict")]).collect(),
        rows: fleet.hosts.iter().map(|host| row(host, measured(host))).collect(),
        note: time_span.window.as_ref().map(window_words).unwrap_or_default(),
        ..Table::default()
    }
}

fn row(host: &FleetHost, measured: Option<&HostTimeSpan>) -> Vec<String> {
    const UNKNOWN: &str = "-";
    let headline = measured.and_then(|measured| measured.headline.as_ref());
    let cell = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.to_owned());
    let us = |ns: f64| format!("{:.0}", ns / 1e3);
    let millis = |ns: f64| format!("{:.3}", ms(ns));
    vec![
        text(&host.name),
        cell(headline.map(|headline| format!("{:.2}", headline.iops))),
        cell(headline.map(|headline| format!("{:.2}", mib(headline.bytes_per_s)))),
        cell(headline.and_then(|headline| headline.mean_ns).map(millis)),
        cell(headline.and_then(|headline| headline.p99_ns).map(|ns| millis(ns as f64))),
        cell(host.start_late_ns.map(|ns| us(ns as f64))),
        cell(host.timing.map(|_| us(host.clock.uncertainty_ns as f64))),
        state(host, measured).to_owned(),
    ]
}

/// The state of the host at its end, or the level of its verdict.
fn state(host: &FleetHost, measured: Option<&HostTimeSpan>) -> &'static str {
    match (&host.ending, measured) {
        (HostEnding::Lost { .. }, _) => "lost",
        (HostEnding::Failed { .. }, _) => "failed",
        (HostEnding::Finished, None) => "no result",
        (HostEnding::Finished, Some(measured)) => match (measured.outcome, &measured.verdict) {
            (Ending::Failed, _) => "failed",
            (_, Some(verdict)) => verdict.level().word(),
            (_, None) => "-",
        },
    }
}

/// `All hosts measured together for 59.998 s, from 5.001 s after the planned start (± 0.050 ms); their I/O per s are
/// known to ± 0.10 %.`
fn window_words(window: &CommonWindow) -> String {
    let CommonWindow { start_ns, length_ns, uncertainty_ns, ios, iops_uncertainty, bytes: _ } = *window;
    let length_s = length_ns as f64 / 1e9;
    let start = start_ns.map(|ns| format!(", from {:.3} s after the planned start", ns as f64 / 1e9));
    let clocks = match uncertainty_ns {
        Some(ns) => format!(" (\u{b1} {})", latency(ns as f64)),
        None => " (their starts are unknown)".to_owned(),
    };
    let percent = (ios > 0.0).then(|| 100.0 * iops_uncertainty * length_s / ios);
    let rates = percent.map(|percent| format!("; their I/O per s are known to \u{b1} {percent:.2} %"));
    let (start, rates) = (start.unwrap_or_default(), rates.unwrap_or_default());
    format!("All hosts measured together for {length_s:.3} s{start}{clocks}{rates}.")
}

/// The notes of the hosts, equal ones once with the names of the hosts: `h1, h2: note`.
pub fn notes(time_span: &FleetTimeSpan) -> Vec<String> {
    let mut grouped: Vec<(&str, Vec<&str>)> = Vec::new();
    for host in &time_span.hosts {
        for note in &host.notes {
            match grouped.iter_mut().find(|(text, _)| text == note) {
                Some((_, hosts)) => hosts.push(&host.host),
                None => grouped.push((note, vec![&host.host])),
            }
        }
    }
    grouped.into_iter().map(|(note, hosts)| printable(&format!("{}: {note}", few_names(&hosts))).into_owned()).collect()
}
