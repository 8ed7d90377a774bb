//! Arguments of `diskspd monitor`.

use crate::command::ParseFailure;
use crate::{duration, file_name, performance_counter};
use lexopt::prelude::*;
use model::performance_counter::CounterPattern;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The shortest interval: the kernel counts times in milliseconds, so that of a shorter one would be coarse.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The longest interval: a day.
pub const INTERVAL_MAX: Duration = Duration::from_hours(24);

/// Output of `diskspd monitor --help`.
pub const HELP: &str = "\
Usage: diskspd monitor [DEVICE... | all] [--interval TIME] [--samples N]
       diskspd monitor [DEVICE...] --csv | --jsonl [--output FILE] [--counters LIST]...
       diskspd monitor [DEVICE...] --record FILE
       diskspd monitor [DEVICE...] --histogram [--interval TIME] [--samples N]

Shows block device activity per interval, from the kernel's counters: reads and writes per second, MiB/s,
mean latencies, queue length, merges, discards, flushes and percent busy. In a terminal it is a live
table; otherwise comma-separated values in typeperf format.

  DEVICE          the kernel's name of a device, or a path that leads to it: sda, /dev/nvme0n1p2,
                  /dev/disk/by-id/..., /dev/mapper/... Default: whole disks, RAIDs and volumes, and
                  loop devices and RAM disks with any I/O so far
  all             every device, including partitions
  -i, --interval TIME
                  length of an interval, 100ms or more (default 1s)
  -n, --samples N
                  stop after N intervals (default: at Ctrl+C)
      --csv       print comma-separated values in typeperf format, also in a terminal
      --jsonl     print JSON lines: one object per interval with all devices (docs/formats/monitor.md)
  -o, --output FILE
                  write to this file instead of stdout; the suffix .jsonl or .json implies --jsonl. An
                  existing file is replaced only if it is empty or has the same format
  -c, --counters LIST
                  counters by their Windows names, with * for any characters, separated by commas or
                  given again: \"\\LogicalDisk(*)\\Avg. Disk sec/Read\". PhysicalDisk covers disks;
                  LogicalDisk covers partitions, volumes, RAIDs, loop devices, and disks with a mounted
                  file system; the _Total instance covers all devices of its object
      --record FILE
                  record the intervals in a file, from which diskspd report FILE --output x.html draws
                  charts; the live table or text output continues. An existing file is replaced
                  only if it is empty or a recording
      --replace-output
                  let --output and --record replace any regular file
      --histogram
                  print latency distributions of reads and writes, per disk, from issue to completion in
                  the block layer: one table at the end or, with --interval, one per interval. Needs eBPF
                  (root, or CAP_BPF and CAP_PERFMON) and tracefs
  -h, --help      print this help

Also accepted, as in typeperf: -si [[HH:]MM:]SS for --interval, -sc N for --samples, -o FILE, -f CSV, -y
for --replace-output, and counters as arguments that begin with \\.

Keys in the table: q quits, p or space pauses, arrows or s choose the sort column, r reverses the order,
/ filters by name, ? shows help.

To measure a file named monitor, write ./monitor.
";

/// What follows `diskspd monitor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorCommand {
    /// Print [`HELP`].
    Help,
    /// Watch devices.
    Watch(Box<WatchRequest>),
}

/// What to watch and how to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Which devices.
    pub devices: DevicesAsked,
    /// How long an interval is.
    pub interval: Duration,
    /// After how many intervals to end.
    pub sample_count: Option<u64>,
    /// `--csv` or `--jsonl`; `None` = as it fits what stdout is.
    pub lines: Option<LineForm>,
    /// `--output`
    pub output: Option<PathBuf>,
    /// `--counters`; none = the usual ones.
    pub counters: Vec<CounterPattern>,
    /// `--record`
    pub record: Option<PathBuf>,
    /// `--replace-output`
    pub replace_output: bool,
    /// `--histogram`
    pub histogram: Option<Histograms>,
}

/// When latency distributions are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histograms {
    /// After each interval, of what happened in it.
    EachInterval,
    /// Once, of everything.
    AtTheEnd,
}

/// Which devices are to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevicesAsked {
    /// Those that are of interest.
    Usual,
    /// Every one.
    All,
    /// These: names and paths, at least one.
    These(Vec<PathBuf>),
}

/// A form for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// Comma-separated values in the form of typeperf.
    Csv,
    /// JSON lines.
    Json,
}

/// Parses the arguments of `diskspd monitor`.
pub fn parse(args: &[OsString]) -> Result<MonitorCommand, ParseFailure> {
    read(args).map_err(|reason| {
        // After a list the hint has a line of its own.
        let joint = if reason.ends_with('\n') { "" } else { "; " };
        ParseFailure::because(format!("{reason}{joint}see diskspd monitor --help"))
    })
}

/// What was read so far.
#[derive(Default)]
struct Words {
    devices: Vec<PathBuf>,
    interval: Option<Duration>,
    sample_count: Option<u64>,
    lines: Option<LineForm>,
    output: Option<PathBuf>,
    counters: Vec<CounterPattern>,
    record: Option<PathBuf>,
    replace_output: bool,
    histogram: bool,
}

fn read(args: &[OsString]) -> Result<MonitorCommand, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut words = Words::default();
    loop {
        if typeperf_option(&mut parser, &mut words)? {
            continue;
        }
        let Some(word) = parser.next().map_err(|error| error.to_string())? else { break };
        match word {
            Short('h') | Long("help") => return Ok(MonitorCommand::Help),
            Short('i') | Long("interval") => {
                once(&mut words.interval, "--interval", interval(duration::parse(&text(&mut parser)?)?)?)?;
            }
            Short('n') | Long("samples") => once(&mut words.sample_count, "--samples", count(&text(&mut parser)?)?)?,
            Long("csv") => once(&mut words.lines, "--csv or --jsonl", LineForm::Csv)?,
            Long("histogram") => words.histogram = true,
            Long("replace-output") => words.replace_output = true,
            Long("jsonl") => once(&mut words.lines, "--csv or --jsonl", LineForm::Json)?,
            Short('o') | Long("output") => {
                once(&mut words.output, "--output", file_name::path("--output", raw(&mut parser)?)?)?;
            }
            Long("record") => {
                once(&mut words.record, "--record", file_name::path_alone("--record", raw(&mut parser)?)?)?;
            }
            Short('c') | Long("counters") => words.counters.extend(counters(&text(&mut parser)?)?),
            Value(word) => match word.to_str().filter(|word| word.starts_with('\\')) {
                Some(counter) => words.counters.push(performance_counter::parse(counter)?),
                None => words.devices.push(PathBuf::from(word)),
            },
            other => return Err(other.unexpected().to_string()),
        }
    }
    words.request().map(|request| MonitorCommand::Watch(Box::new(request)))
}

/// Takes an option of typeperf if one is next. They have several letters after one dash, so that the usual
/// rules would read them as several options.
fn typeperf_option(parser: &mut lexopt::Parser, words: &mut Words) -> Result<bool, String> {
    let Some(mut raw) = parser.try_raw_args() else { return Ok(false) };
    let is_theirs = |word: &OsStr| ["-cf", "-q", "-qx", "-s", "-config"].iter().any(|option| word == *option);
    if let Some(option) = raw.next_if(is_theirs) {
        let option = option.to_string_lossy();
        return Err(format!("{option} of typeperf is not supported; name counters with --counters"));
    }
    let is_ours = |word: &OsStr| ["-si", "-sc", "-y", "-f"].iter().any(|option| word == *option);
    let Some(option) = raw.next_if(is_ours) else { return Ok(false) };
    if option == "-y" {
        words.replace_output = true;
        return Ok(true);
    }
    let option = option.to_string_lossy().into_owned();
    let value = raw.next().ok_or_else(|| format!("missing argument for option '{option}'"))?;
    let value = value.into_string().map_err(|value| format!("{option} '{}' is not valid UTF-8", value.display()))?;
    match option.as_str() {
        "-si" => once(&mut words.interval, "the interval", interval(clock_time(&value)?)?)?,
        "-sc" => once(&mut words.sample_count, "the number of samples", count(&value)?)?,
        _ if value.eq_ignore_ascii_case("csv") => once(&mut words.lines, "the form", LineForm::Csv)?,
        _ => return Err(format!("-f {value} is not supported; use -f CSV, or --jsonl for programs")),
    }
    Ok(true)
}

impl Words {
    fn request(mut self) -> Result<WatchRequest, String> {
        // Lines go to stdout anyway, in the form that a file would have.
        let is_stdout = self.output.take_if(|path| path.as_os_str() == "-").is_some();
        let suffix = self.output.as_deref().and_then(|path| path.extension()).and_then(OsStr::to_str);
        let is_json = suffix.is_some_and(|suffix| ["jsonl", "json", "ndjson"].contains(&suffix));
        let by_output =
            (is_stdout || self.output.is_some()).then_some(if is_json { LineForm::Json } else { LineForm::Csv });
        let lines = self.lines.or(by_output).or((!self.counters.is_empty()).then_some(LineForm::Csv));
        if lines == Some(LineForm::Json) && !self.counters.is_empty() {
            return Err("--counters selects --csv columns; --jsonl always has all counters".to_owned());
        }
        if self.record.is_some() && self.record == self.output {
            return Err("--record and --output cannot be the same file".to_owned());
        }
        if self.histogram && (lines.is_some() || self.record.is_some()) {
            return Err(
                "--histogram cannot be combined with --csv, --jsonl, --output, --counters or --record".to_owned()
            );
        }
        let when = if self.interval.is_some() { Histograms::EachInterval } else { Histograms::AtTheEnd };
        let is_all = self.devices.iter().any(|device| device.as_os_str() == "all");
        let devices = match self.devices {
            devices if devices.is_empty() => DevicesAsked::Usual,
            devices if is_all && devices.len() > 1 => {
                return Err(format!(
                    "'all' already includes every device; remove the others ({} given)",
                    devices.len() - 1
                ));
            }
            _ if is_all => DevicesAsked::All,
            devices => DevicesAsked::These(devices),
        };
        Ok(WatchRequest {
            devices,
            interval: self.interval.unwrap_or(Duration::from_secs(1)),
            sample_count: self.sample_count,
            lines,
            output: self.output,
            counters: self.counters,
            record: self.record,
            replace_output: self.replace_output,
            histogram: self.histogram.then_some(when),
        })
    }
}

/// Counters separated by commas; names of counters have none.
fn counters(list: &str) -> Result<Vec<CounterPattern>, String> {
    list.split(',').map(|counter| performance_counter::parse(counter.trim())).collect()
}

/// `[[HH:]MM:]SS`
fn clock_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("-si '{text}' is not a time (expected: seconds, minutes:seconds or hours:minutes:seconds)");
    let mut seconds = 0u64;
    if text.split(':').count() > 3 {
        return Err(wrong());
    }
    for part in text.split(':') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = part.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
        seconds = seconds.checked_mul(60).and_then(|seconds| seconds.checked_add(number)).ok_or_else(wrong)?;
    }
    Ok(Duration::from_secs(seconds))
}

fn interval(interval: Duration) -> Result<Duration, String> {
    match interval {
        short if short < INTERVAL_MIN => Err("the interval must be at least 100ms".to_owned()),
        long if long > INTERVAL_MAX => Err("the interval must be at most 24h".to_owned()),
        fitting => Ok(fitting),
    }
}

fn count(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|count| *count > 0);
    number.ok_or_else(|| format!("'{text}' is not a number of samples (expected: 1 or more)"))
}

/// Keeps a value that may be given once.
fn once<T>(place: &mut Option<T>, option: &str, value: T) -> Result<(), String> {
    place.replace(value).map_or(Ok(()), |_| Err(format!("{option} was already given")))
}

fn raw(parser: &mut lexopt::Parser) -> Result<OsString, String> {
    parser.value().map_err(|error| error.to_string())
}

fn text(parser: &mut lexopt::Parser) -> Result<String, String> {
    parser.value().and_then(ValueExt::string).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<WatchRequest, String> {
        let args: Vec<OsString> = words.iter().map(OsString::from).collect();
        match parse(&args).map_err(|failure| failure.messages.join("\n"))? {
            MonitorCommand::Watch(request) => Ok(*request),
            MonitorCommand::Help => Err("help".to_owned()),
        }
    }

    fn line(line: &str) -> Result<WatchRequest, String> {
        parsed(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        let usual = line("").expect("nothing is needed");
        assert_eq!((usual.devices, usual.interval), (DevicesAsked::Usual, Duration::from_secs(1)));
        assert_eq!((usual.sample_count, usual.lines, usual.output), (None, None, None));
        assert_eq!(line("all").expect("all").devices, DevicesAsked::All);
        let several = line("sda /dev/sdb -n3 --interval=250ms --jsonl --record r").expect("several");
        assert_eq!(several.devices, DevicesAsked::These(vec!["sda".into(), "/dev/sdb".into()]));
        assert_eq!((several.interval, several.sample_count), (Duration::from_millis(250), Some(3)));
        assert_eq!((several.lines, several.record), (Some(LineForm::Json), Some("r".into())));
        assert_eq!(line("-o a.jsonl").expect("a file").lines, Some(LineForm::Json));
        assert_eq!(line("-o a.csv").expect("a file").lines, Some(LineForm::Csv));
        assert_eq!(line("--help --csv"), Err("help".to_owned()));
    }

    #[test]
    fn typeperfs_own_options_are_read() {
        let request =
            parsed(&[r"\PhysicalDisk(*)\% Idle Time", "-si", "1:02:03", "-sc", "7", "-o", "a.csv", "-y", "-f", "CSV"]);
        let request = request.expect("a line that works on Windows");
        assert_eq!((request.interval, request.sample_count), (Duration::from_secs(3723), Some(7)));
        assert_eq!((request.counters.len(), request.lines), (1, Some(LineForm::Csv)));
        let twice = parsed(&["-c", r"\PhysicalDisk(*)\*/Read,\LogicalDisk(*)\% Idle Time", r"\PhysicalDisk\%*"]);
        assert_eq!(twice.expect("three").counters.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, expected) in [
            ("--interval 99ms", "the interval must be at least 100ms"),
            ("--interval 25h", "the interval must be at most 24h"),
            ("--interval x", "'x' is not a duration"),
            ("-i 1s -si 2", "the interval was already given"),
            ("-si 1:2:3:4", "-si '1:2:3:4' is not a time"),
            ("-si 1s", "-si '1s' is not a time"),
            ("-si", "missing argument for option '-si'"),
            ("-sc 0", "'0' is not a number of samples"),
            ("-n -1", "'-1' is not a number of samples"),
            ("-f TSV", "-f TSV is not supported; use -f CSV"),
            ("--csv --jsonl", "--csv or --jsonl was already given"),
            ("--jsonl -c \\PhysicalDisk\\*", "--counters selects --csv columns"),
            ("-o a --record a", "cannot be the same file"),
            ("all sda", "'all' already includes every device"),
            ("-c x", "'x' is not a counter"),
            ("-qx", "-qx of typeperf is not supported"),
            ("--jason", "invalid option '--jason'"),
        ] {
            let failure = line(words).expect_err(words);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{words}: {failure}");
            assert!(failure.ends_with("see diskspd monitor --help"), "{words}: {failure}");
        }
    }
}
