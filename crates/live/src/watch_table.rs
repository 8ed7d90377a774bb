//! Intervals as a plain table, for pipes and terminals without a full screen.

use crate::device_column::Column;
use crate::words;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::device_interval::DeviceInterval;
use model::printable::printable;
use model::units::mib;
use std::fmt::Write as _;

/// Width of a line in characters.
const WIDTH: u16 = 80;

/// The table of an interval, with a line of the system above it.
pub fn table(interval: &DeviceInterval, zone: &TimeZone) -> String {
    let time = Timestamp::from_nanosecond(interval.ended_at_unix_ns.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    let mut text = time.to_zoned(zone.clone()).strftime("%Y/%m/%d %H:%M:%S").to_string();
    for part in system(interval) {
        let _ = write!(text, "  {part}");
    }
    text.push('\n');
    let columns = Column::fitting(WIDTH);
    let names = interval.devices.keys().map(|name| printable(name).chars().count());
    let name_width = names.max().unwrap_or(0).max(Column::Device.width().into());
    let mut line = |first: &str, cell: &dyn Fn(Column) -> String| {
        let mut cells = format!("{first:<name_width$}");
        for column in columns.iter().filter(|column| **column != Column::Device) {
            let _ = write!(cells, " {:>width$}", cell(*column), width = usize::from(column.width()));
        }
        text += cells.trim_end();
        text.push('\n');
    };
    line(Column::Device.heading(), &|column| column.heading().to_owned());
    for (name, rates) in &interval.devices {
        line(&printable(name), &|column| column.cell(Some(rates)));
    }
    text.push('\n');
    text
}

/// Use of CPUs, memory and network, as far as the kernel has them.
fn system(interval: &DeviceInterval) -> Vec<String> {
    let figure =
        |object: CounterObject, name: &str| interval.system.get(object.name())?.get(TOTAL_INSTANCE)?.get(name).copied();
    let cpu = figure(CounterObject::Processor, "% Processor Time").map(|percent| format!("CPU {percent:.1} %"));
    let memory = figure(CounterObject::Memory, "Available MBytes")
        .map(|mib| format!("memory {} MiB available", words::amount(mib)));
    let received = figure(CounterObject::NetworkInterface, "Bytes Received/sec");
    let sent = figure(CounterObject::NetworkInterface, "Bytes Sent/sec");
    let network = received
        .zip(sent)
        .map(|(received, sent)| format!("net {}/{} MiB/s", words::amount(mib(received)), words::amount(mib(sent))));
    [cpu, memory, network].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::interval;

    #[test]
    fn an_interval_is_a_table_of_80_columns() {
        let figures = |name: &str, value: f64| (TOTAL_INSTANCE.to_owned(), [(name.to_owned(), value)].into());
        let system = [
            ("Processor".to_owned(), [figures("% Processor Time", 12.34)].into()),
            ("Memory".to_owned(), [figures("Available MBytes", 2048.0)].into()),
        ];
        let text = table(
            &DeviceInterval { system: system.into(), ..interval(1, &[("sda", 100.0), ("nvme0n1", 250_000.0)]) },
            &TimeZone::UTC,
        );
        insta::assert_snapshot!(text, @r"
        2027/01/15 08:00:01  CPU 12.3 %  memory 2048 MiB available
        Device            r/s      w/s  rMiB/s  wMiB/s     r ms     w ms   queue  busy%
        nvme0n1        250.0k   125.0k   976.6    7812    0.123    2.500    2500  100.0
        sda             100.0     50.0     0.4     3.1    0.123    2.500    1.00   10.0
        ");
        assert!(text.lines().all(|line| line.len() <= WIDTH.into()), "{text}");
    }
}
