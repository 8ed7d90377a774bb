//! Intervals as lines for programs: JSON, and comma-separated values in the form of typeperf.

use crate::counter_value;
use crate::watch::{Device, SystemInstance, Watch};
use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::device_interval::{DeviceInterval, WatchLine};
use model::performance_counter::{Counter, CounterPattern, NamedCounter, TYPEPERF_TITLE};
use model::printable::{printable, printable_json};
use model::system_counter::{SystemCounter, counters_of};
use std::io::{self, Write};

/// Value that typeperf writes where there is none.
const NO_VALUE: &str = " ";

/// Writes a line of JSON and flushes it.
pub fn json(line: &WatchLine, out: &mut dyn Write) -> io::Result<()> {
    // In one write, so that a reader never reads half a line.
    let mut text = printable_json(&serde_json::to_vec(line)?).into_owned();
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

/// A column of the comma-separated values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    object: CounterObject,
    value: ColumnValue,
}

#[derive(Clone, Debug, PartialEq)]
enum ColumnValue {
    /// Of the device with this name.
    Device(String, Counter),
    /// Of the devices with these names together.
    Total(Vec<String>, Counter),
    /// Of an instance of the system.
    System(SystemInstance, &'static SystemCounter),
}

impl Column {
    fn instance(&self) -> &str {
        match &self.value {
            ColumnValue::Device(name, _) => name,
            ColumnValue::Total(..) => TOTAL_INSTANCE,
            ColumnValue::System(instance, _) => &instance.name,
        }
    }

    fn path(&self) -> String {
        let counter = match &self.value {
            ColumnValue::Device(_, counter) | ColumnValue::Total(_, counter) => NamedCounter::Disk(*counter),
            ColumnValue::System(_, counter) => NamedCounter::System(counter),
        };
        self.object.path(&printable(self.instance()), counter)
    }

    /// The value of an interval; `None` if the device or instance was not there.
    fn figure(&self, interval: &DeviceInterval) -> Option<f64> {
        match &self.value {
            ColumnValue::Device(name, counter) => Some(counter_value::value(*counter, interval.devices.get(name)?)),
            ColumnValue::Total(names, counter) => {
                let present: Vec<_> = names.iter().filter_map(|name| interval.devices.get(name)).collect();
                (!present.is_empty()).then(|| counter_value::value(*counter, &stats::device_rates::sum(present)))
            }
            ColumnValue::System(instance, counter) => {
                interval.system.get(instance.object.name())?.get(&instance.key)?.get(counter.name).copied()
            }
        }
    }
}

/// The usual counters of every device.
pub fn usual_columns<'a>(devices: impl Iterator<Item = (&'a str, &'a Device)>) -> Vec<Column> {
    let of_device = |(name, device): (&str, &Device)| {
        let name = name.to_owned();
        let object = device.object;
        Counter::USUAL.map(|counter| Column { object, value: ColumnValue::Device(name.clone(), counter) })
    };
    devices.flat_map(of_device).collect()
}

/// The usual counters of the system: all processors together, and each instance of the other objects.
pub fn usual_system_columns(watch: &Watch) -> Vec<Column> {
    let mut columns = Vec::new();
    for object in CounterObject::ALL {
        let instances = watch.system_instances(object).into_iter();
        for instance in instances.filter(|instance| object.is_usual_instance(&instance.name)) {
            let usual = counters_of(object).filter(|counter| counter.is_usual);
            let value = |counter| ColumnValue::System(instance.clone(), counter);
            columns.extend(usual.map(|counter| Column { object, value: value(counter) }));
        }
    }
    columns
}

/// The counters that match `patterns`, in the order of the patterns; or the patterns without a match.
pub fn columns(patterns: &[CounterPattern], watch: &Watch) -> Result<Vec<Column>, Vec<CounterPattern>> {
    columns_by(patterns, |pattern| {
        if pattern.object.is_disk() {
            disk_columns(pattern, watch.devices())
        } else {
            system_columns(pattern, &watch.system_instances(pattern.object))
        }
    })
}

/// The columns that `find` returns for the patterns, each once.
fn columns_by(
    patterns: &[CounterPattern],
    find: impl Fn(&CounterPattern) -> Vec<Column>,
) -> Result<Vec<Column>, Vec<CounterPattern>> {
    let mut columns: Vec<Column> = Vec::new();
    let mut unfit = Vec::new();
    for pattern in patterns {
        let found = find(pattern);
        if found.is_empty() {
            unfit.push(pattern.clone());
        }
        for column in found {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    if unfit.is_empty() { Ok(columns) } else { Err(unfit) }
}

/// In typeperf's order: one counter of every instance, then the next counter.
fn disk_columns<'a>(pattern: &CounterPattern, devices: impl Iterator<Item = (&'a str, &'a Device)>) -> Vec<Column> {
    let object = pattern.object;
    let of_object = devices.filter(|(_, device)| device.objects().any(|one| one == object));
    let names: Vec<String> = of_object.map(|(name, _)| name.to_owned()).collect();
    let has_total = !names.is_empty() && pattern.takes_instance(TOTAL_INSTANCE);
    let column = |value: ColumnValue| Column { object, value };
    let of_counter = |counter: &NamedCounter| {
        let NamedCounter::Disk(counter) = *counter else { return Vec::new() };
        let chosen = names.iter().filter(|name| pattern.takes_instance(name));
        let chosen = chosen.map(|name| column(ColumnValue::Device(name.clone(), counter)));
        let total = has_total.then(|| column(ColumnValue::Total(names.clone(), counter)));
        chosen.chain(total).collect()
    };
    pattern.counters.iter().flat_map(of_counter).collect()
}

fn system_columns(pattern: &CounterPattern, instances: &[SystemInstance]) -> Vec<Column> {
    let object = pattern.object;
    let of_counter = |counter: &NamedCounter| {
        let NamedCounter::System(counter) = *counter else { return Vec::new() };
        let chosen = instances.iter().filter(|one| !object.has_instances() || pattern.takes_instance(&one.name));
        chosen.map(|one| Column { object, value: ColumnValue::System(one.clone(), counter) }).collect()
    };
    pattern.counters.iter().flat_map(of_counter).collect()
}

/// Comma-separated values in the form of typeperf.
pub struct TypeperfCsv<W: Write> {
    writer: Writer<W>,
    columns: Vec<Column>,
    zone: TimeZone,
}

impl<W: Write> TypeperfCsv<W> {
    /// Writes the line with the names of the columns, which are fixed: devices that come later are not in it. The
    /// offset of the zone from UTC is that at `begun_unix_ns`.
    pub fn begin(out: W, host: &str, columns: Vec<Column>, zone: TimeZone, begun_unix_ns: i64) -> io::Result<Self> {
        let mut builder = WriterBuilder::new();
        let writer = builder.quote_style(QuoteStyle::Always).terminator(Terminator::Any(b'\n')).from_writer(out);
        let mut csv = Self { writer, columns, zone };
        let path = |column: &Column| format!("\\\\{host}{}", column.path());
        let names: Vec<String> = csv.columns.iter().map(path).collect();
        let title = title(&csv.zone, begun_unix_ns);
        csv.line(std::iter::once(title).chain(names))?;
        Ok(csv)
    }

    /// Writes the line of an interval and flushes it.
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
    column.figure(interval).map_or_else(|| NO_VALUE.to_owned(), |value| format!("{value:.6}"))
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

/// The underlying error: a row that is longer than the writer's buffer is written before it is flushed, and the error
/// of a closed pipe must keep its kind.
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

    fn chosen(pattern: &CounterPattern) -> Vec<Column> {
        let devices = devices();
        disk_columns(pattern, devices.iter().map(|(name, device)| (*name, device)))
    }

    fn pattern(object: CounterObject, instance: &str, counters: &[Counter]) -> CounterPattern {
        CounterPattern {
            object,
            instance: instance.to_owned(),
            counters: counters.iter().copied().map(NamedCounter::Disk).collect(),
        }
    }

    #[test]
    fn lines_are_those_of_typeperf() {
        let asked = pattern(CounterObject::PhysicalDisk, "*", &[Counter::SecondsPerRead, Counter::ReadsPerSecond]);
        let columns = chosen(&asked);
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
        let names = |object, instance| {
            let columns = chosen(&pattern(object, instance, idle));
            columns.iter().map(|column| column.instance().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(CounterObject::LogicalDisk, "*"), ["dm-0", "_Total"]);
        assert_eq!(names(CounterObject::PhysicalDisk, "SD*"), ["sda", "sdb"]);
        assert_eq!(names(CounterObject::PhysicalDisk, "_total"), ["_Total"]);
        assert_eq!(names(CounterObject::PhysicalDisk, "sdz"), [""; 0]);
        let one = pattern(CounterObject::PhysicalDisk, "sda", idle);
        assert_eq!(columns_by(&[one.clone(), one.clone()], chosen), Ok(chosen(&one)), "each column once");
        let nowhere = pattern(CounterObject::PhysicalDisk, "sdz", idle);
        assert_eq!(columns_by(&[one, nowhere.clone()], chosen), Err(vec![nowhere]));
        let devices = [("sda", device("sda", CounterObject::PhysicalDisk).mounted())];
        let of_a_disk = devices.iter().map(|(name, device)| (*name, device));
        let columns = disk_columns(&pattern(CounterObject::LogicalDisk, "*", idle), of_a_disk);
        assert_eq!(columns[0].instance(), "sda", "a whole disk with a file system is a volume, too");
    }

    #[test]
    fn the_system_has_instances_or_none() {
        let instance = |name: &str, object| SystemInstance { name: name.to_owned(), object, key: "0".to_owned() };
        let interval = DeviceInterval {
            system: [("Processor".to_owned(), [("0".to_owned(), [("% User Time".to_owned(), 12.5)].into())].into())]
                .into(),
            ..interval(1, &[])
        };
        let paths = |object: CounterObject, asked: &str, instances: &[SystemInstance]| {
            let counters = object.counters().into_iter().take(2).collect();
            let columns = system_columns(&CounterPattern { object, instance: asked.to_owned(), counters }, instances);
            columns.iter().map(|column| (column.path(), cell(column, &interval))).collect::<Vec<_>>()
        };
        let cpus = [instance("0,0", CounterObject::Processor), instance("0,1", CounterObject::Processor)];
        let of_one = [
            (r"\Processor Information(0,0)\% Processor Time".to_owned(), " ".to_owned()),
            (r"\Processor Information(0,0)\% User Time".to_owned(), "12.500000".to_owned()),
        ];
        assert_eq!(paths(CounterObject::ProcessorInformation, "0,0", &cpus), of_one);
        let memory = paths(CounterObject::Memory, "x", &[instance(TOTAL_INSTANCE, CounterObject::Memory)]);
        assert_eq!(memory[0].0, r"\Memory\Available Bytes");
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
