//! Intervals as lines for programs: JSON, and comma-separated values in the form of typeperf.

use crate::counter_value;
use crate::watch::Device;
use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::device_interval::{DeviceInterval, WatchLine};
use model::performance_counter::{Counter, CounterObject, CounterPattern, TOTAL_INSTANCE, TYPEPERF_TITLE};
use model::printable::{printable, printable_json};
use std::io::{self, Write};

/// What typeperf writes where it has no value.
const NO_VALUE: &str = " ";

/// Writes a line of JSON and passes it on at once.
pub fn json(line: &WatchLine, out: &mut dyn Write) -> io::Result<()> {
    // In one write, so that a reader never sees half a line.
    let mut text = printable_json(&serde_json::to_vec(line)?).into_owned();
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

/// A column of the comma-separated values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    object: CounterObject,
    instance: Instance,
    counter: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Instance {
    /// The device with this name.
    Device(String),
    /// The devices with these names together.
    Total(Vec<String>),
}

impl Instance {
    fn name(&self) -> &str {
        match self {
            Self::Device(name) => name,
            Self::Total(_) => TOTAL_INSTANCE,
        }
    }
}

/// The usual counters of every device.
pub fn usual_columns<'a>(devices: impl Iterator<Item = (&'a str, &'a Device)>) -> Vec<Column> {
    let of_device = |(name, device): (&str, &Device)| {
        let (object, instance) = (device.object, Instance::Device(name.to_owned()));
        Counter::USUAL.map(|counter| Column { object, instance: instance.clone(), counter })
    };
    devices.flat_map(of_device).collect()
}

/// Those counters of `devices` that `patterns` ask for, in the order of the patterns; or the patterns to which
/// nothing fits.
pub fn columns<'a>(
    patterns: &[CounterPattern],
    devices: impl Iterator<Item = (&'a str, &'a Device)>,
) -> Result<Vec<Column>, Vec<CounterPattern>> {
    let devices: Vec<(&str, &Device)> = devices.collect();
    let mut columns: Vec<Column> = Vec::new();
    let mut unfit = Vec::new();
    for pattern in patterns {
        let of_object = devices.iter().filter(|(_, device)| device.objects().any(|object| object == pattern.object));
        let names: Vec<String> = of_object.map(|(name, _)| (*name).to_owned()).collect();
        let total =
            (!names.is_empty() && pattern.takes_instance(TOTAL_INSTANCE)).then(|| Instance::Total(names.clone()));
        let of_devices = names.into_iter().filter(|name| pattern.takes_instance(name)).map(Instance::Device);
        let instances: Vec<Instance> = of_devices.chain(total).collect();
        if instances.is_empty() {
            unfit.push(pattern.clone());
        }
        // As typeperf has them: one counter of every instance, then the next counter.
        for counter in &pattern.counters {
            for instance in &instances {
                let column = Column { object: pattern.object, instance: instance.clone(), counter: *counter };
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
    }
    if unfit.is_empty() { Ok(columns) } else { Err(unfit) }
}

/// Comma-separated values in the form of typeperf.
pub struct TypeperfCsv<W: Write> {
    writer: Writer<W>,
    columns: Vec<Column>,
    zone: TimeZone,
}

impl<W: Write> TypeperfCsv<W> {
    /// Writes the line with the names of the columns, which stay as they are: devices that come later are not
    /// in it. `begun_unix_ns` tells how far the zone is from UTC.
    pub fn begin(out: W, host: &str, columns: Vec<Column>, zone: TimeZone, begun_unix_ns: i64) -> io::Result<Self> {
        let mut builder = WriterBuilder::new();
        let writer = builder.quote_style(QuoteStyle::Always).terminator(Terminator::Any(b'\n')).from_writer(out);
        let mut csv = Self { writer, columns, zone };
        let path = |column: &Column| {
            let (object, instance) = (column.object.name(), printable(column.instance.name()));
            format!("\\\\{host}\\{object}({instance})\\{}", column.counter.name())
        };
        let names: Vec<String> = csv.columns.iter().map(path).collect();
        let title = title(&csv.zone, begun_unix_ns);
        csv.line(std::iter::once(title).chain(names))?;
        Ok(csv)
    }

    /// Writes the line of an interval and passes it on at once.
    pub fn interval(&mut self, interval: &DeviceInterval) -> io::Result<()> {
        let time = local_time(interval.ended_at_unix_ns, &self.zone);
        let cells: Vec<String> = self.columns.iter().map(|column| cell(column, interval)).collect();
        self.line(std::iter::once(time).chain(cells))
    }

    fn line(&mut self, cells: impl Iterator<Item = String>) -> io::Result<()> {
        self.writer.write_record(cells.collect::<Vec<_>>()).map_err(io_error)?;
        self.writer.flush()
    }
}

fn cell(column: &Column, interval: &DeviceInterval) -> String {
    let rates = match &column.instance {
        Instance::Device(name) => interval.devices.get(name).copied(),
        Instance::Total(names) => {
            let present: Vec<_> = names.iter().filter_map(|name| interval.devices.get(name)).collect();
            (!present.is_empty()).then(|| stats::device_rates::sum(present))
        }
    };
    rates.map_or_else(|| NO_VALUE.to_owned(), |rates| format!("{:.6}", counter_value::value(column.counter, &rates)))
}

/// `(PDH-CSV 4.0) (CET)(-60)`: the zone, and what to add to its times to get to UTC, in minutes.
fn title(zone: &TimeZone, unix_ns: i64) -> String {
    let zoned = timestamp(unix_ns).to_zoned(zone.clone());
    let minutes_to_utc = -zoned.offset().seconds() / 60;
    format!("{TYPEPERF_TITLE} ({})({minutes_to_utc})", zoned.strftime("%Z"))
}

/// `MM/DD/YYYY HH:MM:SS.mmm`
fn local_time(unix_ns: i64, zone: &TimeZone) -> String {
    timestamp(unix_ns).to_zoned(zone.clone()).strftime("%m/%d/%Y %H:%M:%S.%3f").to_string()
}

fn timestamp(unix_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The error below: a row that is longer than the writer's buffer is written before it is flushed, and what a closed
/// pipe says must stay what it is.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{device, interval};
    use jiff::tz;

    fn devices() -> Vec<(&'static str, Device)> {
        vec![
            ("dm-0", device("dm-0", CounterObject::LogicalDisk)),
            ("sda", device("sda", CounterObject::PhysicalDisk)),
            ("sdb", device("sdb", CounterObject::PhysicalDisk)),
        ]
    }

    fn chosen(patterns: &[CounterPattern]) -> Result<Vec<Column>, Vec<CounterPattern>> {
        let devices = devices();
        columns(patterns, devices.iter().map(|(name, device)| (*name, device)))
    }

    fn pattern(object: CounterObject, instance: &str, counters: &[Counter]) -> CounterPattern {
        CounterPattern { object, instance: instance.to_owned(), counters: counters.to_vec() }
    }

    #[test]
    fn lines_are_those_of_typeperf() {
        let asked = pattern(CounterObject::PhysicalDisk, "*", &[Counter::SecondsPerRead, Counter::ReadsPerSecond]);
        let columns = chosen(&[asked]).expect("disks");
        let mut bytes = Vec::new();
        let zone = TimeZone::fixed(tz::offset(1));
        let mut csv = TypeperfCsv::begin(&mut bytes, "HOST", columns, zone, 1_800_000_000_000_000_000).unwrap();
        csv.interval(&interval(1, &[("sda", 100.0), ("sdb", 300.0)])).unwrap();
        csv.interval(&interval(2, &[("sda", 100.0)])).unwrap();
        csv.interval(&interval(3, &[])).unwrap();
        drop(csv);
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r###"
        "(PDH-CSV 4.0) (+01)(-60)","\\HOST\PhysicalDisk(sda)\Avg. Disk sec/Read","\\HOST\PhysicalDisk(sdb)\Avg. Disk sec/Read","\\HOST\PhysicalDisk(_Total)\Avg. Disk sec/Read","\\HOST\PhysicalDisk(sda)\Disk Reads/sec","\\HOST\PhysicalDisk(sdb)\Disk Reads/sec","\\HOST\PhysicalDisk(_Total)\Disk Reads/sec"
        "01/15/2027 09:00:01.000","0.000123","0.000123","0.000122","100.000000","300.000000","400.000000"
        "01/15/2027 09:00:02.000","0.000123"," ","0.000120","100.000000"," ","100.000000"
        "01/15/2027 09:00:03.000"," "," "," "," "," "," "
        "###);
    }

    #[test]
    fn instances_are_chosen_by_pattern() {
        let idle = &[Counter::IdleTimePercent];
        let names = |patterns: &[CounterPattern]| {
            let columns = chosen(patterns).expect("all fit");
            columns.iter().map(|column| column.instance.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[pattern(CounterObject::LogicalDisk, "*", idle)]), ["dm-0", "_Total"]);
        assert_eq!(names(&[pattern(CounterObject::PhysicalDisk, "SD*", idle)]), ["sda", "sdb"]);
        assert_eq!(names(&[pattern(CounterObject::PhysicalDisk, "_total", idle)]), ["_Total"]);
        let twice = pattern(CounterObject::PhysicalDisk, "sda", idle);
        assert_eq!(names(&[twice.clone(), twice]), ["sda"]);
        let devices = [("sda", device("sda", CounterObject::PhysicalDisk).mounted())];
        let of_a_disk = devices.iter().map(|(name, device)| (*name, device));
        let columns = columns(&[pattern(CounterObject::LogicalDisk, "*", idle)], of_a_disk).expect("its file system");
        assert_eq!(columns[0].instance.name(), "sda", "a whole disk with a file system is a volume, too");
        let nowhere = pattern(CounterObject::PhysicalDisk, "sdz", idle);
        assert_eq!(chosen(std::slice::from_ref(&nowhere)), Err(vec![nowhere]));
    }

    #[test]
    fn a_csv_reader_reads_them_back() {
        let devices = devices();
        let columns = usual_columns(devices.iter().map(|(name, device)| (*name, device)));
        let count = columns.len();
        let mut bytes = Vec::new();
        let mut csv = TypeperfCsv::begin(&mut bytes, "a \"b\", c", columns, TimeZone::UTC, 0).unwrap();
        csv.interval(&interval(1, &[("sda", 1.0)])).unwrap();
        drop(csv);
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        assert_eq!(reader.headers().unwrap().len(), 1 + count);
        assert!(reader.headers().unwrap()[1].starts_with(r#"\\a "b", c\LogicalDisk(dm-0)\"#));
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!((record.len(), &record[1]), (1 + count, " "));
    }

    #[test]
    fn json_lines_are_read_back() {
        let line = WatchLine::Interval(interval(3, &[("sda", 12.5)]));
        let mut bytes = Vec::new();
        json(&line, &mut bytes).unwrap();
        assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 2);
        assert!(bytes.starts_with(b"{\"kind\":\"interval\",\"number\":3,"));
        assert_eq!(serde_json::from_slice::<WatchLine>(&bytes).unwrap(), line);
    }
}
